"""Lengths of axes, and numbers that count. X has lengths [2, 3] and two features.

What a reference gives for all options: tests/peer_cases/lengths_and_ranges.
"""

from __future__ import annotations

from typing import Any

import pytest

from returnn.tensor import SpatialDim
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

LENGTH = {"class": "length", "from": "data"}
RANGE = {"class": "range"}


@pytest.mark.parametrize(
    ("options", "expected", "dtype"),
    [
        ({}, [2, 3], "int32"),
        ({"dtype": "float32", "sparse": True}, [2, 3], "int32"),
        ({"add_time_axis": True}, [[2], [3]], "int32"),
        ({"axis": "F", "dtype": "float32"}, 2, "float32"),
        ({"axis": "B"}, 2, "int32"),
        # the reference fails for these two
        ({"axis": "B", "dtype": "int64"}, 2, "int64"),
        ({"axis": "F", "add_time_axis": True}, [2], "int32"),
    ],
)
def test_length(options: dict[str, Any], expected: Any, dtype: str) -> None:
    """Up to version 30, the dtype counts only where there is one number for all sequences."""
    value = out({**LENGTH, **options})
    assert value.tolist() == expected and value.dtype == dtype


def test_length_has_its_dtype_at_the_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """and is labels if asked to, it is not known of what"""
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)
    value = out({**LENGTH, "dtype": "float32"})
    assert value.tolist() == [2, 3] and value.dtype == "float32"
    with Net({"output": {**LENGTH, "sparse": True}}) as net:
        output = net.layers["output"].output
        assert output.sparse and output.dim is None and output.dtype == "int32"


@pytest.mark.parametrize(
    ("options", "expected", "dtype"),
    [
        ({"limit": 3}, [0, 1, 2], "int32"),
        ({"limit": 8, "start": 2, "delta": 3}, [2, 5], "int32"),
        ({"limit": 0, "start": 2, "delta": -1}, [2, 1], "int32"),
        ({"limit": 0}, [], "int32"),
        ({"limit": 2, "dtype": "float32"}, [0, 1], "float32"),
        # the reference fails for numbers that are not integers
        ({"limit": 2.0, "start": 0.5, "delta": 0.5}, [0.5, 1, 1.5], "float32"),
        ({"limit": 2.5, "dtype": "int32"}, [0, 1, 2], "int32"),
    ],
)
def test_range(options: dict[str, Any], expected: Any, dtype: str) -> None:
    value = out({**RANGE, **options})
    assert value.tolist() == expected and value.dtype == dtype


def test_range_gives_its_size_to_a_dim() -> None:
    """of no size yet"""
    dim = SpatialDim("numbers")
    with Net({"output": {**RANGE, "limit": 4, "out_spatial_dim": dim}}):
        assert dim.dimension == 4


def test_range_in_axis() -> None:
    """as long as the longest sequence, 3; features 0, 1 are labels of two; no batch axis"""
    network = {
        "time": {"class": "range_in_axis", "axis": "T", "from": "data", "is_output_layer": True},
        "output": {"class": "range_in_axis", "axis": "F", "sparse": True, "from": "data"},
    }
    with Net(network) as net:
        assert net.out("time").tolist() == [0, 1, 2] and net.out().tolist() == [0, 1]
        assert net.layers["output"].output.dim == 2 and not net.layers["time"].output.sparse
        assert net.lens("time") == [[2, 3]]


def test_range_from_length_is_on_the_axis_of_the_lengths() -> None:
    """So it can be added to the frames: 1 2, 3 + 1 4 + 1. Of other lengths it is on an axis of its own: 0 to 5."""
    network = {
        "length": LENGTH,
        "frame": {"class": "range_from_length", "dtype": "float32", "from": "length"},
        "output": {"class": "combine", "kind": "add", "from": ["data", "frame"]},
        "twice": {"class": "combine", "kind": "add", "from": ["length", "length"]},
        "other": {"class": "range_from_length", "from": "twice", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.out()[0, :2].tolist() == [[1, 2], [4, 5]]
        assert net.layers["frame"].output.time_dim is net.net.extern_data.data["data"].time_dim
        assert net.out("other").tolist() == [0, 1, 2, 3, 4, 5] and net.lens("other") == [[4, 6]]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({**LENGTH, "axis": "stag:no"}, "axis 'stag:no': none matches"),
        ({**LENGTH, "from": ["data", "data"]}, "the layer needs exactly one source, but has 2"),
        ({**LENGTH, "axis": "F", "dtype": "int3"}, "unknown dtype 'int3'. Did you mean \"int32\""),
        (RANGE, 'option "limit" is missing'),
        ({**RANGE, "limit": "3"}, "start, limit and delta must be numbers, and delta not 0, but they are"),
        ({**RANGE, "limit": 3, "delta": 0}, "start, limit and delta must be numbers, and delta not 0"),
        (
            {**RANGE, "limit": 3, "out_spatial_dim": SpatialDim("four", 4)},
            r"out_spatial_dim is Dim.'four'\(4\)., but there are 3 numbers",
        ),
        ({"class": "range_in_axis", "from": "data"}, 'option "axis" is missing'),
        ({"class": "range_in_axis", "axis": "T", "keepdims": True, "from": "data"}, 'option "keepdims" is unknown'),
        ({"class": "range_from_length", "from": "data"}, "lengths must be int32 or int64, but are .* float32"),
    ],
)
def test_mistakes(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        out(layer)
