"""Initial values of parameters on TensorFlow, with the random generators of ``tf.compat.v1`` and their seeds.

With the same graph seed and the same seed for each parameter, a network starts from the same values as it always did.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from returnn.frontend import init as rf_init
from returnn.tf.compat import tf, v1

_SMALL = 10_000
"""so many numbers may be part of the graph"""


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
        if math.prod(shape) <= _SMALL:
            return tf.constant(init.array((), dtype), shape=shape)
        return tf.fill(shape, tf.constant(init.array((), dtype)))  # so that large zeros are not part of the graph
    if isinstance(init, rf_init.Computed):
        return tf.ensure_shape(tf.cast(init.raw, dtype), shape)
    if isinstance(init, rf_init.VarianceScalingNonZero):
        return _variance_scaling_non_zero(init, shape, dtype)
    if isinstance(init, rf_init.VarianceScaling):
        return _variance_scaling(init, shape, dtype)
    if isinstance(init, rf_init.RandomNormal):
        function = v1.truncated_normal if init.truncated else v1.random_normal
        return function(shape, init.mean, init.stddev, dtype, seed=init.seed)
    if isinstance(init, rf_init.RandomUniform):
        return v1.random_uniform(shape, init.minval, init.maxval, dtype, seed=init.seed)
    if isinstance(init, rf_init.Orthogonal):
        return v1.orthogonal_initializer(gain=init.gain, seed=init.seed, dtype=tf.as_dtype(dtype))(shape)
    if isinstance(init, rf_init.Identity):
        return tf.eye(*shape, dtype=dtype) * init.gain
    raise TypeError("unknown initialiser %r" % (init,))


def _variance_scaling(init: rf_init.VarianceScaling, shape: tuple[int, ...], dtype: str) -> Any:
    variance = init.variance(shape)
    if init.distribution == "uniform":
        limit = math.sqrt(3.0 * variance)
        return v1.random_uniform(shape, -limit, limit, dtype, seed=init.seed)
    if init.distribution == "untruncated_normal":
        return v1.random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=init.seed)
    return v1.truncated_normal(shape, 0.0, math.sqrt(variance) / rf_init.TRUNCATED_STDDEV, dtype, seed=init.seed)


def _variance_scaling_non_zero(init: rf_init.VarianceScalingNonZero, shape: tuple[int, ...], dtype: str) -> Any:
    limit, fraction = init.limit(shape), init.non_zero_fraction
    if init.distribution == "uniform":
        values = v1.random_uniform(shape, -limit, limit, dtype, seed=init.seed)
    else:
        values = v1.truncated_normal(shape, 0.0, limit / 2, dtype, seed=init.seed)
    return values * (1 - fraction) + tf.sign(values) * (fraction * limit)
