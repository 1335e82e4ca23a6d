"""batch_norm on known values, all versions of its defaults. More: tests/peer_cases, tests/layers/test_layers.py.

x[b, t, f] = (12 b + 4 t + f) / 10 - 1, lengths [3, 2]: five frames. Of feature f, they are -1, -.6, -.2, .2, .6, plus
f / 10; their mean is -.2 + f / 10, and their variance .32.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net

from .common import close

X = (12 * numpy.arange(2)[:, None, None] + 4 * numpy.arange(3)[:, None] + numpy.arange(4)) / 10 - 1
MEAN = numpy.array([-0.2, -0.1, 0, 0.1])
LAYER = {"class": "batch_norm", "masked_time": True, "from": "data"}
VERSION_12 = {
    "momentum": 0.1,
    "update_sample_only_in_training": True,
    "delay_sample_update": True,
    "param_version": 2,
}


def step(*, train: bool, **options: Any) -> tuple[numpy.ndarray, dict[str, numpy.ndarray]]:
    """
    :param train: the train flag
    :param options: of the layer
    :return: its output, and its parameters behind the step
    """
    with Net({"output": {**LAYER, **options}}, {"data": {"dim": 4}}, train=train, evaluation=True) as net:
        feed = net.feed({"data": [3, 2]}, data=X)
        y, _ = net.session.run((net.layers["output"].output.placeholder, net.net.get_fetches_dict()), feed)
        return y, {name.rpartition("/")[2]: net.get(name) for name in net.param_shapes()}


def test_training_normalizes_with_the_statistics_of_the_batch() -> None:
    """(-1 + .2) / sqrt(.32 + .001) = -1.412009, of all features."""
    for options in ({}, VERSION_12):
        y, _ = step(train=True, **options)
        close(y[0, 0], [-1.412009] * 4, 1e-6)


def test_running_statistics_at_version_0() -> None:
    """Momentum .99 weights the new value: .99 * mean; .99 * .32 + .01 = .3268."""
    _, params = step(train=True)
    close(params["output_output_output_mean"], [[0.99 * MEAN]])
    close(params["output_output_output_mean"].flat, [-0.198, -0.099, 0, 0.099])
    close(params["output_output_output_variance"], numpy.full((1, 1, 4), 0.3268))


def test_evaluation_at_version_0_changes_them_first() -> None:
    """(-1 + .198) / sqrt(.3268 + .001) = -1.40078, and a hundredth of the mean more from feature to feature."""
    y, params = step(train=False)
    close(y[0, 0], [-1.40078, -1.399033, -1.397287, -1.39554], 2e-6)
    close(params["output_output_output_mean"].flat, 0.99 * MEAN)


def test_running_statistics_with_the_options_of_version_12() -> None:
    """Momentum .1: .1 * mean; .9 + .1 * .32 = .932. One axis only, and other names."""
    _, params = step(train=True, **VERSION_12)
    assert sorted(params) == ["v2_beta", "v2_gamma", "v2_mean", "v2_variance"]
    close(params["v2_mean"], [-0.02, -0.01, 0, 0.01])
    close(params["v2_variance"], [0.932] * 4)
    _, params = step(train=False, **VERSION_12)
    close(params["v2_mean"], [0] * 4)


def test_evaluation_that_changes_nothing() -> None:
    """Fresh statistics, mean 0 and variance 1: -1 / sqrt(1.001) = -.9995004 for feature 0."""
    options = {**VERSION_12, "param_version": 1}
    y, params = step(train=False, **options)
    close(y[0, 0, 0], -0.9995004, 1e-7)
    assert sorted(params) == ["beta", "gamma", "mean", "variance"] and params["mean"].shape == (1, 1, 4)


def test_version_12(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames 1 3 5 7 9 and 2 4 6 8 10: (1 - 5) / sqrt(8.001); .1 * (5, 6); .9 + .1 * 8."""
    monkeypatch.setattr(BehaviorVersion, "_version", 12)
    with Net({"output": LAYER}, train=True) as net:
        y, _ = net.session.run((net.layers["output"].output.placeholder, net.net.get_fetches_dict()), net.feed())
        close(y[0, :2], [[-1.414125] * 2, [-0.707063] * 2])
        close(net.get("output/batch_norm/v2_mean"), [0.5, 0.6])
        close(net.get("output/batch_norm/v2_variance"), [1.7, 1.7])
