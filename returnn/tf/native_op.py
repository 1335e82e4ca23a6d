"""Sums and best paths over alignments, by the names that configs import (old name: ``TFNativeOp``).

T frames, B sequences, D classes, E edges. Automata as in :mod:`returnn.util.fsa`. All is plain TensorFlow: nothing is
compiled.
"""

from __future__ import annotations

from typing import Any

from returnn.config import get_global_config
from returnn.tf.backend import ctc_alignment, fsa
from returnn.tf.compat import tf
from returnn.util import fsa as fsa_module
from returnn.util.behavior_version import BehaviorVersion, Change

_INFINITY = 1e32


def fast_baum_welch(
    am_scores: tf.Tensor, edges: tf.Tensor, weights: tf.Tensor, start_end_states: tf.Tensor, float_idx: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """
    :param am_scores: float32 [T, B, D], -log
    :param edges: int32 [4, E]
    :param weights: float32 [E], -log
    :param start_end_states: int32 [2, B]
    :param float_idx: float32 [T, B], 1 for frames of a sequence, else 0
    :return: posteriors of the classes, -log, [T, B, D], 1e32 where there are none; and -log of the sum over all paths
        [T, B], the same in each frame. 0 on padding, and for a sequence without a path. No gradient
    """
    lens = tf.cast(tf.reduce_sum(float_idx, axis=0), tf.int32)
    posteriors, score = fsa.full_sum(-am_scores, lens, edges, weights, start_end_states)
    obs_scores = tf.where(tf.math.is_finite(score), -score, 0.0) * float_idx
    return tf.where(posteriors > 0, -tf.math.log(posteriors), _INFINITY), obs_scores


def fast_baum_welch_staircase(am_scores: tf.Tensor, seq_lens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """
    :func:`fast_baum_welch` over :func:`returnn.util.fsa.fast_bw_fsa_staircase`.

    :param am_scores: float32 [T, B, D], -log
    :param seq_lens: int32 [B], of the frames, and steps of the staircase
    """
    edges, weights, start_end_states = _automata(fsa_module.fast_bw_fsa_staircase, [seq_lens])
    float_idx = tf.transpose(tf.sequence_mask(seq_lens, tf.shape(am_scores)[0], dtype=tf.float32))
    return fast_baum_welch(am_scores, edges, weights, start_end_states, float_idx)


def fast_viterbi(
    *,
    am_scores: tf.Tensor,
    am_seq_len: tf.Tensor,
    edges: tf.Tensor,
    weights: tf.Tensor,
    start_end_states: tf.Tensor,
    mask_idx: int = 0,
) -> tuple[tf.Tensor, tf.Tensor]:
    """
    :param am_scores: float32 [T, B, D], +log
    :param am_seq_len: int32 [B]
    :param edges: int32 [4, E]
    :param weights: float32 [E], +log
    :param start_end_states: int32 [2, B]
    :param mask_idx: on padding, and where there is no path
    :return: classes of the best path, int32 [T, B]; its score, +log [B], -inf without a path. No gradient
    """
    return fsa.best_path(am_scores, am_seq_len, edges, -weights, start_end_states, mask_label=mask_idx)


def get_ctc_fsa_fast_bw(
    targets: tf.Tensor, seq_lens: tf.Tensor, blank_idx: int, label_loop: bool = True
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """
    :param targets: int32 [B, L]
    :param seq_lens: int32 [B]
    :param blank_idx: class of the blank, >= 0
    :param label_loop: a label may last several frames
    :return: edges, weights, start and end states, for the functions above
    """

    def build(labels: Any, lens: Any) -> fsa_module.FastBaumWelchBatchFsa:
        return fsa_module.get_ctc_fsa_fast_bw(targets=labels, seq_lens=lens, blank_idx=blank_idx, label_loop=label_loop)

    return _automata(build, [targets, seq_lens])


def ctc_loss(
    logits: tf.Tensor,
    logits_seq_lens: tf.Tensor,
    logits_time_major: bool,
    targets: tf.Tensor,
    targets_seq_lens: tf.Tensor,
    label_loop: bool | None = None,
    ctc_merge_repeated: bool | None = None,
    logits_normalize: bool = True,
    grad_wrt_softmax_in: bool = True,
    blank_index: int = -1,
    zero_infinity: bool | None = None,
) -> tf.Tensor:
    """
    :param logits: float32 [T, B, D] if logits_time_major, else [B, T, D]
    :param logits_seq_lens: int32 [B]
    :param logits_time_major: see logits
    :param targets: int32 [B, L]
    :param targets_seq_lens: int32 [B]
    :param label_loop: a label may last several frames; True by default
    :param ctc_merge_repeated: another name of it
    :param logits_normalize: apply log_softmax
    :param grad_wrt_softmax_in: the gradient is softmax - posteriors, else minus the posteriors
    :param blank_index: negative: from the end
    :param zero_infinity: no gradient of a sequence without a path; default: config key ``tf_native_ctc_zero_infinity``,
        else True from behaviour version 30 on
    :return: -log p [B], 0 without a path
    """
    if label_loop is not None and ctc_merge_repeated is not None and label_loop != ctc_merge_repeated:
        raise ValueError("ctc_loss: label_loop and ctc_merge_repeated are the same, but were given as different")
    if zero_infinity is None:
        config = get_global_config(return_empty_if_none=True)
        default = BehaviorVersion.has(Change.NATIVE_CTC_WITHOUT_PATH_IS_ZERO)
        zero_infinity = config.bool("tf_native_ctc_zero_infinity", default)
    return ctc_alignment.ctc_full_sum(
        logits if logits_time_major else tf.transpose(logits, [1, 0, 2]),
        logits_seq_lens,
        targets,
        targets_seq_lens,
        blank_index=blank_index,
        label_loop=label_loop is not False and ctc_merge_repeated is not False,
        logits_normalize=logits_normalize,
        grad_wrt_softmax_in=grad_wrt_softmax_in,
        zero_infinity=zero_infinity,
    )


def ctc_loss_viterbi(
    logits: tf.Tensor,
    logits_seq_lens: tf.Tensor,
    logits_time_major: bool,
    targets: tf.Tensor,
    targets_seq_lens: tf.Tensor,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
) -> tf.Tensor:
    """
    Arguments as those of :func:`ctc_loss`.

    :return: -log of the probability of the best path [B], inf without one; with gradient
    """
    return ctc_alignment.ctc_best_path(
        logits if logits_time_major else tf.transpose(logits, [1, 0, 2]),
        logits_seq_lens,
        targets,
        targets_seq_lens,
        blank_index=blank_index,
        label_loop=label_loop,
        logits_normalize=logits_normalize,
    )


def _automata(build: Any, args: list[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """
    :param build: numpy arrays -> automata
    :param args: what it gets
    """
    edges, weights, start_end_states = tf.numpy_function(build, args, [tf.int32, tf.float32, tf.int32])
    edges.set_shape([4, None])
    weights.set_shape([None])
    start_end_states.set_shape([2, None])
    return edges, weights, start_end_states
