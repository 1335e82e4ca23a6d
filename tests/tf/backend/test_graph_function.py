"""A call of a function of the graph does what a direct call of the function does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
import pytest

from returnn.tf.backend import graph_function
from returnn.tf.backend.graph_function import call
from returnn.tf.compat import tf, v1

X = numpy.array([1.0, 2.0, 3.0], "float32")


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """a new graph for each test"""
    with tf.Graph().as_default() as g:
        yield g


class Pair(NamedTuple):
    total: Any
    rest: tuple[Any, ...]


def powers(x: Any, *, power: int = 2) -> Any:
    """x^power by a loop, which TensorFlow differentiates; with a constant inside"""
    _, y = v1.while_loop(lambda i, _: i < power, lambda i, y: (i + 1, y * x * tf.constant(1.0)), (0, tf.ones_like(x)))
    return y


def nested(x: Any) -> Pair:
    """of x: sum, and twice x, and x + 1 of a shape that is said only here"""
    known = tf.reshape(x + 1.0, tf.shape(x))
    known.set_shape([3])
    return Pair(tf.reduce_sum(x), (x * 2.0, known))


def calls(x: Any) -> Any:
    CALLS.append(x.shape.rank and x.shape.as_list())
    return x + 1.0


def leaking(x: Any) -> Any:
    return x + LEAKED[0]


def scaled(x: Any, bias: Any, w: Any, *, shift: float) -> Any:
    y = x * w + shift
    return (y if bias is None else y + bias), bias


def odd_gradient(inputs: Any, outputs: Any, grads: Any, *, shift: float) -> Any:
    x, bias, w = inputs
    assert bias is None and outputs[1] is None and shift == 1
    return [grads[0] * 7.0 * tf.ones_like(x), None, tf.reduce_sum(grads[0] * 8.0) * tf.ones_like(w)]


def outer(x: Any) -> Any:
    return 2.0 * (call(powers, x) + 1.0)


CALLS: list[Any] = []
LEAKED: list[Any] = []


def run(values: Any, feed: Any = None) -> Any:
    with v1.Session() as session:
        return session.run(values, feed)


def test_values_and_gradients() -> None:
    """d x^3 / dx = 3 x^2, through the loop; the second use, in another graph, likewise."""
    for _ in range(2):
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [None])
            y = call(powers, x, power=3)
            value, grad = run([y, tf.gradients(y, x)[0]], {x: X})
        assert value.tolist() == [1, 8, 27] and grad.tolist() == [3, 12, 27]


def test_several_in_one_graph_and_on_each_other() -> None:
    """(x^2)^3 = x^6, its gradient 6 x^5"""
    x = tf.constant(X)
    y = call(powers, call(powers, x, power=2), power=3)
    value, grad = run([y, tf.gradients(y, x)[0]])
    assert value.tolist() == [1, 64, 729] and grad.tolist() == [6, 192, 1458]


def test_structure_and_shapes_are_those_of_the_function() -> None:
    y = call(nested, v1.placeholder_with_default(X, [None]))
    assert isinstance(y, Pair) and y.rest[1].shape.as_list() == [3] and y.total.shape.as_list() == []
    values = run(y)
    assert values.total == 6 and [v.tolist() for v in values.rest] == [[2, 4, 6], [2, 3, 4]]


def test_is_made_once_for_each_type_and_option() -> None:
    CALLS.clear()
    graph_function._make.cache_clear()
    for x in (tf.zeros([2]), tf.ones([2]), tf.zeros([3]), v1.placeholder(tf.float32)):
        call(calls, x)
    assert CALLS == [[2], [3], None]
    assert graph_function._make.cache_info().maxsize is not None  # it does not grow forever


def test_is_one_operation_below_the_open_scope(graph: Any) -> None:
    x = tf.constant(X)
    with v1.name_scope("layer"):
        before = len(graph.get_operations())
        first, second = (call(powers, x) for _ in range(2))
    assert len(graph.get_operations()) == before + 2
    assert first.name.startswith("layer/powers/") and second.name.startswith("layer/powers_1/")


def test_nothing_may_be_captured() -> None:
    y = tf.constant(1.0)
    LEAKED[:] = [y]
    with pytest.raises(ValueError, match="leaking uses tensors that are not its inputs"):
        call(leaking, tf.constant(X))


def test_own_gradient_with_inputs_and_outputs_that_are_none() -> None:
    """Gradients that no formula gives: 7 and 8 times what comes in; of two parameters, one is not there."""
    x, w = tf.constant(X), tf.constant(2.0)
    y, nothing = call(scaled, x, None, w, gradient=odd_gradient, shift=1.0)
    assert nothing is None
    value, grads = run([y, tf.gradients(y, [x, w])])
    assert value.tolist() == [3, 5, 7] and grads[0].tolist() == [7, 7, 7] and grads[1] == 8 * 3


def test_function_within_a_function() -> None:
    """2 (x^2 + 1); its gradient 4 x"""
    x = v1.placeholder_with_default(X, [None])
    y = call(outer, x)
    value, grad = run([y, tf.gradients(y, x)[0]])
    assert value.tolist() == [4, 10, 20] and grad.tolist() == [4, 8, 12]


def test_device_scope_holds(graph: Any) -> None:
    x = tf.constant(X)
    with tf.device("/device:CPU:1"):
        call(nested, x)
    assert {op.device for op in graph.get_operations() if op.type == "PartitionedCall"} == {"/device:CPU:1"}


def test_what_has_to_come_first_does() -> None:
    """Also in front of a loop, within which no operation may wait for one outside."""
    x = v1.placeholder_with_default(X, [None])
    count = v1.get_variable("count", (), initializer=v1.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([count.assign_add(1.0)]):
        y = call(powers, x, power=3)
        after = tf.no_op()
    assert [op.type for op in after.control_inputs] == ["AssignAddVariableOp"]
    with v1.Session() as session:
        session.run(count.initializer)
        assert session.run(y).tolist() == [1, 8, 27] and session.run(count) == 1
        assert session.run(tf.gradients(y, x)[0]).tolist() == [3, 12, 27]


def test_within_conditionals_loops_and_functions() -> None:
    """x^2, times two rounds of adding, and in a function."""
    x = v1.placeholder_with_default(X, [None])
    in_branch = v1.cond(v1.placeholder_with_default(True, ()), lambda: call(powers, x), lambda: x)
    _, in_loop = v1.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y + call(powers, x)), (0, tf.zeros_like(x)))
    in_function = tf.function(lambda x: call(powers, x))(x)
    assert [y.tolist() for y in run([in_branch, in_loop, in_function])] == [[1, 4, 9], [2, 8, 18], [1, 4, 9]]
    grads = [tf.gradients(y, x)[0] for y in (in_branch, in_loop)]
    assert [g.tolist() for g in run(grads)] == [[2, 4, 6], [4, 8, 12]]
