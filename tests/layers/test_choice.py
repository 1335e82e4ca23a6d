"""Beam search by layers: choice, decide, and those that look at beams."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pytest

from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import UserError
from tests.layers.recurrent.common import param_values
from tests.layers.recurrent.loops import behavior_version
from tests.network import peer_case

BACKENDS = ["tf", "torch"]
NEWEST = BehaviorVersion._latest_behavior_version
A = [[-1.0, -2, -3, -9], [-0.6, -6, -0.5, -2], [-0.4, -0.6, -0.7, -1]]
"""log scores of labels, frame by frame"""
LABELS = {"dim": 4, "sparse": True, "available_for_inference": True}


class Search:
    """A network in a search, and what came out: labels and scores of all hypotheses, best first."""

    def __init__(
        self,
        backend: str,
        unit: Mapping[str, Any],
        scores: Any = (A,),
        lens: Sequence[int] | None = None,
        *,
        labels: Any = None,
        version: int = 0,
        fetch: Sequence[str] = (),
        further: Mapping[str, Any] | None = None,
        params: Any = None,
        search: bool = True,
        evaluation: bool = True,
        num_classes: int = 4,
        **opts: Any,
    ):
        """
        :param unit: layers in the loop; "data:source" are the scores of the frame
        :param scores: [batch, time, labels]
        :param lens: of the scores; by default all frames
        :param labels: [batch, time]: data "classes"
        :param version: of the behaviour
        :param fetch: further layers
        :param further: further layers outside
        :param params: value of all parameters, by default as in the checks of recurrent layers
        :param opts: of the rec layer
        """
        data = numpy.array(scores, "float32")
        network = {
            "output": {"class": "rec", "from": "data", "target": None, "unit": dict(unit), **opts},
            "decision": {"class": "decide", "from": "output", "is_output_layer": True},
            **(further or {}),
        }
        names = ["output", "decision", *fetch]
        if search:
            network["all_scores"] = {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True}
            names.append("all_scores")
        extern_data = {"data": {"dim": data.shape[-1]}}
        lens = numpy.array([data.shape[1]] * len(data) if lens is None else lens, "int32")
        stored = {"in:data": data, "in:data:len:0": lens}
        if labels is not None:
            extern_data["classes"] = {**LABELS, "dim": num_classes}
            stored["in:classes"] = numpy.array(labels, "int32")
            stored["in:classes:len:0"] = lens[: len(stored["in:classes"])]
        case = {
            "extern_data": extern_data,
            "network": network,
            "fetch": names,
            "search": search,
            "eval_flag": evaluation,
            "param_value": params or (lambda name, shape: param_values(shape)),
        }
        with behavior_version(version):
            if backend == "tf":
                self.results = peer_case.compute_case(case, stored)
            else:
                torch_case = pytest.importorskip("tests.network.torch_case", reason="needs torch")
                self.results = torch_case.compute_case(case, stored)
        self.num_seqs = len(data)

    def rows(self, name: str = "output") -> list[list[Any]]:
        """
        :return: of each row of the batch the real frames
        """
        values, lens = self.results["out:" + name], self.lens(name)
        return [row[:size].tolist() for row, size in zip(values, lens, strict=True)]

    def padded(self, name: str = "output") -> list[list[Any]]:
        """
        :return: all frames
        """
        return self.results["out:" + name].tolist()

    def lens(self, name: str = "output") -> list[int]:
        """
        :return: of the rows
        """
        return self.results["len:%s:0" % name].tolist()

    @property
    def scores(self) -> Any:
        """[batch, beam]"""
        return pytest.approx(self.array_of_scores.tolist(), abs=2e-5)

    @property
    def array_of_scores(self) -> numpy.ndarray:
        """[batch, beam], or [beam] of one sequence"""
        res = self.results["out:all_scores"].reshape(self.num_seqs, -1)
        return res[0] if self.num_seqs == 1 else res


def choice(source: str = "data:source", **opts: Any) -> dict[str, Any]:
    """layer that chooses from log scores"""
    defaults = {"class": "choice", "target": None, "beam_size": 3, "input_type": "log_prob", "initial_output": 0}
    return {**defaults, "from": source, **opts}


END = {"end": {"class": "compare", "value": 0, "from": "output"}}
NO_NORM = {"length_normalization": False}
EXPLICIT = [[1.0, 2, 3, 0], [0, 4.5, 3, 6], [5, 8, 7.5, 0]]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


# ---- the search, number by number


def test_fixed_length(backend: str) -> None:
    """3 + 6 + 8 = 17 is the highest sum; divided by 3 frames + 1."""
    s = Search(backend, {"output": choice(**NO_NORM)}, [EXPLICIT])
    assert s.padded() == [[2, 3, 1], [2, 3, 2], [1, 3, 1]]
    assert s.scores == [17, 16.5, 16]
    assert s.rows("decision") == [[2, 3, 1]]
    s = Search(backend, {"output": choice()}, [EXPLICIT])
    assert s.padded() == [[2, 3, 1], [2, 3, 2], [1, 3, 1]]
    assert s.scores == [4.25, 4.125, 4]


def test_dynamic_length(backend: str) -> None:
    """-2 -.5 -.4 of 3 labels with the end, over 4: the longest one, + 1."""
    s = Search(backend, {"output": choice(), **END}, max_seq_len=3)
    assert s.padded() == [[1, 2, 0], [0, 0, 0], [1, 2, 1]]
    assert s.lens() == [2, 0, 3]
    assert s.scores == [-0.725, -0.75, -0.775]
    assert s.rows("decision") == [[1, 2]]


def test_dynamic_length_with_end(backend: str) -> None:
    s = Search(backend, {"output": choice(), **END}, max_seq_len=3, include_eos=True)
    assert s.lens() == [3, 1, 3]
    assert s.scores == [-0.96667, -1, -1.03333]


def test_exponent(backend: str) -> None:
    """Old: the final scores do not know the exponent, so the short one wins, with -1 * 3 ** .5 / 4. New: each of the
    scores -1, -2.9, -3.1 is divided by the root of its own length, 1, 3, 3."""
    unit = {"output": choice(length_normalization_exponent=0.5), **END}
    old = Search(backend, unit, max_seq_len=3)
    assert old.padded()[0] == [0, 0, 0]
    assert old.scores == [-0.43301, -0.725, -0.775]
    new = Search(backend, unit, max_seq_len=3, version=NEWEST)
    assert new.scores == [-1, -2.9 / 3**0.5, -3.1 / 3**0.5]


def test_no_length_normalization(backend: str) -> None:
    s = Search(backend, {"output": choice(**NO_NORM), **END}, max_seq_len=3)
    assert s.lens() == [0, 1, 2]
    assert s.scores == [-1, -2.6, -2.9]
    assert s.rows("decision") == [[]]


def test_beam_larger_than_labels(backend: str) -> None:
    s = Search(backend, {"output": choice(beam_size=6), **END}, max_seq_len=3)
    assert s.scores == [-0.725, -0.75, -0.775, -0.8, -0.875, -0.975]
    assert s.lens() == [2, 0, 3, 3, 3, 1]


def test_scales(backend: str) -> None:
    s = Search(backend, {"output": choice(prob_scale=0.5, base_beam_score_scale=2, **NO_NORM), **END}, max_seq_len=3)
    assert s.scores == [-2, -4.6, -4.7]


def test_padded_frame(backend: str) -> None:
    """The second sequence has 2 frames. At the old version the one behind its end counts, -.4 of label 0."""
    unit = {"output": choice(**NO_NORM)}
    assert Search(backend, unit, [A, A], [3, 2]).array_of_scores[1] == pytest.approx([-1.9, -2, -2.1], abs=1e-5)
    exact = [
        Search(backend, unit, [A, A], [3, 2], include_eos=True),
        Search(backend, unit, [A, A], [3, 2], version=NEWEST),
    ]
    for s in exact:
        assert s.array_of_scores[1] == pytest.approx([-1.5, -1.6, -2.5], abs=1e-5)


def test_keep_beams(backend: str) -> None:
    s = Search(backend, {"output": choice(beam_size=4, keep_beams=True, **NO_NORM)})
    assert s.padded() == [[0, 2, 0], [1, 2, 0], [2, 2, 0], [3, 2, 0]]
    assert s.scores == [-1.9, -2.9, -3.9, -9.9]


@pytest.mark.parametrize(
    ("cheating", "target", "labels", "scores"),
    [
        (True, [3, 1, 1], [[0, 2, 0], [0, 0, 0], [3, 1, 1]], [-1.9, -2, -15.6]),
        ("exclusive", [3, 1, 1], [[0, 2, 0], [0, 0, 0], [3, 1, 1]], [-1.9, -2, -15.6]),
        ("exclusive", [0, 2, 0], [[0, 0, 0], [0, 2, 1], [0, 2, 0]], [-2, -2.1, -1.9]),
    ],
)
def test_cheating(backend: str, cheating: Any, target: list[int], labels: Any, scores: Any) -> None:
    """The target is the last hypothesis, whatever its score."""
    s = Search(backend, {"output": choice(cheating=cheating, target="classes", **NO_NORM)}, labels=[target])
    assert s.padded() == labels
    assert s.scores == scores


def test_cheating_may_have_the_target_twice(backend: str) -> None:
    """It is the best one anyway. Where it takes the last place, all three are the same one in the end."""
    s = Search(backend, {"output": choice(cheating=True, target="classes", **NO_NORM)}, labels=[[0, 2, 0]])
    assert s.padded() == [[0, 2, 0]] * 3


def test_two_choices_in_a_frame(backend: str) -> None:
    """Scores A_t + P[previous label], then A_t + P[first label]; of those that are -4.6 the first ones."""
    linear = {"class": "linear", "n_out": 4, "activation": None, "with_bias": False}
    unit = {
        "b0": {**linear, "from": "prev:output"},
        "p0": {"class": "combine", "kind": "add", "from": ["data:source", "b0"]},
        "c0": {**choice("p0", **NO_NORM), "is_output_layer": True},
        "b1": {**linear, "from": "c0"},
        "p1": {"class": "combine", "kind": "add", "from": ["data:source", "b1"]},
        "output": choice("p1", **NO_NORM),
    }
    s = Search(backend, unit, fetch=["output/c0"])
    assert s.padded() == [[0, 2, 0], [0, 2, 2], [1, 2, 0]]
    assert s.padded("output/c0") == [[1, 2, 1], [1, 2, 1], [0, 2, 1]]
    assert s.scores == [-4.6] * 3


def test_two_sources(backend: str) -> None:
    unit = {
        "half": {"class": "eval", "eval": "source(0) * 0.5", "from": "first_two"},
        "first_two": {"class": "slice", "axis": "F", "slice_end": 2, "from": "data:source"},
        "c": choice(["data:source", "half"], target=[None, None], source_beam_sizes=[3, 2], **NO_NORM),
        "output": {"class": "copy", "from": "c/out_0"},
        "second": {"class": "copy", "from": "c/out_1", "is_output_layer": True},
    }
    s = Search(backend, unit, [[[-1, -2, -4], [-3, -1, -1.5]]], fetch=["output/second"])
    assert s.padded() == [[0, 1], [0, 2], [0, 1]]
    assert s.padded("output/second") == [[0, 1], [0, 1], [1, 1]]
    assert s.scores == [-3, -3.5, -3.5]


def test_source_probabilities(backend: str) -> None:
    """prob, logits and log_prob are the same to it."""
    x = numpy.log([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]])
    found = []
    for kind, scores in [("prob", numpy.exp(x)), ("log_prob", x), ("logits", x + [[5], [-3]])]:
        s = Search(backend, {"output": choice(input_type=kind, **NO_NORM)}, [scores])
        found.append((s.padded(), s.array_of_scores))
    for labels, scores in found:
        assert labels == [[0, 1], [2, 1], [0, 2]]
        assert scores == pytest.approx(numpy.log([0.3, 0.18, 0.15]), abs=1e-5)


# ---- layers around


def test_layers_on_beams(backend: str) -> None:
    """of -1.9 [0 2 0], -2 [0 0 0], -2.1 [0 2 1]. Into the last frame, hypotheses 0 (0 2), 1 (0 0), 0 lead."""
    unit = {
        "output": choice(**NO_NORM),
        "scores": {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True},
        "src": {"class": "choice_get_src_beams", "from": "output", "is_output_layer": True},
    }
    further = {
        "kept": {"class": "decide_keep_beam", "from": "output", "is_output_layer": True},
        "split": {"class": "split_batch_beam", "from": "output", "is_output_layer": True},
        "split_scores": {"class": "split_batch_beam", "from": "all_scores", "is_output_layer": True},
        "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "split_scores", "is_output_layer": True},
    }
    fetch = ["output/scores", "output/src", "kept", "split", "split_scores", "sum"]
    s = Search(backend, unit, further=further, fetch=fetch)
    labels = [[0, 2, 0], [0, 0, 0], [0, 2, 1]]
    assert s.padded() == s.padded("kept") == labels
    assert s.padded("split") == [labels]
    assert s.padded("split_scores") == [pytest.approx([-1.9, -2, -2.1])]
    assert s.padded("sum") == [pytest.approx(-6)]
    assert s.results["out:output/scores"] == pytest.approx(
        numpy.array([[-1, -1.5, -1.9], [-1, -1.6, -2], [-1, -1.5, -2.1]]), abs=1e-5
    )
    assert s.padded("output/src") == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_decide_keep_beam_in_the_loop(backend: str) -> None:
    """All hypotheses of each frame, also those that led nowhere: 0 1 2 first. ``kept`` is not brought to the last ones,
    ``copied`` is."""
    unit = {
        "output": choice(**NO_NORM),
        "kept": {"class": "decide_keep_beam", "from": "output", "is_output_layer": True},
        "copied": {"class": "copy", "from": "output", "is_output_layer": True},
    }
    s = Search(backend, unit, fetch=["output/kept", "output/copied"])
    assert [row[0] for row in s.padded("output/kept")] == [0, 1, 2]
    assert s.padded("output/copied") == s.padded()


def test_decide_by_length(backend: str) -> None:
    """-1.5 of no label (counts as one), -1.8 over 2 labels, -3 over 1."""
    further = {"normed": {"class": "decide", "from": "output", "length_normalization": True, "is_output_layer": True}}
    scores = [[-1.5, -1.6, -9, -9], [-1.4, -3, -0.1, -9], [-0.1, -3, -3, -9]]
    s = Search(
        backend, {"output": choice(**NO_NORM), **END}, [scores], max_seq_len=3, further=further, fetch=["normed"]
    )
    assert s.rows() == [[], [1, 2], [1]]
    assert s.scores == [-1.5, -1.8, -3]
    assert s.rows("decision") == [[]]
    assert s.rows("normed") == [[1, 2]]


def test_decide_without_search(backend: str) -> None:
    s = Search(backend, {"output": choice(target="classes")}, labels=[[3, 1, 2]], search=False)
    assert s.padded() == s.padded("decision") == [[3, 1, 2]]


def test_layer_between_is_of_the_same_hypothesis(backend: str) -> None:
    """The sum of the labels so far, wherever the hypothesis was in the beam before; and a count behind the loop."""
    unit = {
        "output": choice(**NO_NORM),
        "number": {"class": "cast", "dtype": "float32", "from": "plain"},
        "plain": {"class": "reinterpret_data", "set_sparse": False, "from": "output"},
        "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "number"], "is_output_layer": True},
    }
    s = Search(backend, unit, [[[-3.0, -1, -1.2, -9], [-1, -5, -1.1, -0.9], [-2, -1, -3, -1.5]]], fetch=["output/sum"])
    assert s.padded("output/sum") == numpy.cumsum(s.padded(), axis=1).tolist()
    assert len({tuple(row) for row in s.padded()}) == 3


# ---- code of users


def test_custom_combine(backend: str) -> None:
    """The label of the frame before costs .5 more; the function sees [B, K, V], and sources as [B * K]."""
    seen: dict[str, Any] = {}

    def combine(
        layer: Any, scores_in: Any, scores_base: Any, t: Any, end_flags: Any, batch_dim: Any, **kwargs: Any
    ) -> Any:
        before = layer.explicit_search_sources[0].output.placeholder
        seen.update(kwargs, ranks=[len(x.shape) for x in (before, scores_in, scores_base, end_flags)])
        size = kwargs["base_beam_in"]
        b = layer.network.backend
        before = b.expand_dims(b.reshape(before, [batch_dim, size]), -1)
        same = b.cast(b.compare("equal", before, b.range(4)), "float32")
        return scores_in + scores_base - 0.5 * same

    unit = {"output": choice(explicit_search_source="prev:output", custom_score_combine=combine, **NO_NORM)}
    s = Search(backend, unit)
    best = sorted(
        (
            sum(A[t][y] - 0.5 * (y == before) for t, (before, y) in enumerate(itertools.pairwise([0, *labels]))),
            [-y for y in labels],
        )
        for labels in itertools.product(range(4), repeat=3)
    )[-1]
    assert s.array_of_scores[0] == pytest.approx(best[0], abs=1e-5)
    assert seen["ranks"] == [1, 3, 3, 2]
    assert seen["scores_beam_in"] == seen["base_beam_in"] == 3


def test_eval_sees_rows(backend: str) -> None:
    """The beam is in the batch: with 2 sequences and 3 hypotheses 6 rows, also of a source without beam."""
    shapes: list[Any] = []

    def function(source: Any, self: Any, **_: Any) -> Any:
        shapes.append((len(source(0).shape), len(source(1).shape), source(0, as_data=True).beam))
        return source(0) + source(1)

    unit = {
        "output": choice("sum", **NO_NORM),
        "bias": {"class": "linear", "n_out": 4, "activation": "(x * 0.5)", "from": "prev:output"},
        "sum": {"class": "eval", "eval": function, "from": ["data:source", "bias"]},
    }
    same = {**unit, "sum": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]}}
    a, b = Search(backend, unit, [A, EXPLICIT]), Search(backend, same, [A, EXPLICIT])
    assert a.padded() == b.padded()
    assert a.array_of_scores == pytest.approx(b.array_of_scores)
    assert shapes[-1][:2] == (2, 2) and shapes[-1][2].beam_size == 3


def test_users_see_what_ended(backend: str) -> None:
    """Rows of hypotheses that had ended before the frame."""

    def function(source: Any, self: Any, **_: Any) -> Any:
        assert len(source(0).shape) == len(source(1).shape) == 1
        return self.network.get_rec_step_info().get_prev_end_flag(target_search_choices=self.get_search_choices())

    is_end = {"class": "compare", "value": 0, "from": "output"}
    before = {"class": "eval", "eval": function, "from": ["is_end", "prev:before"], "initial_output": False}
    unit = {"output": choice(), **END, "is_end": is_end, "before": {**before, "is_output_layer": True}}
    s = Search(backend, unit, max_seq_len=3, include_eos=True, fetch=["output/before"])
    assert s.padded() == [[1, 2, 0], [0, 0, 0], [1, 2, 1]]
    assert s.padded("output/before") == [[False] * 3, [False, True, True], [False] * 3]


# ---- the target in a search, sampling


def test_scores_of_the_target(backend: str) -> None:
    """-1 -.5 -.4 for [0 2 0]; there is one hypothesis."""
    s = Search(backend, {"output": choice(search=False, target="classes", **NO_NORM)}, labels=[[0, 2, 0]])
    assert s.padded() == [[0, 2, 0]]
    assert s.scores == [-1.9]


def test_scores_of_the_target_need_not_count(backend: str) -> None:
    unit = {"output": choice(search=False, add_to_beam_scores=False, target="classes")}
    network = {"all_scores": {"class": "copy", "from": "output"}}
    s = Search(backend, unit, labels=[[3, 2, 0]], further=network, search=False)
    assert s.padded() == [[3, 2, 0]]


def test_hypotheses_behind_the_target(backend: str) -> None:
    """A given label in front of each chosen one. At the newest version the hypotheses are different ones."""
    unit = {
        "given": {**choice(search=False, target="classes", **NO_NORM), "is_output_layer": True},
        "output": choice(**NO_NORM),
    }
    s = Search(backend, unit, labels=[[0, 2, 0]], version=NEWEST)
    assert s.padded() == [[0, 2, 0], [0, 0, 0], [0, 2, 1]]
    assert s.scores == [-3.8, -3.9, -4]


def test_regression(backend: str) -> None:
    """The source is the output, and there are no scores."""
    unit = {
        "sum": {"class": "combine", "kind": "add", "from": ["data:source", "prev:output"]},
        "output": choice("sum", input_type="regression", beam_size=1),
    }
    s = Search(backend, unit)
    assert s.results["out:output"] == pytest.approx(numpy.cumsum([A], axis=1), abs=1e-5)
    assert s.scores == [0]


@pytest.mark.parametrize("prob", [None, 1.0])
def test_scheduled_sampling(backend: str, prob: float | None) -> None:
    """Labels of the highest scores, where these leave no choice; the target with the probability one."""
    unit = {"output": choice(target="classes", scheduled_sampling={"gold_mixin_prob": prob} if prob else True)}
    s = Search(backend, unit, [numpy.array(A) * 1e4], labels=[[3, 1, 2]], search=False)
    assert s.padded() == [[3, 1, 2] if prob else [0, 2, 0]]


@pytest.mark.parametrize("as_search", [True, False])
def test_labels_are_drawn(backend: str, as_search: bool) -> None:
    """As often as the probabilities say; of two frames independently."""
    probs, number = numpy.array([0.5, 0.3, 0.2]), 2000
    scores = numpy.broadcast_to(numpy.log(probs), (number, 2, 3))
    if as_search:
        s = Search(backend, {"output": choice(beam_size=1, random_sample_scale=1.0, **NO_NORM)}, scores)
    else:
        unit = {"output": choice(target="classes", scheduled_sampling=True)}
        s = Search(backend, unit, scores, labels=numpy.zeros((number, 2)), search=False, num_classes=3)
    labels = s.results["out:output"]
    pairs = numpy.histogramdd(labels, bins=[range(4)] * 2)[0]
    assert pairs / number == pytest.approx(probs[:, None] * probs, abs=4 * (0.25 / number) ** 0.5)


# ---- laws, at the newest version

WEIGHTS = numpy.array([[0.3, -0.4, 0.9], [-0.7, 0.2, 0.5], [1.1, -0.6, -0.2]])
"""score of a label, added to that of the frame: [label before, label]"""
FRAMES = numpy.random.RandomState(3).normal(-1.5, 0.8, (3, 4, 3))


def bigrams(**opts: Any) -> dict[str, Any]:
    """unit where scores depend on the label before"""
    return {
        "bias": {"class": "linear", "n_out": 3, "activation": None, "with_bias": False, "from": "prev:output"},
        "sum": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
        "output": choice("sum", **opts),
    }


def score_of(frames: numpy.ndarray, labels: Sequence[int]) -> float:
    """sum over all labels"""
    return sum(frames[t, y] + WEIGHTS[x, y] for t, (x, y) in enumerate(itertools.pairwise([0, *labels])))


def searched(backend: str, frames: Any, lens: Any = None, unit: Any = None, labels: Any = None, **opts: Any) -> Search:
    return Search(
        backend,
        unit or bigrams(),
        frames,
        lens,
        labels=labels,
        version=NEWEST,
        params=lambda name, shape: WEIGHTS,
        num_classes=3,
        **opts,
    )


def test_beam_of_one_is_greedy(backend: str) -> None:
    s = searched(backend, FRAMES, unit=bigrams(beam_size=1))
    for row, score, frames in zip(s.padded(), s.array_of_scores, FRAMES, strict=True):
        labels = [0]
        for frame in frames:
            labels.append(int(numpy.argmax(frame + WEIGHTS[labels[-1]])))
        assert row == labels[1:]
        assert score == pytest.approx([score_of(frames, row) / 4], abs=1e-5)


@pytest.mark.parametrize("exponent", [1.0, 0.5])
def test_beam_of_all_hypotheses_is_brute_force(backend: str, exponent: float) -> None:
    """All label sequences that end with 0, and those of 4 labels without; divided by the length ** exponent."""
    unit = {**bigrams(beam_size=31, length_normalization_exponent=exponent), **END}
    s = searched(backend, FRAMES[:1], unit=unit, max_seq_len=4)
    complete = [(*x, 0) for size in range(4) for x in itertools.product([1, 2], repeat=size)]
    complete += list(itertools.product([1, 2], repeat=4))
    expected = sorted(((score_of(FRAMES[0], y) / len(y) ** exponent, y) for y in complete), reverse=True)
    assert s.array_of_scores == pytest.approx([score for score, _ in expected], abs=1e-5)
    assert s.rows() == [[label for label in labels if label] for _, labels in expected]


def test_sequences_do_not_matter_to_each_other(backend: str) -> None:
    """Alone, in another order, and with other values behind their ends."""
    lens = [4, 2, 3]
    together = searched(backend, FRAMES, lens)
    scores = together.array_of_scores
    other = FRAMES.copy()
    other[1, 2:], other[2, 3:] = 1e3, -1e3
    assert searched(backend, other, lens).array_of_scores == pytest.approx(scores, abs=1e-5)
    order = [2, 0, 1]
    permuted = searched(backend, FRAMES[order], [lens[i] for i in order])
    assert permuted.array_of_scores == pytest.approx(scores[order], abs=1e-5)
    for i, size in enumerate(lens):
        alone = searched(backend, FRAMES[i : i + 1, :size])
        assert alone.array_of_scores == pytest.approx(scores[i], abs=1e-5)
        assert alone.rows() == together.rows()[3 * i : 3 * i + 3]


@pytest.mark.parametrize("normalized", [True, False])
def test_score_of_a_hypothesis_is_that_of_its_labels(backend: str, normalized: bool) -> None:
    """Found labels as target, with ``search: False``."""
    lens = [4, 2, 3]
    found = searched(backend, FRAMES, lens, bigrams(length_normalization=normalized))
    labels, scores = found.results["out:output"].reshape(3, 3, 4), found.array_of_scores
    for k in range(3):
        unit = bigrams(length_normalization=normalized, search=False, target="classes")
        given = searched(backend, FRAMES, lens, unit, labels[:, k])
        assert given.array_of_scores[:, 0] == pytest.approx(scores[:, k], abs=1e-5)


# ---- mistakes


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "choice", "from": "data:source", "beam_size": 2}, 'option "target" is missing'),
        (choice(beam_size=None), "beam_size must be a positive integer, but is None"),
        (choice([]), '"from" is missing'),
        (choice(cheating=True), "target is None: cheating needs one"),
        (choice(search=False), "target is None: without search, there is nothing to choose from"),
        (choice("label"), "it can choose from scores of labels only"),
        (choice(input_type="probs"), "input_type must be one of prob, log_prob, logits, regression, but is 'probs'"),
        (choice(source_beam_sizes=[5]), r"source_beam_sizes \[5\]: one for each source is needed, not more than"),
        (choice(target=["classes", "classes"]), "1 sources, but 2 targets"),
    ],
)
def test_mistakes_in_options(layer: dict[str, Any], message: str) -> None:
    unit = {"output": layer, "label": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data:source"}}
    with pytest.raises(UserError, match=message):
        Search("tf", unit, labels=[[0, 0, 0]])


def test_choice_from_all_frames_outside_of_loops() -> None:
    """Nobody would know in which order."""
    further = {"wrong": {**choice("data"), "is_output_layer": True}}
    with pytest.raises(
        UserError, match=r"it chooses one label of each sequence, from scores \[batch, labels\], not from"
    ):
        Search("tf", {"output": choice()}, further=further)


def test_hypotheses_of_two_searches() -> None:
    """Both layers are named."""
    further = {
        "other": {"class": "rec", "from": "data", "target": None, "unit": {"output": choice()}},
        "wrong": {"class": "compare", "kind": "equal", "from": ["output", "other"], "is_output_layer": True},
    }
    with pytest.raises(
        UserError,
        match="None of these layers chose after all the others:\n  <RecLayer 'other' .*\n  <RecLayer 'output' ",
    ):
        Search("tf", {"output": choice()}, further=further)


def test_nothing_to_look_at_without_search() -> None:
    further = {"scores": {"class": "choice_get_beam_scores", "from": "data", "is_output_layer": True}}
    with pytest.raises(UserError, match="the source 'data' has no beam"):
        Search("tf", {"output": choice()}, further=further)


def test_large_beam_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Search("tf", {"output": choice(beam_size=6)})
    assert "beam_size 6 is larger than the number of labels, 4" in "".join(capsys.readouterr())


@pytest.mark.parametrize("backend", BACKENDS)
def test_scores_and_sources_of_the_frame_before(backend: str) -> None:
    """Along each final hypothesis: what they were one frame before, in front of the first one 0. With A and a fourth
    frame that adds nothing, the three final ones have the scores -1.9 -2 -2.1, and go on from 0 1 0 of frame 1."""
    unit = {
        "output": choice(length_normalization=False),
        "embed": {"class": "linear", "n_out": 2, "activation": None, "from": "prev:output"},
        **{
            name: {"class": "choice_get_" + what, "from": source, "is_output_layer": True, "initial_output": 0}
            for what in ("beam_scores", "src_beams")
            for name, source in ((what, "output"), (what + "_before", "prev:output"), (what + "_embed", "embed"))
        },
    }
    names = [name for name in unit if name.startswith(("beam_scores", "src_beams"))]
    further = {"all_" + name: {"class": "copy", "from": "output/" + name, "is_output_layer": True} for name in names}
    search = Search(backend, unit, [[*A, [0, -5, -5, -5]]], further=further, fetch=list(further))
    for what in ("beam_scores", "src_beams"):
        now, before, embed = (search.results["out:all_%s%s" % (what, x)] for x in ("", "_before", "_embed"))
        assert now[:, 1:].any() and not before[:, 0].any()
        numpy.testing.assert_allclose(before[:, 1:], now[:, :-1])
        numpy.testing.assert_allclose(embed, before)
    assert search.results["out:all_src_beams_before"][:, 3].tolist() == [0, 1, 0]
    numpy.testing.assert_allclose(search.results["out:all_beam_scores_before"][:, 3], [-1.9, -2, -2.1], rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_last_states_of_hypotheses(backend: str) -> None:
    """Of a cell in a network inside of the unit: of the final hypotheses, as a layer of the unit has them at the end of
    each sequence; and the best one has one."""
    cell = {"class": "rnn_cell", "unit": "standardlstm", "n_out": 3, "from": "data", "need_last": True}
    sub = {"class": "subnetwork", "from": ["embed", "data:source"], "subnetwork": {"output": cell}}
    unit = {
        "embed": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "prev:output"},
        "sub": {**sub, "is_output_layer": True},
        "state": {"class": "get_last_hidden_state", "from": "sub", "n_out": 6, "need_last": True},
        "scores": {"class": "softmax", "n_out": 4, "from": "sub"},
        "output": choice("scores", input_type="prob"),
    }
    further = {
        "kept": {"class": "rec_last_output", "rec_layer": "output", "sub_layer_name": "state", "is_output_layer": True},
        "last": {"class": "get_last_hidden_state", "from": "output/sub", "n_out": 6, "is_output_layer": True},
        "best": {"class": "decide", "from": "last", "is_output_layer": True},
    }
    search = Search(backend, unit, [A, A[::-1]], [3, 2], further=further, fetch=list(further))
    kept, last, best = (search.results["out:" + name] for name in further)
    assert kept.shape == (6, 6) and numpy.unique(kept.round(4), axis=0).shape[0] > 2
    numpy.testing.assert_allclose(last, kept, rtol=1e-5)
    rows = search.array_of_scores.argmax(axis=1) + numpy.array([0, 3])
    numpy.testing.assert_allclose(best, kept[rows], rtol=1e-5)
