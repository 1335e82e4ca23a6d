"""Layers that choose outside of loops, one after the other."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.errors import UserError
from tests.layers.recurrent.loops import BACKENDS, run

SCORES = [[1.0, 2, 3, 0], [0, 4.5, 3, 6], [5, 8, 7.5, 0]]
BOTH = pytest.mark.parametrize("backend", BACKENDS)


def choice(source: str, before: str | None = None, **opts: Any) -> dict[str, Any]:
    """from scores, behind another choice"""
    layer = {
        "class": "choice",
        "target": None,
        "beam_size": 3,
        "input_type": "log_prob",
        "search": True,
        "from": source,
    }
    return {**layer, "explicit_search_source": before, **opts}


def frame(i: int) -> dict[str, Any]:
    return {"class": "gather", "position": i, "axis": "T", "from": "data"}


FRAMES = {"x0": frame(0), "x1": frame(1), "x2": frame(2)}
CHAIN = {**FRAMES, "c0": choice("x0"), "c1": choice("x1", "c0"), "c2": choice("x2", "c1")}


def number_of(*names: str) -> dict[str, Any]:
    """labels as digits of a number"""
    text = " + ".join(
        "tf.cast(source(%i), 'float32') * %.1f" % (i, 10.0 ** (len(names) - 1 - i)) for i in range(len(names))
    )
    return {
        "class": "eval",
        "eval": text,
        "from": list(names),
        "out_type": {"dtype": "float32", "sparse": False, "sparse_dim": None},
    }


def beam(name: str) -> dict[str, Any]:
    return {"class": "split_batch_beam", "from": name}


def compute(backend: str, network: dict[str, Any], data: Any = (SCORES,), **opts: Any) -> dict[str, numpy.ndarray]:
    fetch = opts.pop("fetch", ["output"])
    network = {name: {**layer, "is_output_layer": name in fetch} for name, layer in network.items()}
    lens = {"data": [len(x) for x in data]}
    if "classes" in opts:
        data = {"data": data, "classes": opts.pop("classes")}
        lens["classes"] = [len(x) for x in data["classes"]]
    else:
        data = {"data": data}
    extern = {"data": {"dim": 4}, "classes": {"dim": 4, "sparse": True, "available_for_inference": True}}
    extern = {key: extern[key] for key in data}
    return run(backend, network, data, lens, extern_data=extern, fetch=fetch, **opts)


@BOTH
def test_three_frames(backend: str) -> None:
    """231, 232, 131 with the scores 3 + 6 + 8, 3 + 6 + 7.5, 2 + 6 + 8, and the best is 231. With the frames in
    another order, 312, 322, 311: 6 + 8 + 3, 6 + 7.5 + 3, 6 + 8 + 2."""
    network = {
        **CHAIN,
        "numbers": number_of("c0", "c1", "c2"),
        "output": beam("numbers"),
        "last": {"class": "choice_get_beam_scores", "from": "c2"},
        "scores": beam("last"),
        "best": {"class": "decide", "from": "numbers"},
    }
    other = [SCORES[1], SCORES[2], SCORES[0]]
    found = compute(backend, network, (SCORES, other), fetch=["output", "scores", "best"])
    assert found["out:output"].tolist() == [[231, 232, 131], [312, 322, 311]]
    assert found["out:scores"].tolist() == [[17, 16.5, 16]] * 2
    assert found["out:best"].tolist() == [231, 312]


@BOTH
def test_layers_of_hypotheses_before(backend: str) -> None:
    """A layer behind the first choice, used behind the second: its hypotheses are those that went on. 3 goes on from
    2, 1, 0 with 6 + 3, 6 + 2, 6 + 1, then 1 from 2 with 4.5 + 3."""
    network = {
        **CHAIN,
        "square": {"class": "eval", "eval": "tf.cast(source(0), 'float32') ** 2", "from": "c0"},
        "both": {**number_of("square", "c1"), "eval": "source(0) * 10.0 + tf.cast(source(1), 'float32')"},
        "output": beam("both"),
    }
    network["square"]["out_type"] = network["both"]["out_type"]
    network["c1"] = choice("x1", "c0", beam_size=4)
    assert compute(backend, network)["out:output"].tolist() == [[43, 13, 41, 3]]


@BOTH
def test_scores_that_depend_on_the_label_before(backend: str) -> None:
    """Through the source, as well: brute force over all pairs."""
    network = {
        **FRAMES,
        "c0": choice("x0", beam_size=4),
        "row": {"class": "linear", "n_out": 4, "activation": None, "with_bias": False, "from": "c0"},
        "sum": {"class": "combine", "kind": "add", "from": ["x1", "row"]},
        "c1": choice("sum"),
        "numbers": number_of("c0", "c1"),
        "output": beam("numbers"),
    }
    row = numpy.random.RandomState(1).normal(size=(4, 4))
    found = compute(backend, network, param_value=lambda name, shape: row)["out:output"]
    total = numpy.array(SCORES[0])[:, None] + numpy.array(SCORES[1]) + row
    best = numpy.argsort(-total.reshape(-1))[:3]
    assert found.tolist() == [[int(i) // 4 * 10 + int(i) % 4 for i in best]]


@BOTH
def test_one_choice(backend: str) -> None:
    """Of a classification: the best labels of each sequence, from probabilities, and fewer of them than wanted."""
    network = {
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
        "probs": {"class": "softmax", "n_out": 4, "forward_weights_init": "identity", "from": "mean"},
        "c0": choice("probs", beam_size=5, input_type="prob"),
        "numbers": number_of("c0"),
        "output": beam("numbers"),
        "best": {"class": "decide", "from": "c0"},
    }
    found = compute(
        backend,
        network,
        fetch=["output", "best"],
        param_value=lambda n, s: numpy.eye(4) if len(s) > 1 else numpy.zeros(s),
    )
    assert found["out:output"].tolist() == [[1, 2, 0, 3, 0]] and found["out:best"].tolist() == [1]


@BOTH
def test_behind_a_search_in_a_loop(backend: str) -> None:
    """Its hypotheses go on: 2 1 of the loop has 3 + 4.5 behind 2 3 with 3 + 6, then 1 with 8 and 2 with 7.5."""
    unit = {"output": {**choice("data:source"), "explicit_search_source": None, "initial_output": 0}}
    unit["output"]["length_normalization"] = False
    two = {"class": "slice", "axis": "T", "slice_end": 2, "from": "data"}
    network = {
        "two": two,
        "x2": frame(2),
        "loop": {"class": "rec", "from": "two", "unit": unit},
        "last": {"class": "gather", "position": 1, "axis": "T", "from": "loop"},
        "c2": choice("x2", "loop"),
        "numbers": number_of("last", "c2"),
        "output": beam("numbers"),
    }
    assert compute(backend, network)["out:output"].tolist() == [[31, 32, 31]]


@BOTH
@pytest.mark.parametrize("cheating", [True, "exclusive"])
def test_cheating(backend: str, cheating: Any) -> None:
    """The targets 0 0: with the scores 1 and 0, in the last place of each beam."""
    label = {"class": "gather", "position": 0, "axis": "T", "from": "data:classes"}
    network = {
        **FRAMES,
        "label": label,
        "c0": choice("x0", target="layer:label", cheating=cheating),
        "c1": choice("x1", "c0", target="layer:label", cheating=cheating),
        "numbers": number_of("c0", "c1"),
        "output": beam("numbers"),
        "last": {"class": "choice_get_beam_scores", "from": "c1"},
        "scores": beam("last"),
    }
    found = compute(backend, network, classes=[[0, 0, 0]], fetch=["output", "scores"])
    assert found["out:output"].tolist() == [[23, 13, 0]] and found["out:scores"].tolist() == [[9, 8, 1]]


@BOTH
def test_without_search(backend: str) -> None:
    """The target, and no beam."""
    network = {
        **FRAMES,
        "label": {"class": "gather", "position": 1, "axis": "T", "from": "data:classes"},
        "output": {**choice("x0"), "target": "layer:label", "search": False},
    }
    assert compute(backend, network, classes=[[0, 3, 0]])["out:output"].tolist() == [3]


@BOTH
def test_target_within_a_search(backend: str) -> None:
    """All hypotheses get it, with its score: 3 + 0, 2 + 0, 1 + 0."""
    network = {
        **FRAMES,
        "label": {"class": "gather", "position": 0, "axis": "T", "from": "data:classes"},
        "c0": choice("x0"),
        "c1": {**choice("sum", target="layer:label", search=False), "add_to_beam_scores": True},
        "zero": {"class": "eval", "eval": "tf.cast(source(0), 'float32') * 0.0", "from": "c0"},
        "sum": {"class": "combine", "kind": "add", "from": ["x1", "zero"]},
        "numbers": number_of("c0", "c1"),
        "output": beam("numbers"),
        "last": {"class": "choice_get_beam_scores", "from": "c1"},
        "scores": beam("last"),
    }
    network["zero"]["out_type"] = network["numbers"]["out_type"]
    found = compute(backend, network, classes=[[0, 0, 0]], fetch=["output", "scores"])
    assert found["out:output"].tolist() == [[20, 10, 0]] and found["out:scores"].tolist() == [[3, 2, 1]]


@BOTH
def test_users_combine(backend: str) -> None:
    """Layers that it names have the beam in the batch: it wants the label of before again."""

    def combine(layer: Any, scores_in: Any, scores_base: Any, batch_dim: Any, base_beam_in: Any, **_: Any) -> Any:
        before = layer.explicit_search_sources[0].output.placeholder
        labels = before.reshape(-1, base_beam_in) if backend == "torch" else _reshape(before, base_beam_in)
        return scores_in * 0.0 + scores_base + _one_hot(labels, backend)

    network = {
        **FRAMES,
        "c0": choice("x0"),
        "c1": choice("x1", "c0", custom_score_combine=combine),
        "numbers": number_of("c0", "c1"),
        "output": beam("numbers"),
    }
    assert compute(backend, network)["out:output"].tolist() == [[22, 11, 20]]


def _reshape(x: Any, beam: int) -> Any:
    from returnn.tf.compat import tf  # noqa: PLC0415

    return tf.reshape(x, [-1, beam])


def _one_hot(labels: Any, backend: str) -> Any:
    if backend == "torch":
        import torch  # noqa: PLC0415

        return torch.nn.functional.one_hot(labels.long(), 4).float() * 1.5
    from returnn.tf.compat import tf  # noqa: PLC0415

    return tf.one_hot(labels, 4) * 1.5


def test_unrelated_choices() -> None:
    """None of them goes on from the other."""
    network = {**FRAMES, "c0": choice("x0"), "c1": choice("x1"), "output": number_of("c0", "c1")}
    with pytest.raises(UserError, match="None of these layers chose after all the others"):
        compute("torch", network)
