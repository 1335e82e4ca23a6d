"""Windows over neighbouring frames, and the way back; other numbers of frames; chunks as sequences of their own."""

from __future__ import annotations

import math
from typing import Any

from returnn.tensor import Dim, DimError, Tensor, batch_dim
from returnn.tensor.backend import backend_of_raw
from returnn.util.suggest import did_you_mean

from .elementwise import abs, cast, ceil, floor, maximum, minimum, round
from .indexing import gather, lengths_along, scatter
from .masking import dims_to_mask, known_mask, mask_padding
from .packing import places_along
from .sequences import pad, pick_frames, repeat
from .shape import merge_dims, raw_shape, require_dims, same_as

RESIZE_KINDS = ("nn", "linear", "cubic", "fill")


def window_split(
    size: int, padding: str, window_left: int | None, window_right: int | None, *, op: str
) -> tuple[int, int]:
    """
    :param size: of the window
    :param padding: same or valid
    :param window_left: frames in front of the one that the window belongs to; None: what window_right leaves
    :param window_right: frames behind it; None: half of the window, rounded down
    :param op: for messages
    :return: left, right; 0, size - 1 with valid
    """
    if padding not in ("same", "valid"):
        raise DimError("%s: padding must be 'same' or 'valid', but is %r" % (op, padding))
    if padding == "valid":
        if (window_left, window_right) != (None, None):
            raise DimError("%s: padding 'valid' has no window_left or window_right" % op)
        return 0, size - 1
    if window_right is None:
        window_right = size // 2 if window_left is None else size - 1 - window_left
    if window_left is None:
        window_left = size - 1 - window_right
    if window_left + window_right + 1 != size or window_left < 0 or window_right < 0:
        raise DimError("%s: left %i, right %i and the frame itself are not %i" % (op, window_left, window_right, size))
    return window_left, window_right


def window(
    x: Tensor,
    *,
    spatial_dim: Dim,
    window_dim: Dim,
    window_left: int | None = None,
    window_right: int | None = None,
    padding: str = "same",
    stride: int = 1,
    out_dim: Dim | None = None,
    use_mask: bool = False,
) -> tuple[Tensor, Dim]:
    """
    Frame t becomes x[t - left], .., x[t + right]; zeros outside of the array.

    :param spatial_dim: of x
    :param window_dim: static; new axis right behind it
    :param window_left: frames before t; by default what ``window_right`` leaves
    :param window_right: frames behind t; half of the window by default, rounded down
    :param padding: same; valid: only windows that fit
    :param stride: every so many frames
    :param out_dim: replaces spatial_dim; what follows from that by default
    :param use_mask: zeros behind a sequence's end too
    :return: and the new dim
    """
    require_dims(x, [spatial_dim], op="window")
    size = window_dim.require_static()
    left, right = window_split(size, padding, window_left, window_right, op="window")
    place = x.get_axis_from_dim(spatial_dim)
    backend = backend_of_raw(x.raw_tensor)
    if use_mask:
        x = mask_padding(x, dims_to_mask(x, [spatial_dim]), 0)
    raw = x.raw_tensor
    new_dim = spatial_dim
    if padding == "same":
        paddings = [(0, 0)] * x.batch_ndim
        paddings[place] = (left, right)
        raw = backend.pad(raw, paddings)
    else:
        new_dim = new_dim.sub_right(size - 1)
    if stride != 1:
        new_dim = new_dim.ceildiv_right(stride)
    out_dim = same_as(out_dim, new_dim)
    raw = backend.frames(raw, axis=place, size=size, stride=stride)
    dims = x.dims[:place] + (out_dim, window_dim) + x.dims[place + 1 :]
    time = out_dim if place == x.time_dim_axis else x.time_dim
    return x.like(raw, dims=dims, time_dim=time, name="window"), out_dim


