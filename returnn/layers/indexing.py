"""Layers that pick entries by their number, and put them: gather, slice, scatter, masks, the largest ones."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import axis_of, batch_major
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import default_feature_again, time_dim_of
from .numbers import integers, integers_of_option, whole_number
from .parts import LayerWithParts
from .registry import layer_class
from .unify import unify


@layer_class("gather_nd")
class GatherNdLayer(ConcatInputLayer):
    """y[b, ..] = x[b, position[b, ..]], on the first axis of the input but the batch.

    Output: batch, the other axes of ``position``, the other axes of the input. A position that does not exist stops the
    step, on CPU.
    """

    recurrent = True
    _layer_options = ("position",)

    position: LayerBase | None = None
    """a layer with integers [batch] or [batch, ..]; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        position = integers(self._output_of_option("position"), "position")
        x = batch_major(x)
        axes = [d for d in x.dims if not d.is_batch_dim]
        if not axes:
            raise ConfigError("there is nothing to pick from: %s" % x.short_repr())
        y = rf.gather(x, indices=position, axis=axes[0])
        return batch_major(y)


@layer_class("gather")
class GatherLayer(ConcatInputLayer):
    """y[s, a, i, b] = x[s, a, position[s, i], b]: picks entries along an axis.

    Output: the axes that input and position have in common, those of the input in front of ``axis``, those of the
    position, those of the input behind ``axis``.
    """

    _layer_options = ("position",)

    position: LayerBase | int | None = None
    """a layer with integers, or a number >= 0; must be given"""
    axis: Any = None
    """axis description; must be given"""
    clip_to_valid: bool = False
    """a position outside of the sequence means its first or last frame; else it must not occur"""

    def compute(self, x: Tensor) -> Tensor:
        if self.position is None:
            raise ConfigError('option "position" is missing')
        axis = axis_of(x, self.axis, batch=True)
        self.recurrent = not axis.is_static
        position = integers_of_option(self, "position", least=0)
        y = rf.gather(x, indices=position, axis=axis, clip_to_valid=self.clip_to_valid)
        return default_feature_again(y, before=x)


@layer_class("slice")
class SliceLayer(ConcatInputLayer):
    """x[start:end:step] along an axis, as Python has it.

    Lengths: len - start, len - abs(end) for a negative end, len / step rounded up; never below 0. Up to behaviour
    version 30, an end >= 0 makes a static axis of (end - start) frames, zeros where the longest sequence has no more;
    from version 31 on lengths are cut there. A negative step turns the array round, from version 31 on each sequence.
    """

    axis: Any = None
    """axis description; must be given"""
    slice_start: int | None = None
    """>= 0"""
    slice_end: int | None = None
    """negative: counted from the end of the longest sequence"""
    slice_step: int | None = None
    """negative: backwards, from the end on; without start and end"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        self.recurrent = axis.is_dynamic
        start = 0 if self.slice_start is None else whole_number(self.slice_start, "slice_start", least=0)
        end = None if self.slice_end is None else whole_number(self.slice_end, "slice_end")
        step = 1 if self.slice_step is None else whole_number(self.slice_step, "slice_step")
        if not step or (step < 0 and (start or end is not None)):
            raise ConfigError(
                "slice_step must not be 0, and if it is negative there must be no slice_start and slice_end; it is %i"
                % step
            )
        if end is not None and 0 <= end < start:
            raise ConfigError("slice_end is %i, in front of slice_start %i" % (end, start))
        if step < 0:
            handle = BehaviorVersion.has(Change.SLICE_KEEPS_LENGTHS)
            x = rf.reverse_sequence(x, axis=axis, handle_dynamic_dims=handle)
        if end is not None and end >= 0 and axis.is_dynamic and not BehaviorVersion.has(Change.SLICE_KEEPS_LENGTHS):
            whole = self.make_dim("slice", end - start, kind=axis.kind)
            is_time = axis == x.time_dim
            x = rf.slice_nd(x, axis=axis, start=start, out_dim=whole, use_mask=False)
            if is_time:
                x.time_dim_axis = x.get_axis_from_dim(whole)
            axis, start, end = whole, 0, None
        y, dim = rf.slice(x, axis=axis, start=start or None, end=end, step=abs(step))
        if self.out_dim is not None:
            self.out_dim.declare_same_as(dim)
        return y


@layer_class("slice_nd")
class SliceNdLayer(ConcatInputLayer):
    """y[i] = x[start + i] for i < size: a piece of each sequence, from its own start on. Zero where there is no frame.

    Output: with ``size``, so many frames. Without it, the rest of the sequence: lengths len - start. Up to behaviour
    version 30, with one start for all sequences, what stands behind the end of a shorter one is seen.
    """

    recurrent = True
    _layer_options = ("start", "size")

    start: LayerBase | int | None = None
    """a number >= 0, or a layer with integers, one for each sequence, or several; they may be negative. Default 0"""
    size: LayerBase | Dim | int | None = None
    """a number, or a layer with one for each sequence, or a Dim; default: to the end"""
    min_size: int | None = None
    """without ``size``: lengths are at least that"""
    axis: Any = "T"
    """axis description"""
    out_spatial_dim: Dim | None = None
    """Dim of the result"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        start = 0 if self.start is None else integers_of_option(self, "start", least=0)
        dim = self._size_dim(x, axis, start)
        if self.out_spatial_dim is not None:
            self.out_spatial_dim.declare_same_as(dim)
        own_starts = isinstance(start, Tensor) and bool(start.dims)
        masked = own_starts or BehaviorVersion.has(Change.SEQUENCE_LAYERS_MASK)
        return rf.slice_nd(x, axis=axis, start=start, out_dim=dim, use_mask=masked)

    def _size_dim(self, x: Tensor, axis: Dim, start: Tensor | int) -> Dim:
        if isinstance(self.size, Dim):
            return self.size
        if self.size is not None and not isinstance(self.size, LayerBase):
            return self.make_dim("sliced-time", whole_number(self.size, "size", least=0), kind=axis.kind)
        dim = self.make_dim("sliced-time", None, kind=axis.kind)
        if isinstance(self.size, LayerBase):
            lens: Any = integers(self._output_of(self.size), "size")
        else:
            least = 0 if self.min_size is None else whole_number(self.min_size, "min_size", least=0)
            rest = rf.lengths_along(x, axis) - start
            if isinstance(rest, int):
                return self.make_dim("sliced-time", max(rest, least), kind=axis.kind)
            lens = rf.maximum(rest, least)
        if x.raw_tensor is not None:
            dim.dyn_size_ext = lens
        return dim


