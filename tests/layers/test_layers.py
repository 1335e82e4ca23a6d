"""Values of layers, from the arithmetic in each docstring. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]]."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from returnn.layers import registry
from returnn.layers.registry import get_layer_class_name_list
from returnn.layers.shape import CopyLayer
from returnn.tensor import Dim, batch_dim
from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, X, out

LINEAR = {"class": "linear", "n_out": 3, "activation": None, "from": "data"}
W23 = [[1, 2, 3], [4, 5, 6]]
B3 = [0.1, 0.2, 0.3]


def close(a: Any, b: Any, tolerance: float = 1e-5) -> None:
    numpy.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def test_linear() -> None:
    """(1, 2) W + b = (9.1, 12.2, 15.3)."""
    with Net({"output": LINEAR}) as net:
        net.set(output__W=W23, output__b=B3)
        close(net.out()[0, 0], [9.1, 12.2, 15.3])


def test_linear_on_labels_is_a_lookup() -> None:
    """Rows 0 and 1 of W, + b."""
    with Net({"output": LINEAR}, {"data": {"dim": 2, "sparse": True}}) as net:
        net.set(output__W=W23, output__b=B3)
        close(net.out(feed=net.feed(data=[[0, 1]]))[0], [[1.1, 2.2, 3.3], [4.1, 5.2, 6.3]])


@pytest.mark.parametrize(("limit", "passes"), [(4.0, [False, False]), (4.1, [True, False]), (400, [True, True])])
def test_grad_filter(limit: float, passes: list[bool]) -> None:
    """The gradient of the sum of x^2 / 2 is x: squares of its components are at most 4 and 361 in the two sequences."""
    layer = {"class": "linear", "n_out": 1, "activation": None, "with_bias": False, "from": "data"}
    with Net({"output": {**layer, "grad_filter": limit}}, {"data": {"dim": 1}}) as net:
        net.set(output__W=[[1]])
        x, y = net.net.extern_data.data["data"].placeholder, net.layers["output"].output.placeholder
        value = numpy.array([[[1], [-2]], [[3], [19]]], "float32")
        (grad,) = tf.gradients(tf.reduce_sum(y * y / 2), x)
        got = net.session.run(grad, net.feed(data=value))
    close(got, value * numpy.array(passes)[:, None, None])


def test_linear_with_one_dim_object_on_both_sides() -> None:
    """in_dim and out_dim are the same Dim in the config: W is still [in, out]."""
    time, feature = Dim(None, name="time"), Dim(2, name="feature", kind=Dim.Types.Feature)
    data = {"data": {"dim_tags": [batch_dim, time, feature], "dtype": "float32"}}
    with Net({"output": {"class": "linear", "out_dim": feature, "activation": None, "from": "data"}}, data) as net:
        net.set(output__W=[[0, 1], [2, 0]])
        close(net.out(feed=net.feed(data=[[[1, 2]]]))[0, 0], [4, 1])
        assert net.layers["output"].output.feature_dim == feature


def test_output_dim_from_the_target() -> None:
    """Target of 7 classes: 7 outputs, with ctc one more for the blank."""
    extern_data = {"data": {"dim": 2}, "classes": {"dim": 7, "sparse": True, "available_for_inference": False}}
    for loss, n_out in [("ce", 7), ("ctc", 8), (None, 7)]:
        layer = {"class": "softmax", "target": "classes", "loss": loss, "from": "data"}
        for evaluation in (False, True):
            with Net({"output": layer}, extern_data, evaluation=evaluation) as net:
                assert net.param_shapes()["output/W"] == [2, n_out]


def test_copy_of_several_sources() -> None:
    """X and 10 X: (1, 2, 10, 20). X and its masked sum (4, 6): (1, 2, 4, 6)."""
    network = {
        "times10": {"class": "eval", "eval": "source(0) * 10", "from": "data"},
        "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "data"},
        "a": {"class": "copy", "from": ["data", "times10"], "is_output_layer": True},
        "output": {"class": "copy", "from": ["data", "sum"]},
    }
    with Net(network) as net:
        close(net.out("a")[0, 0], [1, 2, 10, 20])
        close(net.out()[0, 0], [1, 2, 4, 6])


def test_dropout_shares_its_noise_over_batch_and_time() -> None:
    """p = 0.5 on ones: 0 or 2 everywhere, and all frames alike; not so with own noise for each axis."""
    ones = numpy.ones((2, 3, 8))
    network = {
        "output": {"class": "copy", "dropout": 0.5, "from": "data"},
        "own": {
            "class": "copy",
            "dropout": 0.5,
            "dropout_noise_shape": {"*": None},
            "from": "data",
            "is_output_layer": True,
        },
        "time": {"class": "copy", "dropout": 0.5, "dropout_axis": "T", "from": "data", "is_output_layer": True},
        "time2": {
            "class": "copy",
            "dropout": 0.5,
            "dropout_noise_shape": (1, None, 1),
            "from": "data",
            "is_output_layer": True,
        },
    }
    with Net(network, {"data": {"dim": 8}}, train=True) as net:
        feed = net.feed(data=ones)
        shared, own, time, time2 = (net.out(name, feed) for name in ("output", "own", "time", "time2"))
        assert set(shared.flat) == {0.0, 2.0} and (shared == shared[:1, :1]).all()
        assert set(own.flat) == {0.0, 2.0} and not (own == own[:1, :1]).all()
        for value in (time, time2):
            assert (value == value[:1, :, :1]).all()
    with Net(network, {"data": {"dim": 8}}) as net:
        assert (net.out(feed=net.feed(data=ones)) == 1).all()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("swish", (-0.268941, 1.761594)),
        ("log_softmax", (-3.048587, -0.048587)),
        ("safe_log", (-46.0517, 0.693147)),
        ("2*sigmoid", (0.537883, 1.761594)),
        ("1-sigmoid", (0.731059, 0.119203)),
        ("lin_exp", (0.367879, 3)),
        ("3+2*sigmoid", (3.537883, 4.761594)),
        ("-1*relu", (-1, 0)),
        ("tf.tanh(x)*2", (2 * math.tanh(-1), 2 * math.tanh(2))),
        ("leaky_relu", (-0.2, 2)),
    ],
)
def test_activation(name: str, expected: tuple[float, float]) -> None:
    """Of (-1, 2). "-1*relu" is split at the minus: x - 1 * relu(x)."""
    layer = {"class": "activation", "activation": name, "from": "data"}
    close(out(layer, {"data": [[[-1, 2]]]})[0, 0], expected)


@pytest.mark.parametrize(
    ("kind", "expected"), [("average", (1.5, 2.5)), ("truediv", (0.5, 0.666667)), ("logaddexp", (2.313262, 3.313262))]
)
def test_combine(kind: str, expected: tuple[float, float]) -> None:
    """Of X and X + 1, first frame."""
    network = {
        "next": {"class": "eval", "eval": "source(0) + 1", "from": "data"},
        "output": {"class": "combine", "kind": kind, "from": ["data", "next"]},
    }
    with Net(network) as net:
        close(net.out()[0, 0], expected)


class WithLoss(CopyLayer):
    """Carries a loss: the sum of the features."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.output_loss = tf.reduce_sum(self.output.placeholder, axis=-1)


