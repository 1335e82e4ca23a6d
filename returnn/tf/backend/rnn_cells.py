"""Recurrent cells, one frame at a time.

A cell says what of its computation needs the input only (``project``, once for all frames [T, B, ..]) and what needs
the frame before (``step``, [B, ..]). Whoever runs them decides how: :mod:`.rnn` over a whole sequence.

B sequences, D inputs, n units; m @ is the matrix product. Kernels have the rows of the input first, then those of h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from returnn.tf.compat import tf
from returnn.util.errors import ConfigError

from .elementwise import outside_of_loop
from .user_code import find_function

State = list[tf.Tensor]
"""each [B, n]"""
Activation = str | Callable[[tf.Tensor], tf.Tensor]
"""a name, or a function"""
Params = Mapping[str, tf.Tensor]


class Cell(Protocol):
    """What all cells have."""

    num_units: int
    num_states: int

    def project(self, x: tf.Tensor) -> Any:
        """What depends on the input only, for all frames: one tensor or a (nested) tuple of them, each [T, ..]."""

    def step(self, frame: Any, state: State) -> tuple[tf.Tensor, State]:
        """One frame: output [B, n] and new state."""


class LstmCell:
    """c' = sigmoid(f + forget_bias) c + sigmoid(i) g(j), h' = sigmoid(o) g(c'), state h, c.

    Gates = [x, h] @ kernel + bias. Peepholes, if given: w_i_diag c is added to i, w_f_diag c to f, w_o_diag c' to o.

    :param params: kernel [D+n, 4n], bias [4n]; or with them w_i_diag, w_f_diag, w_o_diag [n]
    :param gate_order: of the columns: j cell input, i input gate, f forget gate, o output gate
    :param activation: g; a name, or a function
    """

    num_states = 2

    def __init__(
        self, params: Params, *, gate_order: str = "ijfo", forget_bias: float = 0.0, activation: Activation = "tanh"
    ) -> None:
        self.num_units = params["bias"].shape[0] // 4
        self._w, self._w_re = _split_rows(params["kernel"], self.num_units)
        self._b = params["bias"]
        self._peepholes = {gate: params.get(f"w_{gate}_diag") for gate in "ifo"}
        self._gate_order = gate_order
        self._forget_bias = forget_bias
        self._activation = _function_of(activation)

    def project(self, x: tf.Tensor) -> tf.Tensor:
        return _dense(x, self._w, self._b)

    def step(self, frame: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        h, c = state
        parts = tf.split(frame + tf.matmul(h, self._w_re), 4, axis=1)
        gates = dict(zip(self._gate_order, parts, strict=True))
        i = tf.sigmoid(self._peep("i", gates["i"], c))
        f = tf.sigmoid(self._peep("f", gates["f"] + self._forget_bias, c))
        c = f * c + i * self._activation(gates["j"])
        h = tf.sigmoid(self._peep("o", gates["o"], c)) * self._activation(c)
        return h, [h, c]

    def _peep(self, gate: str, value: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
        weight = self._peepholes[gate]
        return value if weight is None else value + weight * c


class ZoneoutLstmCell:
    """An LSTM whose state keeps some of what it was: c'' = c + m (c' - c), and the same for h.

    In training m is 1 with probability 1 - factor, else 0, for each element and frame; otherwise m = 1 - factor.

    :param params: kernel [D+n, 4n], bias [4n]
    :param forget_bias: added to the forget gate
    :param zoneout_factor_cell: for c, in [0, 1]
    :param zoneout_factor_output: for h, in [0, 1]
    :param use_zoneout_output: the output is h''; else h'
    :param draw: number of a frame, shape -> uniform in [0, 1)
    :param train_flag: bool, or scalar
    """

    num_states = 2

    def __init__(
        self,
        params: Params,
        *,
        forget_bias: float,
        zoneout_factor_cell: float,
        zoneout_factor_output: float,
        use_zoneout_output: bool,
        draw: Callable[[tf.Tensor, Sequence[Any]], tf.Tensor],
        train_flag: bool | tf.Tensor,
    ) -> None:
        self._inner = LstmCell(params, forget_bias=forget_bias)
        self.num_units = self._inner.num_units
        self._keep = {"h": 1.0 - zoneout_factor_output, "c": 1.0 - zoneout_factor_cell}
        self._use_zoneout_output = use_zoneout_output
        self._draw = draw
        self._train_flag = train_flag

    def project(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return self._inner.project(x), tf.range(tf.shape(x)[0])

    def step(self, frame: tuple[tf.Tensor, tf.Tensor], state: State) -> tuple[tf.Tensor, State]:
        gates, number = frame
        output, new_state = self._inner.step(gates, state)
        masks = self._masks(number, tf.shape(output)[0])
        state = [
            new if mask is None else old + mask * (new - old)
            for mask, old, new in zip(masks, state, new_state, strict=True)
        ]
        return state[0] if self._use_zoneout_output else output, state

    def _masks(self, number: tf.Tensor, num_seqs: tf.Tensor) -> list[tf.Tensor | float | None]:
        """of h and c; None: all ones"""
        keep = [self._keep["h"], self._keep["c"]]
        means = [None if k == 1.0 else k for k in keep]
        if self._train_flag is False or means == [None, None]:
            return means
        uniform = tf.split(self._draw(number, [num_seqs, 2 * self.num_units]), 2, axis=1)
        masks = [None if k == 1.0 else tf.floor(k + u) for k, u in zip(keep, uniform, strict=True)]
        if self._train_flag is not True:
            masks = [m if m is None else tf.where(self._train_flag, m, k) for m, k in zip(masks, keep, strict=True)]
        return masks


class LayerNormLstmCell:
    """An LSTM with layer normalisation: LN_X(x) = (x - mean) / sqrt(variance + epsilon) * gamma_X + beta_X, or x.

    z = LN_input_below(x @ W_ff + bias_ff) + LN_state_below(h @ W_re); i, j, f, o = LN_lstm_in(z), i = LN_i_gate(i), ..;
    c' = LN_new_c(sigmoid(f) c + sigmoid(i) g(j)); h' = LN_new_h(sigmoid(o) g(c')). State h', c'.

    :param params: W_ff [D, 4n] and W_re [n, 4n], or W_ff_re [D+n, 4n]; bias_ff or bias_ff_re [4n], or none; ``gamma_X``
        and ``beta_X`` of these X that are to be normed; no beta is 0
    :param activation: g; a name, or a function
    :param epsilon: added to variances
    :param cell_norm_in_output: whether c' enters h' as it is carried, or before its normalisation
    :param masks: j: factor on g(j); h: factor on the h that enters the matrix product; each [B, n]
    """

    num_states = 2

    def __init__(
        self,
        params: Params,
        *,
        activation: Activation = "tanh",
        epsilon: float = 1e-12,
        cell_norm_in_output: bool = True,
        masks: Mapping[str, tf.Tensor] | None = None,
    ) -> None:
        joined = params.get("W_ff_re")
        self.num_units = (params["W_re"] if joined is None else joined).shape[1] // 4
        if joined is None:
            self._w, self._w_re = params["W_ff"], params["W_re"]
        else:
            self._w, self._w_re = _split_rows(joined, self.num_units)
        self._b = params.get("bias_ff", params.get("bias_ff_re"))
        self._params = params
        self._activation = _function_of(activation)
        self._epsilon = epsilon
        self._cell_norm_in_output = cell_norm_in_output
        self._masks = masks or {}

    def project(self, x: tf.Tensor) -> tf.Tensor:
        return self._norm("input_below", _dense(x, self._w, self._b))

    def step(self, frame: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        h, c = state
        gates = frame + self._norm("state_below", tf.matmul(self._masked("h", h), self._w_re))
        gates = tf.split(self._norm("lstm_in", gates), 4, axis=1)
        i, j, f, o = (self._norm("%s_gate" % name, gate) for name, gate in zip("ijfo", gates, strict=True))
        j = self._masked("j", self._activation(j))
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * j
        normed_c = self._norm("new_c", c)
        h = tf.sigmoid(o) * self._activation(normed_c if self._cell_norm_in_output else c)
        h = self._norm("new_h", h)
        return h, [h, normed_c]

    def _masked(self, name: str, x: tf.Tensor) -> tf.Tensor:
        return x * self._masks[name] if name in self._masks else x

    def _norm(self, name: str, x: tf.Tensor) -> tf.Tensor:
        if "gamma_" + name not in self._params:
            return x
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        y = (x - mean) * tf.math.rsqrt(variance + self._epsilon) * self._params["gamma_" + name]
        return y + self._params["beta_" + name] if "beta_" + name in self._params else y


class RhnCell:
    """Recurrent highway: at depth i [j, t] = s @ depth_i/W (i = 0: + x @ W + b), s' = s + sigmoid(t) (tanh j - s).

    :param params: W [D, 2n], b [2n], depth_0/W, depth_1/W, .. [n, 2n]
    :param masks: s: factor on the s that enters the matrix product, [B, n]
    """

    num_states = 1

    def __init__(self, params: Params, *, masks: Mapping[str, tf.Tensor] | None = None) -> None:
        self._w, self._b = params["W"], params["b"]
        self.num_units = self._b.shape[0] // 2
        self._depths = [params["depth_%i/W" % i] for i in range(len(params) - 2)]
        self._mask = (masks or {}).get("s")

    def project(self, x: tf.Tensor) -> tf.Tensor:
        return _dense(x, self._w, self._b)

    def step(self, frame: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        (s,) = state
        for depth, w in enumerate(self._depths):
            gates = tf.matmul(s if self._mask is None else s * self._mask, w)
            j, t = tf.split(gates + frame if depth == 0 else gates, 2, axis=1)
            s += tf.sigmoid(t) * (tf.tanh(j) - s)
        return s, [s]


class GruCell:
    """r, u = sigmoid([x, h] @ gates), h' = u h + (1 - u) g([x, r h] @ candidate), state h.

    :param params: gates/kernel [D+n, 2n], gates/bias [2n], columns r, u; candidate/kernel [D+n, n], candidate/bias [n]
    :param activation: g; a name, or a function
    """

    num_states = 1

    def __init__(self, params: Params, *, activation: Activation = "tanh") -> None:
        self.num_units = params["candidate/bias"].shape[0]
        self._activation = _function_of(activation)
        self._w_gates, self._w_re_gates = _split_rows(params["gates/kernel"], self.num_units)
        self._w_candidate, self._w_re_candidate = _split_rows(params["candidate/kernel"], self.num_units)
        self._b_gates, self._b_candidate = params["gates/bias"], params["candidate/bias"]

    def project(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return _dense(x, self._w_gates, self._b_gates), _dense(x, self._w_candidate, self._b_candidate)

    def step(self, frame: tuple[tf.Tensor, tf.Tensor], state: State) -> tuple[tf.Tensor, State]:
        (h,) = state
        gates, candidate = frame
        r, u = tf.split(tf.sigmoid(gates + tf.matmul(h, self._w_re_gates)), 2, axis=1)
        candidate = self._activation(candidate + tf.matmul(r * h, self._w_re_candidate))
        h = u * h + (1.0 - u) * candidate
        return h, [h]


class BasicRnnCell:
    """h' = g([x, h] @ kernel + bias), state h.

    :param params: kernel [D+n, n], bias [n]
    :param activation: g; a name, or a function
    """

    num_states = 1

    def __init__(self, params: Params, *, activation: Activation = "tanh") -> None:
        self.num_units = params["bias"].shape[0]
        self._activation = _function_of(activation)
        self._w, self._w_re = _split_rows(params["kernel"], self.num_units)
        self._b = params["bias"]

    def project(self, x: tf.Tensor) -> tf.Tensor:
        return _dense(x, self._w, self._b)

    def step(self, frame: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        h = self._activation(frame + tf.matmul(state[0], self._w_re))
        return h, [h]


CELLS: dict[str, Callable[..., Cell]] = {
    "lstm": LstmCell,
    "zoneoutlstm": ZoneoutLstmCell,
    "layernormlstm": LayerNormLstmCell,
    "gru": GruCell,
    "basicrnn": BasicRnnCell,
    "rhn": RhnCell,
}


def _function_of(activation: Activation) -> Callable[[tf.Tensor], tf.Tensor]:
    function: Any = find_function(activation) if isinstance(activation, str) else activation
    if function is None:
        raise ConfigError("unknown activation function %r of a recurrent unit" % (activation,))
    return function


def _split_rows(kernel: tf.Tensor, num_units: int) -> tuple[tf.Tensor, tf.Tensor]:
    """:return: the rows of kernel [D+n, m] for the input [D, m] and for h [n, m]"""
    with outside_of_loop(kernel):
        return kernel[:-num_units], kernel[-num_units:]


def _dense(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor | None) -> tf.Tensor:
    """:return: x @ w + b, [.., m], as one matrix product"""
    flat = tf.matmul(tf.reshape(x, [-1, w.shape[0]]) if x.shape.ndims > 2 else x, w)
    if b is not None:
        flat = tf.nn.bias_add(flat, b)
    if x.shape.ndims == 2:
        return flat
    shape = tf.shape(x)
    return tf.reshape(flat, [shape[0], shape[1], w.shape[1]])
