"""Operations on axes: merge, split, join, pad, cut, select.

Functions that make an axis take an optional ``out_dim`` and return the dim they used. Lengths of dynamic dims follow by
dim arithmetic, so that the same operation on the same dim gives the same dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, DimKind, Tensor, dim_math
from returnn.tensor.backend import backend_of_all, backend_of_raw, template_backend

from .elementwise import common_dims, raw_on
from .masking import dims_to_mask, mask_padding


def require_dims(x: Tensor, dims: Sequence[Dim], *, op: str) -> None:
    """
    :raises DimError: one of dims is not in ``x``; the message lists the dims of ``x``
    """
    for dim in dims:
        if dim not in x.dims:
            raise DimError("%s: %s has no dim %s, its dims are %s" % (op, x.name, dim, list(x.dims)))


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
    :param pad_to_multiples: fill up a dynamic axis at its end; True by default if the axis is dynamic
    :param pad_value: with this
    :param use_mask: also behind the end of each shorter sequence, not only of the array
    :return: dims at the place of axis. They are neither feature nor time yet.
    """
    require_dims(x, [axis], op="split_dims")
    number = x.get_axis_from_dim(axis)
    factor = 1
    for dim in dims:
        factor *= dim.dimension or 1
    if axis.is_static and all(d.is_static for d in dims) and factor != axis.dimension:
        raise DimError("split_dims: %s of %s does not split into %s" % (axis, x.name, list(dims)))
    if pad_to_multiples is None:
        pad_to_multiples = axis.is_dynamic
    backend = backend_of_raw(x.raw_tensor)
    if axis.is_dynamic and pad_to_multiples and factor != 1 and x.raw_tensor is not None:
        if use_mask:
            x = mask_padding(x, dims_to_mask(x, [axis]), pad_value)
        size = backend.size_of_axis(x.raw_tensor, number)
        missing = backend.binary("mod", backend.unary("neg", size), factor)
        paddings: list[tuple[Any, Any]] = [(0, 0)] * x.batch_ndim
        paddings[number] = (0, missing)
        raw = backend.pad(x.raw_tensor, paddings, value=pad_value)
    else:
        raw = x.raw_tensor
    shape = raw_shape(x)
    shape[number : number + 1] = [d.dimension if d.is_static else -1 for d in dims]
    new_dims = x.dims[:number] + tuple(dims) + x.dims[number + 1 :]
    return x.like(backend.reshape(raw, shape), dims=new_dims, name="split_dims")


def concat(*sources: tuple[Tensor, Dim], out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    """
    Joins the arrays: padding of an earlier source stays where it is, in front of the next one.

    :param sources: each with the dim along which it is joined to the others; other dims that one of them does not have
        are repeated
    :param out_dim: sum of the dims by default
    :return: axes in the order of the source that has most
    """
    if out_dim is None:
        out_dim = sources[0][1]
        for _, dim in sources[1:]:
            out_dim = out_dim + dim
    template = max((x for x, _ in sources), key=lambda x: len(x.dims))
    own = next(d for x, d in sources if x is template)
    place = template.get_axis_from_dim(own)
    rest = [d for i, d in enumerate(template.dims) if i != place]
    for x, dim in sources:
        rest += [d for d in common_dims([x]) if d != dim and d not in rest]
    feature = out_dim if template.feature_dim == own else template.feature_dim
    time = out_dim if template.time_dim == own else template.time_dim
    dims = rest[:place] + [out_dim] + rest[place:]
    backend = backend_of_all([x for x, _ in sources])
    raw = None
    if backend is not template_backend:
        parts = []
        for x, dim in sources:
            x = x.like(raw_on(x, backend))
            full = rest[:place] + [dim] + rest[place:]
            if len(x.dims) == len(full):
                parts.append(x.copy_transpose(full).raw_tensor)
            else:
                shape = [_size_among(d, [x] + [y for y, _ in sources]) for d in full]
                parts.append(backend.broadcast_to(x.copy_compatible_to_dims_raw(full), shape))
        raw = backend.concat(parts, place)
    return template.like(raw, dims=dims, feature_dim=feature, time_dim=time, name="concat"), out_dim


def _size_among(dim: Dim, tensors: Sequence[Tensor]) -> Any:
    if dim.is_static:
        return dim.dimension
    x = next(x for x in tensors if dim in x.dims)
    return x._raw_backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))


