"""Entries by their number: picked, put, counted, searched, selected.

A number counts the frames of one sequence, from 0. What stands behind a sequence's end is never picked by chance: it is
no frame of the sequence, unless a function is told by ``use_mask`` to look at the array instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, Size, backend_of_all, backend_of_raw, template_backend

from .elementwise import cast, combine, compare, logical_and, maximum, minimum, raw_on, where
from .masking import dims_to_mask, mask_padding
from .packing import places_along
from .reduce import lowest, reduce_sum
from .shape import merge_dims, require_dims, same_as


def lengths_along(x: Tensor, axis: Dim, *, use_mask: bool = True) -> Tensor | int:
    """
    :param x: has ``axis``
    :param use_mask: lengths of the sequences; else the size of the array, the same for all
    :return: static size; or int32 [dims of the lengths..], or a scalar
    :raises DimError: x has a value, but the lengths are not known
    """
    require_dims(x, [axis], op="lengths_along")
    if axis.is_static:
        return axis.require_static()
    if use_mask and dims_to_mask(x, [axis]):
        lens = axis.dyn_size_ext
        if x.raw_tensor is None:
            return Tensor("lens", axis.size_dims or (), "int32")
        if lens is None or lens.raw_tensor is None:
            raise DimError("%r: the lengths of %s are needed here, but are not known" % (x, axis))
        return lens
    if x.raw_tensor is None:
        return Tensor("size", (), "int32")
    backend = backend_of_raw(x.raw_tensor)
    size = backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(axis))
    return size if isinstance(size, int) else Tensor("size", (), "int32", raw_tensor=size)


def gather(x: Tensor, *, indices: Tensor | int, axis: Dim | None = None, clip_to_valid: bool = False) -> Tensor:
    """
    Picks entries: y[s, a, i, b] = x[s, a, indices[s, i], b]. An embedding lookup, if ``x`` is [axis, features].

    :param x: has ``axis``
    :param indices: int, any dims. Those which x has too, besides axis, belong together.
    :param axis: the indices count it; by default they are labels of it
    :param clip_to_valid: an index outside of a sequence means its first or last frame; else it must not occur
    :return: dims that both have, those of x in front of axis, those of the indices, those of x behind axis
    """
    if axis is None:
        axis = indices.sparse_dim if isinstance(indices, Tensor) else None
        if axis is None:
            raise DimError("gather: axis is missing, and the indices %r are no labels" % (indices,))
    require_dims(x, [axis], op="gather")
    indices = _as_indices(x, indices, axis, clip_to_valid=clip_to_valid)
    shared = [d for d in x.dims if d in indices.dims and d != axis]
    own = [d for d in indices.dims if d not in shared]
    place = x.get_axis_from_dim(axis)
    before = [d for d in x.dims[:place] if d not in shared]
    behind = [d for d in x.dims[place + 1 :] if d not in shared]
    dims = shared + before + own + behind
    time = x.time_dim if x.time_dim in shared + before + behind else indices.time_dim
    backend = backend_of_all([x, indices])
    raw = None
    if backend is not template_backend:
        raw = raw_on(x, backend)
        if shared:
            raw = raw_on(x.copy_transpose([*shared, *before, axis, *behind]), backend)
            indices = indices.copy_transpose(shared + own)
        raw = backend.gather(raw, raw_on(indices, backend), axis=len(shared + before), batch_dims=len(shared))
    return x.like(raw, dims=dims, time_dim=time, name="gather")


def _as_indices(x: Tensor, indices: Tensor | int, axis: Dim, *, clip_to_valid: bool) -> Tensor:
    if not isinstance(indices, Tensor):
        size = axis.dimension
        if isinstance(indices, bool) or not isinstance(indices, int) or indices < 0:
            raise DimError("gather: an index must be an integer >= 0, but is %r" % (indices,))
        if size is not None and indices >= size and not clip_to_valid:
            raise DimError("gather: index %i does not exist in %s of %r" % (indices, axis, x))
        raw = None if x.raw_tensor is None else backend_of_raw(x.raw_tensor).convert(indices, "int32")
        indices = Tensor("index", (), "int32", raw_tensor=raw)
    if "int" not in indices.dtype:
        raise DimError("gather: the indices must be integers, but %r is %s" % (indices, indices.dtype))
    if indices.dtype not in ("int32", "int64"):
        indices = cast(indices, "int32")
    if clip_to_valid:
        indices = _clipped(cast(indices, "int32"), lengths_along(x, axis))
    return indices


def _clipped(indices: Tensor, lens: Tensor | int) -> Tensor:
    """:return: in [0, lens - 1]; 0 where there are none"""
    return maximum(minimum(indices, lens - 1), 0)


def slice_nd(
    x: Tensor, *, axis: Dim, start: Tensor | int, out_dim: Dim, fill_value: float = 0, use_mask: bool = True
) -> Tensor:
    """
    A piece of each sequence, from its own start on: y[i] = x[start + i].

    :param x: has ``axis``
    :param start: int, any dims; may be negative
    :param out_dim: new, i counts it; its size is that of the pieces
    :param fill_value: where start + i is no frame
    :param use_mask: what stands behind a sequence's end is no frame; else all of the array is
    :return: dims that start and x both have, those of x in front of axis, those of start and out_dim, those behind axis
    """
    require_dims(x, [axis], op="slice_nd")
    if isinstance(start, int) and start >= 0 and not (use_mask and dims_to_mask(x, [axis])):
        return _piece_of_array(x, axis, start, out_dim, fill_value)
    places = places_along(out_dim, x)
    if isinstance(start, Tensor):
        places = combine(cast(start, "int32"), "add", places)
    elif start:
        places = combine(places, "add", start)
    inside = compare(places, "<", lengths_along(x, axis, use_mask=use_mask))
    if isinstance(start, Tensor) or start < 0:
        inside = logical_and(compare(places, ">=", 0), inside)
    places = where(inside, places, lengths_along(x, axis, use_mask=False))
    dims = [axis + 1 if d == axis else d for d in x.dims]
    y = gather(x.like(_with_more(x, axis, 1, fill_value), dims=dims), indices=places, axis=axis + 1)
    if axis == x.feature_dim:
        y.feature_dim = out_dim
    return y


def _piece_of_array(x: Tensor, axis: Dim, start: int, out_dim: Dim, fill_value: float) -> Tensor:
    raw = None
    if x.raw_tensor is not None:
        size = out_dim.get_dim_value()
        raw = _with_more(x, axis, size, fill_value)
        raw = x._raw_backend.slice(raw, x.get_axis_from_dim(axis), start, size + start)
    y = x.copy_template_new_dim_tags([out_dim if d == axis else d for d in x.dims], keep_special_axes=True)
    if y.time_dim == out_dim and out_dim.is_static:
        y.time_dim_axis = None
    y.raw_tensor = raw
    return y


def _with_more(x: Tensor, axis: Dim, size: Size, value: float) -> Any:
    """:return: raw value of x, with further entries of that value behind the array"""
    paddings: list[tuple[Size, Size]] = [(0, 0)] * x.batch_ndim
    paddings[x.get_axis_from_dim(axis)] = (0, size)
    return backend_of_raw(x.raw_tensor).pad(x.raw_tensor, paddings, value=value)


def scatter(
    x: Tensor,
    *,
    indices: Tensor,
    indices_dim: Dim | Sequence[Dim],
    out_dim: Dim | None = None,
    use_mask: bool = True,
    filter_invalid: bool = False,
) -> Tensor:
    """
    Adds up entries: y[s, indices[s, i], e] = sum over i of x[s, i, e]. What no index points to is zero.

    :param x: dims of the indices, over which it is repeated where it lacks any, and others
    :param indices: int; i stands for its dims ``indices_dim``, s for the others
    :param indices_dim: one or several
    :param out_dim: new; by default the indices are labels of it
    :param use_mask: what stands behind a sequence's end does not count
    :param filter_invalid: nor does what an index < 0, or not below the size of out_dim, points to; else there must be
        no such one
    :return: the other dims of the indices, out_dim, the other dims of x
    """
    inner = [indices_dim] if isinstance(indices_dim, Dim) else list(indices_dim)
    require_dims(indices, inner, op="scatter")
    out_dim = out_dim or indices.sparse_dim
    if out_dim is None:
        raise DimError("scatter: out_dim is missing, and the indices %r are no labels" % indices)
    if "int" not in indices.dtype:
        raise DimError("scatter: the indices must be integers, but %r is %s" % (indices, indices.dtype))
    indices = cast(indices, "int32")
    valid = _valid_indices(indices, inner, out_dim, use_mask=use_mask, filter_invalid=filter_invalid)
    if any(d not in x.dims for d in indices.dims):
        x = where(compare(indices, ">=", 0) if valid is None else valid, x, 0)
    if valid is not None:
        indices = where(valid, indices, _size_of(out_dim, indices))  # one entry more, to be dropped
    outer = [d for d in indices.dims if d not in inner]
    rest = [d for d in x.dims if d not in indices.dims]
    backend = backend_of_all([x, indices])
    raw = None
    if backend is not template_backend:
        size = out_dim.get_dim_value()
        raw = backend.scatter_add(
            raw_on(x.copy_transpose([*outer, *inner, *rest]), backend),
            raw_on(indices.copy_transpose([*outer, *inner]), backend),
            batch_dims=len(outer),
            size=size if valid is None else size + 1,
        )
        if valid is not None:
            raw = backend.slice(raw, len(outer), 0, size)
    time = out_dim if x.time_dim in inner or indices.time_dim in inner else x.time_dim
    dims = [*outer, out_dim, *rest]
    return x.like(raw, dims=dims, time_dim=time if time in dims else None, name="scatter")


def _valid_indices(
    indices: Tensor, inner: Sequence[Dim], out_dim: Dim, *, use_mask: bool, filter_invalid: bool
) -> Tensor | None:
    valid = None
    if filter_invalid:
        size = _size_of(out_dim, indices)
        valid = logical_and(compare(indices, ">=", 0), compare(indices, "<", size))
    for dim in dims_to_mask(indices, inner) if use_mask else ():
        valid = dim.get_mask() if valid is None else logical_and(valid, dim.get_mask())
    return valid


def _size_of(dim: Dim, of: Tensor) -> Tensor | int:
    """:return: the size of an axis of this dim, int or a scalar"""
    if dim.is_static:
        return dim.require_static()
    size = None if of.raw_tensor is None else dim.get_dim_value()
    return size if isinstance(size, int) else Tensor("size", (), "int32", raw_tensor=size)


def cumsum(x: Tensor, *, spatial_dim: Dim, reverse: bool = False, use_mask: bool = True) -> Tensor:
    """
    y[t] = x[0] + .. + x[t].

    :param x: has ``spatial_dim``
    :param reverse: y[t] = x[t] + .. + x[last]
    :param use_mask: the last frame is that of each sequence; else that of the array
    :return: dims and dtype of x
    """
    require_dims(x, [spatial_dim], op="cumsum")
    if reverse and use_mask:
        x = mask_padding(x, dims_to_mask(x, [spatial_dim]), 0)
    axis = x.get_axis_from_dim(spatial_dim)
    return x.like(backend_of_raw(x.raw_tensor).cumsum(x.raw_tensor, axis, reverse=reverse), name="cumsum")


def search_sorted(sorted_seq: Tensor, values: Tensor, *, axis: Dim, side: str = "left") -> Tensor:
    """
    How many entries come before each value.

    :param sorted_seq: has ``axis``, ascending along it
    :param values: of the same dtype. Dims that both have, besides axis, belong together; over those of sorted_seq that
        values lacks it is repeated.
    :param axis: frames behind a sequence's end do not count
    :param side: left: entries < value; right: entries <= value
    :return: int32, from 0 to the length of the sequence; dims of values, behind those that it lacks
    """
    require_dims(sorted_seq, [axis], op="search_sorted")
    if side not in ("left", "right"):
        raise DimError("search_sorted: side must be 'left' or 'right', but is %r" % (side,))
    if sorted_seq.dtype != values.dtype:
        raise DimError("search_sorted: %r and %r differ in dtype" % (sorted_seq, values))
    shared = [d for d in sorted_seq.dims if d != axis]
    rest = [d for d in values.dims if d not in shared]
    highest = -lowest(values.dtype) if "float" in values.dtype else ~int(lowest(values.dtype))
    sorted_seq = mask_padding(sorted_seq, dims_to_mask(sorted_seq, [axis]), highest)
    backend = backend_of_all([sorted_seq, values])
    raw = None
    if backend is not template_backend:
        raw_seq = raw_on(sorted_seq.copy_transpose([*shared, axis]), backend)
        raw_values = raw_on(values, backend)
        sizes = [backend.size_of_axis(raw_seq, i) for i in range(len(shared))]
        own = [backend.size_of_axis(raw_values, values.get_axis_from_dim(d)) for d in rest]
        raw = values.like(raw_values).copy_compatible_to_dims_raw(shared + rest)
        if len(values.dims) < len(shared + rest):
            raw = backend.broadcast_to(raw, sizes + own)
        if len(rest) != 1:
            raw = backend.reshape(raw, [*sizes, backend.product(own)])
        raw = backend.search_sorted(raw_seq, raw, right=side == "right")
        if len(rest) != 1:
            raw = backend.reshape(raw, sizes + own)
    dims = [*shared, *rest]
    y = values.like(raw, dims=dims, dtype="int32", sparse_dim=None, name="search_sorted")
    return y.copy_transpose([d for d in dims if d not in values.dims] + list(values.dims))


def top_k(
    x: Tensor,
    *,
    axis: Dim | Sequence[Dim],
    k: int | Tensor | None = None,
    k_dim: Dim | None = None,
    sorted: bool = True,
) -> tuple[Tensor, Tensor | list[Tensor], Dim]:
    """
    The k largest entries. Where a sequence has fewer of them, the lowest number of the dtype follows.

    :param x: has ``axis``
    :param axis: one dim; or several, which are searched together
    :param k: int, or int32 Tensor: the number of entries may differ then. That of k_dim by default
    :param k_dim: new, static or dynamic as k is
    :param sorted: the largest one first, of equal ones the first; else any of these, in any order
    :return: values, [other dims of x.., k_dim]; their places, int32 labels of axis, or a list of these; k_dim
    """
    axes = [axis] if isinstance(axis, Dim) else list(axis)
    require_dims(x, axes, op="top_k")
    k_dim = _k_dim(k, k_dim)
    size = k_dim.dimension
    if size is not None and all(d.is_static for d in axes):
        available = 1
        for dim in axes:
            available *= dim.require_static()
        if size > available:
            raise DimError("top_k: there are no %i entries along %s of %r" % (size, axes, x))
    x = mask_padding(x, dims_to_mask(x, axes), lowest(x.dtype))
    rest = [d for d in x.dims if d not in axes]
    raw_values, raw_places = None, [None] * len(axes)
    if x.raw_tensor is not None:
        raw_values, raw_places = _raw_top_k(x.copy_transpose(rest + axes), len(axes), k_dim, sorted)
    time = x.time_dim if x.time_dim in rest else None
    values = x.like(raw_values, dims=[*rest, k_dim], feature_dim=None, time_dim=time, name="top_k")
    places = [
        values.like(raw, dtype="int32", sparse_dim=dim, name="top_k_indices")
        for dim, raw in zip(axes, raw_places, strict=True)
    ]
    return values, places[0] if isinstance(axis, Dim) else places, k_dim


def _k_dim(k: int | Tensor | None, k_dim: Dim | None) -> Dim:
    if k is None:
        if k_dim is None:
            raise DimError("top_k: k or k_dim is needed")
        return k_dim
    if isinstance(k, Tensor):
        made = k_dim or Dim(None, description="top-k", size_dims=k.dims)
        if k.raw_tensor is not None:
            made.dyn_size_ext = cast(k, "int32")
        return made
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise DimError("top_k: k must be an integer >= 0, but is %r" % (k,))
    return same_as(k_dim, Dim(k, description="top-k", kind=k_dim.kind if k_dim else None, auto_generated=True))


def _raw_top_k(x: Tensor, num_axes: int, k_dim: Dim, sorted: bool) -> tuple[Any, list[Any]]:
    """
    :param x: with value, the axes to search are the last ones
    :return: raw values, [.., k]; raw places for each of these axes
    """
    backend, raw = x._raw_backend, x.raw_tensor
    sizes = [backend.size_of_axis(raw, i) for i in range(x.batch_ndim)]
    rest, own = sizes[:-num_axes], sizes[-num_axes:]
    number, k = backend.product(own), k_dim.get_dim_value()
    if num_axes > 1:
        raw = backend.reshape(raw, [*rest, number])
    short = any(d.is_dynamic for d in x.dims[-num_axes:])  # the longest sequence may have less than k frames
    if short:
        missing = _minus(backend, k, number)
        raw = backend.pad(raw, [(0, 0)] * len(rest) + [(0, missing)], value=lowest(x.dtype))
    values, place = backend.top_k(raw, k, sorted=sorted)
    if short:
        place = backend.binary("minimum", place, _minus(backend, number, 1))
    places: list[Any] = []
    for size in reversed(own[1:]):
        places.insert(0, backend.binary("mod", place, size))
        place = backend.binary("floordiv", place, size)
    return values, [place, *places]


def _minus(backend: Backend, a: Size, b: Size) -> Size:
    """:return: max(a - b, 0)"""
    if isinstance(a, int) and isinstance(b, int):
        return max(a - b, 0)
    return backend.binary("maximum", backend.binary("sub", a, b), 0)


def masked_select(
    x: Tensor, *, mask: Tensor, dims: Sequence[Dim], out_dim: Dim | None = None, use_mask: bool = True
) -> tuple[Tensor, Dim]:
    """
    Only the entries where the mask is true.

    :param x: has all of ``dims``
    :param mask: bool, has all of ``dims``
    :param dims: if these are all of the mask: all entries in one row, the first of dims outermost. Else a row for each
        entry of the other dims of the mask.
    :param out_dim: new, dynamic: replaces dims
    :param use_mask: what stands behind a sequence's end is not selected
    :return: the other dims of the mask that x has too, out_dim, the other dims of x; and out_dim
    """
    if mask.dtype != "bool":
        raise DimError("masked_select: the mask must be bool, but %r is %s" % (mask, mask.dtype))
    require_dims(mask, dims, op="masked_select")
    require_dims(x, dims, op="masked_select")
    for dim in dims_to_mask(mask, dims) if use_mask else ():
        mask = logical_and(mask, dim.get_mask())
    if len(dims) == len(mask.dims):
        return _flat_select(x, mask, list(dims), out_dim)
    mask, axis = merge_dims(mask, dims=dims)
    x, _ = merge_dims(x, dims=dims)
    out_dim = out_dim or Dim(None, description="masked", size_dims=tuple(d for d in mask.dims if d != axis))
    numbers = cast(mask, "int32")
    if x.raw_tensor is not None and mask.raw_tensor is not None:
        out_dim.dyn_size_ext = reduce_sum(numbers, axis=axis, use_mask=False)
    ends = cumsum(numbers, spatial_dim=axis)
    places = search_sorted(ends, combine(places_along(out_dim, x), "add", 1), axis=axis)
    y = gather(x, indices=_clipped(places, lengths_along(x, axis, use_mask=False)), axis=axis)
    return _with_time_at(y, out_dim, was_time=x.time_dim == axis), out_dim


def _flat_select(x: Tensor, mask: Tensor, dims: list[Dim], out_dim: Dim | None) -> tuple[Tensor, Dim]:
    out_dim = out_dim or Dim(None, description="masked", size_dims=())
    rest = [d for d in x.dims if d not in dims]
    backend = backend_of_all([x, mask])
    raw = None
    if backend is not template_backend:
        raw = backend.boolean_mask(
            raw_on(x.copy_transpose(dims + rest), backend), raw_on(mask.copy_transpose(dims), backend)
        )
        size = backend.convert(backend.size_of_axis(raw, 0), "int32")
        out_dim.dyn_size_ext = Tensor("size", (), "int32", raw_tensor=size)
    y = x.like(raw, dims=[out_dim, *rest], name="masked_select")
    return _with_time_at(y, out_dim, was_time=x.time_dim in dims), out_dim


def _with_time_at(x: Tensor, dim: Dim, *, was_time: bool) -> Tensor:
    if was_time:
        x.time_dim_axis = x.get_axis_from_dim(dim)
    return x
