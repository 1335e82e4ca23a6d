"""Dropout in few operations. The noise is a function of seed and step alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf, v1
from returnn.tf.util.ops import constant, no_control_dependencies

from .elementwise import times_constant
from .random import PHILOX
from .shapes import shape_vector, size_of_axis

_SMALL = 10_000
"""so much noise costs less than a conditional"""


def dropout(x: Any, drop_prob: float, *, axes: Sequence[int], seed: int, step: Any, train_flag: Any) -> Any:
    """
    :param x: float
    :param drop_prob: in (0, 1)
    :param axes: with noise of their own; it is the same all along the others
    :param seed: 31 bits, other ones for each use
    :param step: int scalar
    :param train_flag: True, or bool scalar: x if it is false
    :return: x times 0, with this probability, or 1 / (1 - drop_prob)
    """
    sizes = [x.shape[i] if i in axes else 1 for i in range(x.shape.rank)]
    is_small = None not in sizes and math.prod(sizes) <= _SMALL

    def factors(lowest: Any, factor: Any) -> Any:
        noise = _noise(x, axes, sizes, seed, step)
        kept = tf.raw_ops.GreaterEqual(x=noise, y=lowest)
        return tf.raw_ops.SelectV2(condition=kept, t=factor, e=constant(0.0, x.dtype))

    def in_training() -> Any:
        return factors(constant(drop_prob, tf.float32), constant(1.0 / (1.0 - drop_prob), x.dtype))

    if train_flag is True:
        mask = in_training()
    elif is_small:
        mask = factors(*_if_training(train_flag, drop_prob, x.dtype))
    else:
        mask = v1.cond(train_flag, in_training, lambda: constant(1.0, x.dtype))
    return times_constant(x, mask)


def _if_training(train_flag: Any, drop_prob: float, dtype: Any) -> tuple[Any, Any]:
    """
    :return: the lowest noise that keeps an element, and its factor; 0 and 1 if we do not train
    """

    def compute() -> tuple[Any, Any, Any]:
        with no_control_dependencies():
            lowest = tf.where(train_flag, constant(drop_prob, tf.float32), constant(0.0, tf.float32))
            factor = tf.where(train_flag, constant(1.0 / (1.0 - drop_prob), dtype), constant(1.0, dtype))
        return lowest, factor, train_flag

    return current_table().cached(("dropout", id(train_flag), drop_prob, dtype), compute)[:2]


def _noise(x: Any, axes: Sequence[int], sizes: Sequence[int | None], seed: int, step: Any) -> Any:
    """:return: float32 in [0, 1), of size 1 along axes without noise of their own"""
    if None not in sizes:
        shape = constant(tuple(sizes))
    elif len(axes) == x.shape.rank:
        shape = shape_vector(x)
    else:
        shape = tf.stack([size_of_axis(x, i) if i in axes else 1 for i in range(x.shape.rank)])
    counter = tf.constant([0, seed], tf.uint64)  # the streams of different seeds are 2^64 blocks apart
    return tf.raw_ops.StatelessRandomUniformV2(
        shape=shape, key=_key(step), counter=counter, alg=constant(PHILOX, tf.int32), dtype=tf.float32
    )


def _key(step: Any) -> Any:
    """:return: of the generator, another one in each step; one for all layers"""

    def compute() -> tuple[Any, Any]:
        with no_control_dependencies():
            seed = tf.stack([constant(0, tf.int64), tf.cast(step, tf.int64)])
            return tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed).key, step

    return current_table().cached(("random key", step if isinstance(step, int) else id(step)), compute)[0]
