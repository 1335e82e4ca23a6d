"""Operations on axes: merge, split, cut, select, another shape.

Functions that make an axis take an optional ``out_dim`` and return the dim they used. Lengths of dynamic dims follow by
dim arithmetic, so that the same operation on the same dim gives the same dim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor, dim_math
from returnn.tensor.backend import backend_of_raw

from .masking import dims_to_mask, mask_padding


def require_dims(x: Tensor, dims: Sequence[Dim], *, op: str) -> None:
    """
    :raises DimError: one of dims is not in ``x``; the message lists the dims of ``x``
    """
    for dim in dims:
        if dim not in x.dims:
            raise DimError("%s: %s has no dim %s, its dims are %s" % (op, x.name, dim, list(x.dims)))


def same_as(given: Dim | None, dim: Dim) -> Dim:
    """
    :param given: of a user
    :param dim: what it has to be
    :return: given, from now on the same as dim; dim if None
    :raises DimError: another size
    """
    if given is None:
        return dim
    given.declare_same_as(dim)
    return given


def longer_dim(dim: Dim, more: int) -> Dim:
    """
    :param more: number of frames, negative: so many fewer
    :return: the dim of what has these behind its end
    """
    if not more:
        return dim
    return dim + more if more > 0 else dim.sub_right(-more)


def raw_shape(x: Tensor) -> list[Any]:
    """
    :return: per axis an int where static, else a raw scalar
    """
    backend = backend_of_raw(x.raw_tensor)
    return [d.dimension if d.is_static else backend.size_of_axis(x.raw_tensor, i) for i, d in enumerate(x.dims)]


def expand_dim(x: Tensor, dim: Dim) -> Tensor:
    """
    :param dim: new; content is repeated along it
    :return: with it, as the last one
    """
    return x.copy_add_dim_by_tag(dim, unbroadcast=True, axis=len(x.dims))


def squeeze(x: Tensor, axis: Dim) -> Tensor:
    """
    :param axis: of size 1
    :return: without it
    """
    require_dims(x, [axis], op="squeeze")
    return x.copy_squeeze_axes([x.get_axis_from_dim(axis)])


def replace_dim(x: Tensor, *, in_dim: Dim, out_dim: Dim) -> Tensor:
    """
    :param in_dim: of x
    :param out_dim: of the same size
    :return: the same value with ``out_dim`` in place of ``in_dim``
    """
    require_dims(x, [in_dim], op="replace_dim")
    axis = x.get_axis_from_dim(in_dim)
    dims = list(x.dims)
    dims[axis] = out_dim
    res = x.copy_template_new_dim_tags(dims, keep_special_axes=True)
    res.raw_tensor = x.raw_tensor
    return res


def merge_dims(x: Tensor, *, dims: Sequence[Dim], out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    """
    :param dims: of x, the first one outermost. With the batch dim among them the result counts as batch, padding
        included.
    :param out_dim: product of dims by default
    :return: the merged axis is at the place of the first of dims
    """
    require_dims(x, dims, op="merge_dims")
    if len(dims) == 1:
        return (x, dims[0]) if out_dim is None else (replace_dim(x, in_dim=dims[0], out_dim=out_dim), out_dim)
    if out_dim is None:
        out_dim = next((d for d in dims if d.is_batch_dim), None)
        if out_dim is None:
            out_dim = dims[0]
            for dim in dims[1:]:
                out_dim = out_dim * dim
    axes: list[int] = []
    for dim in dims:
        axes.append(next(i for i, d in enumerate(x.dims) if d == dim and i not in axes))
    return x._merge_axes(axes, out_dim).copy("merge_dims"), out_dim


def split_dims(
    x: Tensor,
    *,
    axis: Dim,
    dims: Sequence[Dim],
    pad_to_multiples: bool | None = None,
    pad_value: Any = 0,
    use_mask: bool = True,
) -> Tensor:
    """
    Row-major: new[i, j] = old[i * len(j) + j].

    :param axis: of x
    :param dims: at most one dynamic, the others static
    :param pad_to_multiples: fill up the axis at its end; True by default if it is dynamic
    :param pad_value: with this
    :param use_mask: also behind the end of each shorter sequence, not only of the array
    :return: dims at the place of axis. They are neither feature nor time yet.
    """
    require_dims(x, [axis], op="split_dims")
    number = x.get_axis_from_dim(axis)
    factor = 1
    for dim in dims:
        factor *= dim.dimension or 1
    if pad_to_multiples is None:
        pad_to_multiples = axis.is_dynamic
    size = axis.dimension
    if (
        size is not None
        and all(d.is_static for d in dims)
        and not (size <= factor if pad_to_multiples else size == factor)
    ):
        raise DimError("split_dims: %s of %s does not split into %s" % (axis, x.name, list(dims)))
    backend = backend_of_raw(x.raw_tensor)
    if pad_to_multiples and factor not in (1, size) and x.raw_tensor is not None:
        if use_mask:
            x = mask_padding(x, dims_to_mask(x, [axis]), pad_value)
        if size is not None:
            missing: Any = factor - size
        else:
            missing = backend.unary("neg", backend.size_of_axis(x.raw_tensor, number))
            missing = backend.binary("mod", missing, factor)
        paddings: list[tuple[Any, Any]] = [(0, 0)] * x.batch_ndim
        paddings[number] = (0, missing)
        raw = backend.pad(x.raw_tensor, paddings, value=pad_value)
    else:
        raw = x.raw_tensor
    shape = raw_shape(x)
    shape[number : number + 1] = [d.dimension if d.is_static else -1 for d in dims]
    new_dims = x.dims[:number] + tuple(dims) + x.dims[number + 1 :]
    return x.like(backend.reshape(raw, shape), dims=new_dims, name="split_dims")


def reshape(x: Tensor, in_dims: Sequence[Dim], out_dims: Sequence[Dim]) -> Tensor:
    """
    Row-major.

    :param x: has in_dims
    :param in_dims: replaced by out_dims, the first one outermost
    :param out_dims: of the same total size. The size of the first dynamic one need not be known, or of batch
    :return: out_dims where the first of in_dims in x was. They are neither feature nor time yet.
    :raises DimError: total sizes differ
    """
    require_dims(x, in_dims, op="reshape")
    if all(d.is_static for d in (*in_dims, *out_dims)):
        before, after = (math.prod(d.require_static() for d in dims) for dims in (in_dims, out_dims))
        if before != after:
            raise DimError(
                "reshape: %s of %s have %i entries, but %s have %i"
                % (list(in_dims), x.name, before, list(out_dims), after)
            )
    place = min(x.dims.index(d) for d in in_dims)
    rest = [d for d in x.dims if d not in in_dims]
    x = x.copy_transpose(rest[:place] + list(in_dims) + rest[place:])
    shape = raw_shape(x)
    shape[place : place + len(in_dims)] = _sizes_or_rest(out_dims) if x.raw_tensor is not None else []
    raw = backend_of_raw(x.raw_tensor).reshape(x.raw_tensor, shape)
    return x.like(raw, dims=rest[:place] + list(out_dims) + rest[place:], name="reshape")


def _sizes_or_rest(dims: Sequence[Dim]) -> list[Any]:
    """:return: static or raw sizes; -1 for one: batch, else the first that is dynamic"""
    dynamic = [d for d in dims if d.dimension is None]
    rest = next((d for d in dynamic if d.is_batch_dim), dynamic[0] if dynamic else None)
    return [-1 if d is rest else d.get_dim_value() for d in dims]


def slice(
    x: Tensor,
    *,
    axis: Dim,
    start: int | None = None,
    end: int | None = None,
    step: int | None = None,
    out_dim: Dim | None = None,
) -> tuple[Tensor, Dim]:
    """
    As Python slices, on the array: a negative ``end`` does not look at the lengths of single sequences.

    :param axis: of x
    :param start: >= 0
    :param end: None: to the end; negative: counted from there
    :param step: > 0
    :param out_dim: what follows from axis by default
    :return: and the new dim
    """
    require_dims(x, [axis], op="slice")
    if out_dim is None:
        out_dim = axis
        if end is not None:
            out_dim = out_dim.sub_right(-end) if end < 0 else dim_math.at_most(out_dim, end)
        if start:
            out_dim = out_dim.sub_left(start)
        if step and step != 1:
            out_dim = out_dim.ceildiv_right(step)
    place = x.get_axis_from_dim(axis)
    raw = backend_of_raw(x.raw_tensor).slice(x.raw_tensor, place, start, end, step or 1)
    dims = x.dims[:place] + (out_dim,) + x.dims[place + 1 :]
    feature = out_dim if place == x.feature_dim_axis else x.feature_dim
    time = out_dim if place == x.time_dim_axis else x.time_dim
    return x.like(raw, dims=dims, feature_dim=feature, time_dim=time, name="slice"), out_dim
