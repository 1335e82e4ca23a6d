"""Losses of numbers: values from the arithmetic in each docstring."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError

from .common import fetches


def sums(**loss: Any) -> dict[str, Any]:
    return fetches({"class": "copy", "from": "data", **loss})


@pytest.mark.parametrize(("loss", "expected"), [("mse", 12.666667), ("mean_l1", 4.666667), ("l1", 14.0)])
def test_of_differences(loss: str, expected: float) -> None:
    """
    Z minus the one-hot target, by frame: 1 2 2, 0 -1 0, 0 0 0, -1 1 0, 0 -1 5. Absolute: 14; squares: 38.
    """
    got = sums(loss=loss, target="dense")
    assert got["cost:output"] == pytest.approx(expected)
    assert got["error:output"] == 3  # as a classifier: frames 2, 4 and 5 are wrong
    assert got["loss_norm_factor:output"] == pytest.approx(0.2)


@pytest.mark.parametrize("loss", ["mean_l1", "l1"])
def test_absolute_differences_need_dense_targets(loss: str) -> None:
    with pytest.raises(ConfigError, match="loss %s needs dense values as target, but 'classes' is" % loss):
        sums(loss=loss, target="classes")


@pytest.mark.parametrize("loss", ["mse", "mean_l1", "l1"])
def test_no_frame_error_from_version_31_on(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says nothing about numbers."""
    monkeypatch.setattr(BehaviorVersion, "_version", 31)
    assert "error:output" not in sums(loss=loss, target="dense")


@pytest.mark.parametrize("name", ["bin_ce", "sse_sigmoid"])
def test_binary_cross_entropy(name: str) -> None:
    """Mean over features of log(1 + e^-z) for a one, log(1 + e^z) for a zero: 5.453447; wrong: 7 of 15, so 7 / 3."""
    got = sums(loss=name, target="dense")
    assert got["cost:output"] == pytest.approx(5.453447)
    assert got["error:output"] == pytest.approx(2.333333)


def test_weight_of_ones() -> None:
    got = sums(loss="bin_ce", target="dense", loss_opts={"pos_weight": 2})
    assert got["cost:output"] == pytest.approx(6.267211)


def test_generic_cross_entropy() -> None:
    """-log of the share of the label in the sum of sigmoids; smooth also where a probability is tiny."""
    layer = {"class": "activation", "activation": "sigmoid", "from": "data", "target": "classes", "loss": "generic_ce"}
    assert fetches(layer)["cost:output"] == pytest.approx(5.575753)
    far = {"class": "eval", "eval": "source(0) - 100.0", "from": "data"}
    got = fetches({**layer, "from": "far"}, {"far": far})["cost:output"]
    z = numpy.array([[1, 2, 3], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 5]])
    expected = sum(numpy.log(numpy.exp(row).sum()) - row[label] for row, label in zip(z, [2, 1, 0, 0, 1], strict=True))
    assert got == pytest.approx(expected)  # sigmoid(x) is exp(x) there


def test_generic_cross_entropy_needs_labels() -> None:
    layer = {"class": "activation", "activation": "sigmoid", "from": "data", "target": "dense", "loss": "generic_ce"}
    with pytest.raises(ConfigError, match="loss generic_ce needs labels as target, but 'dense' is"):
        fetches(layer)
