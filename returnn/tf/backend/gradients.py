"""Gradients as values, and values with other gradients than their own."""

from __future__ import annotations

from typing import Any

from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf, v1

from .shapes import shape_vector


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


def table_of_loop(x: tf.Tensor) -> tf.Tensor:
    """
    In a loop without any frame, TensorFlow takes the gradient of rows of x for one of a tensor without rows, which is
    an error where it is added to another one.

    :param x: rows of it are read, maybe in a loop
    :return: x
    """
    graph = v1.get_default_graph()
    if graph._get_control_flow_context() is None or x.op._get_control_flow_context() is not None:
        return x

    def guarded() -> tuple[tf.Tensor, tf.Tensor]:
        with tf.control_dependencies(None), graph.gradient_override_map({"Identity": "RfTableOfLoop"}):
            return tf.identity(x), x

    return current_table().cached(("table of loop", id(x)), guarded)[0]


@tf.RegisterGradient("RfTableOfLoop")
def _gradient_of_table(op: tf.Operation, grad: Any) -> Any:
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(grad.values, grad.indices, shape_vector(op.inputs[0]))
    return grad
