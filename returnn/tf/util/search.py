"""One step of a beam search on raw tensors."""

from __future__ import annotations

from typing import Any

import numpy

from returnn.tf.compat import tf


def beam_search(
    scores: Any,
    beam_size: int,
    keep_beams: bool = False,
    cheating_gold_targets: Any = None,
    cheating_src_beam_idx: Any = None,
    cheating_exclusive: bool = True,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """
    The best extensions of all hypotheses; of equal ones the first. Where there are fewer than K, the rest has score
    -inf, source 0 and label 0.

    :param scores: float [B, beam in, D], of each hypothesis with each label
    :param beam_size: of the result, K
    :param keep_beams: each incoming hypothesis has its own K / (beam in) extensions
    :param cheating_gold_targets: int32 [B]: this label is put into the last place
    :param cheating_src_beam_idx: int32 [B]: the hypothesis that it extends; the last one by default
    :param cheating_exclusive: it is nowhere else
    :return: source beams int32 [B, K], labels int32 [B, K], scores float [B, K]
    """
    scores = tf.convert_to_tensor(scores)
    num_seqs, beam_in, num_labels = tf.unstack(tf.shape(scores))
    gold = None
    if cheating_gold_targets is not None:
        source = beam_in - 1 if cheating_src_beam_idx is None else tf.convert_to_tensor(cheating_src_beam_idx)
        source = tf.broadcast_to(source, [num_seqs])
        label = tf.clip_by_value(tf.cast(cheating_gold_targets, tf.int32), 0, num_labels - 1)
        place = tf.stack([tf.range(num_seqs), source, label], axis=-1)
        gold = source, label, tf.gather_nd(scores, place)
        if cheating_exclusive:
            scores = tf.tensor_scatter_nd_update(scores, place, tf.fill([num_seqs], scores.dtype.min))
    if keep_beams:
        own = beam_size // beam_in
        values, labels = tf.math.top_k(scores, k=own)
        sources = tf.broadcast_to(tf.range(beam_in)[:, None], tf.shape(labels))
        sources, labels, values = (tf.reshape(x, [num_seqs, beam_size]) for x in (sources, labels, values))
    else:
        num_all = beam_in * num_labels
        missing = tf.maximum(beam_size - num_all, 0)
        flat = tf.pad(tf.reshape(scores, [num_seqs, num_all]), [[0, 0], [0, missing]], constant_values=-numpy.inf)
        values, places = tf.math.top_k(flat, k=beam_size)
        places = tf.where(places < num_all, places, 0)
        sources, labels = places // num_labels, places % num_labels
    if gold is not None:
        sources, labels, values = (
            tf.concat([found[:, :-1], wanted[:, None]], axis=1)
            for found, wanted in zip((sources, labels, values), gold, strict=True)
        )
    return sources, labels, values


def select_src_beams(x: Any, src_beams: Any, name: str = "select_src_beams") -> tf.Tensor:
    """
    :param x: [B * beam in, ..]
    :param src_beams: int32 [B, K]: which of the incoming beam
    :param name: of the operations
    :return: [B * K, ..]
    """
    with tf.name_scope(name):
        x, src_beams = tf.convert_to_tensor(x), tf.convert_to_tensor(src_beams)
        num_seqs = tf.shape(src_beams)[0]
        beam_in = tf.shape(x)[0] // tf.maximum(num_seqs, 1)
        rows = tf.range(num_seqs)[:, None] * beam_in + src_beams
        return tf.gather(x, tf.reshape(rows, [-1]))
