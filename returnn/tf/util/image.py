"""Warping of images: augmentation of spectrograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.tf.compat import tf


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> tf.Tensor:
    """
    ``out[b, y, x] = image[b, y - flow[b, y, x, 0], x - flow[b, y, x, 1]]``, bilinear between pixels; outside of the
    image the nearest pixel of its border.

    :param image: [B, H, W, C]
    :param flow: float [B, H, W, 2], in pixels
    :param name: of the operations
    :return: [B, H, W, C]
    """
    with tf.name_scope(name):
        image, flow = tf.convert_to_tensor(image), tf.convert_to_tensor(flow)
        num_images, height, width, _ = tf.unstack(tf.shape(image))
        y = tf.cast(tf.range(height), flow.dtype)[:, None] - flow[..., 0]
        x = tf.cast(tf.range(width), flow.dtype)[None, :] - flow[..., 1]
        y0, y_part = _cell(y, height)
        x0, x_part = _cell(x, width)
        batch = tf.broadcast_to(tf.range(num_images)[:, None, None], tf.shape(y0))

        def pixels(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
            rows, columns = tf.minimum(rows, height - 1), tf.minimum(columns, width - 1)
            return tf.gather_nd(image, tf.stack([batch, rows, columns], axis=-1))

        x_part, y_part = (tf.cast(part, image.dtype)[..., None] for part in (x_part, y_part))
        top = pixels(y0, x0) * (1 - x_part) + pixels(y0, x0 + 1) * x_part
        bottom = pixels(y0 + 1, x0) * (1 - x_part) + pixels(y0 + 1, x0 + 1) * x_part
        out = top * (1 - y_part) + bottom * y_part
        out.set_shape(image.shape)
        return out


def _cell(position: tf.Tensor, size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """
    :return: index of the pixel at or before the position, and what is left of the way to the next
    """
    position = tf.clip_by_value(position, 0, tf.cast(size - 1, position.dtype))
    start = tf.floor(position)
    return tf.cast(start, tf.int32), position - start


def create_random_warp_flow_2d(
    shape: Sequence[Any], std: float | Sequence[float] | None = None, scale: float = 10.0, blur_std: float = 2.0
) -> tf.Tensor:
    """
    Smooth random flow: normal noise on a coarse grid, blurred with a Gaussian, and resized.

    :param shape: (B, H, W), ints or scalars
    :param std: standard deviation of the noise, in pixels; or one for each of the two directions. Must be given
    :param scale: the grid is coarser by this factor
    :param blur_std: standard deviation of the Gaussian, in points of the grid; 0: no blur
    :return: float32 [B, H, W, 2], for :func:`dense_image_warp`
    """
    if std is None:
        raise ValueError("create_random_warp_flow_2d: std is needed")
    num_images, height, width = shape
    small = [tf.maximum(tf.cast(tf.cast(size, tf.float32) / scale, tf.int32), 1) for size in (height, width)]
    flow = tf.random.normal([num_images, *small, 2]) * tf.constant(std, tf.float32)
    if blur_std > 0:
        kernel = _gaussian(blur_std)
        for axis_shape in ([-1, 1, 1, 1], [1, -1, 1, 1]):
            filters = tf.constant(numpy.tile(kernel.reshape(axis_shape), [1, 1, 2, 1]))
            flow = tf.nn.depthwise_conv2d(flow, filters, strides=[1, 1, 1, 1], padding="SAME")
    return tf.image.resize(flow, [height, width])


def _gaussian(std: float) -> numpy.ndarray:
    """
    :return: density at -2 std .. 2 std, sum 1
    """
    radius = max(1, int(numpy.ceil(2 * std)))
    values = numpy.exp(-0.5 * (numpy.arange(-radius, radius + 1) / std) ** 2)
    return (values / values.sum()).astype("float32")
