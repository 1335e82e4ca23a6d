"""Softmax, dropout, pooling, normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import backend_of_raw

from .elementwise import cast, combine, rsqrt, square
from .masking import dims_to_mask, mask_padding
from .reduce import lowest, reduce_mean
from .run_ctx import get_run_ctx
from .shape import require_dims


def softmax(x: Tensor, *, axis: Dim, use_mask: bool = True) -> Tensor:
    """
    :param axis: of x. Where it is dynamic, frames behind a sequence's end get probability zero, with ``use_mask``.
    :return: sums to one over axis
    """
    return _softmax(x, axis=axis, use_mask=use_mask, log=False)


def log_softmax(x: Tensor, *, axis: Dim, use_mask: bool = True) -> Tensor:
    """
    :return: logarithm of :func:`softmax`
    """
    return _softmax(x, axis=axis, use_mask=use_mask, log=True)


def _softmax(x: Tensor, *, axis: Dim, use_mask: bool, log: bool) -> Tensor:
    require_dims(x, [axis], op="softmax")
    if use_mask:
        # finite, so that a sequence without frames gives no nan, which would spread through the gradient
        x = mask_padding(x, dims_to_mask(x, [axis]), lowest(x.dtype))
    raw = backend_of_raw(x.raw_tensor).softmax(x.raw_tensor, x.get_axis_from_dim(axis), log=log)
    return x.like(raw, name="log_softmax" if log else "softmax")


def dropout(
    x: Tensor, drop_prob: float, *, axis: Sequence[Dim] | None = None, name: str, on_forward: bool = False
) -> Tensor:
    """
    y = x * floor(keep + U) / keep with U uniform in [0, 1): each entry is zero with ``drop_prob``, and the mean stays.

    The noise is a function of (random seed, name, global step), see :mod:`.run_ctx`.

    :param drop_prob: in (0, 1)
    :param axis: dims with noise of their own; all others share it. None: all dims
    :param name: who draws, for instance the absolute name of a layer
    :param on_forward: also when not training
    :return: x when not training
    """
    if not 0 < drop_prob < 1:
        raise DimError("dropout: drop_prob must be in (0, 1), but is %r" % drop_prob)
    ctx = get_run_ctx()
    if x.raw_tensor is None or (ctx.train_flag is False and not on_forward):
        return x
    backend = backend_of_raw(x.raw_tensor)
    keep = 1.0 - drop_prob
    axes = range(x.batch_ndim) if axis is None else [x.get_axis_from_dim(d) for d in axis]

    def drop() -> object:
        shape = [backend.size_of_axis(x.raw_tensor, i) if i in axes else 1 for i in range(x.batch_ndim)]
        noise = backend.stateless_uniform(shape, seed=ctx.seed_for(name), step=ctx.step)
        mask = backend.unary("floor", backend.binary("add", noise, keep))
        return backend.binary("mul", x.raw_tensor, backend.binary("mul", mask, 1.0 / keep))

    if ctx.train_flag is True or on_forward:
        raw = drop()
    else:
        raw = backend.cond(ctx.train_flag, drop, lambda: x.raw_tensor)
    return x.like(raw, name="dropout")


def zero_large_gradient(x: Tensor, *, limit: float) -> Tensor:
    """
    :param x: with or without the batch dim
    :param limit: > 0
    :return: x; no gradient goes to a sequence if the square of one of its components is as large, or nan
    """
    if not limit > 0:
        raise DimError("zero_large_gradient: limit must be > 0, but is %r" % limit)
    backend = backend_of_raw(x.raw_tensor)
    return x.like(backend.zero_large_gradient(x.raw_tensor, limit, batch_axis=x.batch_dim_axis))


POOL_PADDINGS = ("same", "valid", "same_static")


def pool(
    x: Tensor,
    *,
    mode: str,
    pool_size: Sequence[int],
    padding: str | Sequence[int],
    strides: Sequence[int],
    dilation_rate: Sequence[int],
    in_spatial_dims: Sequence[Dim],
    out_spatial_dims: Sequence[Dim | None] | None = None,
    use_mask: bool = False,
) -> tuple[Tensor, list[Dim]]:
    """
    :param x: has the spatial dims; its other dims are independent of each other
    :param mode: max, avg
    :param pool_size: per spatial dim
    :param padding: same: ceil(length / stride) windows, borders do not count; valid: only windows that fit;
        same_static: as many as same, between zeros that count, which on a dynamic dim are pool_size - 1, whatever the
        length; or per spatial dim the number of frames on both sides: zeros that count for avg, nothing for max
    :param strides: per spatial dim
    :param dilation_rate: per spatial dim
    :param in_spatial_dims: of x, in the order of ``pool_size``
    :param out_spatial_dims: what follows from the others by default
    :param use_mask: frames behind a sequence's end are 0 for avg, and do not count for max; the result is 0 behind the
        end
    :return: axes in the order of x; and the new spatial dims
    """
    require_dims(x, in_spatial_dims, op="pool")
    padding = padding.lower() if isinstance(padding, str) else list(padding)
    if mode not in ("max", "avg") or (isinstance(padding, str) and padding not in POOL_PADDINGS):
        raise DimError(
            "pool: mode must be max or avg, padding %s or numbers, but they are %r, %r"
            % (", ".join(POOL_PADDINGS), mode, padding)
        )
    masked = dims_to_mask(x, in_spatial_dims) if use_mask else []
    x = mask_padding(x, masked, float("-inf") if mode == "max" else 0.0)
    outs: list[Dim] = []
    given = out_spatial_dims or [None] * len(in_spatial_dims)
    for i, (dim, out, size, stride) in enumerate(zip(in_spatial_dims, given, pool_size, strides, strict=True)):
        length = dim
        if padding not in ("same", "same_static"):
            both_sides = 0 if isinstance(padding, str) else 2 * padding[i]
            missing = (size - 1) * dilation_rate[i] - both_sides
            length = dim.sub_right(missing) if missing >= 0 else dim + -missing
        length = length.ceildiv_right(stride) if stride != 1 else length
        if out is not None:
            out.declare_same_as(length)
        outs.append(out or length)
    channels = [x.feature_dim] if x.feature_dim is not None and x.feature_dim not in in_spatial_dims else []
    rest = [d for d in x.dims if d not in in_spatial_dims and d not in channels]
    dims = [outs[list(in_spatial_dims).index(d)] if d in in_spatial_dims else d for d in x.dims]
    feature = dims[x.feature_dim_axis] if x.feature_dim_axis is not None else None
    time = dims[x.time_dim_axis] if x.time_dim_axis is not None else None
    if x.raw_tensor is None:
        return x.like(None, dims=dims, feature_dim=feature, time_dim=time, name="pool"), outs
    y = x.copy_transpose(rest + list(in_spatial_dims) + channels)
    backend = y._raw_backend
    shape = [d.dimension if d.is_static else backend.size_of_axis(y.raw_tensor, i) for i, d in enumerate(y.dims)]
    raw = y.raw_tensor
    plain = len(rest) == 1 and len(channels) == 1
    if not plain:  # the backend wants [batch, spatial.., channels]
        spatial = shape[len(rest) : len(rest) + len(in_spatial_dims)]
        raw = backend.reshape(raw, [-1] + spatial + [channels[0].dimension if channels else 1])
    if padding == "same_static":
        borders = [_same_borders(*x) for x in zip(in_spatial_dims, pool_size, strides, strict=True)]
        raw = backend.pad(raw, [(0, 0), *borders, (0, 0)])
    elif not isinstance(padding, str):
        value = float("-inf") if mode == "max" else 0.0
        raw = backend.pad(raw, [(0, 0), *((n, n) for n in padding), (0, 0)], value=value)
    raw = backend.pool(
        raw, mode, size=list(pool_size), strides=list(strides), dilation=list(dilation_rate), same=padding == "same"
    )
    if not plain:
        sizes = [backend.size_of_axis(raw, 1 + i) for i in range(len(in_spatial_dims))]
        raw = backend.reshape(raw, shape[: len(rest)] + sizes + [d.dimension for d in channels])
    res = y.like(raw, dims=rest + outs + channels, feature_dim=feature, time_dim=time, name="pool")
    if mode == "max":  # no frame at all: not -inf, which times zero is nan in a gradient
        res = mask_padding(res, [out for dim, out in zip(in_spatial_dims, outs, strict=True) if dim in masked], 0.0)
    return res.copy_transpose(dims), outs


def _same_borders(dim: Dim, size: int, stride: int) -> tuple[int, int]:
    """:return: frames before and behind; where the length is static, as few as windows need, like "same" """
    if dim.dimension is None:
        left = (size - stride) // 2
        return left, size - 1 - left
    total = max((-(-dim.dimension // stride) - 1) * stride + size - dim.dimension, 0)
    return total // 2, total - total // 2


def moments(x: Tensor, *, axis: Dim | Sequence[Dim], use_mask: bool = True) -> tuple[Tensor, Tensor]:
    """
    :return: mean and (biased) variance over the dims; frames behind a sequence's end do not count, with ``use_mask``
    """
    mean = reduce_mean(x, axis=axis, use_mask=use_mask)
    return mean, reduce_mean(square(combine(x, "sub", mean)), axis=axis, use_mask=use_mask)


def layer_norm(x: Tensor, *, axis: Dim, scale: Tensor, bias: Tensor, epsilon: float = 1e-6) -> Tensor:
    """
    (x - mean) / sqrt(var + epsilon) * scale + bias, over one dim; biased variance.

    :param axis: of x, scale and bias
    """
    mean, variance = moments(x, axis=axis)
    normed = combine(combine(x, "sub", mean), "mul", rsqrt(combine(variance, "add", epsilon)))
    return combine(combine(normed, "mul", scale), "add", bias).copy_transpose(x.dims)


def as_float(x: Tensor) -> Tensor:
    """
    :return: float32, if it is no float yet
    """
    return x if "float" in x.dtype else cast(x, "float32")
