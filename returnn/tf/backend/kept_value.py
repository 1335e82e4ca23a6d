"""Values that a step leaves for the next one, outside of the parameters: no checkpoint has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from returnn.tf.compat import tf, v1


def kept_value(
    name: str, width: int | Sequence[int | None], *, rows: Any, reset: tf.Tensor | None
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Operation]]:
    """
    :param name: of the variable
    :param width: static number of columns; or all sizes of a row, None: any, which is 0 at the start
    :param rows: number of rows now; a step that finds another number stops with an error
    :param reset: bool scalar: zeros, whatever is there; None: never
    :return: float32 [rows, width..], the value of the step before, zeros if there was none; and what sets it: value ->
        op
    """
    sizes = [width] if isinstance(width, int) else list(width)
    with tf.init_scope(), v1.name_scope(None):
        # a bare handle: no collection has it, so nothing saves it, and nothing has to initialise it
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[None, *sizes], shared_name=name, name=name)
    fresh = tf.logical_not(tf.raw_ops.VarIsInitializedOp(resource=handle))
    if reset is not None:
        fresh = tf.logical_or(fresh, reset)

    def read() -> tf.Tensor:
        kept = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        message = "%s: the batch must have as many sequences as that of the step before" % name
        with tf.control_dependencies([v1.debugging.assert_equal(tf.shape(kept)[0], rows, message=message)]):
            return tf.identity(kept)

    value = tf.stop_gradient(v1.cond(fresh, lambda: tf.zeros([rows, *(size or 0 for size in sizes)]), read))
    value.set_shape([None, *sizes])

    def keep(new: tf.Tensor) -> tf.Operation:
        with tf.control_dependencies([value]):  # read first
            return tf.raw_ops.AssignVariableOp(resource=handle, value=new)

    return value, keep
