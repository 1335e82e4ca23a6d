"""Recurrent cells, one frame at a time.

A cell says what of its computation needs the input only (``project``, once for all frames [T, B, ..]) and what needs
the frame before (``step``, [B, ..]). Whoever runs them decides how: :mod:`.rnn` over a whole sequence.

B sequences, D inputs, n units; m @ is the matrix product. Kernels have the rows of the input first, then those of h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch

from returnn.util.errors import ConfigError

from .user_code import find_function

State = list[torch.Tensor]
"""each [B, n]"""
Activation = str | Callable[[torch.Tensor], torch.Tensor]
"""a name, or a function"""
Params = Mapping[str, torch.Tensor]


class Cell(Protocol):
    """What all cells have."""

    num_units: int
    num_states: int

    def project(self, x: torch.Tensor) -> Any:
        """What depends on the input only, for all frames: one tensor or a tuple of them, each [T, ..]."""

    def step(self, frame: Any, state: State) -> tuple[torch.Tensor, State]:
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
        self._peepholes = {gate: params.get("w_%s_diag" % gate) for gate in "ifo"}
        self._gate_order = gate_order
        self._forget_bias = forget_bias
        self._activation = _function_of(activation)

    def project(self, x: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x, self._w) + self._b

    def step(self, frame: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        h, c = state
        gates = dict(zip(self._gate_order, torch.addmm(frame, h, self._w_re).chunk(4, 1), strict=True))
        i = torch.sigmoid(self._peep("i", gates["i"], c))
        f = torch.sigmoid(self._peep("f", gates["f"] + self._forget_bias, c))
        c = f * c + i * self._activation(gates["j"])
        h = torch.sigmoid(self._peep("o", gates["o"], c)) * self._activation(c)
        return h, [h, c]

    def _peep(self, gate: str, value: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        weight = self._peepholes[gate]
        return value if weight is None else torch.addcmul(value, weight, c)


class ZoneoutLstmCell:
    """An LSTM whose state keeps some of what it was: c'' = c + m (c' - c), and the same for h.

    In training m is 1 with probability 1 - factor, else 0, for each element and frame; otherwise m = 1 - factor.

    :param params: kernel [D+n, 4n], bias [4n]
    :param forget_bias: added to the forget gate
    :param zoneout_factor_cell: for c, in [0, 1]
    :param zoneout_factor_output: for h, in [0, 1]
    :param use_zoneout_output: the output is h''; else h'
    :param draw: number of a frame, shape -> uniform in [0, 1)
    :param train_flag: whether this is training
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
        draw: Callable[[int, Sequence[int]], torch.Tensor],
        train_flag: bool,
    ) -> None:
        self._inner = LstmCell(params, forget_bias=forget_bias)
        self.num_units = self._inner.num_units
        self._keep = [1.0 - zoneout_factor_output, 1.0 - zoneout_factor_cell]
        self._use_zoneout_output = use_zoneout_output
        self._draw = draw
        self._train_flag = train_flag
        self._number = 0  # of the frame, in the order of reading

    def project(self, x: torch.Tensor) -> torch.Tensor:
        return self._inner.project(x)

    def step(self, frame: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        output, new_state = self._inner.step(frame, state)
        state = [
            new if mask == 1.0 else old + mask * (new - old)
            for mask, old, new in zip(self._masks(len(output)), state, new_state, strict=True)
        ]
        return state[0] if self._use_zoneout_output else output, state

    def _masks(self, num_seqs: int) -> list[Any]:
        """of h and c: tensors, or numbers"""
        if not self._train_flag or self._keep == [1.0, 1.0]:
            return self._keep
        uniform = self._draw(self._number, [num_seqs, 2 * self.num_units]).chunk(2, 1)
        self._number += 1
        return [k if k == 1.0 else torch.floor(u + k) for k, u in zip(self._keep, uniform, strict=True)]


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
        masks: Mapping[str, torch.Tensor] | None = None,
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

    def project(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.matmul(x, self._w)
        return self._norm("input_below", z if self._b is None else z + self._b)

    def step(self, frame: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        h, c = state
        z = frame + self._norm("state_below", torch.mm(self._masked("h", h), self._w_re))
        gates = self._norm("lstm_in", z).chunk(4, 1)
        i, j, f, o = (self._norm("%s_gate" % name, gate) for name, gate in zip("ijfo", gates, strict=True))
        j = self._masked("j", self._activation(j))
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * j
        normed_c = self._norm("new_c", c)
        h = torch.sigmoid(o) * self._activation(normed_c if self._cell_norm_in_output else c)
        h = self._norm("new_h", h)
        return h, [h, normed_c]

    def _masked(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return x * self._masks[name] if name in self._masks else x

    def _norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        gamma = self._params.get("gamma_" + name)
        if gamma is None:
            return x
        beta = self._params.get("beta_" + name)
        return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, self._epsilon)


class RhnCell:
    """Recurrent highway: at depth i [j, t] = s @ depth_i/W (i = 0: + x @ W + b), s' = s + sigmoid(t) (tanh j - s).

    :param params: W [D, 2n], b [2n], depth_0/W, depth_1/W, .. [n, 2n]
    :param masks: s: factor on the s that enters the matrix product, [B, n]
    """

    num_states = 1

    def __init__(self, params: Params, *, masks: Mapping[str, torch.Tensor] | None = None) -> None:
        self._w, self._b = params["W"], params["b"]
        self.num_units = self._b.shape[0] // 2
        self._depths = [params["depth_%i/W" % i] for i in range(len(params) - 2)]
        self._mask = (masks or {}).get("s")

    def project(self, x: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x, self._w) + self._b

    def step(self, frame: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        (s,) = state
        for depth, w in enumerate(self._depths):
            masked = s if self._mask is None else s * self._mask
            z = torch.addmm(frame, masked, w) if depth == 0 else torch.mm(masked, w)
            j, t = z.chunk(2, 1)
            s = torch.lerp(s, torch.tanh(j), torch.sigmoid(t))
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

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (
            torch.matmul(x, self._w_gates) + self._b_gates,
            torch.matmul(x, self._w_candidate) + self._b_candidate,
        )

    def step(self, frame: tuple[torch.Tensor, torch.Tensor], state: State) -> tuple[torch.Tensor, State]:
        (h,) = state
        gates, candidate = frame
        r, u = torch.sigmoid(torch.addmm(gates, h, self._w_re_gates)).chunk(2, 1)
        h = torch.lerp(self._activation(torch.addmm(candidate, r * h, self._w_re_candidate)), h, u)
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

    def project(self, x: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x, self._w) + self._b

    def step(self, frame: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        h = self._activation(torch.addmm(frame, state[0], self._w_re))
        return h, [h]


CELLS: dict[str, Callable[..., Cell]] = {
    "lstm": LstmCell,
    "zoneoutlstm": ZoneoutLstmCell,
    "layernormlstm": LayerNormLstmCell,
    "gru": GruCell,
    "basicrnn": BasicRnnCell,
    "rhn": RhnCell,
}


def _function_of(activation: Activation) -> Callable[[torch.Tensor], torch.Tensor]:
    function: Any = find_function(activation) if isinstance(activation, str) else activation
    if function is None:
        raise ConfigError("unknown activation function %r of a recurrent unit" % (activation,))
    return function


def _split_rows(kernel: torch.Tensor, num_units: int) -> tuple[torch.Tensor, torch.Tensor]:
    """:return: the rows of kernel [D+n, m] for the input [D, m] and for h [n, m]"""
    return kernel[:-num_units], kernel[-num_units:]
