"""Code for TensorFlow 1 in configs, through the module ``tensorflow`` that they import."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import tensorflow as tf_of_config

from returnn.log import log
from returnn.tf import tf1_names
from returnn.tf.compat import tf, v1
from tests.network.net import X, out


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """what the log says about old names"""
    stream = io.StringIO()
    monkeypatch.setattr(tf1_names, "_noted", set())
    for level in ("v2", "v3"):
        monkeypatch.setattr(log, level, stream)
    yield stream


def run(function: Any, *args: Any) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        return session.run(function(*args))


@pytest.mark.parametrize(
    ("function", "expected", "modern"),
    [
        (lambda: tf_of_config.log(1.0), 0, "tf.math.log"),
        (lambda: tf_of_config.to_float([3]), [3], "tf.cast(x, tf.float32)"),
        (lambda: tf_of_config.to_int32([3.7]), [3], "tf.cast(x, tf.int32)"),
        (lambda: tf_of_config.log_sigmoid(0.0), -0.6931472, "tf.math.log_sigmoid"),
        (lambda: tf_of_config.ceil(1.5), 2, "tf.math.ceil"),
        (lambda: tf_of_config.floordiv(7, 2), 3, "tf.math.floordiv"),
        (lambda: tf_of_config.floormod(7, 2), 1, "tf.math.floormod"),
        (lambda: tf_of_config.div(7, 2), 3, "tf.math.divide"),
        (lambda: tf_of_config.Print(tf.constant(4), [], ""), 4, "tf.print"),
        (lambda: tf_of_config.shape(tf_of_config.random_uniform([2, 3])), [2, 3], "tf.random.uniform"),
        (lambda: tf_of_config.shape(tf_of_config.placeholder_with_default([1], [1])), [1], "placeholder_with_default"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # TensorFlow deprecates tf.div
def test_dropped_names(noted: io.StringIO, function: Any, expected: Any, modern: str) -> None:
    """Each with one note that has the modern form."""
    for _ in range(2):
        numpy.testing.assert_allclose(run(function), expected, rtol=1e-6)
    lines = noted.getvalue().splitlines()
    assert len(lines) == 1 and lines[0].startswith("Note: tf.") and modern in lines[0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tf_of_config.reduce_sum(x, axis=1, keep_dims=True), [[3], [7]]),
        (lambda x: tf_of_config.reduce_max(x, reduction_indices=0), [3, 4]),
        (lambda x: tf_of_config.math.reduce_mean(x, axis=0, keep_dims=True), [[2, 3]]),
        (lambda x: tf_of_config.argmax(x, dimension=1), [1, 1]),
        (lambda x: tf_of_config.shape(tf_of_config.expand_dims(x, dim=0)), [1, 2, 2]),
        (lambda x: tf_of_config.nn.softmax(x * 0, dim=-1), [[0.5, 0.5]] * 2),
        (lambda x: tf_of_config.cond(tf.constant(True), fn1=lambda: x, fn2=lambda: -x), [[1, 2], [3, 4]]),
    ],
)
def test_renamed_arguments(noted: io.StringIO, function: Any, expected: Any) -> None:
    """The modern ones are not noted."""
    numpy.testing.assert_allclose(run(lambda: function(tf.constant([[1.0, 2], [3, 4]]))), expected)
    assert noted.getvalue().count("Note: ") == 1
    run(lambda: tf_of_config.reduce_sum(tf.ones([2, 2]), axis=1, keepdims=True))
    assert noted.getvalue().count("Note: ") == 1


def test_dropout_names_both_meanings(noted: io.StringIO) -> None:
    """Of ones, 0.9 to drop leaves about a tenth; keep_prob=0.9 leaves about nine tenths."""
    by_position = run(lambda: tf_of_config.nn.dropout(tf.ones([1000]), 0.9, seed=1))
    by_old_name = run(lambda: tf_of_config.nn.dropout(tf.ones([1000]), keep_prob=0.9, seed=1))
    assert 50 < numpy.count_nonzero(by_position) < 150 and 850 < numpy.count_nonzero(by_old_name) < 950
    assert "WARNING: tf.nn.dropout(x, 0.9)" in noted.getvalue()
    assert "(rate) today" in noted.getvalue() and "(keep_prob). It is taken as rate" in noted.getvalue()


def test_unknown_names_stay_unknown() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = tf_of_config.no_such_name
    with pytest.raises(AttributeError, match=r"'contrib' \(gone with TensorFlow 1\)"):
        _ = tf_of_config.contrib
    assert not hasattr(tf_of_config.nn, "no_such_name")


def test_modules_below(noted: io.StringIO) -> None:
    assert tf_of_config.train.AdamOptimizer is v1.train.AdamOptimizer
    assert "tf.train.AdamOptimizer is of TensorFlow 1; today: tf.compat.v1.train.AdamOptimizer" in noted.getvalue()


@pytest.mark.parametrize(
    "text", ["tf.log(source(0))", "tf.reduce_sum(tf.log(source(0)), 2, keep_dims=True) * [1., 1.]"]
)
def test_texts_that_are_evaluated(text: str) -> None:
    """log X, and the sum over both features."""
    logs = numpy.log(X)
    expected = logs if "sum" not in text else logs.sum(axis=2, keepdims=True) * [1, 1]
    numpy.testing.assert_allclose(out({"class": "eval", "eval": text, "from": "data"}), expected, rtol=1e-5)


def test_functions_of_a_config() -> None:
    def transform(source: Any, self: Any) -> Any:
        return tf_of_config.to_float(tf_of_config.greater(source(0), 2.0))

    got = out({"class": "eval", "eval": transform, "from": "data"})
    assert got[0, :2].tolist() == [[0, 0], [1, 1]]
