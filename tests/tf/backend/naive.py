"""Recurrent cells as one writes them first: numpy, one sequence and one frame at a time, no batch, no padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

Step = Callable[[numpy.ndarray, list[numpy.ndarray]], tuple[numpy.ndarray, list[numpy.ndarray]]]


def run_sequences(
    step: Step, x: numpy.ndarray, lens: Sequence[int], initial: Sequence[numpy.ndarray], *, direction: int = 1
) -> tuple[numpy.ndarray, list[numpy.ndarray]]:
    """
    :param step: x[t] [D], state (each [n]) -> output [n], new state
    :param x: [T, B, D]
    :param lens: [B]
    :param initial: each [B, n]
    :param direction: 1, or -1 to start at each sequence's last frame
    :return: outputs [T, B, n], 0 behind the end; last states, each [B, n]
    """
    outputs = numpy.zeros(x.shape[:2] + initial[0].shape[1:], x.dtype)
    last = [numpy.array(s, x.dtype) for s in initial]
    for b, seq_len in enumerate(lens):
        state = [s[b] for s in initial]
        for t in range(seq_len)[::direction]:
            outputs[t, b], state = step(x[t, b], state)
        for whole, part in zip(last, state, strict=True):
            whole[b] = part
    return outputs, last


def sigmoid(x: numpy.ndarray) -> numpy.ndarray:
    return 1 / (1 + numpy.exp(-x))


def lstm_step(
    w: numpy.ndarray,
    w_re: numpy.ndarray,
    b: numpy.ndarray,
    *,
    gate_order: str,
    forget_bias: float = 0.0,
    peepholes: Sequence[numpy.ndarray] = (0.0, 0.0, 0.0),
) -> Step:
    """State h, c; ``peepholes`` w_i, w_f, w_o."""

    def step(x, state):
        h, c = state
        z = dict(zip(gate_order, numpy.split(x @ w + h @ w_re + b, 4), strict=True))
        i = sigmoid(z["i"] + peepholes[0] * c)
        f = sigmoid(z["f"] + forget_bias + peepholes[1] * c)
        c = f * c + i * numpy.tanh(z["j"])
        h = sigmoid(z["o"] + peepholes[2] * c) * numpy.tanh(c)
        return h, [h, c]

    return step


def gradient(
    f: Callable[[dict[str, numpy.ndarray]], complex], at: dict[str, numpy.ndarray]
) -> dict[str, numpy.ndarray]:
    """df/dx for each entry of each array, by complex steps: Im f(x + i e) / e, exact to rounding in float64."""
    result = {}
    for name, value in at.items():
        result[name] = numpy.zeros(value.shape)
        for index in numpy.ndindex(*value.shape):
            moved = value.astype(complex)
            moved[index] += 1e-30j
            result[name][index] = f({**at, name: moved}).imag / 1e-30
    return result
