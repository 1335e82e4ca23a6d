"""Several sources in one tensor, and one in several. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]].

What a reference gives for all options: tests/peer_cases/concat_axes, stack_kinds, split_parts.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tensor import FeatureDim, SpatialDim
from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, X, out

TWO = {"data": {"dim": 1}, "other": {"dim": 1, "available_for_inference": True}}
CONCAT = {"class": "concat", "from": [("data", "T"), ("data:other", "T")]}
SUM = {"class": "reduce", "mode": "sum", "axis": "T"}


def joined(version: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """
    :return: of [1 2 .] [3 4 5] and [10 .] [20 30] the joined frames, their lengths and sums
    """
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    with Net({"output": CONCAT, "sum": {**SUM, "from": "output", "is_output_layer": True}}, TWO) as net:
        data, other = [[[1], [2], [-9]], [[3], [4], [5]]], [[[10], [-9]], [[20], [30]]]
        feed = net.feed({"data": [2, 3], "other": [1, 2]}, data=data, other=other)
        return net.out(feed=feed)[..., 0].tolist(), net.lens(feed=feed), net.out("sum", feed)[:, 0].tolist()


def test_concat_joins_arrays_at_version_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths are 3 and 5, but the frame behind the end of the first one is still there: 1 2 -9."""
    frames, lens, sums = joined(0, monkeypatch)
    assert lens == [[3, 5]] and frames == [[1, 2, -9, 10, -9], [3, 4, 5, 20, 30]]
    assert sums == [-6, 62]


