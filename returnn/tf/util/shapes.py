"""Shapes and axes of TensorFlow tensors."""

from __future__ import annotations

from typing import Any

from returnn.tensor import DimError
from returnn.tf.compat import tf


def get_shape(x: Any) -> list[Any]:
    """
    :return: per axis an int where static, else a scalar int32 tensor
    """
    x = tf.convert_to_tensor(x)
    sizes = x.shape.as_list()
    if None not in sizes:
        return sizes
    dynamic = tf.unstack(tf.shape(x), num=len(sizes))
    return [dynamic[i] if size is None else size for i, size in enumerate(sizes)]


def get_shape_dim(x: Any, axis: int, name: str = "shape_dim") -> Any:
    """
    :return: int where static, else a scalar int32 tensor
    """
    x = tf.convert_to_tensor(x)
    size = x.shape[axis]
    if size is not None:
        return int(size)
    with tf.name_scope(name):
        return tf.shape(x)[axis]


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """
    :return: x with these two axes exchanged
    """
    perm = list(range(x.shape.rank))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return tf.transpose(x, perm)


def move_axis(x: Any, old_axis: int, new_axis: int) -> Any:
    """
    :return: x with that axis in another place; the others keep their order
    """
    rank = x.shape.rank
    old_axis, new_axis = old_axis % rank, new_axis % rank
    if old_axis == new_axis:
        return x
    perm = [i for i in range(rank) if i != old_axis]
    perm.insert(new_axis, old_axis)
    return tf.transpose(x, perm)


def expand_dims_unbroadcast(x: Any, axis: int, dim: Any) -> Any:
    """
    :param x: [..]
    :param axis: of the result
    :param dim: its size
    :return: x with that axis, repeated along it
    """
    x = tf.expand_dims(x, axis)
    axis %= x.shape.rank
    return tf.tile(x, [dim if i == axis else 1 for i in range(x.shape.rank)])


def tile_transposed(x: Any, axis: int, multiples: Any) -> Any:
    """
    :param x: [.., size, ..]
    :param axis: of x
    :param multiples: how often
    :return: [.., size * multiples, ..], the repetitions of an entry next to each other
    """
    axis %= x.shape.rank
    shape = get_shape(x)
    repeated = expand_dims_unbroadcast(x, axis + 1, multiples)
    return tf.reshape(repeated, shape[:axis] + [shape[axis] * multiples] + shape[axis + 1 :])


def dot(a: Any, b: Any, transpose_b: bool = False) -> Any:
    """
    :param a: [.., in]
    :param b: [in, ..], or [.., in] with ``transpose_b``
    :return: [.., ..]: sum over in
    """
    return tf.tensordot(a, b, [[-1], [-1 if transpose_b else 0]])


def check_input_dim(x: Any, axis: int, dim: Any) -> Any:
    """
    :param x: any shape
    :param axis: of x
    :param dim: the size that it must have, int or scalar tensor
    :return: x; the check is part of it if the size is known only at run time
    :raises DimError: the static size differs
    """
    size = x.shape[axis]
    if isinstance(dim, int) and size is not None:
        if size != dim:
            raise DimError("check_input_dim: axis %i of %s has size %i, but must have %i" % (axis, x, size, dim))
        return x
    message = "check_input_dim: axis %i of %s has another size" % (axis, x.name)
    check = tf.debugging.assert_equal(get_shape_dim(x, axis), dim, message=message)
    with tf.control_dependencies([check]):
        checked = tf.identity(x)
    if isinstance(dim, int):
        sizes = x.shape.as_list()
        sizes[axis] = dim
        checked.set_shape(sizes)
    return checked


def check_shape_equal(x: Any, y: Any) -> Any:
    """
    :return: x; where sizes are known only at run time, the check is part of it
    :raises DimError: rank or a static size differ
    """
    if x.shape.rank != y.shape.rank:
        raise DimError("check_shape_equal: %s and %s have different ranks" % (x, y))
    for axis, size in enumerate(get_shape(y)):
        x = check_input_dim(x, axis, size)
    return x