def fold(
    x: Tensor,
    *,
    in_spatial_dim: Dim,
    window_dim: Dim,
    mode: str = "sum",
    padding: str = "same",
    window_left: int | None = None,
    window_right: int | None = None,
    stride: int = 1,
    out_dim: Dim | None = None,
) -> tuple[Tensor, Dim]:
    """
    The windows laid over each other: the inverse of :func:`window`. Entry j of window t belongs to frame
    t * stride + j - left.

    :param x: has both dims; windows behind a sequence's end do not count
    :param in_spatial_dim: t
    :param window_dim: j
    :param mode: sum, or mean over the entries of each frame. A frame without any is zero.
    :param padding: same; valid: left is 0
    :param window_left: as in :func:`window`
    :param window_right: the same
    :param stride: frames between neighbouring windows
    :param out_dim: replaces in_spatial_dim. Its length is the largest of which there are that many windows:
        t * stride, or with valid t * stride + (size of the window) - 1
    :return: without window_dim; and the new dim
    """
    require_dims(x, [in_spatial_dim, window_dim], op="fold")
    if mode not in ("sum", "mean"):
        raise DimError("fold: mode must be sum or mean, but is %r" % (mode,))
    if stride < 1:
        raise DimError("fold: stride must be > 0, but is %r" % (stride,))
    size = window_dim.require_static()
    left = window_split(size, padding, window_left, window_right, op="fold")[0]
    total = in_spatial_dim * stride
    out_dim = same_as(out_dim, total + (size - 1) if padding == "valid" else total)
    y = overlap_add(
        x, in_spatial_dim=in_spatial_dim, window_dim=window_dim, left=left, stride=stride, out_dim=out_dim, mode=mode
    )
    return y, out_dim


def overlap_add(
    x: Tensor, *, in_spatial_dim: Dim, window_dim: Dim, left: int, stride: int, out_dim: Dim, mode: str
) -> Tensor:
    """
    See :func:`fold`.

    :param window_dim: static or dynamic
    :param out_dim: what does not belong to a frame of it is dropped
    """
    order = [out_dim if d == in_spatial_dim else d for d in x.dims if d != window_dim]
    places = places_along(in_spatial_dim, x) * stride + places_along(window_dim, x)
    places = places - left if left else places
    masked = dims_to_mask(x, [in_spatial_dim])
    inner = [in_spatial_dim, window_dim]
    y = scatter(mask_padding(x, masked, 0), indices=places, indices_dim=inner, out_dim=out_dim, filter_invalid=True)
    y = y.copy_transpose(order)
    if mode == "mean":
        ones = Tensor("one", (), x.dtype, raw_tensor=backend_of_raw(x.raw_tensor).convert(1, x.dtype))
        for dim in masked:
            ones = cast(known_mask(dim, x), x.dtype)
        counts = scatter(ones, indices=places, indices_dim=inner, out_dim=out_dim, filter_invalid=True)
        y = (y / maximum(counts, 1)).copy_transpose(order)
    return y


def chunk(x: Tensor, *, axis: Dim, chunk_size: int, chunk_step: int, chunk_dim: Dim, chunks_dim: Dim) -> Tensor:
    """
    Cuts sequences into pieces: y[c, i] = x[c * chunk_step + i]. As many as the longest sequence of n frames needs:
    ceil(max(n - chunk_size, 0) / chunk_step) + 1. So where chunks overlap, a shorter sequence has more of them in a
    batch with a longer one than alone, the last ones parts of others.

    :param x: has ``axis``
    :param chunk_size: of all but the last ones of a sequence
    :param chunk_step: from the start of one to that of the next
    :param chunk_dim: new, dynamic: i. Its lengths are set, over the dims that the lengths of axis have, and chunks_dim
    :param chunks_dim: new, dynamic: c. Its size is set
    :return: chunks_dim, chunk_dim in place of axis; zeros behind the ends
    """
    lens, size = lengths_along(x, axis), lengths_along(x, axis, use_mask=False)
    if x.raw_tensor is not None:
        missing = _non_negative(size - chunk_size)
        number = (missing + (chunk_step - 1)) // chunk_step + 1
        if not isinstance(number, Tensor):
            number = Tensor("chunks", (), "int32", raw_tensor=x._raw_backend.convert(number, "int32"))
        chunks_dim.dyn_size_ext = number
    starts = places_along(chunks_dim, x) * chunk_step
    if x.raw_tensor is not None:
        chunk_dim.dyn_size_ext = minimum(maximum(lens - starts, 0), chunk_size)
    places = (starts + places_along(chunk_dim, x)).copy_transpose([chunks_dim, chunk_dim])
    y = gather(x, indices=minimum(places, size - 1), axis=axis)
    if axis == x.time_dim:
        y.time_dim_axis = y.get_axis_from_dim(chunk_dim)
    return mask_padding(y, dims_to_mask(y, [chunk_dim]), 0)


