"""The recurrent layer, with a unit over the time axis, and access to its last state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.layers.base import LayerBase
from returnn.layers.concat_input import ConcatInputLayer
from returnn.layers.initializers import parse_initializer
from returnn.layers.registry import layer_class
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.util.errors import ConfigError

from .units import Unit, UnitCall, get_unit

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("rec")
class RecLayer(ConcatInputLayer):
    """A recurrent unit over the time axis. Output [time, batch, F], zero behind a sequence's end.

    Parameters: those of the unit, see :mod:`.units`, in the scope ``LAYER/rec``.
    """

    recurrent = True

    unit: str | dict[str, Any] = "lstm"
    """name of a unit"""
    unit_opts: dict[str, Any] | None = None
    """options of the unit"""
    direction: int | None = None
    """1 or None: forwards; -1: backwards, from each sequence's own end"""
    initial_state: Any = None
    """None, 0 or "zeros"; 1 or "ones"; "var": trainable; a layer; or a dict or tuple of these, per part of the state"""
    axis: Any = None
    """axis description of the axis to iterate over; default: time"""
    forward_weights_init: Any = None
    """initial values of W"""
    recurrent_weights_init: Any = None
    """initial values of W_re, or of a unit's joint matrix; each of the two stands in for the other if that is not given"""
    bias_init: Any = None
    """initial values of b, where the unit has W, W_re, b; 0 by default"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if isinstance(d.get("unit"), dict):
            raise ConfigError(
                "a recurrent layer with a sub-network as unit is not supported yet; units by name are, e.g. nativelstm2"
            )
        d["initial_state"] = _resolve_state(d.get("initial_state"), get_layer)
        super().transform_config_dict(d, network, get_layer)

    @property
    def scope(self) -> str:
        if self.name_scope is not None:
            return super().scope
        return super().scope + "/rec"

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.unit, str):
            raise ConfigError("unit must be the name of a unit, but is %r" % (self.unit,))
        if self.direction not in (None, 1, -1):
            raise ConfigError("direction must be 1 or -1, but is %r" % (self.direction,))
        unit, opts = get_unit(self.unit, self.unit_opts or {})
        spatial_dim = self._spatial_dim(x)
        in_dim = x.feature_dim_or_sparse_dim
        if x.sparse and not unit.accepts_labels:
            raise ConfigError("unit %r does not take labels as input: put a linear layer in front" % self.unit)
        if in_dim is None or in_dim.dimension is None:
            raise ConfigError("the input %s has no static feature dim" % x.short_repr())
        out_dim = self.resolve_out_dim()
        if in_dim == out_dim and not x.sparse:
            in_dim = self.make_dim("in", in_dim.dimension, kind=in_dim.kind)
            x = rf.replace_dim(x, in_dim=out_dim, out_dim=in_dim)
        self._parse_initializers()
        initial = self._initial_states(unit, out_dim)
        call = UnitCall(self, x, spatial_dim, in_dim, out_dim, initial, opts)
        y, states = unit.compute(call)
        self._states = dict(zip(unit.state_names, states, strict=True))
        return y

    def _spatial_dim(self, x: Tensor) -> Dim:
        axis = "T" if self.axis is None else self.axis
        if self.axis is None and not x.have_time_axis():
            raise ConfigError("the input %s has no time axis to iterate over" % x.short_repr())
        dim = x.dims[x.get_axis_from_description(axis)]
        rest = [d for d in x.dims if d not in (dim, batch_dim, x.feature_dim)]
        if rest or not x.have_batch_axis():
            raise ConfigError("the input must be [batch, time, feature], but is %s: merge other axes first" % x.short_repr())
        return dim

    # ---- initial values of parameters

    forward_init = recurrent_init = lstm_bias_init = matrix_init = None

    def _parse_initializers(self) -> None:
        """Each one given draws one seed, in this order; what is not given shares one Glorot initialiser."""
        if self._is_template:
            return
        given = [self.forward_weights_init, self.recurrent_weights_init, self.bias_init]
        forward, recurrent, bias = (None if v is None else parse_initializer(v, layer=self) for v in given)
        self.matrix_init = recurrent or forward or parse_initializer("glorot_uniform", layer=self)
        self.forward_init = forward or self.matrix_init
        self.recurrent_init = self.matrix_init
        self.lstm_bias_init = bias or Constant(0.0)

    # ---- states

    def _initial_states(self, unit: Unit, out_dim: Dim) -> list[Tensor] | None:
        state = self.initial_state
        if state is None or (isinstance(state, (int, float, str)) and state in (0, "zeros")):
            return None
        names = unit.state_names
        if isinstance(state, dict):
            if set(state) != set(names):
                raise ConfigError("initial_state must have the keys %s, but has %s" % (sorted(names), sorted(state)))
            parts = [state[name] for name in names]
        elif isinstance(state, (list, tuple)):
            if len(state) != len(names):
                raise ConfigError("initial_state must have %i parts: %s" % (len(names), ", ".join(_in_state_order(names))))
            by_name = dict(zip(_in_state_order(names), state, strict=True))
            parts = [by_name[name] for name in names]
        elif isinstance(state, LayerBase) and len(names) > 1:
            raise ConfigError("initial_state: one layer for a state of %i parts; give a dict with %s" % (len(names), list(names)))
        else:
            parts = [state] * len(names)
        return [self._initial_state(name, part, out_dim) for name, part in zip(names, parts, strict=True)]

    def _initial_state(self, name: str, part: Any, out_dim: Dim) -> Tensor:
        if isinstance(part, LayerBase):
            value = part.get_last_hidden_state("*") if not self._is_template else None
            value = part.output if value is None else value
            if set(value.dims) - {batch_dim, value.feature_dim} or value.dim != out_dim.dimension:
                raise ConfigError("initial_state: %r must be [batch, %i]" % (part, out_dim.dimension))
            if value.feature_dim != out_dim:
                value = rf.replace_dim(value, in_dim=value.feature_dim, out_dim=out_dim)
            return value.copy_template() if self._is_template else value
        if part in (None, 0, "zeros"):
            return self._constant_state(0.0, out_dim)
        if part in (1, "ones"):
            return self._constant_state(1.0, out_dim)
        if part == "var":
            var = self.param("initial_" + (name if name != "state" else "var"), [out_dim], init=Constant(0.0))
            return var + self._constant_state(0.0, out_dim)
        raise ConfigError("invalid initial state type: %r" % (part,))

    def _constant_state(self, value: float, out_dim: Dim) -> Tensor:
        raw = None
        if not self._is_template:
            sizes = [self.network.get_data_batch_dim(), out_dim.dimension]
            raw = self.network.backend.full(sizes, value, "float32")
        return Tensor("initial", (batch_dim, out_dim), "float32", feature_dim=out_dim, raw_tensor=raw)

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        """
        :param key: "*": c and h joined; "c", "h"; or their number, in that order
        """
        names = _in_state_order(tuple(self._states))
        if key == "*":
            parts = [self._states[name] for name in names]
            return parts[0] if len(parts) == 1 else rf.concat_features(*parts)
        if isinstance(key, int) and 0 <= key < len(names):
            return self._states[names[key]]
        if key in self._states:
            return self._states[key]
        if key is None and len(names) == 1:
            return self._states[names[0]]
        raise ConfigError("layer %r has no state %r. Its states: %s" % (self.name, key, ", ".join(names)))


def _in_state_order(names: tuple[str, ...]) -> list[str]:
    return sorted(names)  # c, h


def _resolve_state(state: Any, get_layer: Callable[[str], LayerBase]) -> Any:
    if isinstance(state, dict):
        return {key: _resolve_state(value, get_layer) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [_resolve_state(value, get_layer) for value in state]
    if isinstance(state, str) and state not in ("zeros", "ones", "var"):
        return get_layer(state)
    return state


@layer_class("get_last_hidden_state")
class GetLastHiddenStateLayer(LayerBase):
    """The state behind the last frame of recurrent layers; of a backward layer behind frame 0. Output [batch, F]."""

    recurrent = True

    combine: str = "concat"
    """or add: of several sources"""
    key: Any = "*"
    """"*": all parts of a state joined, c then h; "c", "h"; or their number"""

    def compute(self, *sources: Tensor) -> Tensor:
        if self.n_out is None and self.out_dim is None:
            raise ConfigError('option "n_out" is missing')
        out_dim = self.out_dim or self.make_dim("out", self.n_out, kind=DimKind.Feature)
        if self.combine not in ("concat", "add"):
            raise ConfigError("combine must be concat or add, but is %r" % (self.combine,))
        if not sources:
            raise ConfigError('the layer needs a source: "from" is empty')
        if self._is_template:
            return Tensor(self.name, (batch_dim, out_dim), "float32", feature_dim=out_dim)
        states = []
        for layer in self.sources:
            state = layer.get_last_hidden_state(self.key)
            if state is None:
                raise ConfigError("layer %r (%s) has no state" % (layer.name, layer.layer_class))
            states.append(state)
        y = states[0]
        for x in states[1:]:
            if self.combine == "concat":
                y = rf.concat_features(y, x)
            else:
                y = y + rf.replace_dim(x, in_dim=x.feature_dim, out_dim=y.feature_dim)
        if y.dim != out_dim.dimension:
            raise ConfigError("n_out is %i, but the state has dim %i" % (out_dim.dimension, y.dim))
        return y if y.feature_dim == out_dim else rf.replace_dim(y, in_dim=y.feature_dim, out_dim=out_dim)
