"""Networks that are easily got wrong, as another implementation did; each is right here."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tests.layers.common import close
from tests.layers.test_choice import END, NO_NORM, A, Search, choice
from tests.network import peer_case

from .common import input_values, param_values
from .loops import BACKENDS, loop, run

LINEAR = {"class": "linear", "activation": None, "with_bias": False}
MOVED = pytest.mark.parametrize("moved", [True, False], ids=["moved", "in_loop"])

pytestmark = pytest.mark.filterwarnings("ignore:.*Variable.load.*")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """each one"""
    return request.param


# ---- search


def test_all_end_at_the_first_frame(backend: str) -> None:
    """Label 0 scores best in the first frame, by far: no hypothesis has a label, and the decision none."""
    unit = {"x": {"class": "copy", "from": "base:first"}, "output": choice("x", beam_size=1), **END}
    further = {"first": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"}}
    s = Search(backend, unit, [[[-1.0, -50, -50, -50]] * 3], max_seq_len=3, further=further, **{"from": []})
    assert s.rows() == [[]] and s.rows("decision") == [[]]


def test_a_cell_reads_two_choices_of_the_frame_before(backend: str) -> None:
    """h' = tanh([x h] K + b) of both labels; one label is the best of h', the other of the source + P[first label]."""
    unit = {
        "cell": {"class": "rnn_cell", "unit": "basicrnn", "n_out": 4, "from": ["e1", "e2"]},
        "e1": {**LINEAR, "n_out": 2, "from": "prev:a"},
        "e2": {**LINEAR, "n_out": 2, "from": "prev:output"},
        "a": {**choice("cell", beam_size=1, **NO_NORM), "is_output_layer": True},
        "p": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
        "bias": {**LINEAR, "n_out": 4, "from": "a"},
        "output": choice("p", beam_size=1, **NO_NORM),
    }
    scores = numpy.array(A) + 0.013 * numpy.arange(12).reshape(3, 4)
    s = Search(backend, unit, [scores], include_eos=True, fetch=["output/a"])
    w, p, k, bias = (param_values(shape) for shape in [(4, 2), (4, 4), (8, 4), (4,)])
    h, first, second, score, found = numpy.zeros(4), 0, 0, 0.0, []
    for frame in scores:
        h = numpy.tanh(numpy.concatenate([w[first], w[second], h]) @ k + bias)
        first = int(h.argmax())
        second = int((frame + p[first]).argmax())
        score += h[first] + (frame + p[first])[second]
        found.append((first, second))
    assert list(zip(s.padded("output/a")[0], s.padded()[0], strict=True)) == found
    assert s.scores == [score]


def test_the_output_is_not_the_last_choice_of_a_frame(backend: str) -> None:
    """In a loop that ends by itself, at label 0 of the first one; the second takes the best label of P[first]."""
    unit = {
        "at": {"class": "eval", "eval": "source(0) * source(1)", "from": ["base:ramp", "prev:count"]},
        "count": {"class": "eval", "eval": "source(0) + 1.0", "from": "prev:count"},
        "scores": {"class": "eval", "eval": "source(0) - source(1) * 2.0", "from": ["base:first", "at"]},
        "output": choice("scores", beam_size=1, **NO_NORM),
        "bias": {**LINEAR, "n_out": 4, "from": "output"},
        "f": {**choice("bias", beam_size=1, **NO_NORM), "is_output_layer": True},
        **END,
    }
    further = {
        "first": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "ramp": {"class": "eval", "eval": "tf.cast(tf.range(4), 'float32') + 0.0 * source(0)", "from": "first"},
    }
    scores = [[[-3.0, -9, -1, -9]] * 3]  # frame 0: label 2; frame 1: label 2 has -1 - 4, so label 0
    opts: dict[str, Any] = {"max_seq_len": 5, "include_eos": True, "from": []}
    s = Search(backend, unit, scores, further=further, fetch=["output/f"], **opts)
    best = param_values((4, 4)).argmax(axis=1)
    assert s.rows() == [[2, 0]]
    assert s.rows("output/f") == [[best[2], best[0]]]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_initial_state_by_layers_outside(backend: str, beam_size: int) -> None:
    """They have no hypotheses; the cell has. The score of the best one is that of its labels, by the formula."""
    unit = {
        "embed": {**LINEAR, "n_out": 2, "from": "prev:output"},
        "s": {
            "class": "rnn_cell",
            "unit": "standardlstm",
            "unit_opts": {"forget_bias": 0.0},
            "n_out": 4,
            "from": "embed",
            "initial_state": {"h": "base:h", "c": "base:c"},
        },
        "p": {"class": "combine", "kind": "add", "from": ["data:source", "s"]},
        "output": choice("p", beam_size=beam_size, **NO_NORM),
    }
    further = {
        "h": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "c": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    }
    scores = numpy.array([A, (numpy.array(A) / 2)[::-1]])
    s = Search(backend, unit, scores, include_eos=True, further=further)
    w, k, bias = (param_values(shape) for shape in [(4, 2), (6, 16), (16,)])

    def sigmoid(x: numpy.ndarray) -> numpy.ndarray:
        return 1 / (1 + numpy.exp(-x))

    for number, frames in enumerate(scores):
        h, c, label, score = frames.max(axis=0), frames.mean(axis=0), 0, 0.0
        labels = s.padded()[number * beam_size]
        for frame, found in zip(frames, labels, strict=True):
            i, j, f, o = numpy.split(numpy.concatenate([w[label], h]) @ k + bias, 4)
            c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(j)
            h = sigmoid(o) * numpy.tanh(c)
            label = found
            score += (frame + h)[label]
            if beam_size == 1:
                assert label == (frame + h).argmax()
        assert s.array_of_scores[number][0] == pytest.approx(score, abs=2e-5)


def test_edit_distance_without_encoder(backend: str) -> None:
    """The target is the only data, and the default input: of [1 2] to [1 2 3] and [3] 1 and 2."""
    unit = {
        "x": {**LINEAR, "n_out": 4, "from": "prev:output"},
        "output": choice("x", beam_size=2, target="data", initial_output=3, **NO_NORM),
        "end": {"class": "compare", "value": 0, "from": "output"},
    }
    network = {
        "output": {"class": "rec", "from": [], "target": "data", "max_seq_len": 4, "unit": unit},
        "decision": {"class": "decide", "from": "output", "loss": "edit_distance", "target": "data"},
    }
    after = {3: 1, 1: 2, 2: 0, 0: 0}  # the label that follows
    table = numpy.full((4, 4), -9.0)
    for label, best in after.items():
        table[label, best] = 0
    stored = {"in:data": numpy.array([[1, 2, 3], [3, 0, 0]], "int32"), "in:data:len:0": numpy.array([3, 1], "int32")}
    case = {
        "extern_data": {"data": {"dim": 4, "sparse": True}},
        "network": network,
        "fetch": ["decision"],
        "search": True,
        "param_value": lambda name, shape: table,
    }
    if backend == "tf":
        results = peer_case.compute_case(case, stored)
    else:
        torch_case = pytest.importorskip("tests.network.torch_case", reason="needs torch")
        results = torch_case.compute_case(case, stored)
    assert results["out:decision"].tolist() == [[1, 2]] * 2
    assert results["error:decision"] == 1 + 2


def test_score_of_the_target_behind_its_end(backend: str) -> None:
    """What stands in the padding of the labels counts nothing: -.5 -.6 for 2, 1 of two frames."""
    s = Search(
        backend,
        {"output": choice(search=False, target="classes", **NO_NORM)},
        [A, A],
        [3, 2],
        labels=[[0, 2, 0], [1, 2, 3]],
        include_eos=True,
    )
    assert s.array_of_scores[:, 0] == pytest.approx([-1 - 0.5 - 0.4, -2 - 0.5], abs=2e-5)


# ---- training


@MOVED
def test_state_of_the_frame_before_of_a_cell_that_could_be_moved(backend: str, moved: bool) -> None:
    """The cell needs no frame before itself, but another layer needs its state there: zero at first."""
    unit = {
        "cell": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": "data:source", "is_output_layer": True},
        "state": {"class": "get_last_hidden_state", "from": "prev:cell", "n_out": 2},
        "output": {"class": "combine", "kind": "add", "from": ["state", "data:source"]},
    }
    network = {"output": loop(unit, optimize_move_layers_out=moved)}
    results = run(backend, network, fetch=["output", "output/cell"])
    h = results["out:output/cell"]
    before = numpy.concatenate([numpy.zeros((2, 1, 2)), h[:, :-1]], axis=1)
    close(results["out:output"][0], (before + input_values((2, 3, 2)))[0])


@MOVED
def test_layer_named_as_its_target(backend: str, moved: bool) -> None:
    """Inside, and another one with that target: log 2 for each of 5 frames, as all parameters are zero."""
    softmax = {"class": "softmax", "from": "data:source", "target": "classes", "loss": "ce"}
    unit = {"classes": softmax, "output": {"class": "copy", "from": "classes"}}
    network = {
        "output": {**loop(unit, optimize_move_layers_out=moved), "target": "classes"},
        "other": {**softmax, "from": "data"},
    }
    results = run(
        backend,
        network,
        {"data": input_values((2, 3, 2)), "classes": numpy.zeros((2, 3))},
        {"data": [3, 2], "classes": [3, 2]},
        extern_data={"data": {"dim": 2}, "classes": {"dim": 2, "sparse": True}},
        param_value=lambda name, shape: numpy.zeros(shape),
    )
    for name in ("output/classes", "other"):
        assert results["cost:" + name] == pytest.approx(5 * numpy.log(2))


# ---- without loops


def test_dilated_convolution_in_two_dims(backend: str) -> None:
    """Over time and a static axis of 4: y[t, s] = x[t, s] + x[t, s + 2] + x[t + 1, s] + x[t + 1, s + 2]."""
    conv = {
        "class": "conv",
        "filter_size": (2, 2),
        "dilation_rate": (1, 2),
        "padding": "valid",
        "n_out": 1,
        "with_bias": False,
        "activation": None,
        "from": "data",
    }
    x = input_values((2, 3, 4, 1))
    results = run(
        backend,
        {"output": conv},
        {"data": x},
        {"data": [3, 3]},
        extern_data={"data": {"shape": (None, 4, 1), "time_dim_axis": 1, "feature_dim_axis": 3}},
        param_value=lambda name, shape: numpy.ones(shape),
    )
    close(results["out:output"], x[:, :-1, :-2] + x[:, :-1, 2:] + x[:, 1:, :-2] + x[:, 1:, 2:])
    assert results["len:output:0"].tolist() == [2, 2]