def test_concat_joins_sequences_at_the_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 2 10, and 3 4 5 20 30"""
    frames, lens, sums = joined(BehaviorVersion._latest_behavior_version, monkeypatch)
    assert lens == [[3, 5]] and (frames[0][:3], frames[1]) == ([1, 2, 10], [3, 4, 5, 20, 30])
    assert sums == [13, 62]


def test_concat_of_unequal_ends_can_be_reduced() -> None:
    """
    The longest of the joined sequences (1 + 3, 3 + 1) is shorter than the two arrays (3 + 3). Of the first sequence the
    four frames that are summed are 1, two of padding, and 10. (The reference fails here.)
    """
    network = {"x": CONCAT, "output": {**SUM, "from": "x"}}
    with Net(network, TWO) as net:
        data, other = [[[1], [0], [0]], [[2], [3], [4]]], [[[10], [20], [30]], [[40], [0], [0]]]
        feed = net.feed({"data": [1, 3], "other": [3, 1]}, data=data, other=other)
        assert net.lens("x", feed) == [[4, 4]]
        assert net.out(feed=feed).tolist() == [[11], [49]]


def test_concat_repeats_what_a_source_lacks_if_asked_to() -> None:
    """features of the frames, and their sums over time (4, 6)"""
    network = {
        "sum": {**SUM, "from": "data"},
        "output": {"class": "concat", "from": [("data", "F"), ("sum", "F")], "allow_broadcast": True},
    }
    with Net(network) as net:
        assert net.out()[0, 0].tolist() == [1, 2, 4, 6]
    with pytest.raises(ConfigError, match="concat: .*'sum_output'.* has no dim .*time.*, which another source has"):
        Net({**network, "output": {**network["output"], "allow_broadcast": False}})


@pytest.mark.parametrize("sources", ["data", [], ["data", "data"], [("data", "T", 1)], None])
def test_concat_needs_pairs(sources: Any) -> None:
    with pytest.raises(ConfigError, match='option "from" must be a list of pairs .layer name, axis., for instance'):
        out({"class": "concat", "from": sources})


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"from": [("data", "B"), ("data", "B")]}, "sources cannot be joined along the batch axis"),
        ({"from": [("data", "F"), ("data", "F")], "out_dim": FeatureDim("five", 5)}, "different sizes"),
        ({"from": [("data", "F"), ("int", "F")]}, "concat: dtypes differ: .* float32, .* int32"),
        ({"from": [("data", "F"), ("dat", "F")]}, "layer 'dat' not found"),
    ],
)
def test_sources_that_cannot_be_joined(layer: dict[str, Any], message: str) -> None:
    network = {"int": {"class": "cast", "dtype": "int32", "from": "data"}, "output": {"class": "concat", **layer}}
    with pytest.raises(ConfigError, match=message):
        Net(network)


def test_stack() -> None:
    """[1 2] and [10 20] in front of the features"""
    network = {
        "ten": {"class": "eval", "eval": "source(0) * 10", "from": "data"},
        "output": {"class": "stack", "from": ["data", "ten"]},
    }
    with Net(network) as net:
        assert net.out()[0, 0].tolist() == [[1, 2], [10, 20]]
        assert net.layers["output"].output.feature_dim_axis == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axis": 4}, "axis must be a place among those of .*, but is 4"),
        ({"axis": -5}, "axis must be a place among those of"),
        ({"axis": "T"}, "axis must be a place among those of .*, but is 'T'"),
        ({"from": []}, 'the layer needs a source: "from" is empty'),
        ({"from": ["data", "int"]}, "stack: dtypes differ"),
        ({"out_spatial_dim": SpatialDim("three", 3)}, "stack: .*three.* is not the number of tensors, 2"),
    ],
)
def test_mistakes_of_stack(options: dict[str, Any], message: str) -> None:
    network = {
        "int": {"class": "cast", "dtype": "int32", "from": "data"},
        "output": {"class": "stack", "from": ["data", "data"], **options},
    }
    with pytest.raises(ConfigError, match=message):
        Net(network)


def test_stack_places_from_the_front_and_from_the_end() -> None:
    """4 axes in the result: 3 and -1 are the last, 0 and -4 the first"""
    for axis, place in [(3, 3), (-1, 3), (0, 0), (-4, 0)]:
        with Net({"output": {"class": "stack", "from": ["data", "data", "data"], "axis": axis}}) as net:
            assert net.layers["output"].output.batch_shape[place] == 3


def test_parts_of_a_split() -> None:
    """features 1 2 3 as [1] and [2 3]; the layer itself is all of them"""
    network = {
        "parts": {"class": "split", "size_splits": [1, 2], "from": "data"},
        "output": {"class": "copy", "from": ["parts/1", "parts/0", "parts"]},
    }
    with Net(network, {"data": {"dim": 3}}) as net:
        assert net.out(feed=net.feed(data=[[[1, 2, 3]]])).tolist() == [[[2, 3, 1, 1, 2, 3]]]
        assert net.net.get_layer("parts/0") is net.layers["output"].sources[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of the options num_splits, size_splits, out_dims; there is none"),
        ({"num_splits": 2, "size_splits": [1, 1]}, "give one of .*; there is num_splits and size_splits"),
        ({"num_splits": 3}, r"num_splits 3 does not divide Dim.F'feature:data'\(2\)"),
        ({"num_splits": 0}, "num_splits 0 does not divide"),
        ({"size_splits": [1, -1]}, r"the sizes \[1, -1\] of the parts do not add up to that of"),
        ({"size_splits": [1, 2]}, r"the sizes \[1, 2\] of the parts do not add up to that of"),
        ({"out_dims": [FeatureDim("a", 1), FeatureDim("b", 2)]}, r"the sizes \[1, 2\] of the parts do not add up"),
        ({"num_splits": 2, "axis": "T"}, "only a static axis can be split, but 'T' is Dim.'time"),
        ({"num_splits": 2, "axis": "stag:no"}, "axis 'stag:no': none matches"),
    ],
)
def test_mistakes_of_split(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        out({"class": "split", "from": "data", **options})


@pytest.mark.parametrize("name", ["parts/2", "parts/x", "parts/-1", "parts/00"])
def test_parts_that_are_not_there(name: str) -> None:
    """there are 0 and 1"""
    network = {"parts": {"class": "split", "num_splits": 2, "from": "data"}, "output": {"class": "copy", "from": name}}
    with pytest.raises(ConfigError, match="layer '%s' not found.*layer 'parts' has no such part" % name):
        Net(network)


def test_gradients_come_back_through_parts_and_joins() -> None:
    """y = sum over frames of x0 * x1, both from the same features: dy / dx = (x1, x0)"""
    network = {
        "parts": {"class": "split", "num_splits": 2, "from": "data"},
        "product": {"class": "combine", "kind": "mul", "from": ["parts/0", "parts/1"]},
        "output": {"class": "stack", "from": ["product"]},
    }
    with Net(network) as net:
        x, y = net.net.extern_data.data["data"].placeholder, net.layers["output"].output.placeholder
        (grad,) = tf.gradients(y, x)
        numpy.testing.assert_array_equal(net.session.run(grad, net.feed()), X[..., ::-1])
