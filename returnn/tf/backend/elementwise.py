"""Element-wise operations and products, with gradients of their own.

TensorFlow's own gradients find out at run time along which axes an operand was repeated: up to ten operations for each
operand. :mod:`returnn.frontend` knows the axes, so here a gradient is what the formula says, and a sum where an operand
was repeated. Graphs get smaller, and both their construction and each step faster.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from returnn.tf.compat import tf, v1
from returnn.tf.util import ops
from returnn.tf.util.ops import constant

Axes = tuple[int, ...]


def outside_of_loop(x: Any) -> contextlib.AbstractContextManager[Any]:
    """
    :param x: for instance a parameter
    :return: inside, operations on x alone are outside of any loop, if x is: they run once, and not in each frame
    """
    if x.graph._get_control_flow_context() is None or x.op._get_control_flow_context() is not None:
        return contextlib.nullcontext()
    return x.graph.control_dependencies(None)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """
    :param x: any shape
    :param mask: bool, broadcasts to x
    :param value: number
    :return: x where the mask is true, else value
    """
    filling = constant(value, x.dtype)
    if _is_repeated(x, mask):
        return ops.select(mask, x, filling)
    with _gradient("SelectV2", "RfMaskedFill"):
        return ops.select(mask, x, filling)


@tf.RegisterGradient("RfMaskedFill")
def _masked_fill_gradient(op: Any, dy: Any) -> tuple[Any, Any, Any]:
    return None, ops.select(op.inputs[0], dy, constant(0, dy.dtype)), None


def _is_repeated(x: Any, other: Any) -> bool:
    """:return: whether x has an axis of size 1 that it should not have, as the other one has more or may have"""
    sizes, others = x.shape.as_list(), other.shape.as_list()
    if len(others) > len(sizes):
        return True
    others = [1] * (len(sizes) - len(others)) + others
    return any(a == 1 and b != 1 for a, b in zip(sizes, others, strict=True))


def _add(a: Any, b: Any) -> Any:
    return ops.binary("AddV2", a, b)


def _sub(a: Any, b: Any) -> Any:
    return ops.binary("Sub", a, b)


def _mul(a: Any, b: Any) -> Any:
    return ops.binary("Mul", a, b)


def _div(a: Any, b: Any) -> Any:
    return ops.binary("RealDiv", a, b)


def _neg(a: Any) -> Any:
    return ops.unary("Neg", a)


_KINDS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("AddV2", _add),
    "sub": ("Sub", _sub),
    "mul": ("Mul", _mul),
    "truediv": ("RealDiv", _div),
}
_PARTIAL: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda op, dy: dy, lambda op, dy: dy),
    "sub": (lambda op, dy: dy, lambda op, dy: _neg(dy)),
    "mul": (lambda op, dy: _mul(dy, op.inputs[1]), lambda op, dy: _mul(dy, op.inputs[0])),
    "truediv": (
        lambda op, dy: _div(dy, op.inputs[1]),
        lambda op, dy: _neg(_div(_mul(dy, op.outputs[0]), op.inputs[1])),
    ),
}


def binary(kind: str, a: Any, b: Any, missing: Sequence[Axes | None]) -> Any | None:
    """
    :param kind: add, sub, mul, truediv
    :param a: float
    :param b: float
    :param missing: of each operand: axes of the result along which it is repeated; None: a constant without gradient
    :return: value; None: this kind, dtype or these shapes are not for here
    """
    if kind not in _KINDS or a.dtype != b.dtype or not a.dtype.is_floating or not _as_said(a, b, missing):
        return None
    op_type, function = _KINDS[kind]
    with _gradient(op_type, _gradient_of_binary(kind, missing)):
        return function(a, b)


def _as_said(a: Any, b: Any, missing: Sequence[Axes | None]) -> bool:
    """:return: False where a static size is 1 though the axis is not missing, and the other one may be larger"""
    rank = max(a.shape.rank, b.shape.rank)
    sizes = [[1] * (rank - x.shape.rank) + x.shape.as_list() for x in (a, b)]
    for i in range(rank):
        there = [sizes[n][i] for n, axes in enumerate(missing) if axes is not None and i not in axes]
        if len(there) == 2 and there[0] != there[1] and 1 in there:
            return False
    return True


_registered: set[str] = set()


def _gradient_of_binary(kind: str, missing: Sequence[Axes | None]) -> str:
    """:return: name of the gradient, registered"""
    name = "Rf_%s_%s" % (kind, "_".join("c" if axes is None else ".".join(map(str, axes)) for axes in missing))
    if name not in _registered:
        _registered.add(name)

        def gradient(op: Any, dy: Any) -> list[Any]:
            return [
                None if axes is None else _summed(partial(op, dy), axes)
                for partial, axes in zip(_PARTIAL[kind], missing, strict=True)
            ]

        tf.RegisterGradient(name)(gradient)
    return name


def times_constant(x: Any, factor: Any) -> Any:
    """
    :param x: float
    :param factor: broadcasts to x; no gradient goes to it
    :return: x * factor
    """
    with _gradient("Mul", _gradient_of_binary("mul", [(), None])):
        y = _mul(x, factor)
    y.set_shape(x.shape)
    return y


def _summed(x: Any, axes: Axes) -> Any:
    """:return: sum over the axes; leading ones are dropped, the others stay, with size 1"""
    leading = tuple(axis for n, axis in enumerate(axes) if axis == n)
    inner = tuple(axis for axis in axes if axis not in leading)
    if inner:
        x = ops.reduce("Sum", x, inner, keep_dims=True)
    if leading:
        x = ops.reduce("Sum", x, leading, keep_dims=False)
    return x


def _gradient(op_type: str, name: str) -> Any:
    return v1.get_default_graph().gradient_override_map({op_type: name})


def einsum(equation: str, a: Any, b: Any) -> Any:
    """
    :param equation: a letter for each axis; those of an operand are in the other one, or in the result
    :param a: any dtype
    :param b: of the same dtype
    """
    with _gradient("Einsum", "RfEinsum"):
        return ops.op("Einsum", a, b, N=2, T=a.dtype, equation=equation)


@tf.RegisterGradient("RfEinsum")
def _einsum_gradient(op: Any, dy: Any) -> list[Any]:
    left, y = op.get_attr("equation").decode("ascii").split("->")
    a, b = left.split(",")
    value_a, value_b = (tf.math.conj(x) for x in op.inputs)  # real numbers stay as they are, without an op
    return [einsum("%s,%s->%s" % (y, b, a), dy, value_b), einsum("%s,%s->%s" % (y, a, b), dy, value_a)]


def normalize(x: Any, axis: int, epsilon: float) -> Any:
    """
    :param x: float
    :param axis: of x
    :param epsilon: added to the variance
    :return: (x - mean) / sqrt(variance + epsilon) along the axis
    """
    if not x.dtype.is_floating:
        raise TypeError("normalize: %s is not float" % x)
    with _gradient("Sub", _gradient_of_binary("sub", [(), None])):  # what goes to the mean is part of the next one
        centered = _sub(x, _mean(x, axis))
    variance = _mean(ops.unary("Square", centered), axis)
    factor = ops.unary("Rsqrt", _add(variance, constant(epsilon, x.dtype)))
    with _gradient("Mul", _gradient_of_normalize(axis)):
        return _mul(centered, factor)


def _mean(x: Any, axis: int) -> Any:
    return ops.reduce("Mean", x, [axis], keep_dims=True)


def _gradient_of_normalize(axis: int) -> str:
    """:return: name of the gradient, registered. All of it goes to the centered input"""
    name = "Rf_normalize_%i" % axis
    if name not in _registered:
        _registered.add(name)

        def gradient(op: Any, dy: Any) -> list[Any]:
            y, factor = op.outputs[0], op.inputs[1]
            projected = _mul(y, _mean(_mul(dy, y), axis))
            return [_mul(_sub(_sub(dy, _mean(dy, axis)), projected), factor), None]

        tf.RegisterGradient(name)(gradient)
    return name


def scaled_gradient(x: Any, *, scale: Any, shift: Any, sum_axis: int | None, clip_max_axis: int | None) -> Any:
    """
    :param scale: number or scalar
    :param shift: the same
    :param sum_axis: the shift is times the sum of abs(gradient) over it
    :param clip_max_axis: the result is at most the largest abs(gradient) along it
    :return: x; its gradient g becomes scale * g + shift
    """

    @tf.custom_gradient
    def with_gradient(x: Any) -> tuple[Any, Callable[[Any], Any]]:
        def grad(dx: Any) -> Any:
            y = dx if _is_number(scale, 1) else dx * scale
            if not _is_number(shift, 0):
                y += shift if sum_axis is None else tf.reduce_sum(tf.abs(dx), axis=sum_axis, keepdims=True) * shift
            if clip_max_axis is not None:
                bound = tf.reduce_max(tf.abs(dx), axis=clip_max_axis, keepdims=True)
                y = tf.clip_by_value(y, -bound, bound)
            return y

        return tf.identity(x), grad

    return with_gradient(x)


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, (int, float)) and value == number
