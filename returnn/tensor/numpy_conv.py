"""Convolution and pooling on numpy arrays, tap by tap."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy

Array = numpy.ndarray


def conv(
    x: Array,
    filter: Array,
    *,
    padding: str | Sequence[tuple[int, int]],
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """
    :param x: [batch.., spatial.., in]
    :param filter: [sizes.., in / groups, out]
    :param padding: of zeros, before and behind, for each spatial axis; or "same" as TensorFlow has it
    :param strides: of each spatial axis, as many as these are
    :param dilation: the same
    :param groups: 1: each output sees all inputs
    :return: [batch.., spatial.., out]
    """
    sizes, num = filter.shape[:-2], len(strides)
    x = _padded(x, padding, _spans(sizes, dilation), strides)
    counts = _counts(x.shape[-1 - num : -1], _spans(sizes, dilation), strides)
    parts = []
    for part, weights in zip(numpy.split(x, groups, -1), numpy.split(filter, groups, -1), strict=True):
        y = numpy.zeros((*x.shape[: -1 - num], *counts, weights.shape[-1]), x.dtype)
        for tap in itertools.product(*map(range, sizes)):
            y += part[_frames_at(tap, strides, dilation, counts)] @ weights[tap]
        parts.append(y)
    return numpy.concatenate(parts, -1)


def transposed_conv(
    x: Array, filter: Array, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]
) -> Array:
    """
    :param x: [batch.., spatial.., in]
    :param filter: [sizes.., out, in]
    :param strides: of each spatial axis
    :param left: frames that are dropped in front
    :param extra: of n frames become n * stride + extra
    :return: [batch.., spatial.., out]
    """
    sizes, num = filter.shape[:-2], len(strides)
    lengths = x.shape[-1 - num : -1]
    wanted = [n * stride + more for n, stride, more in zip(lengths, strides, extra, strict=True)]
    full = [max(n + a, n + k) for n, a, k in zip(wanted, left, sizes, strict=True)]
    y = numpy.zeros((*x.shape[: -1 - num], *full, filter.shape[-2]), x.dtype)
    for tap in itertools.product(*map(range, sizes)):
        y[_frames_at(tap, strides, [1] * num, lengths)] += x @ filter[tap].T
    index: Any = (..., *[slice(a, a + n) for a, n in zip(left, wanted, strict=True)], slice(None))
    return y[index]


def pool(
    x: Array, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool
) -> Array:
    """
    :param x: [batch.., spatial.., channels]
    :param mode: max, avg
    :param same: ceil(length / stride) windows, and borders do not count; else only windows that fit
    :return: [batch.., positions.., channels]
    """
    num, spans = len(size), _spans(size, dilation)
    padding: Any = "same" if same else [(0, 0)] * num
    counted = numpy.ones((*x.shape[-1 - num : -1], 1), x.dtype)  # 0 outside: borders do not count
    counted = _padded(counted, padding, spans, strides)
    x = _padded(x, padding, spans, strides, fill=-numpy.inf if mode == "max" else 0.0)
    counts = _counts(x.shape[-1 - num : -1], spans, strides)
    places = [_frames_at(tap, strides, dilation, counts) for tap in itertools.product(*map(range, size))]
    taps = numpy.stack([x[place] for place in places])
    if mode == "max":
        return taps.max(0)
    return (taps.sum(0) / numpy.stack([counted[place] for place in places]).sum(0)).astype(x.dtype)


def _spans(sizes: Sequence[int], dilation: Sequence[int]) -> list[int]:
    return [(k - 1) * step + 1 for k, step in zip(sizes, dilation, strict=True)]


def _counts(lengths: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> list[int]:
    """:return: number of windows that fit, on each spatial axis"""
    return [max(-(-(n - span + 1) // stride), 0) for n, span, stride in zip(lengths, spans, strides, strict=True)]


def _padded(
    x: Array, padding: str | Sequence[tuple[int, int]], spans: Sequence[int], strides: Sequence[int], fill: float = 0.0
) -> Array:
    num = len(spans)
    if isinstance(padding, str):
        lengths = x.shape[-1 - num : -1]
        padding = [same_borders(*sizes) for sizes in zip(lengths, spans, strides, strict=True)]
    return numpy.pad(x, [*[(0, 0)] * (x.ndim - 1 - num), *padding, (0, 0)], constant_values=fill)


def same_borders(length: int, span: int, stride: int) -> tuple[int, int]:
    """
    :return: frames before and behind that give ceil(length / stride) windows, as TensorFlow has it
    """
    total = max((-(-length // stride) - 1) * stride + span - length, 0)
    return total // 2, total - total // 2


def _frames_at(tap: Sequence[int], strides: Sequence[int], dilation: Sequence[int], counts: Sequence[int]) -> Any:
    """:return: index of the frames [batch.., spatial.., channels] that this place in the filter sees"""
    ranges = []
    for i, stride, step, count in zip(tap, strides, dilation, counts, strict=True):
        ranges.append(slice(i * step, i * step + count * stride, stride))
    return (..., *ranges, slice(None))
