"""Names in eval strings."""

from __future__ import annotations

import pytest

from returnn.tf.backend.user_code import eval_globals, find_function
from returnn.tf.compat import tf, v1


@pytest.mark.parametrize(
    "expression",
    [
        "tf.log_sigmoid(x)",
        "tf.to_float(tf.constant(1))",
        "tf.Print(x, [x])",
        "tf.log(x)",
        "tf.floordiv(x, 2.0)",
        "tf.floormod(x, 2.0)",
        "tf.ceil(x)",
        "tf.div(x, 2.0)",
        "tf.reduce_sum(x, axis=0, keep_dims=True)",
        "tf.reduce_mean(x, axis=0, keepdims=True)",
        "safe_log(x)",
        "where_bc(tf.equal(x, 1), x, 0.0)",
        "tf_compat.v1.log(x) + numpy.float32(1)",
        "DimensionTag is Dim and Data is not None and x",
    ],
)
def test_expressions_of_old_configs_work(expression: str) -> None:
    """TensorFlow 1 names, and our helpers."""
    with tf.Graph().as_default(), v1.Session() as session:
        session.run(eval(expression, {**eval_globals(), "x": tf.ones((2,))}))


def test_functions_by_name() -> None:
    """nn before the rest"""
    assert find_function("relu") is tf.nn.relu
    assert find_function("log_sigmoid") is not None and find_function("to_float") is not None
    assert find_function("no_such") is None
