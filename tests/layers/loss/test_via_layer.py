"""A loss whose value and gradient come from another layer."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf
from returnn.util.errors import ConfigError
from tests.network.net import Net

EXTERN_DATA = {"data": {"dim": 3}, "classes": {"dim": 3, "sparse": True, "available_for_inference": False}}
X = numpy.log([[[1, 2, 1], [1, 1, 2], [7, 7, 7]], [[2, 1, 1], [8, 1, 1], [1, 1, 8]]]).astype("float32")
LENS = [2, 3]


def network(**opts: Any) -> dict[str, Any]:
    """The alignment is that of a staircase: class 0 in the first frame, 1 in the second, 2 in the third."""
    return {
        "probs": {"class": "activation", "activation": "softmax", "from": "data"},
        "bw": {"class": "fast_bw", "align_target": "staircase", "from": "log_probs"},
        "log_probs": {"class": "activation", "activation": "log_softmax", "from": "data"},
        "half": {"class": "eval", "eval": "source(0) * 0.5", "from": "bw", "copy_output_loss_from_source_idx": 0},
        "output": {"class": "copy", "from": "probs", "loss": "via_layer", "loss_opts": opts, **opts.pop("layer", {})},
    }


def step(**opts: Any) -> tuple[dict[str, Any], numpy.ndarray]:
    """fetches, and gradient of the objective for the data, that is for the input of softmax"""
    with Net(network(**opts), EXTERN_DATA, train=True) as net:
        (grad,) = tf.gradients(net.net.get_objective(), net.net.extern_data.data["data"].placeholder)
        lens = {"data": LENS, "classes": LENS}
        feed = net.feed(lens, data=X, classes=numpy.zeros((2, 3)))
        return net.fetches(feed), net.session.run(tf.convert_to_tensor(grad), feed)


PROBS = numpy.array(
    [[[0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [0, 0, 0]], [[0.5, 0.25, 0.25], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]]
)
ALIGNMENT = numpy.array([[[1, 0, 0], [0, 1, 0], [0, 0, 0]], numpy.eye(3)])


def test_value_is_that_of_the_other_layer() -> None:
    """-log(1/4 * 1/4) and -log(.5 * .1 * .8); by the 5 frames; no target, so no error."""
    got, _ = step(align_layer="bw")
    assert got["cost:output"] == pytest.approx(-numpy.log(1 / 16 * 0.04))
    assert got["loss_norm_factor:output"] == pytest.approx(0.2)
    assert "error:output" not in got


def test_error_with_a_target() -> None:
    """The best classes are 1 2, 0 0 2; the target is 0 everywhere."""
    got, _ = step(align_layer="bw", layer={"target": "classes"})
    assert got["error:output"] == 3


@pytest.mark.parametrize("wanted", [True, "softmax"])
def test_gradient_at_the_input_of_softmax(wanted: Any) -> None:
    """Output - alignment, times the scale; zero on padding."""
    _, grad = step(align_layer="bw", loss_wrt_to_act_in=wanted, scale=0.5)
    numpy.testing.assert_allclose(grad, 0.5 * (PROBS - ALIGNMENT), atol=1e-6)


def test_gradient_at_the_output() -> None:
    """The same through softmax: y * (g - sum of y * g)."""
    _, grad = step(align_layer="bw")
    signal = PROBS - ALIGNMENT
    expected = PROBS * (signal - (PROBS * signal).sum(axis=-1, keepdims=True))
    numpy.testing.assert_allclose(grad, expected, atol=1e-6)


def test_gradient_that_a_layer_gives() -> None:
    _, grad = step(error_signal_layer="half", loss_wrt_to_act_in=True)
    numpy.testing.assert_allclose(grad, 0.5 * ALIGNMENT, atol=1e-6)


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        ({}, "needs either align_layer or error_signal_layer"),
        ({"align_layer": "bw", "error_signal_layer": "half"}, "needs either align_layer or error_signal_layer"),
        ({"align_layer": "log_probs"}, r"layer 'log_probs' \(class 'activation'\) comes with no loss"),
        (
            {"align_layer": "bw", "loss_wrt_to_act_in": "tanh"},
            "is 'tanh', but the activation of the layer is 'softmax'",
        ),
        ({"align_layer": "bww"}, "layer 'bww' not found"),
    ],
)
def test_mistakes(opts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        step(**opts)
