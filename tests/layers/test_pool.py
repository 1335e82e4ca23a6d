"""Pooling layers."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

ROWS = [[[1], [2], [3], [4], [5]], [[7], [8], [9], [100], [100]]]
"""100 stands behind the end"""
LENS = {"data": [5, 3]}


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def test_pool() -> None:
    """Row 1 to 5, windows of 2: max 2, 4, 5; mean without the border 1.5, 3.5, 5; lengths [5, 3] become [3, 2]."""
    rows = [[[1], [2], [3], [4], [5]], [[7], [8], [9], [100], [100]]]
    common = {"class": "pool", "pool_size": (2,), "padding": "same", "from": "data", "is_output_layer": True}
    network = {
        "output": {**common, "mode": "max"},
        "avg": {**common, "mode": "avg"},
        "masked": {**common, "mode": "avg", "use_time_mask": True},
    }
    with Net(network, {"data": {"dim": 1}}) as net:
        feed = net.feed({"data": [5, 3]}, data=rows)
        assert net.out(feed=feed)[0, :, 0].tolist() == [2, 4, 5]
        assert net.out("avg", feed)[0, :, 0].tolist() == [1.5, 3.5, 5]
        assert net.lens(feed=feed) == [[3, 2]]
        assert net.out("avg", feed)[1, 1, 0] == 54.5  # (9 + 100) / 2: padding is seen
        assert net.out("masked", feed)[1, 1, 0] == 4.5  # (9 + 0) / 2


@pytest.mark.usefixtures("newest")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "max", "pool_size": (2,)}, [8, 9]),
        ({"mode": "avg", "pool_size": (2,)}, [7.5, 9]),
        ({"mode": "max", "pool_size": (3,)}, [8]),  # the window begins one frame before the sequence
        ({"mode": "avg", "pool_size": (3,)}, [7.5]),
        ({"mode": "avg", "pool_size": (3,), "strides": 1}, [7.5, 8, 8.5]),
        ({"mode": "avg", "pool_size": (3,), "strides": 2}, [7.5, 8.5]),
        ({"mode": "avg", "pool_size": (2,), "padding": "same_static"}, [7.5, 4.5]),  # zeros count
        ({"mode": "avg", "pool_size": (2,), "use_time_mask": False}, [7.5, 54.5]),
    ],
)
def test_a_sequence_does_not_depend_on_the_others_at_the_newest_version(
    options: dict[str, Any], expected: list[float]
) -> None:
    """7, 8, 9 alone, and next to a longer one."""
    layer = {"class": "pool", "padding": "same", "from": "data", "in_spatial_dims": ["T"], **options}
    with Net({"output": layer}, {"data": {"dim": 1}}) as net:
        feed = net.feed(LENS, data=ROWS)
        assert net.lens(feed=feed)[0][1] == len(expected)
        assert net.out(feed=feed)[1, : len(expected), 0].tolist() == pytest.approx(expected)
        if options.get("use_time_mask", True):
            assert net.out(feed=net.feed(data=[[[7], [8], [9]]]))[0, :, 0].tolist() == pytest.approx(expected)


@pytest.mark.usefixtures("newest")
def test_static_padding_for_the_maximum_is_nothing_at_the_newest_version() -> None:
    """before zeros, which are larger than -5"""
    layer = {"class": "pool", "mode": "max", "pool_size": (2,), "padding": "same_static", "from": "data"}
    with Net({"output": layer}, {"data": {"dim": 1}}) as net:
        assert net.out(feed=net.feed(data=[[[-1], [-2], [-3], [-4], [-5]]]))[0, :, 0].tolist() == [-1, -3, -5]


def test_windows_are_longer_than_all_sequences() -> None:
    """Nothing comes out; TensorFlow alone would stop."""
    layer = {"class": "pool", "mode": "avg", "pool_size": (4,), "strides": 1, "from": "data"}
    with Net({"output": layer}, {"data": {"dim": 1}}) as net:
        assert net.out(feed=net.feed(data=[[[1], [2]]])).shape == (1, 0, 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "max", "padding": "same_static"}, [-1, -3, 0]),  # rows 1 to 5 and a 0 behind: windows 1 2, 3 4, 5 0
        ({"mode": "avg", "padding": "same_static"}, [-1.5, -3.5, -2.5]),
        ({"mode": "max", "padding": 1}, [-1, -2, -4]),  # nothing, then 1; 2 3; 4 5
        ({"mode": "avg", "padding": (1,)}, [-0.5, -2.5, -4.5]),
        ({"mode": "avg", "padding": 0}, [-1.5, -3.5]),
        ({"mode": "max", "padding": "same", "use_channel_first": True}, [-1, -3, -5]),
    ],
)
def test_padding_of_pool(options: dict[str, Any], expected: list[float]) -> None:
    """Rows -1 to -5, windows of 2."""
    layer = {"class": "pool", "pool_size": (2,), "from": "data", **options}
    with Net({"output": layer}, {"data": {"dim": 1}}) as net:
        feed = net.feed(data=[[[-1], [-2], [-3], [-4], [-5]]])
        assert net.out(feed=feed)[0, :, 0].tolist() == expected
        assert net.lens(feed=feed) == [[len(expected)]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "some"}, 'padding must be "same", "valid", "same_static", or a number, but is \'some\''),
        ({"padding": (1, 1)}, r"padding must have one number per spatial axis \(1\), but is \(1, 1\)"),
        ({"padding": -1}, "padding must have one number per spatial axis"),
        ({"padding": "same_static", "strides": 1, "dilation_rate": 2}, 'dilation_rate needs padding "valid"'),
    ],
)
def test_padding_of_pool_that_is_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        out({"class": "pool", "mode": "max", "pool_size": (2,), "from": "data", **options})
