"""Functions of configs that call TensorFlow: on PyTorch they give what they give on TensorFlow."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from returnn.torch.backend.user_functions import config_on_torch, on_torch  # noqa: E402 - needs torch

CONFIG = """
import functools
import tensorflow as tf
from TFUtil import where_bc
import numpy

factor = 3
calls = 0


def scaled(x, dtype=tf.float32):
    return tf.cast(x, dtype) * factor


def mask(x, batch_axis, axis, pos, max_amount):
    ndim = x.batch_ndim if hasattr(x, "batch_ndim") else 3
    n_batch, dim = tf.shape(x)[batch_axis], tf.shape(x)[axis]
    amount = tf.random_uniform(shape=(n_batch,), minval=max_amount, maxval=max_amount + 1, dtype=tf.int32)
    pos2 = tf.minimum(pos + amount, dim)
    idxs = tf.expand_dims(tf.range(0, dim), 0)
    cond = tf.logical_and(
        tf.greater_equal(idxs, tf.expand_dims(pos, 1)), tf.less(idxs, tf.expand_dims(pos2, 1)))
    if batch_axis > axis:
        cond = tf.transpose(cond)
    cond = tf.reshape(cond, [tf.shape(x)[i] if i in (batch_axis, axis) else 1 for i in range(ndim)])
    return where_bc(cond, 0.0, x)


def random_mask(x, batch_axis, axis, min_num, max_num, max_dims):
    from returnn.tf.compat import v1 as tf
    n_batch = tf.shape(x)[batch_axis]
    num = tf.random_uniform(shape=(n_batch,), minval=min_num, maxval=max_num + 1, dtype=tf.int32)
    z = -tf.log(-tf.log(tf.random_uniform((n_batch, tf.shape(x)[axis]), 0, 1)))
    _, indices = tf.nn.top_k(z, tf.reduce_max(num))
    _, x = tf.while_loop(
        cond=lambda i, _: tf.less(i, tf.reduce_max(num)),
        body=lambda i, x: (
            i + 1, tf.where(tf.less(i, num), mask(x, batch_axis, axis, indices[:, i], max_dims), x)),
        loop_vars=(0, x))
    return x


def with_imports(x):
    import tensorflow.compat.v1 as tf1
    import TFUtil
    import math
    from tensorflow import nn
    from tensorflow.compat import v1
    return tf1.log(nn.relu(x) + 1.0) * math.pi + v1.to_float(TFUtil.get_shape(x)[0])


def counting(x):
    global calls
    calls += 1
    return x + calls


def make():
    def inner(x):
        return inner(x - 1.0) if tf.reduce_max(x) > 3 else outer(x)

    def outer(x):
        return tf.tanh(x)

    return inner


class Scale:
    def __init__(self):
        self.factor = 5.0

    def __call__(self, x):
        return x

    def times(self, x):
        return tf.multiply(x, self.factor)


class Base:
    def __init__(self, factor):
        self.factor = factor

    @property
    def double(self):
        return tf.constant(self.factor) * 2.0

    @staticmethod
    def squared(x):
        return tf.square(x)

    def __call__(self, x):
        return tf.nn.relu(x) + self.double


class Derived(Base):
    def __call__(self, x):
        return super().__call__(x) * self.factor + self.squared(x)


def with_class(x):
    assert isinstance(Derived(3.0), Base)
    return Derived(3.0)(x)


nested = make()
method = Scale().times
part = functools.partial(scaled, dtype=tf.float64)
activation = tf.nn.relu
unknown = tf.nn.ctc_loss


def keyword_only(x, *, dtype=tf.int32):
    return tf.cast(x, dtype)
"""


@pytest.fixture
def config() -> Config:
    """with CONFIG, as if it stood in a file"""
    names: dict[str, Any] = {"__name__": "__returnn_config__"}
    exec(compile(CONFIG, "/home/user/my.config", "exec"), names)
    return Config({key: value for key, value in names.items() if not key.startswith("__")})


X = numpy.array([[[0.5, -1.25], [2.0, 4.0], [7.0, 1.0]], [[0.0, 3.5], [-0.5, 1.0], [1.0, 2.0]]], "float32")


@pytest.mark.parametrize("name", "scaled with_imports with_class nested method part activation keyword_only".split())
@pytest.mark.filterwarnings("ignore")  # TensorFlow deprecates some of these names
def test_functions_give_what_they_give_on_tensorflow(name: str, config: Config) -> None:
    """Names of the module, imports, functions in functions, methods, partial ones, functions of TensorFlow itself."""
    x = X[:1, :2, :1] if name == "nested" else X  # where Python looks at the value
    with v1.Graph().as_default(), v1.Session() as session:
        function = (lambda x: tf.tanh(x)) if name == "nested" else config.typed_value(name)
        expected = session.run(function(tf.constant(x)))
    result = config_on_torch(config).typed_value(name)(torch.tensor(x))
    assert isinstance(result, torch.Tensor)
    assert result.numpy().dtype == expected.dtype
    numpy.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_masks_of_random_places(config: Config) -> None:
    """Along time, one mask of two frames for each sequence; gradients pass where nothing is masked."""
    random_mask = on_torch(config.typed_value("random_mask"))
    x = torch.ones(4, 9, 2, requires_grad=True)
    with run_ctx(RunCtx(train_flag=True, step=5)):
        y = random_mask(x, batch_axis=0, axis=1, min_num=1, max_num=1, max_dims=2)
    frames = y.detach().numpy()
    assert (frames == frames[..., :1]).all()
    assert all(row.sum() in (7, 8) for row in frames[..., 0])  # 8 where the mask goes beyond the last frame
    (grad,) = torch.autograd.grad(y.sum(), x)
    numpy.testing.assert_array_equal(grad.numpy(), frames)


def test_a_function_is_copied_once(config: Config) -> None:
    """And a copy is its own copy; what is no code of the user stays."""
    function = config.typed_value("scaled")
    copy = on_torch(function)
    assert copy is not function and on_torch(copy) is copy is on_torch(function)
    assert copy.__name__ == "scaled"
    for value in (numpy.mean, functools.reduce, Config.typed_value, run_ctx, 3, None, "text", len):
        assert on_torch(value) is value


def test_copies_share_what_they_set(config: Config) -> None:
    """Names of the module that a function assigns."""
    counting = on_torch(config.typed_value("counting"))
    assert [int(counting(torch.tensor(0))) for _ in range(3)] == [1, 2, 3]


def test_the_config_is_the_same(config: Config) -> None:
    """Only functions look different."""
    view = config_on_torch(config)
    view.typed_dict["new"] = 1
    assert config.typed_value("new") == 1
    assert view.typed_value("factor") == 3 and view.typed_value("nothing", "default") == "default"


def test_unknown_functions_are_named(config: Config) -> None:
    """When they are called."""
    function = on_torch(config.typed_value("unknown"))
    with pytest.raises(ConfigError, match="tf.ctc_loss is not among the functions of TensorFlow"):
        function(1)
