"""Layers that add frames at the ends of sequences, and layers that move or repeat frames."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import axis_behind_batch, axis_of
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import time_dim_of
from .numbers import integers, integers_of_option, number, whole_number
from .registry import layer_class
from .unify import unify

_PAD_MODES = {"replication": "replicate"}


@layer_class("prefix_in_time")
class PrefixInTimeLayer(ConcatInputLayer):
    """A constant in front of each sequence: c, .., c, x[0], .., x[last]. Lengths grow by ``repeat``. For labels too."""

    _layer_options = ("repeat", "size_base")

    prefix: float = 0.0
    """c, a number"""
    repeat: int | LayerBase = 1
    """how often: a number, or a layer with one for each sequence"""
    axis: Any = "T"
    """axis description"""
    size_base: LayerBase | str | None = None
    """a layer with the same lengths: the new axis is its time axis, so that both can be combined"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        self.recurrent = axis.is_dynamic
        prefix = number(self.prefix, "prefix")
        if isinstance(self.repeat, LayerBase):
            y, dim = self._repeated_by_layer(x, axis, prefix)
        else:
            times = whole_number(self.repeat, "repeat", least=0)
            y, (dim,) = rf.pad(x, axes=axis, padding=[(times, 0)], out_dims=self.out_dim, value=prefix)
        if self.size_base is not None:
            assert isinstance(self.size_base, LayerBase)
            base = time_dim_of(self._output_of(self.size_base), "the layer size_base")
            y = rf.replace_dim(y, in_dim=dim, out_dim=base)
        return y

    def _repeated_by_layer(self, x: Tensor, axis: Dim, prefix: float) -> tuple[Tensor, Dim]:
        assert isinstance(self.repeat, LayerBase)
        times = integers(self._output_of(self.repeat), "repeat")
        if axis in times.dims:
            raise ConfigError("repeat must be a number for each sequence, but is %s" % times.short_repr())
        dim = self.make_dim("prefixed", None, kind=axis.kind)
        if x.raw_tensor is not None:
            dim.dyn_size_ext = times + rf.lengths_along(x, axis)
        if self.out_dim is not None:
            self.out_dim.declare_same_as(dim)
        return rf.slice_nd(x, axis=axis, start=-times, out_dim=dim, fill_value=prefix), dim


