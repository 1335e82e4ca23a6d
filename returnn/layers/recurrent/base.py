"""What layers with a recurrent unit share: input, parameters, initial and last state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.layers.base import LayerBase
from returnn.layers.concat_input import ConcatInputLayer
from returnn.layers.initializers import parse_initializer
from returnn.layers.source import UnknownType
from returnn.log import log
from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.errors import ConfigError

from .state_keys import in_state_order, state_of_key
from .units import Unit, UnitCall, get_unit
from .user_cells import user_unit

if TYPE_CHECKING:
    from returnn.network.network import Network

_STATE_KINDS = ("zeros", "ones", "var", "keep_over_epoch", "keep_over_epoch_no_init", "placeholder")


class RecurrentLayer(ConcatInputLayer):
    """A recurrent unit over an axis of the input, or one step of it.

    Axes of the input besides that one, batch and feature are independent sequences.
    """

    recurrent = True
    iterates_itself = True

    unit: str | type | dict[str, Any] = "lstm"
    """name of a unit, or a class: see ``returnn.tf.layers.rec.BaseRNNCell``, TensorFlow only"""
    unit_opts: dict[str, Any] | None = None
    """options of the unit"""
    initial_state: Any = None
    """None, 0 or "zeros"; 1 or "ones"; "var": trainable; a layer: its last hidden state if it has one, else its output;
    or a dict or tuple of these, per part of the state. Or "keep_over_epoch": where the last step stopped, zeros in the
    first step of an epoch; "keep_over_epoch_no_init": the same, never reset; "placeholder": fed by the user, as
    ``LAYER/rec/initial_state_placeholder_KEY``, and the last state is ``LAYER/rec/last_state_KEY``"""
    state: dict[str, Any] | None = None
    """do one step, from this state: a dict of its parts, or of ``state``, which is as ``initial_state``"""
    # what only some of these layers have as an option
    direction = cast("int | None", None)
    input_projection = True
    back_prop = cast("bool | None", None)
    _makes_initial_state = False
    """a parameter that is made now is an initial state: of a unit for single frames, it has no "rec" in its name"""
    _for_single_frames = False
    """the unit has to be one for single frames"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        state = d.get("state")
        if state is not None:
            if not isinstance(state, dict) or d.get("initial_state") is not None:
                raise ConfigError("state must be a dict, and excludes initial_state, but is %r" % (state,))
            d["state"] = _resolve_state(state["state"] if set(state) == {"state"} else state, get_layer)
        d["initial_state"] = _resolve_state(d.get("initial_state"), get_layer)
        super().transform_config_dict(d, network, get_layer)
        if isinstance(d["initial_state"], list):
            print("layer %r: initial_state as a list; a dict says which part is which" % d["_name"], file=log.v2)

    @property
    def scope(self) -> str:
        if self.name_scope is not None or self._makes_initial_state:
            return super().scope
        return super().scope + "/rec"

    def get_dep_layers(self) -> list[LayerBase]:
        return [*super().get_dep_layers(), *_layers_in(self.initial_state), *_layers_in(self.state)]

    def _run_unit(self, x: Tensor, spatial_dim: Dim | None) -> Tensor:
        """
        :param x: input
        :param spatial_dim: of x, to iterate over; None: one step
        :return: [spatial_dim, batch, other.., F], or [batch, other.., F]; and the last states are known
        """
        unit, opts = self._unit()
        single_step = spatial_dim is None
        if spatial_dim is None:
            spatial_dim = self.make_dim("step", 1)
            x = x.copy_add_dim_by_tag(spatial_dim, axis=0)
        in_dim = x.feature_dim_or_sparse_dim
        if x.sparse and not unit.accepts_labels:
            raise ConfigError("unit %r does not take labels as input: put a linear layer in front" % (self.unit,))
        if in_dim is None or in_dim.dimension is None:
            raise ConfigError("the input %s has no static feature dim" % x.short_repr())
        out_dim = self.required_out_dim()
        if in_dim == out_dim and not x.sparse:
            in_dim = self.make_dim("in", in_dim.dimension, kind=in_dim.kind)
            x = rf.replace_dim(x, in_dim=out_dim, out_dim=in_dim)
        self._parse_initializers()
        self._after_states: dict[str, Callable[[Tensor], Tensor]] = {}
        self._joined_states: Tensor | None = None
        is_stepping = single_step and self.state is None and self.is_stepping
        if is_stepping:
            initial: list[Tensor] | None = self._states_before(unit, x, without=[spatial_dim, in_dim], out_dim=out_dim)
        else:
            initial = self._initial_states(unit, x, without=[spatial_dim, in_dim], out_dim=out_dim)
        y, states = unit.compute(UnitCall(self, x, spatial_dim, in_dim, out_dim, initial, opts))
        if single_step:
            y = rf.squeeze(y, spatial_dim)
        if self.back_prop is False:
            y, states = rf.stop_gradient(y), [rf.stop_gradient(s) for s in states]
        if is_stepping:
            for name, state in zip(unit.state_names, states, strict=True):
                self.leave(name, state)
        self._states = dict(zip(unit.state_names, states, strict=True))
        for name, function in self._after_states.items():
            self._states[name] = function(self._states[name])
        return y

    def drop_values(self) -> None:
        super().drop_values()
        self._states = {name: x.copy_template() for name, x in self._states.items()}
        self._joined_states = None

    def _states_before(self, unit: Unit, x: Tensor, *, without: Sequence[Dim], out_dim: Dim) -> list[Tensor]:
        """
        In a loop around this layer: the states behind the frame before, in the order of the unit's states.
        """
        dims = [d for d in visible_dims(x.dims) if d not in without] + [out_dim]
        template = Tensor("state", dims, "float32", feature_dim=out_dim)

        def initial(name: str) -> Callable[[], Tensor]:
            return lambda: self._initial_state_of_loop(unit, name, dims)

        if self.initial_state is not None and not self.has_values:
            for name, part in zip(unit.state_names, _parts_of(self.initial_state, unit.state_names), strict=True):
                if _is_one_of(part, ("var",)):
                    self._fixed_state(name, part, out_dim)  # makes the parameter
        return [self.previous(name, template, initial(name)) for name in unit.state_names]

    def _initial_state_of_loop(self, unit: Unit, name: str, dims: list[Dim]) -> Tensor:
        state = self.initial_state
        loop = self.network.require_loop().run
        assert loop is not None
        if state is None or _is_one_of(state, (0, "zeros")):
            return loop.full_tensor(name, dims, "float32", 0.0)
        part = _parts_of(state, unit.state_names)[unit.state_names.index(name)]
        if part is None or _is_one_of(part, (0, 1, "zeros", "ones")):
            return loop.full_tensor(name, dims, "float32", 1.0 if part in (1, "ones") else 0.0)
        fixed = self._fixed_state(name, part, dims[-1])
        if fixed is None:
            raise ConfigError("initial_state %r is not supported within a loop" % (part,))
        return fixed

    def output_before_first_frame(self) -> Tensor | None:
        """that of its initial state"""
        if self.initial_state is None:
            return None
        unit, _ = self._unit()
        name = "h" if "h" in unit.state_names else unit.state_names[0]
        dims = list(self.network.require_loop().template_of(self).dims)
        return self._initial_state_of_loop(unit, name, dims)

    def get_state_of_frame_before(self, key: Any) -> Tensor | None:
        unit, _ = self._unit()
        loop = self.network.require_loop()
        specs, states = loop.states.known_of(self.network.name_prefix + self.name), {}
        for name in unit.state_names:
            spec = specs.get(name)
            if spec is None:
                raise UnknownType("the state of layer %r is not known" % self.name)
            states[name] = loop.previous(self, name, spec.template, spec.initial)
        return state_of_key(self.name, states, key)

    def _unit(self) -> tuple[Unit, dict[str, Any]]:
        unit, opts = get_unit(self.unit, self.unit_opts or {}, for_single_frames=self._for_single_frames)
        if isinstance(unit, type):
            unit = user_unit(self, unit, opts)
        if self.direction not in (None, 1, -1):
            raise ConfigError("direction must be 1 or -1, but is %r" % (self.direction,))
        if not self.input_projection and not unit.optional_projection:
            raise ConfigError("input_projection: unit %r cannot do without; nativelstm2 can" % (self.unit,))
        return unit, opts

    # ---- initial values of parameters

    forward_init = recurrent_init = lstm_bias_init = matrix_init = None

    def _inits_given(self) -> list[Any]:
        """
        :return: of W, of W_re or a joint matrix, of b; None: not given
        """
        raise NotImplementedError

    def _parse_initializers(self) -> None:
        """Each one given draws one seed, in this order; what is not given shares one Glorot initialiser."""
        if self._is_template or self.matrix_init is not None:
            return
        given = self._inits_given()
        forward, recurrent, bias = (None if v is None else parse_initializer(v, layer=self) for v in given)
        self.matrix_init = recurrent or forward or parse_initializer("glorot_uniform", layer=self)
        self.forward_init = forward or self.matrix_init
        self.recurrent_init = self.matrix_init
        self.lstm_bias_init = bias or Constant(0.0)

    # ---- states

    def _initial_states(self, unit: Unit, x: Tensor, *, without: Sequence[Dim], out_dim: Dim) -> list[Tensor] | None:
        """
        :param x: input
        :param without: dims of x that states do not have
        :return: in the order of the unit's states, each with ``out_dim`` and maybe the other dims of x; None: zeros
        """
        state = self.initial_state if self.state is None else self.state
        if state is None or _is_one_of(state, (0, "zeros")):
            return None
        if not unit.accepts_initial_state:
            raise ConfigError(
                "initial_state: unit %r always starts at zero; nativelstm2 can start elsewhere" % (self.unit,)
            )
        states = []
        for name, part in zip(unit.state_names, _parts_of(state, unit.state_names), strict=True):
            fixed = self._fixed_state(name, part, out_dim)
            states.append(
                self._state_of_run(name, part, x, without=without, out_dim=out_dim) if fixed is None else fixed
            )
        return states

    def _fixed_state(self, name: str, part: Any, out_dim: Dim) -> Tensor | None:
        """
        :return: None: the state depends on who runs the network, and when
        """
        if isinstance(part, LayerBase):
            return self._state_of_layer(part, out_dim)
        if part is None or _is_one_of(part, (0, 1, "zeros", "ones")):
            return self._constant(1.0 if part in (1, "ones") else 0.0, [out_dim], [out_dim.dimension])
        if _is_one_of(part, ("var",)):
            self._makes_initial_state = self._for_single_frames and self.network.loop is not None
            try:
                return self.param("initial_" + _variable_key(name), [out_dim], init=Constant(0.0))
            finally:
                self._makes_initial_state = False
        if _is_one_of(part, ("keep_over_epoch", "keep_over_epoch_no_init", "placeholder")):
            return None
        raise ConfigError("invalid initial state type: %r" % (part,))

    def _state_of_layer(self, layer: LayerBase, out_dim: Dim) -> Tensor:
        value = layer.get_last_hidden_state("*")
        value = layer.output if value is None else value
        if value.time_dim is not None or value.feature_dim is None or value.dim != out_dim.dimension:
            text = "initial_state: layer %r gives %s, needed is [batch, %i]"
            raise ConfigError(text % (layer.name, value.short_repr(), out_dim.require_static()))
        if self._is_template:
            value = value.copy_template()
        return with_feature_dim(value, out_dim)

    def _state_of_run(self, name: str, part: str, x: Tensor, *, without: Sequence[Dim], out_dim: Dim) -> Tensor:
        rest = [d for d in x.dims if d not in without]
        if len(rest) != 1:
            raise ConfigError(
                "initial_state %r: the input must be [batch, time, feature], but is %s" % (part, x.short_repr())
            )
        dims = [*rest, out_dim]
        if x.raw_tensor is None:
            return Tensor("initial", dims, "float32", feature_dim=out_dim)
        backend, key = self.network.backend, _variable_key(name)
        if part == "placeholder":
            raw = backend.placeholder(
                "%s/initial_state_placeholder_%s" % (self.scope, key), [None, out_dim.require_static()], "float32"
            )
            self._after_states[name] = lambda s: s.like(
                backend.named(s.raw_tensor, "%s/last_state_%s" % (self.scope, key))
            )
            return Tensor("initial", dims, "float32", feature_dim=out_dim, raw_tensor=raw)
        reset = None
        if part == "keep_over_epoch":
            reset = backend.compare("equal", self.network.get_epoch_step(), backend.convert(0, "int64"))
        rows = backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(rest[0]))
        raw, keep = backend.kept_value(
            "%s/keep_state_%s" % (self.scope, key), out_dim.require_static(), rows=rows, reset=reset
        )

        def after(state: Tensor) -> Tensor:
            self.network.register_post_control_dependencies([keep(state.copy_transpose(dims).raw_tensor)])
            return state

        self._after_states[name] = after
        return Tensor("initial", dims, "float32", feature_dim=out_dim, raw_tensor=raw)

    def constant_state(self, x: Tensor, value: float, *, without: Sequence[Dim], out_dim: Dim) -> Tensor:
        """
        :param x: input
        :param value: of all entries
        :param without: dims of x that states do not have
        :return: [other dims of x.., out_dim]
        """
        dims = [d for d in x.dims if d not in without] + [out_dim]
        if x.raw_tensor is None:
            return self._constant(value, dims, [])
        sizes = [self.network.backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(d)) for d in dims[:-1]]
        return self._constant(value, dims, [*sizes, out_dim.dimension])

    def _constant(self, value: float, dims: Sequence[Dim], sizes: Sequence[Any]) -> Tensor:
        raw = self.network.backend.full(sizes, value, "float32") if self.has_values else None
        return Tensor("constant", dims, "float32", feature_dim=dims[-1], time_dim_axis=None, raw_tensor=raw)

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        """
        :param key: "*": c and h joined; "c", "h"; or their number, in that order
        """
        loop = self.network.loop
        behind_loop = None if loop is None else loop.states_behind_loop(self)
        if behind_loop is not None:
            return state_of_key(self.name, behind_loop, key)
        if key != "*":
            return state_of_key(self.name, self._states, key)
        if self._joined_states is None:
            self._joined_states = state_of_key(self.name, self._states, key)
        return self._joined_states


