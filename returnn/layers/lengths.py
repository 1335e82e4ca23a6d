"""Layers that give lengths of axes, and numbers that count."""

from __future__ import annotations

from typing import Any

import numpy

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .base import LayerBase
from .registry import layer_class
from .values import checked_dtype


@layer_class("length")
class LengthLayer(LayerBase):
    """Lengths of the sequences of the source along an axis, int32 [batch]; of a static axis, or batch: a scalar."""

    axis: Any = "T"
    """axis description; "B": the number of sequences"""
    add_time_axis: bool = False
    """with a time axis of size 1 at the end"""
    dtype: str = "int32"
    """of the result. Up to behaviour version 30 lengths of sequences are int32, whatever this says"""
    sparse: bool = False
    """the lengths are labels, of which it is not known how many there are. Up to behaviour version 30 it has no effect
    on lengths of sequences"""

    recurrent = True

    def compute(self, *sources: Tensor) -> Tensor:
        x = self._only_source(sources)
        number = x.get_axis_from_description(self.axis, allow_int=False)
        y = _size(x, x.dims[number])
        if not y.dims or BehaviorVersion.has(Change.LENGTH_HAS_DTYPE):
            y = rf.cast(y, checked_dtype(self.dtype))
            if self.sparse:
                y = y.like(y.raw_tensor, sparse_dim=self.make_dim("sparse", None, kind=DimKind.Feature))
        if self.add_time_axis:
            y = y.copy_add_dim_by_tag(self.make_dim("time", 1), axis=y.batch_ndim)
            y.time_dim_axis = y.batch_ndim - 1
        return y

    def axis_dim(self) -> Dim:
        """
        :return: whose lengths these are
        """
        return self.sources[0].output.get_dim_tag_from_description(self.axis)


def _size(x: Tensor, dim: Dim) -> Tensor:
    """
    :return: int32; the lengths, or the size of the axis where it is the same for all sequences
    """
    lens = rf.lengths_along(x, dim)
    if isinstance(lens, Tensor):
        return lens.copy("length")
    raw = None if x.raw_tensor is None else x._raw_backend.convert(lens, "int32")
    return Tensor("length", (), "int32", raw_tensor=raw)


@layer_class("range")
class RangeLayer(LayerBase):
    """The numbers ``start``, ``start + delta``, .. in front of ``limit``: [n]."""

    limit: int | float | None = None
    """exclusive; must be given"""
    start: int | float = 0
    """the first number"""
    delta: int | float = 1
    """step, may be negative"""
    dtype: str | None = None
    """default: int32, if all three are integers, else float32"""
    sparse: bool = False
    """the numbers are labels, of which it is not known how many there are"""
    out_spatial_dim: Dim | None = None
    """the axis"""
    _default_source = None

    def compute(self, *_sources: Tensor) -> Tensor:
        numbers = (self.start, self.limit, self.delta)
        if self.limit is None:
            raise ConfigError('option "limit" is missing')
        if not all(isinstance(n, (int, float)) for n in numbers) or not self.delta:
            raise ConfigError("start, limit and delta must be numbers, and delta not 0, but they are %r" % (numbers,))
        dtype = self.dtype or ("int32" if all(isinstance(n, int) for n in numbers) else "float32")
        values = numpy.arange(*numbers, dtype=checked_dtype(dtype))
        dim = self.out_spatial_dim
        if dim is None:
            dim = self.make_dim("range", len(values))
        elif dim.dimension != len(values):
            if dim.is_static or dim.dyn_size is not None:
                raise ConfigError("out_spatial_dim is %s, but there are %i numbers" % (dim, len(values)))
            dim.declare_same_as(self.make_dim("range", len(values)))
        raw = self.network.backend.convert(values, dtype) if self.has_values else None
        sparse_dim = self.make_dim("sparse", None, kind=DimKind.Feature) if self.sparse else None
        feature_dim = None if self.sparse else dim
        return Tensor(self.name, [dim], dtype, sparse_dim=sparse_dim, feature_dim=feature_dim, raw_tensor=raw)


@layer_class("range_in_axis")
class RangeInAxisLayer(LayerBase):
    """0, 1, .. along an axis of the source: [axis]."""

    axis: Any = None
    """axis description; must be given"""
    dtype: str = "int32"
    """of the numbers"""
    sparse: bool = False
    """they are labels of that axis"""

    recurrent = True

    def compute(self, *sources: Tensor) -> Tensor:
        if self.axis is None:
            raise ConfigError('option "axis" is missing')
        x = self._only_source(sources)
        dim = x.dims[x.get_axis_from_description(self.axis, allow_int=False)]
        return _with_markers(rf.range_over_dim(dim, dtype=checked_dtype(self.dtype), of=x), labels=self.sparse)


@layer_class("range_from_length")
class RangeFromLengthLayer(LayerBase):
    """0, 1, .. for the lengths of the source, int [batch] or a scalar: [time], with these lengths.

    Where the source is a length layer, time is the axis whose lengths these are; else a new one.
    """

    dtype: str = "int32"
    """of the numbers"""
    sparse: bool = False
    """they are labels, of which it is not known how many there are"""
    out_spatial_dim: Dim | None = None
    """the time axis"""

    recurrent = True

    def compute(self, *sources: Tensor) -> Tensor:
        lens = self._only_source(sources)
        if lens.dtype not in ("int32", "int64"):
            raise ConfigError("lengths must be int32 or int64, but are %s" % lens.short_repr())
        dim = self._time_dim(rf.cast(lens.like(lens.raw_tensor, sparse_dim=None, name="lens"), "int32"))
        dtype = checked_dtype(self.dtype)
        y = Tensor("range", [dim], dtype) if lens.raw_tensor is None else rf.range_over_dim(dim, dtype=dtype)
        y = _with_markers(y, labels=False)
        if self.sparse:
            y = y.like(y.raw_tensor, sparse_dim=self.make_dim("sparse", None, kind=DimKind.Feature))
        return y

    def _time_dim(self, lens: Tensor) -> Dim:
        source = self.sources[0]
        dim = source.axis_dim() if isinstance(source, LengthLayer) else None
        if dim is None or not dim.is_dynamic:
            dim = self.make_dim("time", None)
            if lens.raw_tensor is not None or dim.size_dims != lens.dims:
                dim.dyn_size_ext = lens
        if self.out_spatial_dim is not None:
            self.out_spatial_dim.declare_same_as(dim)
        return self.out_spatial_dim or dim


def _with_markers(y: Tensor, *, labels: bool) -> Tensor:
    """a dynamic axis is time; a static one is the features, unless the values are labels"""
    y = y if labels else y.like(y.raw_tensor, sparse_dim=None)
    if y.dims[0].is_dynamic:
        y.time_dim_axis = 0
    elif y.dims[0].is_static and not labels:
        y.feature_dim_axis = 0
    return y