def test_eval_for_output_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.5 (1 + 2) + 0.25 (1 + 2) = 2.25 for the first frame."""
    get_layer_class_name_list()
    monkeypatch.setitem(registry._classes, "with_loss", WithLoss)
    network = {
        "a": {"class": "with_loss", "from": "data"},
        "output": {"class": "eval", "eval": "0.5 * source(0) + 0.25 * source(1)", "from": ["a", "a"]},
    }
    network["output"]["eval_for_output_loss"] = True
    with Net(network) as net:
        loss = net.session.run(net.layers["output"].output_loss, net.feed())
        close(loss[0], [2.25, 5.25, 150])
    for change in ({"class": "combine", "kind": "add", "eval": None}, {"from": ["data", "a"]}):
        message = "no loss comes with data" if "from" in change else "eval_for_output_loss needs kind eval"
        with pytest.raises(ConfigError, match=message), Net({**network, "output": {**network["output"], **change}}):
            pass


def test_constant_of_a_shape_from_another_layer() -> None:
    """The lengths of the new dim are those of a layer that nothing else needs: 1 and 2 pooled frames."""
    pooled = Dim(None, name="pooled")
    network = {
        "pool": {"class": "pool", "mode": "max", "pool_size": 2, "from": "data", "out_spatial_dims": [pooled]},
        "output": {"class": "constant", "value": 3, "shape": [pooled], "with_batch_dim": True, "shape_deps": "pool"},
    }
    with Net(network) as net:
        assert "pool" in net.layers
        feed = net.feed(data=numpy.zeros((2, 4, 2)))
        assert net.out(feed=feed).tolist() == [[3, 3], [3, 3]]


def test_combine_with_a_feature_axis_of_size_one_in_front() -> None:
    """[B,T,1] - [B,T,2]: the output has both features. x1 - x = (1 - 1, 1 - 2)."""
    network = {
        "first": {
            "class": "eval",
            "eval": "source(0, auto_convert=False)[:, :, :1]",
            "from": "data",
            "out_type": {"shape": (None, 1)},
        },
        "output": {"class": "combine", "kind": "sub", "from": ["first", "data"]},
    }
    with Net(network) as net:
        close(net.out()[0, 0], [0, -1])


def test_out_type_dim_alone_changes_the_features() -> None:
    layer = {"class": "eval", "eval": "tf.concat([source(0)] * 2, axis=-1)", "from": "data", "out_type": {"dim": 4}}
    close(out(layer)[0, 0], [1, 2, 1, 2])


def test_split_and_merge_dims() -> None:
    """Row-major; time is filled up with 0 to a multiple: lengths [2, 3] become [1, 2]."""
    network = {
        "split": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data"},
        "back": {"class": "merge_dims", "axes": "static", "from": "split", "is_output_layer": True},
        "turned": {
            "class": "merge_dims",
            "axes": ["F", "static:0"],
            "keep_order": True,
            "from": "split",
            "is_output_layer": True,
        },
        "all": {"class": "merge_dims", "axes": "BT", "from": "data", "is_output_layer": True},
        "output": {"class": "split_dims", "axis": "T", "dims": (-1, 2), "from": "data"},
    }
    with Net(network, {"data": {"dim": 4}}) as net:
        feed = net.feed({"data": [2, 3]}, data=numpy.arange(24).reshape(2, 3, 4))
        assert net.out("split", feed)[0, 0].tolist() == [[0, 1], [2, 3]]
        assert net.out("back", feed)[0, 0].tolist() == [0, 1, 2, 3]
        assert net.out("turned", feed)[0, 0].tolist() == [0, 2, 1, 3]
        assert net.out("all", feed).shape == (6, 4)
        assert net.lens(feed=feed) == [[1, 2]]
        assert net.out(feed=feed)[1, 1].tolist() == [[20, 21, 22, 23], [0, 0, 0, 0]]


def test_merging_the_batch_repeats_the_lengths() -> None:
    """Axis of 2 in front of the batch of 2: sequences are (0, b0), (0, b1), (1, b0), (1, b1)."""
    network = {
        "output": {"class": "merge_dims", "axes": ["static:0", "B"], "keep_order": True, "from": "data"},
        "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "output", "is_output_layer": True},
    }
    with Net(network, {"data": {"shape": (None, 2, 1)}}) as net:
        feed = net.feed({"data": [2, 1]}, data=[[[[1], [10]], [[2], [20]]], [[[3], [30]], [[99], [99]]]])
        assert net.lens(feed=feed) == [[2, 1, 2, 1]]
        assert net.out("sum", feed)[:, 0].tolist() == [3, 3, 30, 30]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "mean", "axis": "T"}, [[2, 3], [7, 8]]),
        ({"mode": "max", "axis": "T"}, [[3, 4], [9, 10]]),
        ({"mode": "mean", "axis": "bt"}, [5, 6]),
        ({"mode": "mean", "axes": ["T", "F"]}, [2.5, 7.5]),
        ({"mode": "argmax", "axis": "F"}, [[1, 1, 0], [1, 1, 1]]),
        ({"mode": "mean", "axis": "T", "keep_dims": True}, [[[2, 3]], [[7, 8]]]),
    ],
)
def test_reduce(options: dict[str, Any], expected: Any) -> None:
    """Without padding. The third frame of the first sequence is (100, 100): argmax 0."""
    value = out({"class": "reduce", "from": "data", **options})
    close(value, expected)
    assert value.dtype == ("int32" if options["mode"] == "argmax" else "float32")


def test_reduce_logsumexp_and_empty_sequences() -> None:
    """log(e^1 + e^3) = 3.126928; mean of no frame: 0."""
    close(out({"class": "reduce", "mode": "logsumexp", "axis": "T", "from": "data"})[0], [3.126928, 4.126928])
    with Net({"output": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"}}) as net:
        close(net.out(feed=net.feed({"data": [0, 3]}, data=X)), [[0, 0], [7, 8]])


def test_reduce_out() -> None:
    """Maxout over pairs: max(1, 2) = 2, .."""
    assert out({"class": "reduce_out", "mode": "max", "num_pieces": 2, "from": "data"})[0].tolist() == [[2], [4], [100]]


@pytest.mark.usefixtures("newest")
def test_padding_is_not_seen_by_neighbours_at_the_newest_version() -> None:
    """pool: only the 9 counts for the maximum; window and split_dims: 0 behind the end."""
    common = {"from": "data", "is_output_layer": True}
    network = {
        "output": {**common, "class": "pool", "mode": "max", "pool_size": (2,), "padding": "same"},
        "window": {**common, "class": "window", "window_size": 3},
        "split": {**common, "class": "split_dims", "axis": "T", "dims": (-1, 2)},
    }
    with Net(network, {"data": {"dim": 1}}) as net:
        feed = net.feed({"data": [5, 3]}, data=[[[1], [2], [3], [4], [5]], [[7], [8], [9], [100], [100]]])
        assert net.out(feed=feed)[1, :2, 0].tolist() == [8, 9]
        assert net.out("window", feed)[2, :, 1, 0].tolist() == [8, 9, 0]  # time and window are in front
        assert net.out("split", feed)[1, 1, :, 0].tolist() == [9, 0]


def test_layer_norm() -> None:
    """(1, 2): (-1, 1) but for epsilon."""
    close(out({"class": "layer_norm", "from": "data"})[0, 0], [-0.999998, 0.999998], 1e-6)


def test_window() -> None:
    """Zeros outside. Size 4: 1 to the left, 2 to the right. Size 2 with stride 2: lengths [2, 3] become [1, 2]."""
    assert out({"class": "window", "window_size": 3, "from": "data"})[0, 0].tolist() == [[0, 0], [1, 2], [3, 4]]
    assert out({"class": "window", "window_size": 4, "from": "data"})[1, 0].tolist() == [
        [0, 0],
        [5, 6],
        [7, 8],
        [9, 10],
    ]
    layer = {"class": "window", "window_size": 2, "window_right": 1, "stride": 2, "from": "data"}
    with Net({"output": layer}) as net:
        assert net.lens() == [[1, 2]]


BN = {"class": "batch_norm", "from": "data"}


def test_batch_norm_of_version_0() -> None:
    """
    Frames 1 3 5 7 9: mean 5, variance 8; (1 - 5) / sqrt(8.001) = -1.414125. Running values: 0.99 * (5, 8) + 0.01 *
    (0, 1), also without training.
    """
    with Net({"output": BN}, train=True) as net:
        feed = net.feed()
        y, _ = net.session.run((net.layers["output"].output.placeholder, net.net.get_fetches_dict()), feed)
        close(y[0, :2], [[-1.414125] * 2, [-0.707063] * 2])
        prefix = "output/batch_norm/output_output_output_"
        assert set(net.param_shapes()) == {prefix + name for name in ("mean", "variance", "gamma", "beta")}
        assert net.param_shapes()[prefix + "mean"] == [1, 1, 2]
        close(net.get(prefix + "mean").flat, [4.95, 5.94])
        close(net.get(prefix + "variance").flat, [7.93, 7.93])
        assert [var.op.name for var in net.net.get_trainable_params()] == [prefix + "beta", prefix + "gamma"]
    with Net({"output": BN}, train="dynamic", evaluation=True) as net:
        y, _ = net.session.run((net.layers["output"].output.placeholder, net.net.get_fetches_dict()), net.feed())
        close(y[0, 0], [-1.402598, -1.399047])
        close(net.get(prefix + "mean").flat, [4.95, 5.94])


@pytest.mark.parametrize(
    ("options", "variance"),
    [
        ({"masked_time": True}, 1.7),  # 0.9 * 1 + 0.1 * 8
        ({"masked_time": False}, 152.1167),  # fused: 0.9 + 0.1 * unbiased variance, of 6 frames with the padding
        ({"masked_time": False, "param_version": 0}, 126.9139),  # 0.9 + 0.1 * biased variance
    ],
)
@pytest.mark.usefixtures("newest")
def test_batch_norm_of_version_12(options: dict[str, Any], variance: float) -> None:
    """Momentum 0.1 of the new value."""
    with Net({"output": {**BN, **options}}, train=True) as net:
        net.fetches()
        name = next(name for name in net.param_shapes() if name.endswith("variance"))
        close(net.get(name).flat[0], variance)


def test_batch_norm_of_reused_parameters() -> None:
    """Both layers move the same running values: 2 of 2 steps with momentum 1 give those of the last one."""
    network = {
        "a": {**BN, "param_version": 1, "momentum": 1.0},
        "output": {**BN, "param_version": 1, "momentum": 1.0, "reuse_params": "a"},
    }
    with Net(
        {**network, "both": {"class": "copy", "from": ["a", "output"], "is_output_layer": True}}, train=True
    ) as net:
        assert set(net.param_shapes()) == {"a/batch_norm/" + name for name in ("mean", "variance", "gamma", "beta")}
        net.fetches()
        close(net.get("a/batch_norm/mean").flat, [5, 6])


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        ("xavier", math.sqrt(6 / 128)),
        ("glorot_uniform", math.sqrt(6 / 128)),
        ("variance_scaling_initializer(mode='fan_in', distribution='uniform', scale=0.78)", math.sqrt(3 * 0.78 / 64)),
        (
            {"class": "VarianceScaling", "mode": "fan_in", "distribution": "uniform", "scale": 0.78},
            math.sqrt(3 * 0.78 / 64),
        ),
        ("random_uniform_abs_initializer(0.01)", 0.01),
        ("random_uniform(-1,1)", 1),
    ],
)
def test_initialisers_that_are_uniform(init: Any, bound: float) -> None:
    """Within the bound, and 4096 numbers come close to it."""
    layer = {"class": "linear", "n_out": 64, "activation": None, "forward_weights_init": init, "from": "data"}
    with Net({"output": layer}, {"data": {"dim": 64}}) as net:
        largest = abs(net.get("output/W")).max()
        assert 0.99 * bound < largest <= bound


@pytest.mark.parametrize(
    ("init", "value"),
    [
        (0, 0),
        (1, 1),
        ("0", 0),
        ("constant(3)", 3),
        ("zeros", 0),
        ("ones_initializer", 1),
        ("math.pi", math.pi),
        ("numpy.ones(3)*2", 2),
    ],
)
def test_initialisers_that_are_constant(init: Any, value: float) -> None:
    if init == "math.pi":
        init = "float(math.pi)"
    with Net({"output": {**LINEAR, "bias_init": init}}) as net:
        close(net.get("output/b"), [value] * 3)


def test_darc1() -> None:
    """0.1 * max over features of the sum over real frames of abs(x): features sum to 25 and 30."""
    with Net({"output": {"class": "copy", "from": "data", "darc1": 0.1}}) as net:
        close(net.session.run(net.net.get_total_constraints(), net.feed()), 3.0)


def test_extra_deps_are_built() -> None:
    """Though nothing uses their output."""
    network = {"a": LINEAR, "output": {"class": "copy", "from": "data", "extra_deps": "a"}}
    with Net(network) as net:
        assert "a" in net.layers


def test_from_is_needed_at_the_newest_version(newest: None) -> None:
    with pytest.raises(Exception, match='Missing option "from" of a layer'):
        Net({"output": {"class": "copy"}})
