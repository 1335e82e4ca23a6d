"""Recurrent units: which parameters they have, under which names, and how they are computed.

Names and layouts are those of checkpoints. ``n`` is the output dim, ``D`` that of the input. Gate blocks: j cell input,
i input gate, f forget gate, o output gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .base import RecurrentLayer


@dataclass
class UnitCall:
    """What a unit works on."""

    layer: RecurrentLayer
    x: Tensor
    spatial_dim: Dim
    in_dim: Dim
    out_dim: Dim
    initial: list[Tensor] | None
    """states in the order of ``Unit.state_names``"""
    opts: dict[str, Any]
    """``unit_opts``"""

    def param(self, name: str, dims: list[Dim], *, init: Any = None) -> Tensor:
        """
        :param init: None: that of the recurrent layer for matrices
        """
        if init is None:
            init = self.layer.matrix_init
        return self.layer.param(name, dims, init=init)

    def lstm(self, *, w: Tensor | None, w_re: Tensor, b: Tensor | None, **options: Any) -> tuple[Tensor, list[Tensor]]:
        """
        :func:`returnn.frontend.lstm` over all frames
        """
        h, c = self.initial or (None, None)
        y, h, c = rf.lstm(self.x, w=w, w_re=w_re, b=b, initial_h=h, initial_c=c, **options, **self._loop())
        return y, [h, c]

    def rnn(self, cell: Any, params: dict[str, Tensor], **options: Any) -> tuple[Tensor, list[Tensor]]:
        """
        :func:`returnn.frontend.rnn` over all frames
        """
        return rf.rnn(self.x, cell=cell, params=params, initial_state=self.initial, **options, **self._loop())

    def _loop(self) -> dict[str, Any]:
        return {
            "spatial_dim": self.spatial_dim,
            "in_dim": self.in_dim,
            "out_dim": self.out_dim,
            "direction": self.layer.direction or 1,
        }

    def dropout_masks(self, **drop_probs: float) -> dict[str, Tensor]:
        """
        Masks that stay the same for all frames; seeds are the names of layer and mask, and ``dropout_seed``.

        :param drop_probs: name of a mask -> probability of zero, 0 for none
        :return: [batch, .., out], 0 or 1 / (1 - probability); all ones when not training
        """
        if self.opts["dropout_seed"] is None:
            self.layer._skip_seed()
        masks = {}
        on_forward = self.opts.get("is_training")
        for key, drop_prob in drop_probs.items():
            if drop_prob and on_forward is not False:
                name = "%s/%s/%s" % (self.layer.get_absolute_name(), key, self.opts["dropout_seed"])
                ones = self.layer.constant_state(
                    self.x, 1.0, without=[self.spatial_dim, self.in_dim], out_dim=self.out_dim
                )
                masks[key] = rf.dropout(
                    ones, drop_prob, name=name, on_forward=bool(on_forward), same_in_all_frames=True
                )
        return masks


@dataclass
class Unit:
    """A kind of recurrent unit."""

    state_names: tuple[str, ...]
    """("h", "c") for LSTMs; ("state",) where there is only one"""
    options: dict[str, Any]
    """``unit_opts`` and their defaults"""
    compute: Callable[[UnitCall], tuple[Tensor, list[Tensor]]]
    """-> output [time, batch, n], last states"""
    is_cell: bool = True
    """computes single frames; else whole sequences only"""
    accepts_labels: bool = False
    optional_projection: bool = False
    """knows ``input_projection: False``"""
    accepts_initial_state: bool = True


# ---- LSTMs with matrices for input and state


def _native_lstm(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``W`` [D, 4n], ``W_re`` [n, 4n], ``b`` [4n]; blocks j, i, f, o; only W_re if ``input_projection`` is False"""
    _check_no_forget_bias(call)
    gates = 4 * call.out_dim
    layer = call.layer
    w = b = None
    if layer.input_projection:
        w = call.param("W", [call.in_dim, gates], init=layer.forward_init)
        b = call.param("b", [gates], init=layer.lstm_bias_init)
    elif call.in_dim.dimension != gates.dimension:
        text = "input_projection is False: the input must have 4 * %i features, one for each gate, but is %s"
        raise ConfigError(text % (call.out_dim.dimension, call.x.short_repr()))
    w_re = call.param("W_re", [call.out_dim, gates], init=layer.recurrent_init)
    return call.lstm(w=w, w_re=_with_weight_dropout(call, w_re), b=b, gate_order="jifo")


