"""What only TensorFlow has: variables, graphs, control flow. Values of operations: tests/frontend/test_contract.py."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend import init
from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor import Dim, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import current_table
from returnn.tf.backend import backend
from returnn.tf.compat import tf, v1


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """a new graph for each test"""
    with tf.Graph().as_default() as g:
        yield g


def variable(name: str = "l/W", initial: Any = 0.0, shape: tuple[int, ...] = (2, 3), dtype: str = "float32") -> Any:
    """(variable, value)"""
    return backend.create_parameter(name, shape, dtype, init=init.Constant(initial), trainable=True)


def test_parameter_has_exactly_its_name_wherever_it_is_made() -> None:
    """inside scopes, and inside a loop"""
    with v1.variable_scope("scope"), tf.name_scope("other"):
        var, value = variable("l/rec/W")
    assert var.name == "l/rec/W:0"
    made = []

    def body(i: Any) -> Any:
        made.append(variable("in_loop/b", shape=(2,)))
        return i + 1

    v1.while_loop(lambda i: i < 2, body, [0])
    assert made[0][0].name == "in_loop/b:0"
    assert v1.trainable_variables() == [var, made[0][0]]
    assert var.shape.as_list() == value.shape.as_list() == [2, 3]


def test_parameter_of_a_used_name_is_an_error() -> None:
    """two layers must not share a variable by accident"""
    variable("l/W")
    with pytest.raises(ValueError, match="l/W already exists"):
        variable("l/W")


def test_parameter_that_is_not_trainable() -> None:
    """is saved, not updated"""
    var, _ = backend.create_parameter("mean", (2,), "float32", init=init.Constant(1.0), trainable=False)
    assert v1.trainable_variables() == [] and v1.global_variables() == [var]


@pytest.mark.parametrize("value", [2.0, numpy.arange(6).reshape(2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_constant_initial_value(value: Any, dtype: str) -> None:
    """a number, or an array of the shape"""
    var, raw = variable(initial=value, dtype=dtype)
    with v1.Session() as session:
        session.run(var.initializer)
        actual = session.run(raw)
    assert actual.dtype == dtype
    numpy.testing.assert_array_equal(actual, numpy.broadcast_to(value, (2, 3)))


def test_initial_array_of_another_shape_is_an_error() -> None:
    """said with both shapes"""
    with pytest.raises(ValueError, match=r"initial value has shape \(3,\), but the parameter \(2, 3\)"):
        variable(initial=numpy.zeros(3))


def test_glorot_with_a_seed_gives_the_values_of_old_networks() -> None:
    """first seed of RandomState(42), shape [4, 2]"""
    seed = numpy.random.RandomState(42).randint(2**31)
    assert seed == 1608637542
    glorot = init.VarianceScaling(1.0, "fan_avg", "uniform", seed=seed)
    var, _ = backend.create_parameter("output/W", (4, 2), "float32", init=glorot, trainable=True)
    with v1.Session() as session:
        session.run(var.initializer)
        value = session.run(var)
    numpy.testing.assert_allclose(value[0], [0.0761664, 0.0982823], rtol=1e-5)
    numpy.testing.assert_allclose(value[3], [-0.4261558, 0.9385443], rtol=1e-5)


@pytest.mark.parametrize(
    ("how", "mean", "std", "highest"),
    [
        (init.VarianceScaling(2.0, "fan_in", "truncated_normal", seed=1), 0, (2 / 200) ** 0.5, 2 * 0.1 / 0.8796),
        (init.VarianceScaling(1.0, "fan_out", "untruncated_normal", seed=1), 0, (1 / 300) ** 0.5, 1),
        (init.VarianceScaling(1.0, "fan_avg", "uniform", seed=1), 0, (1 / 250) ** 0.5, (3 / 250) ** 0.5),
        (init.RandomNormal(1.0, 0.5, seed=1), 1, 0.5, 5),
        (init.RandomNormal(0.0, 1.0, truncated=True, seed=1), 0, 0.8796, 2),
        (init.RandomUniform(-1.0, 3.0, seed=1), 1, 4 / 12**0.5, 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("which", ["tf", "numpy"])
def test_random_initial_values(how: init.ParamInit, mean: float, std: float, highest: float, which: str) -> None:
    """mean, standard deviation and bound of [200, 300] values, on TensorFlow and in numpy"""
    if which == "numpy":
        value = how.draw((200, 300), numpy.random.RandomState(1))
    else:
        var, _ = backend.create_parameter("W", (200, 300), "float32", init=how, trainable=True)
        with v1.Session() as session:
            session.run(var.initializer)
            value = session.run(var)
    assert value.mean() == pytest.approx(mean, abs=0.02)
    assert value.std() == pytest.approx(std, rel=0.02)
    assert value.max() <= highest


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 5)])
@pytest.mark.parametrize("which", ["tf", "numpy"])
def test_orthogonal_and_identity(shape: tuple[int, int], which: str) -> None:
    """W W^T or W^T W is gain^2 I"""
    values = []
    for name, how in [("a", init.Orthogonal(2.0, seed=3)), ("b", init.Identity(2.0))]:
        if which == "numpy":
            values.append(how.draw(shape, numpy.random.RandomState(3)))
        else:
            var, _ = backend.create_parameter(name, shape, "float32", init=how, trainable=True)
            with v1.Session() as session:
                session.run(var.initializer)
                values.append(session.run(var))
    product = values[0] @ values[0].T if shape[0] <= shape[1] else values[0].T @ values[0]
    numpy.testing.assert_allclose(product, 4 * numpy.eye(min(shape)), atol=1e-5)
    numpy.testing.assert_array_equal(values[1], 2 * numpy.eye(*shape))


def test_gradient_of_a_parameter_dense_and_by_rows() -> None:
    """y = x W: x^T 1. Rows 2, 0, 2 of W: ones, twice for row 2, as slices."""
    in_dim, out_dim = FeatureDim("in", 3), FeatureDim("out", 2)
    var, raw = backend.create_parameter("W", (3, 2), "float32", init=init.Constant(1.0), trainable=True)
    w = Tensor("W", [in_dim, out_dim], "float32", raw_tensor=raw, feature_dim=out_dim)
    x = Tensor("x", [batch_dim, in_dim], "float32", raw_tensor=tf.constant([[1.0, 2, 3], [4, 5, 6]]))
    labels = Tensor("labels", [batch_dim], "int32", sparse_dim=in_dim, raw_tensor=tf.constant([2, 0, 2]))
    dense = v1.gradients(rf.matmul(x, w, reduce=in_dim).raw_tensor, [var])[0]
    rows = v1.gradients(rf.gather(w, indices=labels, axis=in_dim).raw_tensor, [var])[0]
    assert isinstance(rows, tf.IndexedSlices)
    with v1.Session() as session:
        assert session.run(dense).tolist() == [[5, 5], [7, 7], [9, 9]]
        assert session.run(tf.convert_to_tensor(rows)).tolist() == [[1, 1], [0, 0], [2, 2]]


def test_lengths_masks_and_shapes_are_computed_once(graph: Any) -> None:
    """The second softmax over time adds no operation for its mask, and the second dropout none for its shape."""
    t, f = SpatialDim("t"), FeatureDim("f", 2)
    t.dyn_size = v1.placeholder("int32", [None])
    x = Tensor("x", [batch_dim, t, f], "float32", raw_tensor=v1.placeholder("float32", [None, None, 2]))
    counts = []
    for _ in range(2):
        before = len(graph.get_operations())
        rf.reduce_mean(x, axis=t)
        rf.expand_dim(x, FeatureDim("g", 3))
        counts.append(len(graph.get_operations()) - before)
    ops = [op.type for op in graph.get_operations()]
    assert ops.count("Less") == 1 and ops.count("Range") == 1 and ops.count("Shape") == 1
    assert counts[1] < counts[0]


def test_values_inside_a_conditional_stay_inside() -> None:
    """A mask first needed in a branch is made anew outside; one made outside is used inside."""
    t = SpatialDim("t")
    t.dyn_size = tf.constant([1, 3])
    raw = tf.constant([[1.0, 7, 7], [1, 2, 3]])
    x = Tensor("x", [batch_dim, t], "float32", raw_tensor=raw)
    flag = v1.placeholder(tf.bool, ())

    def mean() -> Any:
        return rf.reduce_mean(x, axis=t).raw_tensor

    inside = backend.cond(flag, mean, lambda: -mean())
    outside = mean()
    again = backend.cond(flag, mean, lambda: -mean())
    with v1.Session() as session:
        for value in (inside, again):
            assert session.run(value, {flag: True}).tolist() == [1, 2]
            assert session.run(value, {flag: False}).tolist() == [-1, -2]
        assert session.run(outside).tolist() == [1, 2]


def test_derived_lengths_inside_a_loop() -> None:
    """t + 1 is computed in the loop body, and again outside"""
    t = SpatialDim("t")
    t.dyn_size = tf.constant([1, 3])
    _, inside = v1.while_loop(lambda i, _: i < 2, lambda i, _: (i + 1, (t + 1).get_dim_value()), [0, 0])
    outside = (t + 1).get_dim_value()
    with v1.Session() as session:
        assert session.run([inside, outside]) == [4, 4]


def test_each_graph_has_its_own_lengths() -> None:
    """one dim of a config, two graphs"""
    t = SpatialDim("t")
    t.dyn_size = tf.constant([1, 3])
    assert t.dyn_size is not None
    with tf.Graph().as_default():
        assert t.dyn_size is None
        t.dyn_size = tf.constant([2])
    assert t.dyn_size.shape.as_list() == [2]


def test_a_graph_is_freed_with_its_table() -> None:
    """Nothing else holds it: an engine may build many."""
    t = Dim(None, name="t")
    g = tf.Graph()
    with g.as_default():
        t.dyn_size = tf.constant([1, 3])
        t.get_mask()
        table = weakref.ref(current_table())
    gone = weakref.ref(g)
    del g
    gc.collect()
    assert gone() is None and table() is None


def test_dropout_follows_the_train_flag_and_the_step() -> None:
    """Flag and step of the graph: off, drawn, drawn anew in another step, the same in the same step."""
    f = FeatureDim("f", 1000)
    flag, step = v1.placeholder(tf.bool, ()), v1.placeholder(tf.int64, ())
    x = Tensor("x", [batch_dim, f], "float32", raw_tensor=tf.ones((3, 1000)), feature_dim=f)
    with run_ctx(RunCtx(train_flag=flag, step=step)):
        y = rf.dropout(x, 0.25, axis=[f], name="layer").raw_tensor
        z = rf.dropout(x, 0.25, axis=[f], name="other").raw_tensor
    with v1.Session() as session:
        off = session.run(y, {flag: False, step: 1})
        a, b, c = (session.run(y, {flag: True, step: n}) for n in (1, 1, 2))
        other = session.run(z, {flag: True, step: 1})
    assert (off == 1).all()
    assert (a == b).all() and (a != c).any() and (a != other).any()
    numpy.testing.assert_allclose(numpy.unique(a), [0, 4 / 3], rtol=1e-6)
    assert a.mean() == pytest.approx(1, abs=0.1)
    assert (a == a[:1]).all()  # batch shares the noise


def test_numpy_constants_meet_graph_tensors() -> None:
    """whichever comes first"""
    f, g = FeatureDim("f", 2), FeatureDim("g", 2)
    x = Tensor("x", [batch_dim, f], "float32", raw_tensor=tf.constant([[1.0, 2]]), feature_dim=f)
    c = Tensor("c", [f], "float32", raw_tensor=numpy.array([10, 20], "float32"))
    w = Tensor("w", [f, g], "float32", raw_tensor=numpy.eye(2, dtype="float32"), feature_dim=g)
    i = Tensor("i", [batch_dim], "int32", sparse_dim=f, raw_tensor=tf.constant([1]))
    joined, _ = rf.concat((x, f), (c, f), allow_broadcast=True)
    results = [c + x, rf.matmul(x, w, reduce=f), rf.gather(w, indices=i, axis=f), joined]
    with v1.Session() as session:
        values = [session.run(y.raw_tensor).tolist() for y in results]
    assert values == [[[11, 22]], [[1, 2]], [[0, 1]], [[1, 2, 10, 20]]]


def test_static_sizes_are_kept_where_they_are_known() -> None:
    """through reshape, matmul and padding"""
    t, f, g = SpatialDim("t"), FeatureDim("f", 4), FeatureDim("g", 3)
    t.dyn_size = v1.placeholder("int32", [None])
    x = Tensor("x", [batch_dim, t, f], "float32", raw_tensor=v1.placeholder("float32", [None, None, 4]), feature_dim=f)
    w = Tensor("w", [f, g], "float32", raw_tensor=tf.ones((4, 3)), feature_dim=g)
    assert rf.matmul(x, w, reduce=f).raw_tensor.shape.as_list() == [None, None, 3]
    assert rf.merge_dims(x, dims=[batch_dim, t])[0].raw_tensor.shape.as_list() == [None, 4]
    assert rf.reduce_out(x, mode="max", num_pieces=2).raw_tensor.shape.as_list() == [None, None, 2]
    window = rf.window(x, spatial_dim=t, window_dim=SpatialDim("w", 3))[0]
    assert window.raw_tensor.shape.as_list() == [None, None, 3, 4]
