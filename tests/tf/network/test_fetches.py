"""What a step fetches: sums as they are, the objective scaled, and the parts of it for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.tf.compat import v1
from returnn.tf.network import TFNetwork


def _fetch(net_dict: Mapping[str, Any], data: Mapping[str, numpy.ndarray], **opts: Any) -> dict[str, Any]:
    """
    :param net_dict: in training
    :param data: key -> [T, F], one sequence
    :return: of one step
    """
    extern_data = {key: {"dim": value.shape[-1], "available_for_inference": True} for key, value in data.items()}
    with v1.Graph().as_default(), v1.Session() as session:
        network = TFNetwork(config=Config({"extern_data": extern_data, **opts}), train_flag=True)
        network.construct_from_dict(net_dict)
        network.initialize_params(session)
        feed: dict[Any, Any] = {}
        for key, value in data.items():
            placeholders = network.extern_data.data[key]
            feed[placeholders.placeholder] = value[None]
            feed[placeholders.size_placeholder[0]] = [len(value)]
        return session.run(network.get_fetches_dict(should_train=True, should_eval=True, with_summary=True), feed)


LOSSES = {
    "a": {"class": "copy", "from": "data:a", "loss": "as_is", "loss_scale": 0.3},
    "output": {"class": "copy", "from": "data:b", "loss": "as_is"},
}


def _frames(value: float, num: int = 164) -> numpy.ndarray:
    return numpy.full((num, 1), value, "float32")


def test_objective_is_scaled_and_costs_are_not() -> None:
    """164 frames: 164 * (0.3 * 0.79990715 + 0.7115339) = 156.047."""
    fetched = _fetch(LOSSES, {"a": _frames(0.79990715), "b": _frames(0.7115339)})
    assert fetched["loss"] == pytest.approx(156.047, abs=1e-3)
    assert fetched["cost:a"] == pytest.approx(164 * 0.79990715, rel=1e-5)
    assert fetched["cost:output"] * fetched["loss_norm_factor:output"] == pytest.approx(0.7115339, rel=1e-5)
    assert fetched["summary"] == {"loss": fetched["loss"]}


def test_parts_of_the_objective() -> None:
    """L2 0.1 on weights of value 2: 0.1 * 2^2 = 0.4, beside a loss of 164 * 2."""
    network = {
        "output": {
            **{"class": "linear", "activation": None, "with_bias": False, "n_out": 1, "from": "data:a", "L2": 0.1},
            **{"forward_weights_init": 2.0, "loss": "as_is"},
        }
    }
    fetched = _fetch(network, {"a": _frames(1)})
    assert fetched["summary"] == {"loss": 328, "constraints": pytest.approx(0.4)}
    assert fetched["loss"] == pytest.approx(328.4)


def test_debug_summaries() -> None:
    """Of each loss: the sum, and what of it is in the objective; ``/`` would be a folder."""
    network = {
        "output": {"class": "copy", "from": "sub"},
        "sub": {
            "class": "subnetwork",
            "from": "data:a",
            "subnetwork": {"output": {"class": "copy", "from": "data", "loss": "as_is", "loss_scale": 0.5}},
        },
    }
    opts = {"debug_unnormalized_loss_summaries": True, "debug_objective_loss_summaries": True}
    fetched = _fetch(network, {"a": _frames(1)}, **opts)
    assert fetched["summary"] == {
        **{"loss": 82, "loss/unnormalized_loss_sub_output": 164, "loss/objective_loss_sub_output": 82}
    }