def _with_weight_dropout(call: UnitCall, w_re: Tensor) -> Tensor:
    drop_prob, shape = call.opts["rec_weight_dropout"], call.opts["rec_weight_dropout_shape"]
    if not drop_prob:
        return w_re
    call.layer._skip_seed()
    if not 0 < drop_prob < 1:
        raise ConfigError("unit_opts: rec_weight_dropout must be in [0, 1), but is %r" % (drop_prob,))
    axes = None
    if shape is not None:
        if len(shape) != 2:
            raise ConfigError("unit_opts: rec_weight_dropout_shape must have 2 entries, but is %r" % (shape,))
        axes = [d for d, n in zip(w_re.dims, shape, strict=True) if n != 1]
    name = call.layer.get_absolute_name() + "/rec_weight_dropout"
    return rf.dropout(w_re, drop_prob, axis=axes, name=name, same_in_all_frames=True)


def _native_lstm_v1(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """the same; of the state it gives only c"""
    y, (_, c) = _native_lstm(call)
    return y, [c]


def _low_mem_lstm(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``W`` [D + n, 4n], rows input, h; ``b`` [4n]; blocks j, i, f, o"""
    _check_no_forget_bias(call)
    gates = 4 * call.out_dim
    kernel = call.param("W", [call.in_dim + call.out_dim, gates])
    b = call.param("b", [gates], init=call.layer.lstm_bias_init)
    w, w_re = _split_rows(call, kernel)
    return call.lstm(w=w, w_re=w_re, b=b, gate_order="jifo")


def _check_no_forget_bias(call: UnitCall) -> None:
    if call.opts["forget_bias"]:
        raise ConfigError("unit_opts: this unit has no forget_bias other than 0, but got %r" % call.opts["forget_bias"])


# ---- LSTMs with a joint kernel


def _cell_lstm(cell_name: str) -> Callable[[UnitCall], tuple[Tensor, list[Tensor]]]:
    def compute(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
        """as :func:`_kernel_and_bias`, and for peepholes ``CELL/w_i_diag``, ``w_f_diag``, ``w_o_diag`` [n]"""
        params = _kernel_and_bias(call, cell_name)
        if call.opts.get("use_peepholes"):
            for name in ("w_i_diag", "w_f_diag", "w_o_diag"):
                params[name] = call.param("%s/%s" % (cell_name, name), [call.out_dim])
        if call.opts.get("use_peepholes") or call.opts["activation"] != "tanh":
            return call.rnn("lstm", params, forget_bias=call.opts["forget_bias"], activation=call.opts["activation"])
        w, w_re = _split_rows(call, params["kernel"])
        return call.lstm(w=w, w_re=w_re, b=params["bias"], gate_order="ijfo", forget_bias=call.opts["forget_bias"])

    return compute


def _kernel_and_bias(call: UnitCall, cell_name: str) -> dict[str, Tensor]:
    """``CELL/kernel`` [D + n, 4n], rows input, h; ``CELL/bias`` [4n]; blocks i, j, f, o"""
    gates = 4 * call.out_dim
    return {
        "kernel": call.param(cell_name + "/kernel", [call.in_dim + call.out_dim, gates]),
        "bias": call.param(cell_name + "/bias", [gates], init=Constant(0.0)),
    }


def _split_rows(call: UnitCall, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """
    :return: rows of the input, rows of h
    """
    rows, in_size = kernel.dims[0], call.in_dim.dimension
    w, _ = rf.slice(kernel, axis=rows, end=in_size, out_dim=call.in_dim)
    w_re, _ = rf.slice(kernel, axis=rows, start=in_size, out_dim=call.out_dim)
    return w, w_re


def _zoneout_lstm(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """as :func:`_kernel_and_bias`, in ``lstm_cell``"""
    opts = dict(call.opts)
    for key in ("zoneout_factor_cell", "zoneout_factor_output"):
        if not 0 <= opts[key] <= 1:
            raise ConfigError("unit_opts: %s must be in [0, 1], but is %r" % (key, opts[key]))
    if opts["use_zoneout_output"] is None:
        opts["use_zoneout_output"] = BehaviorVersion.has(Change.ZONEOUT_OUTPUT)
    return call.rnn("zoneoutlstm", _kernel_and_bias(call, "lstm_cell"), noise=call.layer.get_absolute_name(), **opts)


def _layer_norm_lstm(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``W_ff`` [D, 4n] and ``W_re`` [n, 4n], or ``W_ff_re`` [D + n, 4n]; ``bias_ff`` or ``bias_ff_re`` [4n] where no
    gate is normed; ``gamma_X`` and ``beta_X`` of what is normed; blocks i, j, f, o"""
    opts = call.opts
    _check_norms(opts)
    gates = 4 * call.out_dim
    if opts["with_concat"]:
        params = {"W_ff_re": call.param("W_ff_re", [call.in_dim + call.out_dim, gates])}
    else:
        params = {
            "W_ff": call.param("W_ff", [call.in_dim, gates], init=call.layer.forward_init),
            "W_re": call.param("W_re", [call.out_dim, gates], init=call.layer.recurrent_init),
        }
    shift, forget_bias = opts["norm_shift"], opts["forget_bias"]

    n = call.out_dim.require_static()
    of_gates = shift + forget_bias
    if BehaviorVersion.has(Change.FORGET_BIAS_OF_GATE):
        of_gates = [shift] * 2 * n + [shift + forget_bias] * n + [shift] * n

    def norm(name: str, dim: Dim, beta: float | list[float] | None) -> None:
        params["gamma_" + name] = call.param("gamma_" + name, [dim], init=Constant(opts["norm_gain"]))
        if beta is not None:
            params["beta_" + name] = call.param("beta_" + name, [dim], init=Constant(beta))

    if opts["global_norm"]:
        norm("input_below", gates, of_gates)
        norm("state_below", gates, None)
    elif opts["global_norm_joined"]:
        norm("lstm_in", gates, of_gates)
    elif opts["per_gate_norm"]:
        for gate in "ijfo":
            norm("%s_gate" % gate, call.out_dim, shift + forget_bias if gate == "f" else shift)
    else:
        name = "bias_ff_re" if opts["with_concat"] else "bias_ff"
        params[name] = call.param(name, [gates], init=Constant([0.0] * 2 * n + [forget_bias] * n + [0.0] * n))
    if opts["cell_norm"]:
        norm("new_c", call.out_dim, shift)
    if opts["hidden_norm"]:
        norm("new_h", call.out_dim, shift)
    return call.rnn(
        "layernormlstm",
        params,
        masks=call.dropout_masks(j=opts["dropout"], h=opts["dropout_h"]),
        activation=opts["activation"],
        epsilon=opts["variance_epsilon"],
        cell_norm_in_output=opts["cell_norm_in_output"],
    )


def _check_norms(opts: dict[str, Any]) -> None:
    exclusive = {
        "global_norm": ["global_norm_joined", "per_gate_norm", "with_concat"],
        "global_norm_joined": ["per_gate_norm"],
    }
    for key, others in exclusive.items():
        for other in others:
            if opts[key] and opts[other]:
                hint = " (global_norm is the default: set it to False)" if key == "global_norm" else ""
                raise ConfigError("unit_opts: %s and %s exclude each other%s" % (key, other, hint))


# ---- others


def _gru(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """in ``gru_cell``: ``gates/kernel`` [D + n, 2n] (r, u), ``gates/bias`` (1); ``candidate/kernel``, ``/bias``"""
    rows, n = call.in_dim + call.out_dim, call.out_dim
    params = {
        "gates/kernel": call.param("gru_cell/gates/kernel", [rows, 2 * n]),
        "gates/bias": call.param("gru_cell/gates/bias", [2 * n], init=Constant(1.0)),
        "candidate/kernel": call.param("gru_cell/candidate/kernel", [rows, n]),
        "candidate/bias": call.param("gru_cell/candidate/bias", [n], init=Constant(0.0)),
    }
    return call.rnn("gru", params, activation=call.opts["activation"])


def _basic_rnn(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``basic_rnn_cell/kernel`` [D + n, n], ``basic_rnn_cell/bias`` [n]"""
    params = {
        "kernel": call.param("basic_rnn_cell/kernel", [call.in_dim + call.out_dim, call.out_dim]),
        "bias": call.param("basic_rnn_cell/bias", [call.out_dim], init=Constant(0.0)),
    }
    return call.rnn("basicrnn", params, activation=call.opts["activation"])


def _rhn(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
    """``W`` [D, 2n], ``b`` [2n] (0, and ``transform_bias``), ``rhn_cell/depth_<i>/W`` [n, 2n]"""
    opts, n = call.opts, call.out_dim.require_static()
    if not isinstance(opts["depth"], int) or opts["depth"] < 1:
        raise ConfigError("unit_opts: depth must be a positive integer, but is %r" % (opts["depth"],))
    params = {
        "W": call.param("W", [call.in_dim, 2 * call.out_dim], init=call.layer.forward_init),
        "b": call.param("b", [2 * call.out_dim], init=Constant([0.0] * n + [opts["transform_bias"]] * n)),
    }
    for i in range(opts["depth"]):
        params["depth_%i/W" % i] = call.param("rhn_cell/depth_%i/W" % i, [call.out_dim, 2 * call.out_dim])
    return call.rnn("rhn", params, masks=call.dropout_masks(s=opts["dropout"]))


_NATIVE = Unit(
    state_names=("h", "c"),
    options={"forget_bias": 0.0, "rec_weight_dropout": 0.0, "rec_weight_dropout_shape": None},
    compute=_native_lstm,
    is_cell=False,
    accepts_labels=True,
    optional_projection=True,
)
_NATIVE_V1 = replace(_NATIVE, state_names=("c",), compute=_native_lstm_v1, accepts_initial_state=False)
_LAYER_NORM = Unit(
    state_names=("h", "c"),
    options={
        "norm_gain": 1.0,
        "norm_shift": 0.0,
        "forget_bias": 0.0,
        "activation": "tanh",
        "is_training": None,
        "dropout": 0.0,
        "dropout_h": 0.0,
        "dropout_seed": None,
        "with_concat": False,
        "global_norm": True,
        "global_norm_joined": False,
        "per_gate_norm": False,
        "cell_norm": True,
        "cell_norm_in_output": True,
        "hidden_norm": False,
        "variance_epsilon": 1e-12,
    },
    compute=_layer_norm_lstm,
)
_ZONEOUT_OPTIONS = {
    "zoneout_factor_cell": 0.0,
    "zoneout_factor_output": 0.0,
    "use_zoneout_output": None,
    "forget_bias": 1.0,
}
_RHN_OPTIONS = {
    "depth": 5,
    "dropout": 0.0,
    "dropout_seed": None,
    "transform_bias": 0.0,
    "batch_size": None,  # a hint for static shapes; the number of sequences is that of the input anyway
}
_STANDARD = Unit(
    ("h", "c"), {"forget_bias": 1.0, "use_peepholes": False, "activation": "tanh"}, _cell_lstm("lstm_cell")
)
UNITS: dict[str, Unit] = {
    "nativelstm2": _NATIVE,
    "lstmp": _NATIVE,
    "lstm": _NATIVE,
    "lstmblock": _NATIVE,
    "lstmblockfused": _NATIVE,
    "cudnnlstm": _NATIVE,
    "vanillalstm": replace(_NATIVE, is_cell=True),
    "nativelstm": _NATIVE_V1,
    "nativelstmlowmem": Unit(("h", "c"), {"forget_bias": 0.0}, _low_mem_lstm, is_cell=False),
    "standardlstm": _STANDARD,
    "basiclstm": Unit(("h", "c"), {"forget_bias": 1.0, "activation": "tanh"}, _cell_lstm("basic_lstm_cell")),
    "zoneoutlstm": Unit(("h", "c"), _ZONEOUT_OPTIONS, _zoneout_lstm),
    "layernormvariantslstm": _LAYER_NORM,
    "gru": Unit(("state",), {"activation": "tanh"}, _gru),
    "basicrnn": Unit(("state",), {"activation": "tanh"}, _basic_rnn),
    "rhn": Unit(("state",), _RHN_OPTIONS, _rhn),
}
"""by name, for whole sequences"""
_CELLS = dict(UNITS, lstmblock=_STANDARD, lstmblockfused=_STANDARD, cudnnlstm=_STANDARD)
"""by name, for single frames"""
USER_CELLS: dict[str, type] = {}
"""by name, in lower case: classes of users"""


def get_unit(unit: Any, opts: dict[str, Any], *, for_single_frames: bool) -> tuple[type | Unit, dict[str, Any]]:
    """
    :param unit: name, letter case does not matter; or a class
    :param opts: ``unit_opts``
    :param for_single_frames: units that work on whole sequences do not count
    :return: unit, or class of a user's unit; and the options, with defaults where they are known
    :raises ConfigError: unknown name or option
    """
    found = unit if isinstance(unit, type) else unit_of_name(unit, for_single_frames=for_single_frames)
    if isinstance(found, type):
        return found, opts
    for key in opts:
        if key not in found.options:
            known = ", ".join(sorted(found.options)) or "none"
            raise ConfigError(
                "unit %r has no option %r.%s Options: %s" % (unit, key, did_you_mean(key, found.options), known)
            )
    return found, dict(found.options, **opts)


def unit_of_name(name: str, *, for_single_frames: bool) -> type | Unit:
    """
    :param name: letter case does not matter
    :param for_single_frames: units that work on whole sequences do not count
    :return: class of a user's unit, or one of ours
    """
    if not isinstance(name, str):
        raise ConfigError("unit must be the name of a unit, or a class, but is %r" % (name,))
    key = name.lower()
    if key in USER_CELLS:
        return USER_CELLS[key]
    units = _CELLS if for_single_frames else UNITS
    unit = units.get(key)
    if unit is None:
        known = sorted([*units, *USER_CELLS])
        raise ConfigError("unknown cell %r.%s known cells: %s" % (name, did_you_mean(name, known), known))
    if for_single_frames and not unit.is_cell:
        cells = sorted(key for key, other in units.items() if other.is_cell)
        raise ConfigError(
            "unit %r works on whole sequences, in class rec; for single frames there are: %s" % (name, ", ".join(cells))
        )
    return unit
