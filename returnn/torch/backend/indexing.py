"""Padding and selection along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional


def pad(x: torch.Tensor, paddings: Sequence[tuple[int, int]], *, mode: str, value: Any) -> torch.Tensor:
    """
    :param paddings: before and behind, for each axis
    :param mode: constant, reflect, symmetric
    :param value: for constant
    """
    if mode == "constant":
        return functional.pad(x, [n for pair in reversed(paddings) for n in pair], value=value)
    for axis, (before, behind) in enumerate(paddings):
        if before or behind:
            places = torch.arange(-before, x.shape[axis] + behind, device=x.device)
            x = torch.index_select(x, axis, _mirrored(places, x.shape[axis], mode=mode))
    return x


def _mirrored(places: torch.Tensor, size: int, *, mode: str) -> torch.Tensor:
    """
    :param places: on an axis that goes on at both ends
    :param size: of the axis
    :param mode: reflect: the border is there once; symmetric: twice
    :return: places inside
    """
    last = 2 * (size - 1) if mode == "reflect" else 2 * size - 1
    period = last if mode == "reflect" else last + 1
    places = torch.remainder(places, max(period, 1))
    return torch.minimum(places, last - places)


def gather(x: torch.Tensor, indices: torch.Tensor, *, axis: int, batch_dims: int = 0) -> torch.Tensor:
    """
    :param indices: int, on any device
    :return: the indices' axes (behind the first batch_dims, which both share) replace the axis
    """
    indices = indices.to(x.device, non_blocking=True)
    if batch_dims:
        return _batched_gather(x, indices, axis=axis, batch_dims=batch_dims)
    if x.ndim == 2 and axis == 0:
        return functional.embedding(indices, x)
    flat = torch.index_select(x, axis, indices.reshape(-1))
    return flat.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def _batched_gather(x: torch.Tensor, indices: torch.Tensor, *, axis: int, batch_dims: int) -> torch.Tensor:
    batch, inner = x.shape[:batch_dims], indices.shape[batch_dims:]
    before, behind = x.shape[batch_dims:axis], x.shape[axis + 1 :]
    rows = torch.movedim(x, axis, batch_dims).reshape(math.prod(batch), x.shape[axis], *before, *behind)
    sequence = torch.arange(len(rows), device=x.device)[:, None]
    picked = rows[sequence, indices.reshape(len(rows), math.prod(inner))]
    picked = picked.reshape(batch + inner + before + behind)
    places = range(batch_dims, batch_dims + len(inner))
    return torch.movedim(picked, tuple(places), tuple(p + len(before) for p in places))


def one_hot(x: torch.Tensor, depth: int, dtype: torch.dtype) -> torch.Tensor:
    """
    :return: [.., depth], all 0 where x is outside of it
    """
    return (x.unsqueeze(-1) == torch.arange(depth, device=x.device)).to(dtype)
