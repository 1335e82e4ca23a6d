"""Recurrence over time for any cell, by a plain ``while_loop`` that TensorFlow differentiates.

Contract: outputs are 0 behind the end of a sequence, no gradient comes from there or goes there, and the state stays
that of the last real frame. Direction -1 reads each sequence from its own end: its last state is that after frame 0.
What does not depend on the previous frame (input times weights plus bias) is computed before the loop for all frames.

T frames, B sequences, D inputs, n units. The LSTM without peepholes has a faster kernel, in ``lstm.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from returnn.tf.compat import tf, v1

from .padding import enter_time, full_lens, leave_time, where_sequence


def rnn(
    x: tf.Tensor,
    *,
    cell: str,
    params: Mapping[str, tf.Tensor],
    lens: tf.Tensor | None = None,
    initial_state: Sequence[tf.Tensor] | None = None,
    direction: int = 1,
    **options: Any,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Run a cell over all frames.

    :param x: float32 [T, B, D]
    :param cell: "lstm", "gru" or "basicrnn"
    :param params: as the class of the cell describes them
    :param lens: int32 [B], default: all sequences have T frames
    :param initial_state: each [B, n], default 0
    :param direction: 1, or -1 for each sequence from its own end
    :param options: of the class of the cell
    :return: outputs [T, B, n], and the states after the last frame of each sequence, each [B, n]
    """
    if cell not in _CELLS:
        raise ValueError(f"unknown cell {cell!r}, known: {', '.join(_CELLS)}")
    instance = _CELLS[cell](params, **options)
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
    lens = full_lens(x) if lens is None else lens
    num_frames = tf.shape(x)[0]
    x = enter_time(x, lens, direction=direction)
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
    return leave_time(outputs.stack(), lens, num_frames=num_frames, direction=direction), last_state


class _Frames:
    """The frames of x [T, B, ...], one at a time: ``frames[t]`` is x[t], whose gradient takes no memory of T frames."""

    def __init__(self, x: tf.Tensor) -> None:
        self._array = tf.TensorArray(x.dtype, tf.shape(x)[0]).unstack(x)
        self._shape = x.shape[1:]

    def __getitem__(self, t: tf.Tensor) -> tf.Tensor:
        frame = self._array.read(t)
        frame.set_shape(self._shape)
        return frame


# ---------------------------------------------------------------------------------------------------------------------
# Cells. Kernels have the rows of the input first, then those of h.


class _Cell(Protocol):
    num_units: int
    num_states: int

    def project(self, x: tf.Tensor) -> Any:
        """What depends on the input only, for all frames."""

    def step(self, frame: Any, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """One frame: output [B, n] and new state."""


class _LstmCell:
    """c' = sigmoid(f + forget_bias) c + sigmoid(i) tanh(j), h' = sigmoid(o) tanh(c'), state h, c.

    Gates = [x, h] kernel + bias. Peepholes, if given: w_i_diag c is added to i, w_f_diag c to f, w_o_diag c' to o.

    :param params: kernel [D+n, 4n], bias [4n]; or with them w_i_diag, w_f_diag, w_o_diag [n]
    :param gate_order: of the columns: j cell input, i input gate, f forget gate, o output gate
    """

    num_states = 2

    def __init__(self, params: Mapping[str, tf.Tensor], *, gate_order: str = "ijfo", forget_bias: float = 0.0) -> None:
        self.num_units = params["bias"].shape[0] // 4
        self._w, self._w_re = _split_rows(params["kernel"], self.num_units)
        self._b = params["bias"]
        self._peepholes = {gate: params.get(f"w_{gate}_diag") for gate in "ifo"}
        self._gate_order = gate_order
        self._forget_bias = forget_bias

    def project(self, x: tf.Tensor) -> tf.Tensor:
        return _dense(x, self._w, self._b)

    def step(self, frame: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        h, c = state
        parts = tf.split(frame + tf.matmul(h, self._w_re), 4, axis=1)
        gates = dict(zip(self._gate_order, parts, strict=True))
        i = tf.sigmoid(self._peep("i", gates["i"], c))
        f = tf.sigmoid(self._peep("f", gates["f"] + self._forget_bias, c))
        c = f * c + i * tf.tanh(gates["j"])
        h = tf.sigmoid(self._peep("o", gates["o"], c)) * tf.tanh(c)
        return h, [h, c]

    def _peep(self, gate: str, value: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
        weight = self._peepholes[gate]
        return value if weight is None else value + weight * c


class _GruCell:
    """r, u = sigmoid([x, h] gates), h' = u h + (1 - u) tanh([x, r h] candidate), state h.

    :param params: gates/kernel [D+n, 2n], gates/bias [2n], columns r, u; candidate/kernel [D+n, n], candidate/bias [n]
    """

    num_states = 1

    def __init__(self, params: Mapping[str, tf.Tensor]) -> None:
        self.num_units = params["candidate/bias"].shape[0]
        self._w_gates, self._w_re_gates = _split_rows(params["gates/kernel"], self.num_units)
        self._w_candidate, self._w_re_candidate = _split_rows(params["candidate/kernel"], self.num_units)
        self._b_gates, self._b_candidate = params["gates/bias"], params["candidate/bias"]

    def project(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return _dense(x, self._w_gates, self._b_gates), _dense(x, self._w_candidate, self._b_candidate)

    def step(self, frame: tuple[tf.Tensor, tf.Tensor], state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        (h,) = state
        gates, candidate = frame
        r, u = tf.split(tf.sigmoid(gates + tf.matmul(h, self._w_re_gates)), 2, axis=1)
        candidate = tf.tanh(candidate + tf.matmul(r * h, self._w_re_candidate))
        h = u * h + (1.0 - u) * candidate
        return h, [h]


class _BasicRnnCell:
    """h' = tanh([x, h] kernel + bias), state h.

    :param params: kernel [D+n, n], bias [n]
    """

    num_states = 1

    def __init__(self, params: Mapping[str, tf.Tensor]) -> None:
        self.num_units = params["bias"].shape[0]
        self._w, self._w_re = _split_rows(params["kernel"], self.num_units)
        self._b = params["bias"]

    def project(self, x: tf.Tensor) -> tf.Tensor:
        return _dense(x, self._w, self._b)

    def step(self, frame: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        h = tf.tanh(frame + tf.matmul(state[0], self._w_re))
        return h, [h]


_CELLS: dict[str, Callable[..., _Cell]] = {"lstm": _LstmCell, "gru": _GruCell, "basicrnn": _BasicRnnCell}


def _split_rows(kernel: tf.Tensor, num_units: int) -> tuple[tf.Tensor, tf.Tensor]:
    """:return: the rows of kernel [D+n, m] for the input [D, m] and for h [n, m]"""
    return kernel[:-num_units], kernel[-num_units:]


def _dense(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """:return: x w + b, [T, B, m], as one matrix product"""
    shape = tf.shape(x)
    flat = tf.nn.bias_add(tf.matmul(tf.reshape(x, [-1, w.shape[0]]), w), b)
    return tf.reshape(flat, [shape[0], shape[1], w.shape[1]])
