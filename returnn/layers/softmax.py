"""Softmax over frames of a sequence."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import feature_dim_of, time_dim_of
from .numbers import integers_of_option
from .registry import layer_class


def softmax_over_frames(
    layer: LayerBase, energy: Tensor, *, axis: Dim, mask: Tensor | None, log: bool = False
) -> Tensor:
    """
    :param layer: for the config option ``inf_value``
    :param energy: float
    :param axis: of energy
    :param mask: bool; which frames take part; None: all
    :param log: the logarithm of it instead
    :return: probabilities. Where no frame takes part: nan, or zeros from behaviour version 31 on
    """
    if mask is None:
        return (rf.log_softmax if log else rf.softmax)(energy, axis=axis, use_mask=False)
    fill = -layer.network.get_config().float("inf_value", math.inf)
    if BehaviorVersion.has(Change.EMPTY_SOFTMAX_IS_ZERO) and math.isinf(fill):
        return rf.masked_softmax(energy, axis=axis, mask=mask, log=log)
    fill = max(fill, float(numpy.finfo(energy.dtype).min)) if math.isfinite(fill) else fill
    return rf.masked_softmax(energy, axis=axis, mask=mask, log=log, fill=fill)


@layer_class("softmax_over_spatial")
class SoftmaxOverSpatialLayer(ConcatInputLayer):
    """softmax over an axis, by default time, which becomes the last one. Frames that do not take part get probability
    0, in log space -inf: those behind a sequence's end, in front of ``start``, or outside of the window.
    """

    recurrent = True

    axis: Any = None
    """axis description; time by default"""
    energy_factor: float | None = None
    """multiplies the input, behind the mask"""
    start: LayerBase | str | int | None = None
    """layer, int [batch], or number: the first frame that takes part"""
    window_start: LayerBase | str | int | None = None
    """layer, int [batch], or number: the first frame of the window; needs ``window_size``"""
    window_size: LayerBase | str | int | None = None
    """layer, int [batch], or number of frames. Without ``window_start`` it has no effect"""
    use_time_mask: bool | None = None
    """frames behind a sequence's end do not take part; default: where the axis is dynamic"""
    log_space: bool = False
    """logarithm of the probabilities"""

    _layer_options = ("start", "window_start", "window_size")

    def compute(self, x: Tensor) -> Tensor:
        if "float" not in x.dtype:
            raise ConfigError("the input must be float, but is %s" % x.short_repr())
        if self.axis is None:
            axis = time_dim_of(x, "the input")
        else:
            axis = x.get_dim_tag_from_description(self.axis)
        energy = x.copy_move_axis(x.get_axis_from_dim(axis), -1)
        mask = self._mask(energy, axis)
        if self.energy_factor is not None:
            energy = energy * float(self.energy_factor)
        if mask is not None and not self.log_space and axis in mask.dims and self._uses_time_mask(axis):
            self._zero_padded_dims = (axis,)
        return softmax_over_frames(self, energy, axis=axis, mask=mask, log=self.log_space)

    def _uses_time_mask(self, axis: Dim) -> bool:
        return axis.need_masking if self.use_time_mask is None else self.use_time_mask

    def _mask(self, energy: Tensor, axis: Dim) -> Tensor | None:
        """of frames that take part; None: all"""
        conditions = []
        if self._uses_time_mask(axis):
            if not axis.is_dynamic:
                raise ConfigError("use_time_mask: the axis %s has no lengths: %s" % (axis, energy.short_repr()))
            if set(axis.size_dims or ()) <= set(energy.dims):
                conditions.append(axis.get_mask())
        start, window_start = self._frame("start"), self._frame("window_start")
        if start is None and window_start is None:
            return conditions[0] if conditions else None
        places = rf.range_over_dim(axis, of=energy)
        places = places.like(places.raw_tensor, sparse_dim=None)
        if start is not None:
            conditions.append(places >= start)
        if window_start is not None:
            size = self._frame("window_size")
            if size is None:
                raise ConfigError("window_start needs window_size")
            conditions += [places >= window_start, places < _sum(window_start, size)]
        return functools.reduce(rf.logical_and, conditions)

    def _frame(self, key: str) -> Tensor | int | None:
        return None if getattr(self, key) is None else integers_of_option(self, key)


def _sum(a: Tensor | int, b: Tensor | int) -> Tensor | int:
    return rf.combine(a, "add", b) if isinstance(a, Tensor) or isinstance(b, Tensor) else a + b


@layer_class("batch_softmax")
class BatchSoftmaxLayer(ConcatInputLayer):
    """softmax over time and features of a sequence together: all of its entries sum to 1. Padding gets 0."""

    recurrent = True

    def compute(self, x: Tensor) -> Tensor:
        time, feature = time_dim_of(x, "the input"), feature_dim_of(x)
        high = rf.reduce_max(x, axis=[time, feature])
        y = rf.exp(rf.combine(x, "sub", rf.stop_gradient(high)))
        total = rf.reduce_sum(y, axis=[time, feature])
        y = rf.combine(y, "truediv", rf.maximum(total, float(numpy.finfo(x.dtype).tiny)))
        if time.need_masking:
            y = rf.masked_fill(y, time.get_mask(), 0.0)
        return y.copy_transpose(x.dims)
