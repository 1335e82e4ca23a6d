"""Layers that add, move, mask and repeat frames. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]]."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.tensor import Dim
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net

LABELS = {"data": {"dim": 6, "sparse": True}}
LEN = {"class": "length", "from": "data"}


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def frames(layer: dict[str, Any], *, feature: int = 0, **layers: dict[str, Any]) -> list[list[float]]:
    """:return: first feature of the real frames of both sequences"""
    with Net({**layers, "output": {"from": "data", **layer}}) as net:
        value, (lens,) = net.out(), net.lens()
    assert value.shape[1] == max(lens)
    return [row[:n, feature].tolist() for row, n in zip(value, lens, strict=True)]


def of_labels(layer: dict[str, Any], values: Any, lens: Any, **layers: dict[str, Any]) -> tuple[Any, Any]:
    with Net({**layers, "output": {"from": "data", **layer}}, LABELS) as net:
        feed = net.feed({"data": lens}, data=values)
        return net.out(feed=feed).tolist(), net.lens(feed=feed)[0]


def test_postfix_in_time() -> None:
    """9 right behind each end, so that lengths [2, 3] become [3, 4]; all frames from there on are 9."""
    layer = {"class": "postfix_in_time", "postfix": 9, "from": "data"}
    with Net({"output": layer}) as net:
        assert net.out()[0].tolist() == [[1, 2], [3, 4], [9, 9], [9, 9]]
        assert net.lens() == [[3, 4]]


def test_postfix_in_time_of_labels() -> None:
    layer = {"class": "postfix_in_time", "postfix": 4}
    assert of_labels(layer, [[1, 2, 0], [3, 4, 1]], [2, 3]) == ([[1, 2, 4, 4], [3, 4, 1, 4]], [3, 4])


def test_prefix_in_time() -> None:
    """0 in front, lengths [3, 4]"""
    assert frames({"class": "prefix_in_time"}) == [[0, 1, 3], [0, 5, 7, 9]]


def test_prefix_in_time_as_often_as_a_layer_says() -> None:
    """2 and 3 times, where the reference stops: as long as the sequences are"""
    layer = {"class": "prefix_in_time", "prefix": 7.0, "repeat": "len"}
    assert frames(layer, len=LEN) == [[7, 7, 1, 3], [7, 7, 7, 5, 7, 9]]
    assert of_labels(layer | {"prefix": 5}, [[1, 2, 0], [3, 4, 1]], [2, 3], len=LEN)[0][0][:4] == [5, 5, 1, 2]
    once = {"class": "constant", "value": 1}
    assert frames(layer | {"repeat": "once"}, once=once) == [[7, 1, 3], [7, 5, 7, 9]]


def test_prefix_in_time_named() -> None:
    """The time axis of another layer with the same lengths, or a Dim: then both can be added."""
    time = Dim(None, name="longer")
    network = {
        "end": {"class": "postfix_in_time", "from": "data"},
        "start": {"class": "prefix_in_time", "size_base": "end", "from": "data"},
        "output": {"class": "combine", "kind": "add", "from": ["start", "end"]},
        "named": {"class": "prefix_in_time", "out_dim": time, "from": "data", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.out()[0, :3, 0].tolist() == [0 + 1, 1 + 3, 3 + 0]
        assert net.layers["named"].output.time_dim == time


def test_pad_behind_each_end() -> None:
    """two in front, one behind: the end of the array, or of each sequence; that of version 21 and later"""
    layer = {"class": "pad", "axes": "T", "padding": (2, 1), "value": 7}
    assert frames(layer) == [[7, 7, 1, 3, 100], [7, 7, 5, 7, 9, 7]]
    assert frames(layer | {"handle_dynamic_dims": True}) == [[7, 7, 1, 3, 7], [7, 7, 5, 7, 9, 7]]


@pytest.mark.usefixtures("newest")
def test_pad_with_own_frames_behind_each_end() -> None:
    """mirrored: 1 3 gives 3 1 3 1 with reflect, 1 1 3 3 with symmetric and replication"""
    layer = {"class": "pad", "axes": "T", "padding": 1}
    assert frames(layer) == [[0, 1, 3, 0], [0, 5, 7, 9, 0]]
    assert frames(layer | {"mode": "reflect"}) == [[3, 1, 3, 1], [7, 5, 7, 9, 7]]
    for mode in ("symmetric", "replication"):
        assert frames(layer | {"mode": mode}) == [[1, 1, 3, 3], [5, 5, 7, 9, 9]]


def test_shift_axis() -> None:
    """To the right: the longest sequence loses its last frames, and no other becomes longer. To the left: shorter."""
    layer = {"class": "shift_axis", "axis": "T", "pad_value": 8}
    assert frames(layer | {"amount": 1}) == [[8, 1, 3], [8, 5, 7]]
    assert frames(layer | {"amount": -1}) == [[3], [7, 9]]
    assert frames(layer | {"amount": 1, "adjust_size_info": False}) == [[8, 1], [8, 5, 7]]
    assert frames(layer | {"amount": 1, "pad": False}) == [[1, 3], [5, 7]]
    with Net({"output": layer | {"axis": "F", "amount": 1, "from": "data"}}) as net:  # the reference stops here
        assert net.out()[0, :2].tolist() == [[8, 1], [8, 3]]


@pytest.mark.parametrize(("version", "expected"), [(0, [[3, 100], [7, 9, 8]]), (31, [[3, 8], [7, 9, 8]])])
def test_shift_to_the_left_within_the_lengths(version: int, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to version 30, what stands behind the end of the first sequence comes in: 100."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    layer = {"class": "shift_axis", "axis": "T", "pad_value": 8, "amount": -1, "adjust_size_info": False}
    assert frames(layer) == expected


def test_seq_len_mask() -> None:
    """2 frames are real; from another layer: one less, and an int works for floats too, where the reference stops."""
    layer = {"class": "seq_len_mask", "mask_value": 8, "from": "data", "is_output_layer": True}
    network = {
        "len": LEN,
        "less": {"class": "eval", "eval": "source(0) - 1", "from": "len"},
        "shorter": {"class": "slice", "axis": "T", "slice_start": 1, "from": "data"},
        "output": layer,
        "by_lens": {**layer, "seq_len_source": "less"},
        "by_layer": {**layer, "seq_len_source": "shorter"},
        "features": {**layer, "axis": "F", "start": 1},
    }
    with Net(network) as net:
        assert net.out()[0].tolist() == [[1, 2], [3, 4], [8, 8]]
        for name in ("by_lens", "by_layer"):
            assert net.out(name)[:, :, 0].tolist() == [[1, 8, 8], [5, 7, 8]]
        assert net.out("features")[0, :2].tolist() == [[8, 2], [8, 4]]
        assert net.layers["by_lens"].output.dims == net.layers["data"].output.dims


def test_repeat() -> None:
    """each frame twice, or as often as its first feature says modulo 3: 1 0, and 2 1 0"""
    numbers = {
        "class": "eval",
        "eval": "tf.cast(source(0), tf.int32) % 3",
        "from": "first",
        "out_type": {"dtype": "int32"},
    }
    first = {"class": "reduce", "mode": "min", "axis": "F", "from": "data"}
    layer = {"class": "repeat", "axis": "T"}
    assert frames(layer | {"repetitions": 2}) == [[1, 1, 3, 3], [5, 5, 7, 7, 9, 9]]
    assert frames(layer | {"repetitions": "numbers"}, numbers=numbers, first=first) == [[1], [5, 5, 7]]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "prefix_in_time", "prefix": "x"}, "prefix must be a number, but is 'x'"),
        ({"class": "prefix_in_time", "repeat": -1}, "repeat must be an integer >= 0, but is -1"),
        ({"class": "prefix_in_time", "repeat": "data"}, "the layer repeat must give integers, but is .* float32"),
        ({"class": "prefix_in_time", "axis": "B"}, "axis 'B' must not be the batch axis"),
        ({"class": "prefix_in_time", "size_base": "last"}, "the layer size_base has no time axis"),
        ({"class": "postfix_in_time", "repeat": "last"}, "repeat must be an integer >= 0, but is 'last'"),
        ({"class": "postfix_in_time", "postfix": "len"}, "the layer postfix must be float32, without the axis"),
        ({"class": "postfix_in_time", "postfix": "data"}, "the layer postfix must be float32, without the axis"),
        ({"class": "pad", "axes": "T"}, 'options "axes" and "padding" are needed'),
        ({"class": "pad", "axes": "T", "padding": (1, -1)}, r"padding must be a number >= 0, .* but is \(1, -1\)"),
        ({"class": "pad", "axes": "T", "padding": [(1, 1), (0, 1)]}, r"a pair for each of the axes \(1\), but is"),
        ({"class": "pad", "axes": "T", "padding": 1, "mode": "reflekt"}, 'unknown mode .*Did you mean "reflect"'),
        ({"class": "pad", "axes": "T", "padding": 1, "value": "last"}, "the layer value must be a scalar, but is"),
        ({"class": "shift_axis", "amount": 1}, 'option "axis" is missing'),
        ({"class": "shift_axis", "axis": "T", "amount": 0}, "amount must be an integer other than 0, but is 0"),
        (
            {"class": "shift_axis", "axis": "T", "amount": 1, "pad": False, "adjust_size_info": False},
            "adjust_size_info=False needs pad",
        ),
        ({"class": "seq_len_mask"}, 'option "mask_value" is missing'),
        ({"class": "seq_len_mask", "mask_value": 0, "axis": "F"}, "is static: .* nothing to mask"),
        ({"class": "seq_len_mask", "mask_value": 0, "window_start": 1}, "window_start needs window_size"),
        ({"class": "seq_len_mask", "mask_value": 0, "start": 0.5}, "start must be an integer, but is 0.5"),
        ({"class": "repeat", "repetitions": 2}, 'option "axis" is missing'),
        ({"class": "repeat", "axis": "T"}, 'option "repetitions" is missing'),
        ({"class": "repeat", "axis": "T", "repetitions": "data"}, "the layer repetitions must give integers"),
        ({"class": "prefix_in_time", "axis": "stag:foo"}, r"axis 'stag:foo': none matches. Its axes: \[B, T\|"),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    network = {
        "len": LEN,
        "last": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": {"from": "data", **layer},
    }
    with pytest.raises(ConfigError, match=message) as error, Net(network):
        pass
    assert 'network["output"]' in str(error.value)
