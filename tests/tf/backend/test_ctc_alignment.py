"""CTC in plain ops against TensorFlow's own, enumeration of all paths, and by hand. Enumeration of the sum and of its
gradient is in tests/frontend/test_contract.py."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from returnn.tensor.numpy_alignment import _ctc_score
from returnn.tf.backend.ctc import ctc_loss
from returnn.tf.backend.ctc_alignment import collapse_repeated, ctc_best_path, ctc_full_sum
from returnn.tf.compat import tf, v1

from .test_ctc import collapse, label_probs, random_logits


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    with v1.Graph().as_default():
        yield


def value_and_gradient(
    function: Callable[..., tf.Tensor], logits: Any, logit_lens: Any, labels: Any, label_lens: Any, **options: Any
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Loss [B], and the gradient [T, B, C] of the sum of the b-th loss times b + 1. The graph knows no sizes."""
    x = v1.placeholder(tf.float32, [None, None, numpy.shape(logits)[2]])
    rest = [v1.placeholder(tf.int32, [None] * numpy.ndim(a)) for a in (logit_lens, labels, label_lens)]
    loss = function(x, *rest, **options)
    weights = tf.cast(tf.range(tf.shape(loss)[0]) + 1, tf.float32)
    (grad,) = tf.gradients(tf.reduce_sum(loss * weights), x)
    with v1.Session() as session:
        return session.run((loss, grad), dict(zip([x, *rest], (logits, logit_lens, labels, label_lens), strict=True)))


def weighted_softmax(logits: numpy.ndarray) -> numpy.ndarray:
    e = numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True)
    return e * (numpy.arange(logits.shape[1])[:, None] + 1)


LABELS, LABEL_LENS, LOGIT_LENS = [[0, 1, 77], [1, 1, 77], [0, 77, 77], [1, 0, 1]], [2, 2, 1, 3], [5, 4, 1, 3]
"""77 is out of range: what is stored behind the end does not matter."""


@pytest.mark.parametrize("merge", [True, False])
def test_same_as_the_op_of_tensorflow(merge: bool) -> None:
    """Value and gradient; NaN behind the end of the logits changes nothing."""
    logits = random_logits(5, 4, 3)
    for b, seq_len in enumerate(LOGIT_LENS):
        logits[seq_len:, b] = numpy.nan
    args = logits, LOGIT_LENS, LABELS, LABEL_LENS
    loss, grad = value_and_gradient(ctc_full_sum, *args, label_loop=merge)
    want, want_grad = value_and_gradient(ctc_loss, *args, ctc_merge_repeated=merge)
    numpy.testing.assert_allclose(loss, want, rtol=1e-5)
    numpy.testing.assert_allclose(grad, want_grad, atol=1e-5)


def test_long_sequences() -> None:
    """600 frames, 40 labels: values as TensorFlow's op has them; the gradient at some places by differences of 1e-3 in
    float64, as that op is off by more there."""
    rng = numpy.random.RandomState(1)
    logits = random_logits(600, 3, 30)
    args = logits, [600, 599, 300], rng.randint(0, 3, (3, 40)), [40, 39, 20]
    loss, grad = value_and_gradient(ctc_full_sum, *args)
    numpy.testing.assert_allclose(loss, value_and_gradient(ctc_loss, *args)[0], rtol=1e-5)
    for t, b, c in [(279, 1, 29), (282, 1, 29), (337, 1, 29), (5, 0, 1), (590, 0, 29), (100, 2, 2)]:
        ends = []
        for delta in (1e-3, -1e-3):
            moved = logits[:, b : b + 1].astype("float64")
            moved[t, 0, c] += delta
            scores = moved - numpy.log(numpy.exp(moved).sum(-1, keepdims=True))
            frames, labels = scores[: args[1][b], 0], args[2][b, : args[3][b]].tolist()
            ends.append(-_ctc_score(frames, labels, blank=29))
        assert grad[t, b, c] == pytest.approx((ends[0] - ends[1]) / 2e-3 * (b + 1), abs=1e-3)
    assert abs(grad.sum(-1)).max() < 1e-4  # posteriors of each frame sum to one, as softmax does


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_without_alignment(zero_infinity: bool) -> None:
    """1 1 in two frames; 3 labels in 2 frames; a label in no frame; and -inf for the label: loss 0, gradient softmax or
    none. The last sequence is fine."""
    logits = random_logits(2, 5, 4)
    logits[:, 3, 2] = -numpy.inf
    args = logits, [2, 2, 0, 2, 2], [[1, 1, 0], [0, 1, 2], [1, 0, 0], [2, 0, 0], [2, 0, 0]], [2, 3, 1, 1, 1]
    loss, grad = value_and_gradient(ctc_full_sum, *args, zero_infinity=zero_infinity)
    assert loss[:4].tolist() == [0, 0, 0, 0]
    assert loss[4] == pytest.approx(-math.log(label_probs(logits[:, 4])[(2,)]))
    want = numpy.zeros_like(logits) if zero_infinity else weighted_softmax(logits)
    want[:, 2] = 0
    numpy.testing.assert_allclose(grad[:, :4], want[:, :4], atol=1e-6)
    assert numpy.isfinite(grad).all() and grad[:, 4].all()


@pytest.mark.parametrize("function", [ctc_full_sum, ctc_best_path])
def test_nan_is_not_hidden(function: Callable[..., tf.Tensor]) -> None:
    """It is not the same as no alignment."""
    logits = random_logits(3, 2, 4)
    logits[1, 0] = numpy.nan
    options = {"zero_infinity": True} if function is ctc_full_sum else {}
    loss, grad = value_and_gradient(function, logits, [3, 3], [[1], [1]], [1, 1], **options)
    assert numpy.isnan(loss).tolist() == [True, False]
    assert numpy.isnan(grad[1, 0]).all() and not numpy.isnan(grad[:, 1]).any()


