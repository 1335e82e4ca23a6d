"""Reductions over dims. Frames behind a sequence's end never count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.util.suggest import did_you_mean

from .elementwise import cast, combine
from .masking import dims_to_mask, mask_padding

MODES = ("sum", "mean", "max", "min", "prod", "any", "all", "logsumexp", "argmax", "argmin")
_ALIASES = {"avg": "mean"}


def reduce(x: Tensor, *, mode: str, axis: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """
    :param x: dense
    :param mode: one of ``MODES``; avg is mean
    :param axis: one dim or several; for argmax and argmin one
    :param use_mask: leave out frames behind a sequence's end. Where the lengths depend on dims that ``x`` does not
        have, or on batch when that is reduced first, all of them are reduced together.
    :return: without these dims. argmax, argmin: int32 labels of the axis. A sequence without frames: mean 0, max the
        lowest number of the dtype.
    :raises DimError: a dim is not there
    """
    mode = _ALIASES.get(mode, mode)
    if mode not in MODES:
        raise DimError("reduce: unknown mode %r.%s Modes: %s" % (mode, did_you_mean(mode, MODES), ", ".join(MODES)))
    axes = [axis] if isinstance(axis, Dim) else list(dict.fromkeys(axis))
    for dim in axes:
        if dim not in x.dims:
            raise DimError("reduce: %r has no dim %s" % (x, dim))
    masked = dims_to_mask(x, axes) if use_mask else []
    if mode in ("argmax", "argmin"):
        return _arg_reduce(x, mode, axes, masked)
    if mode == "mean" and masked:
        return _masked_mean(x, axes, masked)
    return _plain_reduce(mask_padding(x, masked, _neutral(mode, x.dtype)), mode, axes)


def _plain_reduce(x: Tensor, mode: str, axes: Sequence[Dim]) -> Tensor:
    numbers = [x.get_axis_from_dim(d) for d in axes]
    raw = backend_of_raw(x.raw_tensor).reduce(x.raw_tensor, mode, numbers)
    return x.like(raw, dims=[d for i, d in enumerate(x.dims) if i not in numbers], name="reduce_" + mode)


def lowest(dtype: str) -> float | int:
    """
    :return: the lowest finite number of this dtype
    """
    return _neutral("max", dtype)


def _neutral(mode: str, dtype: str) -> Any:
    if mode in ("any", "all"):
        return mode == "all"
    if mode in ("sum", "mean"):
        return 0
    if mode == "prod":
        return 1
    limits = numpy.finfo(dtype) if "float" in dtype else numpy.iinfo(dtype)
    value = limits.max if mode in ("min", "argmin") else limits.min
    return float(value) if "float" in dtype else int(value)


def _masked_mean(x: Tensor, axes: Sequence[Dim], masked: Sequence[Dim]) -> Tensor:
    """sum / number of real frames; per sequence, unless batch is reduced too"""
    total = _plain_reduce(mask_padding(x, masked, 0), "sum", axes)
    count: Any = 1
    for dim in masked:
        lens = None if x.raw_tensor is None else dim.dyn_size_ext
        if lens is None:
            lens = Tensor("lens", dim.size_dims or (), "int32")
        count = combine(cast(lens, x.dtype), "mul", count)
    static = 1
    for dim in axes:
        if dim in masked:
            continue
        if dim in count.dims:
            count = _plain_reduce(count, "sum", [dim])
        elif dim.dimension is not None:
            static *= dim.dimension
        elif x.raw_tensor is not None:
            backend = x._raw_backend
            size = backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))
            count = combine(
                count, "mul", Tensor("size", (), x.dtype, raw_tensor=backend.cast(backend.convert(size), x.dtype))
            )
    count = combine(count, "maximum", 1)
    count = combine(count, "mul", static) if static != 1 else count
    return combine(total, "truediv" if "float" in x.dtype else "floordiv", count)


def _arg_reduce(x: Tensor, mode: str, axes: Sequence[Dim], masked: Sequence[Dim]) -> Tensor:
    if len(axes) != 1:
        raise DimError("reduce: %s needs exactly one dim, but got %s" % (mode, list(axes)))
    x = mask_padding(x, masked, _neutral(mode, x.dtype))
    axis = x.get_axis_from_dim(axes[0])
    raw = backend_of_raw(x.raw_tensor).arg_reduce(x.raw_tensor, mode, axis)
    dims = x.dims[:axis] + x.dims[axis + 1 :]
    return x.like(raw, dims=dims, dtype="int32", sparse_dim=axes[0], feature_dim=None, name=mode)


def reduce_sum(x: Tensor, *, axis: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """sum; see :func:`reduce`"""
    return reduce(x, mode="sum", axis=axis, use_mask=use_mask)


def reduce_mean(x: Tensor, *, axis: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """mean; see :func:`reduce`"""
    return reduce(x, mode="mean", axis=axis, use_mask=use_mask)


def reduce_max(x: Tensor, *, axis: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """largest; see :func:`reduce`"""
    return reduce(x, mode="max", axis=axis, use_mask=use_mask)


def reduce_min(x: Tensor, *, axis: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """smallest; see :func:`reduce`"""
    return reduce(x, mode="min", axis=axis, use_mask=use_mask)


def reduce_argmax(x: Tensor, *, axis: Dim, use_mask: bool = True) -> Tensor:
    """place of the largest; see :func:`reduce`"""
    return reduce(x, mode="argmax", axis=axis, use_mask=use_mask)


def reduce_out(x: Tensor, *, mode: str, num_pieces: int, out_dim: Dim | None = None) -> Tensor:
    """
    Maxout and the like: out[j] = mode(x[j * n], .., x[j * n + n - 1]) on the feature axis.

    :param x: has a feature dim
    :param mode: see :func:`reduce`
    :param num_pieces: n, must divide the feature dim
    :param out_dim: new feature dim
    """
    feature = x.feature_dim
    axis = x.feature_dim_axis
    if axis is None or feature is None or feature.dimension is None or feature.dimension % num_pieces:
        raise DimError("reduce_out: feature dim of %r is not divisible by %i" % (x, num_pieces))
    out_dim = out_dim or feature.div_right(num_pieces)
    pieces = Dim(num_pieces, description="pieces", auto_generated=True)
    backend = backend_of_raw(x.raw_tensor)
    shape = [backend.size_of_axis(x.raw_tensor, i) for i in range(x.batch_ndim)]
    shape[axis : axis + 1] = [out_dim.dimension, num_pieces]
    dims = list(x.dims)
    dims[axis : axis + 1] = [out_dim, pieces]
    split = x.like(backend.reshape(x.raw_tensor, shape), dims=dims, feature_dim=out_dim)
    return reduce(split, mode=mode, axis=pieces)
