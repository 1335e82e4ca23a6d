"""CTC by dynamic programming in plain TensorFlow ops: the sum over all alignments, or the best one.

Contract as in ``ctc.py``: logits [T, B, C] are time-major, labels [B, N] batch-major, each with its lengths [B], and
what is stored behind the end of a sequence never matters. Unlike there, a sequence may have no frames, no labels, or no
alignment at all, and the blank may be any class.

An alignment passes the states blank 0, label 0, blank 1, .., label n-1, blank n. Before each frame, blank[i] and
label[i] are the logarithms of the sum over all alignments of the frames so far that end there (or the score of the best
one: then ``join`` is the maximum):
    reached[i] = join(blank[i], label[i-1])                      i labels are complete
    blank[i]   = reached[i] + score of the blank
    label[i]   = join(label[i], reached[i]) + score of label i   where it equals label i-1: blank[i], not reached[i]
Behind the end of a sequence the blank costs nothing and labels are impossible. So one frame later blank[n] is the
result.

The sum has a gradient written by hand: softmax - posteriors of the states. They need the same recursion from the other
end, which is that of the reversed sequence: both run in one loop, side by side in the batch. The best path is
differentiated by TensorFlow. "Impossible" is -1e30, so that differences of such scores stay numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from returnn.tf.compat import tf, v1

from .padding import time_mask

_IMPOSSIBLE = -1e30

Join = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def ctc_full_sum(
    logits: tf.Tensor,
    logit_lens: tf.Tensor,
    labels: tf.Tensor,
    label_lens: tf.Tensor,
    *,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
    grad_wrt_softmax_in: bool = True,
    zero_infinity: bool = False,
) -> tf.Tensor:
    """-log p(labels | logits), summed over all alignments of labels and frames.

    :param logits: float32 [T, B, C]
    :param logit_lens: int32 [B]
    :param labels: int [B, N], each below C
    :param label_lens: int32 [B]
    :param blank_index: negative: from the end
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    :param logits_normalize: apply log_softmax; else the logits are the scores
    :param grad_wrt_softmax_in: the gradient is softmax - posteriors; else minus the posteriors
    :param zero_infinity: no gradient of a sequence that has no alignment
    :return: float32 [B], 0 where there is no alignment. Gradient 0 on padded frames
    """

    @tf.custom_gradient
    def full_sum(logits: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        log_probs = tf.nn.log_softmax(logits) if logits_normalize else logits
        task = _make_task(log_probs, logit_lens, labels, label_lens, blank_index)
        both, distinct = _with_reversed(task)
        last, states = _scan(both, distinct, label_loop=label_loop, join=_logaddexp, keep_states=True)
        total = _result(task, last)
        no_path = total < _IMPOSSIBLE / 2  # and not so where it is nan
        total = tf.where(no_path, 0.0, total)

        def grad(d_loss: tf.Tensor) -> tf.Tensor:
            posteriors = _posteriors(task, _OfStates(*states), total)
            expected = tf.exp(log_probs) if grad_wrt_softmax_in else tf.zeros_like(log_probs)
            res = _subtract_at_classes(expected, posteriors, task, blank_index)
            inside = time_mask(logit_lens, tf.shape(logits)[0], ndim=3)
            if zero_infinity:
                inside = tf.logical_and(inside, tf.logical_not(no_path)[:, None])
            return tf.where(inside, res * d_loss[:, None], 0.0)

        return -total, grad

    return full_sum(logits)


def ctc_best_path(
    logits: tf.Tensor,
    logit_lens: tf.Tensor,
    labels: tf.Tensor,
    label_lens: tf.Tensor,
    *,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
) -> tf.Tensor:
    """-log of the probability of the best alignment. Arguments as those of :func:`ctc_full_sum`.

    :return: float32 [B], inf where there is no alignment: then without gradient
    """
    logits = tf.pad(logits, [[0, 1], [0, 0], [0, 0]])  # TensorFlow cannot differentiate its gather of no frames
    log_probs = tf.nn.log_softmax(logits) if logits_normalize else logits
    task = _make_task(log_probs, logit_lens, labels, label_lens, blank_index)
    distinct = _distinct_neighbors(task.labels)
    last, _ = _scan(task.scores, distinct, label_loop=label_loop, join=tf.maximum, keep_states=False)
    best = _result(task, last)
    return tf.where(best < _IMPOSSIBLE / 2, float("inf"), -best)


def collapse_repeated(labels: tf.Tensor, lens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """
    :param labels: int32 [B, N]
    :param lens: int32 [B]
    :return: of equal neighbours the first, [B, longest]; and the lengths int32 [B]
    """
    distinct = tf.transpose(_distinct_neighbors(labels))
    keep = tf.logical_and(distinct, tf.sequence_mask(lens, tf.shape(labels)[1]))
    new_lens = tf.reduce_sum(tf.cast(keep, tf.int32), axis=1)
    order = tf.argsort(tf.cast(tf.logical_not(keep), tf.int32), axis=1, stable=True)
    longest = tf.reduce_max(tf.pad(new_lens, [[0, 1]]))  # 0 of no sequence
    return tf.gather(labels, order, batch_dims=1)[:, :longest], new_lens


class _OfStates(NamedTuple):
    """A number for each state, for all frames or of one."""

    blank: tf.Tensor
    """[.., n+1, B]; scores, which all blanks share: [.., 1, B]"""
    label: tf.Tensor
    """[.., n, B]"""


class _Task(NamedTuple):
    scores: _OfStates
    """[T+1, ..]"""
    labels: tf.Tensor
    """int32 [B, N], 0 behind the end"""
    logit_lens: tf.Tensor
    label_lens: tf.Tensor


def _make_task(
    log_probs: tf.Tensor, logit_lens: tf.Tensor, labels: tf.Tensor, label_lens: tf.Tensor, blank_index: int
) -> _Task:
    inside = time_mask(logit_lens, tf.shape(log_probs)[0], ndim=2)[:, None]
    is_label = tf.sequence_mask(label_lens, tf.shape(labels)[1])
    labels = tf.where(is_label, tf.cast(labels, tf.int32), 0)
    of_labels = tf.gather(tf.transpose(log_probs, [1, 0, 2]), labels, axis=2, batch_dims=1)  # [B, T, N]
    of_labels = tf.transpose(of_labels, [1, 2, 0])
    of_blank = log_probs[:, :, blank_index][:, None]
    of_labels = tf.where(tf.logical_and(inside, tf.transpose(is_label)), of_labels, _IMPOSSIBLE)
    of_blank = tf.where(inside, of_blank, 0.0)
    one_frame = [[0, 1], [0, 0], [0, 0]]
    scores = _OfStates(
        tf.pad(tf.maximum(of_blank, _IMPOSSIBLE), one_frame),
        tf.pad(tf.maximum(of_labels, _IMPOSSIBLE), one_frame, constant_values=_IMPOSSIBLE),
    )
    return _Task(scores, labels, logit_lens, label_lens)


def _distinct_neighbors(labels: tf.Tensor) -> tf.Tensor:
    """:return: bool [N, B], whether the label [B, N] is another one than the label before it, or the first"""
    return tf.transpose(tf.not_equal(labels, tf.pad(labels, [[0, 0], [1, 0]], constant_values=-1)[:, :-1]))


def _with_reversed(task: _Task) -> tuple[_OfStates, tf.Tensor]:
    """:return: scores of each sequence, and behind these of each one reversed; distinct neighbors of both"""
    scores = _OfStates(
        *(tf.concat(pair, axis=2) for pair in zip(task.scores, _reversed(task, task.scores), strict=True))
    )
    labels = tf.concat(
        [task.labels, tf.reverse_sequence(task.labels, task.label_lens, seq_axis=1, batch_axis=0)], axis=0
    )
    return scores, _distinct_neighbors(labels)


def _reversed(task: _Task, x: _OfStates) -> _OfStates:
    """:return: x [T+1, ..], each sequence from its last real frame and its last real state on"""

    def reverse(value: tf.Tensor, num_states: tf.Tensor) -> tf.Tensor:
        value = tf.reverse_sequence(value, task.logit_lens, seq_axis=0, batch_axis=2)
        if value.shape[1] == 1:  # one number for all states
            return value
        return tf.reverse_sequence(value, num_states, seq_axis=1, batch_axis=2)

    return _OfStates(reverse(x.blank, task.label_lens + 1), reverse(x.label, task.label_lens))


def _logaddexp(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    high = tf.maximum(a, b)
    return high + tf.nn.softplus(tf.minimum(a, b) - high)


def _scan(
    scores: _OfStates, distinct: tf.Tensor, *, label_loop: bool, join: Join, keep_states: bool
) -> tuple[_OfStates, list[tf.Tensor]]:
    """
    :param scores: [T+1, ..]
    :param distinct: bool [N, B]
    :param keep_states: then nothing has a gradient
    :return: states after the last frame; and with ``keep_states`` blank and label after each one, [T+1, ..]
    """
    num_frames = tf.shape(scores.label)[0]
    num_labels, num_seqs = tf.unstack(tf.shape(distinct))
    blank = tf.pad(tf.zeros([1, num_seqs]), [[0, num_labels], [0, 0]], constant_values=_IMPOSSIBLE)
    label = tf.fill([num_labels, num_seqs], _IMPOSSIBLE)
    frames = [tf.TensorArray(tf.float32, num_frames).unstack(x) for x in scores]
    kept = [tf.TensorArray(tf.float32, num_frames) for _ in scores] if keep_states else []

    def body(t: tf.Tensor, blank: tf.Tensor, label: tf.Tensor, kept: list[tf.TensorArray]) -> tuple[Any, ...]:
        before = tf.pad(label, [[1, 0], [0, 0]], constant_values=_IMPOSSIBLE)
        reached = join(blank, before)
        if label_loop:
            entered = join(label, tf.where(distinct, reached[:-1], blank[:-1]))
        else:
            entered = reached[:-1]
        state = _OfStates(reached + frames[0].read(t), entered + frames[1].read(t))
        for new, old in zip(state, (blank, label), strict=True):
            new.set_shape(old.shape)
        return t + 1, *state, [array.write(t, x) for array, x in zip(kept, state if kept else (), strict=True)]

    _, blank, label, kept = v1.while_loop(
        lambda t, *_: t < num_frames,
        body,
        (0, blank, label, kept),
        parallel_iterations=1,
        back_prop=not keep_states,
    )
    return _OfStates(blank, label), [array.stack() for array in kept]


def _result(task: _Task, last: _OfStates) -> tf.Tensor:
    """:return: [B], of the sequences that are not reversed"""
    at_end = tf.transpose(last.blank[:, : tf.shape(task.labels)[0]])
    return tf.gather(at_end, task.label_lens, axis=1, batch_dims=1)


def _posteriors(task: _Task, states: _OfStates, total: tf.Tensor) -> tf.Tensor:
    """
    :param task: what to align
    :param states: [T+1, .., 2 B], as :func:`_scan` gives them for :func:`_with_reversed`
    :param total: [B]
    :return: [T, N+1, B], of the labels, and at last of the blank; 0 if there is no alignment; any number on padding
    """
    num_seqs = tf.shape(task.labels)[0]
    forward = _OfStates(*(x[:, :, :num_seqs] for x in states))
    backward = _reversed(task, _OfStates(*(x[:, :, num_seqs:] for x in states)))
    blank, label = (  # both have the score of the frame
        tf.exp(a + b - score - total)[:-1] for a, b, score in zip(forward, backward, task.scores, strict=True)
    )
    weights = tf.concat([label, tf.reduce_sum(blank, axis=1, keepdims=True)], axis=1)
    # they sum to one but for rounding: that of total is the same for all
    return tf.math.divide_no_nan(weights, tf.reduce_sum(weights, axis=1, keepdims=True))


def _subtract_at_classes(x: tf.Tensor, posteriors: tf.Tensor, task: _Task, blank_index: int) -> tf.Tensor:
    """
    :param x: [T, B, C]
    :param posteriors: [T, N+1, B], as :func:`_posteriors` gives them
    :return: x [T, B, C] minus the posteriors of all states of this class
    """
    shape = tf.shape(x)
    num_frames, num_seqs, num_classes = tf.unstack(shape)
    rows = tf.reshape(tf.range(num_frames * num_seqs), [num_frames, 1, num_seqs])
    classes = tf.pad(tf.transpose(task.labels), [[0, 1], [0, 0]], constant_values=blank_index % num_classes)
    indices = tf.stack([rows + tf.zeros_like(classes), classes + tf.zeros_like(rows)], axis=-1)
    flat = tf.tensor_scatter_nd_sub(tf.reshape(x, [-1, num_classes]), indices, posteriors)
    return tf.reshape(flat, shape)
