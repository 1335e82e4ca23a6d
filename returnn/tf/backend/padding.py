"""Into a loop over time, and out of it, such that the padding of a batch is never visible.

T frames, B sequences; everything [T, B, ...] is time-major. Direction -1 reads each sequence from its own end.
"""

from __future__ import annotations

from returnn.tf.compat import tf


def full_lens(x: tf.Tensor) -> tf.Tensor:
    """:return: int32 [B], the lengths if each sequence of x [T, B, ...] is as long as the batch"""
    shape = tf.shape(x)
    return tf.fill([shape[1]], shape[0])


def time_mask(lens: tf.Tensor, num_frames: tf.Tensor, *, ndim: int) -> tf.Tensor:
    """:return: bool [T, B, 1, ...] with ``ndim`` axes, True on the frames of a sequence"""
    mask = tf.range(num_frames)[:, None] < lens[None, :]
    return mask if ndim == 2 else mask[(slice(None), slice(None)) + (None,) * (ndim - 2)]


def enter_time(x: tf.Tensor, lens: tf.Tensor, *, direction: int) -> tf.Tensor:
    """Prepare an input of a loop over time.

    Padding becomes 0 (it may be NaN, and 0 * NaN would spoil gradients), direction -1 reverses each sequence, and a
    batch without any frame gets one of padding, as TensorFlow cannot stack the outputs of no frame.

    :param x: [T, B, ...]
    :param lens: int32 [B], at most T
    :param direction: 1 or -1
    :return: [max(T, 1), B, ...]
    """
    if direction not in (1, -1):
        raise ValueError(f"direction must be 1 or -1, not {direction!r}")
    num_frames = tf.shape(x)[0]
    shape = x.shape
    x = tf.where(time_mask(lens, num_frames, ndim=shape.ndims), x, tf.zeros((), x.dtype))
    if direction == -1:
        x = tf.reverse_sequence(x, lens, seq_axis=0, batch_axis=1)
    x = tf.pad(x, [[0, tf.cast(tf.equal(num_frames, 0), tf.int32)]] + [[0, 0]] * (shape.ndims - 1))
    x.set_shape([None, *shape[1:]])
    return x


def leave_time(y: tf.Tensor, lens: tf.Tensor, *, num_frames: tf.Tensor, direction: int) -> tf.Tensor:
    """Turn an output of the loop back to the frames of its input.

    :param y: [max(T, 1), B, ...]
    :param lens: int32 [B]
    :param num_frames: T
    :param direction: 1 or -1
    :return: [T, B, ...], 0 behind the end of each sequence
    """
    y = y[:num_frames]
    if direction == -1:
        y = tf.reverse_sequence(y, lens, seq_axis=0, batch_axis=1)
    return tf.where(time_mask(lens, num_frames, ndim=y.shape.ndims), y, tf.zeros((), y.dtype))


def last_frame(y: tf.Tensor, lens: tf.Tensor, *, initial: tf.Tensor) -> tf.Tensor:
    """
    :param y: [T, B, ...], T > 0
    :param lens: int32 [B]
    :param initial: [B, ...]
    :return: [B, ...], of each sequence its last frame, or its ``initial`` if it has none
    """
    index = tf.stack([tf.maximum(lens - 1, 0), tf.range(tf.shape(lens)[0])], axis=1)
    return where_sequence(lens > 0, tf.gather_nd(y, index), initial)


def where_sequence(condition: tf.Tensor, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """:return: [B, ...], of each sequence its ``a`` [B, ...] if ``condition`` (bool [B]), else its ``b`` [B, ...]"""
    return tf.where(tf.reshape(condition, [-1] + [1] * (a.shape.ndims - 1)), a, b)
