"""Options of layers that are numbers, or that name a layer which gives numbers."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase


def number(value: Any, option: str) -> float:
    """
    :param value: of the option
    :param option: its name
    :return: the value
    :raises ConfigError: it is no number
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError("%s must be a number, but is %r" % (option, value))
    return value


def whole_number(value: Any, option: str, *, least: int | None = None) -> int:
    """
    :param value: of the option
    :param option: its name
    :param least: what is allowed
    :return: the value
    :raises ConfigError: it is no integer, or too small
    """
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        wanted = "an integer" if least is None else "an integer >= %i" % least
        raise ConfigError("%s must be %s, but is %r" % (option, wanted, value))
    return value


def integers(x: Tensor, option: str) -> Tensor:
    """
    :param x: output of the layer that the option names
    :param option: its name
    :return: int32
    :raises ConfigError: other numbers
    """
    if "int" not in x.dtype:
        raise ConfigError("the layer %s must give integers, but is %s" % (option, x.short_repr()))
    return rf.cast(x, "int32")


def integers_of_option(layer: LayerBase, option: str, *, least: int | None = None) -> Tensor | int:
    """
    :param layer: has an option that is a number, or names a layer that gives integers
    :param option: its name
    :param least: what numbers are allowed
    :return: the number; or int32
    :raises ConfigError: it is something else
    """
    value = getattr(layer, option)
    if isinstance(value, LayerBase):
        return integers(layer._output_of(value), option)
    return whole_number(value, option, least=least)
