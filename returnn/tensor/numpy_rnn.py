"""Recurrence in numpy, frame by frame: the plain statement of what the fast kernels compute.

T frames, B sequences, D inputs, n units. Outputs are 0 behind the end of a sequence, states stay those of its last
frame.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy

Array = numpy.ndarray
Step = Callable[[Array, list[Array]], tuple[Array, list[Array]]]
"""frame [B, ..] and states before it -> output, states after it"""
Activation = str | Callable[[Array], Array]
"""tanh, sigmoid, relu, or a function"""


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

    def step(frame: Array, states: list[Array]) -> tuple[Array, list[Array]]:
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
    **options: Any,
) -> tuple[Array, list[Array]]:
    """
    See :func:`returnn.frontend.rec.rnn`. Rows of kernels: the input, then h.

    :param x: [T, B, D]
    :param cell: name of one of the steps below, which say what its parameters and options are
    :param params: by these names
    :param lens: [B]; None: all frames are real
    :return: output [T, B, n]; last states, each [B, n]
    """
    if cell not in _STEPS:
        raise ValueError("unknown cell %r, known: %s" % (cell, ", ".join(_STEPS)))
    num_states, num_units_of, step = _STEPS[cell]
    if initial_state is None:
        initial_state = [numpy.zeros((x.shape[1], num_units_of(params)), x.dtype)] * num_states
    if cell == "zoneoutlstm":
        options["numbers"] = itertools.count()

    def run_step(frame: Array, states: list[Array]) -> tuple[Array, list[Array]]:
        return step(frame, states, params, **options)

    return _scan(run_step, x, lens=lens, states=list(initial_state), direction=direction)


def _scan(
    step: Step, x: Array, *, lens: Array | None, states: list[Array], direction: int
) -> tuple[Array, list[Array]]:
    y = numpy.zeros(x.shape[:2] + states[0].shape[1:], states[0].dtype)
    for t in range(len(x))[::direction]:
        real = numpy.ones((x.shape[1], 1), bool) if lens is None else (t < lens)[:, None]
        output, new_states = step(x[t], states)
        y[t] = numpy.where(real, output, 0)
        states = [numpy.where(real, new, old).astype(old.dtype) for new, old in zip(new_states, states, strict=True)]
    return y, states


def _lstm_step(
    z: Array,
    c: Array,
    *,
    gate_order: str,
    forget_bias: float,
    peepholes: Mapping[str, Array],
    activation: Activation = "tanh",
) -> tuple[Array, list[Array]]:
    act = _function_of(activation)
    gates = dict(zip(gate_order, numpy.split(z, 4, axis=-1), strict=True))
    i = _sigmoid(gates["i"] + peepholes.get("i", 0) * c)
    f = _sigmoid(gates["f"] + forget_bias + peepholes.get("f", 0) * c)
    c = f * c + i * act(gates["j"])
    h = _sigmoid(gates["o"] + peepholes.get("o", 0) * c) * act(c)
    return h, [h, c]


def _lstm(
    x: Array,
    states: list[Array],
    params: Mapping[str, Array],
    *,
    gate_order: str = "ijfo",
    forget_bias: float = 0.0,
    activation: Activation = "tanh",
) -> tuple[Array, list[Array]]:
    """kernel [D + n, 4n], bias [4n]; for peepholes w_i_diag, w_f_diag, w_o_diag [n]"""
    h, c = states
    peepholes = {gate: params["w_%s_diag" % gate] for gate in "ifo" if "w_%s_diag" % gate in params}
    z = _dense(x, h, params)
    return _lstm_step(z, c, gate_order=gate_order, forget_bias=forget_bias, peepholes=peepholes, activation=activation)


def _zoneout_lstm(
    x: Array,
    states: list[Array],
    params: Mapping[str, Array],
    *,
    forget_bias: float,
    zoneout_factor_cell: float,
    zoneout_factor_output: float,
    use_zoneout_output: bool,
    draw: Callable[[int, Sequence[int]], Array],
    train_flag: bool,
    numbers: Iterator[int],
) -> tuple[Array, list[Array]]:
    """kernel [D + n, 4n], bias [4n]; ``numbers`` counts the frames in the order of reading"""
    output, new_states = _lstm(x, states, params, forget_bias=forget_bias)
    masks: list[Any] = [1 - zoneout_factor_output, 1 - zoneout_factor_cell]
    if train_flag:
        uniform = draw(next(numbers), [x.shape[0], 2 * output.shape[-1]])
        masks = [numpy.floor(keep + u) for keep, u in zip(masks, numpy.split(uniform, 2, axis=-1), strict=True)]
    states = [old + mask * (new - old) for mask, old, new in zip(masks, states, new_states, strict=True)]
    return states[0] if use_zoneout_output else output, states


def _layer_norm_lstm(
    x: Array,
    states: list[Array],
    params: Mapping[str, Array],
    *,
    activation: Activation = "tanh",
    epsilon: float = 1e-12,
    cell_norm_in_output: bool = True,
    masks: Mapping[str, Array] | None = None,
) -> tuple[Array, list[Array]]:
    """W_ff [D, 4n], W_re [n, 4n], or W_ff_re [D + n, 4n]; bias_ff or bias_ff_re [4n]; gamma_X, beta_X; masks j, h"""

    def norm(name: str, value: Array) -> Array:
        if "gamma_" + name not in params:
            return value
        scale = numpy.sqrt(value.var(axis=-1, keepdims=True) + epsilon)
        value = (value - value.mean(axis=-1, keepdims=True)) / scale * params["gamma_" + name]
        return value + params.get("beta_" + name, 0)

    act = _function_of(activation)
    h, c = states
    masks = masks or {}
    masked_h = h * masks.get("h", 1)
    if "W_ff_re" in params:
        z = numpy.concatenate([x, masked_h], axis=-1) @ params["W_ff_re"]
    else:
        z = norm("input_below", x @ params["W_ff"]) + norm("state_below", masked_h @ params["W_re"])
    z = norm("lstm_in", z + params.get("bias_ff", 0) + params.get("bias_ff_re", 0))
    i, j, f, o = (norm("%s_gate" % name, gate) for name, gate in zip("ijfo", numpy.split(z, 4, axis=-1), strict=True))
    new_c = _sigmoid(f) * c + _sigmoid(i) * (act(j) * masks.get("j", 1))
    normed_c = norm("new_c", new_c)
    new_h = norm("new_h", _sigmoid(o) * act(normed_c if cell_norm_in_output else new_c))
    return new_h, [new_h, normed_c]


def _gru(
    x: Array, states: list[Array], params: Mapping[str, Array], *, activation: Activation = "tanh"
) -> tuple[Array, list[Array]]:
    """gates/kernel [D + n, 2n], gates/bias [2n]; candidate/kernel [D + n, n], candidate/bias [n]"""
    (h,) = states
    r, u = numpy.split(_sigmoid(_dense(x, h, params, "gates/")), 2, axis=-1)
    h = u * h + (1 - u) * _function_of(activation)(_dense(x, r * h, params, "candidate/"))
    return h, [h]


def _basic_rnn(
    x: Array, states: list[Array], params: Mapping[str, Array], *, activation: Activation = "tanh"
) -> tuple[Array, list[Array]]:
    """kernel [D + n, n], bias [n]"""
    h = _function_of(activation)(_dense(x, states[0], params))
    return h, [h]


def _rhn(
    x: Array, states: list[Array], params: Mapping[str, Array], *, masks: Mapping[str, Array] | None = None
) -> tuple[Array, list[Array]]:
    """W [D, 2n], b [2n], depth_0/W, depth_1/W, .. [n, 2n]; mask s"""
    (s,) = states
    for depth in range(len(params) - 2):
        z = (s * (masks or {}).get("s", 1)) @ params["depth_%i/W" % depth]
        if depth == 0:
            z = z + x @ params["W"] + params["b"]
        j, t = numpy.split(z, 2, axis=-1)
        s = s + _sigmoid(t) * (numpy.tanh(j) - s)
    return s, [s]


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": numpy.tanh,
    "sigmoid": lambda x: _sigmoid(x),
    "relu": lambda x: numpy.maximum(x, 0),
}
_STEPS: dict[str, tuple[int, Callable[[Mapping[str, Array]], int], Callable[..., tuple[Array, list[Array]]]]] = {
    "lstm": (2, lambda params: len(params["bias"]) // 4, _lstm),
    "zoneoutlstm": (2, lambda params: len(params["bias"]) // 4, _zoneout_lstm),
    "layernormlstm": (
        2,
        lambda params: params["W_re" if "W_re" in params else "W_ff_re"].shape[1] // 4,
        _layer_norm_lstm,
    ),
    "gru": (1, lambda params: len(params["candidate/bias"]), _gru),
    "basicrnn": (1, lambda params: len(params["bias"]), _basic_rnn),
    "rhn": (1, lambda params: len(params["b"]) // 2, _rhn),
}
"""cell -> number of states, number of units, step: frame [B, D], states, params, options -> output, states"""


def _function_of(activation: Activation) -> Callable[[Array], Array]:
    return _ACTIVATIONS[activation] if isinstance(activation, str) else activation


def _dense(x: Array, h: Array, params: Mapping[str, Array], prefix: str = "") -> Array:
    return numpy.concatenate([x, h], axis=-1) @ params[prefix + "kernel"] + params[prefix + "bias"]


def _sigmoid(x: Array) -> Array:
    return 0.5 * numpy.tanh(0.5 * x) + 0.5
