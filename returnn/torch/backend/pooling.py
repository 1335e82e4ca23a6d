"""Windows over axes: pooling, frames."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.nn import functional

from returnn.tensor.numpy_conv import same_borders

_MAX_POOL = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def frames(x: torch.Tensor, *, axis: int, size: int, stride: int) -> torch.Tensor:
    """
    :return: windows of ``size`` along the axis, every ``stride``: it becomes two, position and place in the window
    """
    if x.shape[axis] < size:
        return x.new_empty(x.shape[:axis] + (0, size) + x.shape[axis + 1 :])
    return x.unfold(axis, size, stride).movedim(-1, axis + 1)


def pool(
    x: torch.Tensor,
    mode: str,
    *,
    size: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    same: bool,
) -> torch.Tensor:
    """
    :param x: [batch, spatial.., channels], up to three spatial axes
    :param mode: max, avg
    :param same: ceil(length / stride) windows, as TensorFlow has it; borders do not count. Else only windows that fit
    :return: [batch, positions.., channels]
    """
    lengths = x.shape[1:-1]
    spans = [(n - 1) * step + 1 for n, step in zip(size, dilation, strict=True)]
    borders = [(0, 0)] * len(lengths)
    if same:
        borders = [same_borders(*sizes) for sizes in zip(lengths, spans, strides, strict=True)]
    padded_lengths = [length + sum(border) for length, border in zip(lengths, borders, strict=True)]
    counts = [
        max(length - span, -stride) // stride + 1
        for length, span, stride in zip(padded_lengths, spans, strides, strict=True)
    ]
    if 0 in x.shape or 0 in counts:
        return x.new_empty((x.shape[0], *counts, x.shape[-1]))
    x = x.movedim(-1, 1)
    if any(map(any, borders)):
        fill = -math.inf if mode == "max" else 0.0
        x = functional.pad(x, [n for border in reversed(borders) for n in border], value=fill)
    if mode == "max":
        y = _MAX_POOL[len(size)](x, list(size), list(strides), dilation=list(dilation))
        return y.movedim(1, -1)
    for i, (span, stride, step) in enumerate(zip(spans, strides, dilation, strict=True)):
        y = x.unfold(2 + i, span, stride)[..., ::step].sum(-1)
        real = functional.pad(x.new_ones(lengths[i]), borders[i]).unfold(0, span, stride)[:, ::step].sum(-1)
        x = y / real.reshape([-1] + [1] * (len(size) - 1 - i))
    return x.movedim(1, -1)
