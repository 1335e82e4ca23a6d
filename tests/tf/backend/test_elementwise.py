"""Operations with gradients of their own: how small their graphs are, and that what is made once stays free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor import FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tf.backend.elementwise import constant
from returnn.tf.compat import tf, v1

TIME, FEATURE, OUT = SpatialDim("time", size_dims=(batch_dim,)), FeatureDim("feature", 4), FeatureDim("out", 3)


def placeholder(name: str, *dims: Any) -> Tensor:
    """:return: float32, in the current graph"""
    x = Tensor(name, dims, "float32")
    return x.like(v1.placeholder("float32", x.batch_shape))


def count_gradient_ops(function: Callable[[Tensor], Tensor]) -> Counter[str]:
    """:return: operations that the gradient of the function makes, with a gradient of the result given"""
    with tf.Graph().as_default() as graph:
        x = placeholder("x", batch_dim, TIME, FEATURE)
        y = function(x).raw_tensor
        dy = v1.placeholder("float32", y.shape)
        before = len(graph.get_operations())
        tf.gradients(y, x.raw_tensor, grad_ys=dy)
        types = Counter(op.type for op in graph.get_operations()[before:])
        del types["Identity"]
        return types


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + placeholder("y", batch_dim, TIME, FEATURE), {}),
        (lambda x: x + placeholder("b", FEATURE), {"Sum": 1, "Const": 1}),
        (lambda x: x * 2.0, {"Mul": 1}),
        (lambda x: 1.0 - x, {"Neg": 1}),
        (lambda x: rf.matmul(x, placeholder("w", FEATURE, OUT), reduce=FEATURE), {"Einsum": 2}),
        (lambda x: rf.normalize(x, axis=FEATURE), {"Mul": 3, "Mean": 2, "Sub": 2}),
    ],
)
def test_gradients_need_no_shapes(function: Callable[[Tensor], Tensor], expected: dict[str, int]) -> None:
    """The axes are known: only what the formula says, and a sum where an operand was repeated."""
    assert count_gradient_ops(function) == Counter(expected)


def test_an_axis_of_another_size_than_declared() -> None:
    """A value of a user that is repeated along time, though it says otherwise, has the gradient of what it is."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = placeholder("x", batch_dim, TIME, FEATURE)
        raw = v1.placeholder("float32", (None, 1, 4))
        y = x.like(None).like(raw) * x
        (grad,) = tf.gradients(y.raw_tensor, raw)
        value = session.run(grad, {x.raw_tensor: numpy.ones((2, 3, 4)), raw: numpy.ones((2, 1, 4))})
    numpy.testing.assert_array_equal(value, numpy.full((2, 1, 4), 3))


def test_constants_are_shared_and_wait_for_nothing() -> None:
    """Also where the first one who needs them makes other operations run before."""
    with tf.Graph().as_default():
        with tf.control_dependencies([v1.placeholder("float32", (), name="first")]):
            value = constant(0.5, tf.float32)
        assert value.op.control_inputs == []
        assert constant(0.5, tf.float32) is value
        assert constant(0.5, tf.float64) is not value and constant(1, tf.float32) is not constant(True, tf.bool)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("axes", [[FEATURE], None])
def test_dropout_by_a_train_flag_of_the_graph(flag: bool, axes: Any) -> None:
    """Shared noise without a conditional, and noise for each element within one: 0 or 2 in training, else 1."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        feature = FeatureDim("many", 64)
        x = Tensor("x", [batch_dim, TIME, feature], "float32")
        x = x.like(v1.placeholder("float32", x.batch_shape))
        train_flag = v1.placeholder("bool", ())
        with run_ctx(RunCtx(train_flag=train_flag, step=v1.placeholder_with_default(numpy.int64(3), ()))):
            y = rf.dropout(x, 0.5, axis=axes and [feature], name="test")
        (grad,) = tf.gradients(y.raw_tensor, x.raw_tensor)
        feed = {x.raw_tensor: numpy.ones((2, 3, 64)), train_flag: flag}
        value, slope = session.run([y.raw_tensor, grad], feed)
    assert set(value.flat) == ({0.0, 2.0} if flag else {1.0})
    numpy.testing.assert_array_equal(slope, value)
    assert (value == value[:1, :1]).all() == (not flag or axes is not None)
    assert y.raw_tensor.shape.as_list() == [None, None, 64]
    assert any(op.type == "Switch" for op in graph.get_operations()) == (axes is None)
