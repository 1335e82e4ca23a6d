"""Layers that work with gradients. Expected numbers of the meta losses: one step of gradient descent with learning
rate 1 in the reference implementation, with the same parameters and data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net
from tests.network.peer_case import param_value_of_shape

X = numpy.array(
    [
        [[1.6243454, -0.6117564], [-0.5281718, -1.0729686], [0.8654076, -2.3015387]],
        [[1.7448118, -0.7612069], [0.3190391, -0.2493704], [1.4621079, -2.0601406]],
    ],
    "float32",
)
LENS = [3, 2]
LINEAR = {"class": "linear", "n_out": 2, "activation": None}
LOSS = {"class": "eval", "eval": "source(0) ** 2", "loss": "as_is"}
SYNTHETIC = {
    "l": {**LINEAR, "from": "data"},
    "p": {**LINEAR, "from": "l"},
    "s": {"class": "synthetic_gradient", "from": "l", "gradient": "p"},
    "output": {**LOSS, "from": "s"},
}
TIKHONOV = {
    "l": {**LINEAR, "from": "data"},
    "s": {"class": "tikhonov_regularization", "from": "l"},
    "output": {**LOSS, "from": "s"},
}


@pytest.fixture(autouse=True)
def own_behavior_version() -> Iterator[None]:
    BehaviorVersion._reset()
    yield
    BehaviorVersion._reset()


def gradients_on_tf(network: dict[str, Any]) -> dict[str, numpy.ndarray]:
    with Net(network, train=True) as net:
        params = {var.op.name: var for var in net.net.get_params_list()}
        net.set(**{key.replace("/", "__"): _value(key, var.shape.as_list()) for key, var in params.items()})
        grads = tf.gradients(net.net.get_objective(), list(params.values()))
        found = {key: tf.convert_to_tensor(g) for key, g in zip(params, grads, strict=True) if g is not None}
        return net.session.run(found, net.feed(data=X, lens={"data": LENS}))


def gradients_on_torch(network: dict[str, Any]) -> dict[str, numpy.ndarray]:
    torch = pytest.importorskip("torch")
    from returnn.torch.backend import backend  # noqa: PLC0415 - needs torch

    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), train_flag=True, backend=backend)
    net.construct_from_dict(network)
    params = net.param_store.named()
    for key, var in params.items():
        backend.assign(var, torch.tensor(_value(key, list(var.shape))))
    params = {key: var for key, var in params.items() if var.requires_grad}
    with net.step({"data": X, "data:size1": numpy.array(LENS, "int32")}, train=True):
        grads = torch.autograd.grad(net.get_objective(), list(params.values()), allow_unused=True)
    return {key: g.numpy() for key, g in zip(params, grads, strict=True) if g is not None}


def _value(name: str, shape: list[int]) -> numpy.ndarray:
    return param_value_of_shape(name, tuple(shape), numpy.dtype("float32"), 0.3, 0)


BOTH = pytest.mark.parametrize("gradients", [gradients_on_tf, gradients_on_torch], ids=["tf", "torch"])


@BOTH
@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (
            1.0,
            {
                "l/W": [[-2.4042830, -0.7923001], [2.8000703, 0.9308074]],
                "l/b": [-2.3813539, -0.9146572],
                "p/W": [[-0.0992030, 0.1359611], [0.4625292, -0.7410347]],
                "p/b": [-0.6434553, 1.0559453],
            },
        ),
        (
            0.5,
            {
                "l/W": [[-2.5576375, -0.5782691], [2.9257162, 0.7193397]],
                "l/b": [-2.5126855, -0.7058088],
                "p/W": [[-0.0496015, 0.0679805], [0.2312646, -0.3705174]],
                "p/b": [-0.3217276, 0.5279726],
            },
        ),
    ],
)
def test_synthetic_gradient(gradients: Any, scale: float, expected: dict[str, Any]) -> None:
    """The layer in front gets what the other one predicts, also behind a sequence's end, and that one learns."""
    network = {**SYNTHETIC, "s": {**SYNTHETIC["s"], "meta_loss_scale": scale}}
    found = gradients(network)
    assert set(found) == set(expected)
    for key, value in expected.items():
        numpy.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)


