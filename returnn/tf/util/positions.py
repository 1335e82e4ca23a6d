"""Sinusoids of positions."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.tf.compat import tf


def get_positional_encoding(
    num_channels: int,
    length: Any = None,
    position: Any = None,
    min_timescale: float = 1.0,
    max_timescale: float = 1.0e4,
) -> tf.Tensor:
    """
    :func:`returnn.frontend.sinusoidal_encoding`: half of the channels are sines, the other half cosines; Vaswani et
    al., Attention Is All You Need, 2017. An odd last channel is zero.

    :param num_channels: of the result
    :param length: positions 0 .. length - 1, where ``position`` is not given
    :param position: int or float [..]
    :param min_timescale: factor of the positions in the first channel of a half
    :param max_timescale: in the last one, the factor is ``min_timescale ** 2 / max_timescale``
    :return: float32 [.., num_channels]
    """
    if position is None:
        position = tf.range(length)
    positions = tf.cast(position, tf.float32) * min_timescale
    dims = [Dim(size, description="axis %i" % axis) for axis, size in enumerate(positions.shape.as_list())]
    indices = Tensor("position", dims, "float32", raw_tensor=positions)
    feat_dim = Dim(num_channels, description="channels")
    return rf.sinusoidal_encoding(indices, feat_dim=feat_dim, base=max_timescale / min_timescale).raw_tensor
