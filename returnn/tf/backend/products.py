"""Products of tensors, written in the way that is fastest where they are."""

from __future__ import annotations

from typing import Any

from returnn.tf.util import ops

from . import elementwise
from .shapes import size_of_axis


def einsum(equation: str, a: Any, b: Any) -> Any:
    """
    :param equation: a letter for each axis; those of an operand are in the other one, or in the result
    :param a: any dtype
    :param b: of the same dtype
    """
    if a.graph._get_control_flow_context() is not None and _is_dense(equation):
        return _dense(a, b)
    return elementwise.einsum(equation, a, b)


def _is_dense(equation: str) -> bool:
    """whether the last axis of a, of three or more, is multiplied with the first of a matrix b"""
    left, y = equation.split("->")
    a, b = left.split(",")
    return len(a) > 2 and len(b) == 2 and a[-1] == b[0] and b[1] not in a and y == a[:-1] + b[1]


def _dense(x: Any, w: Any) -> Any:
    """As one matrix product: more operations, but in a loop each runs so often that only its speed counts."""
    last = x.shape.rank - 1
    y = ops.matmul(ops.reshape(x, [-1, size_of_axis(x, last)]), w)
    sizes = x.shape[:last].as_list()
    sizes = [-1] + sizes[1:] if None not in sizes[1:] else [size_of_axis(x, i) for i in range(last)]
    y = ops.reshape(y, [*sizes, size_of_axis(w, 1)])
    y.set_shape([*x.shape[:-1], w.shape[1]])
    return y
