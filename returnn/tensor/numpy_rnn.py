"""Recurrence in numpy, frame by frame: the plain statement of what the fast kernels compute.

T frames, B sequences, D inputs, n units. Outputs are 0 behind the end of a sequence, states stay those of its last frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy

Array = numpy.ndarray
Step = Callable[[Array, list[Array]], list[Array]]
"""frame [B, ..] and states before it -> states after it, of which the first is the output"""


def lstm(
    z: Array,
    w_re: Array,
    *,
    lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    gate_order: str = "jifo",
    forget_bias: float = 0.0,
    direction: int = 1,
) -> tuple[Array, Array, Array]:
    """
    See :func:`returnn.frontend.rec.lstm`.

    :param z: x W + b, [T, B, 4n]
    :param w_re: [n, 4n]
    :param lens: [B]; None: all frames are real
    :return: output [T, B, n]; last h, last c [B, n]
    """
    zeros = numpy.zeros((z.shape[1], w_re.shape[0]), z.dtype)
    states = [zeros if s is None else s for s in (initial_h, initial_c)]

    def step(frame: Array, states: list[Array]) -> list[Array]:
        h, c = states
        return _lstm_step(frame + h @ w_re, c, gate_order=gate_order, forget_bias=forget_bias, peepholes={})

    y, (h, c) = _scan(step, z, lens=lens, states=states, direction=direction)
    return y, h, c


def rnn(
    x: Array,
    *,
    cell: str,
    params: Mapping[str, Array],
    lens: Array | None = None,
    initial_state: Sequence[Array] | None = None,
    direction: int = 1,
    gate_order: str = "ijfo",
    forget_bias: float = 0.0,
) -> tuple[Array, list[Array]]:
    """
    See :func:`returnn.frontend.rec.rnn`. Rows of kernels: the input, then h.

    :param x: [T, B, D]
    :param cell: lstm (kernel, bias; w_i_diag, w_f_diag, w_o_diag for peepholes), gru (gates/kernel, gates/bias,
        candidate/kernel, candidate/bias) or basicrnn (kernel, bias)
    :param params: by these names
    :param lens: [B]; None: all frames are real
    :param gate_order: of the lstm
    :param forget_bias: of the lstm
    :return: output [T, B, n]; last states, each [B, n]
    """
    peepholes = {gate: params["w_%s_diag" % gate] for gate in "ifo" if "w_%s_diag" % gate in params}

    def step(frame: Array, states: list[Array]) -> list[Array]:
        h = states[0]
        if cell == "gru":
            r, u = numpy.split(_sigmoid(_dense(frame, h, params, "gates/")), 2, axis=-1)
            return [u * h + (1 - u) * numpy.tanh(_dense(frame, r * h, params, "candidate/"))]
        z = _dense(frame, h, params)
        if cell == "basicrnn":
            return [numpy.tanh(z)]
        return _lstm_step(z, states[1], gate_order=gate_order, forget_bias=forget_bias, peepholes=peepholes)

    if initial_state is None:
        num_units = len(params["candidate/bias"]) if cell == "gru" else len(params["bias"]) // (4 if cell == "lstm" else 1)
        initial_state = [numpy.zeros((x.shape[1], num_units), x.dtype)] * (2 if cell == "lstm" else 1)
    return _scan(step, x, lens=lens, states=list(initial_state), direction=direction)


def _scan(step: Step, x: Array, *, lens: Array | None, states: list[Array], direction: int) -> tuple[Array, list[Array]]:
    y = numpy.zeros(x.shape[:2] + states[0].shape[1:], states[0].dtype)
    for t in range(len(x))[::direction]:
        real = numpy.ones((x.shape[1], 1), bool) if lens is None else (t < lens)[:, None]
        new_states = step(x[t], states)
        y[t] = numpy.where(real, new_states[0], 0)
        states = [numpy.where(real, new, old).astype(old.dtype) for new, old in zip(new_states, states, strict=True)]
    return y, states


def _lstm_step(
    z: Array, c: Array, *, gate_order: str, forget_bias: float, peepholes: Mapping[str, Array]
) -> list[Array]:
    gates = dict(zip(gate_order, numpy.split(z, 4, axis=-1), strict=True))
    i = _sigmoid(gates["i"] + peepholes.get("i", 0) * c)
    f = _sigmoid(gates["f"] + forget_bias + peepholes.get("f", 0) * c)
    c = f * c + i * numpy.tanh(gates["j"])
    return [_sigmoid(gates["o"] + peepholes.get("o", 0) * c) * numpy.tanh(c), c]


def _dense(x: Array, h: Array, params: Mapping[str, Array], prefix: str = "") -> Array:
    return numpy.concatenate([x, h], axis=-1) @ params[prefix + "kernel"] + params[prefix + "bias"]


def _sigmoid(x: Array) -> Array:
    return 0.5 * numpy.tanh(0.5 * x) + 0.5
