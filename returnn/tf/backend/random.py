"""Random numbers on TensorFlow that are a function of a state, and nothing else.

The state is that of ``tf.random.Generator`` with the Philox algorithm, int64 [3]: two words of a counter and a key. So
what is drawn from a state in a checkpoint is what was always drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.tf.compat import tf

PHILOX = 1
"""number of the generator, in TensorFlow's operations"""
_FLOAT_OPS = {
    "uniform": tf.raw_ops.StatelessRandomUniformV2,
    "normal": tf.raw_ops.StatelessRandomNormalV2,
    "truncated_normal": tf.raw_ops.StatelessTruncatedNormalV2,
}


def random_from_state(
    state: tf.Tensor, shape: Sequence[Any], *, distribution: str, dtype: str, low: Any = None, high: Any = None
) -> tf.Tensor:
    """
    :param state: int64 [3]
    :param shape: ints, or scalars
    :param distribution: uniform: in [0, 1), or of integers in [low, high); normal; truncated_normal: cut at +-2
    :param dtype: of the result
    :param low: int, or scalar
    :param high: int, or scalar
    """
    counter, key = tf.split(tf.bitcast(state, tf.uint64), [2, 1])
    opts = {"shape": tf.convert_to_tensor(list(shape), tf.int32), "counter": counter, "key": key, "alg": PHILOX}
    number = tf.as_dtype(dtype)
    if number.is_integer:
        return tf.raw_ops.StatelessRandomUniformIntV2(minval=tf.cast(low, number), maxval=tf.cast(high, number), **opts)
    return _FLOAT_OPS[distribution](dtype=number, **opts)


def advance_random_state(var: tf.Variable, count: Any) -> tf.Tensor:
    """
    :param var: state, int64 [3]
    :param count: how many numbers will be drawn; int, or scalar
    :return: state before
    """
    return tf.raw_ops.RngReadAndSkip(resource=var.handle, alg=PHILOX, delta=tf.cast(count, tf.uint64))
