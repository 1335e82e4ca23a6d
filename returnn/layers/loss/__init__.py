"""Losses by the names that configs use."""

from __future__ import annotations

import inspect

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


def loss_option_names(cls: type[Loss]) -> list[str]:
    """
    :return: keys of ``loss_opts``, sorted
    """
    names: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in vars(base) and issubclass(base, Loss):
            parameters = inspect.signature(base.__init__).parameters.values()
            names |= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    return sorted(names)


__all__ = ["Loss", "get_loss_class", "loss_option_names"]
