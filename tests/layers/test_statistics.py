"""Layers that collect statistics."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor.numpy_backend import backend
from returnn.util.errors import ConfigError
from tests.network.net import X_LENS, Net, X

MEAN = {"class": "accumulate_mean", "exp_average": 0.1, "from": "data"}
FEED = {"data": X, "data:size1": numpy.array(X_LENS, "int32")}
PROBS = numpy.array([[[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0, 0, 1]], [[0.2, 0.2, 0.6], [0.7, 0.2, 0.1], [0, 0, 1]]])
LABELS = numpy.array([[0, 2, 2], [2, 1, 2]])
FRAMES = {"data": {"dim": 3}, "classes": {"dim": 3, "sparse": True}}
STATS = {"output": {"class": "framewise_statistics", "from": "data", "target": "classes", "sil_label_idx": 2}}


def test_accumulate_mean_in_training() -> None:
    """Of (1,2) (3,4) (5,6) (7,8) (9,10) the mean is (5, 6), and of that a tenth: .5, .6; then .95, 1.14."""
    with Net({"output": MEAN}, train=True) as net:
        updates = net.net.get_post_control_dependencies()
        for value in [(0, 0), (0.5, 0.6), (0.95, 1.14)]:
            output, _ = net.session.run([net.layers["output"].output.placeholder, updates], net.feed())
            numpy.testing.assert_allclose(output, value, rtol=1e-6)
        assert net.param_shapes() == {"output/mean_1": [2]}
        assert not net.net.get_trainable_params()


def test_accumulate_mean_step_by_step() -> None:
    """The same, and no change in evaluation."""
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), train_flag=True, backend=backend)
    net.construct_from_dict({"output": MEAN})
    for train, value in [(True, (0, 0)), (False, (0.5, 0.6)), (True, (0.5, 0.6)), (True, (0.95, 1.14))]:
        with net.step(FEED, train=train):
            output = net.layers["output"].output.raw_tensor
        numpy.testing.assert_allclose(output, value, rtol=1e-6)


@pytest.mark.parametrize("flags", [{"train": False}, {"train": True, "trainable": False}])
def test_accumulate_mean_stays(flags: dict[str, Any]) -> None:
    """Where nothing is trained."""
    layer = {**MEAN, "trainable": flags.get("trainable", True)}
    with Net({"output": layer}, train=flags["train"]) as net:
        assert not net.net.get_post_control_dependencies()


@pytest.mark.parametrize(
    ("opts", "start"), [({}, 0), ({"is_prob_distribution": True}, 0.5), ({"initial_value": 0.3}, 0.3)]
)
def test_accumulate_mean_starts(opts: dict[str, Any], start: float) -> None:
    """At 0, 1 / dim, or what the option says."""
    with Net({"output": {**MEAN, **opts}}) as net:
        numpy.testing.assert_allclose(net.out(), [start] * 2, rtol=1e-6)


def test_framewise_statistics() -> None:
    """Real frames (3 + 2): targets 0 2 2, 2 1. Likeliest: 0 1 2, 2 0, so the second and the last are wrong. Silence
    (2): second, third, fourth. Probabilities of the targets .5 .1 1 .6 .2: of four bins of width .25 the first has
    .1 .2, the third .5 .6, the last 1."""
    with Net(STATS, FRAMES, evaluation=True) as net:
        feed = net.feed(data=PROBS, classes=LABELS, lens={"data": [3, 2], "classes": [3, 2]})
        stats = net.session.run(net.layers["output"].stats, feed)
        assert net.out(feed=feed) == 0
        found = net.fetches(feed)
    logs = -numpy.log([0.5, 0.1, 1.0, 0.6, 0.2])
    expected = {
        "all_num_frames": 5,
        "sil_num_frames": 3,
        "no_sil_num_frames": 2,
        "all_frame_error_rate": 2 / 5,
        "sil_frame_error_rate": 1 / 3,
        "no_sil_frame_error_rate": 1 / 2,
        "all_cross_entropy": logs.mean(),
        "sil_cross_entropy": logs[1:4].mean(),
        "no_sil_cross_entropy": (logs[0] + logs[4]) / 2,
    }
    for key, value in expected.items():
        assert stats[key] == pytest.approx(value, rel=1e-5), key
    assert stats["histogram"].sum() == 5 and len(stats["histogram"]) == 20
    assert "stats:output:all_frame_error_rate" in found


def test_framewise_histogram() -> None:
    """See :func:`test_framewise_statistics`; a probability of 1 is in the last bin."""
    layer = {**STATS["output"], "histogram_num_bins": 4}
    net = Network(config=Config({"extern_data": FRAMES}), eval_flag=True, backend=backend)
    net.construct_from_dict({"output": layer})
    lens = numpy.array([3, 2], "int32")
    data = {
        "data": PROBS.astype("float32"),
        "classes": LABELS.astype("int32"),
        "data:size1": lens,
        "classes:size1": lens,
    }
    with net.step(data, train=False):
        assert net.layers["output"].stats["histogram"].tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "accumulate_mean", "from": "data"}, "exp_average must be a number, but is None"),
        ({**MEAN, "axes": "B"}, "parameter 'mean_1' needs a static size"),
        ({**STATS["output"], "sil_label_idx": None}, "sil_label_idx must be a label, but is None"),
        ({**STATS["output"], "from": ["data", "data"]}, "the layer needs exactly one source, but has 2"),
        ({**STATS["output"], "target": "data"}, "the target must be labels of the 3 classes, but is"),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r'(?s)network\["output"\].*' + message):
        Net({"output": layer}, FRAMES, evaluation=True)
