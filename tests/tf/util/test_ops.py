"""Operations made in the shortest way are those of ``tf.raw_ops``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf, v1
from returnn.tf.util import ops

X = numpy.arange(24, dtype="float32").reshape(2, 3, 4) / 7 - 1


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """a new graph for each test"""
    with tf.Graph().as_default() as g:
        yield g


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Tanh": (lambda x: ops.unary("Tanh", x), lambda x: tf.raw_ops.Tanh(x=x)),
    "AddV2": (lambda x: ops.binary("AddV2", x, x), lambda x: tf.raw_ops.AddV2(x=x, y=x)),
    "Less": (lambda x: ops.compare("Less", x, -x), lambda x: tf.raw_ops.Less(x=x, y=-x)),
    "Equal": (lambda x: ops.compare("Equal", x, -x), lambda x: tf.raw_ops.Equal(x=x, y=-x)),
    "SelectV2": (lambda x: ops.select(x > 0, x, -x), lambda x: tf.raw_ops.SelectV2(condition=x > 0, t=x, e=-x)),
    "Cast": (lambda x: ops.cast(x, tf.int32), lambda x: tf.raw_ops.Cast(x=x, DstT=tf.int32)),
    "Sum": (
        lambda x: ops.reduce("Sum", x, [0, 2], keep_dims=True),
        lambda x: tf.raw_ops.Sum(input=x, axis=[0, 2], keep_dims=True),
    ),
    "Any": (
        lambda x: ops.reduce("Any", x > 0, [1], keep_dims=False),
        lambda x: tf.raw_ops.Any(input=x > 0, axis=[1]),
    ),
    "MatMul": (
        lambda x: ops.matmul(x[0], x[1], transpose_a=True),
        lambda x: tf.raw_ops.MatMul(a=x[0], b=x[1], transpose_a=True),
    ),
    "Reshape": (lambda x: ops.reshape(x, [-1, 4]), lambda x: tf.raw_ops.Reshape(tensor=x, shape=[-1, 4])),
    "BroadcastTo": (
        lambda x: ops.broadcast_to(x, [5, 2, 3, 4]),
        lambda x: tf.raw_ops.BroadcastTo(input=x, shape=[5, 2, 3, 4]),
    ),
    "ExpandDims": (lambda x: ops.expand_dims(x, 1), lambda x: tf.raw_ops.ExpandDims(input=x, axis=1)),
    "Transpose": (lambda x: ops.transpose(x, [2, 0, 1]), lambda x: tf.raw_ops.Transpose(x=x, perm=[2, 0, 1])),
    "ConcatV2": (lambda x: ops.concat([x, x], 1), lambda x: tf.raw_ops.ConcatV2(values=[x, x], axis=1)),
    "GatherV2": (
        lambda x: ops.gather(x, tf.constant([[0, 2], [1, 1]]), axis=1, batch_dims=1),
        lambda x: tf.gather(x, tf.constant([[0, 2], [1, 1]]), axis=1, batch_dims=1),
    ),
    "all of an axis": (lambda x: ops.slice_axis(x, 1, None, None), lambda x: x[:, :]),
    "from": (lambda x: ops.slice_axis(x, 1, 1, None), lambda x: x[:, 1:]),
    "up to": (lambda x: ops.slice_axis(x, 2, None, -1), lambda x: x[:, :, :-1]),
    "to a scalar": (lambda x: ops.slice_axis(x, 0, None, tf.constant(1)), lambda x: x[:1]),
    "backwards": (lambda x: ops.slice_axis(x, 1, None, None, -1), lambda x: x[:, ::-1]),
    "backwards from": (lambda x: ops.slice_axis(x, 1, 1, None, -1), lambda x: x[:, 1::-1]),
    "steps": (lambda x: ops.slice_axis(x, 2, 1, 4, 2), lambda x: x[:, :, 1:4:2]),
    "entry": (lambda x: ops.entry(x, 1), lambda x: x[1]),
    "entries": (lambda x: ops.entries([x], tf.constant(1))[0][0], lambda x: x[1]),
}


@pytest.mark.parametrize("name", CASES)
def test_value_shape_and_gradient(name: str) -> None:
    """Of a value of known shape, and of one of unknown sizes."""
    own, raw = CASES[name]
    for shape in ([2, 3, 4], [None, None, 4]):
        x = v1.placeholder_with_default(X, shape)
        y, expected = own(x), raw(x)
        assert y.dtype == expected.dtype and y.shape.as_list() == expected.shape.as_list()
        results = [y, expected]
        if y.dtype.is_floating:
            weights = tf.reshape(tf.range(tf.cast(tf.size(y), tf.float32)), tf.shape(y))
            results += [tf.gradients(z * weights, x)[0] for z in (y, expected)]
        with v1.Session() as session:
            values = session.run(results)
        for a, b in zip(values[::2], values[1::2], strict=True):
            assert numpy.array_equal(a, b)


def test_constants_are_made_once_in_each_context(graph: Any) -> None:
    a, b = ops.constant(1), ops.constant(1)
    assert a is b and ops.constant(1.0) is not a and ops.constant(True) is not a and ops.constant((1,)) is not a
    inside = []

    def branch() -> Any:
        inside.extend([ops.constant(1), ops.constant(2), ops.constant(2)])
        return inside[1] + 0

    v1.cond(v1.placeholder_with_default(True, ()), branch, lambda: tf.constant(0))
    assert inside[0] is a and inside[1] is inside[2] and ops.constant(2) is not inside[1]


def test_fill_and_range_and_vector() -> None:
    n = v1.placeholder_with_default(3, ())
    values = [ops.fill([2, n], -1.5, tf.float32), ops.range_to(n), ops.range_to(2), ops.vector([n, 5]), ops.vector([4])]
    with v1.Session() as session:
        found = session.run(values)
    assert [x.tolist() for x in found] == [[[-1.5] * 3] * 2, [0, 1, 2], [0, 1], [3, 5], [4]]


def test_full_names_whatever_scopes_are_open() -> None:
    with v1.name_scope("scope"):
        op = ops.make("NoOp", [], {}, name="a/b")
        assert op.name == "a/b" and ops.make("NoOp", [], {}).name == "scope/NoOp"


def test_within_a_function_of_tensorflow() -> None:
    """Tensors of the graph around it come in as they do with other operations."""
    x = v1.placeholder_with_default(X, [2, 3, 4])
    y = tf.function(lambda: ops.unary("Neg", x))()
    with v1.Session() as session:
        assert numpy.array_equal(session.run(y), -X)


def test_arrays() -> None:
    """Written in any order, scattered, read, gathered."""
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    array = ops.new_array(2, tf.float32, tf.TensorShape([2]))
    written = array.write(1, rows[0]).write(0, rows[1])
    scattered = ops.new_array(2, tf.float32, tf.TensorShape([2])).scatter(ops.range_to(2), rows)
    entry = scattered.read(1)
    assert written.gather(tf.range(2)).shape.as_list()[1:] == [2] and entry.shape.as_list() == [2]
    with v1.Session() as session:
        gathered, value = session.run([written.gather([0, 1]), entry])
    assert gathered.tolist() == [[3, 4], [1, 2]] and value.tolist() == [3, 4]
