"""Running sums, edit distance. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]]; 100 stands behind the end."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out


@pytest.mark.parametrize(("version", "expected"), [(0, [104, 103]), (31, [4, 3])])
def test_cumsum(version: int, expected: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """1 3: 1 4, backwards 4 3, up to version 30 with the 100 behind the end. 5 7 9: 5 12 21; with one more each, 6 14
    24."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    layer = {"class": "cumsum", "from": "data"}
    value = out(layer)
    assert value[0, :2, 0].tolist() == [1, 4] and value[1, :, 0].tolist() == [5, 12, 21]
    assert out({**layer, "reverse": True})[0, :2, 0].tolist() == expected
    assert out({**layer, "additional_left_summand_per_element": 1})[1, :, 0].tolist() == [6, 14, 24]
    assert out({**layer, "axis": "F"})[1].tolist() == [[5, 11], [7, 15], [9, 19]]


LABELS = {
    "data": {"dim": 6, "sparse": True},
    "other": {"dim": 6, "sparse": True, "available_for_inference": True},
    "dense": {"dim": 6, "available_for_inference": True},
}


def test_edit_distance() -> None:
    """1 2 3 to 2 3: one is gone. 4 to 5 5: one is another, one more. A sequence to itself: 0."""
    network = {
        "output": {"class": "edit_distance", "a": "data", "b": "data:other"},
        "same": {"class": "edit_distance", "a": "data", "b": "data", "is_output_layer": True},
    }
    with Net(network, LABELS) as net:
        feed = net.feed({"data": [3, 1], "other": [2, 2]}, data=[[1, 2, 3], [4, 2, 2]], other=[[2, 3], [5, 5]])
        assert net.out(feed=feed).tolist() == [1, 2]
        assert net.out("same", feed=feed).tolist() == [0, 0]
        assert net.layers["output"].output.dtype == "int32"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "edit_distance", "a": "data"}, 'option "b" is missing'),
        (
            {"class": "edit_distance", "a": "data", "b": "data:dense"},
            r"the layer b must give labels \[batch, time\], but",
        ),
        (
            {"class": "edit_distance", "a": "data", "b": "data", "a_spatial_dim": "B"},
            "a_spatial_dim 'B' must not be the",
        ),
        ({"class": "edit_distance", "a": "data", "b": "data", "from": "data"}, "the layer has no source"),
        (
            {"class": "cumsum", "from": "data", "additional_left_summand_per_element": "x"},
            "additional_left_summand_per_element must be a number, but is 'x'",
        ),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        Net({"output": layer}, LABELS)
    assert 'network["output"]' in str(error.value)
