"""Losses of a beam search. There is no search yet, so a layer stands in for one that chooses."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.layers.base import LayerBase
from returnn.layers.registry import register_layer_class
from returnn.layers.search_choices import SearchChoices
from returnn.tensor import Tensor
from returnn.tf.compat import tf
from returnn.util.errors import ConfigError
from tests.network.net import Net

SCORES = numpy.log([[0.6, 0.2], [0.1, 0.3]]).astype("float32")
EXTERN_DATA = {
    "data": {"dim": 4, "sparse": True},
    "scores": {"shape": (2,), "available_for_inference": True},
    "classes": {"dim": 4, "sparse": True, "available_for_inference": False},
}


class ChoiceStandIn(LayerBase):
    """Each sequence of the source twice: two hypotheses. The second one has its first label changed to 0."""

    layer_class = "choice_stand_in"

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.search_choices = SearchChoices(self, 2)
        self.search_choices.set_beam_scores(self.network.get_extern_data("scores").raw_tensor)
        x = self.sources[0].output
        twice = tf.repeat(x.raw_tensor, 2, axis=0)
        first = tf.reshape(tf.range(tf.shape(twice)[0]) % 2, [-1, 1]) * tf.one_hot(
            [0], tf.shape(twice)[1], dtype=tf.int32
        )
        self.output.raw_tensor = twice * (1 - first)
        time = self.output.get_time_dim_tag()
        time.dyn_size = tf.repeat(x.get_sequence_lengths(), 2)

    @classmethod
    def get_out_data_from_opts(cls, *, name: str, sources: Any, **_: Any) -> Tensor:
        x = sources[0].output
        return Tensor(name, shape=(None,), dim=x.dim, sparse=True)


register_layer_class(ChoiceStandIn)


def cost(loss: str, opts: dict[str, Any] | None = None) -> tuple[float, numpy.ndarray]:
    """value, and gradient for the scores"""
    choice = {"class": "choice_stand_in", "from": "data"}
    output = {"class": "copy", "from": "choice", "target": "classes", "loss": loss, "loss_opts": opts or {}}
    with Net({"choice": choice, "output": output}, EXTERN_DATA, train=True, search=True) as net:
        (grad,) = tf.gradients(net.net.get_objective(), net.net.extern_data.data["scores"].placeholder)
        lens = {"data": [2, 1], "classes": [2, 1]}
        feed = net.feed(lens, data=[[1, 2], [3, 0]], scores=SCORES, classes=[[1, 3], [3, 3]])
        return net.fetches(feed)["cost:output"], net.session.run(grad, feed)


def test_search_score() -> None:
    """-log(.6 * .2 * .1 * .3); the gradient is -1 for each hypothesis."""
    value, grad = cost("search_score")
    assert value == pytest.approx(-numpy.log(0.6 * 0.2 * 0.1 * 0.3))
    assert grad.tolist() == [[-1, -1], [-1, -1]]


ERRORS = numpy.array([[1, 2], [0, 1]])
"""1 2 and 0 2 against 1 3; 3 and 0 against 3"""
P, Q = numpy.array([[0.6, 0.2], [0.1, 0.3]]), numpy.array([[0.75, 0.25], [0.25, 0.75]])
CENTERED = numpy.array([[-0.5, 0.5], [-0.5, 0.5]])


@pytest.mark.parametrize(
    ("opts", "expected", "grad"),
    [
        ({}, (Q * CENTERED).sum() / 2, Q * CENTERED / 2),
        ({"divide_beam_size": False}, (Q * CENTERED).sum(), Q * CENTERED),
        ({"subtract_average_loss": False}, (Q * ERRORS).sum() / 2, Q * ERRORS / 2),
        ({"norm_scores": False}, (P * CENTERED).sum() / 2, P * CENTERED / 2),
        ({"loss_correction_grad_only": True}, (Q * ERRORS).sum() / 2, Q * CENTERED / 2),
        (
            {"norm_scores_stop_gradient": False, "divide_beam_size": False},
            (Q * CENTERED).sum(),
            Q * (CENTERED - (Q * CENTERED).sum(axis=1, keepdims=True)),
        ),
    ],
    ids=str,
)
def test_expected_edit_distance(opts: dict[str, Any], expected: float, grad: numpy.ndarray) -> None:
    """Scores normalised: .75 .25, .25 .75. L: 1 2, 0 1; minus the means 1.5 and .5. d exp(s) / ds = exp(s)."""
    value, got = cost("expected_loss", {"loss": {"class": "edit_distance"}, "loss_kind": "error", **opts})
    assert value == pytest.approx(expected, abs=1e-6)
    numpy.testing.assert_allclose(got, grad, atol=1e-6)


@pytest.mark.parametrize("loss", ["search_score", "expected_loss"])
def test_without_search(loss: str) -> None:
    opts = {"loss": {"class": "edit_distance"}, "loss_kind": "error"} if loss == "expected_loss" else {}
    layer = {"class": "copy", "from": "data", "target": "classes", "loss": loss, "loss_opts": opts}
    with pytest.raises(ConfigError, match="loss %s: layer output is not behind a beam search" % loss):
        Net({"output": layer}, EXTERN_DATA, train=True)


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        (
            {"loss": {"class": "edit_distance"}, "loss_kind": "errors"},
            "loss_kind must be error or value, but is 'errors'",
        ),
        ({"loss": "edit_distance", "loss_kind": "error"}, 'loss must be a dict with "class" and options'),
        ({"loss": {"class": "edit_distance"}, "loss_kind": "value"}, "the loss edit_distance has no value"),
        ({"loss": {"class": "edit_dist"}, "loss_kind": "error"}, "unknown loss class 'edit_dist'. Did you mean"),
        (
            {"loss": {"class": "edit_distance", "labelmap": {}}, "loss_kind": "error"},
            '"labelmap" is unknown.*"label_map"',
        ),
    ],
)
def test_mistakes(opts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cost("expected_loss", opts)
