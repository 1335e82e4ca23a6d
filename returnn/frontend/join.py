"""Several tensors along one axis, and one axis in several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, backend_of_all, backend_of_raw, template_backend

from .elementwise import cast, check_dtypes, combine, common_dims, compare, raw_on
from .indexing import gather
from .masking import dims_to_mask
from .packing import places_along
from .shape import require_dims, same_as


def concat(
    *sources: tuple[Tensor, Dim],
    allow_broadcast: bool = False,
    out_dim: Dim | None = None,
    handle_dynamic_dims: bool = True,
) -> tuple[Tensor, Dim]:
    """
    One behind the other. With lengths [2, 3] and [1, 1]: a0 a1 b0, a0 a1 a2 b0.

    :param sources: of one dtype, each with the dim along which it is joined to the others
    :param allow_broadcast: a source need not have the other dims; its content is repeated along them then
    :param out_dim: sum of the dims by default; declared the same as that
    :param handle_dynamic_dims: join sequence by sequence. False: the arrays, so that the padding of a source stays in
        front of the next one
    :return: axes in the order of the first source that has most
    :raises DimError: a source lacks a dim
    """
    check_dtypes("concat", [x for x, _ in sources])
    for x, dim in sources:
        require_dims(x, [dim], op="concat")
    total = sources[0][1]
    for _, dim in sources[1:]:
        total = total + dim
    out_dim = same_as(out_dim, total)
    template = max((x for x, _ in sources), key=lambda x: len(x.dims))
    own = next(d for x, d in sources if x is template)
    place = template.get_axis_from_dim(own)
    rest = [d for i, d in enumerate(template.dims) if i != place]
    for x, dim in sources:
        rest += [d for d in common_dims([x]) if d != dim and d not in rest]
    if not allow_broadcast:
        _check_other_dims(sources, rest)
    backend = backend_of_all([x for x, _ in sources])
    raw = None
    if backend is not template_backend:
        layouts = [rest[:place] + [dim] + rest[place:] for _, dim in sources]
        tensors = [x for x, _ in sources]
        raw = backend.concat(_raws_with_all_dims(backend, tensors, layouts), place)
    y = template.like(
        raw,
        dims=rest[:place] + [out_dim] + rest[place:],
        feature_dim=out_dim if template.feature_dim == own else template.feature_dim,
        time_dim=out_dim if template.time_dim == own else template.time_dim,
        name="concat",
    )
    dims = [dim for _, dim in sources]
    return (_without_gaps if handle_dynamic_dims else _cut)(y, out_dim, dims), out_dim


def _check_other_dims(sources: Sequence[tuple[Tensor, Dim]], wanted: Sequence[Dim]) -> None:
    for x, dim in sources:
        missing = [d for d in wanted if d not in x.dims or (d == dim and x.dims.count(d) < 2)]
        if missing:
            raise DimError("concat: %r has no dim %s, which another source has" % (x, missing[0]))


def _cut(y: Tensor, out_dim: Dim, dims: Sequence[Dim]) -> Tensor:
    """
    :return: not longer than the longest sequence, so that masks fit
    """
    if y.raw_tensor is None or len({dim for dim in dims if dim.need_masking}) < 2 or out_dim.dyn_size is None:
        return y
    place = y.get_axis_from_dim(out_dim)
    return y.like(backend_of_raw(y.raw_tensor).slice(y.raw_tensor, place, None, out_dim.get_dim_value()))


def _without_gaps(y: Tensor, out_dim: Dim, dims: Sequence[Dim]) -> Tensor:
    """
    :param y: arrays one behind the other, with padding in between
    :param out_dim: of y
    :param dims: of these arrays
    :return: without that padding; the dims of the lengths in front
    """
    with_gap = dims_to_mask(y, dims[:-1])
    return gather(y, indices=_places_with_gaps(y, out_dim, dims, with_gap), axis=out_dim) if with_gap else y


def _places_with_gaps(y: Tensor, out_dim: Dim, dims: Sequence[Dim], with_gap: Sequence[Dim]) -> Tensor:
    """
    :return: [dims of the lengths.., out_dim]: where each frame stands in y. That is as much further behind as the
        arrays have padding which end where it belongs or before.
    """
    if y.raw_tensor is None:
        size_dims = [d for dim in with_gap for d in dim.size_dims or ()]
        return Tensor("places", [*dict.fromkeys(size_dims), out_dim], "int32")
    places = places_along(out_dim, y)
    res, end = places, None
    for dim in dims[:-1]:
        end = dim if end is None else end + dim
        if dim not in with_gap:
            continue
        lens, ends = dim.dyn_size_ext, end.dyn_size_ext
        if lens is None or ends is None or lens.raw_tensor is None or ends.raw_tensor is None:
            raise DimError("concat: the lengths of %s are needed here, but are not known" % dim)
        gap = combine(dim.get_dim_value(), "sub", lens)
        res = combine(res, "add", combine(cast(compare(places, "greater_equal", ends), "int32"), "mul", gap))
    backend = backend_of_raw(y.raw_tensor)
    last = backend.binary("sub", backend.size_of_axis(y.raw_tensor, y.get_axis_from_dim(out_dim)), 1)
    return combine(res, "minimum", last)  # behind the end it does not matter, but must exist


def concat_features(*xs: Tensor, out_dim: Dim | None = None) -> Tensor:
    """
    :param xs: each with a feature dim; what one of them lacks of the other dims is repeated
    :param out_dim: sum of these by default
    :return: joined along the feature dims
    """
    sources = []
    for x in xs:
        if x.feature_dim is None:
            raise DimError("concat_features: %r has no feature dim" % x)
        sources.append((x, x.feature_dim))
    return concat(*sources, allow_broadcast=True, out_dim=out_dim)[0]


def stack(
    xs: Sequence[Tensor], *, out_dim: Dim | None = None, dim_order: Sequence[Dim] | None = None
) -> tuple[Tensor, Dim]:
    """
    :param xs: at least one, of one dtype; what one of them lacks of the dims is repeated
    :param out_dim: static, as many as there are tensors; a new one by default
    :param dim_order: of the result; the new dim first by default
    :return: y with y[out_dim = i] = xs[i], and the new dim
    """
    check_dtypes("stack", xs)
    if out_dim is None:
        out_dim = Dim(len(xs), description="stack", auto_generated=True)
    if out_dim.dimension != len(xs):
        raise DimError("stack: %s is not the number of tensors, %i" % (out_dim, len(xs)))
    dims = list(dim_order) if dim_order is not None else [out_dim, *common_dims(xs)]
    place = dims.index(out_dim)
    rest = dims[:place] + dims[place + 1 :]
    backend = backend_of_all(xs)
    raw = None
    if backend is not template_backend:
        raw = backend.stack(_raws_with_all_dims(backend, xs, [rest] * len(xs)), place)
    largest = max(xs, key=lambda x: len(x.dims))
    return largest.like(raw, dims=dims, name="stack"), out_dim


def split(x: Tensor, *, axis: Dim, out_dims: Sequence[Dim]) -> tuple[Tensor, ...]:
    """
    :param axis: of x, static
    :param out_dims: static; their sizes add up to that of axis
    :return: the parts, each with its dim at the place of axis
    :raises DimError: sizes do not add up
    """
    require_dims(x, [axis], op="split")
    sizes = [d.require_static() for d in out_dims]
    if sum(sizes) != axis.require_static():
        raise DimError("split: %s of %s is not the sum of %s" % (axis, x.name, list(out_dims)))
    place = x.get_axis_from_dim(axis)
    raws = backend_of_raw(x.raw_tensor).split(x.raw_tensor, sizes, place) or [None] * len(sizes)
    parts = []
    for dim, raw in zip(out_dims, raws, strict=True):
        dims = list(x.dims)
        dims[place] = dim
        part = x.copy_template_new_dim_tags(dims, keep_special_axes=True)
        part.raw_tensor = raw
        parts.append(part)
    return tuple(parts)


def unstack(x: Tensor, *, axis: Dim) -> tuple[Tensor, ...]:
    """
    :param axis: of x, static
    :return: x[axis = 0], x[axis = 1], ..
    """
    ones = [Dim(1, description="unstack", auto_generated=True)] * axis.require_static()
    parts = split(x, axis=axis, out_dims=ones)
    place = x.get_axis_from_dim(axis)
    return tuple(part.copy_squeeze_axes([place]) for part in parts)


def _raws_with_all_dims(backend: Backend, tensors: Sequence[Tensor], layouts: Sequence[Sequence[Dim]]) -> list[Any]:
    """
    :param tensors: with values
    :param layouts: for each all dims that it is to have
    :return: raw values in these layouts; what a tensor lacks is repeated
    """
    res = []
    for x, dims in zip(tensors, layouts, strict=True):
        x = x.like(raw_on(x, backend))
        if len(x.dims) == len(dims):
            res.append(x.copy_transpose(dims).raw_tensor)
        else:
            shape = [_size_among(d, [x, *tensors]) for d in dims]
            raw = x.copy_compatible_to_dims_raw(dims)
            res.append(backend.broadcast_to(raw, shape))
    return res


def _size_among(dim: Dim, tensors: Sequence[Tensor]) -> Any:
    if dim.is_static:
        return dim.dimension
    x = next(x for x in tensors if dim in x.dims)
    return x._raw_backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))
