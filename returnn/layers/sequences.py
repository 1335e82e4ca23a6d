"""Layers that look at whole sequences: running sums, distances."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import axis_of
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .history import not_in_loop, over_frames, zeros_before
from .numbers import number
from .registry import layer_class


@layer_class("cumsum")
class CumsumLayer(ConcatInputLayer):
    """Running sum: y[t] = x[0] + .. + x[t]. Works on labels too. Within a loop also over its frames."""

    iterates_itself = True

    axis: Any = "T"
    """axis description"""
    additional_left_summand_per_element: float | None = None
    """a number to add to each x[t]"""
    reverse: bool = False
    """y[t] = x[t] + .. + x[last]. Up to behaviour version 30, frames behind a sequence's end count too"""

    def compute(self, x: Tensor) -> Tensor:
        x, axis = over_frames(self, x, self.axis)
        self.recurrent = axis is None or axis.is_dynamic
        if self.additional_left_summand_per_element is not None:
            x = number(self.additional_left_summand_per_element, "additional_left_summand_per_element") + x
        if axis is None:
            return self._one_frame(x)
        masked = BehaviorVersion.has(Change.SEQUENCE_LAYERS_MASK)
        return rf.cumsum(x, spatial_dim=axis, reverse=self.reverse, use_mask=masked)

    def _one_frame(self, x: Tensor) -> Tensor:
        if self.reverse:
            raise not_in_loop("reverse")
        dims = visible_dims(x.dims)
        y = self.previous("sum", x.like(None, dims=dims), lambda: zeros_before(self, dims, x.dtype)) + x
        self.leave("sum", y)
        return y


@layer_class("edit_distance")
class EditDistanceLayer(LayerBase):
    """Levenshtein distance of two sequences of labels: insertions, deletions and substitutions cost 1. int32 [batch],
    not divided by the length.
    """

    recurrent = True
    _default_source = None
    _layer_options = ("a", "b")

    a: LayerBase | None = None
    """a layer with labels [batch, time]; must be given"""
    b: LayerBase | None = None
    """another one; must be given"""
    a_spatial_dim: Any = "T"
    """axis description or Dim: the time axis of ``a``"""
    b_spatial_dim: Any = "T"
    """the same of ``b``"""

    def compute(self, *sources: Tensor) -> Tensor:
        if sources:
            raise ConfigError('the layer has no source: it takes "a" and "b"')
        a, b = self._labels("a"), self._labels("b")
        a_dim = axis_of(a, self.a_spatial_dim, option="a_spatial_dim")
        b_dim = axis_of(b, self.b_spatial_dim, option="b_spatial_dim")
        return rf.edit_distance(a, a_dim, b, b_dim)

    def _labels(self, option: str) -> Tensor:
        x = self._output_of_option(option)
        if not x.sparse or x.batch_ndim != 2 or not x.have_batch_axis():
            raise ConfigError("the layer %s must give labels [batch, time], but is %s" % (option, x.short_repr()))
        return x
