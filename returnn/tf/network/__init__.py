"""TFNetwork: a network on a TensorFlow graph."""

from returnn.layers.subnetwork import Subnetwork
from returnn.network.errors import (
    CannotHandleUndefinedSourcesException,
    LayerNotFound,
    NetworkConstructionDependencyLoopException,
    NetworkLayerException,
)
from returnn.network.extern_data import DataNotFound
from returnn.network.lookup import GetLayer
from returnn.network.loss_holder import LossHolder
from returnn.tf.exception_help import help_on_tf_exception

from .checkpoint_loader import CustomCheckpointLoader
from .extern_data import ExternData
from .network import TFNetwork
from .param_values import TFNetworkParamsSerialized
from .post_init import have_custom_post_init, set_custom_post_init

__all__ = [
    "CannotHandleUndefinedSourcesException",
    "CustomCheckpointLoader",
    "DataNotFound",
    "ExternData",
    "GetLayer",
    "LayerNotFound",
    "LossHolder",
    "NetworkConstructionDependencyLoopException",
    "NetworkLayerException",
    "Subnetwork",
    "TFNetwork",
    "TFNetworkParamsSerialized",
    "have_custom_post_init",
    "help_on_tf_exception",
    "set_custom_post_init",
]
