"""Steps add up to the value of a pass."""

from __future__ import annotations

import math

import numpy
import pytest

from returnn.tf.scores import ScoreAccumulator, Stats, format_score


def test_epoch_score_weights_each_frame_the_same() -> None:
    """Per frame costs of 6 steps and their frames: sum(cost * frames) / sum(frames) = 0.80161."""
    costs = [0.89436096, 0.86711824, 0.781894, 0.7462835, 0.7378374, 0.69591683]
    frames = [200, 200, 192, 170, 200, 54]
    scores = ScoreAccumulator()
    for cost, num in zip(costs, frames, strict=True):
        fetched = {"cost:output": numpy.float32(cost * num), "loss_norm_factor:output": numpy.float32(1 / num)}
        step = scores.add({**fetched, "error:output": numpy.float32(num / 2), "loss": numpy.float32(1)})
        assert float(step["cost:output"]) == pytest.approx(cost, rel=1e-6)
        assert step["error:output"] == 0.5
    assert scores.score == {"cost:output": pytest.approx(0.80161, abs=5e-6)}
    assert scores.error == {"error:output": pytest.approx(0.5)}
    assert type(scores.score["cost:output"]) is float


def test_exp_loss_is_exp_of_the_epoch_mean() -> None:
    """Mean of 1 and 3 over equal frames is 2, so exp(2), not the mean of exp(1) and exp(3)."""
    scores = ScoreAccumulator(with_exp_loss=True)
    for cost in (1.0, 3.0):
        scores.add({"cost:output": numpy.float32(cost), "loss_norm_factor:output": numpy.float32(1)})
    assert scores.score == {"cost:output": 2.0, "cost:output:exp": pytest.approx(math.exp(2))}
    scores.add({"cost:output": numpy.float32(1e6), "loss_norm_factor:output": numpy.float32(1)})
    assert scores.score["cost:output:exp"] == math.inf


def test_sums_do_not_lose_small_steps() -> None:
    """A cost of 1 added to 2^24 is lost in single precision: 1000 steps of 1 over 1 + 1000 frames."""
    scores = ScoreAccumulator()
    for cost in [2.0**24] + [1.0] * 1000:
        scores.add({"cost:x": numpy.float32(cost), "loss_norm_factor:x": numpy.float32(1)})
    assert scores.score["cost:x"] == (2**24 + 1000) / 1001


def test_format_score() -> None:
    """One value stands alone, several have the last part of their key."""
    assert format_score({}) == "None"
    assert format_score({"cost:output": 0.25}) == "0.25"
    assert format_score({"cost:output": 0.5, "cost:output:exp": 1.5}) == "output 0.5 exp 1.5"
    assert format_score({"cost:sub/b": 2.0, "cost:a": numpy.float32(1)}) == "a 1.0 sub/b 2.0"


def test_stats() -> None:
    """1, 2, 3: mean 2, deviation sqrt(2/3)."""
    stats = Stats()
    for value in (1, 2, 3):
        stats.add(value)
    assert (stats.mean, stats.min, stats.max, stats.num) == (2, 1, 3, 3)
    assert stats.std_dev == pytest.approx(math.sqrt(2 / 3))
