"""Frames moved within their sequences: padded, shifted, turned round, repeated, seen at other places.

What stands behind a sequence's end is no frame: a result never depends on it, unless a function is told to look at the
array instead (``handle_dynamic_dims=False``, ``use_mask=False``), as old configs expect it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor, batch_dim
from returnn.tensor.backend import backend_of_raw
from returnn.util.suggest import did_you_mean

from .elementwise import Value, abs, cast, combine, maximum, minimum, where
from .indexing import cumsum, gather, lengths_along, search_sorted
from .join import concat, stack
from .masking import dims_to_mask, known_mask, mask_padding
from .packing import places_along
from .reduce import reduce_sum
from .shape import expand_dim, merge_dims, replace_dim, require_dims, same_as

PAD_MODES = ("constant", "reflect", "symmetric", "replicate", "circular")


def pad(
    x: Tensor,
    *,
    axes: Dim | Sequence[Dim],
    padding: Sequence[tuple[int, int]],
    out_dims: Dim | Sequence[Dim] | None = None,
    mode: str = "constant",
    value: Value = 0,
    handle_dynamic_dims: bool = True,
) -> tuple[Tensor, list[Dim]]:
    """
    Adds frames at both ends.

    :param x: has ``axes``
    :param axes: one or several
    :param padding: for each of them how many frames in front and behind
    :param out_dims: replace axes; front + axis + behind by default
    :param mode: constant: ``value``; reflect: mirrored at the first and last frame; symmetric: these twice; replicate:
        the first or last frame; circular: from the other end. If a sequence is too short to be mirrored, its first or
        last frame. A sequence without frames: zero
    :param value: a number, or a Tensor of the dtype of x, over other dims than axes
    :param handle_dynamic_dims: behind the end of each sequence; else behind the end of the array
    :return: and the new dims
    """
    axes = [axes] if isinstance(axes, Dim) else list(axes)
    given: list[Dim | None] = [None] * len(axes)
    if out_dims is not None:
        given = [out_dims] if isinstance(out_dims, Dim) else list(out_dims)
    require_dims(x, axes, op="pad")
    if mode not in PAD_MODES:
        raise DimError(
            "pad: unknown mode %r.%s Modes: %s" % (mode, did_you_mean(mode, PAD_MODES), ", ".join(PAD_MODES))
        )
    if len(padding) != len(axes) or any(front < 0 or behind < 0 for front, behind in padding):
        raise DimError("pad: padding must be two numbers >= 0 for each of %s, but is %r" % (axes, padding))
    out_dims = [
        same_as(out, front + axis + behind) for out, axis, (front, behind) in zip(given, axes, padding, strict=True)
    ]
    if isinstance(value, Tensor) or mode != "constant":
        for axis, out_dim, ends in zip(axes, out_dims, padding, strict=True):
            if not any(ends):
                x = replace_dim(x, in_dim=axis, out_dim=out_dim)
            elif mode == "constant":
                assert isinstance(value, Tensor)
                x = _pad_with_tensor(x, axis, out_dim, ends, value, handle_dynamic_dims)
            else:
                x = _pad_with_own_frames(x, axis, out_dim, ends, mode, handle_dynamic_dims)
        return x, out_dims
    if handle_dynamic_dims:
        behind = [axis for axis, ends in zip(axes, padding, strict=True) if ends[1]]
        x = mask_padding(x, dims_to_mask(x, behind), value)
    paddings = [(0, 0)] * x.batch_ndim
    dims = list(x.dims)
    for axis, out_dim, ends in zip(axes, out_dims, padding, strict=True):
        number = x.get_axis_from_dim(axis)
        paddings[number], dims[number] = ends, out_dim
    raw = x.raw_tensor
    if any(map(any, padding)):
        raw = backend_of_raw(raw).pad(raw, paddings, value=value)
    return _with_dims(x, raw, dims), out_dims


def _with_dims(x: Tensor, raw: Any, dims: Sequence[Dim]) -> Tensor:
    """:return: other dims, at the same axes"""
    y = x.copy_template_new_dim_tags(dims, keep_special_axes=True)
    y.raw_tensor = raw
    return y


def _pad_with_tensor(
    x: Tensor, axis: Dim, out_dim: Dim, ends: tuple[int, int], value: Tensor, handle_dynamic_dims: bool
) -> Tensor:
    if axis in value.dims:
        raise DimError("pad: the value %r must not have the axis %s" % (value, axis))
    if value.dtype != x.dtype:
        raise DimError("pad: the value %r is %s, but %r is %s" % (value, value.dtype, x, x.dtype))
    if handle_dynamic_dims and ends[1]:
        for dim in dims_to_mask(x, [axis]):
            x = where(known_mask(dim, x), x, value).copy_transpose(x.dims)
    parts: list[tuple[Tensor, Dim]] = [(x, axis)]
    for place, size in enumerate(ends):
        if size:
            dim = Dim(size, description="pad", kind=axis.kind)
            block = expand_dim(value, dim)
            order = [d for d in (dim if d == axis else d for d in x.dims) if d in block.dims]
            block = block.copy_transpose(order + [d for d in block.dims if d not in order])
            parts.insert(place * len(parts), (block, dim))
    return concat(*parts, allow_broadcast=True, out_dim=out_dim, handle_dynamic_dims=False)[0]


def _pad_with_own_frames(
    x: Tensor, axis: Dim, out_dim: Dim, ends: tuple[int, int], mode: str, handle_dynamic_dims: bool
) -> Tensor:
    size = lengths_along(x, axis, use_mask=handle_dynamic_dims)
    if handle_dynamic_dims:
        x = mask_padding(x, dims_to_mask(x, [axis]), 0)  # what is picked where there are no frames at all
    places = combine(places_along(out_dim, x), "sub", ends[0])
    last = size - 1
    if mode == "circular":
        places = combine(places, "mod", maximum(size, 1) if isinstance(size, Tensor) else max(size, 1))
    elif mode == "reflect":
        places = last - abs(last - abs(places))
    elif mode == "symmetric":
        places = maximum(places, -1 - places)
        places = minimum(places, 2 * last + 1 - places)
    return pick_frames(x, axis, out_dim, places, last)


def pick_frames(x: Tensor, axis: Dim, out_dim: Dim, places: Tensor, last: Tensor | int) -> Tensor:
    """
    :param places: [out_dim] or [.., out_dim]; those outside mean the first or last frame
    :param last: the last frame there is
    :return: x[places], out_dim in place of axis; dims that only the places have come first
    """
    order = [out_dim if d == axis else d for d in x.dims]
    y = gather(x, indices=maximum(minimum(places, last), 0), axis=axis)
    y = y.copy_transpose([d for d in y.dims if d not in order] + order)
    if axis == x.feature_dim:
        y.feature_dim = out_dim
    if axis == x.time_dim:
        y.time_dim_axis = y.get_axis_from_dim(out_dim)
    return y


def shift_right(x: Tensor, *, axis: Dim, pad_value: float, amount: int = 1) -> Tensor:
    """
    y[t] = x[t - amount].

    :param x: has ``axis``
    :param pad_value: of the first frames
    :param amount: >= 0
    :return: dims of x: the last frames are lost
    """
    y, _ = pad(x, axes=axis, padding=[(amount, 0)], value=pad_value)
    size = None if x.raw_tensor is None else x._raw_backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(axis))
    raw = backend_of_raw(y.raw_tensor).slice(y.raw_tensor, x.get_axis_from_dim(axis), 0, size)
    return x.like(raw, name="shift_right")


def shift_left(x: Tensor, *, axis: Dim, pad_value: float, amount: int = 1, use_mask: bool = True) -> Tensor:
    """
    y[t] = x[t + amount].

    :param x: has ``axis``
    :param pad_value: of the last frames
    :param amount: >= 0
    :param use_mask: the last frames are those of each sequence; else those of the array
    :return: dims of x: the first frames are lost
    """
    require_dims(x, [axis], op="shift_left")
    if use_mask:
        x = mask_padding(x, dims_to_mask(x, [axis]), pad_value)
    backend, number = backend_of_raw(x.raw_tensor), x.get_axis_from_dim(axis)
    size = backend.size_of_axis(x.raw_tensor, number)
    paddings = [(0, 0)] * x.batch_ndim
    paddings[number] = (0, amount)
    raw = backend.pad(x.raw_tensor, paddings, value=pad_value)
    end = None if size is None else size + amount
    return x.like(backend.slice(raw, number, amount, end), name="shift_left")


def reverse_sequence(x: Tensor, *, axis: Dim, handle_dynamic_dims: bool = True) -> Tensor:
    """
    y[t] = x[last - t].

    :param x: has ``axis``
    :param handle_dynamic_dims: the last frame is that of each sequence; else that of the array
    :return: dims of x
    """
    size = lengths_along(x, axis, use_mask=handle_dynamic_dims)
    if isinstance(size, Tensor) and size.dims == (batch_dim,) and x.raw_tensor is not None:
        backend = x._raw_backend
        axes = {"axis": x.get_axis_from_dim(axis), "batch_axis": x.get_axis_from_dim(batch_dim)}
        return x.like(backend.reverse_sequence(x.raw_tensor, size.raw_tensor, **axes), name="reverse_sequence")
    last = size - 1
    return pick_frames(x, axis, axis, last - places_along(axis, x), last)


def repeat(x: Tensor, *, in_spatial_dim: Dim, repeats: int | Tensor, out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    """
    Each frame several times, one behind the other.

    :param x: has ``in_spatial_dim``
    :param repeats: how often, >= 0; a Tensor says it for each frame, or for each entry of the dims that it has
    :param out_dim: replaces in_spatial_dim; in_spatial_dim * repeats by default, or a new one
    :return: and the new dim
    """
    require_dims(x, [in_spatial_dim], op="repeat")
    if not isinstance(repeats, Tensor):
        if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 0:
            raise DimError("repeat: repeats must be an integer >= 0, but is %r" % (repeats,))
        out_dim = same_as(out_dim, in_spatial_dim * repeats)
        times = Dim(repeats, description="repeats", auto_generated=True)
        place = x.get_axis_from_dim(in_spatial_dim) + 1
        if repeats:
            y, _ = stack([x] * repeats, out_dim=times, dim_order=[*x.dims[:place], times, *x.dims[place:]])
        else:
            y = x.copy_add_dim_by_tag(times, unbroadcast=True, axis=place)
        return merge_dims(y, dims=[in_spatial_dim, times], out_dim=out_dim)
    if "int" not in repeats.dtype:
        raise DimError("repeat: repeats must be integers, but %r is %s" % (repeats, repeats.dtype))
    counts = cast(repeats, "int32")
    for dim in dims_to_mask(x, [in_spatial_dim]):
        counts = where(known_mask(dim, x), counts, 0)
    if in_spatial_dim not in counts.dims:
        counts = expand_dim(counts, in_spatial_dim)
    out_dim = out_dim or Dim(
        None,
        description="repeat",
        size_dims=tuple(d for d in counts.dims if d != in_spatial_dim),
        kind=in_spatial_dim.kind,
    )
    if x.raw_tensor is not None:
        out_dim.dyn_size_ext = reduce_sum(counts, axis=in_spatial_dim, use_mask=False)
    ends = cumsum(counts, spatial_dim=in_spatial_dim)
    places = search_sorted(ends, places_along(out_dim, x), axis=in_spatial_dim, side="right")
    return pick_frames(
        x, in_spatial_dim, out_dim, places, lengths_along(x, in_spatial_dim, use_mask=False) - 1
    ), out_dim
