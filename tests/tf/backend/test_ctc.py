"""CTC and edit distance against enumeration of all paths, and by hand."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy
import pytest

from returnn.tf.backend.ctc import ctc_beam_decode, ctc_greedy_decode, ctc_loss, edit_distance
from returnn.tf.compat import tf, v1


def run(fetches: Any) -> Any:
    with v1.Session() as session:
        return session.run(fetches)


@pytest.fixture(autouse=True)
def own_graph():
    with v1.Graph().as_default():
        yield


def collapse(path: tuple[int, ...], blank: int, *, merge: bool = True) -> tuple[int, ...]:
    """Equal neighbours merged, then blanks dropped."""
    frames = [label for label, _ in itertools.groupby(path)] if merge else path
    return tuple(label for label in frames if label != blank)


def label_probs(logits: numpy.ndarray, *, merge: bool = True) -> dict[tuple[int, ...], float]:
    """p(labels) for all label sequences, as sum over all C^T paths of logits [T, C]."""
    num_frames, num_classes = logits.shape
    probs = numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True)
    result: dict[tuple[int, ...], float] = defaultdict(float)
    for path in itertools.product(range(num_classes), repeat=num_frames):
        labels = collapse(path, blank=num_classes - 1, merge=merge)
        result[labels] += math.prod(probs[t, label] for t, label in enumerate(path))
    return result


def random_logits(num_frames: int, num_seqs: int, num_classes: int, *, seed: int = 0) -> numpy.ndarray:
    return numpy.random.RandomState(seed).normal(size=(num_frames, num_seqs, num_classes)).astype("float32")


LABELS, LABEL_LENS, LOGIT_LENS = [[0, 1, 7], [1, 1, 7], [0, 7, 7], [1, 0, 1]], [2, 2, 1, 3], [5, 4, 1, 3]
"""7 is out of range: what is stored behind the end of labels does not matter."""


@pytest.mark.parametrize("merge", [True, False])
def test_loss_is_the_sum_over_all_paths(merge: bool) -> None:
    """3^5, 3^4, 3^1 and 3^3 paths. NaN behind the end of the logits changes nothing."""
    logits = random_logits(5, 4, 3)
    for b, seq_len in enumerate(LOGIT_LENS):
        logits[seq_len:, b] = numpy.nan
    loss = ctc_loss(
        tf.constant(logits),
        tf.constant(LOGIT_LENS),
        tf.constant(LABELS),
        tf.constant(LABEL_LENS),
        ctc_merge_repeated=merge,
    )
    want = [
        -math.log(label_probs(logits[:seq_len, b], merge=merge)[tuple(LABELS[b][: LABEL_LENS[b]])])
        for b, seq_len in enumerate(LOGIT_LENS)
    ]
    numpy.testing.assert_allclose(run(loss), want, rtol=1e-5)


def test_gradient_is_the_derivative_of_the_sum_over_all_paths() -> None:
    """By differences of 1e-5 in float64; 0 on padded frames."""
    exact = random_logits(5, 4, 3).astype("float64")
    logits = tf.constant(exact.astype("float32"))
    loss = ctc_loss(logits, tf.constant(LOGIT_LENS), tf.constant(LABELS), tf.constant(LABEL_LENS))
    (grad,) = run(tf.gradients(tf.reduce_sum(loss), logits))
    want = numpy.zeros(exact.shape)
    for t, b, c in numpy.ndindex(*exact.shape):
        if t < LOGIT_LENS[b]:
            labels = tuple(LABELS[b][: LABEL_LENS[b]])
            sides = []
            for delta in (1e-5, -1e-5):
                moved = exact[: LOGIT_LENS[b], b].copy()
                moved[t, c] += delta
                sides.append(-math.log(label_probs(moved)[labels]))
            want[t, b, c] = (sides[0] - sides[1]) / 2e-5
    numpy.testing.assert_allclose(grad, want, atol=1e-5)


def test_known_loss() -> None:
    """4 classes, logits 0 except two: 2.131574 + 1.961115 for labels 1 2 in 4 frames and 0 in 3."""
    logits = numpy.zeros((4, 2, 4), "float32")
    logits[0, 0, 1], logits[1, 1, 0] = 2, 1
    loss = ctc_loss(tf.constant(logits), tf.constant([4, 3]), tf.constant([[1, 2], [0, 0]]), tf.constant([2, 1]))
    numpy.testing.assert_allclose(run(loss), [2.131574, 1.961115], atol=1e-5)


def test_repeated_label_needs_a_blank_between() -> None:
    """1 1 in two frames has no path: inf. Collapsed to 1: 3 of 16 paths, -log(3/16) = 1.673976."""
    args = tf.zeros([2, 1, 4]), tf.constant([2]), tf.constant([[1, 1]]), tf.constant([2])
    plain, collapsed = run((ctc_loss(*args), ctc_loss(*args, preprocess_collapse_repeated=True)))
    assert numpy.isposinf(plain).all()
    numpy.testing.assert_allclose(collapsed, [1.673976], atol=1e-5)


def test_more_labels_than_frames() -> None:
    """Fails the step, or with ignore_longer_outputs_than_inputs: loss 0 and gradient 0, of that sequence only."""
    logits = tf.constant(random_logits(2, 2, 4))
    args = logits, tf.constant([2, 2]), tf.constant([[0, 1, 2], [0, 1, 0]]), tf.constant([3, 2])
    loss = ctc_loss(*args, ignore_longer_outputs_than_inputs=True)
    (grad,) = tf.gradients(tf.reduce_sum(loss), logits)
    loss, grad = run((loss, grad))
    assert loss[0] == 0 and loss[1] > 0
    assert not grad[:, 0].any() and grad[:, 1].all()
    loss = ctc_loss(*args)
    loss, grad = run((loss, tf.gradients(loss, args[0])[0]))
    assert loss[0] == numpy.inf and numpy.isfinite(loss[1])
    assert not grad[:, 0].any() and grad[:, 1].all()


@pytest.mark.parametrize("labels", [[[1, 2], [3, 0]], [[], []]])
def test_without_labels_all_frames_are_blank(labels: list[list[int]]) -> None:
    """The first sequence has 2 frames of 4 equal classes: p = 1/16, gradient 1/4 - 1 for the blank, 1/4 for others."""
    logits = tf.constant(numpy.array([[[0.0] * 4] * 2] * 2 + [[[numpy.nan] * 4, [0.0] * 4]], "float32"))
    logit_lens = tf.constant([2, 3])
    label_lens = tf.constant([0, len(labels[1]) and 1])
    loss = ctc_loss(logits, logit_lens, tf.constant(labels, tf.int32), label_lens)
    value, grad = run((loss, tf.gradients(loss, logits)[0]))
    numpy.testing.assert_allclose(value[0], numpy.log(16), rtol=1e-6)
    numpy.testing.assert_allclose(grad[:2, 0], [[0.25, 0.25, 0.25, -0.75]] * 2, atol=1e-6)
    assert not grad[2, 0].any()


def logits_of_paths(paths: list[list[int]], num_classes: int) -> tf.Tensor:
    """Logits [T, B, C] whose best classes are paths [B, T]."""
    return tf.constant(numpy.eye(num_classes, dtype="float32")[numpy.array(paths).T])


def test_greedy_decode() -> None:
    """Blank 2: 0 0 2 0 1 -> 0 0 1; 1 1 | 0 0 0 -> 1; 2 2 2 2 2 -> nothing; no frames -> nothing."""
    paths = [[0, 0, 2, 0, 1], [1, 1, 0, 0, 0], [2, 2, 2, 2, 2], [0, 1, 0, 1, 0]]
    labels, lens = run(ctc_greedy_decode(logits_of_paths(paths, 3), tf.constant([5, 2, 5, 0])))
    assert labels.dtype == lens.dtype == numpy.int32
    assert labels.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert lens.tolist() == [3, 1, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_wide_beam_finds_the_most_probable_labels(seed: int) -> None:
    """With a beam wider than there are label sequences, the search is exact. Repeated labels stay."""
    logits, logit_lens = random_logits(5, 3, 3, seed=seed), [5, 3, 1]
    labels, lens = run(ctc_beam_decode(tf.constant(logits), tf.constant(logit_lens), beam_width=1000))
    assert labels.dtype == lens.dtype == numpy.int32
    for b, seq_len in enumerate(logit_lens):
        probs = label_probs(logits[:seq_len, b])
        assert tuple(labels[b, : lens[b]]) == max(probs, key=probs.__getitem__)


def test_beam_sums_alignments_where_greedy_does_not() -> None:
    """Two frames, p(blank) = .6, p(0) = .4: best path blank blank (.36), but p(0) = .16 + 2 * .24 = .64."""
    logits = tf.constant(numpy.log([[[0.4, 0.6]]] * 2).astype("float32"))
    (_, greedy_lens), (labels, lens) = run(
        (ctc_greedy_decode(logits, tf.constant([2])), ctc_beam_decode(logits, tf.constant([2]), beam_width=10))
    )
    assert greedy_lens.tolist() == [0]
    assert labels.tolist() == [[0]] and lens.tolist() == [1]


def test_edit_distance() -> None:
    """1 2 3 / 1 3: one deletion; 1 2 / 2 2 2: 2; nothing / 5 6: 2; 4 / nothing: 1; nothing / nothing: 0."""
    a, a_lens = [[1, 2, 3], [1, 2, 9], [9, 9, 9], [4, 9, 9], [9, 9, 9]], [3, 2, 0, 1, 0]
    b, b_lens = [[1, 3, 8], [2, 2, 2], [5, 6, 8], [8, 8, 8], [8, 8, 8]], [2, 3, 2, 0, 0]
    distance = run(edit_distance(tf.constant(a), tf.constant(a_lens), tf.constant(b, tf.int64), tf.constant(b_lens)))
    assert distance.dtype == numpy.int32
    assert distance.tolist() == [1, 2, 2, 1, 0]


def levenshtein(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for i, label in enumerate(a):
        previous, row = row, [i + 1]
        for j, other in enumerate(b):
            row.append(min(previous[j] + (label != other), previous[j + 1] + 1, row[j] + 1))
    return row[-1]


def test_edit_distance_of_random_sequences() -> None:
    """100 pairs of up to 6 labels of 3 kinds, against the textbook recursion."""
    rng = numpy.random.RandomState(0)
    a, b = rng.randint(0, 3, (2, 100, 6))
    a_lens, b_lens = rng.randint(0, 7, (2, 100))
    distance = run(edit_distance(*(tf.constant(x) for x in (a, a_lens, b, b_lens))))
    want = [levenshtein(list(a[i, : a_lens[i]]), list(b[i, : b_lens[i]])) for i in range(100)]
    assert distance.tolist() == want
