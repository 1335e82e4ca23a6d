"""TensorFlow code of users on PyTorch: each expression gives what it gives on TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor import DimError
from returnn.tf.backend import user_code as tf_user_code
from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError, UserError

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from returnn.torch.backend.tf_namespace import tf as tf_on_torch  # noqa: E402 - needs torch
from returnn.torch.backend.tf_namespace import tf_v1  # noqa: E402
from returnn.torch.backend.user_code import HELPERS, eval_globals, find_function  # noqa: E402

INPUTS: dict[str, Any] = {
    "x": numpy.array([[0.5, -1.25, 2.0], [0.0, 3.5, -0.5]], "float32"),
    "y": numpy.array([[1.5, 2.0, -1.0], [0.25, 1.0, 4.0]], "float32"),
    "p": numpy.array([[0.2, 0.3, 0.5], [0.0, 0.9, 0.1]], "float32"),
    "i": numpy.array([[2, 0, 1], [1, 1, 7]], "int32"),
    "c": numpy.array([[True, False, True], [False, False, True]]),
    "b": numpy.array([True, False]),
    "lens": numpy.array([3, 1], "int32"),
    "z": numpy.arange(24, dtype="float32").reshape(2, 3, 4),
}

EXPRESSIONS = """
tf.abs(x)
tf.sign(x)
tf.exp(x)
tf.math.expm1(x)
tf.log(p + 0.5)
tf.math.log(p + 0.5)
tf.math.log1p(p)
tf.sqrt(p)
tf.math.rsqrt(p + 0.5)
tf.square(x)
tf.math.reciprocal(y)
tf.sin(x) + tf.cos(x)
tf.math.erf(x)
tf.tanh(x) * 2
tf.sigmoid(x)
tf.nn.sigmoid(x)
tf.log_sigmoid(x)
tf.math.log_sigmoid(x)
tf.negative(x)
tf.ceil(x) + tf.floor(x) + tf.round(x)
tf.math.is_finite(x / tf.constant([1.0, 0.0, 1.0]))
tf.is_nan(x)
tf.nn.relu(x)
tf.nn.relu6(x * 3)
tf.nn.elu(x)
tf.nn.selu(x)
tf.nn.leaky_relu(x)
tf.nn.leaky_relu(x, alpha=0.1)
tf.nn.gelu(x)
tf.nn.gelu(x, approximate=True)
tf.nn.swish(x)
tf.nn.silu(x, beta=2.0)
tf.nn.softplus(x)
tf.nn.softsign(x)
tf.nn.softmax(x)
tf.nn.softmax(x, axis=0)
tf.nn.log_softmax(x)
tf.math.softplus(x)
tf.add(x, y) + tf.subtract(x, 1) + tf.multiply(x, y)
tf.add_n([x, y, x])
tf.divide(x, y)
tf.truediv(i, 2)
tf.div(x, y)
tf.div(i, 2)
tf.floordiv(i, 2)
tf.floormod(i, 3)
tf.math.mod(x, 2.0)
tf.pow(p, 2.0)
tf.maximum(x, y)
tf.maximum(x, 0)
tf.minimum(1.0, x)
tf.math.squared_difference(x, y)
tf.math.divide_no_nan(y, x)
tf.atan2(x, y)
tf.equal(i, 1)
tf.not_equal(i, 1)
tf.greater(x, y)
tf.greater_equal(x, 0.0)
tf.less(x, y)
tf.less_equal(i, 2)
tf.logical_and(c, tf.logical_not(c))
tf.logical_or(c, x > 0)
tf.math.logical_xor(c, x > 0)
tf.where(c, x, y)
tf.where(c, x, 0.0)
tf.where(c, 1.0, 0.0)
tf.where(c)
tf.where(tf.greater_equal(lens, 2), 1, 0)
tf.cast(x, tf.int32)
tf.cast(c, "float32")
tf.cast(i, dtype=tf.int64)
tf.to_float(i)
tf.to_int32(x)
tf.identity(x)
tf.stop_gradient(x)
tf.clip_by_value(x, -1.0, 1.0)
tf.clip_by_value(x, clip_value_min=0.0, clip_value_max=2.0)
tf.reduce_sum(x)
tf.reduce_sum(x, axis=1)
tf.reduce_sum(x, axis=-1, keepdims=True)
tf.reduce_sum(x, axis=[0, 1], keep_dims=True)
tf.reduce_sum(i)
tf.reduce_mean(x, 0)
tf.reduce_mean(i, axis=1)
tf.reduce_max(x, axis=1)
tf.reduce_min(x)
tf.reduce_prod(y, axis=0)
tf.reduce_any(c, axis=1)
tf.reduce_all(c)
tf.reduce_logsumexp(x, axis=-1)
tf.math.reduce_std(x, axis=0)
tf.math.reduce_variance(x)
tf.math.count_nonzero(x, axis=1)
tf.argmax(x, axis=-1)
tf.argmax(x)
tf.argmin(x, axis=1, output_type=tf.int32)
tf.cumsum(z, axis=1)
tf.cumsum(z, axis=1, exclusive=True)
tf.cumsum(z, axis=-1, reverse=True)
tf.math.cumprod(y, axis=1)
tf.sort(x, axis=-1)
tf.sort(x, axis=0, direction="DESCENDING")
tf.argsort(x)
tf.matmul(x, y, transpose_b=True)
tf.matmul(z, z, transpose_a=True)
tf.tensordot(z, x, [[1], [1]])
tf.tensordot(x, tf.transpose(y), 1)
tf.einsum("btf,bt->bf", z, x)
tf.shape(z)
tf.shape(z)[1]
tf.shape(z)[1] * 2
tf.size(z)
tf.rank(z)
tf.to_float(tf.shape(z)[0])
tf.reshape(z, [tf.shape(z)[0], -1])
tf.reshape(z, tf.concat([tf.shape(z)[:1], [12]], axis=0))
tf.reshape(z, (2, 12))
tf.transpose(x)
tf.transpose(z, [2, 0, 1])
tf.transpose(z, perm=(1, 0, 2))
tf.expand_dims(x, -1)
tf.expand_dims(x, axis=1)
tf.squeeze(tf.expand_dims(x, 1), axis=1)
tf.squeeze(z[:1, :, :1])
x[:, tf.newaxis]
z[..., 0]
z[:, ::2, 1:]
tf.broadcast_to(x[:, :1], [2, 3])
tf.tile(x, [1, 2])
tf.tile(x[:, tf.newaxis], [1, tf.shape(z)[1], 1])
tf.repeat(x, 2, axis=1)
tf.repeat(x, [1, 2], axis=0)
tf.concat([x, y], axis=-1)
tf.concat([x, y], 0)
tf.concat(values=[x, tf.zeros_like(y)], axis=1)
tf.stack([x, y])
tf.stack([x, y], axis=-1)
tf.stack([tf.shape(x)[0], 3])
tf.unstack(x, axis=1)[2]
tf.split(z, 2, axis=-1)[1]
tf.split(z, [1, 3], axis=2)[1]
tf.split(z, [1, -1], axis=2)[1]
tf.slice(z, [0, 1, 0], [2, -1, 3])
tf.pad(x, [[1, 0], [0, 2]])
tf.pad(x, [[0, 0], [2, 1]], constant_values=7.0)
tf.pad(x, [[0, 0], [2, 2]], mode="REFLECT")
tf.pad(x, ((0, 0), (3, 3)), "SYMMETRIC")
tf.reverse(z, axis=[1])
tf.reverse(z, [-1, 0])
tf.reverse_sequence(z, lens, seq_axis=1, batch_axis=0)
tf.reverse_sequence(z, lens, seq_axis=1)
tf.roll(z, shift=1, axis=1)
tf.gather(x, [1, 0, 1])
tf.gather(x, i % 3, axis=1)
tf.gather(z, i % 3, axis=1, batch_dims=1)
tf.gather(z, i % 3, batch_dims=1)
tf.gather(x, lens - 1, axis=-1)
tf.gather_nd(x, [[0, 1], [1, 2]])
tf.gather_nd(x, [[1]])
tf.gather_nd(z, i[:, :1] % 3, batch_dims=1)
tf.scatter_nd([[0], [2], [0]], [1.0, 2.0, 3.0], [4])
tf.scatter_nd([[0, 1]], [5.0], [2, 2])
tf.boolean_mask(x, c)
tf.boolean_mask(x, b)
tf.boolean_mask(x, [True, False, True], axis=1)
tf.one_hot(i, 3)
tf.one_hot(i, depth=3, dtype=tf.int32)
tf.one_hot(i, 3, on_value=2.0, off_value=-1.0)
tf.one_hot(i, 3, axis=1)
tf.sequence_mask(lens)
tf.sequence_mask(lens, maxlen=4)
tf.sequence_mask(lens, tf.shape(z)[1], dtype=tf.float32)
tf.sequence_mask([[1, 2], [0, 3]], 3)
tf.constant(3)
tf.constant([1.0, 2.0])
tf.constant(0.5, shape=[2, 2])
tf.constant([1, 2, 3, 4], shape=[2, 2], dtype=tf.float32)
tf.convert_to_tensor([1, 2])
tf.convert_to_tensor(numpy.array([1.0, 2.0]))
tf.zeros([2, 3])
tf.zeros(tf.shape(x), dtype=tf.int32)
tf.ones((2,)) + tf.ones([1])
tf.zeros_like(i)
tf.ones_like(x, dtype=tf.int32)
tf.fill([2, 2], 3.0)
tf.fill(tf.shape(x), True)
tf.range(5)
tf.range(tf.shape(z)[1])
tf.range(1, 7, 2)
tf.range(3.0)
tf.range(0, 3, dtype=tf.float32)
tf.linspace(0.0, 1.0, 5)
tf.eye(3)
tf.eye(2, 3)
tf.eye(2, batch_shape=[2])
tf.meshgrid(tf.range(2), tf.range(3))[0]
tf.meshgrid([1, 2], [3, 4, 5], indexing="ij")[1]
tf.linalg.band_part(tf.ones([3, 3]), -1, 0)
tf.linalg.band_part(tf.ones([3, 4]), 0, 1)
tf.matrix_band_part(tf.ones([3, 3]), 1, 1)
tf.linalg.diag_part(tf.matmul(x, y, transpose_b=True))
tf.linalg.matrix_transpose(z)
tf.nn.top_k(x, 2).values
tf.nn.top_k(x, k=2)[1]
tf.nn.top_k([1.0, 3.0, 3.0], 2)[1]
tf.nn.l2_normalize(x, axis=-1)
tf.math.l2_normalize(x, 0)
tf.nn.l2_loss(x)
tf.nn.moments(x, [0])[1]
tf.nn.moments(x, axes=[1], keepdims=True)[0]
tf.nn.bias_add(z, [1.0, 2.0, 3.0, 4.0])
tf.nn.embedding_lookup(z[0], i % 3)
tf.nn.in_top_k(lens - 1, x, 1)
tf.compat.v1.nn.in_top_k(x, lens - 1, 1)
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i % 3, logits=z[:, :, :3])
tf.nn.softmax_cross_entropy_with_logits(labels=p, logits=x)
tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=x)
tf.cond(tf.reduce_any(c), lambda: x, lambda: y)
tf.cond(tf.shape(x)[0] > 5, true_fn=lambda: x, false_fn=lambda: y)
tf.while_loop(lambda n, v: tf.less(n, 3), lambda n, v: (n + 1, v * 2.0), (0, x))[1]
tf.while_loop(cond=lambda n: n < 3, body=lambda n: n + 1, loop_vars=[tf.constant(0)])[0]
tf.compat.v1.while_loop(lambda n: n < 3, lambda n: n + 1, [tf.constant(0)])
tf.map_fn(lambda row: row * 2.0, x)
tf.nest.map_structure(lambda v: v + 1, {"a": x, "b": [y]})["b"][0]
tf.debugging.check_numerics(x, "x")
tf.Print(x, [tf.shape(x)], "shape of x:", summarize=3)
tf.compat.v1.where(b, x, y)
tf.compat.v1.argmax(x, 1)
tf_compat.v1.log(p + 1.0)
tf.cast(x.dtype == tf.float32, tf.int32)
tf.random.stateless_uniform([2, 3], seed=[1, 2]) * 0
tf.random.uniform([2], 3, 4, dtype=tf.int32)
tf.random_uniform(shape=(2,), minval=3, maxval=4, dtype=tf.int32)
tf.random.normal([2, 2], stddev=0.0, mean=3.0)
tf.truncated_normal([3]) * 0
tf.reduce_sum(tf.random.shuffle(x), axis=0)
tf.nn.dropout(x, rate=0.0)
safe_log(p)
safe_log(p, eps=1e-3)
safe_exp(x * 100)
where_bc(b, x, y)
where_bc(c, 0.0, x)
where_bc(x > 0, x, 0.0)
nd_indices(lens)
nd_indices(i, batch_axis=1)
tf.gather_nd(z, nd_indices(lens - 1))
tile_transposed(x, axis=1, multiples=2)
expand_dims_unbroadcast(x, axis=1, dim=2)
expand_dims_unbroadcast(x, -1, tf.shape(x)[0])
flatten_with_seq_len_mask(z, lens, batch_dim_axis=0, time_dim_axis=1)
flatten_with_seq_len_mask(tf.transpose(z, [1, 0, 2]), lens, time_major=True)
tf.stack(get_shape(z))
get_shape_dim(z, -1) + tf.constant(0)
sequence_mask(lens)
sequence_mask_time_major(lens, maxlen=4)
swapaxes(z, 0, 2)
move_axis(z, 0, -1)
dot(z, tf.ones([4, 2]))
dot(x, y, transpose_b=True)
matrix_triangular((3, 3), lower=True)
matrix_triangular((2, 3), dtype=tf.int32, upper=True)
filter_ended_scores(x, b)
to_int32_64(tf.cast(i, tf.int64))
dropout(x, keep_prob=1.0)
check_input_dim(x, 1, 3)
check_shape_equal(x, y)
cond(True, lambda: x, lambda: y)
py_print(x, ["x", x], message="here")
numpy.float32(2) * x
"""
SMOOTH = "x y p z".split()


@pytest.fixture(scope="module")
def on_tensorflow() -> dict[str, Any]:
    """expression -> value, and gradients of its sum for SMOOTH; all in one graph, which takes most of the time"""
    results = {}
    with v1.Graph().as_default(), v1.Session() as session, run_ctx(RunCtx(train_flag=True, step=3)):
        inputs = {name: tf.constant(value) for name, value in INPUTS.items()}
        for expression in EXPRESSIONS.strip().splitlines():
            value = eval(expression, {**tf_user_code.eval_globals(), **inputs})
            grads = []
            if value.dtype.is_floating and "random" not in expression:
                xs = [inputs[name] for name in SMOOTH]
                grads = tf.gradients(tf.reduce_sum(value), xs, unconnected_gradients="zero")
            results[expression] = (value, [tf.convert_to_tensor(g) for g in grads])
        return session.run(results)


@pytest.mark.filterwarnings("ignore")  # TensorFlow deprecates some of these names
@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_an_expression_is_what_it_is_on_tensorflow(expression: str, on_tensorflow: dict[str, Any]) -> None:
    """shape, dtype, value; and the gradient of its sum"""
    expected, expected_grads = on_tensorflow[expression]
    inputs = {name: torch.tensor(value, requires_grad=name in SMOOTH) for name, value in INPUTS.items()}
    with run_ctx(RunCtx(train_flag=True, step=3)):
        value = eval(expression, {**eval_globals(), **inputs})
    assert isinstance(value, torch.Tensor)
    result = value.detach().numpy()
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    if expected_grads and value.requires_grad:
        xs = [inputs[name] for name in SMOOTH]
        grads = torch.autograd.grad(value.sum(), xs, materialize_grads=True)
        for got, wanted in zip(grads, expected_grads, strict=True):
            numpy.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-4)
    elif expected_grads:
        assert not any(g.any() for g in expected_grads)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tf.reduce_sun(x)", 'tf.reduce_sun is not among .* Did you mean "reduce_sum"'),
        ("tf.nn.ctc_loss(x)", "tf.nn.ctc_loss is not among the functions of TensorFlow that can be used on PyTorch"),
        ("tf.contrib.layers.layer_norm(x)", "tf.contrib is not"),
        ("tf.compat.v1.get_variable('w', [3])", "tf.get_variable is not"),
    ],
)
def test_other_names_are_errors_that_name_the_function(expression: str, message: str) -> None:
    """With the nearest one that is there."""
    with pytest.raises(ConfigError, match=message):
        eval(expression, {**eval_globals(), "x": torch.zeros(2)})
    assert not hasattr(tf_on_torch, "reduce_sun")


def test_helpers_are_those_of_tfutil() -> None:
    """All that eval strings may use."""
    from_tfutil = {name for name in tf_user_code.eval_globals() if name in tf_user_code.helpers.__all__}
    assert set(HELPERS) <= from_tfutil
    assert {"where_bc", "nd_indices", "safe_log", "get_shape", "Data"} <= set(HELPERS)


def test_functions_by_name() -> None:
    """nn before the rest; no namespaces, no types"""
    assert find_function("relu") is tf_on_torch.nn.relu
    assert find_function("log_sigmoid") is tf_on_torch.log_sigmoid
    for name in ("no_such", "nn", "float32", "Tensor", "newaxis"):
        assert find_function(name) is None


def test_random_numbers_are_those_of_the_step() -> None:
    """Two calls differ, two steps differ, the same step does not; a seed of the call counts too."""

    def draw(step: int, seed: int | None = None) -> list[Any]:
        with run_ctx(RunCtx(step=step)):
            return [tf_on_torch.random.uniform([100], seed=seed).tolist() for _ in range(2)]

    first, again, later = draw(1), draw(1), draw(2)
    assert first == again and first[0] != first[1] and first[0] != later[0]
    assert draw(1, seed=5)[0] == draw(1, seed=5)[1] != draw(2, seed=5)[0]


@pytest.mark.parametrize(
    ("expression", "mean", "stddev", "low", "high"),
    [
        ("tf.random.uniform([20000])", 0.5, 0.289, 0, 1),
        ("tf.random_uniform([20000], -1, 3)", 1, 1.155, -1, 3),
        ("tf.random.uniform([20000], 2, tf.constant(5), dtype=tf.int32)", 3, 0.816, 2, 4),
        ("tf.random.normal([20000], 1.0, 2.0)", 1, 2, -20, 20),
        ("tf.random.truncated_normal([20000], 1.0, 2.0)", 1, 1.759, -3, 5),
        ("tf.random.stateless_uniform([20000], [1, 2])", 0.5, 0.289, 0, 1),
        ("tf.random.stateless_normal([20000], tf.constant([1, 2]))", 0, 1, -10, 10),
        ("tf.nn.dropout(tf.ones([20000]), 0.9)", 1, 3, 0, 10.1),
        ("tf.compat.v1.nn.dropout(tf.ones([20000]), 0.9)", 1, 0.333, 0, 1.12),
        ("dropout(tf.ones([20000]), keep_prob=0.5)", 1, 1, 0, 2),
        ("dropout(tf.ones([20000]), 0.5, apply_correction_factor=False)", 0.5, 0.5, 0, 1),
    ],
)
def test_random_numbers_are_distributed_as_they_should_be(
    expression: str, mean: float, stddev: float, low: float, high: float
) -> None:
    """20,000 numbers: mean and standard deviation to 4 % of the latter, and their range."""
    with run_ctx(RunCtx(train_flag=True, step=7)):
        values = eval(expression, eval_globals()).numpy().astype("float64")
    assert abs(values.mean() - mean) < 0.04 * stddev and abs(values.std() - stddev) < 0.04 * stddev
    assert values.min() >= low and values.max() <= high


def test_noise_may_be_shared() -> None:
    """along axes of size 1"""
    ones = torch.ones(4, 50)
    with run_ctx(RunCtx(train_flag=True)):
        for y in (HELPERS["dropout"](ones, 0.5, noise_shape=(1, None)), tf_v1.nn.dropout(ones, 0.5, [1, 50])):
            assert (y == y[:1]).all() and (y != y[:, :1]).any()
    with run_ctx(RunCtx(train_flag=False)):
        assert HELPERS["dropout"](ones, 0.5, cond_on_train=True) is ones


@pytest.mark.parametrize(
    "expression",
    ["tf.debugging.assert_equal(x, 1.0, message='sizes')", "tf.compat.v1.assert_equal(x, 1.0, message='sizes')"],
)
def test_failed_checks_are_errors(expression: str) -> None:
    """x = [1, 2]"""
    names = {**eval_globals(), "x": torch.tensor([1.0, 2.0])}
    with pytest.raises(UserError, match=r"sizes: tf.assert_equal: \[1. 2.\], 1"):
        eval(expression, names)
    assert eval("tf.debugging.assert_less(x, 3.0)", names) is None
    with pytest.raises(UserError, match="tf.Assert failed: 5"):
        eval("tf.Assert(x[0] > 1, [5])", names)
    with pytest.raises(UserError, match="here: the value is inf or nan"):
        eval("tf.check_numerics(x / 0.0, 'here')", names)
    with pytest.raises(DimError, match=r"axis 0 of shape \[2\] must have size 3"):
        HELPERS["check_input_dim"](torch.ones(2), 0, 3)
    with pytest.raises(DimError, match=r"\[2\] and \[3\]"):
        HELPERS["check_shape_equal"](torch.ones(2), torch.ones(3))


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    """The text before the values."""
    x = torch.tensor([1, 2])
    assert tf_on_torch.Print(x, [x, x.sum()], "x:") is x
    assert HELPERS["py_print"](x, ["x", x], message="here") is x
    tf_on_torch.print("x", x)
    assert capsys.readouterr().out == "x: [1 2] 3\nhere x [1 2]\nx [1 2]\n"


def test_what_orders_operations_does_nothing() -> None:
    """Here all is computed in the order in which it stands."""
    with tf_on_torch.control_dependencies([tf_on_torch.no_op()]), tf_on_torch.name_scope("a"):
        with HELPERS["reuse_name_scope"]("b"):
            assert tf_on_torch.group(1, 2) is None
