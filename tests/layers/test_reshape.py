"""Layers that add, drop, order, repeat and reshape axes. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]].

What a reference gives for all their options: tests/peer_cases/expand_dims_kinds, order_of_axes, reshape_and_tile.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tensor import FeatureDim, SpatialDim, batch_dim
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

IMAGE = {"data": {"shape": (None, 2, 3)}}
SIX = numpy.arange(6).reshape(1, 1, 2, 3)
"""one frame [0 1 2] [3 4 5]"""


def axes(layer: dict[str, Any], extern_data: dict[str, Any] | None = None) -> tuple[Any, ...]:
    """
    :return: static sizes (None: batch, or dynamic), and which axis is time, which is the features
    """
    with Net({"output": {"from": "data", **layer}}, extern_data) as net:
        output = net.layers["output"].output
        return output.batch_shape, output.time_dim_axis, output.feature_dim_axis


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({"class": "expand_dims", "axis": "F"}, ((None, None, 2, 1), 1, 3)),
        ({"class": "expand_dims", "axis": "spatial"}, ((None, None, 1, 2), 1, 3)),
        ({"class": "expand_dims", "axis": "T", "dim": 5}, ((None, None, 5, 2), 1, 3)),
        ({"class": "expand_dims", "axis": 1}, ((None, 1, None, 2), 2, 3)),
        ({"class": "expand_dims", "axis": -1}, ((None, None, 2, 1), 1, 3)),
        ({"class": "swap_axes", "axis1": "T", "axis2": "F"}, ((None, 2, None), 2, 1)),
        ({"class": "transpose", "perm": ["F", "T", "B"]}, ((2, None, None), 1, 0)),
        ({"class": "transpose", "perm": {"B": "F"}}, ((2, None, None), 2, 0)),
        ({"class": "tile", "multiples": {"F": 2}}, ((None, None, 4), 1, 2)),
    ],
)
def test_time_and_feature_axis_afterwards(layer: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """[B, T, F = 2]"""
    assert axes(layer) == expected


def test_a_new_axis_of_a_scalar() -> None:
    """The only axis is the features. (The reference accepts names only.)"""
    network = {
        "c": {"class": "constant", "value": 7.0},
        "output": {"class": "expand_dims", "axis": 0, "dim": 2, "from": "c"},
    }
    with Net(network) as net:
        assert net.out().tolist() == [7, 7]
        assert net.layers["output"].output.feature_dim_axis == 0


def test_the_feature_axis_is_the_last_static_one_unless_a_layer_said_another() -> None:
    """[2, 3] becomes [3, 2]: features were the last axis, and are. Set to the first, they go with it."""
    said = {"class": "reinterpret_data", "set_axes": {"F": "static:0"}, "from": "data"}
    swap = {"class": "swap_axes", "axis1": "static:0", "axis2": "static:1", "is_output_layer": True}
    with Net({"said": said, "output": {**swap, "from": "data"}, "after": {**swap, "from": "said"}}, IMAGE) as net:
        feed = net.feed(data=SIX)
        assert net.out(feed=feed)[0, 0].tolist() == [[0, 3], [1, 4], [2, 5]]
        assert [net.layers[name].output.dim for name in ("output", "after")] == [2, 2]
        assert [net.layers[name].output.feature_dim_axis for name in ("output", "after")] == [3, 3]


def test_squeezed_features_give_way_to_the_last_static_axis() -> None:
    """[3, 1] becomes [3]; of [B, T, 1] none is left."""
    assert axes({"class": "squeeze", "axis": "F"}, {"data": {"shape": (None, 3, 1)}}) == ((None, None, 3), 1, 2)
    assert axes({"class": "squeeze", "axis": "auto"}, {"data": {"dim": 1}}) == ((None, None), 1, None)
    middle = {"data": {"shape": (None, 1, 3), "feature_dim_axis": 2}}
    assert axes({"class": "squeeze", "axis": "F"}, middle) == ((None, None, 3), 1, 2)


def test_tile_repeats_the_axis_as_a_whole() -> None:
    """1 2 1 2 1 2"""
    assert out({"class": "tile", "multiples": {"F": 3}, "from": "data"})[0, 0].tolist() == [1, 2, 1, 2, 1, 2]


def test_tile_into_given_dims() -> None:
    """also where nothing is repeated"""
    four, two = FeatureDim("four", 4), FeatureDim("two", 2)
    for number, dim in [(2, four), (1, two)]:
        layer = {"class": "tile", "multiples": {"F": number}, "out_dims": {"F": dim}, "from": "data"}
        with Net({"output": layer}) as net:
            assert net.layers["output"].output.feature_dim is dim


def test_reshape_is_row_major() -> None:
    """[0 1 2] [3 4 5] as [0 1] [2 3] [4 5]; with the columns outermost 0 3 1 4 2 5"""
    time, rows, columns, six = SpatialDim("time"), SpatialDim("rows", 2), FeatureDim("columns", 3), FeatureDim("six", 6)
    network = {
        "output": {"class": "reshape", "in_dims": [rows, columns], "out_dims": [columns, rows], "from": "data"},
        "columns": {
            "class": "reshape",
            "in_dims": [columns, rows],
            "out_dims": [six],
            "from": "data",
            "is_output_layer": True,
        },
    }
    with Net(network, {"data": {"dim_tags": [batch_dim, time, rows, columns]}}) as net:
        feed = net.feed(data=SIX)
        assert net.out(feed=feed)[0, 0].tolist() == [[0, 1], [2, 3], [4, 5]]
        assert net.out("columns", feed)[0, 0].tolist() == [0, 3, 1, 4, 2, 5]


def test_combine_dims_merges_in_the_order_given() -> None:
    """[0 1 2] [3 4 5], columns outermost"""
    layer = {"class": "combine_dims", "axes": ["F", "static:0"], "from": "data"}
    assert out(layer, {"data": SIX}, extern_data=IMAGE)[0, 0].tolist() == [0, 3, 1, 4, 2, 5]


def test_split_dims_fills_up_a_static_axis_if_asked_to() -> None:
    """0 1 2 in rows of two: [0 1] [2 9]. (The reference fails here.)"""
    layer = {"class": "split_dims", "axis": "F", "pad_to_multiples": True, "pad_value": 9, "from": "data"}
    with Net({"a": {**layer, "dims": (-1, 2)}, "output": {**layer, "dims": (2, 2), "from": "data"}}, IMAGE) as net:
        feed = net.feed(data=SIX)
        assert net.out(feed=feed)[0, 0, 0].tolist() == [[0, 1], [2, 9]]
    assert out({**layer, "dims": (-1, 2)}, {"data": SIX}, extern_data=IMAGE)[0, 0, 0].tolist() == [[0, 1], [2, 9]]


def test_split_dims_of_a_batch_without_lengths() -> None:
    """four sequences as pairs"""
    layer = {"class": "split_dims", "axis": "B", "dims": (-1, 2), "from": "data"}
    with Net({"output": layer}, {"data": {"shape": (1,)}}) as net:
        assert net.out(feed=net.feed(data=[[1], [2], [3], [4]])).tolist() == [[[1], [2]], [[3], [4]]]
        assert net.layers["output"].output.batch_dim_axis == 0


def test_merged_axes_are_the_dim_given() -> None:
    """of equal size; another layer finds the axis by it"""
    merged, long = FeatureDim("merged", 6), SpatialDim("long")
    network = {
        "merge": {"class": "merge_dims", "axes": "static", "out_dim": merged, "from": "data"},
        "sum": {"class": "reduce", "mode": "sum", "axis": merged, "from": "merge", "is_output_layer": True},
        "time": {"class": "merge_dims", "axes": ["T", "s:1"], "out_dim": long, "from": "data"},
        "output": {"class": "reduce", "mode": "sum", "axis": long, "from": "time"},
        "one": {"class": "merge_dims", "axes": "F", "out_dim": FeatureDim("one", 3), "from": "data"},
    }
    with Net({**network, "last": {"class": "copy", "from": "one", "is_output_layer": True}}, IMAGE) as net:
        feed = net.feed(data=SIX)
        assert net.out("sum", feed).tolist() == [[15]] and net.out(feed=feed).tolist() == [[3, 5, 7]]
        assert net.layers["merge"].output.feature_dim is merged


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "expand_dims", "axis": "B"}, 'axis must be "F", "T", "spatial" or a number, but is \'B\''),
        ({"class": "expand_dims", "axis": 5}, "axis 5 is no place among those of"),
        ({"class": "expand_dims", "axis": "F", "dim": -1}, "dim must be a size >= 0, or a Dim, but is -1"),
        ({"class": "squeeze"}, 'option "axis" is missing'),
        ({"class": "squeeze", "axis": "F"}, r"axis Dim.F'feature:data'\(2\). of .* is not of size 1"),
        ({"class": "squeeze", "axis": "T"}, "axis Dim.'time:.* is not of size 1"),
        ({"class": "swap_axes", "axis1": "T"}, 'options "axis1" and "axis2" are needed'),
        (
            {"class": "swap_axes", "axis1": "T", "axis2": "s:0"},
            "axis1 'T' and axis2 's:0' are the same axis: Dim.'time",
        ),
        ({"class": "transpose", "perm": "BTF"}, "perm must be a dict or a list of axes, but is 'BTF'"),
        ({"class": "transpose", "perm": ["B", "F"]}, r"perm \['B', 'F'\] must name each axis once: \[B,T"),
        ({"class": "transpose", "perm": {"B": "F", "T": "F"}}, "perm .* names an axis twice"),
        ({"class": "tile", "multiples": {"T": 2}}, "only static axes can be repeated, but 'T' is Dim"),
        ({"class": "tile", "multiples": {"F": 0}}, r"multiples\['F'\] must be an integer > 0, but is 0"),
        ({"class": "tile", "multiples": 2}, "multiples must be a dict, axis -> how often, but is 2"),
        (
            {"class": "tile", "multiples": {"F": 2}, "out_dims": {"T": FeatureDim("x", 4)}},
            "out_dims has 'T', but multiples has no such axis",
        ),
        ({"class": "reshape", "in_dims": ["F"]}, 'options "in_dims" and "out_dims" are needed'),
        ({"class": "reshape", "in_dims": ["F"], "out_dims": [2]}, "out_dims must be Dims, but has 2"),
        (
            {"class": "reshape", "in_dims": ["F"], "out_dims": [SpatialDim("three", 3)]},
            "reshape: .* have 2 entries, but .* have 3",
        ),
        ({"class": "combine_dims", "axes": "BT"}, "keep_order needs axes as a list, but they are 'BT'"),
        (
            {"class": "combine_dims", "axes": ["B", "T"], "keep_order": False},
            'no option "keep_order": use class "merge_',
        ),
        ({"class": "split_dims", "axis": "B", "dims": (-1, 2)}, "the batch axis cannot be split: lengths belong to it"),
        ({"class": "merge_dims", "axes": "F", "out_dim": FeatureDim("five", 5)}, "have different sizes"),
    ],
)
def test_mistakes(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        out({"from": "data", **layer})


def test_labels_get_no_feature_axis() -> None:
    with pytest.raises(ConfigError, match="labels have no feature axis"):
        axes({"class": "expand_dims", "axis": "F"}, {"data": {"dim": 5, "sparse": True}})


def test_numbers_are_no_axes_at_the_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a new axis may be placed by a number."""
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)
    assert axes({"class": "expand_dims", "axis": 1}) == ((None, 1, None, 2), 2, 3)
    for layer in [{"class": "squeeze", "axis": 2}, {"class": "swap_axes", "axis1": 0, "axis2": 1}]:
        with pytest.raises(Exception, match="Do not specify axis . by a number"):
            axes(layer, {"data": {"dim": 1}})
