"""CTC and edit distance on raw tensors, by TensorFlow's own ops.

T frames, B sequences, C classes with the blank as the last one, N labels. Logits [T, B, C] are time-major, labels
[B, N] batch-major, each with its lengths [B]; what is stored behind the end of a sequence never matters.
"""

from __future__ import annotations

from returnn.tf.compat import tf, v1

from .ctc_alignment import collapse_repeated


def ctc_loss(
    logits: tf.Tensor,
    logit_lens: tf.Tensor,
    labels: tf.Tensor,
    label_lens: tf.Tensor,
    *,
    ignore_longer_outputs_than_inputs: bool = False,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
) -> tf.Tensor:
    """-log p(labels | logits), summed over all alignments of labels and frames.

    :param logits: float32 [T, B, C], not normalised: softmax is applied here
    :param logit_lens: int32 [B]
    :param labels: int [B, N], each below C - 1
    :param label_lens: int32 [B]
    :param ignore_longer_outputs_than_inputs: a sequence with more labels than frames gets loss and gradient 0
    :param preprocess_collapse_repeated: equal neighbours in the labels become one
    :param ctc_merge_repeated: equal neighbours in an alignment are one label (unless a blank is between them)
    :return: float32 [B]; inf, with gradient 0, where the labels need more frames than there are. Gradient 0 on padded
        frames
    """
    labels = tf.cast(labels, tf.int32)
    if preprocess_collapse_repeated:
        labels, label_lens = collapse_repeated(labels, label_lens)
    # TensorFlow fails the whole step for one sequence without labels, or with more labels than frames. Without labels,
    # it gets one label, and its loss is that of the blank instead; the others are left out by it.
    loss = v1.nn.ctc_loss(
        labels=_to_sparse(tf.pad(labels, [[0, 0], [0, 1]]), tf.maximum(label_lens, 1)),
        inputs=_with_a_frame(logits),
        sequence_length=logit_lens,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=True,
        time_major=True,
    )
    if not ignore_longer_outputs_than_inputs:
        loss = tf.where(label_lens > logit_lens, float("inf"), loss)
    return tf.where(tf.equal(label_lens, 0), _loss_of_blanks(logits, logit_lens), loss)


def _loss_of_blanks(logits: tf.Tensor, logit_lens: tf.Tensor) -> tf.Tensor:
    """:return: [B], -log p of the alignment of blanks alone"""
    mask = tf.transpose(tf.sequence_mask(logit_lens, tf.shape(logits)[0]))
    valid = tf.where(mask[:, :, tf.newaxis], logits, 0.0)  # or NaN behind the end would come back in the gradient
    blank = tf.nn.log_softmax(valid)[:, :, -1]
    return -tf.reduce_sum(tf.where(mask, blank, 0.0), axis=0)


def ctc_greedy_decode(logits: tf.Tensor, logit_lens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The best class of each frame, repetitions merged, blanks dropped.

    :param logits: float32 [T, B, C]
    :param logit_lens: int32 [B]
    :return: labels int32 [B, N], 0 behind the end, and their lengths int32 [B]
    """
    (decoded,), _ = tf.nn.ctc_greedy_decoder(_with_a_frame(logits), logit_lens, merge_repeated=True)
    return _to_dense(decoded)


def ctc_beam_decode(logits: tf.Tensor, logit_lens: tf.Tensor, *, beam_width: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The label sequence with the highest probability, summed over its alignments, by prefix beam search.

    :param logits: float32 [T, B, C]
    :param logit_lens: int32 [B]
    :param beam_width: number of prefixes kept after each frame
    :return: labels int32 [B, N], 0 behind the end, and their lengths int32 [B]
    """
    (decoded,), _ = tf.nn.ctc_beam_search_decoder(_with_a_frame(logits), logit_lens, beam_width=beam_width, top_paths=1)
    return _to_dense(decoded)


def edit_distance(a: tf.Tensor, a_lens: tf.Tensor, b: tf.Tensor, b_lens: tf.Tensor) -> tf.Tensor:
    """Levenshtein distance: insertion, deletion and substitution cost 1 each; not normalised.

    :param a: int [B, N]
    :param a_lens: int32 [B]
    :param b: int [B, M]
    :param b_lens: int32 [B]
    :return: int32 [B]
    """
    hypothesis, truth = (_to_sparse(tf.cast(x, tf.int64), lens) for x, lens in ((a, a_lens), (b, b_lens)))
    return tf.cast(tf.edit_distance(hypothesis, truth, normalize=False), tf.int32)


def _with_a_frame(logits: tf.Tensor) -> tf.Tensor:
    """:return: logits [T, B, C]; one frame of padding, if there is none at all, for which TensorFlow fails"""
    missing = tf.cast(tf.equal(tf.shape(logits)[0], 0), tf.int32)
    return tf.pad(logits, [[0, missing], [0, 0], [0, 0]])


def _to_sparse(x: tf.Tensor, lens: tf.Tensor) -> tf.SparseTensor:
    """:return: of x [B, N] the entries before each sequence's end"""
    shape = tf.shape(x)
    indices = tf.where(tf.sequence_mask(lens, shape[1]))
    return tf.SparseTensor(indices, tf.gather_nd(x, indices), tf.cast(shape, tf.int64))


def _to_dense(x: tf.SparseTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """:return: labels int32 [B, N] and lengths int32 [B] of the sparse x [B, N]"""
    lens = tf.math.unsorted_segment_sum(tf.ones_like(x.values), x.indices[:, 0], x.dense_shape[0])
    return tf.cast(tf.sparse.to_dense(x), tf.int32), tf.cast(lens, tf.int32)
