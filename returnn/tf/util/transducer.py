"""Alignments of transducer models."""

from __future__ import annotations

from typing import Any

from returnn.tf.compat import tf


def get_rnnt_linear_aligned_output(
    input_lens: Any,
    targets: Any,
    target_lens: Any,
    blank_label_idx: int,
    pad_value: int = 0,
    targets_consume_time: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """
    Spreads labels evenly among blanks. With N symbols of the output and U labels, label i (from 0) is at
    ``round((i + 1) (N + 1) / (U + 1)) - 1``, halves to even.

    :param input_lens: int32 [B], T frames
    :param targets: int32 [B, U]
    :param target_lens: int32 [B]
    :param blank_label_idx: between the labels
    :param pad_value: behind the end
    :param targets_consume_time: a label takes a frame as a blank does: N = T, labels that find no place are left out.
        Else only blanks do: N = T + U
    :return: output int32 [B, max(N)], its lengths int32 [B]
    """
    input_lens, targets, target_lens = (tf.convert_to_tensor(x) for x in (input_lens, targets, target_lens))
    out_lens = input_lens if targets_consume_time else input_lens + target_lens
    num_seqs, num_targets = tf.unstack(tf.shape(targets))
    # without place, for sequences that are too short: one label per frame
    spread_over = tf.maximum(out_lens, target_lens)
    distance = tf.cast(spread_over + 1, tf.float32) / tf.cast(target_lens + 1, tf.float32)
    numbers = tf.range(num_targets)
    places = tf.cast(tf.round(tf.cast(numbers + 1, tf.float32) * distance[:, None]), tf.int32) - 1
    is_used = (numbers < target_lens[:, None]) & (places < out_lens[:, None])
    size = tf.reduce_max(out_lens)
    columns = tf.where(is_used, places, size)  # one column more, for those that are not used
    rows = tf.broadcast_to(tf.range(num_seqs)[:, None], tf.shape(columns))
    out = tf.fill([num_seqs, size + 1], tf.cast(blank_label_idx, targets.dtype))
    out = tf.tensor_scatter_nd_update(out, tf.stack([rows, columns], axis=-1), targets)[:, :size]
    is_output = tf.sequence_mask(out_lens, maxlen=size)
    return tf.where(is_output, out, tf.cast(pad_value, targets.dtype)), out_lens
