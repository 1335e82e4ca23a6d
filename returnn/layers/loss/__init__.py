"""Losses by the names that configs use."""

from .base import Loss
from .frame_losses import AsIsLoss, CrossEntropyLoss, GenericCrossEntropyLoss
from .metric_losses import DeepClusteringLoss, TripletLoss
from .registry import (
    check_loss_options,
    get_loss_class,
    get_loss_class_name_list,
    loss_from_options,
    loss_option_names,
    register_loss_class,
)
from .regression_losses import BinaryCrossEntropyLoss, L1Loss, MeanL1Loss, MeanSquaredErrorLoss
from .sampling import SamplingBasedLoss
from .search_losses import ExpectedLoss, SearchScoreLoss
from .sequence_losses import BleuLoss, CtcLoss, EditDistanceLoss
from .via_layer import ViaLayerLoss

for _cls in (
    AsIsLoss,
    BleuLoss,
    CrossEntropyLoss,
    CtcLoss,
    DeepClusteringLoss,
    EditDistanceLoss,
    ExpectedLoss,
    GenericCrossEntropyLoss,
    L1Loss,
    MeanL1Loss,
    MeanSquaredErrorLoss,
    SamplingBasedLoss,
    SearchScoreLoss,
    TripletLoss,
    ViaLayerLoss,
):
    register_loss_class(_cls)
register_loss_class(BinaryCrossEntropyLoss, "sse_sigmoid")

__all__ = [
    "Loss",
    "check_loss_options",
    "get_loss_class",
    "get_loss_class_name_list",
    "loss_from_options",
    "loss_option_names",
    "register_loss_class",
]