def concat_features(*xs: Tensor, out_dim: Dim | None = None) -> Tensor:
    """
    :param xs: each with a feature dim
    :param out_dim: sum of these by default
    :return: joined along the feature dims
    """
    sources = []
    for x in xs:
        if x.feature_dim is None:
            raise DimError("concat_features: %r has no feature dim" % x)
        sources.append((x, x.feature_dim))
    return concat(*sources, out_dim=out_dim)[0]


def gather(x: Tensor, *, indices: Tensor, axis: Dim) -> Tensor:
    """
    Selects entries: an embedding lookup, if ``x`` is [axis, features].

    :param x: has ``axis``, and no other dim of ``indices``
    :param indices: int
    :param axis: replaced by the dims of ``indices``
    :return: dims of x, those of indices in place of axis
    """
    require_dims(x, [axis], op="gather")
    shared = [d for d in x.dims if d in indices.dims]
    if shared:
        raise DimError("gather: %s are in both %s and the indices %s" % (shared, x.name, indices.name))
    place = x.get_axis_from_dim(axis)
    dims = x.dims[:place] + indices.dims + x.dims[place + 1 :]
    time = indices.time_dim or x.time_dim
    backend = backend_of_all([x, indices])
    raw = None
    if backend is not template_backend:
        raw = backend.gather(raw_on(x, backend), raw_on(indices, backend), axis=place)
    return x.like(raw, dims=dims, time_dim=time if time in dims else None, name="gather")


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


def window(
    x: Tensor,
    *,
    spatial_dim: Dim,
    window_dim: Dim,
    window_left: int | None = None,
    window_right: int | None = None,
    padding: str = "same",
    stride: int = 1,
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
    :param use_mask: zeros behind a sequence's end too
    :return: and the dim that replaces ``spatial_dim``
    """
    require_dims(x, [spatial_dim], op="window")
    size = window_dim.require_static()
    if padding not in ("same", "valid"):
        raise DimError("window: padding must be 'same' or 'valid', but is %r" % padding)
    if padding == "valid" and (window_left, window_right) != (None, None):
        raise DimError("window: padding 'valid' has no window_left or window_right")
    if window_right is None:
        window_right = size // 2 if window_left is None else size - 1 - window_left
    if window_left is None:
        window_left = size - 1 - window_right
    if window_left + window_right + 1 != size or window_left < 0 or window_right < 0:
        raise DimError("window: left %i, right %i and the frame itself are not %i" % (window_left, window_right, size))
    place = x.get_axis_from_dim(spatial_dim)
    backend = backend_of_raw(x.raw_tensor)
    if use_mask:
        x = mask_padding(x, dims_to_mask(x, [spatial_dim]), 0)
    raw = x.raw_tensor
    out_dim = spatial_dim
    if padding == "same":
        paddings = [(0, 0)] * x.batch_ndim
        paddings[place] = (window_left, window_right)
        raw = backend.pad(raw, paddings)
    else:
        out_dim = out_dim.sub_right(size - 1)
    if stride != 1:
        out_dim = out_dim.ceildiv_right(stride)
    raw = backend.frames(raw, axis=place, size=size, stride=stride)
    dims = x.dims[:place] + (out_dim, window_dim) + x.dims[place + 1 :]
    time = out_dim if place == x.time_dim_axis else x.time_dim
    return x.like(raw, dims=dims, time_dim=time, name="window"), out_dim


def feature_dim_of_size(size: int, name: str) -> Dim:
    """
    :return: a new feature dim
    """
    return Dim(size, description=name, kind=DimKind.Feature, auto_generated=True)
