"""Into a loop over time, and out of it, such that the padding of a batch is never visible.

T frames, B sequences; everything [T, B, ...] is time-major.
"""

from __future__ import annotations

from returnn.tensor.backend import Size
from returnn.tf.compat import tf
from returnn.tf.util import ops

from .shapes import size_of_axis


def full_lens(x: tf.Tensor) -> tf.Tensor:
    """:return: int32 [B], the lengths if each sequence of x [T, B, ...] is as long as the batch"""
    return ops.fill([size_of_axis(x, 1)], size_of_axis(x, 0), tf.int32)


def time_mask(lens: tf.Tensor, num_frames: Size, *, ndim: int) -> tf.Tensor:
    """:return: bool [T, B, 1, ...] with ``ndim`` axes, True on the frames of a sequence"""
    frames = ops.expand_dims(ops.range_to(num_frames), 1)
    mask = ops.compare("Less", frames, ops.expand_dims(lens, 0))
    for axis in range(2, ndim):
        mask = ops.expand_dims(mask, axis)
    return mask


def enter_time(x: tf.Tensor, lens: tf.Tensor) -> tf.Tensor:
    """Prepare an input of a loop over time.

    Padding becomes 0 (it may be NaN, and 0 * NaN would spoil gradients), and a batch without any frame gets one of
    padding, as TensorFlow cannot stack the outputs of no frame.

    :param x: [T, B, ...]
    :param lens: int32 [B], at most T
    :return: [max(T, 1), B, ...]
    """
    num_frames, shape = size_of_axis(x, 0), x.shape
    x = ops.select(time_mask(lens, num_frames, ndim=shape.rank), x, ops.constant(0, x.dtype))
    if isinstance(num_frames, int) and num_frames > 0:
        return x
    is_empty = ops.cast(ops.compare("Equal", tf.convert_to_tensor(num_frames), ops.constant(0)), tf.int32)
    paddings = ops.reshape(ops.vector([0, is_empty, *[0, 0] * (shape.rank - 1)]), [shape.rank, 2])
    x = ops.op("Pad", x, paddings, T=x.dtype, Tpaddings=tf.int32)
    x.set_shape([None, *shape[1:]])
    return x


def leave_time(y: tf.Tensor, lens: tf.Tensor, *, num_frames: Size) -> tf.Tensor:
    """Turn an output of the loop back to the frames of its input.

    :param y: [max(T, 1), B, ...]
    :param lens: int32 [B]
    :param num_frames: T
    :return: [T, B, ...], 0 behind the end of each sequence
    """
    y = ops.slice_axis(y, 0, None, num_frames)
    return ops.select(time_mask(lens, num_frames, ndim=y.shape.rank), y, ops.constant(0, y.dtype))


def reversed_in_time(x: tf.Tensor, lens: tf.Tensor) -> tf.Tensor:
    """
    :param x: [T, B, ...]
    :param lens: int32 [B]
    :return: each sequence from its own end; padding stays
    """
    return ops.op("ReverseSequence", x, lens, T=x.dtype, Tlen=lens.dtype, seq_dim=0, batch_dim=1)


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
