"""Recurrence over time for any cell, by a plain ``while_loop`` that TensorFlow differentiates.

Contract: outputs are 0 behind the end of a sequence, no gradient comes from there or goes there, and the state stays
that of the last real frame. Direction -1 reads each sequence from its own end: its last state is that after frame 0.
What does not depend on the previous frame (input times weights plus bias) is computed before the loop for all frames.

T frames, B sequences, D inputs, n units. The cells are in ``rnn_cells.py``. The LSTM without peepholes has a faster
kernel, in ``lstm.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from returnn.tf.compat import tf, v1

from .padding import enter_time, full_lens, leave_time, reversed_in_time, where_sequence
from .rnn_cells import CELLS, Cell
from .user_cells import UserCell


def rnn(
    x: tf.Tensor,
    *,
    cell: str | UserCell,
    params: Mapping[str, tf.Tensor],
    lens: tf.Tensor | None = None,
    initial_state: Sequence[tf.Tensor] | None = None,
    direction: int = 1,
    **options: Any,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Run a cell over all frames.

    :param x: float32 [T, B, D]
    :param cell: one of ``CELLS``; or a cell, without params and options
    :param params: as the class of the cell describes them
    :param lens: int32 [B], default: all sequences have T frames
    :param initial_state: each [B, n], default 0
    :param direction: 1, or -1 for each sequence from its own end
    :param options: of the class of the cell
    :return: outputs [T, B, n], and the states after the last frame of each sequence, each [B, n]
    """
    if isinstance(cell, UserCell):
        instance: Cell = cell
    elif cell in CELLS:
        instance = CELLS[cell](params, **options)
    else:
        raise ValueError(f"unknown cell {cell!r}, known: {', '.join(CELLS)}")
    if initial_state is None:
        initial_state = [tf.zeros([tf.shape(x)[1], instance.num_units])] * instance.num_states
    return rnn_scan(
        instance.step, x, project=instance.project, lens=lens, initial_state=list(initial_state), direction=direction
    )


def rnn_scan(
    step: Callable[[Any, list[tf.Tensor]], tuple[tf.Tensor, list[tf.Tensor]]],
    x: tf.Tensor,
    *,
    project: Callable[[tf.Tensor], Any] = lambda x: x,
    lens: tf.Tensor | None = None,
    initial_state: list[tf.Tensor],
    direction: int = 1,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Run ``output, state = step(project(x)[t], state)`` over all frames.

    :param step: gets a frame of what ``project`` gives (each tensor [B, ...]) and the state before it; gives the
        output [B, ...], of the dtype of the states, and the state after it
    :param x: [T, B, ...]
    :param project: applied once, to all frames [T', B, ...]; gives one tensor [T', B, ...] or a (nested) tuple of them
    :param lens: int32 [B], at most T; default: T
    :param initial_state: tensors [B, ...]
    :param direction: 1, or -1 for each sequence from its own end
    :return: outputs [T, B, ...], and the state after the last frame of each sequence
    """
    if lens is None and x.shape[0] == 1:  # one step, for instance of another loop
        output, state = step(tf.nest.map_structure(lambda a: a[0], project(x)), list(initial_state))
        return tf.expand_dims(output, 0), state
    lens = full_lens(x) if lens is None else lens
    num_frames = tf.shape(x)[0]
    if direction not in (1, -1):
        raise ValueError(f"direction must be 1 or -1, not {direction!r}")
    x = enter_time(reversed_in_time(x, lens) if direction == -1 else x, lens)
    loop_frames = tf.shape(x)[0]
    arrays = tf.nest.map_structure(_Frames, project(x))

    def body(t: tf.Tensor, state: list[tf.Tensor], outputs: tf.TensorArray) -> tuple[Any, ...]:
        output, new_state = step(tf.nest.map_structure(lambda array: array[t], arrays), state)
        inside = t < lens
        carried = [where_sequence(inside, new, old) for new, old in zip(new_state, state, strict=True)]
        for new, old in zip(carried, state, strict=True):
            new.set_shape(old.shape)
        return t + 1, carried, outputs.write(t, output)

    _, last_state, outputs = v1.while_loop(
        lambda t, *_: t < loop_frames,
        body,
        (0, initial_state, tf.TensorArray(initial_state[0].dtype, loop_frames)),
        parallel_iterations=1,
    )
    y = leave_time(outputs.stack(), lens, num_frames=num_frames)
    return reversed_in_time(y, lens) if direction == -1 else y, last_state


class _Frames:
    """The frames of x [T, B, ...], one at a time: ``frames[t]`` is x[t], whose gradient takes no memory of T frames."""

    def __init__(self, x: tf.Tensor) -> None:
        self._array = tf.TensorArray(x.dtype, tf.shape(x)[0]).unstack(x)
        self._shape = x.shape[1:]

    def __getitem__(self, t: tf.Tensor) -> tf.Tensor:
        frame = self._array.read(t)
        frame.set_shape(self._shape)
        return frame
