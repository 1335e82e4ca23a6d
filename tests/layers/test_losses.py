"""Values of losses, from the arithmetic in each docstring. The third frame of the first sequence of Z is padding."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from returnn.network.losses import describe_objective
from returnn.tf.compat import tf
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net

Z = [[[1, 2, 3], [0, 0, 0], [9, 9, 9]], [[1, 0, 0], [0, 1, 0], [0, 0, 5]]]
CLASSES = [[2, 1, 0], [0, 0, 1]]
LENS = [2, 3]
EXTERN_DATA = {
    "data": {"dim": 3},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
    "dense": {"dim": 3, "available_for_inference": False},
}
SOFTMAX = {"class": "activation", "activation": "softmax", "from": "data", "target": "classes"}


def fetches(layer: dict[str, Any], more: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    with Net({"output": layer, **(more or {})}, EXTERN_DATA, train=True, **options) as net:
        lens = {key: LENS for key in EXTERN_DATA}
        return net.fetches(net.feed(lens, data=Z, classes=CLASSES, dense=numpy.eye(3)[numpy.array(CLASSES)]))


def cost(layer: dict[str, Any], **options: Any) -> float:
    return fetches(layer, **options)["cost:output"]


def test_ce() -> None:
    """Sum over 5 frames; norm factor 1 / 5; 3 of them wrong."""
    got = fetches({**SOFTMAX, "loss": "ce"})
    assert got["cost:output"] == got["loss"] == pytest.approx(8.622494)
    assert got["error:output"] == 3
    assert got["loss_norm_factor:output"] == pytest.approx(0.2)
    normalized = fetches({**SOFTMAX, "loss": "ce", "loss_opts": {"use_normalized_loss": True}})
    assert normalized["loss"] == pytest.approx(1.724499)
    assert cost({**SOFTMAX, "loss": "ce", "loss_opts": {"use_flatten_frames": False}}) == pytest.approx(8.622494)


def test_normalized_loss_of_the_config() -> None:
    """All losses, as if each had use_normalized_loss: 8.622494 / 5; unless a loss says something else."""
    other = {"other": {**SOFTMAX, "loss": "ce", "loss_scale": 0.5, "loss_opts": {"use_normalized_loss": False}}}
    got = fetches({**SOFTMAX, "loss": "ce"}, normalized_loss=True)
    assert got["loss"] == pytest.approx(1.724499)
    assert got["cost:output"] == pytest.approx(8.622494)
    both = fetches({**SOFTMAX, "loss": "ce"}, other, normalized_loss=True)
    assert both["loss"] == pytest.approx(1.724499 + 0.5 * 8.622494)
    assert fetches({**SOFTMAX, "loss": "ce"}, normalized_loss=False)["loss"] == pytest.approx(8.622494)


def test_how_each_loss_enters_the_objective() -> None:
    """A line for each, sorted by name."""
    softmax, ctc = {**SOFTMAX, "is_output_layer": True}, {"class": "softmax", "from": "data", "target": "classes"}
    network = {
        "output": {**softmax, "loss": "ce", "loss_scale": 0.5},
        "a": {**ctc, "loss": "ctc", "loss_opts": {"use_normalized_loss": True}},
        "b": {**softmax, "loss": "ce", "loss_scale": 0},
        "c": {**softmax, "loss": "ce", "only_on_eval": True},
        "d": {**softmax, "loss": "ce", "loss_opts": {"use_normalized_loss": True, "custom_norm_factor": 0.25}},
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data", "loss": "as_is"},
        "best": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data"},
        "wer": {"class": "copy", "from": "best", "target": "classes", "loss": "edit_distance"},
    }
    with Net(network, EXTERN_DATA, train=True) as net:
        assert describe_objective(net.net.get_losses()) == [
            "losses, as they are minimised:",
            "  a: ctc, scale 1.0, sum over sequences, divided by the number of frames",
            "  b: ce, not minimised, only reported",
            "  c: ce, not minimised, only in evaluation",
            "  d: ce, scale 1.0, sum over frames, times its own norm factor",
            "  mean: as_is, scale 1.0, sum over sequences",
            "  output: ce, scale 0.5, sum over frames",
            "  wer: edit_distance, not minimised, only reported",
        ]


@pytest.mark.parametrize(("scale", "objective"), [(0.5, 4.311247), (0, 0)])
def test_scale_is_not_reported(scale: float, objective: float) -> None:
    got = fetches({**SOFTMAX, "loss": "ce", "loss_scale": scale})
    assert got["cost:output"] == pytest.approx(8.622494)
    assert got["loss"] == pytest.approx(objective)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"label_smoothing": 0.1}, 6.600505),
        ({"label_smoothing": 0.1, "label_smoothing_gaussian": True}, 4.623532),
        ({"focal_loss_factor": 2.0}, 6.543480),
        ({"fake_upper_bound": 1.0}, 3.959051),
    ],
)
def test_options_of_ce(options: dict[str, Any], expected: float) -> None:
    assert cost({**SOFTMAX, "loss": "ce", "loss_opts": options}) == pytest.approx(expected, rel=1e-5)


def test_ce_of_logits_dense_targets_and_exp_of_log_softmax() -> None:
    """All the same: 8.622494."""
    logits = {"class": "copy", "from": "data", "target": "classes", "loss": "ce", "loss_opts": {"input_type": "logits"}}
    assert cost(logits) == pytest.approx(8.622494)
    assert cost({**SOFTMAX, "loss": "ce", "target": "dense"}) == pytest.approx(8.622494)
    log_softmax = {"class": "activation", "activation": "log_softmax", "from": "data"}
    exp = {"class": "activation", "activation": "exp", "from": "log", "target": "classes", "loss": "ce"}
    got = fetches(exp, {"log": log_softmax})
    assert got["cost:output"] == pytest.approx(8.622494)


def test_ce_of_zeros(capsys: pytest.CaptureFixture) -> None:
    """5 * -log 1e-20 = 230.2585, with a warning in the log."""
    zeros = {"class": "eval", "eval": "source(0) * 0", "from": "data", "target": "classes", "loss": "ce"}
    assert cost(zeros) == pytest.approx(-5 * math.log(1e-20))
    text = "Warning: using numerical unstable sparse Cross-Entropy loss calculation ("
    assert any(line.startswith(text) for line in capsys.readouterr().out.splitlines())


def test_ce_dump(capsys: pytest.CaptureFixture) -> None:
    fetches({**SOFTMAX, "loss": "ce", "loss_opts": {"debug_dump": True}})
    assert "[output][target][[2 1 0]\n [0 0 1]]" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["classes", "dense"])
def test_mse(target: str) -> None:
    """Labels count as one-hot vectors."""
    layer = {"class": "copy", "from": "data", "target": target, "loss": "mse"}
    assert cost(layer) == pytest.approx(12.666667)


def test_as_is() -> None:
    """6 + 0 + 1 + 1 + 5 = 13, with or without features; without time the norm counts sequences."""
    for axes, norm in [(None, 0.2), ("F", 0.2), (["T", "F"], 0.5)]:
        layer: dict[str, Any] = {"class": "copy", "from": "data"}
        if axes:
            layer = {"class": "reduce", "mode": "sum", "axes": axes, "from": "data"}
        got = fetches({**layer, "loss": "as_is"})
        assert got["cost:output"] == 13
        assert got["loss_norm_factor:output"] == pytest.approx(norm)
    got = fetches({"class": "copy", "from": "data", "loss": "as_is", "loss_opts": {"as_error": True}})
    assert got["error:output"] == 13 and got["loss"] == 0 and "cost:output" not in got


def test_as_is_counts_real_frames_on_all_dynamic_axes() -> None:
    """
    Ones [2, 2, 3] with lengths [2, 1] and [3, 1]: 2 * 3 + 1 * 1 = 7. (Another implementation sees the padding of the
    second axis.)
    """
    layer = {"class": "copy", "from": "data", "loss": "as_is"}
    with Net({"output": layer}, {"data": {"shape": (None, None, 1)}}, train=True) as net:
        feed = net.feed({"data": [[2, 1], [3, 1]]}, data=numpy.ones((2, 2, 3, 1)))
        assert net.fetches(feed)["cost:output"] == 7


def test_edit_distance(capsys: pytest.CaptureFixture) -> None:
    """[2 0] and [2 1]: 1. [0 1 2] and [0 0 1]: 2. With 1 as 0: [2 0] and [2 0], [0 0 2] and [0 0 0]: 1."""
    layer = {
        "class": "reduce",
        "mode": "argmax",
        "axis": "F",
        "from": "data",
        "target": "classes",
        "loss": "edit_distance",
    }
    got = fetches({**layer, "loss_opts": {"debug_print": True}})
    assert got["error:output"] == 3 and got["loss"] == 0 and "cost:output" not in got
    assert got["loss_norm_factor:output"] == pytest.approx(0.2)
    assert "[output][2]2 0[target][2]2 1\n" in capsys.readouterr().out
    for label_map in ({0: 0, 1: 0, 2: 2}, {1: 0}):
        assert fetches({**layer, "loss_opts": {"label_map": label_map}})["error:output"] == 1


def test_edit_distance_prints_long_sequences_short(capsys: pytest.CaptureFixture) -> None:
    """More than 20 labels: the first and last 10."""
    layer = {
        "class": "copy",
        "from": "data",
        "target": "data",
        "loss": "edit_distance",
        "loss_opts": {"debug_print": True},
    }
    with Net({"output": layer}, {"data": {"dim": 30, "sparse": True}}, train=True) as net:
        net.fetches(net.feed(data=[list(range(21))]))
    labels = "0 1 2 3 4 5 6 7 8 9 ... 11 12 13 14 15 16 17 18 19 20"
    assert "[output][21]%s[target][21]%s\n" % (labels, labels) in capsys.readouterr().out


@pytest.mark.parametrize("log_space", [False, True])
def test_edit_distance_with_ctc_decode(log_space: bool) -> None:
    """Best path 0 blank 0, so labels 0 0; target 0 1: 1 wrong."""
    layer = {
        "class": "activation",
        "activation": "log_softmax" if log_space else "softmax",
        "from": "data",
        "target": "classes",
        "loss": "edit_distance",
        "loss_opts": {"ctc_decode": True, "output_in_log_space": log_space},
    }
    extern_data = {"data": {"dim": 3}, "classes": {"dim": 2, "sparse": True}}
    with Net({"output": layer}, extern_data, evaluation=True) as net:
        feed = net.feed(data=[[[9, 0, 0], [0, 0, 9], [9, 0, 0]]], classes=[[0, 1]])
        assert net.fetches(feed)["error:output"] == 1


@pytest.mark.parametrize("log_space", [False, True])
def test_ctc(log_space: bool) -> None:
    """4.092690 = 2.131574 + 1.961115; norm factor 1 / 3 labels."""
    logits = numpy.zeros((2, 4, 4))
    logits[0, 0, 1], logits[1, 1, 0] = 2, 1
    layer = {
        "class": "activation",
        "activation": "log_softmax" if log_space else "softmax",
        "from": "data",
        "target": "classes",
        "loss": "ctc",
        "loss_opts": {"output_in_log_space": log_space},
    }
    extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
    with Net({"output": layer}, extern_data, evaluation=True) as net:
        feed = net.feed({"data": [4, 3], "classes": [2, 1]}, data=logits, classes=[[1, 2], [0, 0]])
        got = net.fetches(feed)
    assert got["cost:output"] == pytest.approx(4.092690)
    assert got["error:output"] == 1
    assert got["loss_norm_factor:output"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("clip", "expected"), [(False, math.inf), (True, 1.673976)])
def test_ctc_without_a_path(clip: bool, expected: float) -> None:
    """Labels 1 1 need a blank in between, so three frames; there are two. Clipped to one label: 3 of 16 paths."""
    layer = {**SOFTMAX, "loss": "ctc", "loss_opts": {"auto_clip_target_len": clip}}
    extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
    with Net({"output": layer}, extern_data, evaluation=True) as net:
        feed = net.feed(data=numpy.zeros((1, 2, 4)), classes=[[1, 1]])
        assert net.fetches(feed)["cost:output"] == pytest.approx(expected)
    assert pytest.approx(1.673976) == -math.log(3 / 16)


@pytest.mark.parametrize(
    ("labels", "version", "expected"), [([1, 1], 30, math.inf), ([1, 1], 31, 0), ([2, 1, 0], 31, 0)]
)
def test_ctc_without_a_path_is_zero_from_version_31_on(
    labels: list[int], version: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two frames are too few for 1 blank 1, and for three labels."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
    with Net({"output": {**SOFTMAX, "loss": "ctc"}}, extern_data, evaluation=True) as net:
        assert net.fetches(net.feed(data=numpy.zeros((1, 2, 4)), classes=[labels]))["cost:output"] == expected


def ctc_cost(loss_opts: dict[str, Any], **config: Any) -> tuple[float, float]:
    """Cost and error of labels 1 1 in two frames of four classes, all logits 0."""
    layer = {**SOFTMAX, "loss": "ctc", "loss_opts": {"beam_width": 1, **loss_opts}}
    extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
    with Net({"output": layer}, extern_data, evaluation=True, **config) as net:
        got = net.fetches(net.feed(data=numpy.zeros((1, 2, 4)), classes=[[1, 1]]))
        return got["cost:output"], got["error:output"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0),  # no path
        ({"auto_clip_target_len": True}, -math.log(3 / 16)),  # 1 in two frames: 1 1, 1 blank, blank 1
        ({"target_collapse_repeated": True}, -math.log(3 / 16)),
        ({"ctc_opts": {"label_loop": False}}, -math.log(1 / 16)),  # 1 1, a frame each
        ({"ctc_opts": {"ctc_merge_repeated": False}}, -math.log(1 / 16)),
        ({"ctc_opts": {"label_loop": False, "logits_normalize": False}}, 0),  # two scores of 0
    ],
)
def test_native_ctc(options: dict[str, Any], expected: float) -> None:
    assert ctc_cost({"use_native": True, **options})[0] == pytest.approx(expected, abs=1e-6)


def test_best_path_of_ctc() -> None:
    """Each path has probability 1 / 16; without a path inf. The error is that of the shorter labels: greedy finds 0."""
    assert ctc_cost({"use_viterbi": True})[0] == math.inf
    shorter = ctc_cost({"use_viterbi": True, "auto_clip_target_len": True})
    assert shorter == (pytest.approx(-math.log(1 / 16)), 1)
    both = ctc_cost({"use_viterbi": True, "use_native": True, "target_collapse_repeated": True})
    assert both == (pytest.approx(-math.log(1 / 16)), 1)


@pytest.mark.parametrize(
    ("config", "version", "opts", "expected"),
    [
        ({}, 29, {}, False),
        ({}, 30, {}, True),
        ({"tf_native_ctc_zero_infinity": True}, 0, {}, True),
        ({"tf_native_ctc_zero_infinity": False}, 30, {}, False),
        ({"tf_native_ctc_zero_infinity": False}, 0, {"zero_infinity": True}, True),
    ],
)
def test_gradient_of_native_ctc_without_a_path(
    config: dict[str, Any], version: int, opts: dict[str, Any], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zero from version 30 on, or as the config or ctc_opts say; else softmax, 1 / 4 of all classes."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    loss_opts = {"beam_width": 1, "use_native": True, "ctc_opts": opts}
    layer = {**SOFTMAX, "loss": "ctc", "loss_opts": loss_opts}
    extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
    with Net({"output": layer}, extern_data, evaluation=True, train=True, **config) as net:
        (grad,) = tf.gradients(net.net.get_objective(), net.net.extern_data.data["data"].placeholder)
        grad = net.session.run(grad, net.feed(data=numpy.zeros((1, 2, 4)), classes=[[1, 1]]))
    numpy.testing.assert_allclose(grad, numpy.full((1, 2, 4), 0.0 if expected else 0.25), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_native": True, "beam_width": 100}, "use beam_width=1 with use_native, it is 100"),
        ({"use_viterbi": True, "ctc_opts": {"label_loop": True}}, "use_viterbi has no ctc_opts"),
        ({"use_native": True, "ctc_opts": {"label_lop": 1}}, 'unknown ctc_opts .*Did you mean "label_loop"'),
        ({"ctc_opts": {"zero_infinity": True}}, "unknown ctc_opts .*Options: ignore_longer_outputs_than_inputs"),
    ],
)
def test_options_of_ctc_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ctc_cost(options)


def test_l2_is_a_constraint() -> None:
    """0.01 * 9 ones."""
    layer = {
        "class": "linear",
        "n_out": 3,
        "activation": None,
        "forward_weights_init": 1,
        "from": "data",
        "loss": "as_is",
    }
    with_l2, without = fetches({**layer, "L2": 0.01}), fetches(layer)
    assert with_l2["cost:output"] == without["cost:output"]
    assert with_l2["loss"] - without["loss"] == pytest.approx(0.09, rel=1e-3)


def test_ce_without_time() -> None:
    """Of the masked mean over time; norm factor 1 / 2 sequences."""
    network = {
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
        "output": {**SOFTMAX, "from": "mean", "loss": "ce", "target": "label"},
    }
    extern_data = {"data": {"dim": 3}, "label": {"dim": 3, "sparse": True, "shape": ()}}
    with Net(network, extern_data, evaluation=True) as net:
        got = net.fetches(net.feed({"data": LENS}, data=Z, label=[1, 2]))
    assert got["cost:output"] == pytest.approx(1.603702)
    assert got["loss_norm_factor:output"] == 0.5


def test_norm_factors_of_the_config() -> None:
    """A layer of lengths: 1 / (2 + 3). Padding of such a layer does not count: 1 / 5 also for a mask of ones [B,T]."""
    more = {
        "lens": {"class": "length", "from": "data"},
        "ones": {"class": "eval", "eval": "tf.ones_like(source(0))", "from": "features"},
        "features": {"class": "reduce", "mode": "max", "axis": "F", "from": "data"},
    }
    for name in ("lens", "ones"):
        got = fetches({**SOFTMAX, "loss": "ce", "loss_opts": {"custom_inv_norm_factor": name}}, more)
        assert got["loss_norm_factor:output"] == pytest.approx(0.2)
    assert fetches({**SOFTMAX, "loss": "ce", "loss_opts": {"custom_norm_factor": 1.0}})["loss_norm_factor:output"] == 1


def test_only_on_eval_is_reported_in_evaluation_only() -> None:
    layer = {**SOFTMAX, "loss": "ce", "only_on_eval": True}
    lens = {"data": LENS, "classes": LENS}
    with Net({"output": layer}, EXTERN_DATA, train="dynamic", evaluation=True) as net:
        feed = net.feed(lens, data=Z, classes=CLASSES)
        assert net.fetches(feed, should_train=False)["cost:output"] == pytest.approx(8.622494)
        assert net.fetches({**feed, net.train_flag: True}, should_train=False)["cost:output"] == 0
        assert "cost:output" not in net.net.get_fetches_dict(should_train=True)


def test_gradient_of_fake_upper_bound_is_that_without() -> None:
    """Only what is reported is bounded."""
    layer = {"class": "softmax", "from": "data", "target": "classes", "loss": "ce"}
    grads = []
    for options in ({}, {"fake_upper_bound": 0.1}):
        with Net({"output": {**layer, "loss_opts": options}}, EXTERN_DATA, train=True) as net:
            net.set(output__W=numpy.arange(9).reshape(3, 3) / 9)
            (grad,) = tf.gradients(net.net.get_objective(), [net.layers["output"].params["W"]])
            feed = net.feed({"data": LENS, "classes": LENS}, data=Z, classes=CLASSES)
            grads.append(net.session.run(tf.convert_to_tensor(grad), feed))
    numpy.testing.assert_allclose(grads[0], grads[1], rtol=1e-5)