@layer_class("scatter_nd")
class ScatterNdLayer(ConcatInputLayer):
    """y[s, position[s, i], e] = sum of x[s, i, e] over i: puts entries where the position says, and adds them up.

    Output: the axes of ``position``, with the new axis in place of ``position_axis``, then the other axes of the input.
    The input is repeated over axes of the position that it lacks. Frames behind a sequence's end count too, from
    behaviour version 25 on not.
    """

    recurrent = True
    _layer_options = ("position", "output_dim_via_time_from")

    position: LayerBase | None = None
    """a layer with integers; must be given"""
    position_axis: Any = None
    """axis description of the position: i. Must be given"""
    output_dim_via_time_from: LayerBase | str | None = None
    """a layer: its time axis is the new axis"""
    out_spatial_dim: Dim | None = None
    """or the new axis itself"""
    filter_invalid_indices: bool = False
    """leave out entries whose position does not exist; else there must be none"""

    def compute(self, x: Tensor) -> Tensor:
        position = integers(self._output_of_option("position"), "position")
        if (self.output_dim_via_time_from is None) == (self.out_spatial_dim is None):
            raise ConfigError("give one of output_dim_via_time_from and out_spatial_dim")
        out_dim = self.out_spatial_dim
        if out_dim is None:
            base = self._output_of_option("output_dim_via_time_from")
            out_dim = time_dim_of(base, "the layer output_dim_via_time_from")
        x, position = unify([x, position], features=False)
        return rf.scatter(
            x,
            indices=position,
            indices_dim=axis_of(position, self.position_axis, option="position_axis"),
            out_dim=out_dim,
            use_mask=BehaviorVersion.has(Change.SCATTER_MASKS),
            filter_invalid=self.filter_invalid_indices,
        )


@layer_class("boolean_mask")
class BooleanMaskLayer(ConcatInputLayer):
    """Only the entries where a mask is true.

    Output: if ``dims`` are all axes of the mask, one row of all entries, [number of them, the other axes of the input].
    Else a row for each entry of the other axes of the mask, with lengths. Frames behind a sequence's end are seen, from
    behaviour version 31 on not.
    """

    recurrent = True
    _layer_options = ("mask",)

    mask: LayerBase | None = None  # type: ignore[assignment]
    """a layer with booleans; must be given"""
    dims: Any = None
    """axis descriptions or Dims of the mask, the outermost first; the input must have them too. Must be given"""

    def compute(self, x: Tensor) -> Tensor:
        if self.dims is None:
            raise ConfigError('option "dims" is missing')
        mask = self._output_of_option("mask")
        if mask.dtype != "bool":
            raise ConfigError("the layer mask must give booleans, but is %s" % mask.short_repr())
        x, mask = unify([x, mask], features=False)
        dims = [mask.dims[a] for a in mask.get_axes_from_description(self.dims)]
        if not dims or any(d not in x.dims for d in dims):
            raise ConfigError("dims %r must be axes of mask and input: %s" % (self.dims, x.short_repr()))
        out_dim = self.make_dim("mask", None, kind=dims[0].kind if len(dims) == 1 else DimKind.Spatial)
        masked = BehaviorVersion.has(Change.SEQUENCE_LAYERS_MASK)
        y, _ = rf.masked_select(x, mask=mask, dims=dims, out_dim=out_dim, use_mask=masked)
        if self.out_dim is not None:
            self.out_dim.declare_same_as(out_dim)
        return y


