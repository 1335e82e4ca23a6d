"""Layers that look at windows of neighbouring frames, that put windows together, and that change the frame rate."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.frontend.windows import window_split
from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .axes import axis_behind_batch, axis_of, batch_major
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .history import not_in_loop, over_frames, zeros_before
from .numbers import number, whole_number
from .registry import layer_class

_RESIZE_KINDS = {
    "nn": "nn",
    "nearest_neighbor": "nn",
    "linear": "linear",
    "cubic": "cubic",
    "fill": "fill",
}


@layer_class("window")
class WindowLayer(ConcatInputLayer):
    """A new axis of size w right behind the axis: frame t sees x[t - left], .., x[t + right], zeros outside.
    Batch-major; from behaviour version 18 on the axis and the window are in front. A window over features is the
    feature axis then. Within a loop also over its frames, with right = 0: output [batch, w, ..].
    """

    recurrent = True
    iterates_itself = True

    window_size: int | None = None
    """w; must be given, or ``window_dim``"""
    window_dim: Dim | None = None
    """Dim of the window"""
    window_left: int | None = None
    """frames before t"""
    window_right: int | None = None
    """frames behind t; default: w // 2, and the rest is left"""
    axis: Any = "T"
    """axis description"""
    out_spatial_dim: Dim | None = None
    """Dim of the axis in the result"""
    padding: str = "same"
    """or "valid": only windows that fit"""
    stride: int = 1
    """every so many frames"""

    def compute(self, x: Tensor) -> Tensor:
        window_dim = self._window_dim()
        x, axis = over_frames(self, batch_major(x), self.axis)
        if axis is None:
            return self._one_frame(x, window_dim)
        y, out_dim = rf.window(
            x,
            spatial_dim=axis,
            window_dim=window_dim,
            window_left=self.window_left,
            window_right=self.window_right,
            padding=self.padding.lower(),
            stride=whole_number(self.stride, "stride", least=1),
            out_dim=self.out_spatial_dim,
            use_mask=BehaviorVersion.has(Change.WINDOW_AND_SPLIT_MASK),
        )
        if axis == x.feature_dim:
            y.feature_dim = window_dim
        return self._in_order(y, [out_dim, window_dim])

    @staticmethod
    def _in_order(y: Tensor, dims: list[Dim]) -> Tensor:
        if not BehaviorVersion.has(Change.WINDOW_TIME_FIRST):
            return y
        return y.copy_transpose(dims + [d for d in y.dims if d not in dims])

    def _one_frame(self, x: Tensor, window_dim: Dim) -> Tensor:
        size = window_dim.require_static()
        _, right = window_split(size, self.padding.lower(), self.window_left, self.window_right, op="window")
        if right or self.stride != 1:
            raise not_in_loop("a window with window_right %i and stride %r" % (right, self.stride))
        batch = [d for d in visible_dims(x.dims) if d.is_batch_dim]
        rest = [d for d in visible_dims(x.dims) if not d.is_batch_dim]
        before_dim, one = self.make_dim("before", size - 1), self.make_dim("frame", 1)
        dims = [*batch, before_dim, *rest]
        before = self.previous(
            "before", x.like(None, dims=dims, time_dim=None), lambda: zeros_before(self, dims, x.dtype)
        )
        y, total = rf.concat((before, before_dim), (rf.expand_dim(x, one), one), allow_broadcast=True)
        _, kept = rf.split(y, axis=total, out_dims=[one, before_dim])
        self.leave("before", kept)
        return self._in_order(rf.replace_dim(y, in_dim=total, out_dim=window_dim), [window_dim])

    def _window_dim(self) -> Dim:
        size = self.window_size
        if self.window_dim is not None and size in (None, self.window_dim.dimension):
            return self.window_dim
        if self.window_dim is not None:
            raise ConfigError("window_size is %r, but window_dim is %s" % (size, self.window_dim))
        if not isinstance(size, int) or size < 1:
            raise ConfigError("window_size must be an integer > 0, but is %r" % (size,))
        return self.make_dim("window", size)