@BOTH
def test_synthetic_gradient_without_padding(gradients: Any) -> None:
    """From version 31 on: s - g of the five real frames, g = 2 l, s = p; / 10 entries * 2, summed: gradient of p/b."""
    BehaviorVersion.set(31)
    found = gradients(SYNTHETIC)
    w, b = _value("l/W", [2, 2]), _value("l/b", [2])
    frames = numpy.concatenate([X[0], X[1, :2]]) @ w + b
    predicted = frames @ _value("p/W", [2, 2]) + _value("p/b", [2])
    numpy.testing.assert_allclose(found["p/b"], (2 / 10 * (predicted - 2 * frames)).sum(0), rtol=1e-5)
    error = 2 / 10 * (predicted - 2 * frames) @ _value("p/W", [2, 2]).T
    numpy.testing.assert_allclose(found["l/b"], (predicted + error).sum(0), rtol=1e-5)


@BOTH
@pytest.mark.parametrize(
    ("scale", "weights", "bias"),
    [
        (1.0, [[4.9907508, -18.8786564], [-2.0832639, 21.4305153]], [3.6501424, -20.4978943]),
        (0.5, [[3.3271668, -12.5857706], [-1.3888426, 14.2870102]], [2.4334280, -13.6652632]),
    ],
)
def test_tikhonov_regularization(gradients: Any, scale: float, weights: Any, bias: Any) -> None:
    """L = sum l^2, g = 2 l: scale / 2 * sum g^2 = 2 scale sum l^2, so gradients are (1 + 2 scale) times those of L."""
    found = gradients({**TIKHONOV, "s": {**TIKHONOV["s"], "meta_loss_scale": scale}})
    numpy.testing.assert_allclose(found["l/W"], weights, rtol=1e-5)
    numpy.testing.assert_allclose(found["l/b"], bias, rtol=1e-5)


def test_tikhonov_in_evaluation() -> None:
    """Only the loss counts: sum l^2 over the real frames; in training steps of the same graph 2 scale times more."""
    with Net(TIKHONOV, train="dynamic", evaluation=True) as net:
        net.set(l__W=numpy.eye(2), l__b=0, s__dummy=5)
        feed = net.feed(data=X, lens={"data": LENS})
        squares = (X[0] ** 2).sum() + (X[1, :2] ** 2).sum()
        objective = net.net.get_objective()
        assert net.session.run(objective, feed) == pytest.approx(squares, rel=1e-5)
        assert net.session.run(objective, {**feed, net.train_flag: True}) == pytest.approx(3 * squares, rel=1e-5)


def test_gradient_of_a_square() -> None:
    """y = sum over all of x^2: 2 x"""
    network = {
        "square": {"class": "eval", "eval": "source(0) ** 2", "from": "data"},
        "sum": {"class": "reduce", "mode": "sum", "axis": ["B", "T", "F"], "from": "square"},
        "output": {"class": "gradient", "y": "sum", "x": "data"},
    }
    with Net(network) as net:
        value = net.out(feed=net.feed(data=X, lens={"data": [3, 3]}))
    numpy.testing.assert_allclose(value, 2 * X, rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "gradient", "y": "other", "x": "data"}, "y must be a scalar, but has the dims"),
        ({"class": "gradient", "y": "sum", "x": "other"}, "does not depend on"),
        ({"class": "gradient", "y": "sum"}, 'option "x" is missing'),
        ({"class": "synthetic_gradient", "from": "data"}, 'option "gradient" is missing'),
        ({"class": "synthetic_gradient", "from": "data", "gradient": "wide"}, "must have the axes of the input"),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    network = {
        "sum": {"class": "reduce", "mode": "sum", "axis": ["B", "T", "F"], "from": "data"},
        "other": {**LINEAR, "from": "data"},
        "wide": {**LINEAR, "from": "data", "n_out": 3},
        "output": layer,
    }
    with pytest.raises(ConfigError, match=r'network\["output"\].*' + message):
        Net(network)


def test_numpy_has_no_gradients() -> None:
    """It says so."""
    network = {
        "sum": {"class": "reduce", "mode": "sum", "axis": ["B", "T", "F"], "from": "data"},
        "output": {"class": "gradient", "y": "sum", "x": "data"},
    }
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=numpy_backend)
    net.construct_from_dict(network)
    with pytest.raises(NotImplementedError, match="backend numpy: no operation 'gradient'"):
        with net.step({"data": X, "data:size1": numpy.array(LENS, "int32")}, train=False):
            pass
