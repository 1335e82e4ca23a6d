"""Layers of windows, chunks, other frame rates. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]]."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tensor import Dim
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

LABELS = {"data": {"dim": 6, "sparse": True}}


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def test_window_by_dims() -> None:
    """the window and the new time axis have the Dims given"""
    window, time = Dim(3, name="w"), Dim(None, name="t")
    layer = {"class": "window", "window_dim": window, "stride": 2, "out_spatial_dim": time, "from": "data"}
    with Net({"output": layer}) as net:
        assert net.layers["output"].output.dims[1:3] == (time, window)
        assert net.out()[1, :, :, 0].tolist() == [[0, 5, 7], [7, 9, 0]] and net.lens() == [[1, 2]]


@pytest.mark.parametrize("version", [0, 31])
def test_fold_undoes_window(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of the windows of three frames is the frames; the sum: 2, 3, 2 windows have 5, 7, 9 in them."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    fold = {"class": "fold", "in_spatial_dim": "T", "window_dim": "stag:window", "from": "window"}
    network = {
        "window": {"class": "window", "window_size": 3, "from": "data"},
        "output": {**fold, "mode": "mean"},
        "sum": {**fold, "mode": "sum", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.layers["output"].output.time_dim == net.layers["data"].output.time_dim
        value = net.layers["output"].output.copy_as_batch_major().placeholder
        assert net.session.run(value, net.feed())[1].tolist() == [[5, 6], [7, 8], [9, 10]]
        value = net.layers["sum"].output.copy_as_batch_major().placeholder
        assert net.session.run(value, net.feed())[1, :, 0].tolist() == [2 * 5, 3 * 7, 2 * 9]


@pytest.mark.parametrize(
    ("options", "size", "expected"),
    [
        ({"stride": 3}, 6, [1, 1, 1, 1, 1, 0]),  # as many as have 2 windows of 3, 3 further each: 4, 5, 6
        ({"stride": 2, "padding": "valid"}, 6, [1, 1, 2, 1, 1, 0]),  # 5 or 6
        ({"stride": 4, "padding": "valid"}, 10, [1, 1, 1, 0, 1, 1, 1, 0, 0, 0]),  # 7 to 10
    ],
)
def test_fold_has_the_longest_length_it_may_have(options: dict[str, Any], size: int, expected: list[float]) -> None:
    """2 windows of ones; the reference has such lengths, but not that many frames."""
    layer = {"class": "fold", "mode": "sum", "in_spatial_dim": "T", "window_dim": "static:0", "from": "data"}
    with Net({"output": layer | options}, {"data": {"shape": (None, 3, 1)}}) as net:
        feed = net.feed(data=numpy.ones((1, 2, 3, 1)))
        assert net.lens(feed=feed) == [[size]]
        assert net.out(feed=feed)[0, :, 0].tolist() == expected


def test_chunks() -> None:
    """1 3 and 5 7 9 in chunks of 2, one further each: 1 3, 3; 5 7, 7 9. Sequences of their own."""
    network = {
        "output": {"class": "time_chunking", "chunk_size": 2, "chunk_step": 1, "from": "data"},
        "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "output", "is_output_layer": True},
        "back": {"class": "time_unchunking", "chunking_layer": "output", "from": "output", "is_output_layer": True},
    }
    with Net(network) as net:
        assert net.lens() == [[2, 1, 2, 2]]
        assert net.out()[:, :, 0].T.tolist() == [[1, 3], [3, 0], [5, 7], [7, 9]]
        assert net.out("sum")[:, 0].tolist() == [4, 3, 12, 16]
        assert net.out("back")[:, :, 0].T.tolist() == [[1, 3, 0], [5, 7, 9]] and net.lens("back") == [[2, 3]]


def test_chunks_of_labels() -> None:
    """where the reference stops"""
    layer = {"class": "time_chunking", "chunk_size": 2, "chunk_step": 2, "from": "data"}
    with Net({"output": layer}, LABELS) as net:
        feed = net.feed({"data": [3, 1]}, data=[[1, 2, 3], [4, 5, 5]])
        assert net.out(feed=feed).T.tolist() == [[1, 2], [3, 0], [4, 0], [0, 0]]
        assert net.lens(feed=feed) == [[2, 1, 1, 0]]


@pytest.mark.parametrize(("version", "expected"), [(0, [1, 2, 3, 51.5]), (31, [1, 2, 3, 3])])
def test_resize(version: int, expected: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many, in between the mean; behind the last frame that one, up to version 30 the mean of 3 and 100."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    layer = {"class": "resize", "axis": "T", "factor": 2, "kind": "linear", "from": "data"}
    with Net({"output": layer}) as net:
        assert net.lens() == [[4, 6]]
        assert net.out()[0, :4, 0].tolist() == expected
        assert net.out()[1, :, 0].tolist() == [5, 6, 7, 8, 9, 9]


def test_resize_of_features() -> None:
    """by a factor that is no int, where the reference stops: places 0, 0.66 .., 1.33 .."""
    value = out({"class": "resize", "axis": "F", "factor": 1.5, "kind": "linear", "from": "data"})
    numpy.testing.assert_allclose(value[0, :, 0], [1, 1 + 2 / 3, 2], rtol=1e-6)


def test_some_of_the_filled_frames_are_left_out() -> None:
    """Of 5 times as many frames, the given ones stay, and about half of the others, the same of all sequences."""
    layer = {"class": "resize", "axis": "T", "factor": 5, "kind": "fill", "fill_value": 0, "from": "data"}
    with Net({"output": {**layer, "fill_dropout": 0.5}}, {"data": {"dim": 1}}) as net:
        rows = numpy.ones((2, 100, 1)) + numpy.arange(100)[:, None]
        feed = net.feed({"data": [100, 50]}, data=rows)
        value, (lens,) = net.out(feed=feed), net.lens(feed=feed)
        assert value.shape == (2, lens[0], 1)
        for row, n, number in zip(value[:, :, 0], lens, [100, 50], strict=True):
            assert row[:n][row[:n] > 0].tolist() == list(range(1, number + 1))
            assert abs((row[:n] == 0).sum() - 2 * number) < number / 2
        assert (value[0] == value[1]).all()
        assert net.lens(feed=feed) == [lens]  # a function of the step


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "window"}, "window_size must be an integer > 0, but is None"),
        ({"class": "window", "window_size": 2, "window_dim": Dim(3, name="w")}, "window_size is 2, but window_dim is"),
        ({"class": "window", "window_size": 3, "stride": 0}, "stride must be an integer >= 1, but is 0"),
        ({"class": "window", "window_size": 3, "padding": "some"}, "padding must be 'same' or 'valid', but is 'some'"),
        ({"class": "window", "window_size": 3, "axis": "B"}, "axis 'B' must not be the batch axis"),
        ({"class": "fold", "in_spatial_dim": "T", "window_dim": "F"}, 'option "mode" is missing'),
        ({"class": "fold", "mode": "sum", "window_dim": "F"}, 'option "in_spatial_dim" is missing'),
        ({"class": "fold", "mode": "max", "in_spatial_dim": "T", "window_dim": "F"}, "mode must be sum or mean"),
        ({"class": "time_chunking", "chunk_size": 2}, "chunk_step must be an integer >= 1, but is None"),
        (
            {"class": "time_unchunking", "chunking_layer": "data"},
            "chunking_layer must be a layer of class time_chunking",
        ),
        ({"class": "time_unchunking", "chunking_layer": "chunks"}, "the input has other axes than the chunks of"),
        ({"class": "resize", "factor": 2}, 'option "axis" is missing'),
        ({"class": "resize", "axis": "T"}, "factor must be a number, but is None"),
        ({"class": "resize", "axis": "T", "factor": 0}, "factor must be > 0, but is 0"),
        ({"class": "resize", "axis": "T", "factor": 2, "kind": "lin"}, "unknown kind 'lin'.*Kinds: nn, nearest_neighb"),
        ({"class": "resize", "axis": "T", "factor": 2, "kind": "fill"}, "fill_value must be a number, but is None"),
        (
            {"class": "resize", "axis": "T", "factor": 1.5, "kind": "fill", "fill_value": 0},
            "factor must be an integer >= 1, but is 1.5",
        ),
        ({"class": "resize", "axis": "T", "factor": 2, "fill_value": 1}, "need kind fill, but it is nn"),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    network = {
        "chunks": {"class": "time_chunking", "chunk_size": 2, "chunk_step": 2, "from": "data"},
        "output": {"from": "data", **layer},
    }
    with pytest.raises(ConfigError, match=message) as error, Net(network):
        pass
    assert 'network["output"]' in str(error.value)


def test_labels_have_nothing_in_between() -> None:
    layer = {"class": "resize", "axis": "T", "factor": 2, "kind": "linear", "from": "data"}
    with pytest.raises(ConfigError, match="kind linear needs floats, but the input is .* int32"):
        Net({"output": layer}, LABELS)
