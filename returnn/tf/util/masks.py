"""Masks, selection and indices on TensorFlow tensors. B sequences, T frames."""

from __future__ import annotations

from typing import Any

from returnn.tf.compat import tf

from .shapes import get_shape, move_axis


def where_bc(condition: Any, x: Any, y: Any, name: str = "where_bc") -> Any:
    """
    Selects element by element, and broadcasts.

    :param condition: bool
    :param x: where true
    :param y: where false
    :return: of the highest rank of the three; the others get axes of size 1 at the end
    """
    with tf.name_scope(name):
        args = [tf.convert_to_tensor(condition, dtype=tf.bool), tf.convert_to_tensor(x)]
        args.append(tf.convert_to_tensor(y, dtype=args[1].dtype))
        rank = max(a.shape.rank for a in args)
        for i, arg in enumerate(args):
            for _ in range(rank - arg.shape.rank if arg.shape.rank else 0):  # scalars broadcast anyway
                args[i] = tf.expand_dims(args[i], -1)
        return tf.where(*args)


def nd_indices(indices: Any, batch_axis: int = 0, indices_batch_major: bool | None = None) -> Any:
    """
    Index pairs for ``tf.gather_nd`` and ``tf.scatter_nd``.

    :param indices: int, of any shape with a batch axis
    :param batch_axis: of indices
    :param indices_batch_major: the pairs are (batch, index), else (index, batch). By default as the batch axis is 0 or
        not.
    :return: shape of indices + [2]
    """
    if indices_batch_major is None:
        indices_batch_major = batch_axis == 0
    shape = get_shape(indices)
    batch_axis %= len(shape)
    ones = [1] * len(shape)
    batch = tf.reshape(
        tf.range(shape[batch_axis], dtype=indices.dtype), ones[:batch_axis] + [-1] + ones[batch_axis + 1 :]
    )
    pairs = [tf.broadcast_to(batch, shape), indices]
    return tf.stack(pairs if indices_batch_major else pairs[::-1], axis=-1)


def sequence_mask(lengths: Any, name: str | None = None, **kwargs: Any) -> Any:
    """
    :param lengths: int [B]
    :param kwargs: maxlen, dtype: as for ``tf.sequence_mask``
    :return: bool [B, T]
    """
    return tf.sequence_mask(lengths, name=name, **kwargs)


def sequence_mask_time_major(lengths: Any, **kwargs: Any) -> Any:
    """
    :param lengths: int [B]
    :param kwargs: as for :func:`sequence_mask`
    :return: bool [T, B]
    """
    return tf.transpose(sequence_mask(lengths, **kwargs))


def flatten_with_seq_len_mask(
    x: Any,
    seq_lens: Any,
    batch_dim_axis: int | None = None,
    time_dim_axis: int | None = None,
    time_major: bool | None = None,
) -> Any:
    """
    :param x: with batch and time axis
    :param seq_lens: int32 [B]
    :param batch_dim_axis: of x
    :param time_dim_axis: of x
    :param time_major: in place of the axes: x is [T, B, ..], else [B, T, ..]
    :return: [sum of lengths, ..]: the real frames, one sequence after the other
    """
    if time_major is not None:
        time_dim_axis, batch_dim_axis = (0, 1) if time_major else (1, 0)
    if batch_dim_axis is None or time_dim_axis is None:
        raise TypeError("flatten_with_seq_len_mask needs batch_dim_axis and time_dim_axis, or time_major")
    rank = x.shape.rank
    batch_dim_axis, time_dim_axis = batch_dim_axis % rank, time_dim_axis % rank
    x = move_axis(x, batch_dim_axis, 0)
    x = move_axis(x, time_dim_axis + (time_dim_axis < batch_dim_axis), 1)
    return tf.boolean_mask(x, sequence_mask(seq_lens, maxlen=tf.shape(x)[1]))


def matrix_triangular(shape: Any, dtype: Any = tf.float32, lower: bool = False, upper: bool = False) -> Any:
    """
    :param shape: [.., rows, columns]
    :param lower: ones on the diagonal and below, zeros above
    :param upper: the other way round
    """
    if lower == upper:
        raise TypeError("matrix_triangular: give either lower or upper")
    ones = tf.ones(shape, dtype=dtype)
    return tf.linalg.band_part(ones, -1, 0) if lower else tf.linalg.band_part(ones, 0, -1)


def filter_ended_scores(x: Any, end_flags: Any, score_zero: float = 0.0, score_rem: float = -1.0e30) -> Any:
    """
    A hypothesis that has ended goes on with label 0, at no cost.

    :param x: scores [B, labels]
    :param end_flags: bool [B]
    :param score_zero: of label 0 where ended
    :param score_rem: of the other labels where ended
    :return: [B, labels]
    """
    num_labels = get_shape(x)[-1]
    ended = tf.where(tf.equal(tf.range(num_labels), 0), score_zero, score_rem)
    return where_bc(end_flags, tf.cast(ended, x.dtype)[None], x)
