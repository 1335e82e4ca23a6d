"""What users' layers derive from (old place; now :mod:`returnn.layers`)."""

from returnn.layers.base import LayerBase
from returnn.layers.loss import Loss
from returnn.layers.reuse_params import ReuseParams
from returnn.layers.search_choices import SearchChoices
from returnn.layers.source import DataNotAvailableLayer, InternalLayer, WrappedInternalLayer

__all__ = [
    "DataNotAvailableLayer",
    "InternalLayer",
    "LayerBase",
    "Loss",
    "ReuseParams",
    "SearchChoices",
    "WrappedInternalLayer",
]