@layer_class("fold")
class FoldLayer(ConcatInputLayer):
    """Lays windows over each other: the inverse of ``window``. Entry j of window t belongs to frame t * stride + j
    - left.

    Output: without the window axis. Lengths: the largest that have so many windows, t * stride, or with padding "valid"
    t * stride + w - 1. Windows behind a sequence's end do not count.
    """

    recurrent = True

    mode: str | None = None
    """sum, or mean over the entries that a frame has; a frame without any is 0. Must be given"""
    in_spatial_dim: Any = None
    """axis description or Dim: t. Must be given"""
    window_dim: Any = None
    """axis description or Dim: j. Must be given"""
    out_spatial_dim: Dim | None = None
    """Dim of the frames"""
    padding: str = "same"
    """or "valid": as the windows were made"""
    window_left: int | None = None
    """as in ``window``"""
    window_right: int | None = None
    """the same"""
    stride: int = 1
    """the same"""

    def compute(self, x: Tensor) -> Tensor:
        if self.mode is None:
            raise ConfigError('option "mode" is missing')
        y, _ = rf.fold(
            x,
            in_spatial_dim=axis_of(x, self.in_spatial_dim, option="in_spatial_dim"),
            window_dim=axis_of(x, self.window_dim, option="window_dim"),
            mode=self.mode,
            padding=self.padding.lower(),
            window_left=self.window_left,
            window_right=self.window_right,
            stride=whole_number(self.stride, "stride", least=1),
            out_dim=self.out_spatial_dim,
        )
        return y


@layer_class("time_chunking")
class TimeChunkingLayer(ConcatInputLayer):
    """Cuts sequences into chunks, which are sequences of their own: [chunk_size, batch * number of chunks, ..], the
    chunks of a sequence one behind the other. A short last chunk has its own length, and zeros behind.

    All sequences have as many chunks as the longest one of n frames: ceil(max(n - chunk_size, 0) / chunk_step) + 1.
    """

    recurrent = True

    chunk_size: int | None = None
    """frames; must be given"""
    chunk_step: int | None = None
    """frames from the start of a chunk to that of the next one; must be given"""
    axis: Any = "T"
    """axis description"""

    def compute(self, x: Tensor) -> Tensor:
        size = whole_number(self.chunk_size, "chunk_size", least=1)
        step = whole_number(self.chunk_step, "chunk_step", least=1)
        self._cut_dim = axis_of(x, self.axis)
        self._chunk_dim = self.make_dim("chunk", None)
        self._chunks_dim = self.make_dim("chunks", None)
        dims = [_batch_dim_of(x), self._chunks_dim]
        y = rf.chunk(
            x,
            axis=self._cut_dim,
            chunk_size=size,
            chunk_step=step,
            chunk_dim=self._chunk_dim,
            chunks_dim=self._chunks_dim,
        )
        y, batch = rf.merge_dims(y, dims=dims)
        chunk = self._chunk_dim.in_merged_batch(dims)
        y = y.copy_transpose([chunk, batch, *(d for d in y.dims if d not in (chunk, batch))])
        y.time_dim_axis = 0
        return y

    def unchunk(self, y: Tensor) -> Tensor:
        """
        :param y: computed from the chunks
        :return: [time, batch, ..], see :class:`TimeUnchunkingLayer`
        """
        chunk = self._chunk_dim.in_merged_batch([_batch_dim_of(y), self._chunks_dim])
        if chunk not in y.dims:
            raise ConfigError("the input has other axes than the chunks of %r: %s" % (self.name, y.short_repr()))
        y = rf.unchunk(
            y,
            chunk_dim=self._chunk_dim,
            chunks_dim=self._chunks_dim,
            chunk_step=whole_number(self.chunk_step, "chunk_step", least=1),
            out_dim=self._cut_dim,
        )
        return y.copy_as_time_batch_major()