@layer_class("postfix_in_time")
class PostfixInTimeLayer(ConcatInputLayer):
    """A constant behind each sequence: x[0], .., x[last], c, .., c. Lengths grow by ``repeat``. For labels too."""

    _layer_options = ("postfix",)

    postfix: float | LayerBase = 0.0
    """c, a number; or a layer without this axis, of the same dtype: one for each sequence"""
    repeat: int = 1
    """how often"""
    axis: Any = "T"
    """axis description"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        self.recurrent = axis.is_dynamic
        value: Any = self.postfix
        if isinstance(value, LayerBase):
            x, value = unify([x, self._output_of(value)])
            if value.dtype != x.dtype or axis in value.dims:
                raise ConfigError(
                    "the layer postfix must be %s, without the axis %s, but is %s" % (x.dtype, axis, value.short_repr())
                )
        else:
            value = number(value, "postfix")
        padding = [(0, whole_number(self.repeat, "repeat", least=0))]
        return rf.pad(x, axes=axis, padding=padding, out_dims=self.out_dim, value=value)[0]


@layer_class("pad")
class PadLayer(ConcatInputLayer):
    """More frames at both ends of axes; lengths grow by their number."""

    _layer_options = ("value",)

    axes: Any = None
    """axis description, or several; must be given"""
    padding: int | Sequence[Any] | None = None
    """number of frames: the same at both ends of all axes; or (in front, behind); or a list of such pairs, one for each
    axis. Must be given"""
    out_dims: Dim | Sequence[Dim] | None = None
    """Dims of the result"""
    value: float | LayerBase | None = None
    """with mode constant: a number, or a layer that gives one; default 0"""
    mode: str = "constant"
    """constant; reflect: mirrored at the first and the last frame; symmetric: these twice; replication: the first and
    the last frame"""
    handle_dynamic_dims: bool | None = None
    """what comes behind a sequence comes behind its own end; else behind that of the longest one, and only the lengths
    grow. Default: False, True from behaviour version 21 on"""

    def compute(self, x: Tensor) -> Tensor:
        if self.axes is None or self.padding is None:
            raise ConfigError('options "axes" and "padding" are needed')
        numbers = x.get_axes_from_description(self.axes)
        dims = [axis_of(x, a, option="axes") for a in numbers]
        self.recurrent = any(d.is_dynamic for d in dims)
        mode = str(self.mode).lower()
        handle = self.handle_dynamic_dims
        if handle is None:
            handle = BehaviorVersion.has(Change.PAD_DYNAMIC_DIMS)
        y, _ = rf.pad(
            x,
            axes=dims,
            padding=self._pairs(len(dims)),
            out_dims=self.out_dims,
            mode=_PAD_MODES.get(mode, mode),
            value=self._value(),
            handle_dynamic_dims=handle,
        )
        return y

    def _value(self) -> float | Tensor:
        if not isinstance(self.value, LayerBase):
            return 0 if self.value is None else number(self.value, "value")
        value = self._output_of(self.value)
        if value.dims:
            raise ConfigError("the layer value must be a scalar, but is %s" % value.short_repr())
        return value

    def _pairs(self, num_axes: int) -> list[tuple[int, int]]:
        given = self.padding
        if _is_size(given):
            given = (given, given)
        if isinstance(given, (list, tuple)):
            pairs = [given] * num_axes if all(map(_is_size, given)) else list(given)
            if len(pairs) == num_axes and all(map(_is_pair, pairs)):
                return [(front, behind) for front, behind in pairs]
        raise ConfigError(
            "padding must be a number >= 0, or a pair of them, or a pair for each of the axes (%i), but is %r"
            % (num_axes, self.padding)
        )


def _is_size(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 0


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and all(map(_is_size, pair))


@layer_class("shift_axis")
class ShiftAxisLayer(ConcatInputLayer):
    """y[t] = x[t - amount]: to the right (later) if ``amount`` > 0, else to the left.

    Lengths: to the right they grow, but the longest sequence loses its last frames, and no other becomes longer than
    that; to the left they shrink.
    """

    axis: Any = None
    """axis description; must be given"""
    amount: int | None = None
    """number of frames, not 0; must be given"""
    pad: bool = True
    """put ``pad_value`` where nothing comes from. False: the axis becomes shorter instead"""
    pad_value: float = 0
    """a number"""
    adjust_size_info: bool = True
    """False: lengths stay as they are; what is shifted out of a sequence is lost. Needs ``pad``, but on static axes"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        self.recurrent = axis.is_dynamic
        if isinstance(self.amount, bool) or not isinstance(self.amount, int) or not self.amount:
            raise ConfigError("amount must be an integer other than 0, but is %r" % (self.amount,))
        value = number(self.pad_value, "pad_value")
        if axis.is_dynamic and not self.adjust_size_info and not self.pad:
            raise ConfigError("adjust_size_info=False needs pad: else %s becomes shorter than its lengths" % axis)
        if self.pad and (axis.is_static or not self.adjust_size_info):
            return self._same_lengths(x, axis, value)
        if self.amount < 0:
            return rf.slice(x, axis=axis, start=-self.amount)[0]
        if axis.is_static:
            return rf.slice(x, axis=axis, end=-self.amount)[0]
        return self._to_the_right(x, axis, value)

    def _same_lengths(self, x: Tensor, axis: Dim, value: float) -> Tensor:
        assert self.amount is not None
        if self.amount > 0:
            return rf.shift_right(x, axis=axis, pad_value=value, amount=self.amount)
        masked = BehaviorVersion.has(Change.SEQUENCE_LAYERS_MASK)
        return rf.shift_left(x, axis=axis, pad_value=value, amount=-self.amount, use_mask=masked)

    def _to_the_right(self, x: Tensor, axis: Dim, value: float) -> Tensor:
        assert self.amount is not None
        dim = self.make_dim("shifted", None, kind=axis.kind)
        if self.pad:
            y = rf.shift_right(x, axis=axis, pad_value=value, amount=self.amount)
        else:
            y, axis = rf.slice(x, axis=axis, end=-self.amount, out_dim=self.make_dim("cut", None, kind=axis.kind))
        if x.raw_tensor is not None:
            lens = rf.lengths_along(x, x.dims[y.get_axis_from_dim(axis)])
            longest = rf.lengths_along(y, axis, use_mask=False)
            dim.dyn_size_ext = rf.minimum(lens + self.amount if self.pad else lens, longest)
        return rf.replace_dim(y, in_dim=axis, out_dim=dim)


