"""Sequences without padding, one behind the other, and back; places in sequences."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.numpy_backend import backend as numpy_backend

from .elementwise import combine, logical_and, raw_on
from .masking import dims_to_mask, known_mask
from .shape import expand_dim, require_dims


def range_over_dim(dim: Dim, *, dtype: str | None = None, of: Tensor | None = None) -> Tensor:
    """
    :param dim: of a known size
    :param dtype: of the result; int32 by default
    :param of: has the dim: its array says how long the result is, and where it is computed. By default the lengths of
        the dim say so.
    :return: [dim]: labels 0, 1, .. of that dim
    """
    dtype = dtype or "int32"
    res = Tensor("range", [dim], dtype, sparse_dim=dim)
    if of is not None:
        if of.raw_tensor is None:
            return res
        backend = backend_of_raw(of.raw_tensor)
        return res.like(backend.range(backend.size_of_axis(of.raw_tensor, of.get_axis_from_dim(dim)), dtype))
    lens = dim.dyn_size_ext
    if dim.is_static:
        return res.like(numpy_backend.range(dim.require_static(), dtype))
    if lens is None or lens.raw_tensor is None:
        return res
    return res.like(backend_of_raw(lens.raw_tensor).range(dim.get_dim_value(), dtype))


def places_along(dim: Dim, x: Tensor) -> Tensor:
    """
    :param dim: of a known size
    :param x: without value, so is the result
    :return: int32 [dim]: 0, 1, ..
    """
    res = Tensor("places", [dim], "int32")
    return res if x.raw_tensor is None else res.like(range_over_dim(dim).raw_tensor)


def pack_padded(x: Tensor, *, dims: Sequence[Dim], out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    """
    :param x: [.., dims.., ..]
    :param dims: of x, the first one outermost; with a dim also those which its lengths depend on
    :param out_dim: a new one by default. It gets its size, unless it is a batch dim, see :func:`Dim.packed_batch`.
    :return: [out_dim, ..]: the real entries, one behind the other; and out_dim
    """
    require_dims(x, dims, op="pack_padded")
    if out_dim is None:
        out_dim = Dim(None, description="packed", size_dims=(), auto_generated=True)
    rest = [d for d in x.dims if d not in dims]
    x = x.copy_transpose([*dims, *rest])
    mask = _mask(x, dims)
    raw = _packed(x.raw_tensor, mask, len(dims))
    if out_dim.is_batch_dim:
        rest = [_with_packed_lens(d, dims, mask) for d in rest]
    elif raw is not None and out_dim.is_dynamic:
        backend = backend_of_raw(raw)
        size = backend.convert(backend.size_of_axis(raw, 0), "int32")
        _set_lens(out_dim, Tensor("size", (), "int32", raw_tensor=size))

    def kept(axis: int | None) -> Dim | None:
        return None if axis is None or axis < len(dims) else rest[axis - len(dims)]

    y = x.like(
        raw,
        dims=[out_dim, *rest],
        feature_dim=kept(x.feature_dim_axis),
        time_dim=kept(x.time_dim_axis),
        name="pack_padded",
    )
    return y, out_dim


def pad_packed(y: Tensor, *, in_dim: Dim, dims: Sequence[Dim]) -> Tensor:
    """
    Undoes :func:`pack_padded`.

    :param y: [.., in_dim, ..]
    :param in_dim: of y: as many as there are real entries in dims
    :param dims: in the order in which they were packed; their sizes are known
    :return: [dims.., ..]: zeros behind the ends. The first dynamic one of dims is time, if there was none.
    """
    require_dims(y, [in_dim], op="pad_packed")
    rest = [d for d in y.dims if d != in_dim]
    y = y.copy_transpose([in_dim, *rest])
    time = y.time_dim if y.time_dim != in_dim else None
    res = y.like(
        None,
        dims=[*dims, *rest],
        feature_dim=y.feature_dim if y.feature_dim != in_dim else None,
        time_dim=time or next((d for d in dims if d.is_dynamic), None),
        name="pad_packed",
    )
    if y.raw_tensor is None:
        return res
    mask = _mask(res, dims)
    backend = backend_of_raw(y.raw_tensor)
    if mask is not None:
        return res.like(backend.boolean_scatter(y.raw_tensor, raw_on(mask, backend)))
    others = [backend.size_of_axis(y.raw_tensor, i) for i in range(1, y.batch_ndim)]
    return res.like(backend.reshape(y.raw_tensor, [d.get_dim_value() for d in dims] + others))


def unflatten_nd(x: Tensor, *, axis: Dim, sizes: Sequence[Tensor], out_dims: Sequence[Dim]) -> Tensor:
    """
    Each sequence, flattened row-major, gets several axes of its own sizes again::

        y[b, i, j] = x[b, i * sizes[1][b] + j]

    :param axis: of x
    :param sizes: for each of the new axes int32 [batch]; their product is the length of the sequence
    :param out_dims: the new axes; they get these lengths, if they have none yet
    :return: with out_dims in place of axis; the dims of the sizes in front, if there are several axes
    """
    require_dims(x, [axis], op="unflatten_nd")
    outer = [d for d in x.dims if any(d in size.dims for size in sizes[1:])]
    x = x.copy_transpose(outer + [d for d in x.dims if d not in outer])
    place = x.get_axis_from_dim(axis)
    for dim, size in zip(out_dims, sizes, strict=True):
        _set_lens(dim, size)
    raw = None
    if x.raw_tensor is not None:
        backend = backend_of_raw(x.raw_tensor)
        source = places_along(out_dims[0], x)
        for dim, size in zip(out_dims[1:], sizes[1:], strict=True):
            source = combine(combine(source, "mul", size), "add", places_along(dim, x))
        last = backend.binary("sub", backend.size_of_axis(x.raw_tensor, place), 1)
        source = combine(source, "minimum", last)  # behind the end it does not matter, but must exist
        indices = raw_on(source.copy_transpose([*outer, *out_dims]), backend)
        raw = backend.gather(x.raw_tensor, indices, axis=place, batch_dims=len(outer))
    dims = (*x.dims[:place], *out_dims, *x.dims[place + 1 :])
    feature = None if place == x.feature_dim_axis else x.feature_dim
    time = out_dims[0] if place == x.time_dim_axis else x.time_dim
    return x.like(raw, dims=dims, feature_dim=feature, time_dim=time, name="unflatten_nd")


def _set_lens(dim: Dim, lens: Tensor) -> None:
    if dim.is_dynamic and dim.dyn_size is None:
        dim.dyn_size_ext = lens


def _mask(x: Tensor, dims: Sequence[Dim]) -> Tensor | None:
    """
    :return: bool, with these dims in this order: which entries are real; None: all of them
    """
    masks = [known_mask(dim, x) for dim in dims_to_mask(x, dims)]
    if not masks:
        return None
    mask = functools.reduce(logical_and, masks)
    outside = [d for d in mask.dims if d not in dims]
    if outside:
        raise DimError("the lengths of %s depend on %s, which must be among %s" % (dims[0], outside, list(dims)))
    if mask.raw_tensor is None:
        return Tensor("mask", dims, "bool")
    for dim in dims:
        if dim not in mask.dims:
            mask = expand_dim(mask, dim)
    return mask.copy_transpose(dims)


def _packed(raw: Any, mask: Tensor | None, number: int) -> Any:
    """
    :param raw: value whose first axes are those of the mask
    :param mask: None: all entries are real
    :param number: of these axes
    """
    backend = backend_of_raw(raw)
    if mask is None or raw is None:
        rank = 0 if raw is None else len(backend.static_shape(raw))
        return backend.reshape(raw, [-1] + [backend.size_of_axis(raw, i) for i in range(number, rank)])
    return backend.boolean_mask(raw, raw_on(mask, backend))


def _with_packed_lens(dim: Dim, dims: Sequence[Dim], mask: Tensor | None) -> Dim:
    """
    :param dim: another dim of a tensor
    :param dims: which are packed into one batch
    :param mask: which entries are
    :return: the same dim, if its lengths do not depend on these; else one with the lengths of the packed entries
    """
    if not set(dim.size_dims or ()) & set(dims):
        return dim
    res = dim.in_merged_batch(dims, packed=True)
    lens = dim.dyn_size_ext
    if lens is not None and lens.raw_tensor is not None and set(lens.dims) <= set(dims):
        for other in dims:
            if other not in lens.dims:
                lens = expand_dim(lens, other)
        res.dyn_size = _packed(lens.copy_transpose(dims).raw_tensor, mask, len(dims))
    return res
