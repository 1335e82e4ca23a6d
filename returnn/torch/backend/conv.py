"""Convolution and its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from returnn.tensor.numpy_conv import same_borders

_CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


def conv(
    x: torch.Tensor,
    filter: torch.Tensor,
    *,
    padding: str | Sequence[tuple[int, int]],
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> torch.Tensor:
    """
    :param x: [batch.., spatial.., in]
    :param filter: [sizes.., in / groups, out]
    :param padding: of zeros, before and behind, for each spatial axis; or "same" as TensorFlow has it
    :param strides: of each spatial axis, as many as these are
    :param dilation: the same
    :param groups: 1: each output sees all inputs
    :return: [batch.., spatial.., out]
    """
    num = len(strides)
    lengths = x.shape[-1 - num : -1]
    spans = [(k - 1) * step + 1 for k, step in zip(filter.shape[:-2], dilation, strict=True)]
    if isinstance(padding, str):
        padding = [same_borders(*sizes) for sizes in zip(lengths, spans, strides, strict=True)]
    missing = [max(span - n - sum(pair), 0) for span, n, pair in zip(spans, lengths, padding, strict=True)]
    symmetric = all(before == behind for before, behind in padding) and not any(missing)

    def run(x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(-1, 1)
        if not symmetric:
            x = functional.pad(
                x,
                [n for (a, b), more in reversed(list(zip(padding, missing, strict=True))) for n in (a, b + more)],
            )
        w = filter.movedim((-1, -2), (0, 1))
        own = [before for before, _ in padding] if symmetric else 0
        y = _CONV[num](x, w, None, list(strides), own, list(dilation), groups)
        for i, more in enumerate(missing):  # no window fits, so there is no frame: one was made, for the gradient
            y = y.narrow(2 + i, 0, 0) if more else y
        return y.movedim(1, -1)

    return on_one_batch_axis(run, x, num)


def transposed_conv(
    x: torch.Tensor, filter: torch.Tensor, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]
) -> torch.Tensor:
    """
    :param x: [batch.., spatial.., in]
    :param filter: [sizes.., out, in]
    :param strides: of each spatial axis
    :param left: frames that are dropped in front
    :param extra: of n frames become n * stride + extra
    :return: [batch.., spatial.., out]
    """
    num = len(strides)
    borders = []
    for k, stride, before, more in zip(filter.shape[:-2], strides, left, extra, strict=True):
        borders += [-before, before + more + stride - k]
    shape = [n * stride + more for n, stride, more in zip(x.shape[-1 - num : -1], strides, extra, strict=True)]

    def run(x: torch.Tensor) -> torch.Tensor:
        if 0 in x.shape:
            return x.new_zeros((x.shape[0], *shape, filter.shape[-2]))
        y = _TRANSPOSED[num](x.movedim(-1, 1), filter.movedim((-1, -2), (0, 1)), None, list(strides))
        pairs = [borders[i : i + 2] for i in range(0, 2 * num, 2)]
        return functional.pad(y, [n for pair in reversed(pairs) for n in pair]).movedim(1, -1)

    return on_one_batch_axis(run, x, num)


def on_one_batch_axis(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, num_spatial: int
) -> torch.Tensor:
    """
    :param function: of a value [batch, spatial.., channels], gives the same layout
    :param x: [batch.., spatial.., channels]
    :param num_spatial: number of spatial axes
    :return: what the function gives, in the layout of x
    """
    batch = x.shape[: -1 - num_spatial]
    return function(x.flatten(0, len(batch) - 1)).unflatten(0, batch)
