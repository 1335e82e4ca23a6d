"""Frames of a signal, and Fourier transforms."""

from __future__ import annotations

import numpy

from returnn.tensor.backend import Raw
from returnn.tf.compat import tf

from .shapes import size_of_axis

_MAX_SLICES = 8
"""Up to this size, frames are slices next to each other: fast also backwards. More would be too many operations."""


def frames(x: Raw, *, axis: int, size: int, stride: int) -> Raw:
    """
    :return: windows of ``size`` along the axis, every ``stride``: it becomes two, position and place in the window
    """
    count = size_of_axis(x, axis) - (size - 1)
    count = max(count, 0) if isinstance(count, int) else tf.maximum(count, 0)
    if size <= _MAX_SLICES:
        before = (slice(None),) * axis
        return tf.stack([x[(*before, slice(i, i + count, stride))] for i in range(size)], axis=axis + 1)
    places = tf.expand_dims(tf.range(0, count, stride), 1) + numpy.arange(size, dtype="int32")
    return tf.gather(x, places, axis=axis)


def fft(x: Raw, size: int, *, kind: str) -> Raw:
    """
    :param x: the last axis is transformed
    :param size: to which it is cut, or filled with zeros
    :param kind: fft, of float32; rfft; irfft, of complex64
    """
    if kind == "rfft":
        return tf.signal.rfft(x, [size])
    if kind == "irfft":
        return tf.signal.irfft(x, [size])
    x = x[..., :size]
    missing = size - int(x.shape[-1])
    if missing:
        x = tf.pad(x, [(0, 0)] * (x.shape.rank - 1) + [(0, missing)])
    return tf.signal.fft(tf.complex(x, tf.zeros_like(x)))  # with tf.cast, gradients would warn
