"""Beam search, step by step: stated results, a naive step for a single sequence, all hypotheses of a tiny search."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.backend import backend_of_raw
from tests.common import BACKENDS, Feed, run_rf

from .contract import FEATURE, OUT, TIME, Case, X, contract_tests

LABEL, STEPS, ONE = FeatureDim("label", 4), SpatialDim("steps", 3), SpatialDim("one", 1)
BEAM, MORE, STEP_DIM = SpatialDim("beam", 3), SpatialDim("more", 6), SpatialDim("step", 4)
SCORES = Tensor("label_scores", [batch_dim, STEPS, LABEL], "float32", feature_dim=LABEL)
A = numpy.array([[-1, -2, -3, -9], [-0.6, -6, -0.5, -2], [-0.4, -0.6, -0.7, -1]], "float32")
"""log score of each label in each step"""
BIGRAM = numpy.array([((7 * k) % 11 - 5) / 10 for k in range(16)], "float32").reshape(4, 4)

each_backend = pytest.mark.parametrize("backend", BACKENDS)


def constant(dims: Sequence[Dim], values: Any, dtype: str = "int32") -> Tensor:
    return Tensor("constant", list(dims), dtype, raw_tensor=numpy.array(values, dtype))


def frame(x: Tensor, step: int) -> Tensor:
    return rf.gather(x, indices=step, axis=STEPS)


def initial_scores(x: Tensor, beam: Dim) -> Tensor:
    """0 for each hypothesis"""
    return rf.expand_dim(rf.reduce_sum(x, axis=[d for d in x.dims if d != batch_dim]) * 0.0, beam)


def next_beam(step: int, beam: Dim, *, one_dim: bool) -> tuple[Dim, bool | Tensor]:
    """:return: beam_in, is_first. Either the beam has its size from the first step on, or 1 before it"""
    if one_dim:
        return beam, constant([], step == 0, "bool")
    return beam if step else ONE, False


def traced(labels: Sequence[Tensor], sources: Sequence[Tensor], beam: Dim) -> list[Tensor]:
    """:return: labels of the final hypotheses, of each step"""
    stacked, steps = rf.stack(labels)
    path = rf.trace_beams(rf.stack(sources, out_dim=steps)[0], axis=steps, beam=beam)
    assert (path.dtype, path.sparse_dim) == ("int32", beam)
    final = rf.gather_beam(stacked, path, beam_in=beam, beam_out=beam)
    assert final.dims == stacked.dims
    return list(rf.unstack(final, axis=steps))


def as_one(columns: Sequence[Tensor]) -> Tensor:
    """:return: [batch, beam, columns]"""
    plain = [rf.cast(x.like(x.raw_tensor, sparse_dim=None), "float32") for x in columns]
    columns_dim = Dim(len(plain), name="columns")
    return rf.stack(plain, out_dim=columns_dim, dim_order=[*plain[-1].dims, columns_dim])[0]


def search(
    x: Tensor,
    *,
    beam_size: int = 3,
    one_dim: bool = True,
    end: bool = False,
    known_lens: Sequence[int] | None = None,
    include_eos: bool = False,
    exponent: float | None = None,
    target: Sequence[int] | None = None,
    **options: Any,
) -> Tensor:
    """
    :param x: label scores
    :param end: hypotheses end with label 0
    :param known_lens: of each sequence; a hypothesis has ended behind that, one step later if the end is not included
    :param exponent: of the final normalisation; None: as it was of old
    :param target: the last hypothesis has to be this one
    :return: for each hypothesis the labels, their number, the score
    """
    beam = SpatialDim("beam", beam_size)
    scores = initial_scores(x, next_beam(0, beam, one_dim=one_dim)[0])
    ended, lens = rf.compare(scores, "<", -1.0), rf.cast(scores, "int32")
    labels, sources = [], []
    for step in range(3):
        before, is_first = next_beam(step, beam, one_dim=one_dim)
        if known_lens is not None:
            ended = constant([batch_dim], known_lens) <= (step if include_eos else step - 1)
        if target:
            options["gold"] = [constant([batch_dim], [target[step]])], None
        (label,), src, scores = rf.beam_step(
            [frame(x, step)],
            scores,
            beam_in=before,
            beam_out=beam,
            label_dims=[LABEL],
            ended=ended,
            step=constant([], step),
            is_first=is_first,
            **options,
        )
        assert label.dims == src.dims == scores.dims == (batch_dim, beam)
        assert (label.dtype, src.dtype, scores.dtype) == ("int32", "int32", "float32")
        assert (label.sparse_dim, src.sparse_dim) == (LABEL, before)
        was_ended, lens = (rf.gather_beam(y, src, beam_in=before, beam_out=beam) for y in (ended, lens))
        ended = rf.logical_or(was_ended, rf.compare(label, "equal", 0)) if end else was_ended
        lens = rf.where(was_ended if include_eos else ended, lens, lens + 1)
        labels.append(label)
        sources.append(src.like(src.raw_tensor, sparse_dim=beam))
    if options.get("length_normalization", True):
        scores = rf.normalized_scores(scores, lens=lens, num_frames=3, include_eos=include_eos, exponent=exponent)
    return as_one([*traced(labels, sources, beam), lens, scores])


def run_search(backend: str, a: Any = (A,), **options: Any) -> tuple[Any, Any, Any]:
    """
    :param a: for each sequence the label scores
    :return: labels, their numbers, scores, of the hypotheses of the first sequence; of all, if there are several
    """
    results = [
        run_rf(backend, lambda x, one_dim=one_dim: search(x, one_dim=one_dim, **options), [SCORES], [feed_of(a)])
        for one_dim in (True, False)
    ]
    first, second = (result.values[0] for result in results)
    assert (first == second).all()  # also -inf
    y = first[0] if len(a) == 1 else first
    return y[..., :3].astype("int32").tolist(), y[..., 3].astype("int32").tolist(), y[..., 4]


def feed_of(a: Any) -> Feed:
    return {"label_scores": numpy.array(a, "float32")}


def assert_scores(actual: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(actual, expected, rtol=1e-5, atol=2e-5)


@each_backend
def test_fixed_length(backend: str) -> None:
    """2, 3 and 1, 3 are the best two; the last one of the first step, 0, is no part of any. Equal sums: 3 before 1"""
    a = [[1, 2, 3, 0], [0, 4.5, 3, 6], [5, 8, 7.5, 0]]
    labels, lens, scores = run_search(backend, [a], length_normalization=False)
    assert (labels, lens) == ([[2, 3, 1], [2, 3, 2], [1, 3, 1]], [3, 3, 3])
    assert_scores(scores, [17, 16.5, 16])
    assert_scores(run_search(backend, [a])[2], [4.25, 4.125, 4])


@each_backend
def test_with_end(backend: str) -> None:
    """1, 2, end: (-2 - 0.5 - 0.4) / 4; just the end: -1, as if it were of three labels, / 4; cut off: -3.1 / 4"""
    labels, lens, scores = run_search(backend, end=True)
    assert (labels, lens) == ([[1, 2, 0], [0, 0, 0], [1, 2, 1]], [2, 0, 3])
    assert_scores(scores, [-0.725, -0.75, -0.775])
    labels, lens, scores = run_search(backend, end=True, include_eos=True)
    assert (labels, lens) == ([[1, 2, 0], [0, 0, 0], [1, 2, 1]], [3, 1, 3])
    assert_scores(scores, [-0.96667, -1, -1.03333])


@each_backend
def test_exponent(backend: str) -> None:
    """Of old it counts only in the search: -sqrt(3) / 4; else the scores are -1, -2.9 / sqrt(3) and -3.1 / sqrt(3)."""
    options = {"end": True, "length_normalization_exponent": 0.5}
    labels, _, scores = run_search(backend, **options)
    assert labels == [[0, 0, 0], [1, 2, 0], [1, 2, 1]]
    assert_scores(scores, [-0.43301, -0.725, -0.775])
    assert_scores(run_search(backend, exponent=0.5, **options)[2], [-1, -2.9 / 3**0.5, -3.1 / 3**0.5])


@each_backend
def test_without_length_normalization(backend: str) -> None:
    labels, lens, scores = run_search(backend, end=True, length_normalization=False)
    assert (labels, lens) == ([[0, 0, 0], [1, 0, 0], [1, 2, 0]], [0, 1, 2])
    assert_scores(scores, [-1, -2.6, -2.9])


@each_backend
def test_more_hypotheses_than_labels(backend: str) -> None:
    """Six of four labels in the first step: two hypotheses are missing, until the second one."""
    labels, lens, scores = run_search(backend, beam_size=6, end=True)
    assert lens == [2, 0, 3, 3, 3, 1]
    assert labels[:4] == [[1, 2, 0], [0, 0, 0], [1, 2, 1], [1, 2, 2]]
    assert_scores(scores, [-0.725, -0.75, -0.775, -0.8, -0.875, -0.975])


@each_backend
@pytest.mark.parametrize("one_dim", [True, False])
def test_hypotheses_that_are_missing(backend: str, one_dim: bool) -> None:
    """Four labels for six hypotheses in the first step."""

    def first_step(x: Tensor) -> Tensor:
        before, is_first = next_beam(0, MORE, one_dim=one_dim)
        options = {"beam_in": before, "beam_out": MORE, "label_dims": [LABEL], "is_first": is_first}
        (label,), src, scores = rf.beam_step([frame(x, 0)], initial_scores(x, before), **options)
        return as_one([label, src, scores])

    y = run_rf(backend, first_step, [SCORES], [feed_of([A])]).values[0][0]
    assert y.transpose().tolist() == [[0, 1, 2, 3, 0, 0], [0] * 6, [-1, -2, -3, -9, -math.inf, -math.inf]]


@each_backend
def test_scales(backend: str) -> None:
    options = {"prob_scale": 0.5, "base_beam_score_scale": 2.0}
    assert_scores(run_search(backend, end=True, length_normalization=False, **options)[2], [-2, -4.6, -4.7])


@each_backend
def test_lengths_that_are_known(backend: str) -> None:
    """Of the sequence of length 2 the third label counts, if its end is the one behind."""
    options = {"known_lens": [3, 2], "length_normalization": False}
    assert_scores(run_search(backend, [A, A], **options)[2][1], [-1.9, -2, -2.1])
    labels, _, scores = run_search(backend, [A, A], include_eos=True, **options)
    assert_scores(scores[1], [-1.5, -1.6, -2.5])
    assert labels[1] == [[0, 2, 0], [0, 0, 0], [1, 2, 0]]


@each_backend
def test_keep_beams(backend: str) -> None:
    options = {"keep_beams": True, "beam_size": 4, "length_normalization": False}
    labels, _, scores = run_search(backend, **options)
    assert labels == [[0, 2, 0], [1, 2, 0], [2, 2, 0], [3, 2, 0]]
    assert_scores(scores, [-1.9, -2.9, -3.9, -9.9])


@each_backend
@pytest.mark.parametrize("exclusive", [False, True])
def test_target_in_the_beam(backend: str, exclusive: bool) -> None:
    options = {"gold_is_exclusive": exclusive, "length_normalization": False}
    labels, _, scores = run_search(backend, target=[3, 1, 1], **options)
    assert labels == [[0, 2, 0], [0, 0, 0], [3, 1, 1]]
    assert_scores(scores, [-1.9, -2, -15.6])
    labels, _, scores = run_search(backend, target=[0, 2, 0], **options)
    assert labels == ([[0, 0, 0], [0, 2, 1], [0, 2, 0]] if exclusive else [[0, 2, 0]] * 3)
    assert_scores(scores, [-2, -2.1, -1.9] if exclusive else [-1.9] * 3)


@each_backend
def test_target_behind_its_end(backend: str) -> None:
    """Whatever stands there: it is the filler, and costs nothing. Labels that do not exist are cut."""
    options = {"known_lens": [1], "include_eos": True, "length_normalization": False}
    labels, _, scores = run_search(backend, target=[7, 2, -5], **options)
    assert labels[2] == [3, 0, 0]
    assert_scores(scores[2], -9)


def search_in_a_loop(x: Tensor) -> Tensor:
    """as :func:`search` with an end, in the loop of the backend, without normalisation"""
    beam = SpatialDim("beam", 6)
    x = x.copy_transpose([STEPS, batch_dim, LABEL])
    scores = initial_scores(x, beam)
    state = [scores, rf.compare(scores, "<", -1.0)]
    backend = backend_of_raw(x.raw_tensor)

    def body(i: Any, frames: list[Any], raw_state: list[Any]) -> tuple[list[Any], list[Any]]:
        scores, ended = (old.like(raw) for old, raw in zip(state, raw_state, strict=True))
        x = Tensor("x", [batch_dim, LABEL], "float32", raw_tensor=frames[0])
        step = Tensor("i", (), "int32", raw_tensor=i)
        options = {"beam_in": beam, "beam_out": beam, "label_dims": [LABEL], "length_normalization": False}
        first = rf.compare(step, "equal", 0)
        (label,), src, scores = rf.beam_step([x], scores, ended=ended, step=step, is_first=first, **options)
        ended = rf.gather_beam(ended, src, beam_in=beam, beam_out=beam)
        ended = rf.logical_or(ended, rf.compare(label, "equal", 0))
        return [scores.raw_tensor, ended.raw_tensor], [label.raw_tensor, src.raw_tensor]

    _, (raw_scores, _), raws = backend.frame_loop(
        body, frames=[x.raw_tensor], state=[y.raw_tensor for y in state], num_frames=3
    )
    dims = [STEPS, batch_dim, beam]
    labels, sources = (
        Tensor("y", dims, "int32", sparse_dim=d, raw_tensor=raw) for d, raw in zip((LABEL, beam), raws, strict=True)
    )
    path = rf.trace_beams(sources, axis=STEPS, beam=beam)
    final = rf.gather_beam(labels, path, beam_in=beam, beam_out=beam)
    return as_one([*rf.unstack(final, axis=STEPS), scores.like(raw_scores)])


@each_backend
def test_in_the_loop_of_the_backend(backend: str) -> None:
    """Of two sequences; their hypotheses are those of the steps one by one."""
    a = [A, A[::-1]]
    y = run_rf(backend, search_in_a_loop, [SCORES], [feed_of(a)]).values[0]
    labels, _, scores = run_search(backend, a, beam_size=6, end=True, length_normalization=False)
    assert y[..., :3].tolist() == labels
    assert y[..., 3].tolist() == scores.tolist()
    assert labels[0][:3] == [[0, 0, 0], [1, 0, 0], [1, 2, 0]]


def two_choices(x: Tensor, *, one_dim: bool) -> Tensor:
    """Choice 0 depends on what choice 1 was in the last step, choice 1 on choice 0; each has its own beam."""
    beams = [SpatialDim("beam0", 3), SpatialDim("beam1", 3)]
    bigram = constant([LABEL, FeatureDim("next", 4)], BIGRAM, "float32")
    first = next_beam(0, beams[1], one_dim=one_dim)[0]
    scores = initial_scores(x, first)
    label = rf.cast(scores, "int32").like(rf.cast(scores, "int32").raw_tensor, sparse_dim=LABEL)
    labels: list[list[Tensor]] = [[], []]
    sources = []
    for step in range(3):
        before, is_first = next_beam(step, beams[1], one_dim=one_dim)
        src = None
        for choice, beam in enumerate(beams):
            p = rf.replace_dim(rf.gather(bigram, indices=label), in_dim=bigram.dims[1], out_dim=LABEL) + frame(x, step)
            options = {"beam_in": before, "beam_out": beam, "label_dims": [LABEL], "length_normalization": False}
            (label,), chosen, scores = rf.beam_step([p], scores, is_first=is_first, **options)
            src = chosen if src is None else rf.gather_beam(src, chosen, beam_in=before, beam_out=beam)
            labels[choice].append(label)
            before, is_first = beam, False
        labels[0][-1] = rf.gather_beam(labels[0][-1], chosen, beam_in=beams[0], beam_out=beams[1])
        assert src is not None
        sources.append(src.like(src.raw_tensor, sparse_dim=beams[1]))
    return as_one([*traced(labels[1], sources, beams[1]), *traced(labels[0], sources, beams[1]), scores])


@each_backend
@pytest.mark.parametrize("one_dim", [True, False])
def test_two_choices_in_a_step(backend: str, one_dim: bool) -> None:
    y = run_rf(backend, lambda x: two_choices(x, one_dim=one_dim), [SCORES], [feed_of([A])]).values[0][0]
    assert y[:, :3].tolist() == [[0, 2, 0], [0, 2, 2], [1, 2, 0]]
    assert y[:, 3:6].tolist() == [[1, 2, 1], [1, 2, 1], [0, 2, 1]]
    assert_scores(y[:, 6], [-4.6] * 3)


def two_sources(x: Tensor, *, sizes: Sequence[int] | None) -> Tensor:
    """:param x: [batch, steps, 3 labels]; the second source has half the first two columns"""
    beam, steps, labels = SpatialDim("beam", 3), x.dims[1], x.dims[2]
    other, two = rf.slice(x * 0.5, axis=labels, end=2, out_dim=FeatureDim("two", 2))
    scores = initial_scores(x, beam)
    found: list[list[Tensor]] = [[], []]
    sources = []
    for step in range(2):
        chosen, src, scores = rf.beam_step(
            [rf.gather(y, indices=step, axis=steps) for y in (x, other)],
            scores,
            beam_in=beam,
            beam_out=beam,
            label_dims=[labels, two],
            is_first=step == 0,
            source_beam_sizes=sizes,
        )
        assert [y.sparse_dim for y in chosen] == [labels, two]
        for i, label in enumerate(chosen):
            found[i].append(label)
        sources.append(src)
    return as_one([*traced(found[0], sources, beam), *traced(found[1], sources, beam), scores])


@each_backend
@pytest.mark.parametrize("sizes", [[3, 2], None])
def test_two_sources(backend: str, sizes: list[int] | None) -> None:
    x = Tensor("label_scores", [batch_dim, SpatialDim("steps", 2), FeatureDim("three", 3)], "float32")
    feed = feed_of([[[-1, -2, -4], [-3, -1, -1.5]]])
    y = run_rf(backend, lambda x: two_sources(x, sizes=sizes), [x], [feed]).values[0][0]
    assert y[:, :2].tolist() == [[0, 1], [0, 2], [0, 1]]
    assert y[:, 2:4].tolist() == [[0, 1], [0, 1], [1, 1]]
    assert_scores(y[:, 4], [-3, -3.5, -3.5])


@each_backend
def test_labels_outside_of_the_size_of_a_source_are_no_candidates(backend: str) -> None:
    """The best two labels of each step, and no others: 0 and 1, then 2 and 0, then 0 and 1."""
    labels, _, scores = run_search(backend, beam_size=8, source_beam_sizes=[2], length_normalization=False)
    assert sorted(labels) == sorted(map(list, itertools.product([0, 1], [0, 2], [0, 1])))
    assert_scores(scores, [sum(A[t, v] for t, v in enumerate(hypothesis)) for hypothesis in labels])


@each_backend
@pytest.mark.parametrize("end", [False, True])
def test_nothing_is_lost_if_all_hypotheses_fit_into_the_beam(backend: str, end: bool) -> None:
    """64 hypotheses without end, 3 + 9 + 27 + 1 with it: all of them, in the order of their scores."""
    a = numpy.random.RandomState(1).normal(size=(3, 4)).astype("float32")
    expected: dict[tuple[int, ...], float] = {}
    for labels in itertools.product(range(4), repeat=3):
        number = min([*(t + 1 for t, v in enumerate(labels) if v == 0 and end), 3])
        expected[labels[:number] + (0,) * (3 - number)] = sum(float(a[t, labels[t]]) for t in range(number))
    found, _, scores = run_search(backend, [a], beam_size=64, end=end, length_normalization=False)
    there = [i for i, score in enumerate(scores) if score > -1e20]
    assert there == list(range(len(expected)))
    assert [tuple(found[i]) for i in there] == sorted(expected, key=lambda labels: -expected[labels])
    assert_scores(scores[there], sorted(expected.values(), reverse=True))


@each_backend
def test_batch_is_its_sequences_one_by_one(backend: str) -> None:
    """All of it: the search, the path, and the final scores where these have an exponent."""
    rnd = numpy.random.RandomState(3)
    a = rnd.normal(size=(4, 3, 4)).astype("float32")
    options = {"end": True, "length_normalization_exponent": 0.7, "exponent": 0.7}
    together = run_search(backend, a, **options)
    alone = [run_search(backend, [x], **options) for x in a]
    assert together[0] == [labels for labels, _, _ in alone]
    assert together[1] == [lens for _, lens, _ in alone]
    assert_scores(together[2], [scores for _, _, scores in alone])


@each_backend
def test_equal_scores(backend: str) -> None:
    """Of all hypotheses alike the first ones, also those that stand at the border."""
    labels, _, _ = run_search(backend, numpy.zeros([1, 3, 4]), beam_size=5, length_normalization=False)
    assert labels == [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 1, 0]]


@each_backend
def test_combine_and_noise(backend: str) -> None:
    """The user's sum twice that of the scores, without scales; noise that lifts label 3 by 100."""

    def twice(x: Tensor, scores: Tensor) -> Tensor:
        assert LABEL in x.dims and set(scores.dims) < set(x.dims)
        return (x + scores) * 2.0

    options: dict[str, Any] = {"combine": twice, "prob_scale": 7.0, "length_normalization": False}
    labels, _, scores = run_search(backend, target=[3, 1, 1], **options)
    assert (labels[0], labels[2]) == ([0, 2, 0], [3, 1, 1])
    assert_scores([scores[0], scores[2]], [8 * -1 + 4 * -0.5 + 2 * -0.4, 8 * -9 + 4 * -6 + 2 * -0.6])

    def noise(dims: Sequence[Dim]) -> Tensor:
        assert (len(dims), LABEL in dims) == (3, True)
        return constant([LABEL], [0, 0, 0, 100], "float32")

    labels, _, scores = run_search(backend, noise=noise, length_normalization=False)
    assert labels[0] == [3, 3, 3]
    assert_scores(scores[0], 300 - 12)


