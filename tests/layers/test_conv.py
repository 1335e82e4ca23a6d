"""Convolution layers. Rows are 1 to 5, and 7, 8, 9 with two 100 behind the end; filters are of ones, unless said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import pytest

from returnn.log import log
from returnn.tensor import Dim, FeatureDim, batch_dim
from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

ROWS = [[[1], [2], [3], [4], [5]], [[7], [8], [9], [100], [100]]]
LENS = {"data": [5, 3]}
ONE = {"data": {"dim": 1}}
CONV = {
    "class": "conv",
    "filter_size": (3,),
    "padding": "same",
    "n_out": 1,
    "forward_weights_init": 1,
    "from": "data",
    "is_output_layer": True,
}


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def rows(value: numpy.ndarray, lens: list[int]) -> list[list[float]]:
    """without padding, and without the feature axis"""
    return [row[:n, 0].tolist() for row, n in zip(value, lens, strict=True)]


def results(layers: Mapping[str, Mapping[str, Any]], **config: Any) -> dict[str, list[list[float]]]:
    """
    :param layers: on ROWS
    :return: outputs
    """
    network = {"output": {"class": "copy", "from": "data"}, **layers}
    with Net(network, ONE, **config) as net:
        feed = net.feed(LENS, data=ROWS)
        return {name: rows(net.out(name, feed), net.lens(name, feed)[0]) for name in layers}


def test_conv() -> None:
    """Sums of three neighbours; 117 = 8 + 9 + 100: padding is seen, as it always was."""
    layers = {
        "same": CONV,
        "stride": {**CONV, "strides": 2},
        "static": {**CONV, "padding": "same_static", "strides": 2},
        "valid": {**CONV, "padding": "valid", "strides": 2},
        "masked": {**CONV, "use_time_mask": True},
    }
    assert results(layers) == {
        "same": [[3, 6, 9, 12, 9], [15, 24, 117]],
        "stride": [[3, 9, 9], [15, 117]],
        "static": [[6, 12, 5], [24, 209]],
        "valid": [[6, 12], [24]],
        "masked": [[3, 6, 9, 12, 9], [15, 24, 17]],
    }


@pytest.mark.parametrize(("options", "count"), [({}, 1), ({"use_time_mask": False}, 0), ({"use_time_mask": True}, 0)])
def test_seen_padding_is_told_once(options: dict[str, Any], count: int, caplog: pytest.LogCaptureFixture) -> None:
    """for all layers together, unless the config says what it wants"""
    log._printed_once.clear()
    results({"a": {**CONV, **options}, "b": {**CONV, **options, "strides": 2}})
    assert caplog.text.count("the last frames of a sequence see what stands behind its end") == count


@pytest.mark.usefixtures("newest")
def test_a_sequence_does_not_depend_on_the_others_at_the_newest_version() -> None:
    """Zeros behind the end; windows of "same" begin one frame before the sequence, whatever its length."""
    conv = {**CONV, "in_spatial_dims": ["T"], "with_bias": False}
    layers = {
        "same": conv,
        "stride": {**conv, "strides": 2},
        "stride3": {**conv, "strides": 3},
        "static": {**conv, "padding": "same_static", "strides": 2},
        "transposed": {**conv, "class": "transposed_conv", "filter_size": (2,), "strides": (1,), "padding": "valid"},
        "unmasked": {**conv, "use_time_mask": False},
    }
    expected = {
        "same": [[3, 6, 9, 12, 9], [15, 24, 17]],
        "stride": [[3, 9, 9], [15, 17]],
        "stride3": [[3, 12], [15]],
        "static": [[6, 12, 5], [24, 9]],
        "transposed": [[1, 3, 5, 7, 9, 5], [7, 15, 17, 9]],
        "unmasked": [[3, 6, 9, 12, 9], [15, 24, 117]],
    }
    assert results(layers) == expected
    with Net({"output": {"class": "copy", "from": "data"}, **layers}, ONE) as net:
        feed = net.feed(data=[[[7], [8], [9]]])
        for name, (_, alone) in expected.items():
            if name != "unmasked":
                assert net.out(name, feed)[0, :, 0].tolist() == alone


def test_transposed_conv() -> None:
    """W = (1, 10, 100) on 1 to 5 with stride 2, and with stride 3, of which a frame is cut off at both ends."""
    conv = {**CONV, "class": "transposed_conv", "with_bias": False}
    network = {
        "output": {**conv, "strides": 2},
        "valid": {**conv, "strides": (2,), "padding": "valid"},
        "cut": {**conv, "remove_padding": 1},
        "bias": {**conv, "with_bias": True, "bias_init": 7},
    }
    with Net(network, ONE) as net:
        net.set(**{name + "__W_native_transposed_conv": numpy.reshape([1, 10, 100], (3, 1, 1, 1)) for name in network})
        feed = net.feed(data=ROWS[:1])
        same = [1, 10, 102, 20, 203, 30, 304, 40, 405, 50]
        assert net.out(feed=feed)[0, :, 0].tolist() == same
        assert net.out("valid", feed)[0, :, 0].tolist() == [*same, 500]
        cut = net.out("cut", feed)[0, :, 0].tolist()
        assert (len(cut), cut[:3]) == (13, [10, 100, 2])
        assert net.out("bias", feed)[0, :3, 0].tolist() == [8, 17, 107]


def test_names_and_shapes_of_parameters() -> None:
    """The running mean has an axis of size 1 for each other axis."""
    layer = {**CONV, "n_out": 4, "with_bias": True, "batch_norm": True}
    network = {"c": layer, "output": {**CONV, "class": "transposed_conv", "filter_size": (3,), "n_out": 2, "from": "c"}}
    with Net(network, {"data": {"dim": 6}}) as net:
        shapes = net.param_shapes()
    assert shapes["c/W"] == [3, 6, 4] and shapes["c/bias"] == [4]
    assert shapes["c/batch_norm/c_c_output_mean"] == [1, 1, 4]
    assert shapes["output/W_native_transposed_conv"] == [3, 1, 2, 4] and shapes["output/bias"] == [2]


def test_bias_by_default_from_version_10_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """before without"""
    for version, names in ((9, ["output/W"]), (10, ["output/W", "output/bias"])):
        monkeypatch.setattr(BehaviorVersion, "_version", version)
        with Net({"output": {**CONV, "in_spatial_dims": ["T"]}}, ONE) as net:
            assert sorted(net.param_shapes()) == names


def test_depthwise_outputs_of_an_input_are_neighbours() -> None:
    """Output c * m + j sees input c: 2 inputs, 4 outputs, weights 1, 10, 1, 10."""
    layer = {**CONV, "filter_size": (1,), "n_out": 4, "groups": 2}
    with Net({"output": layer}) as net:
        net.set(output__W=[[[1, 10, 1, 10]]])
        assert net.out()[0, 0].tolist() == [1, 10, 2, 20]


def test_groups() -> None:
    """Output block g sees input block g: features 1 to 4, blocks (1, 2), (3, 4)."""
    layer = {**CONV, "filter_size": 1, "n_out": 2, "groups": 2}
    assert out(layer, {"data": [[[1, 2, 3, 4]]]}, extern_data={"data": {"dim": 4}}).tolist() == [[[3, 7]]]


@pytest.mark.parametrize("padding", ["same", "valid", "same_static", 1])
@pytest.mark.parametrize("base", [1.5, 2])
def test_sizes_that_are_powers_change_nothing(padding: Any, base: float) -> None:
    """zeros are computed too, and cut off"""
    plain, filled = {**CONV, "padding": padding}, {**CONV, "padding": padding, "pad_seq_len_to_power": base}
    values = results({"plain": plain, "filled": filled})
    assert values["plain"] == values["filled"]
    assert results({"plain": plain}, conv_pad_seq_len_to_power=base) == {"plain": values["plain"]}


def test_strided_windows_begin_where_those_of_the_power_do() -> None:
    """Up to version 30: 5 frames are filled up to 8, so that no zero is needed in front: 1 + 2 + 3, .."""
    layer = {**CONV, "strides": 2, "pad_seq_len_to_power": 2}
    assert results({"x": layer})["x"][0] == [6, 12, 5]


def test_filter_with_dims_of_its_own() -> None:
    """They say which axis is which, in any order: output k sees 1, 10, 100 times k + 1."""
    size, features, channels = Dim(3, name="size"), FeatureDim("in", 1), FeatureDim("channels", 3)
    weights = numpy.outer([1, 2, 3], [1, 10, 100])[:, None]
    network = {
        "w": {"class": "constant", "value": weights.astype("float32"), "shape": [channels, features, size]},
        "output": {
            **CONV,
            "filter_size": [size],
            "n_out": None,
            "out_dim": channels,
            "filter": "w",
            "padding": "valid",
        },
    }
    data = {"data": {"dim_tags": [batch_dim, Dim(None, name="time"), features], "dtype": "float32"}}
    with Net(network, data) as net:
        got = net.out(feed=net.feed(data=ROWS[:1]))
    assert got[0, 0].tolist() == [321, 642, 963]


@pytest.mark.parametrize(("padding", "frames"), [("valid", 0), ("same", 1), (1, 1)])
def test_sequences_shorter_than_the_filter(padding: Any, frames: int) -> None:
    """One frame: nothing fits; forward and backward."""
    layer = {**CONV, "padding": padding, "loss": "as_is", "with_bias": True}
    with Net({"output": layer}, ONE, train=True) as net:
        feed = net.feed(data=[[[2]]])
        assert net.out(feed=feed).tolist() == [[[2]] * frames]
        params = net.net.get_params_list()
        grads = net.session.run(tf.gradients(net.fetches(feed) and net.net.get_objective(), params), feed)
        assert grads[0].ravel().tolist() == [0, 2 * frames, 0]


def test_one_op_and_no_transpose() -> None:
    """2D: the convolution and the bias; 1D: an axis more, and one less; nothing else."""
    images = {"data": {"shape": (None, 4, 2)}}
    for layer, data, allowed in (
        ({**CONV, "filter_size": (3, 3), "with_bias": True}, images, {"Conv2D", "AddV2"}),
        ({**CONV, "with_bias": True}, ONE, {"Conv2D", "AddV2", "ExpandDims", "Squeeze"}),
        ({**CONV, "padding": "same_static", "strides": 2}, ONE, {"Conv2D", "ExpandDims", "Squeeze"}),
        ({**CONV, "groups": 1, "class": "pool", "mode": "max", "pool_size": (2, 2)}, images, {"MaxPool"}),
    ):
        if layer["class"] == "pool":
            layer = {key: layer[key] for key in ("class", "mode", "pool_size", "padding", "from")}
        with Net({"output": layer}, data) as net:
            ops = [op.type for op in net.graph.get_operations() if op.name.startswith("output/") and op.inputs]
        counted = [t for t in ops if t not in ("Const", "Assign", "ReadVariableOp", "Identity", "AssignVariableOp")]
        conv_ops = [t for t in counted if t in ("Conv2D", "MaxPool")]
        assert len(conv_ops) == 1
        assert "Transpose" not in counted and "Reshape" not in counted and allowed >= set(conv_ops)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": None}, 'option "padding" is missing'),
        ({"filter_size": None}, 'option "filter_size" is missing'),
        ({"filter_size": (0,)}, r"filter_size must be 1 to 3 numbers > 0, but is \(0,\)"),
        ({"filter_size": (3, 3)}, "filter_size has 2 numbers, but there are 1 spatial axes: Dim"),
        ({"padding": "foo"}, 'padding must be "same", "valid", "same_static", or a number, but is \'foo\''),
        ({"strides": (1, 2)}, r"strides must have one number per spatial axis \(1\), but is \(1, 2\)"),
        ({"groups": 2}, "groups must divide the number of input features, 1, and that of the outputs, 1, but is 2"),
        ({"padding": "same_static", "strides": 4}, 'padding "same_static" needs strides that are not larger'),
        ({"n_out": None}, "n_out, out_dim or target is needed"),
        ({"out_type": {"dim": 1}}, "out_type is not possible here"),
        ({"input_split_feature_dim": 2}, "input_split_feature_dim: 1 features cannot be split into groups of 2"),
        ({"in_spatial_dims": ["F"]}, "the feature axis cannot be one of in_spatial_dims"),
        ({"out_spatial_dims": ["T"]}, "out_spatial_dims must be Dims, but are"),
        ({"pad_seq_len_to_power": 1}, "pad_seq_len_to_power must be a number > 1, but is 1"),
        ({"class": "transposed_conv", "padding": "same_static"}, 'padding must be "same" or "valid", but is'),
        (
            {"class": "transposed_conv", "strides": 2, "output_padding": 2},
            r"output_padding must be None or a number less than the stride \(2\)",
        ),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    """found before anything is computed"""
    with pytest.raises(ConfigError, match=message), Net({"output": {**CONV, **options}}, ONE):
        pass


def test_labels_are_no_input() -> None:
    """it must be dense"""
    with (
        pytest.raises(ConfigError, match="the input must be dense, but is"),
        Net({"output": CONV}, {"data": {"dim": 3, "sparse": True}}),
    ):
        pass


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((3, 2, 3), {"n_out": 3, "filter_perm": ["static:0"]}, "cannot transpose"),
        ((2, 3, 3), {"n_out": 3}, "Say with filter_perm which axis is which"),
        ((3, 2, 5), {"n_out": 3}, "does not fit to the sizes"),
    ],
)
def test_filters_that_do_not_fit(shape: tuple[int, ...], options: dict[str, Any], message: str) -> None:
    """Sizes that occur twice do not say which axis is which."""
    network = {"w": {"class": "variable", "shape": shape}, "output": {**CONV, "filter": "w", **options}}
    with pytest.raises(ConfigError, match=message), Net(network):
        pass


def test_filter_in_the_order_of_the_parameter() -> None:
    """[k, in, out] is taken as it is, also where k and out are equal (another implementation swaps these two)."""
    weights = numpy.arange(18, dtype="float32").reshape(3, 2, 3)
    network = {
        "w": {"class": "constant", "value": weights, "shape": (3, 2, 3)},
        "output": {**CONV, "n_out": 3, "filter": "w", "padding": "valid"},
        "own": {**CONV, "n_out": 3, "forward_weights_init": weights, "padding": "valid"},
    }
    with Net(network) as net:
        numpy.testing.assert_allclose(net.out(), net.out("own"))