def _non_negative(size: Tensor | int) -> Any:
    return maximum(size, 0) if isinstance(size, Tensor) else max(size, 0)


def unchunk(y: Tensor, *, chunk_dim: Dim, chunks_dim: Dim, chunk_step: int, out_dim: Dim) -> Tensor:
    """
    Undoes :func:`chunk`, after which the chunks were merged into the batch: the mean of all chunks that have a frame.

    :param y: [batch and chunks_dim merged, chunk_dim, ..] in any order
    :param chunk_dim: as it came from :func:`chunk`
    :param chunks_dim: the same
    :param chunk_step: the same
    :param out_dim: the axis that was cut
    :return: [batch, out_dim, ..], in the order of y. Frames of no chunk are zero.
    """
    merged = chunk_dim.in_merged_batch((batch_dim, chunks_dim))
    require_dims(y, [batch_dim, merged], op="unchunk")
    place = y.get_axis_from_dim(batch_dim)
    dims = [chunk_dim if d == merged else d for d in y.dims]
    dims[place : place + 1] = [batch_dim, chunks_dim]
    raw = y.raw_tensor
    if raw is not None:
        backend, shape = y._raw_backend, raw_shape(y)
        number = chunks_dim.get_dim_value()
        shape[place : place + 1] = [backend.binary("floordiv", shape[place], number), number]
        raw = backend.reshape(raw, shape)
    y = y.like(raw, dims=dims, time_dim=None)
    order = [out_dim if d == chunk_dim else d for d in y.dims if d != chunks_dim]
    y = overlap_add(
        y, in_spatial_dim=chunks_dim, window_dim=chunk_dim, left=0, stride=chunk_step, out_dim=out_dim, mode="mean"
    ).copy_transpose(order)
    y.time_dim_axis = y.get_axis_from_dim(out_dim)
    return y


