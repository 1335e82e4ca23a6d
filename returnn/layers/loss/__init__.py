"""Losses by the names that configs use."""

from __future__ import annotations

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .base import Loss
from .frame_losses import AsIsLoss, CrossEntropyLoss, MeanSquaredError
from .sequence_losses import CtcLoss, EditDistanceLoss

_classes: dict[str, type[Loss]] = {
    cls.class_name: cls for cls in (AsIsLoss, CrossEntropyLoss, MeanSquaredError, CtcLoss, EditDistanceLoss)
}


def get_loss_class(name: str) -> type[Loss]:
    """
    :param name: as in a config
    :return: class
    :raises ConfigError: with the nearest names
    """
    if name not in _classes:
        raise ConfigError(
            "unknown loss class %r.%s Losses: %s" % (name, did_you_mean(name, _classes), ", ".join(sorted(_classes)))
        )
    return _classes[name]


__all__ = ["Loss", "get_loss_class"]