def _layers_in(state: Any) -> list[LayerBase]:
    """
    :param state: as an option says it, names of layers resolved
    """
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, (list, tuple)) else [state]
    return [part for part in parts if isinstance(part, LayerBase)]


def with_feature_dim(x: Tensor, dim: Dim) -> Tensor:
    """
    :param x: has a feature dim of that size
    :return: the same value, with this one
    """
    assert x.feature_dim is not None
    return x if x.feature_dim == dim else rf.replace_dim(x, in_dim=x.feature_dim, out_dim=dim)


def _resolve_state(state: Any, get_layer: Callable[[str], LayerBase]) -> Any:
    if isinstance(state, dict):
        return {key: _resolve_state(value, get_layer) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [_resolve_state(value, get_layer) for value in state]
    if isinstance(state, str) and state not in _STATE_KINDS:
        return get_layer(state)
    return state


def _parts_of(state: Any, names: Sequence[str]) -> list[Any]:
    """
    :param state: as in a config
    :param names: of the parts of the state
    :return: what the config says of each part
    """
    if isinstance(state, dict):
        if set(state) != set(names):
            raise ConfigError("initial_state must have the keys %s, but has %s" % (sorted(names), sorted(state)))
        return [state[name] for name in names]
    if isinstance(state, (list, tuple)):
        if len(state) != len(names):
            raise ConfigError("initial_state must have %i parts: %s" % (len(names), ", ".join(in_state_order(names))))
        by_name = dict(zip(in_state_order(names), state, strict=True))
        return [by_name[name] for name in names]
    if isinstance(state, LayerBase) and len(names) > 1:
        raise ConfigError(
            "initial_state: one layer for a state of %i parts; give a dict with %s" % (len(names), list(names))
        )
    return [state] * len(names)


def _variable_key(name: str) -> str:
    return "var" if name == "state" else name


def _is_one_of(value: Any, known: Sequence[Any]) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool) and value in known
