"""Element-wise functions on TensorFlow tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from returnn.frontend.run_ctx import get_run_ctx
from returnn.tensor.backend import backend_of_raw
from returnn.tf.compat import tf

from .flow import cond
from .shapes import get_shape


def clip_with_identity_gradient(x: Any, low: float | None, high: float | None) -> Any:
    """
    :return: x in [low, high]; the gradient is passed as if nothing were cut
    """

    @tf.custom_gradient
    def clipped(value: Any) -> tuple[Any, Callable[[Any], Any]]:
        if low is not None:
            value = tf.maximum(value, tf.cast(low, value.dtype))
        if high is not None:
            value = tf.minimum(value, tf.cast(high, value.dtype))
        return value, lambda grad: grad

    return clipped(x)


_LOG_OF: dict[str, Callable[[Any], Any]] = {
    "Exp": lambda op: op.inputs[0],
    "Softmax": lambda op: tf.nn.log_softmax(op.inputs[0]),
    "Sigmoid": lambda op: tf.math.log_sigmoid(op.inputs[0]),
}
_EXP_OF: dict[str, Callable[[Any], Any]] = {
    "Log": lambda op: op.inputs[0],
    "LogSoftmax": lambda op: tf.nn.softmax(op.inputs[0]),
    "Neg": lambda op: tf.sigmoid(-op.inputs[0].op.inputs[0]) if op.inputs[0].op.type == "Softplus" else None,
}
_SAME_VALUES: dict[str, Callable[..., Any]] = {
    "Identity": tf.identity,
    "Reshape": tf.reshape,
    "Transpose": tf.transpose,
    "GatherNd": tf.gather_nd,
}


def _undone(x: Any, inverse: dict[str, Callable[[Any], Any]]) -> Any | None:
    """
    :param x: any
    :param inverse: type of an operation -> function of it
    :return: this function of the operation behind x, maybe in front of others that only move its values; or None
    """
    op = x.op
    if op.type in inverse:
        return inverse[op.type](op)
    if op.type in _SAME_VALUES:
        inner = _undone(op.inputs[0], inverse)
        return None if inner is None else _SAME_VALUES[op.type](inner, *op.inputs[1:])
    return None


def safe_log(x: Any, eps: float = 1e-20, use_fake_grad: bool = True) -> Any:
    """
    :param x: >= 0
    :param eps: > 0, the least argument of the logarithm
    :param use_fake_grad: where x < eps, the gradient is 1 / eps, else it is 0 there
    :return: log(max(x, eps)). If x was computed by exp, softmax or sigmoid: the exact logarithm, without going there
        and back
    """
    exact = _undone(tf.convert_to_tensor(x), _LOG_OF)
    if exact is not None:
        return exact
    if use_fake_grad:
        return tf.math.log(clip_with_identity_gradient(x, eps, None))
    return tf.math.log(tf.maximum(x, tf.cast(eps, x.dtype)))


def safe_exp(x: Any, eps: float = 1e-20) -> Any:
    """
    :return: exp(x) in [eps, 1 / eps]; its gradient is itself. If x was computed by log, log_softmax or log_sigmoid:
        what they were of, softmax or sigmoid
    """
    exact = _undone(tf.convert_to_tensor(x), _EXP_OF)
    if exact is not None:
        return exact
    return tf.exp(clip_with_identity_gradient(x, math.log(eps), -math.log(eps)))


def to_int32_64(x: Any) -> Any:
    """
    :param x: some int
    :return: int32 or int64: what it is, else int32
    """
    return x if x.dtype in (tf.int32, tf.int64) else tf.cast(x, tf.int32)


def dropout(
    x: Any,
    keep_prob: Any,
    noise_shape: Sequence[Any] | None = None,
    seed: int | None = None,
    name: str | None = None,
    cond_on_train: bool = False,
    apply_correction_factor: bool = True,
) -> Any:
    """
    :param x: float, any shape
    :param keep_prob: in (0, 1], number or scalar
    :param noise_shape: per axis 1: all share the noise along it; None: own noise; or its size
    :param seed: by default one of the network, which depends on the random seed of the config and the name scope
    :param name: of the scope
    :param cond_on_train: only in training
    :param apply_correction_factor: divide by keep_prob, so that the mean stays
    :return: x, each entry zero with probability 1 - keep_prob. Another draw in each global step.
    """
    if isinstance(keep_prob, (int, float)):
        if not 0 < keep_prob <= 1:
            raise ValueError("dropout: keep_prob must be in (0, 1], but is %r" % keep_prob)
        if keep_prob == 1:
            return x
    ctx = get_run_ctx()
    with tf.name_scope(name or "dropout") as scope:
        x = tf.convert_to_tensor(x)
        own_seed = ctx.seed_for(scope) if seed is None else seed

        def drop() -> Any:
            sizes = get_shape(x)
            shape = (
                sizes
                if noise_shape is None
                else [s if n is None else n for n, s in zip(noise_shape, sizes, strict=True)]
            )
            step = ctx.step_of_draw(backend_of_raw(x))
            noise = tf.random.stateless_uniform(shape, tf.stack([tf.cast(v, tf.int64) for v in (own_seed, step)]))
            mask = tf.cast(tf.floor(noise + keep_prob), x.dtype)
            return x * (mask / tf.cast(keep_prob, x.dtype) if apply_correction_factor else mask)

        return cond(ctx.train_flag, drop, lambda: x) if cond_on_train else drop()
