"""Axes and labels with another meaning. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]].

What a reference gives for all options: tests/peer_cases/reinterpret_axes, reinterpret_labels.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tensor import FeatureDim, SpatialDim
from returnn.tf.compat import tf
from returnn.util.errors import ConfigError
from tests.network.net import Net, X, out

RENAME = {"class": "reinterpret_data", "from": "data"}
IMAGE = {"data": {"shape": (None, 2, 3)}}
LABELS = {"data": {"dim": 5, "sparse": True}}


def markers(options: dict[str, Any], extern_data: dict[str, Any] | None = None) -> tuple[Any, ...]:
    with Net({"output": {**RENAME, **options}}, extern_data or IMAGE) as net:
        output = net.layers["output"].output
        return output.batch_dim_axis, output.time_dim_axis, output.feature_dim_axis, output.dim


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (0, 1, 3, 3)),
        ({"enforce_time_major": True}, (1, 0, 3, 3)),
        ({"switch_axes": "tf"}, (0, 3, 1, None)),
        ({"set_axes": {"F": "static:0"}}, (0, 1, 2, 2)),
        ({"set_axes": {"T": "F"}}, (0, 3, 2, 2)),  # the last static one that is left
        ({"set_axes": {"T": None}}, (0, None, 3, 3)),
        ({"set_axes": {"F": None, "T": "s:1"}}, (0, 2, None, None)),
        ({"set_axes": {"F": "s:1", "T": "F"}}, (0, 2, 2, 2)),  # in the order of the letters: T is what F is by then
        ({"set_axes": {"T": 2}, "enforce_batch_major": True}, (0, 2, 3, 3)),
    ],
)
def test_which_axis_is_what(options: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """[B, T, 2, F = 3]: axes of batch, time and features, and their number"""
    assert markers(options) == expected


def test_lengths_of_another_layer() -> None:
    """Two data keys of equal lengths become one time axis: they can be added."""
    network = {
        "x": {**RENAME, "size_base": "data:other"},
        "output": {"class": "combine", "kind": "add", "from": ["x", "data:other"]},
    }
    data = {"data": {"dim": 2}, "other": {"dim": 2, "available_for_inference": True}}
    with Net(network, data) as net:
        feed = net.feed({"data": [2, 3], "other": [2, 3]}, data=X, other=10 * X)
        assert net.out(feed=feed)[0, :2].tolist() == [[11, 22], [33, 44]]
        assert net.lens(feed=feed) == [[2, 3]]
        assert net.layers["output"].output.time_dim == net.net.extern_data.data["other"].time_dim


def test_a_new_dim_has_the_old_lengths_but_is_another_axis() -> None:
    """x[t] * x[t2] summed over both time axes: (sum of x)^2, per feature 4^2, 6^2, and 21^2, 24^2"""
    second = SpatialDim("second")
    network = {
        "x": {**RENAME, "set_dim_tags": {"T": second}},
        "pairs": {"class": "combine", "kind": "mul", "from": ["data", "x"]},
        "output": {"class": "reduce", "mode": "sum", "axis": ["T", second], "from": "pairs"},
    }
    with Net(network) as net:
        assert net.layers["pairs"].output.batch_ndim == 4
        assert net.out().tolist() == [[16, 36], [21**2, 24**2]]


@pytest.mark.parametrize(
    ("options", "classes", "dtype"),
    [
        ({"set_sparse_dim": 7}, 7, "int32"),
        ({"set_sparse_dim": FeatureDim("nine", 9), "increase_sparse_dim": 1}, 10, "int32"),
        ({"increase_sparse_dim": 2}, 7, "int32"),
        ({"set_sparse": False}, None, "int32"),
        ({"set_sparse_dim": None}, None, "int32"),
    ],
)
def test_labels(options: dict[str, Any], classes: int | None, dtype: str) -> None:
    """of five classes"""
    with Net({"output": {**RENAME, **options}}, LABELS) as net:
        output = net.layers["output"].output
        assert (output.dim, output.dtype) == (classes, dtype)
        assert output.sparse == (options.get("set_sparse") is None)
        assert net.out(feed=net.feed(data=[[3, 4]])).tolist() == [[3, 4]]


def test_the_loss_sees_through() -> None:
    """cross entropy on logits: of a softmax behind a reinterpret_data layer too"""
    network = {
        "softmax": {"class": "softmax", "n_out": 3, "from": "data"},
        "output": {**RENAME, "from": "softmax", "loss": "ce", "target": "classes", "size_base": "data:classes"},
    }
    data = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True}}
    with Net(network, data, evaluation=True) as net:
        before = [net.layers[name].output_before_activation.get_logits() for name in ("softmax", "output")]
        assert before[0].raw_tensor is before[1].raw_tensor
        assert before[1].dims == net.layers["output"].output.dims != before[0].dims
        net.set(softmax__W=1000.0 * numpy.array([[1, 0, 0], [0, 0, 0]]))  # p = (1, 0, 0): without logits log 0
        feed = net.feed({"data": [1], "classes": [1]}, data=[[[1, 0]]], classes=[[1]])
        assert net.fetches(feed, should_eval=True)["cost:output"] == pytest.approx(1000)
        assert net.session.run(tf.reduce_max(net.layers["output"].output.placeholder), feed) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"enforce_time_major": True, "enforce_batch_major": True}, "enforce_.*major exclude each other"),
        ({"switch_axes": "bt"}, "switch_axes must be \"tf\", but is 'bt'. The batch axis cannot be another one"),
        ({"switch_axes": "tx"}, "switch_axes must be \"tf\", but is 'tx'"),
        ({"set_axes": {"B": "T"}}, "set_axes: the batch axis of .* cannot be another one"),
        ({"set_axes": {"F": "B"}}, "set_axes: the batch axis cannot be the feature axis"),
        ({"set_axes": {"X": "T"}}, 'set_axes: keys are "T" and "F", but one is \'X\''),
        ({"set_axes": {"T": 2}}, "set_axes: 'T': number 2 counts axes in some order: set enforce_batch_major"),
        ({"set_axes": {"T": "stag:no"}}, "axis 'stag:no': none matches. Its axes: "),
        ({"size_base": "pairs"}, "size_base: .* has not as many dynamic axes as"),
        ({"size_base": "dat"}, "layer 'dat' not found"),
        ({"set_dim_tags": {"F": FeatureDim("four", 4)}}, r"set_dim_tags: .*\(3\). cannot be .*\(4\)"),
        ({"set_dim_tags": {"F": 3}}, "set_dim_tags must have Dims as values, but one is 3"),
        ({"batch_dim_base": "constant"}, "batch_dim_base: no batch axis in"),
        ({"set_sparse_dim": 5}, "set_sparse_dim and increase_sparse_dim are for labels, but .* is dense"),
        ({"increase_sparse_dim": 5}, "set_sparse_dim and increase_sparse_dim are for labels"),
        ({"set_sparse": True, "set_sparse_dim": None, "increase_sparse_dim": 1}, "it is not known how many classes"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    network = {
        "pairs": {"class": "reinterpret_data", "from": "data:pairs"},
        "constant": {"class": "constant", "value": 1.0},
        "output": {**RENAME, **options},
    }
    data = {**IMAGE, "pairs": {"shape": (None, None, 1), "available_for_inference": True}}
    with pytest.raises(ConfigError, match=message):
        Net(network, data)


def test_values_stay() -> None:
    numpy.testing.assert_array_equal(out({**RENAME, "enforce_time_major": True}), X.swapaxes(0, 1))