HYP = Tensor("hyp", [batch_dim, BEAM], "float32")
PER_HYP = Tensor("per_hyp", [batch_dim, BEAM, FEATURE], "float32", feature_dim=FEATURE)
PER_FRAME = Tensor("per_frame", [batch_dim, TIME, BEAM], "float32", time_dim_axis=1)
LONG = Tensor("long", [batch_dim, TIME, BEAM, OUT], "float32", time_dim_axis=1)
OTHER = Tensor("other", [batch_dim, BEAM, OUT], "float32", feature_dim=OUT)
ENDED = Tensor("ended", [batch_dim, BEAM], "bool")
SRC = Tensor("src", [batch_dim, MORE], "int32", sparse_dim=BEAM)
ALL_SRC = Tensor("all_src", [batch_dim, STEP_DIM, BEAM], "int32", sparse_dim=BEAM)
OPTIONS: dict[str, Any] = {
    "prob_scale": 0.8,
    "base_beam_score_scale": 1.5,
    "length_normalization_exponent": 0.5,
    "step": 2,
}


def naive_step(x: Any, s: Any, ended: Any = (False,) * 3, *, num: int = 6, keep: bool = False) -> list[Any]:
    """
    :return: scores, labels, hypotheses of one sequence
    """
    candidates = []
    for k in range(len(s)):
        row = [0.0] + [-1e30] * (x.shape[-1] - 1) if ended[k] else x[k]
        base = s[k] * (3 / 2) ** 0.5 if ended[k] else s[k]
        candidates += [(0.8 * score + 1.5 * base, v, k) for v, score in enumerate(row)]
    candidates.sort(key=lambda c: -c[0])
    if keep:
        candidates = [c for k in range(len(s)) for c in [c for c in candidates if c[2] == k][: num // len(s)]]
    return [numpy.array([c[i] for c in candidates[:num]]) for i in range(3)]


def step_results(x: Tensor, scores: Tensor, ended: Tensor | None, **options: Any) -> list[Tensor]:
    dim = x.feature_dim
    assert dim is not None
    (label,), src, scores = rf.beam_step(
        [x], scores, beam_in=BEAM, beam_out=MORE, label_dims=[dim], ended=ended, **OPTIONS, **options
    )
    return [scores, label, src]


def all_sums(x: Any, y: Any, s: Any) -> Any:
    sums = x[:, :, None] + y[:, None, :] + s[:, None, None]
    return -numpy.sort(-sums.reshape(-1))[:6]


def naive_path(src: Any) -> Any:
    path = [numpy.arange(src.shape[1])]
    for row in src[:0:-1]:
        path.insert(0, row[path[0]])
    return numpy.array(path)


TestContract = contract_tests(
    [
        *[
            Case(
                "beam_step_" + name,
                [PER_HYP, HYP, ENDED],
                lambda x, s, e, i=i, keep=keep: step_results(x, s, e, keep_beams=keep)[i],
                lambda x, s, e, i=i, keep=keep: naive_step(x, s, e, keep=keep)[i],
                gradient=name == "scores",
            )
            for i, name, keep in [
                (0, "scores", False),
                (1, "labels", False),
                (2, "sources", False),
                (0, "keep_scores", True),
                (1, "keep_labels", True),
                (2, "keep_sources", True),
            ]
        ],
        Case(
            "beam_step_same_for_all_hypotheses_in_each_frame",
            [X, PER_FRAME],
            lambda x, s: step_results(x, s, None)[0],
            lambda x, s: numpy.array([naive_step(numpy.stack([a] * 3), b)[0] for a, b in zip(x, s, strict=True)]),
            min_len=1,
        ),
        Case(
            "beam_step_two_sources",
            [PER_HYP, OTHER, HYP],
            lambda x, y, s: rf.beam_step([x, y], s, beam_in=BEAM, beam_out=MORE, label_dims=[FEATURE, OUT])[2],
            all_sums,
            gradient=True,
        ),
        Case(
            "gather_beam",
            [LONG, SRC],
            lambda x, src: rf.gather_beam(x, src, beam_in=BEAM, beam_out=MORE),
            lambda x, src: x[:, src],
            gradient=True,
        ),
        Case(
            "decide",
            [LONG, HYP],
            lambda x, s: rf.decide(x, s, BEAM),
            lambda x, s: x[:, numpy.argmax(s)],
        ),
        Case("trace_beams", [ALL_SRC], lambda src: rf.trace_beams(src, axis=STEP_DIM, beam=BEAM), naive_path),
        Case(
            "normalized_scores",
            [HYP],
            lambda s: rf.normalized_scores(s, lens=rf.cast(s, "int32"), num_frames=4, include_eos=False, exponent=0.5),
            lambda s: s / 2,
            gradient=True,
        ),
    ]
)


@each_backend
@pytest.mark.parametrize("best", [0, 1])
def test_lengths_of_the_decided_hypothesis(backend: str, best: int) -> None:
    """1, 2, 3 and 1 or 1, 2 and 4, 5: the result is as long as the longest, in a dim that is given or a new one."""

    def longest(scores: Tensor, out_dims: dict[Dim, Dim]) -> Tensor:
        words = Dim(None, name="words", size_dims=(batch_dim, beam))
        words.dyn_size_ext = constant([batch_dim, beam], [[3, 2], [1, 2]])
        x = constant([batch_dim, words, beam], [[[1, 1], [2, 2], [3, 9]], [[1, 4], [9, 5], [9, 9]]], "float32")
        y = rf.decide(x, scores, beam, out_dims={words: dim} if (dim := out_dims.get(beam)) else None)
        assert len(y.dims) == 2 and y.dims[1] == (dim or y.dims[1])
        return rf.stack([rf.where(y.dims[1].get_mask(), y, 0.0), y * 0.0], out_dim=SpatialDim("pair", 2))[0]

    beam = SpatialDim("beam", 2)
    scores = Tensor("scores", [batch_dim, beam], "float32")
    for out_dims in ({}, {beam: SpatialDim("decided")}):
        feed = {"scores": [[-2.0, -2.0 + best]] * 2}
        y = run_rf(backend, lambda scores, out_dims=out_dims: longest(scores, out_dims), [scores], [feed])
        expected = [[[1, 2, 3], [1, 0, 0]], [[1, 2], [4, 5]]][best]
        assert y.values[0][0].tolist() == expected


@each_backend
def test_no_steps(backend: str) -> None:
    """An empty path; and a hypothesis without labels has its own score."""
    steps = Dim(None, name="steps", size_dims=())
    src = Tensor("src", [steps, batch_dim, BEAM], "int32", sparse_dim=BEAM)
    feed = {"src": numpy.zeros((0, 2, 3), "int32")}
    y = run_rf(backend, lambda src: rf.trace_beams(src, axis=steps, beam=BEAM), [src], [feed])
    assert y.values[0].shape == (0, 2, 3)
    feed = {"hyp": [[1.0, 2.0, 3.0]]}
    lens = constant([batch_dim, BEAM], [[0, 0, 0]])
    for exponent in (None, 2.0):
        options = {"lens": lens, "num_frames": 0, "include_eos": True, "exponent": exponent}
        y = run_rf(backend, lambda scores, o=options: rf.normalized_scores(scores, **o), [HYP], [feed])
        assert y.values[0].tolist() == feed["hyp"]


@each_backend
def test_what_is_impossible_stays_so(backend: str) -> None:
    """-inf times 0 is no number, which would be the highest of all. Hypotheses 1 and 2 are missing, and label 1."""
    x = {"per_hyp": [[[0, -math.inf, 1, 2]] * 3], "hyp": [[1, -math.inf, -math.inf]]}

    def step(x: Tensor, scores: Tensor, prob_scale: float, base: float) -> Tensor:
        options = {"prob_scale": prob_scale, "base_beam_score_scale": base}
        return rf.beam_step([x], scores, beam_in=BEAM, beam_out=BEAM, label_dims=[FEATURE], **options)[2]

    for prob_scale, base, expected in [(1.0, 0.0, [2, 1, 0]), (0.0, 1.0, [1, 1, 1]), (1.0, -1.0, [1, 0, -1])]:
        y = run_rf(backend, lambda x, s, p=prob_scale, b=base: step(x, s, p, b), [PER_HYP, HYP], [x])
        assert y.values[0].tolist() == [expected]


def test_errors() -> None:
    options: dict[str, Any] = {"beam_in": BEAM, "beam_out": MORE, "label_dims": [FEATURE]}
    with pytest.raises(DimError, match="beam_step: hyp has no dim .*more"):
        rf.beam_step([PER_HYP], HYP, **{**options, "beam_in": MORE})
    with pytest.raises(DimError, match="beam_step: 1 sources, but 2 given for them"):
        rf.beam_step([PER_HYP], HYP, **{**options, "label_dims": [FEATURE, OUT]})
    with pytest.raises(DimError, match=r"beam_step: source_beam_sizes \[9\]: 9 does not fit"):
        rf.beam_step([PER_HYP], HYP, **options, source_beam_sizes=[9])
    with pytest.raises(DimError, match="beam_step: keep_beams needs .* to be a multiple of"):
        rf.beam_step([PER_HYP], HYP, **{**options, "beam_out": STEP_DIM}, keep_beams=True)
    with pytest.raises(DimError, match="combine and gold together need one source"):
        two = {**options, "label_dims": [FEATURE, OUT]}
        gold = [constant([batch_dim], [0]), constant([batch_dim], [0])], None
        rf.beam_step([PER_HYP, OTHER], HYP, combine=lambda x, s: x + s, gold=gold, **two)
    with pytest.raises(DimError, match="has hypotheses along .*beam.*, but not .* as those to be picked"):
        rf.gather_beam(Tensor("x", [BEAM], "float32"), SRC, beam_in=BEAM, beam_out=MORE)
    with pytest.raises(DimError, match="decide: src has no dim .*beam"):
        rf.decide(SRC, HYP, BEAM)


def test_what_has_no_beam_stays_as_it_is() -> None:
    assert rf.gather_beam(X, SRC, beam_in=BEAM, beam_out=MORE) is X
