"""Sizes of axes, static where they are known."""

from __future__ import annotations

from returnn.tensor.backend import Raw, Size
from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf

from .elementwise import constant


def shape_vector(x: Raw) -> Raw:
    """
    :return: tf.shape(x), the same op each time in one control-flow context
    """
    return current_table().cached(("shape", id(x)), lambda: (tf.shape(x), x))[0]


def size_of_axis(x: Raw, axis: int) -> Size:
    """
    :return: int where static, else a scalar
    """
    size = x.shape[axis]
    if size is not None:
        return int(size)
    begin, end, one = (constant((n,)) for n in (axis, axis + 1, 1))
    return tf.raw_ops.StridedSlice(input=shape_vector(x), begin=begin, end=end, strides=one, shrink_axis_mask=1)
