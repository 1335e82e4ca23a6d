"""Convolution and pooling, each as one graph operation where TensorFlow allows it.

Gaps of its kernels on CPU are filled here: gradients of dilated and of grouped convolutions, and inputs and results
without any sequence or frame. On those, gradients are garbage or kill the process, and where TensorFlow takes the
kernels of oneDNN (by default on processors with AVX-512 VNNI), results have wrong shapes, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.tensor.backend import Raw, Size
from returnn.tf.compat import tf
from returnn.tf.util.ops import constant

from .shapes import shape_vector, size_of_axis

Borders = Sequence[tuple[Size, Size]]
"""of each spatial axis, before and behind"""


def conv(
    x: Raw,
    filter: Raw,
    *,
    padding: str | Borders,
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Raw:
    """
    :param x: [batch.., spatial.., in]
    :param filter: [sizes.., in / groups, out]
    :param padding: of zeros; or "same" as TensorFlow has it
    :param strides: of each spatial axis, as many as these are
    :param dilation: the same
    :param groups: 1: each output sees all inputs
    :return: [batch.., spatial.., out]
    """
    x, restore = _one_batch_axis(x, len(strides))
    strides, dilation = list(strides), list(dilation)
    sizes, multiplier = filter.shape[:-2].as_list(), filter.shape[-1] // groups
    depthwise = groups > 1 and groups == x.shape[-1] and len(sizes) < 3
    if len(sizes) == 1:  # in two dims, the first of size 1
        sizes, strides, dilation = [1, *sizes], [1, *strides], [1, *dilation]
        padding = padding if padding == "same" else [(0, 0), *padding]
        if not depthwise:
            filter = _expand(filter, 0)
    spans = [(k - 1) * step + 1 for k, step in zip(sizes, dilation, strict=True)]
    out_sizes = _result_sizes(x, padding, spans, strides)
    x = _fill_empty_axes(x)
    padding = _at_least_one_frame(x, padding, spans)
    if depthwise:
        filter = tf.reshape(filter, [*sizes, groups, multiplier])
        if x.shape[1] == 1 and sizes[0] == 1:
            strides[0] = strides[1]  # the kernel knows only equal ones; on an axis of size 1 they change nothing
    every = [1] * len(strides)
    # no kernel for these: all positions, and then every so many of them
    if (max(dilation) > 1 and max(strides) > 1) or (depthwise and len(set(strides)) > 1):
        if padding == "same":
            padding = [same_borders(size_of_axis(x, 1 + i), spans[i], strides[i]) for i in range(len(strides))]
        every, strides = strides, every
    if padding != "same" and (max(dilation) > 1 or len(strides) > 2):
        x = tf.pad(x, [(0, 0), *padding, (0, 0)])
        padding = [(0, 0)] * len(strides)
    options: dict[str, Any] = {"padding": padding, "strides": strides, "dilation": dilation}
    if depthwise:
        y = _depthwise_conv(x, filter, **options)
    elif groups > 1:
        pairs = zip(tf.split(x, groups, -1), tf.split(filter, groups, -1), strict=True)
        y = tf.concat([_plain_conv(part, weights, **options) for part, weights in pairs], -1)
    else:
        y = _plain_conv(x, filter, **options)
    return restore(_keep_first(_every(y, every), out_sizes))


def _plain_conv(x: Raw, filter: Raw, *, padding: str | Borders, strides: list[int], dilation: list[int]) -> Raw:
    name = "SAME" if padding == "same" else "VALID"
    if max(dilation) > 1:
        return tf.nn.convolution(x, filter, padding=name, dilations=dilation)
    if len(strides) == 3:
        return tf.nn.conv3d(x, filter, [1, *strides, 1], name)
    return tf.nn.conv2d(x, filter, [1, *strides, 1], _explicit(padding) or name)


def _depthwise_conv(x: Raw, filter: Raw, *, padding: str | Borders, strides: list[int], dilation: list[int]) -> Raw:
    """
    :param filter: [sizes.., in, out of each in]
    """
    name = "SAME" if padding == "same" else "VALID"
    if max(dilation) > 1:
        return tf.nn.depthwise_conv2d(x, filter, [1, 1, 1, 1], name, dilations=dilation)
    explicit = _explicit(padding)
    return tf.raw_ops.DepthwiseConv2dNative(
        input=x,
        filter=filter,
        strides=[1, *strides, 1],
        padding="EXPLICIT" if explicit else name,
        explicit_paddings=[n for pair in explicit for n in pair],
    )


def _explicit(padding: str | Borders) -> list[tuple[Size, Size]]:
    """:return: of all four axes; empty if there is none"""
    if padding == "same" or not any(map(any, padding)):
        return []
    return [(0, 0), *padding, (0, 0)]


def transposed_conv(x: Raw, filter: Raw, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]) -> Raw:
    """
    :param x: [batch.., spatial.., in]
    :param filter: [sizes.., out, in]
    :param strides: of each spatial axis
    :param left: frames that are dropped in front
    :param extra: of n frames become n * stride + extra
    :return: [batch.., spatial.., out]
    """
    x, restore = _one_batch_axis(x, len(strides))
    strides, left, extra = list(strides), list(left), list(extra)
    if len(strides) == 1:
        filter = _expand(filter, 0)
        strides, left, extra = [1, *strides], [0, *left], [0, *extra]
    sizes = filter.shape[:-2].as_list()
    right = [k - s - a - e for k, s, a, e in zip(sizes, strides, left, extra, strict=True)]
    lengths = [size_of_axis(x, 1 + i) for i in range(len(strides))]
    batch, out = size_of_axis(x, 0), int(filter.shape[-2])
    if len(strides) == 2:
        borders = [(a, max(b, 0)) for a, b in zip(left, right, strict=True)]
        shape = [batch, *[n * s + e if s + e > 1 else n for n, s, e in zip(lengths, strides, extra, strict=True)], out]
        return restore(
            tf.raw_ops.Conv2DBackpropInput(
                input_sizes=tf.stack(shape),
                filter=filter,
                out_backprop=x,
                strides=[1, *strides, 1],
                padding="EXPLICIT",
                explicit_paddings=[0, 0, *[n for pair in borders for n in pair], 0, 0],
            )
        )
    full = [tf.maximum((n - 1) * s + k, 0) for n, s, k in zip(lengths, strides, sizes, strict=True)]
    y = tf.nn.conv3d_transpose(x, filter, tf.stack([batch, *full, out]), [1, *strides, 1], "VALID")
    y = y[(slice(None), *[slice(a, -b if b > 0 else None) for a, b in zip(left, right, strict=True)])]
    return restore(tf.pad(y, [(0, 0), *[(0, max(-b, 0)) for b in right], (0, 0)]))


def pool(x: Raw, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool) -> Raw:
    """
    :param x: [batch, spatial.., channels]
    :param mode: max, avg
    :param same: ceil(length / stride) windows, and borders do not count; else only windows that fit
    :return: [batch, positions.., channels]
    """
    num = len(size)
    x, restore = _one_batch_axis(x, num)
    size, strides, dilation = ([1, *n] if num == 1 else list(n) for n in (size, strides, dilation))
    spans = [(n - 1) * step + 1 for n, step in zip(size, dilation, strict=True)]
    borders: str | Borders = "same" if same else [(0, 0)] * len(size)
    out_sizes = _result_sizes(x, borders, spans, strides)
    x = _fill_empty_axes(x)
    borders = _at_least_one_frame(x, borders, spans)
    padding: Any = "SAME" if same else "VALID"
    if mode == "max" and len(size) == 2 and max(dilation) == 1:
        y = tf.nn.max_pool2d(x, size, strides, _explicit(borders) or padding)
        return restore(_keep_first(y, out_sizes))
    if not same and any(map(any, borders)):
        fill = -math.inf if mode == "max" else 0.0
        x = tf.pad(x, [(0, 0), *borders, (0, 0)], constant_values=numpy.asarray(fill, x.dtype.as_numpy_dtype))
    if mode == "avg" and len(size) == 2 and max(dilation) == 1:
        y = tf.nn.avg_pool2d(x, size, strides, padding)
    else:
        y = tf.nn.pool(x, size, mode.upper(), strides=strides, padding=padding, dilations=dilation)
    return restore(_keep_first(y, out_sizes))


def same_borders(length: Any, span: int, stride: int) -> tuple[Any, Any]:
    """
    :param length: int or scalar
    :return: frames before and behind that give ceil(length / stride) windows, as TensorFlow has it
    """
    total = tf.maximum((-(-length // stride) - 1) * stride + span - length, 0)
    return total // 2, total - total // 2


def _one_batch_axis(x: Raw, num_spatial: int) -> tuple[Raw, Callable[[Raw], Raw]]:
    """
    :param x: [batch.., spatial.., channels]
    :param num_spatial: number of spatial axes
    :return: with one batch axis, and two spatial ones where it was one, the first of them of size 1; and what undoes
        that
    """
    num_batch = x.shape.rank - 1 - num_spatial
    if num_batch == 1:
        if num_spatial > 1:
            return x, lambda y: y
        return _expand(x, 1), lambda y: tf.squeeze(y, [1])
    batch = [size_of_axis(x, i) for i in range(num_batch)]
    rest = [size_of_axis(x, i) for i in range(num_batch, x.shape.rank)]

    def restore(y: Raw) -> Raw:
        start = y.shape.rank - 1 - num_spatial
        return tf.reshape(y, [*batch, *[size_of_axis(y, i) for i in range(start, y.shape.rank)]])

    return tf.reshape(x, [math.prod(batch), *[1] * (num_spatial == 1), *rest]), restore


def _fill_empty_axes(x: Raw) -> Raw:
    """
    :param x: [batch, spatial.., channels]
    :return: with one entry of zeros on each axis that has none; the same memory where there is no such axis
    """
    if all(x.shape):
        return x
    filled = tf.cast(tf.equal(shape_vector(x), 0), tf.int32)
    res = tf.raw_ops.Pad(input=x, paddings=tf.stack([constant((0,) * x.shape.rank), filled], axis=1))
    res.set_shape([n or None for n in x.shape])
    return res


def _expand(x: Raw, axis: int) -> Raw:
    """:return: with a new axis of size 1"""
    return tf.raw_ops.ExpandDims(input=x, axis=constant(axis))


def _result_sizes(x: Raw, padding: str | Borders, spans: Sequence[int], strides: Sequence[int]) -> list[Size | None]:
    """
    :param x: [batch, spatial.., channels]
    :return: of each axis but the last; None: known to be what a kernel gives for such an input
    """
    res: list[Size | None] = [None if x.shape[0] else size_of_axis(x, 0)]
    for i, (span, stride) in enumerate(zip(spans, strides, strict=True)):
        length = size_of_axis(x, 1 + i)
        if padding == "same":
            res.append(None if x.shape[1 + i] else -(-length // stride))
            continue
        before, behind = padding[i]
        if _is_long(x, 1 + i, span - before - behind):
            res.append(None)
        else:
            res.append(tf.maximum((length + before + behind - span) // stride + 1, 0))
    return res


def _at_least_one_frame(x: Raw, padding: str | Borders, spans: Sequence[int]) -> str | Borders:
    """
    :param x: without empty axes
    :return: zeros before and behind, with which the result has at least one frame on each axis
    """
    if padding == "same":
        return padding
    res = []
    for i, ((before, behind), span) in enumerate(zip(padding, spans, strict=True)):
        missing = span - before - behind
        res.append((before, behind if _is_long(x, 1 + i, missing) else behind + max(missing - 1, 0)))
    return res


def _is_long(x: Raw, axis: int, length: int) -> bool:
    """:return: whether it is known to be at least that long, and not empty"""
    return bool(x.shape[axis]) and x.shape[axis] >= length


def _keep_first(x: Raw, sizes: Sequence[Size | None]) -> Raw:
    """
    :param sizes: as by :func:`_result_sizes`
    :return: the same memory where nothing is to be dropped
    """
    if all(n is None for n in sizes):
        return x
    return x[tuple(slice(None, n) for n in sizes)]


def _every(x: Raw, steps: Sequence[int]) -> Raw:
    """:return: every so many frames on each spatial axis"""
    if max(steps) == 1:
        return x
    return x[(slice(None), *[slice(None, None, n) for n in steps])]
