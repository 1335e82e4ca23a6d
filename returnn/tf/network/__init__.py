"""TFNetwork: a network on a TensorFlow graph."""

from returnn.network.errors import (
    CannotHandleUndefinedSourcesException,
    LayerNotFound,
    NetworkConstructionDependencyLoopException,
    NetworkLayerException,
)
from returnn.network.extern_data import DataNotFound
from returnn.network.loss_holder import LossHolder

from .extern_data import ExternData
from .network import TFNetwork
from .param_values import TFNetworkParamsSerialized

__all__ = [
    "CannotHandleUndefinedSourcesException",
    "DataNotFound",
    "ExternData",
    "LayerNotFound",
    "LossHolder",
    "NetworkConstructionDependencyLoopException",
    "NetworkLayerException",
    "TFNetwork",
    "TFNetworkParamsSerialized",
]
