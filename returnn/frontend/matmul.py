"""Products of tensors, summed over dims."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, backend_of_all, template_backend

from .elementwise import raw_on
from .masking import dims_to_mask, mask_padding
from .reduce import reduce_sum


def matmul(
    a: Tensor,
    b: Tensor,
    *,
    reduce: Dim | Sequence[Dim],
    use_mask: bool = True,
    dim_order: Sequence[Dim] | None = None,
) -> Tensor:
    """
    Sum over the reduced dims of a * b.

    :param a: any dims
    :param b: of the same dtype. A square weight has the dim twice; that with the higher match_priority is reduced.
    :param reduce: dims of a or b, or of both; none: all products of an entry of a with one of b
    :param use_mask: frames behind a sequence's end count as zero, along reduced dims; what stands there must be finite
    :param dim_order: all dims of the result, in the order wanted
    :return: the other dims of a, in its order, then those that only b has. The feature dim of a if it is still there,
        else that of b. Other dims that both have are shared.
    :raises DimError: a reduced dim is in none of the two, or the result would have a dim twice
    """
    reduce = [reduce] if isinstance(reduce, Dim) else list(reduce)
    for dim in reduce:
        if dim not in a.dims and dim not in b.dims:
            raise DimError("matmul: neither %r nor %r has the dim %s" % (a, b, dim))
    if a.dtype != b.dtype:
        raise DimError("matmul: dtypes differ: %s, %s" % (a.dtype, b.dtype))
    only_a, only_b = [d for d in reduce if d not in b.dims], [d for d in reduce if d not in a.dims]
    reduce = [d for d in reduce if d not in only_a and d not in only_b]
    a = reduce_sum(a, axis=only_a, use_mask=use_mask) if only_a else a
    b = reduce_sum(b, axis=only_b, use_mask=use_mask) if only_b else b
    if use_mask:
        a, b = _mask_one_side(a, b, reduce)
    axes_a, axes_b = ([x.get_axis_from_dim(d) for d in reduce] for x in (a, b))
    rest_a = [i for i in range(a.batch_ndim) if i not in axes_a]
    dims = [a.dims[i] for i in rest_a]
    shared = [i for i in range(b.batch_ndim) if i not in axes_b and b.dims[i] in dims]
    rest_b = [i for i in range(b.batch_ndim) if i not in axes_b and i not in shared]
    dims += [b.dims[i] for i in rest_b]
    for dim in dims:
        if dims.count(dim) > 1:
            raise DimError("matmul: the result would have %s twice: %r, %r" % (dim, a, b))
    order = _order(dims, dim_order)
    backend = backend_of_all([a, b])
    raw = None
    if backend is not template_backend:
        raw_a, raw_b = raw_on(a, backend), raw_on(b, backend)
        if len(reduce) == 1 and not shared and len(rest_b) == 1:
            # the usual layer: one matrix product of all frames
            raw = backend.dense(
                _transposed(backend, raw_a, rest_a + axes_a), _transposed(backend, raw_b, axes_b + rest_b)
            )
            raw = _transposed(backend, raw, order)
        else:
            letters_a = string.ascii_letters[: a.batch_ndim]
            letters_b = dict(zip(axes_b, [letters_a[i] for i in axes_a], strict=True))
            letters_b |= {i: letters_a[rest_a[dims.index(b.dims[i])]] for i in shared}
            letters_b |= dict(zip(rest_b, string.ascii_letters[a.batch_ndim :], strict=False))
            out = [letters_a[i] for i in rest_a] + [letters_b[i] for i in rest_b]
            texts = (letters_a, "".join(letters_b[i] for i in range(b.batch_ndim)), "".join(out[i] for i in order))
            raw = backend.einsum("%s,%s->%s" % texts, raw_a, raw_b)
    dims = [dims[i] for i in order]
    feature = next((x.feature_dim for x in (a, b) if x.feature_dim in dims), None)
    time = next((x.time_dim for x in (a, b) if x.time_dim in dims), None)
    return a.like(raw, dims=dims, sparse_dim=None, feature_dim=feature, time_dim=time, name="matmul")


def _order(dims: Sequence[Dim], wanted: Sequence[Dim] | None) -> list[int]:
    """:return: which axis of the natural result comes where"""
    if wanted is None:
        return list(range(len(dims)))
    if len(wanted) != len(dims) or any(d not in dims for d in wanted):
        raise DimError("matmul: dim_order is %s, but the result has the dims %s" % (list(wanted), list(dims)))
    return [dims.index(d) for d in wanted]


def _mask_one_side(a: Tensor, b: Tensor, reduce: Sequence[Dim]) -> tuple[Tensor, Tensor]:
    """
    :return: zeros behind the ends along the reduced dims in one of the two, if possible the smaller one; zero times
        anything finite is zero
    """
    small, large = sorted((a, b), key=lambda x: len(x.dims))
    of_small = dims_to_mask(small, reduce)
    of_large = dims_to_mask(large, [d for d in reduce if d not in of_small])
    masked = {id(small): mask_padding(small, of_small, 0), id(large): mask_padding(large, of_large, 0)}
    return masked[id(a)], masked[id(b)]


def _transposed(backend: Backend, raw: Any, axes: Sequence[int]) -> Any:
    return raw if list(axes) == list(range(len(axes))) else backend.transpose(raw, axes)


dot = matmul
