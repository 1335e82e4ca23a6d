"""Layers that pick, put and select entries. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]], and 100 behind the end."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.layers.indexing import TopKLayer
from returnn.layers.parts import PartLayer
from returnn.tensor import Dim, batch_dim
from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

LABELS = {"data": {"dim": 6, "sparse": True}}
LEN = {"class": "length", "from": "data"}
LAST = {"class": "eval", "eval": "source(0) - 1", "from": "len"}
LOWEST = float(numpy.finfo("float32").min)


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def first_feature(net: Net, name: str = "output") -> tuple[list[list[float]], list[list[int]]]:
    return net.out(name)[:, :, 0].tolist(), net.lens(name)


def constant(*values: int) -> dict[str, Any]:
    """a layer with one number for each sequence"""
    return {"class": "eval", "eval": "source(0) * 0 + tf.constant(%r)" % (list(values),), "from": "len"}


@pytest.mark.parametrize(
    ("options", "lens"),
    [
        ({"slice_start": 1}, [1, 2]),
        ({"slice_end": -1}, [1, 2]),
        ({"slice_step": 2}, [1, 2]),
        ({"slice_start": 5}, [0, 0]),
    ],
)
def test_slice(options: dict[str, Any], lens: list[int]) -> None:
    """lengths [2, 3] without the first frame, without the last one, every second one, none"""
    with Net({"output": {"class": "slice", "axis": "T", "from": "data", **options}}) as net:
        assert net.lens() == [lens]
        python = slice(options.get("slice_start"), options.get("slice_end"), options.get("slice_step"))
        assert net.out()[1].tolist() == [[5, 6], [7, 8], [9, 10]][python]


def test_slice_up_to_a_fixed_frame() -> None:
    """A static axis of 2 frames, of 5 too: zeros where the array ends, which the reference does not fill up."""
    layer = {"class": "slice", "axis": "T", "from": "data", "is_output_layer": True}
    network = {
        "output": {**layer, "slice_end": 2},
        "five": {**layer, "slice_start": 1, "slice_end": 6},
        "merged": {"class": "merge_dims", "axes": "static", "from": "five", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.out().tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
        assert net.lens() == [] and net.layers["output"].output.time_dim.dimension == 2
        assert net.out("merged")[1].tolist() == [7, 8, 9, 10, 0, 0, 0, 0, 0, 0]


@pytest.mark.usefixtures("newest")
def test_slice_keeps_lengths_at_the_newest_version() -> None:
    """Up to the second frame: 1 1 of lengths [1, 3]. Backwards: each sequence from its own end."""
    layer = {"class": "slice", "axis": "T", "from": "data", "is_output_layer": True}
    network = {
        "output": {**layer, "slice_start": 1, "slice_end": 3},
        "back": {**layer, "slice_step": -1},
        "back2": {**layer, "slice_step": -2},
    }
    with Net(network) as net:
        assert net.lens() == [[1, 2]] and net.out()[1].tolist() == [[7, 8], [9, 10]]
        assert net.out("back")[:, :, 0].tolist() == [[3, 1, 100], [9, 7, 5]]
        assert net.lens("back2") == [[1, 2]] and net.out("back2")[:, :, 0].tolist() == [[3, 100], [9, 5]]


def test_gather_nd() -> None:
    """frames 0 and 2"""
    network = {"len": LEN, "at": constant(0, 2), "output": {"class": "gather_nd", "position": "at", "from": "data"}}
    with Net(network) as net:
        assert net.out().tolist() == [[1, 2], [9, 10]]


@pytest.mark.parametrize("name", ["gather_nd", "gather"])
def test_a_position_that_does_not_exist_stops_the_step(name: str) -> None:
    """frame 3 of 3, on CPU; with clip_to_valid the last one of each sequence"""
    layer = {"class": name, "position": "at", "from": "data", **({"axis": "T"} if name == "gather" else {})}
    network = {"len": LEN, "at": constant(0, 3), "output": layer}
    with Net(network) as net, pytest.raises(tf.errors.InvalidArgumentError):
        net.out()
    if name == "gather":
        network["at"] = constant(-1, 3)
        with Net({**network, "output": {**layer, "clip_to_valid": True}}) as net:
            assert net.out().tolist() == [[1, 2], [9, 10]]


def test_gather_features_by_frame() -> None:
    """the larger one of each frame"""
    network = {
        "best": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data"},
        "output": {"class": "gather", "position": "best", "axis": "F", "from": "data"},
    }
    with Net(network) as net:
        assert net.out()[1].tolist() == [6, 8, 10] and net.lens() == [[2, 3]]


def test_slice_nd() -> None:
    """From frames [0, 2] on, 2 of them: the second one of 9 10 is zero. To the end: lengths [2, 1]."""
    layer = {"class": "slice_nd", "start": "at", "from": "data", "is_output_layer": True}
    network = {"len": LEN, "at": constant(0, 2), "output": layer, "two": {**layer, "size": 2}}
    with Net(network) as net:
        assert net.out("two").tolist() == [[[1, 2], [3, 4]], [[9, 10], [0, 0]]]
        assert first_feature(net) == ([[1, 3], [9, 0]], [[2, 1]])


def test_slice_nd_of_features_and_without_a_start() -> None:
    """where the reference stops: a feature from each sequence's own on, and whole sequences, at least 4 frames"""
    layer = {"class": "slice_nd", "from": "data", "is_output_layer": True}
    network = {
        "len": LEN,
        "at": constant(0, 1),
        "output": {**layer, "axis": "F", "start": "at", "size": 2},
        "whole": layer,
        "longer": {**layer, "min_size": 4},
    }
    with Net(network) as net:
        assert net.out()[:, 1].tolist() == [[3, 4], [8, 0]]
        assert first_feature(net, "whole") == ([[1, 3, 100], [5, 7, 9]], [[2, 3]])
        assert first_feature(net, "longer") == ([[1, 3, 100, 0], [5, 7, 9, 0]], [[4, 4]])


