"""Sizes of axes, static where they are known."""

from __future__ import annotations

from returnn.tensor.backend import Raw, Size
from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf
from returnn.tf.util import ops


def shape_vector(x: Raw) -> Raw:
    """
    :return: tf.shape(x), the same op each time in one control-flow context
    """
    key = ("shape", id(x))
    return current_table().cached(key, lambda: (ops.op("Shape", x, T=x.dtype, out_type=tf.int32), x))[0]


def size_of_axis(x: Raw, axis: int) -> Size:
    """
    :return: int where static, else a scalar
    """
    size = x.shape[axis]
    return ops.entry(shape_vector(x), axis) if size is None else int(size)
