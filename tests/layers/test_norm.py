"""norm, math_norm, layer_norm: values and errors. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]]."""

from __future__ import annotations

import math
from typing import Any

import pytest

from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net, out

from .common import close, message


def test_norm_counts_padding_up_to_version_30(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over time and features of sequence 1, with its padding of 100: first frame (-.739597 -.717844). Without: mean
    2.5, variance 1.25."""
    layer = {"class": "norm", "axes": "TF", "from": "data"}
    close(out(layer)[0, 0], [-0.739597, -0.717844])
    monkeypatch.setattr(BehaviorVersion, "_version", 31)
    close(out(layer)[0, 0], [-1.5 / math.sqrt(1.25), -0.5 / math.sqrt(1.25)])


def test_scale_and_bias_of_norm() -> None:
    """(1 2) is (-1 1) after normalisation."""
    with Net({"output": {"class": "norm", "axis": "F", "epsilon": 0.0, "from": "data"}}) as net:
        net.set(output__scale=[2, 3], output__bias=[10, 20])
        close(net.out()[0, 0], [8, 23])


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ({"p": 1, "axis": "T"}, [4, 6], [21, 24]),
        ({"p": 2, "axis": "T"}, [math.sqrt(10), math.sqrt(20)], [math.sqrt(155), math.sqrt(200)]),
        ({"p": 3, "axes": "TF"}, 100 ** (1 / 3), (125 + 216 + 343 + 512 + 729 + 1000) ** (1 / 3)),
        ({"p": math.inf, "axis": "T"}, [3, 4], [9, 10]),
        ({"p": 1, "axis": "T", "keep_dims": True}, [[4, 6]], [[21, 24]]),
    ],
)
def test_math_norm(options: dict[str, Any], first: Any, second: Any) -> None:
    """Padding does not count: 1 + 3 = 4, 1 + 9 = 10, 1 + 8 + 27 + 64 = 100."""
    value = out({"class": "math_norm", "from": "data", **options})
    close(value[0], first)
    close(value[1], second)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({"class": "norm"}, 'one of the options "axis" and "axes" must be given, and not both'),
        (
            {"class": "norm", "axis": "F", "axes": "T"},
            'one of the options "axis" and "axes" must be given, and not both',
        ),
        (
            {"class": "norm", "axis": "F", "param_shape": "T"},
            "param_shape 'T': axis 'time:var:extern_data:data'[B] is not static",
        ),
        ({"class": "math_norm", "axis": "F"}, "p must be a number > 0, but is None"),
        (
            {"class": "layer_norm", "from": "data:labels"},
            "[B,T|'time:var:extern_data:labels'[B]] int32 sparse_dim=Dim{F'labels:sparse-dim'(5)} has no feature axis",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """Option and axes."""
    data = {"data": {"dim": 2}, "labels": {"dim": 5, "sparse": True, "available_for_inference": True}}
    assert message({"from": "data", **layer}, None, data) == expected
