"""Frames behind a sequence's end: which dims have any, and what to put in their place."""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, Raw, backend_of_all, template_backend
from returnn.tensor.run_table import current_table

from .elementwise import raw_on


def dims_to_mask(x: Tensor, dims: Sequence[Dim]) -> list[Dim]:
    """
    :return: those of dims along which the sequences of ``x`` differ in length. Lengths that depend on dims which ``x``
        does not have say nothing about ``x``.
    """
    return [d for d in dims if d.need_masking and set(d.size_dims or ()) <= set(x.dims)]


def mask_padding(x: Tensor, dims: Sequence[Dim], value: float | int | bool) -> Tensor:
    """
    :param x: any dtype
    :param dims: dynamic
    :param value: for all frames behind the end along one of them
    :return: dims and dtype of x
    :raises DimError: x has a value, but the lengths are not known
    """
    for dim in dims:
        x = masked_fill(x, known_mask(dim, x), value)
    return x


def known_mask(dim: Dim, x: Tensor) -> Tensor:
    """
    :param dim: dynamic
    :param x: for the message
    :return: bool [dims of the lengths.., dim]
    :raises DimError: x has a value, but the lengths are not known
    """
    mask = dim.get_mask()
    if mask.raw_tensor is None and x.raw_tensor is not None:
        raise DimError("%r: the lengths of %s are needed here, but are not known" % (x, dim))
    return mask


def masked_fill(x: Tensor, mask: Tensor, value: float | int | bool) -> Tensor:
    """
    :param x: any dtype
    :param mask: bool; its dims are dims of x
    :param value: a number
    :return: x where the mask is true, else the value
    """
    backend = backend_of_all([x, mask])
    if backend is template_backend:
        return x.like(None)
    raw = backend.masked_fill(raw_on(x, backend), _mask_in_layout(mask, x.dims, backend), value)
    return x.like(raw)


def _mask_in_layout(mask: Tensor, dims: Sequence[Dim], backend: Backend) -> Raw:
    """
    :return: the mask, transposed and with axes of size 1 so that it broadcasts to the dims; computed once a step
    """
    while dims[0] not in mask.dims:
        dims = dims[1:]  # leading axes need not be there
    used, missing = mask.axes_in_layout(dims)

    def compute() -> tuple[Raw, Raw]:
        return mask.like(raw_on(mask, backend)).copy_compatible_to_dims_raw(dims), mask.raw_tensor

    key = ("mask in layout", id(mask.raw_tensor), tuple(used), tuple(missing), backend.name)
    return current_table().cached(key, compute)[0]
