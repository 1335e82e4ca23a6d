"""Initial values of parameters on TensorFlow, with the random generators of ``tf.compat.v1`` and their seeds.

With the same graph seed and the same seed for each parameter, a network starts from the same values as it always did.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from returnn.frontend import init as rf_init
from returnn.tf.compat import tf, v1

from . import ops


def initial_value(init: rf_init.ParamInit, shape: tuple[int, ...], dtype: str) -> Any:
    """
    :param init: what the config asks for
    :param shape: of the parameter
    :param dtype: as numpy names it
    :return: graph tensor
    """
    if isinstance(init, rf_init.Constant):
        if numpy.ndim(init.value):
            return tf.constant(init.array(shape, dtype))
        return ops.fill(shape, init.array((), dtype).item(), tf.as_dtype(dtype))  # which the graph does not hold
    if isinstance(init, rf_init.Computed):
        return tf.ensure_shape(tf.cast(init.raw, dtype), shape)
    if isinstance(init, rf_init.VarianceScalingNonZero):
        return _variance_scaling_non_zero(init, shape, dtype)
    if isinstance(init, rf_init.VarianceScaling):
        return _variance_scaling(init, shape, dtype)
    if isinstance(init, rf_init.RandomNormal):
        return _normal(shape, init.mean, init.stddev, dtype, seed=init.seed, truncated=init.truncated)
    if isinstance(init, rf_init.RandomUniform):
        return _uniform(shape, init.minval, init.maxval, dtype, seed=init.seed)
    if isinstance(init, rf_init.Orthogonal):
        return v1.orthogonal_initializer(gain=init.gain, seed=init.seed, dtype=tf.as_dtype(dtype))(shape)
    if isinstance(init, rf_init.Identity):
        return tf.eye(*shape, dtype=dtype) * init.gain
    raise TypeError("unknown initialiser %r" % (init,))


def _uniform(shape: tuple[int, ...], low: float, high: float, dtype: str, *, seed: int | None) -> Any:
    """as ``v1.random_uniform``, in fewer operations"""
    as_number = numpy.dtype(dtype).type if dtype != "bfloat16" else numpy.float32
    factor = float(as_number(high) - as_number(low))
    return _scaled(_random("RandomUniform", shape, dtype, seed=seed), factor, low)


def _normal(
    shape: tuple[int, ...], mean: float, stddev: float, dtype: str, *, seed: int | None, truncated: bool = False
) -> Any:
    """as ``v1.random_normal`` and ``v1.truncated_normal``"""
    kind = "TruncatedNormal" if truncated else "RandomStandardNormal"
    return _scaled(_random(kind, shape, dtype, seed=seed), stddev, mean)


def _random(op_type: str, shape: tuple[int, ...], dtype: str, *, seed: int | None) -> Any:
    first, second = (number or 0 for number in v1.get_seed(seed))
    x = ops.op(op_type, ops.vector(shape), dtype=tf.as_dtype(dtype), T=tf.int32, seed=first, seed2=second)
    x.set_shape(shape)
    return x


def _scaled(x: Any, factor: float, offset: float) -> Any:
    if factor != 1:
        x = ops.binary("Mul", x, ops.constant(factor, x.dtype))
    return ops.binary("AddV2", x, ops.constant(offset, x.dtype)) if offset else x


def _variance_scaling(init: rf_init.VarianceScaling, shape: tuple[int, ...], dtype: str) -> Any:
    variance = init.variance(shape)
    if init.distribution == "uniform":
        limit = math.sqrt(3.0 * variance)
        return _uniform(shape, -limit, limit, dtype, seed=init.seed)
    if init.distribution == "untruncated_normal":
        return _normal(shape, 0.0, math.sqrt(variance), dtype, seed=init.seed)
    stddev = math.sqrt(variance) / rf_init.TRUNCATED_STDDEV
    return _normal(shape, 0.0, stddev, dtype, seed=init.seed, truncated=True)


def _variance_scaling_non_zero(init: rf_init.VarianceScalingNonZero, shape: tuple[int, ...], dtype: str) -> Any:
    limit, fraction = init.limit(shape), init.non_zero_fraction
    if init.distribution == "uniform":
        values = _uniform(shape, -limit, limit, dtype, seed=init.seed)
    else:
        values = _normal(shape, 0.0, limit / 2, dtype, seed=init.seed, truncated=True)
    return values * (1 - fraction) + tf.sign(values) * (fraction * limit)
