"""Gradients as values, and values with other gradients than their own."""

from __future__ import annotations

from typing import Any

from returnn.tf.compat import tf


def synthetic_gradient(x: tf.Tensor, gradient: tf.Tensor, weight: Any) -> tf.Tensor:
    """
    :param x: float
    :param gradient: of the shape of x
    :param weight: number, or scalar
    :return: x, whose gradient is ``gradient``, not the true one g. To ``gradient`` goes weight * (gradient - g)
    """

    @tf.custom_gradient
    def replaced(x: tf.Tensor, gradient: tf.Tensor) -> Any:
        return tf.identity(x), lambda dx: (gradient, weight * (gradient - dx))

    return replaced(x, gradient)


def gradient(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor | None:
    """
    :param y: scalar
    :param x: float
    :return: dy/dx, of the shape of x; None: y does not depend on x
    """
    (res,) = tf.gradients(y, [x])
    return None if res is None else tf.convert_to_tensor(res)
