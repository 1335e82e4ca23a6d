"""Gradients that users define themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from returnn.tf.compat import tf, v1


class CustomGradient:
    """Functions with a gradient of their own. There is one object, ``custom_gradient``."""

    def register(
        self, input_types: Sequence[Any], op: Callable[..., Any], grad_op: Callable[..., Any], name: str | None = None
    ) -> Callable[..., Any]:
        """
        :param input_types: dtypes of the arguments of ``op``
        :param op: tensors -> tensor, or several
        :param grad_op: ``grad_op(op, *out_grads)`` -> a gradient, or None, for each input; its ``op`` has the tensors
            ``inputs`` and ``outputs``
        :param name: of the operations; that of the function by default
        :return: like ``op``, with this gradient
        """
        name = name or getattr(op, "__name__", "op").strip("<>")

        @tf.custom_gradient
        def with_gradient(*inputs: Any) -> Any:
            outputs = op(*inputs)
            node = SimpleNamespace(
                inputs=list(inputs), outputs=list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            )

            def gradient(*out_grads: Any) -> Any:
                grads = grad_op(node, *out_grads)
                grads = list(grads) if isinstance(grads, (list, tuple)) else [grads]
                return [tf.zeros_like(x) if g is None else g for x, g in zip(inputs, grads, strict=True)]

            return outputs, gradient

        def call(*inputs: Any) -> Any:
            if len(inputs) != len(input_types):
                raise TypeError("%s takes %i arguments, but got %i" % (name, len(input_types), len(inputs)))
            with tf.name_scope(name):
                return with_gradient(
                    *[tf.convert_to_tensor(x, dtype) for x, dtype in zip(inputs, input_types, strict=True)]
                )

        return call

    def generic_loss_and_error_signal(self, loss: Any, x: Any, grad_x: Any) -> tf.Tensor:
        """
        :param loss: of any shape
        :param x: what it was computed of, outside of TensorFlow maybe
        :param grad_x: gradient of the sum of the loss, in the shape of x
        :return: loss, whose gradient to x is ``grad_x`` times that of the loss
        """

        def op(loss: Any, x: Any, grad_x: Any) -> Any:
            return tf.identity(loss)

        def grad_op(op: Any, grad_loss: Any) -> Any:
            return None, grad_loss * op.inputs[2], None

        types = [tf.convert_to_tensor(v).dtype for v in (loss, x, grad_x)]
        return self.register(types, op, grad_op, name="generic_loss_and_error_signal")(loss, x, grad_x)


custom_gradient = CustomGradient()


def add_scaled_noise_to_gradients(
    grads_and_vars: Sequence[tuple[Any, Any]], gradient_noise_scale: float, sparse_grads: bool = False
) -> list[tuple[Any, Any]]:
    """
    :param grads_and_vars: gradients, None for none, and their variables
    :param gradient_noise_scale: factor of truncated normal noise
    :param sparse_grads: leave out sparse gradients; else they become dense
    :return: the same with noise
    """
    res = []
    for grad, var in grads_and_vars:
        if grad is None or (sparse_grads and isinstance(grad, tf.IndexedSlices)):
            res.append((grad, var))
            continue
        grad = tf.convert_to_tensor(grad)
        noise = v1.truncated_normal(tf.shape(grad), dtype=grad.dtype) * gradient_noise_scale
        res.append((grad + noise, var))
    return res
