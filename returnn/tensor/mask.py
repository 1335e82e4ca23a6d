"""Masks from lengths: which frames are real, computed once per dim and graph or step."""

from __future__ import annotations

from .dim import Dim
from .run_table import current_table
from .tensor import Tensor


def dim_mask(dim: Dim) -> Tensor:
    """
    :param dim: dynamic
    :return: bool [dims of its lengths.., dim]; true in front of a sequence's end
    """
    if dim.twin_of is not None:
        mask = dim_mask(dim.twin_of)
        return mask.like(mask.raw_tensor, dims=mask.dims[:-1] + (dim,))
    size = dim.dyn_size_ext
    if size is None or size.raw_tensor is None:
        return Tensor("mask", (dim.size_dims or ()) + (dim,), "bool")

    def compute() -> tuple[Tensor, Tensor]:
        dims = size.dims + (dim,)
        backend = size._raw_backend
        frames = backend.range(dim.get_dim_value(), size.dtype)
        for _ in size.dims:
            frames = backend.expand_dims(frames, 0)
        raw = backend.compare("less", frames, backend.expand_dims(size.raw_tensor, len(size.dims)))
        return Tensor("mask", dims, "bool", raw_tensor=raw), size

    return current_table().cached(("mask", id(dim.get_same_base()), id(size)), compute)[0]
