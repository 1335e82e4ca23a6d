"""Sums and best paths over automata: against all paths one by one, and known values."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.util.fsa import FastBaumWelchBatchFsa, FastBwFsaShared, fast_bw_fsa_staircase, get_ctc_fsa_fast_bw
from tests.common import BACKENDS, run_rf, visible

from .contract import FEATURE, LABEL_TIME, OTHER_LABELS, TIME, Case, X, contract_tests

T, U = SpatialDim("t", size_dims=(batch_dim,)), SpatialDim("u", size_dims=(batch_dim,))
CLASSES = FeatureDim("classes", 3)
WITH_BLANK = CLASSES + 1
SCORES = Tensor("scores", [batch_dim, T, WITH_BLANK], "float32", feature_dim=WITH_BLANK, time_dim_axis=1)
LABELS = Tensor("labels", [batch_dim, U], "int32", sparse_dim=CLASSES, time_dim_axis=1)


def paths_of(fsa: FastBaumWelchBatchFsa, scores: Any) -> list[tuple[float, list[int]]]:
    """score and emissions of each path through the frames [time, emissions]; of one automaton"""
    start, end = fsa.start_end_states[:, 0].tolist()
    paths: list[tuple[float, list[int], int]] = [(0.0, [], start)]
    for frame in scores:
        paths = [
            (score + frame[emission] - weight, [*emissions, emission], to)
            for score, emissions, at in paths
            for (state, to, emission, _), weight in zip(fsa.edges.T.tolist(), fsa.weights.tolist(), strict=True)
            if state == at
        ]
    return [(score, emissions) for score, emissions, at in paths if at == end]


def posteriors_reference(fsa: FastBaumWelchBatchFsa, scores: Any) -> Any:
    res = numpy.zeros(scores.shape)
    paths = paths_of(fsa, scores)
    total = numpy.logaddexp.reduce([score for score, _ in paths]) if paths else 0.0
    for score, emissions in paths:
        for t, emission in enumerate(emissions):
            res[t, emission] += numpy.exp(score - total)
    return res


def ctc_fsa_of(labels: Any, label_loop: bool = True) -> FastBaumWelchBatchFsa:
    lens = numpy.array([len(labels)])
    return get_ctc_fsa_fast_bw(targets=labels[None], seq_lens=lens, blank_idx=3, label_loop=label_loop)


def full_sum(x: Tensor, fsa: rf.Fsa) -> Tensor:
    return rf.fsa_full_sum(x, axis=FEATURE, spatial_dim=TIME, fsa=fsa)[0]


def contract_fsa(labels: Tensor, label_loop: bool = True) -> rf.Fsa:
    return rf.ctc_fsa(labels, spatial_dim=LABEL_TIME, blank_index=3, label_loop=label_loop)


def contract_staircase() -> rf.Fsa:
    lens = TIME.dyn_size_ext or Tensor("lens", [batch_dim], "int32")
    return rf.staircase_fsa(lens, num_emissions=4)


def best_labels(x: Tensor, labels: Tensor) -> Tensor:
    """times the sum of x, as a result without gradient is none of those that the contract knows"""
    y, _ = rf.fsa_best_path(x, axis=FEATURE, spatial_dim=TIME, fsa=contract_fsa(labels))
    return rf.cast(y, "float32") * rf.reduce_sum(x, axis=FEATURE)


def best_labels_reference(x: Any, labels: Any) -> Any:
    paths = paths_of(ctc_fsa_of(labels), x)
    return numpy.array(max(paths)[1] if paths and len(x) else numpy.zeros(len(x))) * x.sum(axis=1)


TestContract = contract_tests(
    [
        Case(
            "fsa_full_sum",
            [X, OTHER_LABELS],
            lambda x, labels: x * full_sum(x, contract_fsa(labels)),
            lambda x, labels: x * posteriors_reference(ctc_fsa_of(labels), x),
        ),
        Case(
            "fsa_full_sum_without_loop",
            [X, OTHER_LABELS],
            lambda x, labels: x * full_sum(x, contract_fsa(labels, False)),
            lambda x, labels: x * posteriors_reference(ctc_fsa_of(labels, False), x),
        ),
        Case(
            "fsa_full_sum_staircase",
            [X],
            lambda x: x * full_sum(x, contract_staircase()),
            lambda x: x * posteriors_reference(fast_bw_fsa_staircase(numpy.array([len(x)])), x),
        ),
        Case("fsa_best_path", [X, OTHER_LABELS], best_labels, best_labels_reference),
    ]
)


def known_feed(num_frames: int, lens: list[int]) -> dict[Any, Any]:
    """three sequences of random scores, labels 0 1, 2 2, 1"""
    logits = numpy.random.RandomState(0).normal(size=(4, 3, 4)).astype("float32")[:num_frames]
    return {T: lens, U: [2, 2, 1], "scores": logits.transpose(1, 0, 2), "labels": [[0, 1], [2, 2], [1, 0]]}


def baum_welch(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    fsa = rf.ctc_fsa(labels, spatial_dim=U, blank_index=3)
    return rf.fsa_full_sum(rf.log_softmax(x, axis=WITH_BLANK), axis=WITH_BLANK, spatial_dim=T, fsa=fsa)


def viterbi(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    fsa = rf.ctc_fsa(labels, spatial_dim=U, blank_index=3)
    scores = rf.log_softmax(x, axis=WITH_BLANK)
    return rf.fsa_best_path(scores, axis=WITH_BLANK, spatial_dim=T, fsa=fsa, mask_label=9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_full_sum_of_known_scores(backend: str) -> None:
    """Each real frame sums to one. In two frames, 0 1 does not fit in one frame, nor 2 2 without a blank between."""
    feed = known_feed(4, [4, 3, 2])
    posteriors = run_rf(backend, lambda x, y: baum_welch(x, y)[0], [SCORES, LABELS], [feed])
    assert posteriors.template.dims == (T, batch_dim, WITH_BLANK)
    values = visible(posteriors.template, posteriors.values[0], feed)
    numpy.testing.assert_allclose(values[0, 0], numpy.exp([-1.206464, -numpy.inf, -numpy.inf, -0.355609]), rtol=1e-5)
    numpy.testing.assert_allclose(values.sum(axis=2).T, [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], rtol=1e-5)
    score = run_rf(backend, lambda x, y: baum_welch(x, y)[1], [SCORES, LABELS], [feed, known_feed(2, [1, 2, 1])])
    numpy.testing.assert_allclose(score.values[0], [-1.961358, -6.486931, -1.166899], rtol=1e-5)
    numpy.testing.assert_allclose(score.values[1], [-numpy.inf, -numpy.inf, -1.6494], rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_best_path_of_known_scores(backend: str) -> None:
    """Padding, and what has no path, gets the label 9 and the score -inf."""
    feeds = [known_feed(4, [4, 3, 2]), known_feed(2, [1, 2, 1])]
    labels = run_rf(backend, lambda x, y: viterbi(x, y)[0], [SCORES, LABELS], feeds)
    assert (labels.template.dims, labels.template.dtype) == ((T, batch_dim), "int32")
    assert labels.values[0].T.tolist() == [[3, 0, 0, 1], [2, 3, 2, 9], [3, 1, 9, 9]]
    assert labels.values[1].T.tolist() == [[9, 9], [9, 9], [1, 9]]
    score = run_rf(backend, lambda x, y: viterbi(x, y)[1], [SCORES, LABELS], feeds)
    numpy.testing.assert_allclose(score.values[0], [-2.886487, -6.486931, -1.531102], rtol=1e-5)
    numpy.testing.assert_allclose(score.values[1], [-numpy.inf, -numpy.inf, -1.6494], rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_of_edges(backend: str) -> None:
    """
    State 0 emits 0 and 1, until a 2, which costs .5, leads to state 1, which emits all four. Of 16 labelings of two
    frames, 2 end with their first 2, and 4 begin with it.
    """
    shared = FastBwFsaShared()
    shared.add_inf_loop(0, 2)
    shared.add_edge(0, 1, 2, 0.5)
    shared.add_inf_loop(1, 4)

    def score(x: Tensor, labels: Tensor) -> Tensor:
        raws = shared.get_fast_bw_fsa(1)
        backend_of_x = x._raw_backend
        fsa = rf.Fsa(*[backend_of_x.convert(raw, raw.dtype.name) for raw in raws])
        return rf.fsa_full_sum(x, axis=WITH_BLANK, spatial_dim=T, fsa=fsa)[1]

    feed = {T: [2], U: [0], "scores": numpy.full((1, 2, 4), numpy.log(1 / 4)), "labels": numpy.zeros((1, 0))}
    y = run_rf(backend, score, [SCORES, LABELS], [feed])
    numpy.testing.assert_allclose(y.values[0], [numpy.log((2 + 4) / 16) - 0.5], rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctc_best_path(backend: str) -> None:
    """As above; batch-major, and blanks on padding and where there is no path."""

    def path(x: Tensor, labels: Tensor) -> Tensor:
        dims = {"input_spatial_dim": T, "targets_spatial_dim": U}
        return rf.ctc_best_path(logits=x, targets=labels, blank_index=-1, **dims)

    y = run_rf(backend, path, [SCORES, LABELS], [known_feed(4, [4, 3, 2]), known_feed(2, [1, 2, 1])])
    assert y.template.dims == (batch_dim, T)
    assert y.values[0].tolist() == [[3, 0, 0, 1], [2, 3, 2, 3], [3, 1, 3, 3]]
    assert y.values[1].tolist() == [[3, 3], [3, 3], [1, 3]]
