"""Variables must be like those that ``tf.compat.v1.get_variable`` makes, and start from the same values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from returnn.frontend import init as rf_init
from returnn.tf.backend.variables import create_variable
from returnn.tf.compat import tf, v1
from returnn.tf.util.initial_values import initial_value

HALF = rf_init.Constant(0.5)
INITS = [
    HALF,
    rf_init.VarianceScaling(scale=1.0, mode="fan_avg", distribution="uniform", seed=3),
    rf_init.RandomNormal(stddev=2.0, seed=4),
    rf_init.RandomUniform(-1.0, 1.0, seed=5),
    rf_init.Orthogonal(seed=6),
    rf_init.Identity(),
]


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """a new graph for each test"""
    with tf.Graph().as_default() as g:
        yield g


def make(name: str, init: rf_init.ParamInit = HALF, *, trainable: bool = True, shape: tuple[int, ...] = (3, 3)) -> Any:
    """the variable"""
    return create_variable(name, shape, "float32", init=init, trainable=trainable)[0]


def values_at_start(*variables: Any) -> list[numpy.ndarray]:
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        return session.run(list(variables))


@pytest.mark.parametrize("init", INITS, ids=lambda init: type(init).__name__)
def test_starts_as_the_initialiser_says(init: rf_init.ParamInit) -> None:
    """In two graphs, as an operation of its own with that seed; under any name; and other seeds give other values."""
    (expected,) = values_at_start(initial_value(init, (3, 3), "float32"))
    for name in ("a/W", "b/c/W"):
        with tf.Graph().as_default():
            assert numpy.array_equal(values_at_start(make(name, init))[0], expected)
    if init.seed is not None:
        other = type(init)(**{**vars(init), "seed": init.seed + 1})
        assert not numpy.array_equal(values_at_start(make("other", other))[0], expected)


def test_random_values_are_those_of_tensorflow(graph: Any) -> None:
    """With the seed of the graph, and the one of the variable."""
    graph.seed = 42
    stddev, limit = 2.0, float(numpy.sqrt(3.0 / 3))
    pairs = [
        (rf_init.RandomUniform(-0.1, 0.7, seed=5), v1.random_uniform((3, 3), -0.1, 0.7, seed=5)),
        (rf_init.RandomNormal(mean=0.3, stddev=stddev, seed=5), v1.random_normal((3, 3), 0.3, stddev, seed=5)),
        (
            rf_init.RandomNormal(mean=0.3, stddev=stddev, truncated=True, seed=5),
            v1.truncated_normal((3, 3), 0.3, stddev, seed=5),
        ),
        (
            rf_init.VarianceScaling(scale=1.0, mode="fan_avg", distribution="uniform", seed=3),
            v1.random_uniform((3, 3), -limit, limit, seed=3),
        ),
    ]
    found = values_at_start(*[make("v%i" % i, init) for i, (init, _) in enumerate(pairs)])
    with v1.Session() as session:
        expected = session.run([x for _, x in pairs])
    for a, b in zip(found, expected, strict=True):
        assert numpy.array_equal(a, b)


def test_is_in_all_places_where_variables_are_looked_up(graph: Any) -> None:
    """Name, shape, dtype, collections, the operations that TensorFlow 1 names, and the store of get_variable."""
    w, fixed = make("a/W"), make("a/b", trainable=False, shape=(2,))
    assert (w.name, w.op.name, w.shape.as_list(), w.dtype.name) == ("a/W:0", "a/W", [3, 3], "float32")
    assert v1.global_variables() == [w, fixed] and v1.trainable_variables() == [w]
    assert w.trainable and not fixed.trainable
    for operation in ("a/W/Assign", "a/W/Read/ReadVariableOp", "a/b/Initializer/Fill"):
        assert graph.get_operation_by_name(operation) is not None
    with v1.variable_scope("a", reuse=True):
        assert v1.get_variable("W", (3, 3), use_resource=True) is w


def test_value_is_read_once() -> None:
    """What comes with a variable is the read that it has already; the gradient goes through it."""
    _, value = create_variable("a/W", (2,), "float32", init=HALF, trainable=True)
    assert value.name == "a/W/Read/ReadVariableOp:0"
    assert values_at_start(value)[0].tolist() == [0.5, 0.5] and tf.convert_to_tensor(value) is value
    assert values_at_start(tf.gradients(value * 3.0, value)[0])[0].tolist() == [3, 3]


def test_assigning_changes_only_one() -> None:
    a, b = make("a/W", shape=(2,)), make("b/W", shape=(2,))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(a.assign_add([1.0, 2.0]))
        assert session.run([a, b.read_value()])[0].tolist() == [1.5, 2.5]
        assert session.run(b).tolist() == [0.5, 0.5]
        session.run(a.initializer)
        assert session.run(a).tolist() == [0.5, 0.5]


def test_name_is_full_whatever_scopes_are_open() -> None:
    with v1.variable_scope("x"), v1.name_scope("y"):
        var = make("a/W")
    assert var.name == "a/W:0" and var.handle.op.name == "a/W"


def test_names_that_differ_only_in_case() -> None:
    assert [make(name).name for name in ("a/W", "a/w", "A/W")] == ["a/W:0", "a/w:0", "A/W:0"]


def test_device_scope_holds_for_all_its_operations(graph: Any) -> None:
    with tf.device("/device:CPU:1"):
        make("a/W")
    operations = [op for op in graph.get_operations() if op.name.startswith("a/W")]
    assert {op.device for op in operations} == {"/device:CPU:1"}


def test_is_made_outside_of_conditionals_and_loops() -> None:
    """0.5 from within a branch, and three times 0.5 from within a loop. What must come before stays outside, too."""
    never = tf.debugging.Assert(False, ["not to be run"])

    def branch() -> Any:
        with tf.control_dependencies([never]):
            return create_variable("a/b", (), "float32", init=HALF, trainable=True)[1] * 1.0

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + create_variable("c/b", (), "float32", init=HALF, trainable=True)[1]

    in_branch = v1.cond(v1.placeholder_with_default(True, ()), branch, lambda: tf.constant(0.0))
    _, in_loop = v1.while_loop(lambda i, _: i < 3, body, (0, 0.0))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(in_loop) == 1.5
        assert session.run(v1.global_variables()) == [0.5, 0.5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="not to be run"):
            session.run(in_branch)


def test_a_name_that_is_taken_is_refused(graph: Any) -> None:
    """Else another name would be chosen without a word, and a checkpoint would have that."""
    make("a/W")
    tf.identity(1.0, name="op")
    for name in ("a/W", "op"):
        with pytest.raises(ValueError, match=f"variable {name} already exists, or an operation of that name"):
            make(name)
    with tf.Graph().as_default():
        assert make("a/W").name == "a/W:0"


def test_values_of_their_own_are_not_shared() -> None:
    """An array, and a tensor of this graph."""
    array = make("a/W", rf_init.Constant(numpy.array([1.0, 2.0], "float32")), shape=(2,))
    computed = make("b/W", rf_init.Computed(tf.constant([3.0, 4.0])), shape=(2,))
    assert [x.tolist() for x in values_at_start(array, computed)] == [[1, 2], [3, 4]]
