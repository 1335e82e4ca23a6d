"""Layers that reduce axes."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.tensor import DimKind, Tensor
from returnn.util.errors import ConfigError

from .axes import axes_of
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .registry import layer_class


def with_kept_dims(layer: LayerBase, x: Tensor, y: Tensor, axes: list[int]) -> Tensor:
    """
    :param layer: makes the dims
    :param x: input
    :param y: the same without some axes
    :param axes: these; ascending
    :return: y with them, of size 1
    """
    for axis in axes:
        kind = DimKind.Feature if axis == x.feature_dim_axis else DimKind.Spatial
        y = y.copy_add_dim_by_tag(layer.make_dim("kept%i" % axis, 1, kind=kind), axis=axis)
        if axis == x.feature_dim_axis:
            y.feature_dim_axis = axis
        if axis == x.time_dim_axis:
            y.time_dim_axis = axis
    return y


@layer_class("reduce")
class ReduceLayer(ConcatInputLayer):
    """Sum, maximum, .. over axes. Frames behind a sequence's end do not count."""

    mode: str | None = None
    """sum, max, min, mean, avg, logsumexp, any, all, argmax, argmin; must be given"""
    axis: Any = None
    """axis description, or several"""
    axes: Any = None
    """the same"""
    keep_dims: bool = False
    """keep the axes, of size 1"""
    use_time_mask: bool | None = None
    """leave out frames behind a sequence's end; default: where a reduced axis is dynamic"""
    enforce_batch_dim_axis: int | None = None
    """move batch there first; default: 0 if axes are numbers"""

    def compute(self, x: Tensor) -> Tensor:
        if self.mode is None:
            raise ConfigError('option "mode" is missing')
        axes = self.axis if self.axes is None else self.axes
        if axes is None:
            raise ConfigError('option "axis" is missing')
        if x.sparse:
            raise ConfigError("labels cannot be reduced: %s" % x.short_repr())
        x = self._with_batch_at(x, axes)
        numbers = axes_of(x, axes)
        dims = [x.dims[a] for a in numbers]
        if any(d.is_dynamic or d.is_batch_dim for d in dims):
            self.recurrent = True
        use_mask = self.use_time_mask is not False
        if all(d.is_batch_dim for d in dims):
            use_mask = False
        y = rf.reduce(x, mode=self.mode, axis=dims, use_mask=use_mask)
        return with_kept_dims(self, x, y, sorted(numbers)) if self.keep_dims else y

    def _with_batch_at(self, x: Tensor, axes: Any) -> Tensor:
        place = self.enforce_batch_dim_axis
        if place is None:
            listed = axes if isinstance(axes, (list, tuple)) else [axes]
            if not any(isinstance(a, int) for a in listed):
                return x
            place = 0
        return x.copy_with_batch_dim_axis(place) if x.have_batch_axis() else x


@layer_class("reduce_out")
class ReduceOutLayer(ConcatInputLayer):
    """Maxout and the like: out[j] = mode(x[j * n], .., x[j * n + n - 1]) on the feature axis."""

    mode: str | None = None
    """max, sum, avg, mean; must be given"""
    num_pieces: int | None = None
    """n, must divide the feature dim; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        if self.mode not in ("max", "sum", "avg", "mean"):
            raise ConfigError("mode must be max, sum, avg or mean, but is %r" % (self.mode,))
        if not isinstance(self.num_pieces, int) or x.dim is None or x.dim % self.num_pieces:
            raise ConfigError("num_pieces %r does not divide the feature dim of %s" % (self.num_pieces, x.short_repr()))
        out_dim = self.out_dim or self.make_dim("out", x.dim // self.num_pieces, kind=DimKind.Feature)
        return rf.reduce_out(x, mode=self.mode, num_pieces=self.num_pieces, out_dim=out_dim)
