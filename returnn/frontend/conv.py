"""Convolution, its transpose, and pooling: what slides a window along spatial dims.

All other dims are independent of each other. Lengths follow by dim arithmetic, so that the same window on the same dim
gives the same dim; with padding "same" and stride 1 it stays what it was.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, Raw, Size, backend_of_all, template_backend
from returnn.tensor.numpy_conv import same_borders
from returnn.util.behavior_version import BehaviorVersion, Change

from .elementwise import combine, maximum, raw_on
from .masking import dims_to_mask, mask_padding
from .shape import longer_dim, require_dims, same_as

PADDINGS = ("same", "valid", "same_static")
_LONGEST = 2**30
"""frames of a sequence"""

Numbers = int | Sequence[int]
"""One for all spatial dims, or one for each."""
Padding = str | int | Sequence[int]
"""One of PADDINGS, or the number of frames on both sides."""


def conv(
    x: Tensor,
    *,
    filter: Tensor,
    filter_size: Sequence[Dim],
    in_dim: Dim,
    out_dim: Dim,
    in_spatial_dims: Sequence[Dim],
    out_spatial_dims: Sequence[Dim | None] | None = None,
    padding: Padding,
    strides: Numbers = 1,
    dilation_rate: Numbers = 1,
    groups: int = 1,
    bias: Tensor | None = None,
    use_mask: bool | None = None,
    use_consistent_same_padding: bool | None = None,
    pad_to_power: float | None = None,
) -> tuple[Tensor, list[Dim]]:
    """
    y[t] = sum over i of x[t * stride - left + i * dilation] filter[i] + bias, along each spatial dim. The filter is not
    flipped.

    :param x: [.., spatial.., in_dim] in any order
    :param filter: [filter_size.., in / groups, out_dim] in any order; where in and out are the same dim, that of the
        input has the higher match_priority
    :param filter_size: dims of the filter, in the order of ``in_spatial_dims``
    :param in_dim: of x; static
    :param out_dim: static
    :param in_spatial_dims: of x
    :param out_spatial_dims: what follows from the others by default, see :func:`make_conv_out_spatial_dims`
    :param padding: with zeros. same: ceil(length / stride) frames; valid: only where the filter fits; same_static: as
        many as same, on a dynamic dim between as many zeros for each length; or the number of zeros on both sides
    :param strides: every so many positions
    :param dilation_rate: distance of two entries of the filter
    :param groups: in_dim and out_dim are divided into so many; each output sees the inputs of its group only
    :param bias: [out_dim]
    :param use_mask: frames behind a sequence's end are 0. Default: from behaviour version 23 on
    :param use_consistent_same_padding: with padding "same", strided windows begin where those of stride 1 do. Else that
        depends on the size of the array. Default: from behaviour version 24 on
    :param pad_to_power: compute on dynamic dims filled up to the next power of this, so that there are few different
        sizes, and cut the result; > 1
    :return: [.., spatial.., out_dim]; and the new spatial dims
    """
    require_dims(x, [in_dim, *in_spatial_dims], op="conv")
    if pad_to_power is not None and not pad_to_power > 1:
        raise DimError("conv: pad_to_power must be > 1, but is %r" % (pad_to_power,))
    consistent = _flag(use_consistent_same_padding, Change.STRIDED_SAME_PER_SEQ)
    windows = _windows("conv", filter_size, in_spatial_dims, padding, strides, dilation_rate, consistent)
    if in_dim.require_static() % groups or out_dim.require_static() % groups:
        raise DimError("conv: %s and %s must be divisible by the number of groups, %i" % (in_dim, out_dim, groups))
    if _flag(use_mask, Change.CONV_AND_POOL_MASK):
        x = mask_padding(x, dims_to_mask(x, in_spatial_dims), 0)
    filter = _in_layout(filter, filter_size, out_dim, in_size=in_dim.require_static() // groups, in_last=False)
    outs = windows.out_dims(out_spatial_dims)

    def compute(backend: Backend, raw: Raw) -> Raw:
        lengths = windows.lengths(backend, raw) if pad_to_power is not None else {}
        y = backend.conv(
            _filled_to_power(backend, raw, lengths, pad_to_power or 0),
            raw_on(filter, backend),
            padding=windows.borders(),
            strides=windows.strides,
            dilation=windows.dilation,
            groups=groups,
        )
        for axis, (length, i) in lengths.items():
            y = backend.slice(y, axis, None, windows.count(i, length, backend))
        return y

    return _slide(x, filter, bias, in_dim, out_dim, in_spatial_dims, outs, compute, name="conv"), outs


def _filled_to_power(backend: Backend, raw: Raw, lengths: dict[int, tuple[Size, int]], base: float) -> Raw:
    """:return: zeros behind the end of these axes, so that their lengths are powers of base, rounded up"""
    if not lengths:
        return raw
    powers = [math.ceil(base**i) for i in range(int(math.log(_LONGEST, base)) + 1)]
    paddings: list[tuple[Size, Size]] = [(0, 0)] * len(backend.static_shape(raw))
    for axis, (length, _) in lengths.items():
        if isinstance(length, int):
            power: Size = next(n for n in powers if n >= length)
        else:
            table = backend.convert(powers, "int32")
            enough = backend.compare("greater_equal", table, length)
            power = backend.reduce(backend.where(enough, table, powers[-1]), "min", None)
        paddings[axis] = (0, power - length)
    return backend.pad(raw, paddings)


def transposed_conv(
    x: Tensor,
    *,
    filter: Tensor,
    filter_size: Sequence[Dim],
    in_dim: Dim,
    out_dim: Dim,
    in_spatial_dims: Sequence[Dim],
    out_spatial_dims: Sequence[Dim | None] | None = None,
    padding: str,
    remove_padding: Numbers = 0,
    output_padding: int | Sequence[int | None] | None = None,
    strides: Numbers | None = None,
    bias: Tensor | None = None,
    use_mask: bool | None = None,
) -> tuple[Tensor, list[Dim]]:
    """
    y[t * stride - left + i] += x[t] filter[i], along each spatial dim, and + bias: the gradient of a convolution.

    :param x: [.., spatial.., in_dim] in any order
    :param filter: [filter_size.., in_dim, out_dim] in any order, see :func:`conv`
    :param filter_size: dims of the filter, in the order of ``in_spatial_dims``
    :param in_dim: of x; static
    :param out_dim: static
    :param in_spatial_dims: of x
    :param out_spatial_dims: what follows from the others by default
    :param padding: same: length * stride; valid: all that the filter reaches, max(filter - stride, 0) more
    :param remove_padding: number of frames to cut off at both ends
    :param output_padding: (length - 1) * stride + filter + output_padding frames instead, and 2 * (filter // 2) less
        with "same"; less than the stride. None: as ``padding`` has it
    :param strides: by default the size of the filter
    :param bias: [out_dim]
    :param use_mask: frames behind a sequence's end are 0. Default: from behaviour version 23 on
    :return: [.., spatial.., out_dim]; and the new spatial dims
    """
    require_dims(x, [in_dim, *in_spatial_dims], op="transposed_conv")
    num = len(in_spatial_dims)
    sizes = [dim.require_static() for dim in filter_size]
    steps = sizes if strides is None else _per_dim("transposed_conv", "strides", strides, num)
    cuts = _per_dim("transposed_conv", "remove_padding", remove_padding, num, least=0)
    if padding not in ("same", "valid"):
        raise DimError("transposed_conv: padding must be same or valid, but is %r" % (padding,))
    if output_padding is None or isinstance(output_padding, int):
        output_padding = [output_padding] * num
    outs, lefts, extras = [], [], []
    for i, (dim, k, stride, more) in enumerate(zip(in_spatial_dims, sizes, steps, output_padding, strict=True)):
        extra = 0 if padding == "same" else max(k - stride, 0)
        if more is not None:
            if not 0 <= more < stride:
                raise DimError("transposed_conv: output_padding must be in [0, stride), but is %i" % more)
            extra = k - stride - (2 * (k // 2) if padding == "same" else 0) + more
        lefts.append(max(k - stride - extra, 0) // 2)
        extras.append(extra)
        outs.append(longer_dim(dim * stride if stride != 1 else dim, extra - 2 * cuts[i]))
    outs = _declared(outs, out_spatial_dims)
    if _flag(use_mask, Change.CONV_AND_POOL_MASK):
        x = mask_padding(x, dims_to_mask(x, in_spatial_dims), 0)
    filter = _in_layout(filter, filter_size, out_dim, in_size=in_dim.require_static(), in_last=True)

    def compute(backend: Backend, raw: Raw) -> Raw:
        positive = [max(extra, 0) for extra in extras]
        raw = backend.transposed_conv(raw, raw_on(filter, backend), strides=steps, left=lefts, extra=positive)
        first = len(backend.static_shape(raw)) - 1 - num
        for i, (cut, extra) in enumerate(zip(cuts, extras, strict=True)):
            behind = cut - min(extra, 0)
            if cut or behind:
                raw = backend.slice(raw, first + i, cut or None, -behind or None)
        return raw

    return _slide(x, filter, bias, in_dim, out_dim, in_spatial_dims, outs, compute, name="transposed_conv"), outs


def pool(
    x: Tensor,
    *,
    mode: str,
    pool_size: Numbers,
    padding: Padding = "valid",
    dilation_rate: Numbers = 1,
    strides: Numbers | None = None,
    in_spatial_dims: Sequence[Dim],
    out_spatial_dims: Sequence[Dim | None] | None = None,
    use_mask: bool | None = None,
    use_consistent_same_padding: bool | None = None,
    pad_value: float | None = None,
) -> tuple[Tensor, list[Dim]]:
    """
    The largest, or the mean, of each window.

    :param x: has the spatial dims
    :param mode: max, avg
    :param pool_size: in the order of ``in_spatial_dims``
    :param padding: same: ceil(length / stride) windows, and borders do not count; valid: only windows that fit;
        same_static: as many as same, on a dynamic dim between as many frames for each length; or the number of frames
        on both sides. For the last two, zeros that count for avg, nothing for max
    :param dilation_rate: distance of two frames in the window
    :param strides: by default ``pool_size``
    :param in_spatial_dims: of x
    :param out_spatial_dims: what follows from the others by default, see :func:`make_conv_out_spatial_dims`
    :param use_mask: frames behind a sequence's end do not count where borders do not, and are 0 where these are; the
        maximum behind the end is 0. Default: from behaviour version 23 on
    :param use_consistent_same_padding: see :func:`conv`
    :param pad_value: stands in the borders instead of nothing, for max
    :return: axes in the order of x; and the new spatial dims
    """
    require_dims(x, in_spatial_dims, op="pool")
    if mode not in ("max", "avg"):
        raise DimError("pool: mode must be max or avg, but is %r" % (mode,))
    size = _per_dim("pool", "pool_size", pool_size, len(in_spatial_dims))
    strides = size if strides is None else strides
    consistent = _flag(use_consistent_same_padding, Change.STRIDED_SAME_PER_SEQ)
    windows = _windows("pool", size, in_spatial_dims, padding, strides, dilation_rate, consistent)
    outs = windows.out_dims(out_spatial_dims)
    masked = dims_to_mask(x, in_spatial_dims) if _flag(use_mask, Change.CONV_AND_POOL_MASK) else []
    x = mask_padding(x, masked, float("-inf") if mode == "max" else 0.0)
    y = _pool(x, mode, windows, outs, pad_value)
    if mode == "max":  # no frame at all: not -inf, which times zero is nan in a gradient
        return mask_padding(
            y, [out for dim, out in zip(in_spatial_dims, outs, strict=True) if dim in masked], 0.0
        ), outs
    if windows.padding == "same":
        for i, dim in enumerate(in_spatial_dims):
            if dim in masked or windows.borders() != "same":
                y = combine(y, "truediv", _share_of_real_frames(x, windows.along(i), outs[i], masked))
    return y.copy_transpose([_mapped(d, in_spatial_dims, outs) for d in x.dims]), outs


def _pool(x: Tensor, mode: str, windows: _Windows, outs: Sequence[Dim], pad_value: float | None) -> Tensor:
    """:return: without regard to what is padding; axes in the order of x"""
    dims = windows.dims
    channels = [x.feature_dim] if x.feature_dim is not None and x.feature_dim not in dims else []
    rest = [d for d in x.dims if d not in dims and d not in channels]
    new_dims = [_mapped(d, dims, outs) for d in x.dims]
    if x.raw_tensor is None:
        return x.like(None, dims=new_dims, **_markers(x, dims, outs), name="pool")
    y = x.copy_transpose([*rest, *dims, *channels])
    backend, raw = y._raw_backend, y.raw_tensor
    for has, axis in ((channels, len(y.dims)), (rest, 0)):
        if not has:
            raw = backend.expand_dims(raw, axis)
    borders = windows.borders()
    if borders != "same" and any(map(any, borders)):
        fill = (float("-inf") if mode == "max" else 0.0) if pad_value is None else pad_value
        raw = backend.pad(raw, [*[(0, 0)] * (len(rest) or 1), *borders, (0, 0)], value=fill)
    raw = backend.pool(
        raw,
        mode,
        size=windows.size,
        strides=windows.strides,
        dilation=windows.dilation,
        same=borders == "same",
    )
    for has, axis in ((rest, 0), (channels, len(y.dims))):
        if not has:
            raw = backend.squeeze(raw, axis)
    res = y.like(raw, dims=[*rest, *outs, *channels], **_markers(x, dims, outs), name="pool")
    return res.copy_transpose(new_dims)


def _share_of_real_frames(x: Tensor, windows: _Windows, out: Dim, masked: Sequence[Dim]) -> Tensor:
    """
    :param x: that was pooled
    :param windows: along one dim
    :param out: what that becomes
    :return: [dims of the lengths.., out]: how much of each window stands for frames of the sequence; not 0
    """
    (dim,) = windows.dims
    if x.raw_tensor is None:
        real = Tensor("real", [*(dim.size_dims or () if dim in masked else ()), dim], x.dtype)
    elif dim in masked:
        mask = dim.get_mask()
        real = mask.like(mask._raw_backend.cast(mask.raw_tensor, x.dtype), dtype=x.dtype)
    else:
        size = x._raw_backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))
        real = Tensor("real", [dim], x.dtype, raw_tensor=x._raw_backend.full([size], 1, x.dtype))
    return maximum(_pool(real, "avg", windows, [out], None), 0.5 / windows.size[0])


def make_conv_out_spatial_dims(
    in_spatial_dims: Sequence[Dim],
    *,
    filter_size: Sequence[int | Dim],
    padding: Padding,
    strides: Numbers = 1,
    dilation_rate: Numbers = 1,
) -> list[Dim]:
    """
    :param in_spatial_dims: of the input of :func:`conv` or :func:`pool`
    :param filter_size: for each of them
    :param padding: same, same_static: ceil(length / stride); valid, numbers p of frames on both sides:
        ceil((length + 2 p - (filter - 1) * dilation) / stride), and at least 0
    :param strides: every so many positions
    :param dilation_rate: distance of two entries of the filter
    :return: dims of the output
    """
    return _windows("conv", filter_size, in_spatial_dims, padding, strides, dilation_rate).out_dims(None)


@dataclasses.dataclass(frozen=True)
class _Windows:
    """How a window slides along spatial dims: one number for each of them."""

    dims: list[Dim]
    size: list[int]
    strides: list[int]
    dilation: list[int]
    padding: str | list[int]
    consistent_same: bool
    """strided windows begin where those of stride 1 do"""

    def along(self, i: int) -> _Windows:
        """:return: the i-th dim alone"""
        own = slice(i, i + 1)
        padding = self.padding if isinstance(self.padding, str) else self.padding[own]
        return dataclasses.replace(
            self,
            dims=self.dims[own],
            size=self.size[own],
            strides=self.strides[own],
            dilation=self.dilation[own],
            padding=padding,
        )

    def out_dims(self, given: Sequence[Dim | None] | None) -> list[Dim]:
        """
        :param given: declared to be the result
        """
        outs = []
        for i, (dim, stride) in enumerate(zip(self.dims, self.strides, strict=True)):
            out = longer_dim(dim, self._more(i))
            if out.dimension is not None and out.dimension <= 0:
                raise DimError("%s is too short for a window of %i frames" % (dim, self._span(i)))
            outs.append(out.ceildiv_right(stride) if stride != 1 else out)
        return _declared(outs, given)

    def lengths(self, backend: Backend, raw: Raw) -> dict[int, tuple[Size, int]]:
        """
        :param raw: [batch.., spatial.., channels]
        :return: of the dynamic dims: axis -> length, and which of the dims that is
        """
        first = len(backend.static_shape(raw)) - 1 - len(self.dims)
        dynamic = [i for i, dim in enumerate(self.dims) if dim.is_dynamic]
        return {first + i: (backend.size_of_axis(raw, first + i), i) for i in dynamic}

    def count(self, i: int, length: Size, backend: Backend) -> Size:
        """
        :return: number of windows on this many frames
        """
        missing = self.strides[i] - 1 + self._more(i)
        count = (length + missing) // self.strides[i]
        if missing >= 0:
            return count
        return max(count, 0) if isinstance(count, int) else backend.binary("maximum", count, 0)

    def _more(self, i: int) -> int:
        """:return: how many more windows there are than frames, where the stride is 1"""
        if self.padding in ("same", "same_static"):
            return 0
        both_sides = 0 if isinstance(self.padding, str) else 2 * self.padding[i]
        return both_sides - (self._span(i) - 1)

    def _span(self, i: int) -> int:
        """:return: number of frames from the first to the last that a window sees"""
        return (self.size[i] - 1) * self.dilation[i] + 1

    def borders(self) -> str | list[tuple[int, int]]:
        """:return: frames before and behind; or "same": as the size of the array needs"""
        if self.padding == "same" and (max(self.strides) == 1 or not self.consistent_same):
            return "same"
        res = []
        for i, (dim, stride) in enumerate(zip(self.dims, self.strides, strict=True)):
            total, missing = 0, self._span(i) - 1
            if self.padding == "same":
                left = missing // 2
                total = missing
            elif self.padding == "same_static" and dim.dimension is not None:
                left, right = same_borders(dim.dimension, missing + 1, stride)
                total = left + right
            elif self.padding == "same_static":
                left, total = max(missing + 1 - stride, 0) // 2, missing
            else:
                left = 0 if isinstance(self.padding, str) else self.padding[i]
                total = 2 * left
            res.append((left, total - left))
        return res


def _windows(
    op: str,
    size: Sequence[int | Dim],
    dims: Sequence[Dim],
    padding: Padding,
    strides: Numbers,
    dilation: Numbers,
    consistent_same: bool = False,
) -> _Windows:
    num = len(dims)
    if isinstance(padding, str):
        padding = padding.lower()
        if padding not in PADDINGS:
            raise DimError("%s: padding must be %s, or numbers, but is %r" % (op, ", ".join(PADDINGS), padding))
    else:
        padding = _per_dim(op, "padding", padding, num, least=0)
    return _Windows(
        list(dims),
        _per_dim(op, "size", [n.require_static() if isinstance(n, Dim) else n for n in size], num),
        _per_dim(op, "strides", strides, num),
        _per_dim(op, "dilation_rate", dilation, num),
        padding,
        consistent_same,
    )


def _per_dim(op: str, what: str, value: Numbers, num: int, *, least: int = 1) -> list[int]:
    values = [value] * num if isinstance(value, int) else list(value)
    if len(values) != num or not all(isinstance(v, int) and v >= least for v in values):
        raise DimError(
            "%s: %s must have one number >= %i for each of %i dims, but is %r" % (op, what, least, num, value)
        )
    return values


def _flag(given: bool | None, change: Change) -> bool:
    return BehaviorVersion.has(change) if given is None else given


def _declared(outs: list[Dim], given: Sequence[Dim | None] | None) -> list[Dim]:
    return [same_as(other, out) for out, other in zip(outs, given or [None] * len(outs), strict=True)]


def _mapped(dim: Dim, dims: Sequence[Dim], outs: Sequence[Dim]) -> Dim:
    return outs[list(dims).index(dim)] if dim in dims else dim


def _markers(x: Tensor, dims: Sequence[Dim], outs: Sequence[Dim]) -> dict[str, Any]:
    """:return: feature and time dim of the result"""
    pairs = {"feature_dim": x.feature_dim, "time_dim": x.time_dim}
    return {key: None if dim is None else _mapped(dim, dims, outs) for key, dim in pairs.items()}


def _in_layout(filter: Tensor, sizes: Sequence[Dim], out_dim: Dim, *, in_size: int, in_last: bool) -> Tensor:
    """
    :return: [sizes.., in, out], or with the last two swapped
    """
    rest = [i for i in range(filter.batch_ndim) if i not in [_axis_of(filter, d) for d in sizes]]
    if len(rest) == 2 and out_dim in [filter.dims[i] for i in rest]:
        rest.sort(key=lambda i: (filter.dims[i] == out_dim, -filter.dims[i].match_priority))
        if filter.dims[rest[0]].dimension == in_size:
            return filter.copy_transpose([*[_axis_of(filter, d) for d in sizes], *(rest[::-1] if in_last else rest)])
    raise DimError(
        "the filter must have the dims %s, one of size %i for the input, and %s, but has %s"
        % (", ".join(map(str, sizes)), in_size, out_dim, list(filter.dims))
    )


def _axis_of(filter: Tensor, dim: Dim) -> int:
    require_dims(filter, [dim], op="filter")
    return filter.get_axis_from_dim(dim)


def _slide(
    x: Tensor,
    filter: Tensor,
    bias: Tensor | None,
    in_dim: Dim,
    out_dim: Dim,
    dims: Sequence[Dim],
    outs: Sequence[Dim],
    compute: Callable[[Backend, Raw], Raw],
    *,
    name: str,
) -> Tensor:
    """
    :param compute: of a raw value [batch.., spatial.., in]: [batch.., spatial.., out]
    :return: [.., spatial.., out_dim], with the bias
    """
    in_axis = x.get_axis_from_dim(in_dim)
    spatial = [x.get_axis_from_dim(d) for d in dims]
    rest = [i for i in range(x.batch_ndim) if i != in_axis and i not in spatial]
    new_dims = [*[x.dims[i] for i in rest], *outs, out_dim]
    time = _mapped(x.time_dim, dims, outs) if x.time_dim is not None else None
    operands = [x, filter] if bias is None else [x, filter, bias]
    backend = backend_of_all(operands)
    raw = None
    if backend is not template_backend:
        raw = raw_on(x, backend)
        order = [*rest, *spatial, in_axis]
        if order != list(range(len(order))):
            raw = backend.transpose(raw, order)
        raw = compute(backend, raw if rest else backend.expand_dims(raw, 0))
        if not rest:
            raw = backend.squeeze(raw, 0)
        if bias is not None:
            require_dims(bias, [out_dim], op=name)
            raw = backend.binary("add", raw, raw_on(bias, backend))
    return x.like(raw, dims=new_dims, feature_dim=out_dim, time_dim=None if time == in_dim else time, name=name)
