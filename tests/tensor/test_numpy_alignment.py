"""CTC and edit distance."""

from __future__ import annotations

import itertools

import numpy
import pytest

from returnn.tensor.numpy_alignment import ctc_greedy_decode, ctc_loss, edit_distance


def log_softmax(x: numpy.ndarray) -> numpy.ndarray:
    return x - numpy.log(numpy.exp(x).sum(axis=-1, keepdims=True))


def collapse(path: tuple[int, ...], blank: int, merge_repeated: bool) -> list[int]:
    """labels of an alignment, by definition"""
    merged = [x for i, x in enumerate(path) if not (merge_repeated and i and path[i - 1] == x)]
    return [x for x in merged if x != blank]


@pytest.mark.parametrize("merge_repeated", [True, False])
@pytest.mark.parametrize("target", [[], [0], [1, 0], [1, 1], [0, 1, 0], [1, 1, 1]])
def test_ctc_loss_is_the_sum_over_all_alignments(target: list[int], merge_repeated: bool) -> None:
    """All 3^4 paths of 4 frames over {0, 1, blank} that collapse to the target."""
    scores = log_softmax(numpy.random.RandomState(1).normal(size=(4, 3)))
    paths = [p for p in itertools.product(range(3), repeat=4) if collapse(p, 2, merge_repeated) == target]
    total = sum(numpy.exp(sum(scores[t, x] for t, x in enumerate(p))) for p in paths)
    expected = -numpy.log(total) if total else numpy.inf
    actual = ctc_loss(
        scores[:, None],
        numpy.array([4]),
        numpy.array([target], int).reshape(1, -1),
        numpy.array([len(target)]),
        ctc_merge_repeated=merge_repeated,
    )
    assert actual[0] == pytest.approx(expected, rel=1e-5)


def test_known_values() -> None:
    """targets [1, 2] in 4 frames, [0] in 3; logits 0 but for label 1 at frame 0 (2) and label 0 at frame 1 (1)"""
    logits = numpy.zeros((4, 2, 4))
    logits[0, 0, 1], logits[1, 1, 0] = 2, 1
    loss = ctc_loss(log_softmax(logits), numpy.array([4, 3]), numpy.array([[1, 2], [0, 3]]), numpy.array([2, 1]))
    numpy.testing.assert_allclose(loss, [2.131574, 1.961115], rtol=1e-6)


def test_no_alignment() -> None:
    """[1, 1] needs a blank between, so 3 frames: inf in 2. More labels than frames: 0 if they are to be ignored."""
    scores = log_softmax(numpy.zeros((2, 1, 3)))
    lens = numpy.array([2])
    assert ctc_loss(scores, lens, numpy.array([[1, 1]]), lens)[0] == numpy.inf
    three = numpy.array([3])
    labels = numpy.array([[0, 1, 0]])
    assert ctc_loss(scores, lens, labels, three)[0] == numpy.inf
    assert ctc_loss(scores, lens, labels, three, ignore_longer_outputs_than_inputs=True)[0] == 0
    collapsed = ctc_loss(scores, lens, numpy.array([[1, 1]]), lens, preprocess_collapse_repeated=True)
    assert collapsed[0] == ctc_loss(scores, lens, numpy.array([[1]]), numpy.array([1]))[0]


def test_greedy_decode() -> None:
    """best path 0 0 blank 0 1 -> 0 0 1; the second sequence ends after its blank"""
    best = numpy.array([[0, 0, 2, 0, 1], [2, 1, 1, 1, 1]])
    labels, lens = ctc_greedy_decode(numpy.eye(3)[best].transpose(1, 0, 2), numpy.array([5, 1]))
    assert labels.tolist() == [[0, 0, 1], [0, 0, 0]] and lens.tolist() == [3, 0]


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)],
)
def test_edit_distance(a: str, b: str, distance: int) -> None:
    """kitten -> sitten -> sittin -> sitting"""
    assert edit_distance([ord(x) for x in a], [ord(x) for x in b]) == distance