def resize(
    x: Tensor,
    *,
    axis: Dim,
    factor: float,
    kind: str = "nn",
    fill_value: float = 0,
    out_dim: Dim | None = None,
    use_mask: bool = True,
) -> tuple[Tensor, Dim]:
    """
    More frames, or less: frame i of the result is taken at the place i / factor of the sequence, the first one at 0.

    :param x: has ``axis``; float for linear and cubic
    :param factor: > 0; an int for fill
    :param kind: nn: the frame in front of that place; linear: between the two neighbours; cubic: of the four
        neighbours, by Keys' polynomials with a = -3/4 at steps of 1/1024, as TensorFlow's ``resize_bicubic``; fill: the
        frame where the place is one, else ``fill_value``
    :param out_dim: replaces axis; its length is that of axis times factor, rounded up
    :param use_mask: behind a sequence's last frame it is repeated; else what the array holds there is seen. And where
        factor is no int, the array is spread over its new size, so that places depend on the longest sequence.
    :return: and the new dim
    """
    require_dims(x, [axis], op="resize")
    if kind not in RESIZE_KINDS:
        raise DimError(
            "resize: unknown kind %r.%s Kinds: %s" % (kind, did_you_mean(kind, RESIZE_KINDS), ", ".join(RESIZE_KINDS))
        )
    whole = factor == int(factor)
    if factor <= 0 or (kind == "fill" and not whole):
        raise DimError(
            "resize: factor must be %s > 0, but is %r" % ("an int" if kind == "fill" else "a number", factor)
        )
    if kind in ("linear", "cubic") and "float" not in x.dtype:
        raise DimError("resize: kind %r needs floats, but %r is %s" % (kind, x, x.dtype))
    if whole and kind == "nn":
        return repeat(x, in_spatial_dim=axis, repeats=int(factor), out_dim=out_dim)
    if whole:
        out_dim = same_as(out_dim, axis * int(factor))
    if kind == "fill":
        return _filled_up(x, axis, int(factor), fill_value, out_dim)
    out_dim = out_dim if whole else _scaled_dim(x, axis, factor, out_dim)
    assert out_dim is not None
    lower, fraction = _source_places(x, axis, out_dim, factor, use_mask)
    last = lengths_along(x, axis, use_mask=use_mask) - 1
    if kind == "nn":
        return pick_frames(x, axis, out_dim, lower, last), out_dim
    fraction = cast(fraction, x.dtype)
    if kind == "linear":
        a, b = (pick_frames(x, axis, out_dim, lower + i, last) for i in (0, 1))
        return (a + (b - a) * fraction).copy_transpose(a.dims), out_dim
    fraction = round(fraction * 1024.0) * (1.0 / 1024.0)
    y = None
    for i in (-1, 0, 1, 2):
        part = pick_frames(x, axis, out_dim, lower + i, last) * _keys_weight(
            abs(fraction - float(i)), outer=i in (-1, 2)
        )
        y = part if y is None else y + part
    assert y is not None
    return y, out_dim


def _filled_up(x: Tensor, axis: Dim, factor: int, value: float, out_dim: Dim | None) -> tuple[Tensor, Dim]:
    slot = Dim(1, description="slot", auto_generated=True)
    y = x.copy_add_dim_by_tag(slot, axis=x.get_axis_from_dim(axis) + 1)
    y, (slots,) = pad(y, axes=slot, padding=[(0, factor - 1)], value=value)
    return merge_dims(y, dims=[axis, slots], out_dim=out_dim)


def _scaled_dim(x: Tensor, axis: Dim, factor: float, out_dim: Dim | None) -> Dim:
    if axis.is_static:
        size = math.ceil(axis.require_static() * factor)
        return same_as(out_dim, Dim(size, description="resized", kind=axis.kind, auto_generated=True))
    out_dim = out_dim or Dim(None, description="resized", kind=axis.kind, size_dims=axis.size_dims)
    lens = axis.dyn_size_ext
    if x.raw_tensor is not None and lens is not None:
        out_dim.dyn_size_ext = cast(ceil(cast(lens, "float32") * float(factor)), "int32")
    return out_dim


def _source_places(x: Tensor, axis: Dim, out_dim: Dim, factor: float, use_mask: bool) -> tuple[Tensor, Tensor]:
    """:return: frame in front of the place of each frame of out_dim, int32; how far behind it that is, float32"""
    places = places_along(out_dim, x)
    if factor == int(factor):
        number = int(factor)
        return places // number, cast(places % number, "float32") * (1.0 / number)
    if use_mask:
        source = cast(places, "float32") / float(factor)
    else:
        old, new = (_float(lengths_along(y, d, use_mask=False)) for y, d in ((x, axis), (places, out_dim)))
        source = cast(places, "float32") * (old / new)
    lower = floor(source)
    return cast(lower, "int32"), source - lower


def _float(size: Tensor | int) -> Any:
    return cast(size, "float32") if isinstance(size, Tensor) else float(size)


def _keys_weight(distance: Tensor, *, outer: bool) -> Tensor:
    """:return: weight of a frame at that distance: in [0, 1], or in [1, 2] if outer"""
    a = -0.75
    if outer:
        return ((distance - 5.0) * distance + 8.0) * distance * a - 4.0 * a
    return (distance * (a + 2.0) - (a + 3.0)) * distance * distance + 1.0