@layer_class("remove")
class RemoveLayer(ConcatInputLayer):
    """The labels without one of them: 1 0 2 0 without 0 is 1 2. Output [batch, time], lengths are those of the rest."""

    recurrent = True

    symbol: int | None = None
    """the label to drop; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        symbol = whole_number(self.symbol, "symbol")
        if "int" not in x.dtype:
            raise ConfigError("the input must be labels, but is %s" % x.short_repr())
        time = time_dim_of(x)
        out_dim = self.make_dim("time", None)
        y, _ = rf.masked_select(x, mask=rf.compare(x, "!=", symbol), dims=[time], out_dim=out_dim)
        if self.out_dim is not None:
            self.out_dim.declare_same_as(out_dim)
        return y


@layer_class("search_sorted")
class SearchSortedLayer(LayerBase):
    """How many entries of a sorted sequence come before each value: int32, in the shape of the values.

    Axes that both have, besides ``axis``, belong together. Frames behind a sequence's end do not count.
    """

    recurrent = True
    _default_source = None
    _layer_options = ("sorted_sequence", "values")

    sorted_sequence: LayerBase | None = None
    """a layer, ascending along ``axis``; must be given"""
    values: LayerBase | None = None
    """a layer of the same dtype; must be given"""
    axis: Any = "T"
    """axis description of the sorted sequence"""
    side: str = "left"
    """left: entries < value; right: entries <= value"""

    def compute(self, *sources: Tensor) -> Tensor:
        if sources:
            raise ConfigError('the layer has no source: it takes "sorted_sequence" and "values"')
        sequence, values = self._output_of_option("sorted_sequence"), self._output_of_option("values")
        if sequence.dtype != values.dtype:
            raise ConfigError("%s and %s differ in dtype" % (sequence.short_repr(), values.short_repr()))
        return rf.search_sorted(sequence, values, axis=axis_of(sequence, self.axis), side=self.side)


@layer_class("top_k")
class TopKLayer(LayerWithParts):
    """The k largest entries along an axis: [other axes, k]. ``NAME/indices`` are their places, int32 labels of the
    axis.

    With a list of axes these are searched together, and places are ``NAME/indices0``, ``NAME/indices1``, .. Frames
    behind a sequence's end come last, with the lowest number of the dtype.
    """

    _layer_options = ("k",)

    axis: Any = None
    """axis description, or a list of them; must be given"""
    k: int | LayerBase | None = None
    """a number, or a layer with one, for all or for each sequence; default: the size of ``k_dim``"""
    k_dim: Dim | None = None
    """Dim of the new axis"""
    sorted: bool = True
    """the largest one first; else in any order"""

    def compute(self, *sources: Tensor) -> Tensor:
        x = self._only_source(sources)
        if self.axis is None:
            raise ConfigError('option "axis" is missing')
        several = isinstance(self.axis, (list, tuple))
        axes = [axis_of(x, a, batch=True) for a in (self.axis if several else [self.axis])]
        self.recurrent = not all(d.is_static for d in axes)
        k, dim = self._number()
        values, places, _ = rf.top_k(x, axis=axes if several else axes[0], k=k, k_dim=dim, sorted=self.sorted)
        if isinstance(places, list):
            self.parts = {"indices%i" % i: y for i, y in enumerate(places)}
        else:
            self.parts = {"indices": places}
        return values

    def _number(self) -> tuple[Tensor | int | None, Dim]:
        if self.k is None:
            if self.k_dim is None:
                raise ConfigError('option "k" is missing')
            return None, self.k_dim
        k = integers_of_option(self, "k", least=0)
        if isinstance(k, Tensor):
            return k, self.k_dim or self.make_dim("topk", None)
        if self.k_dim is not None and self.k_dim.dimension not in (None, k):
            raise ConfigError("k is %i, but k_dim is %s" % (k, self.k_dim))
        return k, self.k_dim or self.make_dim("topk", k)
