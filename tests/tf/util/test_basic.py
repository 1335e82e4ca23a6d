"""Helpers for the code in users' configs. x is [[0, 1, 2], [3, 4, 5]]."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor import DimError
from returnn.tf.compat import tf, v1
from returnn.tf.util import basic as u


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """a new graph for each test"""
    with tf.Graph().as_default() as g:
        yield g


def run(x: Any) -> Any:
    """value of a graph tensor, as lists"""
    with v1.Session() as session:
        return numpy.asarray(session.run(x)).tolist()


def x() -> Any:
    """[2, 3]"""
    return tf.reshape(tf.range(6.0), [2, 3])


def unknown(value: Any) -> Any:
    """the same without static sizes"""
    array = numpy.asarray(value, "float32")
    return v1.placeholder_with_default(array, [None] * array.ndim)


@pytest.mark.parametrize("module", ["returnn.tf.util.basic", "returnn.tf.util.data", "TFUtil"])
def test_public_names_are_there(module: str) -> None:
    """What configs import."""
    imported = importlib.import_module(module)
    assert [name for name in imported.__all__ if not hasattr(imported, name)] == []
    assert imported.Data is u.Data


def test_where_bc() -> None:
    """numbers, equal ranks with axes of size 1, lower ranks with axes added at the end"""
    c = tf.constant([True, False])
    assert run(u.where_bc(c, 1.0, 0.0)) == [1, 0]
    assert run(u.where_bc(c, x(), -x())) == [[0, 1, 2], [-3, -4, -5]]
    assert run(u.where_bc(c, x(), 7.0)) == [[0, 1, 2], [7, 7, 7]]
    assert run(u.where_bc(tf.constant([[True, False, True]]), x(), tf.constant([[9.0], [8.0]]))) == [
        [0, 9, 2],
        [3, 8, 5],
    ]


def test_nd_indices() -> None:
    """[[2, 0], [1, 1], [0, 2]]: pairs of (batch, index), or (index, batch)"""
    i = tf.constant([[2, 0], [1, 1], [0, 2]])
    assert run(u.nd_indices(i)) == [[[0, 2], [0, 0]], [[1, 1], [1, 1]], [[2, 0], [2, 2]]]
    assert run(u.nd_indices(i, batch_axis=1)) == [[[2, 0], [0, 1]], [[1, 0], [1, 1]], [[0, 0], [2, 1]]]
    assert run(u.nd_indices(i, batch_axis=1, indices_batch_major=True))[0] == [[0, 2], [1, 0]]
    assert run(u.nd_indices(tf.constant([2, 0]))) == [[0, 2], [1, 0]]


def test_repeat() -> None:
    """copies of an entry stand next to each other; or along a new axis"""
    assert run(u.tile_transposed(x(), 0, 2)) == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]
    assert run(u.tile_transposed(unknown([1, 2]), -1, 2)) == [1, 1, 2, 2]
    assert run(u.expand_dims_unbroadcast(x(), 1, 2)) == [[[0, 1, 2]] * 2, [[3, 4, 5]] * 2]
    assert run(u.expand_dims_unbroadcast(x(), -1, 2))[0] == [[0, 0], [1, 1], [2, 2]]
    assert run(u.expand_dims_unbroadcast(3.0, 0, 2)) == [3, 3]


def test_masks() -> None:
    """lengths [3, 1]"""
    lens = tf.constant([3, 1])
    assert run(u.sequence_mask(lens)) == [[True] * 3, [True, False, False]]
    assert run(u.sequence_mask(lens, maxlen=4, dtype=tf.float32)) == [[1, 1, 1, 0], [1, 0, 0, 0]]
    assert run(u.sequence_mask_time_major(lens)) == [[True, True], [True, False], [True, False]]


@pytest.mark.parametrize(
    "kwargs",
    [{"batch_dim_axis": 1, "time_dim_axis": 0}, {"batch_dim_axis": 1, "time_dim_axis": -3}, {"time_major": True}],
)
def test_flatten_is_sequence_by_sequence(kwargs: dict[str, Any]) -> None:
    """[B=2, T=3, 2] of 0..11, lengths [3, 1]: four frames; also from time-major"""
    y = tf.reshape(tf.range(12.0), [2, 3, 2])
    lens = tf.constant([3, 1])
    expected = [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert run(u.flatten_with_seq_len_mask(y, lens, batch_dim_axis=0, time_dim_axis=1)) == expected
    assert run(u.flatten_with_seq_len_mask(tf.transpose(y, [1, 0, 2]), lens, **kwargs)) == expected
    feature_first = tf.transpose(y, [2, 1, 0])
    assert run(u.flatten_with_seq_len_mask(feature_first, lens, batch_dim_axis=2, time_dim_axis=1)) == expected


def test_shapes() -> None:
    """ints where static, else scalars"""
    assert u.get_shape(x()) == [2, 3] and u.get_shape_dim(x(), -1) == 3
    dynamic = unknown(numpy.zeros((2, 3)))
    assert run(tf.stack(u.get_shape(dynamic))) == [2, 3]
    assert run(u.get_shape_dim(dynamic, 1)) == 3


def test_order_of_axes() -> None:
    """swap exchanges two, move keeps the order of the others"""
    y = tf.zeros((2, 3, 4))
    assert u.swapaxes(y, 0, 2).shape.as_list() == [4, 3, 2]
    assert u.move_axis(y, 0, -1).shape.as_list() == [3, 4, 2]
    assert u.move_axis(y, 2, 0).shape.as_list() == [4, 2, 3]


def test_dot() -> None:
    """last axis with the first one: 0+1+2 and 3+4+5"""
    assert run(u.dot(x(), tf.ones((3, 2)))) == [[3, 3], [12, 12]]
    assert run(u.dot(x(), tf.ones((2, 3)), transpose_b=True)) == [[3, 3], [12, 12]]
    assert run(tf.shape(u.dot(tf.zeros((2, 5, 3)), tf.ones((3, 4, 6))))) == [2, 5, 4, 6]


def test_checked_sizes() -> None:
    """while the graph is built where possible, else in the step"""
    assert u.check_input_dim(x(), 1, 3).shape.as_list() == [2, 3]
    with pytest.raises(DimError, match="axis 1 of .* has size 3, but must have 4"):
        u.check_input_dim(x(), 1, 4)
    dynamic = unknown([[1.0, 2.0]])
    checked = u.check_input_dim(dynamic, 1, 2)
    assert checked.shape.as_list() == [None, 2] and run(checked) == [[1, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis 1 of .* has another size"):
        run(u.check_input_dim(dynamic, 1, 3))
    assert run(u.check_shape_equal(x(), unknown(numpy.ones((2, 3))))) == run(x())
    with pytest.raises(DimError, match="different ranks"):
        u.check_shape_equal(x(), dynamic[0])


def test_safe_log_and_its_gradient() -> None:
    """0 counts as eps = 1e-20; the gradient is 1 / max(x, eps), or 0 there"""
    value = tf.constant([0.0, 1.0, 4.0])
    assert run(u.safe_log(value)) == pytest.approx([math.log(1e-20), 0, math.log(4)], rel=1e-6)
    assert run(tf.gradients(u.safe_log(value), value)[0]) == pytest.approx([1e20, 1, 0.25], rel=1e-6)
    plain = u.safe_log(value, use_fake_grad=False)
    assert run(tf.gradients(plain, value)[0]) == pytest.approx([0, 1, 0.25], rel=1e-6)


def test_safe_exp_and_its_gradient() -> None:
    """in [1e-20, 1e20]; the gradient is the value"""
    value = tf.constant([-200.0, 0.0, 200.0])
    y = u.safe_exp(value)
    assert run(y) == pytest.approx([1e-20, 1, 1e20], rel=1e-4)
    assert run(tf.gradients(y, value)[0]) == pytest.approx(run(y), rel=1e-6)


def test_small_ones() -> None:
    """dtypes, triangles, ended hypotheses"""
    assert [u.to_int32_64(tf.zeros((), d)).dtype.name for d in ("uint8", "int32", "int64")] == [
        "int32",
        "int32",
        "int64",
    ]
    assert run(u.matrix_triangular((2, 3), upper=True, dtype=tf.int32)) == [[1, 1, 1], [0, 1, 1]]
    assert run(u.matrix_triangular((2, 2), lower=True)) == [[1, 0], [1, 1]]
    ended = u.filter_ended_scores(x(), tf.constant([True, False]))
    assert run(ended) == [[0, pytest.approx(-1e30), pytest.approx(-1e30)], [3, 4, 5]]


def test_cond_builds_only_what_is_needed(graph: Any) -> None:
    """a known condition makes no branch"""

    def never() -> Any:
        raise AssertionError("not to be called")

    assert run(u.cond(True, lambda: tf.constant(1), never)) == 1
    assert run(u.cond(tf.constant(False), never, lambda: tf.constant(2))) == 2
    flag = v1.placeholder_with_default(True, ())
    assert run(u.cond(flag, lambda: tf.constant(1), lambda: tf.constant(2))) == 1


def test_reuse_name_scope() -> None:
    """No "_1", neither for variables nor for operations; nested and absolute."""
    for name in ("v", "w"):
        with u.reuse_name_scope("foo"):
            assert v1.get_variable(name, ()).name == "foo/%s:0" % name
            assert (x() + 1).op.name.startswith("foo/add")
            with u.reuse_name_scope("bar"):
                assert v1.get_variable(name, ()).name == "foo/bar/%s:0" % name
            with u.reuse_name_scope("abs/x", absolute=True):
                assert v1.get_variable(name, ()).name == "abs/x/%s:0" % name
    assert len(v1.global_variables()) == 6


def test_dropout() -> None:
    """Scaled by 1 / keep; noise shared along axes of size 1; another draw in each step, the same in the same step."""
    step = v1.placeholder(tf.int64, ())
    ones = tf.ones((1000, 4))
    with run_ctx(RunCtx(train_flag=True, step=step)):
        y = u.dropout(ones, keep_prob=0.5, noise_shape=(None, 1))
        unscaled = u.dropout(ones, keep_prob=0.5, apply_correction_factor=False)
    with v1.Session() as session:
        a, b, c = (session.run(y, {step: n}) for n in (1, 1, 2))
        d = session.run(unscaled, {step: 1})
    assert set(numpy.unique(a)) == {0.0, 2.0} and set(numpy.unique(d)) == {0.0, 1.0}
    assert (a == a[:, :1]).all()
    assert 0.9 < a.mean() < 1.1
    assert (a == b).all() and (a != c).any()
    assert u.dropout(ones, keep_prob=1.0) is ones
    with pytest.raises(ValueError, match=r"keep_prob must be in \(0, 1\], but is 2"):
        u.dropout(ones, keep_prob=2)


def test_dropout_only_in_training() -> None:
    """cond_on_train looks at the flag of the network"""
    with run_ctx(RunCtx(train_flag=False)):
        assert run(u.dropout(x(), keep_prob=0.5, cond_on_train=True)) == run(x())


def test_py_print(capfd: pytest.CaptureFixture[str]) -> None:
    """message, texts and arrays on one line; only the first n times"""
    value = tf.constant([1, 2])
    y = u.py_print(value, ["lens", value], message="hello", first_n=1)
    with v1.Session() as session:
        assert session.run(y).tolist() == session.run(y).tolist() == [1, 2]
    assert capfd.readouterr().out.count("hello lens [1 2]\n") == 1
