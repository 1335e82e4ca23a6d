"""Lengths of sequences, as backends want them."""

from __future__ import annotations

from typing import Any

from returnn.tensor import Dim, DimError, Tensor, batch_dim


def raw_lens(x: Tensor, dim: Dim) -> Any:
    """
    :param x: has a value, and a batch axis
    :param dim: of x
    :return: raw int32 [batch]; where the dim is static, or of one length for all, that of the array
    :raises DimError: its lengths depend on more than the batch
    """
    size = dim.dyn_size_ext
    if dim.need_masking and size is not None and size.raw_tensor is not None:
        if size.dims != (batch_dim,):
            raise DimError("%s: its lengths must be [batch], but they are %s" % (dim, list(size.dims)))
        return size.raw_tensor
    backend = x._raw_backend
    length = backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))
    return backend.full([x.get_batch_dim()], length, "int32")