def test_without_labels() -> None:
    """Only blanks: minus the sum of their log probabilities; no frames: 0."""
    logits = random_logits(3, 2, 4)
    log_probs = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
    for labels in (numpy.zeros((2, 0), "int32"), [[7], [7]]):
        loss, grad = value_and_gradient(ctc_full_sum, logits, [3, 0], labels, [0, 0])
        numpy.testing.assert_allclose(loss, [-log_probs[:, 0, 3].sum(), 0], rtol=1e-5)
        numpy.testing.assert_allclose(grad[:, 0], numpy.exp(log_probs[:, 0]) - [0, 0, 0, 1], atol=1e-6)
        assert not grad[:, 1].any()


@pytest.mark.parametrize("function", [ctc_full_sum, ctc_best_path])
@pytest.mark.parametrize(("num_frames", "num_seqs"), [(0, 2), (3, 0)])
def test_nothing_there(function: Callable[..., tf.Tensor], num_frames: int, num_seqs: int) -> None:
    """No frames, or no sequences."""
    logits, lens = numpy.zeros((num_frames, num_seqs, 4)), numpy.full(num_seqs, num_frames)
    loss, grad = value_and_gradient(function, logits, lens, numpy.zeros((num_seqs, 0)), numpy.zeros(num_seqs))
    assert loss.shape == (num_seqs,) and not loss.any()
    assert grad.shape == logits.shape


def test_blank_may_be_any_class() -> None:
    """Classes rotated by one: blank first, labels one higher."""
    logits = random_logits(5, 4, 3)
    loss, grad = value_and_gradient(ctc_full_sum, logits, LOGIT_LENS, LABELS, LABEL_LENS)
    rotated = numpy.roll(logits, 1, axis=2), LOGIT_LENS, numpy.array(LABELS) + 1, LABEL_LENS
    for index in (0, -3):
        same, same_grad = value_and_gradient(ctc_full_sum, *rotated, blank_index=index)
        numpy.testing.assert_allclose(same, loss, rtol=1e-6)
        numpy.testing.assert_allclose(numpy.roll(same_grad, -1, axis=2), grad, atol=1e-6)


def test_gradient_of_posteriors_alone() -> None:
    """softmax - posteriors, without softmax; and of scores as they are: exp(score) - posteriors."""
    logits = random_logits(5, 4, 3)
    args = logits, [5, 5, 5, 5], LABELS, LABEL_LENS
    _, grad = value_and_gradient(ctc_full_sum, *args)
    _, alone = value_and_gradient(ctc_full_sum, *args, grad_wrt_softmax_in=False)
    numpy.testing.assert_allclose(alone, grad - weighted_softmax(logits), atol=1e-5)
    # not normalised, all paths have a factor more: posteriors stay
    _, of_scores = value_and_gradient(ctc_full_sum, *args, logits_normalize=False)
    weights = (numpy.arange(4)[:, None] + 1).astype("float32")
    numpy.testing.assert_allclose(of_scores, alone + numpy.exp(logits) * weights, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("label_loop", [True, False])
def test_best_path(label_loop: bool) -> None:
    """By enumeration: the value, and the gradient softmax - one-hot of the best path; 0 on padded frames."""
    logits = random_logits(5, 4, 3)
    loss, grad = value_and_gradient(ctc_best_path, logits, LOGIT_LENS, LABELS, LABEL_LENS, label_loop=label_loop)
    log_probs = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
    for b, seq_len in enumerate(LOGIT_LENS):
        labels = tuple(LABELS[b][: LABEL_LENS[b]])
        paths = itertools.product(range(3), repeat=seq_len)
        fitting = [path for path in paths if collapse(path, 2, merge=label_loop) == labels]
        score, best = max((sum(log_probs[range(seq_len), b, path]), path) for path in fitting)
        assert loss[b] == pytest.approx(-score, rel=1e-5)
        want = (numpy.exp(log_probs[:seq_len, b]) - numpy.eye(3)[list(best)]) * (b + 1)
        numpy.testing.assert_allclose(grad[:seq_len, b], want, atol=1e-5)
        assert not grad[seq_len:, b].any()


def test_best_path_that_does_not_exist() -> None:
    """1 1 in two frames: inf, and no gradient."""
    loss, grad = value_and_gradient(ctc_best_path, random_logits(2, 2, 4), [2, 2], [[1, 1], [1, 0]], [2, 2])
    assert numpy.isposinf(loss[0]) and numpy.isfinite(loss[1])
    assert not grad[:, 0].any() and grad[:, 1].all()


def test_labels_out_of_range_fail_the_step() -> None:
    """And are not those of another sequence."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 4\)"):
        value_and_gradient(ctc_full_sum, random_logits(3, 2, 4), [3, 3], [[1], [4]], [1, 1])


def test_collapse_repeated() -> None:
    """1 1 2 2 1 -> 1 2 1; 3 (3 behind the end); nothing; all different."""
    labels = [[1, 1, 2, 2, 1], [3, 3, 3, 0, 0], [5, 5, 5, 5, 5], [1, 2, 3, 4, 4]]
    with v1.Session() as session:
        collapsed, lens = session.run(collapse_repeated(tf.constant(labels), tf.constant([5, 1, 0, 4])))
    assert lens.tolist() == [3, 1, 0, 4] and collapsed.shape == (4, 4)
    assert [row[:n].tolist() for row, n in zip(collapsed, lens, strict=True)] == [[1, 2, 1], [3], [], [1, 2, 3, 4]]
