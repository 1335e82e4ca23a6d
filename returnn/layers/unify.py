"""Which axes of several sources are the same one, as old configs mean it.

rf matches dims by identity alone. In the layer dict, features of equal size are the same axis, an axis of size 1 is
repeated over the other's, and a dynamic axis whose lengths are not known is the one of another source.
"""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.behavior_version import BehaviorVersion, Change


def unify(sources: Sequence[Tensor], *, features: bool = True) -> list[Tensor]:
    """
    :param sources: of one layer
    :param features: match feature axes too; False where they are joined
    :return: the same values; axes that mean the same have the same dim
    """
    if len(sources) < 2:
        return list(sources)
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i].dims))
    res: dict[int, Tensor] = {order[0]: sources[order[0]]}
    for i in order[1:]:
        x = sources[i]
        for other in list(res):
            changed, x = _match(res[other], x, features)
            res[other] = changed
        res[i] = x
    return [res[i] for i in range(len(sources))]


def common_layout(sources: Sequence[Tensor]) -> Tensor:
    """
    :param sources: unified
    :return: template with all their axes: those of the first one that has most, and what only others have where it
        belongs by its kind
    """
    res = max(sources, key=lambda x: len(x.dims)).copy_template()
    for x in sources:
        for dim in x.dims:
            if res.dims.count(dim) < x.dims.count(dim):
                res = res.copy_add_dim_by_tag(dim, unbroadcast=True)
                if dim == x.feature_dim:
                    res.feature_dim = dim
                if dim == x.time_dim and res.time_dim is None:
                    res.time_dim_axis = res.get_axis_from_dim(dim)
    return res


def matching_dims(x: Tensor, other: Tensor) -> list[Dim] | None:
    """
    :return: for each dim of x the one of ``other`` that means the same: by identity, else by role and size. None: they
        do not match
    """
    if len(x.dims) != len(other.dims):
        return None
    matched = unify([x, other])[1]
    if len(matched.dims) != len(other.dims):
        return None
    found: list[Dim | None] = [d if d in matched.dims else None for d in x.dims]
    free = [i for i, d in enumerate(matched.dims) if d not in found]
    for i, dim in enumerate(x.dims):
        if found[i] is None:
            same_role = (dim == x.time_dim, dim == x.feature_dim)
            for j in free:
                d = matched.dims[j]
                if dim.is_dynamic and d.is_dynamic and (d == matched.time_dim, d == matched.feature_dim) == same_role:
                    found[i] = d
                    free.remove(j)
                    break
            else:
                return None
    by_matched = dict(zip(matched.dims, other.dims, strict=True))
    return [by_matched[d] for d in found if d is not None]


def _match(a: Tensor, b: Tensor, features: bool) -> tuple[Tensor, Tensor]:
    """
    :return: both, with the dims of ``a`` in ``b`` where they mean the same; axes of size 1 that the other has dropped
    """
    free_a = [d for d in visible_dims(a.dims) if d not in b.dims and (features or d != a.feature_dim)]
    free_b = [d for d in visible_dims(b.dims) if d not in a.dims and (features or d != b.feature_dim)]
    for dim in free_b:
        partner = _partner(dim, b, free_a, a)
        if partner is None:
            continue
        free_a.remove(partner)
        if partner.dimension == 1 and dim.dimension != 1:
            a = _broadcast(a, partner, dim)
        elif dim.dimension == 1 and partner.dimension != 1:
            b = _broadcast(b, dim, partner)
        else:
            b = _replaced(b, dim, partner)
    return a, b


def _partner(dim: Dim, x: Tensor, candidates: list[Dim], other: Tensor) -> Dim | None:
    broadcast = not BehaviorVersion.has(Change.SIZE_1_MATCHES_NOTHING)
    is_feature = dim == x.feature_dim
    for candidate in candidates:
        if is_feature != (candidate == other.feature_dim):
            continue
        if dim.is_static and candidate.is_static:
            if dim.dimension == candidate.dimension and (
                dim.auto_generated or not BehaviorVersion.has(Change.STRICT_DIMS)
            ):
                return candidate
        if broadcast and 1 in (dim.dimension, candidate.dimension):
            return candidate
        if (dim.twin_of or dim) == (candidate.twin_of or candidate):
            return candidate
        if dim.is_dynamic and candidate.is_dynamic and not (dim.is_dim_known() and candidate.is_dim_known()):
            if dim.size_dims is None or candidate.size_dims is None:
                return candidate
    return None


def _replaced(x: Tensor, dim: Dim, new: Dim) -> Tensor:
    dims = list(x.dims)
    dims[x.get_axis_from_dim(dim)] = new
    res = x.copy_template_new_dim_tags(dims, keep_special_axes=True)
    res.raw_tensor = x.raw_tensor
    return res


def _broadcast(x: Tensor, dim: Dim, new: Dim) -> Tensor:
    """drops the axis of size 1; the operation repeats what is left over ``new``"""
    return x.copy_squeeze_axes([x.get_axis_from_dim(dim)])
