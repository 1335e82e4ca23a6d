"""Recurrent units: which parameters they have, under which names, and how they are computed.

Names and layouts are those of checkpoints. ``n`` is the output dim, ``D`` that of the input. Gate blocks: j cell input, i input
gate, f forget gate, o output gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .rec import RecLayer


@dataclass
class UnitCall:
    """What a unit works on."""

    layer: RecLayer
    x: Tensor
    spatial_dim: Dim
    in_dim: Dim
    out_dim: Dim
    initial: list[Tensor] | None
    """states in the order of ``Unit.state_names``"""
    opts: dict[str, Any]
    """``unit_opts``"""

    def loop(self) -> dict[str, Any]:
        """
        :return: arguments that all units pass on
        """
        return {
            "spatial_dim": self.spatial_dim,
            "in_dim": self.in_dim,
            "out_dim": self.out_dim,
            "direction": self.layer.direction or 1,
        }

    def param(self, name: str, dims: list[Dim], *, init: Any = None) -> Tensor:
        """
        :param init: None: that of the recurrent layer for matrices
        """
        if init is None:
            init = self.layer.matrix_init
        return self.layer.param(name, dims, init=init)


@dataclass
class Unit:
    """A kind of recurrent unit."""

    state_names: tuple[str, ...]
    """("h", "c") for LSTMs; ("state",) where there is only one"""
    options: dict[str, Any]
    """``unit_opts`` and their defaults"""
    compute: Callable[[UnitCall], tuple[Tensor, list[Tensor]]]
    """-> output [time, batch, n], last states"""
    accepts_labels: bool = False


def _native_lstm(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``W`` [D, 4n], ``W_re`` [n, 4n], ``b`` [4n]; blocks j, i, f, o"""
    if call.opts["forget_bias"]:
        raise ConfigError("unit_opts: this unit has no forget_bias other than 0, but got %r" % call.opts["forget_bias"])
    gates = 4 * call.out_dim
    layer = call.layer
    w = call.param("W", [call.in_dim, gates], init=layer.forward_init)
    w_re = call.param("W_re", [call.out_dim, gates], init=layer.recurrent_init)
    b = call.param("b", [gates], init=layer.lstm_bias_init)
    if call.opts["rec_weight_dropout"]:
        shape = call.opts["rec_weight_dropout_shape"]
        axes = None if shape is None else [d for d, n in zip(w_re.dims, shape, strict=True) if n != 1]
        w_re = rf.dropout(
            w_re, call.opts["rec_weight_dropout"], axis=axes, name=layer.get_absolute_name() + "/rec_weight_dropout"
        )
    h, c = call.initial or (None, None)
    y, h, c = rf.lstm(call.x, w=w, w_re=w_re, b=b, initial_h=h, initial_c=c, gate_order="jifo", **call.loop())
    return y, [h, c]


def _cell_lstm(cell_name: str) -> Callable[[UnitCall], tuple[Tensor, list[Tensor]]]:
    def compute(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
        """``CELL/kernel`` [D + n, 4n], rows input, h; ``CELL/bias`` [4n]; blocks i, j, f, o; peepholes ``CELL/w_i_diag`` .. [n]"""
        gates = 4 * call.out_dim
        rows = call.in_dim + call.out_dim
        kernel = call.param(cell_name + "/kernel", [rows, gates])
        bias = call.param(cell_name + "/bias", [gates], init=Constant(0.0))
        if call.opts.get("use_peepholes"):
            params = {"kernel": kernel, "bias": bias}
            for gate in "ifo":
                name = "w_%s_diag" % gate
                params[name] = call.param("%s/%s" % (cell_name, name), [call.out_dim])
            return rf.rnn(
                call.x,
                cell="lstm",
                params=params,
                initial_state=call.initial,
                forget_bias=call.opts["forget_bias"],
                **call.loop(),
            )
        w, _ = rf.slice(kernel, axis=rows, end=call.in_dim.dimension, out_dim=call.in_dim)
        w_re, _ = rf.slice(kernel, axis=rows, start=call.in_dim.dimension, out_dim=call.out_dim)
        h, c = call.initial or (None, None)
        y, h, c = rf.lstm(
            call.x,
            w=w,
            w_re=w_re,
            b=bias,
            initial_h=h,
            initial_c=c,
            gate_order="ijfo",
            forget_bias=call.opts["forget_bias"],
            **call.loop(),
        )
        return y, [h, c]

    return compute


def _gru(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``gru_cell/gates/kernel`` [D + n, 2n] (blocks r, u), ``gates/bias`` [2n] (1), ``candidate/kernel`` [D + n, n], ``bias``"""
    rows, n = call.in_dim + call.out_dim, call.out_dim
    params = {
        "gates/kernel": call.param("gru_cell/gates/kernel", [rows, 2 * n]),
        "gates/bias": call.param("gru_cell/gates/bias", [2 * n], init=Constant(1.0)),
        "candidate/kernel": call.param("gru_cell/candidate/kernel", [rows, n]),
        "candidate/bias": call.param("gru_cell/candidate/bias", [n], init=Constant(0.0)),
    }
    return rf.rnn(call.x, cell="gru", params=params, initial_state=call.initial, **call.loop())


def _basic_rnn(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``basic_rnn_cell/kernel`` [D + n, n], ``basic_rnn_cell/bias`` [n]"""
    params = {
        "kernel": call.param("basic_rnn_cell/kernel", [call.in_dim + call.out_dim, call.out_dim]),
        "bias": call.param("basic_rnn_cell/bias", [call.out_dim], init=Constant(0.0)),
    }
    return rf.rnn(call.x, cell="basicrnn", params=params, initial_state=call.initial, **call.loop())


_NATIVE = Unit(
    state_names=("h", "c"),
    options={"forget_bias": 0.0, "rec_weight_dropout": 0.0, "rec_weight_dropout_shape": None},
    compute=_native_lstm,
    accepts_labels=True,
)
UNITS: dict[str, Unit] = {
    "nativelstm2": _NATIVE,
    "nativelstm": _NATIVE,
    "lstmp": _NATIVE,
    "lstm": _NATIVE,
    "lstmblock": _NATIVE,
    "lstmblockfused": _NATIVE,
    "vanillalstm": _NATIVE,
    "standardlstm": Unit(("h", "c"), {"forget_bias": 1.0, "use_peepholes": False}, _cell_lstm("lstm_cell")),
    "basiclstm": Unit(("h", "c"), {"forget_bias": 1.0}, _cell_lstm("basic_lstm_cell")),
    "gru": Unit(("state",), {}, _gru),
    "basicrnn": Unit(("state",), {}, _basic_rnn),
}


def get_unit(name: str, opts: dict[str, Any]) -> tuple[Unit, dict[str, Any]]:
    """
    :param name: letter case does not matter
    :param opts: ``unit_opts``
    :return: unit, and its options with defaults
    :raises ConfigError: unknown name or option
    """
    unit = UNITS.get(name.lower())
    if unit is None:
        raise ConfigError("unknown cell %r.%s known cells: %s" % (name, did_you_mean(name, UNITS), sorted(UNITS)))
    for key in opts:
        if key not in unit.options:
            known = ", ".join(sorted(unit.options)) or "none"
            raise ConfigError("unit %r has no option %r.%s Options: %s" % (name, key, did_you_mean(key, unit.options), known))
    return unit, dict(unit.options, **opts)
