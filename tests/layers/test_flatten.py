"""Batch and time as one axis, and the other way round. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]].

What a reference gives for all options: tests/peer_cases/flatten_batch_frames, unflatten_images.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tensor import SpatialDim
from returnn.util.errors import ConfigError
from tests.network.net import Net

FLAT = {"class": "flatten_batch", "from": "data"}
BACK = {"class": "unflatten_batch", "from": "flat"}


def test_flatten_batch_leaves_out_padding() -> None:
    """sequence by sequence, or frame by frame"""
    network = {"output": FLAT, "by_frames": {**FLAT, "batch_major": False, "is_output_layer": True}}
    with Net(network) as net:
        assert net.out()[:, 0].tolist() == [1, 3, 5, 7, 9]
        assert net.out("by_frames")[:, 0].tolist() == [1, 5, 3, 7, 9]
        output = net.layers["output"].output
        assert (output.batch_dim_axis, output.time_dim_axis, output.feature_dim_axis) == (0, None, 1)


def test_unflatten_batch_undoes_it() -> None:
    """with zeros behind the end, through other layers; also where there is no frame at all"""
    network = {
        "flat": FLAT,
        "ten": {"class": "combine", "kind": "add", "from": ["flat", "flat"]},
        "output": {**BACK, "from": "ten"},
    }
    with Net(network) as net:
        assert net.out()[..., 0].tolist() == [[2, 6, 0], [10, 14, 18]]
        assert net.lens() == [[2, 3]]
        empty = net.feed({"data": [0, 0]}, data=numpy.zeros((2, 0, 2)))
        assert net.out(feed=empty).shape == (2, 0, 2) and net.out("flat", empty).shape == (0, 2)


def test_flatten_batch_of_a_static_axis_and_of_one_of_two_times() -> None:
    """
    Rows [1 2] and [3 4] become four entries and back. Of two times with lengths [2, 1] and [1, 2], the entries of the
    first have the lengths 1, 1, 2 along the second. (The reference fails for both.)
    """
    network = {"flat": {**FLAT, "axis": "F"}, "output": BACK}
    with Net(network, {"data": {"shape": (2,)}}) as net:
        feed = net.feed(data=[[1, 2], [3, 4]])
        assert net.out("flat", feed).tolist() == [1, 2, 3, 4] and net.out(feed=feed).tolist() == [[1, 2], [3, 4]]
    network = {
        "flat": {**FLAT, "axis": "dyn:0"},
        "output": {"class": "reduce", "mode": "sum", "axis": "T", "from": "flat"},
    }
    with Net(network, {"data": {"shape": (None, None, 1)}}) as net:
        value = [[[[1], [-9]], [[2], [-9]]], [[[3], [4]], [[-9], [-9]]]]
        feed = net.feed({"data": [[2, 1], [1, 2]]}, data=value)
        assert net.lens("flat", feed) == [[1, 1, 2]]
        assert net.out(feed=feed).tolist() == [[1], [2], [7]]


def test_a_loss_on_real_frames_only() -> None:
    """cross entropy of uniform guesses: 5 frames, log 2 each"""
    network = {
        "flat": FLAT,
        "labels": {**FLAT, "from": "data:classes"},
        "output": {"class": "softmax", "n_out": 2, "from": "flat", "loss": "ce", "target": "layer:labels"},
    }
    data = {"data": {"dim": 2}, "classes": {"dim": 2, "sparse": True}}
    with Net(network, data, evaluation=True) as net:
        net.set(output__W=0)
        lens = {"data": [2, 3], "classes": [2, 3]}
        feed = net.feed(lens, data=numpy.zeros((2, 3, 2)), classes=numpy.zeros((2, 3)))
        fetched = net.fetches(feed, should_eval=True)
        assert fetched["cost:output"] == pytest.approx(5 * numpy.log(2))
        assert fetched["loss_norm_factor:output"] == pytest.approx(1 / 5)


def test_split_batch_time() -> None:
    """rows b * T + t, padding included"""
    network = {
        "merged": {"class": "merge_dims", "axes": "BT", "from": "data"},
        "output": {"class": "split_batch_time", "base": "data", "from": "merged"},
    }
    with Net(network) as net:
        assert net.out()[..., 0].tolist() == [[1, 3, 100], [5, 7, 9]]
        assert net.lens() == [[2, 3]] and net.layers["output"].output.time_dim_axis == 1


def test_unflatten_nd_has_its_own_sizes_for_each_sequence() -> None:
    """0 to 5 as 2 x 3, 6 to 9 as 4 x 1: sums of the rows 3, 12 and 6, 7, 8, 9"""
    height, width = SpatialDim("height"), SpatialDim("width")
    images = {"class": "unflatten_nd", "sizes": "data:sizes", "num_axes": 2, "from": "data"}
    network = {
        "images": images,
        "output": {"class": "reduce", "mode": "sum", "axis": "dyn:1", "from": "images"},
        # the reference fails for out_dims
        "named": {**images, "in_dim": "T", "out_dims": [height, width]},
        "columns": {"class": "reduce", "mode": "sum", "axis": height, "from": "named", "is_output_layer": True},
    }
    data = {"data": {"shape": (None,)}, "sizes": {"shape": (2,), "dtype": "int32", "available_for_inference": True}}
    with Net(network, data) as net:
        values = {"data": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, -1, -1]], "sizes": [[2, 3], [4, 1]]}
        feed = net.feed({"data": [6, 4]}, **values)
        assert net.lens("images", feed) == [[2, 4], [3, 1]]
        rows = net.out(feed=feed)
        assert rows[0, :2].tolist() == [3, 12] and rows[1].tolist() == [6, 7, 8, 9]
        columns = net.out("columns", feed)
        assert columns[0].tolist() == [3, 5, 7] and columns[1, 0] == 30


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({**FLAT, "axis": "B"}, "a batch axis and another one are needed: axis 'B' of"),
        ({**FLAT, "from": "constant", "axis": "F"}, "a batch axis and another one are needed: axis 'F' of"),
        ({**BACK, "from": "data"}, "the batch of .* does not come from a flatten_batch layer"),
        ({**BACK, "from": "merged"}, "the batch of .* does not come from a flatten_batch layer"),
        ({"class": "split_batch_time", "from": "merged"}, 'option "base" is missing'),
        (
            {"class": "split_batch_time", "from": "merged", "base": "merged"},
            "batch and time of .* are to become axes of",
        ),
        ({"class": "split_batch_time", "from": "data", "base": "data"}, "has the time axis of .* already"),
        ({"class": "unflatten_nd", "from": "data", "num_axes": 2}, 'option "sizes" is missing'),
        (
            {"class": "unflatten_nd", "from": "data", "num_axes": 2, "sizes": "length"},
            r"sizes must be integers \[batch, 2\], but are \[B\] int32",
        ),
        (
            {"class": "unflatten_nd", "from": "data", "num_axes": 1, "sizes": "one", "out_dims": []},
            r"out_dims must be 1 Dims, but are \[\]",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], message: str) -> None:
    network = {
        "constant": {"class": "constant", "value": [1.0, 2.0]},
        "merged": {"class": "merge_dims", "axes": "BT", "from": "data"},
        "flat": FLAT,
        "length": {"class": "length", "from": "data"},
        "one": {"class": "expand_dims", "axis": "F", "from": "length"},
    }
    with pytest.raises(ConfigError, match=message):
        Net({**network, "output": layer})
