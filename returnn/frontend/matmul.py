"""Products of tensors, summed over dims."""

from __future__ import annotations

import string
from collections.abc import Sequence

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import backend_of_all, template_backend

from .elementwise import raw_on
from .masking import dims_to_mask, mask_padding


def matmul(a: Tensor, b: Tensor, *, reduce: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """
    Sum over the reduced dims of a * b.

    :param a: has all reduced dims
    :param b: has all reduced dims
    :param reduce: one or more dims
    :param use_mask: frames behind a sequence's end count as zero, along reduced dims; what stands there must be finite
    :return: the other dims of a, in its order, then those that only b has. The feature dim of a if it is still there, else
        that of b. Other dims that both have are shared.
    :raises DimError: a reduced dim is not in both
    """
    reduce = [reduce] if isinstance(reduce, Dim) else list(reduce)
    for x in (a, b):
        for dim in reduce:
            if dim not in x.dims:
                raise DimError("matmul: %s has no dim %s, its dims are %s" % (x.name, dim, list(x.dims)))
    if a.dtype != b.dtype:
        raise DimError("matmul: dtypes differ: %s, %s" % (a.dtype, b.dtype))
    if use_mask:  # one side is enough: zero times anything finite
        small, large = sorted((a, b), key=lambda x: len(x.dims))
        masked = dims_to_mask(small, reduce)
        others = dims_to_mask(large, [d for d in reduce if d not in masked])
        masked_small, masked_large = mask_padding(small, masked, 0), mask_padding(large, others, 0)
        a, b = (masked_small, masked_large) if small is a else (masked_large, masked_small)
    rest_a = [d for d in a.dims if d not in reduce]
    rest_b = [d for d in b.dims if d not in reduce and d not in rest_a]
    dims = rest_a + rest_b
    feature = a.feature_dim if a.feature_dim in dims else b.feature_dim if b.feature_dim in dims else None
    time = a.time_dim if a.time_dim in dims else b.time_dim if b.time_dim in dims else None
    backend = backend_of_all([a, b])
    raw = None
    if backend is not template_backend:
        if len(reduce) == 1 and len(b.dims) == 2 and len(rest_b) == 1:
            # the usual layer: one matrix product of all frames
            x = raw_on(a.copy_transpose(rest_a + reduce), backend)
            raw = backend.dense(x, raw_on(b.copy_transpose(reduce + rest_b), backend))
        else:
            letters = dict(zip(dict.fromkeys(a.dims + b.dims), string.ascii_letters, strict=False))
            equation = "%s,%s->%s" % tuple("".join(letters[d] for d in ds) for ds in (a.dims, b.dims, dims))
            raw = backend.einsum(equation, raw_on(a, backend), raw_on(b, backend))
    return a.like(raw, dims=dims, sparse_dim=None, feature_dim=feature, time_dim=time, name="matmul")


dot = matmul