@layer_class("time_unchunking")
class TimeUnchunkingLayer(ConcatInputLayer):
    """Puts chunks together again: [time, batch, ..], with the lengths from before ``time_chunking``. A frame of several
    chunks is the mean of these, one of none is zero.
    """

    recurrent = True
    _layer_options = ("chunking_layer",)

    chunking_layer: LayerBase | None = None
    """the layer of class time_chunking that made the chunks; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.chunking_layer, TimeChunkingLayer):
            raise ConfigError("chunking_layer must be a layer of class time_chunking, but is %r" % self.chunking_layer)
        return self.chunking_layer.unchunk(x)


def _batch_dim_of(x: Tensor) -> Dim:
    if x.batch_dim_axis is None:
        raise ConfigError("%s has no batch axis" % x.short_repr())
    return x.dims[x.batch_dim_axis]


@layer_class("resize")
class ResizeLayer(ConcatInputLayer):
    """Another number of frames: frame i is taken at the place i / factor. Lengths are multiplied, rounded up.
    Batch-major, with the axis behind the batch.

    Up to behaviour version 30, what stands behind a sequence's end is seen from its last frame; and with a factor that
    is no integer, frames are spread over the array, so that places depend on the longest sequence.
    """

    factor: float | None = None
    """> 0; an integer for kind fill. Must be given"""
    axis: Any = None
    """axis description; must be given"""
    kind: str = "nn"
    """nn or nearest_neighbor: the frame in front of that place; linear: between its two neighbours; cubic: of the four
    neighbours, as TensorFlow's ``resize_bicubic``; fill: the frame where the place is one, else ``fill_value``"""
    fill_value: float | None = None
    """of kind fill, for which it must be given"""
    fill_dropout: float = 0.0
    """of kind fill: so many of the filled frames are left out again, at random, the same for all sequences; also when
    not training"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        self.recurrent = axis.is_dynamic
        if number(self.factor, "factor") <= 0:
            raise ConfigError("factor must be > 0, but is %r" % (self.factor,))
        kind = self._kind()
        if kind in ("linear", "cubic") and "float" not in x.dtype:
            raise ConfigError("kind %s needs floats, but the input is %s" % (kind, x.short_repr()))
        out_dim = None
        if axis.is_dynamic and self.factor != int(self.factor or 0):
            out_dim = self.make_dim("resized", None, kind=axis.kind)
        y, dim = rf.resize(
            x.copy_transpose(axis_behind_batch(x, axis)),
            axis=axis,
            factor=self.factor or 1,
            kind=kind,
            fill_value=self.fill_value or 0,
            out_dim=out_dim,
            use_mask=BehaviorVersion.has(Change.SEQUENCE_LAYERS_MASK),
        )
        if self.fill_dropout:
            y, dim = self._some_left_out(y, dim)
        if self.out_dim is not None:
            self.out_dim.declare_same_as(dim)
        return y

    def _kind(self) -> str:
        kind = _RESIZE_KINDS.get(self.kind)
        if kind is None:
            near = did_you_mean(str(self.kind), _RESIZE_KINDS)
            raise ConfigError("unknown kind %r.%s Kinds: %s" % (self.kind, near, ", ".join(_RESIZE_KINDS)))
        if kind == "fill":
            number(self.fill_value, "fill_value")
            whole_number(self.factor, "factor", least=1)
        elif self.fill_value is not None or self.fill_dropout:
            raise ConfigError("fill_value and fill_dropout need kind fill, but it is %s" % kind)
        if not 0 <= number(self.fill_dropout, "fill_dropout") < 1:
            raise ConfigError("fill_dropout must be in [0, 1), but is %r" % self.fill_dropout)
        return kind

    def _some_left_out(self, y: Tensor, dim: Dim) -> tuple[Tensor, Dim]:
        state = rf.random_state_of_step(self.get_absolute_name() + "/fill_dropout", backend=y._raw_backend)
        noise = rf.random_uniform([dim], state=state)
        is_frame = rf.compare(rf.places_along(dim, y) % int(self.factor or 1), "==", 0)
        keep = is_frame | rf.compare(noise, ">=", self.fill_dropout)
        kept = self.make_dim("kept", None)
        out_dim = self.make_dim("filled", None, kind=dim.kind)
        dims = [out_dim if d == dim else d for d in y.dims]
        time, feature = (out_dim if d == dim else d for d in (y.time_dim, y.feature_dim))
        counted = keep
        if dim.need_masking:
            counted = keep & dim.get_mask()
        if y.raw_tensor is not None:
            out_dim.dyn_size_ext = rf.reduce_sum(rf.cast(counted, "int32"), axis=dim, use_mask=False)
        y, _ = rf.masked_select(y, mask=keep, dims=[dim], out_dim=kept, use_mask=False)
        y = rf.replace_dim(y, in_dim=kept, out_dim=out_dim).copy_transpose(dims)
        return y.like(y.raw_tensor, time_dim=time, feature_dim=feature), out_dim
