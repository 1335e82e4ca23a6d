"""Frames behind a sequence's end: which dims have any, and what to put in their place."""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tensor import Dim, DimError, Tensor

from .elementwise import where


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
        mask = dim.get_mask()
        if mask.raw_tensor is None and x.raw_tensor is not None:
            raise DimError("%r: the lengths of %s are needed here, but are not known" % (x, dim))
        x = where(mask, x, value)
    return x
