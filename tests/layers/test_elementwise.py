"""gating, weighted_sum, elemwise_prod, scaled_grad: values and errors.

X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]]. More values: tests/peer_cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net, X, out

from .common import close, message


def test_gating() -> None:
    """(1 2): 1 * sigmoid(2) = .880797."""
    close(out({"class": "gating", "activation": "identity", "from": "data"})[0, 0], [0.880797])


def test_weighted_sum_over_windows_of_time() -> None:
    """W = (1 10 100): 1 * x[t - 1] + 10 * x[t] + 100 * x[t + 1], zeros in front. "valid": two frames less."""
    for padding, expected, lens in [
        ("same", [[310, 420], [31 + 10000, 42 + 10000]], [2, 3]),
        ("valid", [[31 + 10000, 42 + 10000]], [0, 1]),
    ]:
        layer = {"class": "weighted_sum", "axes": ["T"], "size": [3], "padding": padding, "from": "data"}
        with Net({"output": layer}) as net:
            net.set(output__W=[1, 10, 100])
            close(net.out()[0, : len(expected)], expected)
            assert net.lens() == [lens]


def test_weighted_sum_masks_at_the_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last frame of sequence 1 has nothing behind it."""
    monkeypatch.setattr(BehaviorVersion, "_version", 31)
    layer = {"class": "weighted_sum", "axes": ["T"], "size": [3], "padding": "same", "from": "data"}
    with Net({"output": layer}) as net:
        net.set(output__W=[1, 10, 100])
        close(net.out()[0, :2], [[310, 420], [31, 42]])


def test_weighted_sum_over_two_axes_with_windows() -> None:
    """All windows of 2 x 2 of [[0 1 2] [3 4 5]]: weights 1/4 give the means 2 and 3."""
    data = {"data": {"shape": (2, 3)}}
    layer = {"class": "weighted_sum", "axes": ["dim:2", "dim:3"], "size": (2, 2), "from": "data"}
    with Net({"output": layer}, data) as net:
        close(net.out(feed=net.feed(data=[[[0, 1, 2], [3, 4, 5]]])), [[[2, 3]]])


def test_elemwise_prod() -> None:
    """(1 2) (10 100) = (10 200)"""
    with Net({"output": {"class": "elemwise_prod", "axes": "F", "from": "data"}}) as net:
        close(net.get("output/W"), [1, 1])
        net.set(output__W=[10, 100])
        close(net.out()[0, 0], [10, 200])


@pytest.mark.parametrize(("scale", "factor"), [(-0.5, -0.5), (0, None), (2.0, 2.0), ("scalar", 3.0)])
def test_scaled_grad(scale: Any, factor: float | None) -> None:
    """The gradient of the sum of x^2 / 2 is x, times the scale; 0: none at all."""
    network = {
        "scalar": {"class": "constant", "value": 3.0},
        "output": {"class": "scaled_grad", "scale": scale, "from": "data"},
    }
    with Net(network, train=True) as net:
        x, y = net.net.extern_data.data["data"].placeholder, net.layers["output"].output.placeholder
        (grad,) = tf.gradients(tf.reduce_sum(y * y / 2), x)
        close(net.out(), X)
        if factor is None:
            assert grad is None
        else:
            close(net.session.run(grad, net.feed()), X * factor)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({"class": "gating"}, 'option "activation" is missing (None: no function)'),
        (
            {"class": "gating", "activation": None, "from": ["data", "one"]},
            "the input must have an even number of features, but is"
            " [B,T|'time:var:extern_data:data'[B],F|F'feature:data+one:out'(3)] float32",
        ),
        ({"class": "weighted_sum"}, 'option "axes" is missing'),
        (
            {"class": "weighted_sum", "axes": "T"},
            "axis 'time:var:extern_data:data'[B] is dynamic: option \"size\" is needed",
        ),
        (
            {"class": "weighted_sum", "axes": "F", "size": 3},
            "size must be 1 integers > 0, one for each axis, but is 3",
        ),
        (
            {"class": "elemwise_prod", "axes": "F", "size": (3,)},
            "size is [3], but the axes are F'feature:data'(2)",
        ),
        ({"class": "scaled_grad"}, 'option "scale" is missing'),
        (
            {"class": "scaled_grad", "scale": "one"},
            "scale must have no axes, but layer 'one' is [B,T|'time:var:extern_data:data'[B],F|F'one:out'(1)] float32",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """Option, value, axes."""
    one = {"class": "linear", "activation": None, "n_out": 1, "from": "data"}
    assert message({"from": "data", **layer}, {"one": one}) == expected
