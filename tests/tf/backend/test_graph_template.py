"""Operations that are imported from a template do what a direct call of the function does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
import pytest

from returnn.tf.backend import graph_template
from returnn.tf.backend.graph_template import from_template
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


CALLS: list[Any] = []


def run(values: Any, feed: Any = None) -> Any:
    with v1.Session() as session:
        return session.run(values, feed)


def test_values_and_gradients() -> None:
    """d x^3 / dx = 3 x^2, through the imported loop; the second use, in another graph, likewise."""
    for _ in range(2):
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [None])
            y = from_template(powers, x, power=3)
            value, grad = run([y, tf.gradients(y, x)[0]], {x: X})
        assert value.tolist() == [1, 8, 27] and grad.tolist() == [3, 12, 27]


def test_several_in_one_graph_and_on_each_other() -> None:
    """(x^2)^3 = x^6, its gradient 6 x^5"""
    x = tf.constant(X)
    y = from_template(powers, from_template(powers, x, power=2), power=3)
    value, grad = run([y, tf.gradients(y, x)[0]])
    assert value.tolist() == [1, 64, 729] and grad.tolist() == [6, 192, 1458]


def test_structure_and_shapes_are_those_of_the_function() -> None:
    y = from_template(nested, v1.placeholder_with_default(X, [None]))
    assert isinstance(y, Pair) and y.rest[1].shape.as_list() == [3] and y.total.shape.as_list() == []
    values = run(y)
    assert values.total == 6 and [v.tolist() for v in values.rest] == [[2, 4, 6], [2, 3, 4]]


def test_is_made_once_for_each_type_and_option() -> None:
    CALLS.clear()
    graph_template._make.cache_clear()
    for x in (tf.zeros([2]), tf.ones([2]), tf.zeros([3]), v1.placeholder(tf.float32)):
        from_template(calls, x)
    assert CALLS == [[2], [3], None]
    assert graph_template._make.cache_info().maxsize is not None  # it does not grow forever


def test_names_are_below_the_open_scope() -> None:
    x = tf.constant(X)
    with v1.name_scope("layer"):
        first, second = (from_template(powers, x) for _ in range(2))
    assert first.name.startswith("layer/ops/while/") and second.name.startswith("layer/ops_1/while/")
    with v1.name_scope("layer/"):
        assert from_template(powers, x).name.startswith("layer/ops_2/while/")


def test_device_scope_holds(graph: Any) -> None:
    x = tf.constant(X)
    with tf.device("/device:CPU:1"):
        from_template(nested, x)
    assert {op.device for op in graph.get_operations() if op.name.startswith("ops/")} == {"/device:CPU:1"}


def test_what_has_to_come_first_does() -> None:
    """Also in front of a loop, within which no operation may wait for one outside."""
    x = v1.placeholder_with_default(X, [None])
    count = v1.get_variable("count", (), initializer=v1.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([count.assign_add(1.0)]):
        y = from_template(powers, x, power=3)
        after = tf.no_op()
    assert [op.type for op in after.control_inputs] == ["AssignAddVariableOp"]
    with v1.Session() as session:
        session.run(count.initializer)
        assert session.run(y).tolist() == [1, 8, 27] and session.run(count) == 1
        assert session.run(tf.gradients(y, x)[0]).tolist() == [3, 12, 27]


def test_within_conditionals_loops_and_functions() -> None:
    """There it is a plain call: x^2, times two rounds of adding, and in a function."""
    x = v1.placeholder_with_default(X, [None])
    in_branch = v1.cond(v1.placeholder_with_default(True, ()), lambda: from_template(powers, x), lambda: x)
    _, in_loop = v1.while_loop(
        lambda i, _: i < 2, lambda i, y: (i + 1, y + from_template(powers, x)), (0, tf.zeros_like(x))
    )
    in_function = tf.function(lambda x: from_template(powers, x))(x)
    assert [y.tolist() for y in run([in_branch, in_loop, in_function])] == [[1, 4, 9], [2, 8, 18], [1, 4, 9]]
    grads = [tf.gradients(y, x)[0] for y in (in_branch, in_loop)]
    assert [g.tolist() for g in run(grads)] == [[2, 4, 6], [4, 8, 12]]