@layer_class("seq_len_mask")
class SeqLenMaskLayer(ConcatInputLayer):
    """A fixed value in all frames behind the end of their sequence, and in others if asked for. Lengths stay."""

    recurrent = True
    _layer_options = ("seq_len_source", "start", "window_start", "window_size")

    mask_value: float | None = None
    """the value, a number; must be given"""
    axis: Any = "T"
    """axis description"""
    seq_len_source: LayerBase | str | None = None
    """a layer whose lengths count instead, along its time axis; or one that gives lengths"""
    start: int | LayerBase | None = None
    """frames before this one get the value too: a number, or a layer with one for each sequence"""
    window_start: int | LayerBase | None = None
    """frames before this one get the value too, and all from window_start + window_size on; a number or a layer"""
    window_size: int | LayerBase | None = None
    """to be given together with window_start; a number or a layer"""

    def compute(self, x: Tensor) -> Tensor:
        if self.mask_value is None:
            raise ConfigError('option "mask_value" is missing')
        value = number(self.mask_value, "mask_value")
        axis = axis_of(x, self.axis)
        if self.window_start is not None and self.window_size is None:
            raise ConfigError("window_start needs window_size")
        places = rf.places_along(axis, x)
        masks = self._masks_of_lengths(x, axis, places)
        if self.start is not None:
            masks.append(places >= integers_of_option(self, "start"))
        if self.window_start is not None:
            offset = places - integers_of_option(self, "window_start")
            masks += [rf.compare(offset, ">=", 0), offset < integers_of_option(self, "window_size")]
        if not masks:
            raise ConfigError("%s is static: all sequences are as long, so that there is nothing to mask" % axis)
        return rf.where(functools.reduce(rf.logical_and, masks), x, value).copy_transpose(x.dims)

    def _masks_of_lengths(self, x: Tensor, axis: Dim, places: Tensor) -> list[Tensor]:
        if self.seq_len_source is None:
            return [axis.get_mask()] if axis.need_masking else []
        assert isinstance(self.seq_len_source, LayerBase)
        source = self._output_of(self.seq_len_source)
        if source.have_time_axis():
            lens = rf.lengths_along(source, time_dim_of(source))
        else:
            lens = integers(source, "seq_len_source")
        return [places < lens]


@layer_class("repeat")
class RepeatLayer(ConcatInputLayer):
    """Each frame several times, one behind the other. Lengths: the sum of the repetitions. Batch-major, with the axis
    behind the batch.
    """

    _layer_options = ("repetitions",)

    repetitions: int | LayerBase | None = None
    """how often: a number, or a layer with one for each frame, or for each sequence. Must be given"""
    axis: Any = None
    """axis description; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        axis = axis_of(x, self.axis)
        self.recurrent = axis.is_dynamic
        if self.repetitions is None:
            raise ConfigError('option "repetitions" is missing')
        x = x.copy_transpose(axis_behind_batch(x, axis))
        repeats = integers_of_option(self, "repetitions", least=0)
        if not isinstance(repeats, Tensor):
            return rf.repeat(x, in_spatial_dim=axis, repeats=repeats, out_dim=self.out_dim)[0]
        out_dim = self.make_dim("repeated", None, kind=axis.kind)
        y, _ = rf.repeat(x, in_spatial_dim=axis, repeats=repeats, out_dim=out_dim)
        if self.out_dim is not None:
            self.out_dim.declare_same_as(out_dim)
        return y
