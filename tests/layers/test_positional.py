"""positional_encoding, relative_positional_encoding: values from the formula, errors. More: tests/peer_cases."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from tests.network.net import Net, out

from .common import close, fill, message

DATA = {"data": {"dim": 2}, "labels": {"dim": 5, "sparse": True, "available_for_inference": True}}


@pytest.mark.parametrize(
    ("n_out", "expected"),
    [
        (4, [[0, 0, 1, 1], [0.841471, 0.0001, 0.540302, 1]]),
        (5, [[0, 0, 1, 1, 0], [0.841471, 0.0001, 0.540302, 1, 0]]),
        (2, [[0, 1], [math.sin(1), math.cos(1)]]),
        (3, [[0, 1, 0], [math.sin(1), math.cos(1), 0]]),
    ],
)
def test_positions_0_and_1(n_out: int, expected: list[list[float]]) -> None:
    """Sines, then cosines, of p and p / 10000; a single rate is 1; an odd size ends with 0."""
    close(out({"class": "positional_encoding", "n_out": n_out, "from": "data"})[1, :2], expected)


def test_offset_and_constant() -> None:
    """Positions from the lengths 2 and 3 on; and 3 everywhere, also without any time axis."""
    network = {
        "lens": {"class": "length", "from": "data"},
        "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": {"class": "positional_encoding", "n_out": 2, "offset": "lens", "from": "data"},
        "three": {
            **{"class": "positional_encoding", "n_out": 2, "constant": 3, "from": "vector"},
            "is_output_layer": True,
        },
    }
    with Net(network) as net:
        positions = numpy.array([[2, 3, 4], [3, 4, 5]])
        close(net.out(), numpy.stack([numpy.sin(positions), numpy.cos(positions)], axis=-1))
        close(net.out("three"), [[math.sin(3), math.cos(3)]] * 2)


def test_labels_have_positions_too() -> None:
    """Only the time axis matters, and a feature axis comes last."""
    with Net({"output": {"class": "positional_encoding", "n_out": 2, "from": "data:labels"}}, DATA) as net:
        value = net.out(feed=net.feed(data=[[[0, 0]]], labels=[[4, 1]]))
        close(value, [[[0, 1], [math.sin(1), math.cos(1)]]])


def test_relative_positions() -> None:
    """M = [[-.5 .2] [-.2 .5] [.1 -.3]]; frame 0 looks at frames 0, 1, 2: rows 1, 2, 2."""
    layer = {"class": "relative_positional_encoding", "n_out": 2, "clipping": 1, "from": "data"}
    with Net({"output": layer}) as net:
        net.set(output__encoding_matrix=fill(3, 2))
        value = net.out()
        close(fill(3, 2), [[-0.5, 0.2], [-0.2, 0.5], [0.1, -0.3]])
        close(value[0], [[-0.2, 0.5], [0.1, -0.3], [0.1, -0.3]])
        close(value[2], [[-0.5, 0.2], [-0.5, 0.2], [-0.2, 0.5]])
        assert net.lens() == [[2, 3], [2, 3]]


def test_offset_of_relative_positions_from_a_layer() -> None:
    """Frame 0 is number 2: all others are in front of it, row 0."""
    layer = {"class": "relative_positional_encoding", "n_out": 2, "clipping": 1, "query_offset": "two", "from": "data"}
    with Net({"two": {"class": "constant", "value": 2}, "output": layer}) as net:
        net.set(output__encoding_matrix=fill(3, 2))
        close(net.out()[0], [[-0.5, 0.2], [-0.5, 0.2], [-0.2, 0.5]])


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (
            {"class": "positional_encoding", "from": "data"},
            "n_out, out_dim or target is needed: nothing says how many outputs the layer has",
        ),
        (
            {"class": "positional_encoding", "add_to_input": True, "from": "data:labels"},
            "add_to_input: the input must be float32, but is [B,T|'time:var:extern_data:labels'[B]] int32"
            " sparse_dim=Dim{F'labels:sparse-dim'(5)}",
        ),
        (
            {"class": "positional_encoding", "n_out": 4, "offset": "vector", "from": "data"},
            "offset must be int, with no other axes than the input, but layer 'vector' is [B,F|F'feature:data'(2)]"
            " float32",
        ),
        (
            {"class": "positional_encoding", "n_out": 4, "axis": "F", "from": "data"},
            "axis 'F' is the feature axis of [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)] float32",
        ),
        (
            {"class": "positional_encoding", "n_out": 4, "from": "vector"},
            "the input has no time axis: [B,F|F'feature:data'(2)] float32",
        ),
        (
            {"class": "relative_positional_encoding", "n_out": 4, "clipping": 0, "from": "data"},
            "clipping must be an integer > 0, but is 0",
        ),
        (
            {"class": "relative_positional_encoding", "n_out": 4, "query_offset": "vector", "from": "data"},
            "query_offset must be an int without axes, but is [B,F|F'feature:data'(2)] float32",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """Layer, option, axes."""
    vector = {"class": "reduce", "mode": "max", "axis": "T", "from": "data"}
    assert message(layer, {"vector": vector}, DATA) == expected
