"""Noise on parameters, in training: the options ``param_variational_noise`` and ``param_dropout`` of any layer.

Each layer draws its own noise, also on a parameter that it shares with another one. What is saved, constrained and
updated is the parameter without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .base import LayerBase


def has_noise(layer: LayerBase) -> bool:
    """
    :param layer: any
    :return: whether its parameters get noise
    """
    if layer.network.train_flag is False:
        return False
    return bool(_option(layer, "param_variational_noise") or _option(layer, "param_dropout"))


def with_noise(layer: LayerBase, name: str, value: Tensor) -> Tensor:
    """
    :param layer: computes with the parameter
    :param name: of the parameter, relative to the layer
    :param value: of the parameter
    :return: (value + noise) * dropout mask, in training; else value
    """
    if not has_noise(layer) or not value.dtype.startswith("float"):
        return value
    layer.network.use_random_state()
    full_name = "%s/%s" % (layer.get_absolute_name(), name)
    stddev = _option(layer, "param_variational_noise")
    if stddev:
        value = rf.add_normal_noise(value, stddev, name=full_name + "/param_variational_noise")
    drop_prob = _option(layer, "param_dropout")
    if drop_prob and value.batch_ndim >= _option(layer, "param_dropout_min_ndim"):
        if not drop_prob < 1:
            raise ConfigError("param_dropout must be in [0, 1), but is %r" % drop_prob)
        value = rf.dropout(value, drop_prob, name=full_name + "/param_dropout", same_in_all_frames=True)
    return value


def _option(layer: LayerBase, name: str) -> float:
    value = getattr(layer, name)
    if value is None:
        value = layer.network.get_config().float(name, 0.0)
    if not isinstance(value, (int, float)) or value < 0:
        raise ConfigError("%s must be a number >= 0, but is %r" % (name, value))
    return value
