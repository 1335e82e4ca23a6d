"""Recurrence over time for any cell, frame by frame.

Contract: outputs are 0 behind the end of a sequence, no gradient comes from there or goes there, and the state stays
that of the last real frame. Direction -1 reads each sequence from its own end: its last state is that after frame 0.
What does not depend on the previous frame (input times weights plus bias) is computed before the loop for all frames.

T frames, B sequences, D inputs, n units. The cells are in ``rnn_cells.py``; the LSTM without peepholes has a faster
kernel, in ``lstm.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from .padding import enter_time, leave_time, time_mask
from .rnn_cells import CELLS, Cell, State


def rnn(
    x: torch.Tensor,
    *,
    cell: str,
    params: Mapping[str, torch.Tensor],
    lens: torch.Tensor | None = None,
    initial_state: Sequence[torch.Tensor] | None = None,
    direction: int = 1,
    **options: Any,
) -> tuple[torch.Tensor, State]:
    """Run a cell over all frames.

    :param x: float [T, B, D]
    :param cell: one of ``CELLS``
    :param params: as the class of the cell describes them
    :param lens: int [B], default: all sequences have T frames
    :param initial_state: each [B, n], default 0
    :param direction: 1, or -1 for each sequence from its own end
    :param options: of the class of the cell
    :return: outputs [T, B, n], and the states after the last frame of each sequence, each [B, n]
    """
    if cell not in CELLS:
        raise ValueError("unknown cell %r, known: %s" % (cell, ", ".join(CELLS)))
    instance: Cell = CELLS[cell](params, **options)
    if initial_state is None:
        initial_state = [x.new_zeros((x.shape[1], instance.num_units))] * instance.num_states
    return scan(
        instance.step, x, project=instance.project, lens=lens, initial_state=list(initial_state), direction=direction
    )


def scan(
    step: Callable[[Any, State], tuple[torch.Tensor, State]],
    x: torch.Tensor,
    *,
    project: Callable[[torch.Tensor], Any] = lambda x: x,
    lens: torch.Tensor | None = None,
    initial_state: State,
    direction: int = 1,
) -> tuple[torch.Tensor, State]:
    """Run ``output, state = step(project(x)[t], state)`` over all frames.

    :param step: gets a frame of what ``project`` gives (each tensor [B, ...]) and the state before it; gives the
        output, like the first part of the state, and the state after it
    :param x: [T, B, ...]
    :param project: applied once, to all frames; gives one tensor [T, B, ...] or a tuple of them
    :param lens: int [B], at most T; default: T
    :param initial_state: tensors [B, ...]
    :param direction: 1, or -1 for each sequence from its own end
    :return: outputs [T, B, ...], and the state after the last frame of each sequence
    """
    state = initial_state
    if not len(x):
        return state[0].new_zeros((0, *state[0].shape)), state
    frames = _frames(project(enter_time(x, lens, direction=direction)))
    outputs = []
    for frame, inside in zip(frames, _inside(lens, x), strict=True):
        output, new_state = step(frame, state)
        outputs.append(output)
        if inside is not None:
            new_state = [torch.where(inside, new, old) for new, old in zip(new_state, state, strict=True)]
        state = new_state
    return leave_time(torch.stack(outputs), lens, direction=direction), state


def _frames(projected: Any) -> Iterator[Any]:
    """:return: of a tensor [T, ..], or a tuple of them, one frame after the other"""
    if isinstance(projected, tuple):
        return zip(*[part.unbind(0) for part in projected], strict=True)
    return iter(projected.unbind(0))


def _inside(lens: torch.Tensor | None, x: torch.Tensor) -> list[torch.Tensor | None]:
    """:return: for each frame bool [B, 1], whether it is before the end of a sequence; None: for all"""
    if lens is None:
        return [None] * len(x)
    masks: list[torch.Tensor | None] = list(time_mask(lens, len(x), ndim=3, device=x.device).unbind(0))
    if lens.device.type == "cpu" and len(lens):
        shortest = int(lens.min())
        masks[:shortest] = [None] * shortest
    return masks
