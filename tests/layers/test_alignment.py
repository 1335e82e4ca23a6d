"""Layers that align: known values, and what does not fit."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf
from returnn.util.errors import ConfigError
from tests.network.net import Net

LOGITS = numpy.random.RandomState(0).normal(size=(4, 3, 4)).astype("float32").transpose(1, 0, 2)
LENS, LABELS, LABEL_LENS = [4, 3, 2], [[0, 1], [2, 2], [1, 0]], [2, 2, 1]
EXTERN_DATA = {
    "data": {"dim": 4},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": True},
    "all": {"dim": 4, "sparse": True, "available_for_inference": True},
}
LOG_PROBS = {"class": "activation", "activation": "log_softmax", "from": "data"}
FAST_BW = {"class": "fast_bw", "from": "log_probs", "align_target": "ctc", "align_target_key": "classes"}
ALIGN = {
    "class": "forced_align",
    "from": "log_probs",
    "align_target": "data:classes",
    "topology": "ctc",
    "input_type": "log_prob",
}


class Aligned:
    """A net with "log_probs" and this "output" layer; a context manager."""

    def __init__(self, layer: dict[str, Any], **more: Any):
        self.net = Net({"log_probs": LOG_PROBS, "output": layer, **more}, EXTERN_DATA, evaluation=True)

    def __enter__(self) -> Aligned:
        self.net.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.net.__exit__(*exc)

    def run(self, value: Any, lens: list[int] = LENS) -> Any:
        """in a step with these lengths; whatever is behind them"""
        keys = {"data": LOGITS[:, : max(lens)], "classes": LABELS, "all": LABELS}
        feed = self.net.feed({"data": lens, "classes": LABEL_LENS, "all": LABEL_LENS}, **keys)
        return self.net.session.run(value, feed)


def test_fast_bw_is_time_major_and_has_a_loss() -> None:
    """Each real frame sums to one. Minus the logarithm of the sum of all paths; 0 where there is none."""
    with Aligned(FAST_BW) as net:
        layer = net.net.layers["output"]
        assert (layer.output.time_dim_axis, layer.output.batch_dim_axis) == (0, 1)
        value, loss = net.run([layer.output.raw_tensor, layer.output_loss])
        no_path = net.run(layer.output_loss, [1, 2, 1])
    numpy.testing.assert_allclose(value[0, 0], [math.exp(-1.206464), 0, 0, math.exp(-0.355609)], rtol=1e-5)
    numpy.testing.assert_allclose(value.sum(2).T, [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], rtol=1e-5)
    numpy.testing.assert_allclose(loss, [1.961358, 6.486931, 1.166899], rtol=1e-5)
    numpy.testing.assert_allclose(no_path, [0, 0, 1.6494], rtol=1e-5)


def test_fast_bw_has_no_gradient() -> None:
    with Aligned({**FAST_BW, "loss": "as_is"}) as net:
        data = net.net.net.extern_data.data["data"].placeholder
        assert tf.gradients(net.net.net.get_objective(), data) == [None]


def test_staircase_with_the_lengths_of_another_layer() -> None:
    """As many steps as labels, 2 2 1, in as many frames: 0 and then 1; 0. Further frames do not count."""
    layer = {"class": "fast_bw", "from": "log_probs", "align_target": "staircase", "staircase_seq_len_source": "labels"}
    labels = {"class": "copy", "from": "data:classes"}
    with Aligned(layer, labels=labels) as net:
        output = net.net.layers["output"].output.raw_tensor
        value, shorter = net.run(output, [4, 2, 1]), net.run(output, [2, 1, 1])
    diagonal = numpy.eye(4) * [[1], [1], [0], [0]]
    numpy.testing.assert_allclose(value[:, :2].transpose(1, 0, 2), [diagonal] * 2, atol=1e-6)
    numpy.testing.assert_allclose(value[:, 2], numpy.eye(4) * [[1], [0], [0], [0]], atol=1e-6)
    # two steps in one frame: 0 or 1, as is their scores. (Another implementation goes on in the padding.)
    p = numpy.exp(LOGITS[1, 0, :2])
    numpy.testing.assert_allclose(shorter[:, 1], [[*(p / p.sum()), 0, 0], [0] * 4], rtol=1e-5)


def test_forced_align() -> None:
    """Time-major; 0 on padding, and where there is no path."""
    with Aligned(ALIGN, scores={"class": "copy", "from": "output/scores", "is_output_layer": True}) as net:
        output = net.net.layers["output"].output
        assert (output.time_dim_axis, output.batch_dim_axis, output.dim, output.dtype) == (0, 1, 4, "int32")
        fetches = [output.raw_tensor, net.net.layers["scores"].output.raw_tensor]
        alignment, scores = net.run(fetches)
        without, no_scores = net.run(fetches, [1, 2, 1])
    assert alignment.T.tolist() == [[3, 0, 0, 1], [2, 3, 2, 0], [3, 1, 0, 0]]
    numpy.testing.assert_allclose(scores, [-2.886487, -6.486931, -1.531102], rtol=1e-5)
    assert without.T.tolist() == [[0, 0], [0, 0], [1, 0]]
    assert no_scores[:2].tolist() == [-math.inf, -math.inf]


def test_rna_has_each_label_in_one_frame() -> None:
    with Aligned({**ALIGN, "topology": "rna"}) as net:
        alignment = net.run(net.net.layers["output"].output.raw_tensor)
    for labels, path, n, m in zip(LABELS, alignment.T.tolist(), LENS, LABEL_LENS, strict=True):
        assert [label for label in path[:n] if label != 3] == labels[:m]


@pytest.mark.parametrize(("max_approx", "expected"), [(False, [1.961358, 6.486931]), (True, [2.886487, 6.486931])])
def test_ctc_loss_layer(max_approx: bool, expected: list[float]) -> None:
    layer = {"class": "ctc_loss", "logits": "logits", "targets": "data:classes", "max_approx": max_approx}
    with Aligned(layer, logits={"class": "copy", "from": "data"}) as net:
        output = net.net.layers["output"].output
        assert output.batch_shape == (None,)
        numpy.testing.assert_allclose(net.run(output.raw_tensor)[:2], expected, rtol=1e-5)
        no_path = math.inf if max_approx else 0.0
        assert net.run(output.raw_tensor, [1, 2, 1])[:2].tolist() == [no_path, no_path]


def test_cross_entropy_layer() -> None:
    """-log softmax of the label, [B, T]."""
    layer = {"class": "sparse_softmax_cross_entropy_with_logits", "logits": "data", "targets": "best"}
    best = {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data"}
    with Aligned(layer, best=best) as net:
        value = net.run(net.net.layers["output"].output.raw_tensor)
    expected = numpy.log(numpy.exp(LOGITS).sum(axis=2)) - LOGITS.max(axis=2)
    numpy.testing.assert_allclose(value, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({**FAST_BW, "align_target": "sprint"}, "align_target sprint needs RASR, which is not supported yet"),
        ({**FAST_BW, "align_target": None}, "align_target must be ctc, staircase or sprint, but is None"),
        ({**FAST_BW, "ctc_opts": {"label_lop": 1}}, "unknown ctc_opts 'label_lop'. Did you mean \"label_loop\""),
        ({**FAST_BW, "ctc_opts": {"blank_idx": 4}}, "there are 4 classes, but 3 labels, and the blank is class 4"),
        ({**FAST_BW, "align_target_key": "data"}, "align_target_key must be labels, but is"),
        ({**FAST_BW, "sprint_opts": {}}, "sprint_opts are for align_target sprint, but that is 'ctc'"),
        ({**FAST_BW, "input_type": "logits"}, "input_type must be log_prob or prob, but is 'logits'"),
        ({**ALIGN, "topology": "hmm"}, "topology must be ctc or rna, but is 'hmm'"),
        ({**ALIGN, "input_type": None}, "input_type must be log_prob or prob, but is None"),
        ({**ALIGN, "align_target": None}, 'option "align_target" is missing'),
        ({**ALIGN, "align_target": "log_probs"}, "align_target must be labels, but is"),
        (
            {**ALIGN, "align_target": "data:all"},
            "the source has 4 classes, but align_target 4 labels, and the blank is",
        ),
        ({**ALIGN, "blank_included": True}, "the source has 4 classes, but align_target 3 labels$"),
        ({**ALIGN, "blank_idx": 0}, "blank_idx is 0, but without blank_included it is the last class"),
        ({"class": "ctc_loss", "logits": "log_probs"}, 'option "targets" is missing'),
        ({"class": "ctc_loss", "logits": "data", "targets": "data"}, "targets must be labels, but is"),
        ({"class": "ctc_loss", "logits": "data", "targets": "data:classes", "blank_index": 7}, "the blank is class 7"),
    ],
)
def test_mistakes(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Aligned(layer)


def test_staircase_with_too_many_steps() -> None:
    layer = {"class": "fast_bw", "from": "few", "align_target": "staircase"}
    few = {"class": "linear", "activation": "log_softmax", "n_out": 2, "from": "data"}
    with Aligned(layer, few=few) as net:
        with pytest.raises(tf.errors.OpError, match="staircase: a sequence has 4 steps, but there are 2 classes"):
            net.run(net.net.layers["output"].output.raw_tensor)
