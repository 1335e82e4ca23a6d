"""Softmax, dropout, normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import backend_of_raw

from .elementwise import cast, combine, rsqrt, square
from .masking import dims_to_mask, known_mask, masked_fill
from .reduce import lowest, reduce_mean
from .run_ctx import get_run_ctx
from .shape import require_dims


def softmax(x: Tensor, *, axis: Dim, use_mask: bool = True) -> Tensor:
    """
    :param axis: of x. Where it is dynamic, frames behind a sequence's end get probability zero, with ``use_mask``.
    :return: sums to one over axis; zeros for a sequence without frames
    """
    require_dims(x, [axis], op="softmax")
    if use_mask and dims_to_mask(x, [axis]):
        return masked_softmax(x, axis=axis, mask=known_mask(axis, x))
    return _softmax(x, axis=axis, log=False)


def log_softmax(x: Tensor, *, axis: Dim, use_mask: bool = True) -> Tensor:
    """
    :return: logarithm of :func:`softmax`
    """
    require_dims(x, [axis], op="log_softmax")
    if use_mask and dims_to_mask(x, [axis]):
        # finite, so that a sequence without frames gives no nan, which would spread through the gradient
        return masked_softmax(x, axis=axis, mask=known_mask(axis, x), log=True, fill=lowest(x.dtype))
    return _softmax(x, axis=axis, log=True)


def masked_softmax(x: Tensor, *, axis: Dim, mask: Tensor, log: bool = False, fill: float | None = None) -> Tensor:
    """
    :param axis: of x
    :param mask: bool, its dims are dims of x: which entries take part
    :param log: the logarithm of the result instead
    :param fill: stands in for the entries that do not; -inf gives nan along an axis where none takes part. None: these
        entries have probability zero, in any case
    :return: dims of x
    """
    y = _softmax(masked_fill(x, mask, lowest(x.dtype) if fill is None else fill), axis=axis, log=log)
    if fill is not None:
        return y
    return masked_fill(y, mask, float("-inf") if log else 0.0)


def _softmax(x: Tensor, *, axis: Dim, log: bool) -> Tensor:
    raw = backend_of_raw(x.raw_tensor).softmax(x.raw_tensor, x.get_axis_from_dim(axis), log=log)
    return x.like(raw, name="log_softmax" if log else "softmax")


def dropout(
    x: Tensor,
    drop_prob: float,
    *,
    axis: Sequence[Dim] | None = None,
    name: str,
    on_forward: bool = False,
    same_in_all_frames: bool = False,
) -> Tensor:
    """
    y = x * floor(keep + U) / keep with U uniform in [0, 1): each entry is zero with ``drop_prob``, and the mean stays.

    The noise is a function of (random seed, name, global step, frame of a loop), see :mod:`.run_ctx`.

    :param drop_prob: in (0, 1)
    :param axis: dims with noise of their own; all others share it. None: all dims
    :param name: who draws, for instance the absolute name of a layer
    :param on_forward: also when not training
    :param same_in_all_frames: in a loop, the noise is not another one for each frame
    :return: x when not training
    """
    if not 0 < drop_prob < 1:
        raise DimError("dropout: drop_prob must be in (0, 1), but is %r" % drop_prob)
    ctx = get_run_ctx()
    if x.raw_tensor is None or (ctx.train_flag is False and not on_forward):
        return x
    backend = backend_of_raw(x.raw_tensor)
    raw = backend.dropout(
        x.raw_tensor,
        drop_prob,
        axes=range(x.batch_ndim) if axis is None else [x.get_axis_from_dim(d) for d in axis],
        seed=ctx.seed_for(name),
        step=ctx.step if same_in_all_frames else ctx.step_of_draw(backend),
        train_flag=True if on_forward else ctx.train_flag,
    )
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
    return combine(combine(normalize(x, axis=axis, epsilon=epsilon), "mul", scale), "add", bias)


def normalize(x: Tensor, *, axis: Dim | Sequence[Dim], epsilon: float = 1e-6, use_mask: bool = True) -> Tensor:
    """
    :param axis: dims of x
    :param epsilon: added to the variance
    :param use_mask: frames behind a sequence's end do not count
    :return: (x - mean) / sqrt(var + epsilon) over these dims, biased variance; dims of x
    """
    dims = [axis] if isinstance(axis, Dim) else list(axis)
    require_dims(x, dims, op="normalize")
    if len(dims) == 1 and not (use_mask and dims_to_mask(x, dims)):
        place = x.get_axis_from_dim(dims[0])
        return x.like(backend_of_raw(x.raw_tensor).normalize(x.raw_tensor, place, epsilon), name="normalize")
    mean, variance = moments(x, axis=dims, use_mask=use_mask)
    return combine(combine(x, "sub", mean), "mul", rsqrt(combine(variance, "add", epsilon)))


def as_float(x: Tensor) -> Tensor:
    """
    :return: float32, if it is no float yet
    """
    return x if "float" in x.dtype else cast(x, "float32")