@pytest.mark.parametrize(("version", "behind_end"), [(0, 100), (31, 0)])
def test_slice_nd_with_one_start(version: int, behind_end: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """From frame 1 on, 3 of them: 3 and what stands behind the end, from version 31 on zero."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    assert out({"class": "slice_nd", "start": 1, "size": 3, "from": "data"})[0, :, 0].tolist() == [3, behind_end, 0]


@pytest.mark.parametrize(("version", "expected"), [(0, [[1, 3, 100], [5, 16, 0]]), (31, [[1, 3, 0], [5, 16, 0]])])
def test_scatter_nd(version: int, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames to 0 1 2 and to 0 1 1: 7 + 9 = 16. Up to version 24, what stands behind the end counts."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    network = {
        "first": {"class": "reduce", "mode": "min", "axis": "F", "from": "data"},
        "at": {
            "class": "eval",
            "eval": "tf.constant([[0, 1, 2], [0, 1, 1]]) + tf.cast(source(0) * 0, tf.int32)",
            "from": "first",
            "out_type": {"dtype": "int32"},
        },
        "output": {
            "class": "scatter_nd",
            "from": "first",
            "position": "at",
            "position_axis": "T",
            "output_dim_via_time_from": "data",
        },
    }
    with Net(network) as net:
        assert net.out().tolist() == expected


def test_boolean_mask_per_sequence() -> None:
    """Frames with a sum above 5: 7 of 3 7, and 11 15 19. Up to version 30, what stands behind the end counts too:
    lengths [2, 3]. The reference only knows one row of all."""
    dims = [batch_dim, Dim(None, name="time"), Dim(2, name="feature", kind=Dim.Types.Feature)]
    network = {
        "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data"},
        "high": {"class": "compare", "kind": "greater", "value": 5.0, "from": "sum"},
        "output": {"class": "boolean_mask", "mask": "high", "dims": [dims[1]], "from": "data"},
        "row": {"class": "boolean_mask", "mask": "high", "dims": ["B", "T"], "from": "data", "is_output_layer": True},
    }
    data = {"data": {"dim_tags": dims, "dtype": "float32"}}
    with Net(network, data) as net:
        assert net.lens() == [[2, 3]] and net.out()[1, :, 0].tolist() == [5, 7, 9]
        assert net.out("row")[:, 0].tolist() == [3, 100, 5, 7, 9]


@pytest.mark.usefixtures("newest")
def test_boolean_mask_does_not_see_padding_at_the_newest_version() -> None:
    network = {
        "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data"},
        "high": {"class": "compare", "kind": "greater", "value": 5.0, "from": "sum"},
        "output": {"class": "boolean_mask", "mask": "high", "dims": "T", "from": "data"},
        "row": {"class": "boolean_mask", "mask": "high", "dims": ["B", "T"], "from": "data", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.lens() == [[1, 3]] and net.out()[:, 0, 0].tolist() == [3, 5]
        assert net.out("row")[:, 0].tolist() == [3, 5, 7, 9]


def test_remove() -> None:
    """Labels 1 0 2 0 and 0 3 without 0: 1 2 and 3, lengths [2, 1]. The reference stops."""
    with Net({"output": {"class": "remove", "symbol": 0, "from": "data"}}, LABELS) as net:
        feed = net.feed({"data": [4, 2]}, data=[[1, 0, 2, 0], [0, 3, 4, 5]])
        assert net.lens(feed=feed) == [[2, 1]]
        value = net.out(feed=feed)
        assert value[0].tolist() == [1, 2] and value[1, 0] == 3
        assert net.layers["output"].output.sparse_dim.dimension == 6


def test_search_sorted_ignores_what_stands_behind_the_end() -> None:
    """Of 1 3 and 5 7 9 those below 4 are 2 and 0; at most 5: 2 and 1."""
    layer = {"class": "search_sorted", "sorted_sequence": "first", "values": "number", "is_output_layer": True}
    network = {
        "first": {"class": "reduce", "mode": "min", "axis": "F", "from": "data"},
        "number": {"class": "constant", "value": 5.0},
        "output": layer,
        "right": {**layer, "side": "right"},
    }
    with Net(network) as net:
        assert net.out().tolist() == [2, 0]
        assert net.out("right").tolist() == [2, 1]


def test_top_k_over_time() -> None:
    """The largest frames per feature, where the reference stops; a third one only in the second sequence."""
    network = {
        "output": {"class": "top_k", "axis": "T", "k": 3, "from": "data"},
        "places": {"class": "copy", "from": "output/indices", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.out()[:, 0].tolist() == [[3, 1, LOWEST], [9, 7, 5]]
        assert net.out("places")[:, 0, :2].tolist() == [[1, 0], [2, 1]]
        places = net.layers["places"].output
        assert (places.dtype, places.sparse_dim) == ("int32", net.layers["data"].output.time_dim)


def test_top_k_over_two_axes() -> None:
    """of all numbers: places count frames and features"""
    network = {
        "output": {"class": "top_k", "axis": ["T", "F"], "k": 2, "from": "data"},
        "frames": {"class": "copy", "from": "output/indices0", "is_output_layer": True},
        "features": {"class": "copy", "from": "output/indices1", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.out().tolist() == [[4, 3], [10, 9]]
        assert net.out("frames").tolist() == [[1, 1], [2, 2]]
        assert net.out("features").tolist() == [[1, 0], [1, 0]]


def test_the_parts_of_top_k_are_known_before_it_is_built() -> None:
    """names, and outputs without values; there is no other part"""
    with Net({"output": {"class": "copy", "from": "data"}}) as net:
        opts = {"name": "top", "network": net.net, "sources": [net.net.get_layer("data")], "k": 2}
        number = len(net.graph.get_operations())
        output, layer_class, _ = TopKLayer.get_sub_layer_out_data_from_opts("indices", {**opts, "axis": "F"})
        assert (output.dtype, output.sparse_dim.dimension, output.raw_tensor) == ("int32", 2, None)
        assert layer_class is PartLayer
        assert TopKLayer.get_sub_layer_out_data_from_opts("places", {**opts, "axis": "F"}) is None
        assert len(net.graph.get_operations()) == number
        assert TopKLayer.get_available_sub_layer_names({**opts, "axis": ["T", "F"]}) == ["indices0", "indices1"]
    network = {
        "top": {"class": "top_k", "axis": "F", "k": 2, "from": "data"},
        "output": {"class": "copy", "from": "top/places"},
    }
    with pytest.raises(ConfigError, match="layer 'top' has no such part"), Net(network):
        pass


def test_top_k_dims() -> None:
    """a Dim instead of a number; a layer that gives one for each sequence"""
    dim = Dim(2, name="best")
    layer = {"class": "top_k", "axis": "T", "from": "data", "is_output_layer": True}
    network = {"len": LEN, "output": {**layer, "k_dim": dim}, "all": {**layer, "k": "len"}}
    with Net(network) as net:
        assert net.layers["output"].output.dims[-1] == dim and net.out().shape == (2, 2, 2)
        assert net.lens("all") == [[2, 3]] and net.out("all")[1, 0].tolist() == [9, 7, 5]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "slice", "slice_start": 1}, 'option "axis" is missing'),
        ({"class": "slice", "axis": "T", "slice_start": -1}, "slice_start must be an integer >= 0, but is -1"),
        (
            {"class": "slice", "axis": "T", "slice_start": 3, "slice_end": 1},
            "slice_end is 1, in front of slice_start 3",
        ),
        ({"class": "slice", "axis": "T", "slice_step": 0}, "slice_step must not be 0"),
        (
            {"class": "slice", "axis": "T", "slice_step": -1, "slice_start": 1},
            "if it is negative there must be no slice",
        ),
        ({"class": "slice", "axis": "F", "slice_start": 1, "out_dim": Dim(2, name="two")}, "two"),
        ({"class": "slice", "axis": "T", "slice_start": 1.5}, "slice_start must be an integer >= 0, but is 1.5"),
        ({"class": "slice_nd", "start": -1}, "start must be an integer >= 0, but is -1"),
        ({"class": "slice_nd", "start": "data"}, "the layer start must give integers, but is .* float32"),
        ({"class": "slice_nd", "size": "data"}, "the layer size must give integers"),
        ({"class": "slice_nd", "size": -2}, "size must be an integer >= 0, but is -2"),
        ({"class": "gather_nd"}, 'option "position" is missing'),
        ({"class": "gather_nd", "position": "data"}, "the layer position must give integers, but is .* float32"),
        ({"class": "gather_nd", "position": "nowhere"}, "nowhere"),
        ({"class": "gather", "axis": "T"}, 'option "position" is missing'),
        ({"class": "gather", "axis": "F", "position": 2}, r"index 2 does not exist in .*feature"),
        ({"class": "gather", "axis": "F", "position": -1}, "position must be an integer >= 0, but is -1"),
        ({"class": "scatter_nd", "position": "len", "position_axis": "T"}, "give one of output_dim_via_time_from and"),
        (
            {"class": "scatter_nd", "position": "len", "position_axis": "T", "output_dim_via_time_from": "data"},
            "there is no time axis",
        ),
        ({"class": "boolean_mask", "mask": "data", "dims": "T"}, "the layer mask must give booleans, but is"),
        ({"class": "boolean_mask", "mask": "high"}, 'option "dims" is missing'),
        ({"class": "remove", "symbol": 1}, "the input must be labels, but is .* float32"),
        ({"class": "remove"}, "symbol must be an integer, but is None"),
        ({"class": "search_sorted", "values": "len"}, 'option "sorted_sequence" is missing'),
        ({"class": "top_k", "axis": "F"}, 'option "k" is missing'),
        ({"class": "top_k", "k": 1}, 'option "axis" is missing'),
        ({"class": "top_k", "axis": "F", "k": 3}, "there are no 3 entries along"),
        ({"class": "top_k", "axis": "F", "k": 1, "k_dim": Dim(2, name="two")}, "k is 1, but k_dim is"),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    network = {
        "len": LEN,
        "high": {"class": "compare", "kind": "greater", "value": 5.0, "from": "data"},
        "output": dict({"from": "data"}, **layer),
    }
    if layer["class"] == "search_sorted":
        del network["output"]["from"]
    with pytest.raises(ConfigError, match=message) as error, Net(network):
        pass
    assert 'network["output"]' in str(error.value)
