"""Layer classes and their registry (old place; now :mod:`returnn.layers`). Old name: ``TFNetworkLayer``."""

from returnn.layers.combine import CombineLayer, EvalLayer
from returnn.layers.concat_input import ConcatInputLayer, concat_sources, get_concat_sources_data_template
from returnn.layers.concat_input import ConcatInputLayer as _ConcatInputLayer
from returnn.layers.constant import ConstantLayer
from returnn.layers.linear import LinearLayer, SoftmaxLayer
from returnn.layers.loss import get_loss_class
from returnn.layers.norm import BatchNormLayer, LayerNormLayer
from returnn.layers.reduce import ReduceLayer, ReduceOutLayer
from returnn.layers.registry import (
    auto_register_layer_classes,
    get_layer_class,
    get_layer_class_name_list,
    register_layer_class,
)
from returnn.layers.shape import ActivationLayer, CopyLayer, MergeDimsLayer, PoolLayer, SplitDimsLayer, WindowLayer
from returnn.layers.source import SourceLayer
from returnn.layers.subnetwork import SubnetworkInputLayer, SubnetworkLayer

from .base import DataNotAvailableLayer, InternalLayer, LayerBase, Loss, ReuseParams

__all__ = [
    "ActivationLayer",
    "BatchNormLayer",
    "CombineLayer",
    "ConcatInputLayer",
    "ConstantLayer",
    "CopyLayer",
    "DataNotAvailableLayer",
    "EvalLayer",
    "InternalLayer",
    "LayerBase",
    "LayerNormLayer",
    "LinearLayer",
    "Loss",
    "MergeDimsLayer",
    "PoolLayer",
    "ReduceLayer",
    "ReduceOutLayer",
    "ReuseParams",
    "SoftmaxLayer",
    "SourceLayer",
    "SplitDimsLayer",
    "SubnetworkInputLayer",
    "SubnetworkLayer",
    "WindowLayer",
    "_ConcatInputLayer",
    "auto_register_layer_classes",
    "concat_sources",
    "get_concat_sources_data_template",
    "get_layer_class",
    "get_layer_class_name_list",
    "get_loss_class",
    "register_layer_class",
]
