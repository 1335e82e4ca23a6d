"""Into a loop over time, and out of it, such that the padding of a batch is never visible.

T frames, B sequences; everything [T, B, ...] is time-major. Direction -1 reads each sequence from its own end.
"""

from __future__ import annotations

import torch


def time_mask(lens: torch.Tensor, num_frames: int, *, ndim: int, device: torch.device) -> torch.Tensor:
    """:return: bool [T, B, 1, ...] with ``ndim`` axes, True on the frames of a sequence"""
    frames = torch.arange(num_frames, dtype=lens.dtype, device=device)
    mask = frames[:, None] < lens.to(device, non_blocking=True)[None, :]
    return mask.reshape(mask.shape + (1,) * (ndim - 2))


def sequence_mask(lens: torch.Tensor, num_frames: int, *, device: torch.device) -> torch.Tensor:
    """:return: bool [B, T], True on the frames of a sequence"""
    return time_mask(lens, num_frames, ndim=2, device=device).T


def reverse_sequence(x: torch.Tensor, lens: torch.Tensor, *, axis: int, batch_axis: int) -> torch.Tensor:
    """:return: x, the first lens[b] entries along the axis in reverse order, the rest as it is"""
    frames = torch.arange(x.shape[axis], device=x.device)[:, None]
    lens = lens.to(x.device, non_blocking=True).long()[None]
    order = torch.where(frames < lens, lens - 1 - frames, frames)  # [T, B]
    shape = [1] * x.ndim
    shape[axis], shape[batch_axis] = x.shape[axis], x.shape[batch_axis]
    index = (order if axis < batch_axis else order.T).reshape(shape)
    return torch.gather(x, axis, index.expand(x.shape))


def enter_time(x: torch.Tensor, lens: torch.Tensor | None, *, direction: int) -> torch.Tensor:
    """
    Prepare an input of a loop over time: padding becomes 0 (it may be NaN, and 0 * NaN would spoil gradients), and
    direction -1 reverses each sequence.

    :param x: [T, B, ...]
    :param lens: int [B], at most T; None: all T
    :param direction: 1 or -1
    :return: of the same shape
    """
    if direction not in (1, -1):
        raise ValueError("direction must be 1 or -1, not %r" % direction)
    if lens is not None:
        x = torch.where(time_mask(lens, len(x), ndim=x.ndim, device=x.device), x, torch.zeros((), dtype=x.dtype))
    if direction == 1:
        return x
    return torch.flip(x, [0]) if lens is None else reverse_sequence(x, lens, axis=0, batch_axis=1)


def leave_time(y: torch.Tensor, lens: torch.Tensor | None, *, direction: int) -> torch.Tensor:
    """
    Turn an output of the loop back to the frames of its input.

    :param y: [T, B, ...]
    :param lens: int [B]; None: all T
    :param direction: 1 or -1
    :return: of the same shape, 0 behind the end of each sequence
    """
    return enter_time(y, lens, direction=direction)  # both are their own inverse


def last_frame(y: torch.Tensor, lens: torch.Tensor | None, *, initial: torch.Tensor) -> torch.Tensor:
    """
    :param y: [T, B, ...]
    :param lens: int [B]; None: all T
    :param initial: [B, ...]
    :return: [B, ...], of each sequence its last frame, or its ``initial`` if it has none
    """
    if not len(y):
        return initial
    if lens is None:
        return y[-1]
    lens = lens.to(y.device, non_blocking=True).long()
    last = y[torch.clamp(lens - 1, min=0), torch.arange(len(lens), device=y.device)]
    return where_sequence(lens > 0, last, initial)


def where_sequence(condition: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """:return: [B, ...], of each sequence its ``a`` [B, ...] if ``condition`` (bool [B]), else its ``b`` [B, ...]"""
    return torch.where(condition.reshape((-1,) + (1,) * (a.ndim - 1)), a, b)
