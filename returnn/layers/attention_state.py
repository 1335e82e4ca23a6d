"""Self-attention to frames from before the first one: those of the steps before, or fed by the user.

Of these frames there are the keys and the values, ``k_left`` and ``v_left``, [batch, heads, frames, size]. They stand
in front of those of the input, and all frames of the input see them. What is behind the last frame is kept for the next
step (``keep_over_epoch``), or can be fetched (``placeholder``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.reduce import lowest
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError
from returnn.util.user_functions import failures_in_users_code

from .base import LayerBase
from .history import set_size_of_array

if TYPE_CHECKING:
    from .attention import SelfAttentionLayer

PARTS = ("k_left", "v_left")
_NO_FRAMES = (None, 0, 1, "zeros", "ones")
_OF_STEP_BEFORE = ("keep_over_epoch", "keep_over_epoch_no_init")


def resolve_initial_state(state: Any, get_layer: Callable[[str], LayerBase]) -> Any:
    """
    :param state: as in a config
    :param get_layer: name -> layer
    :return: names of layers resolved
    :raises ConfigError: it is nothing that the option may be
    """
    if isinstance(state, bool):
        raise ConfigError("invalid initial state type: %r" % (state,))
    if isinstance(state, dict):
        if set(state) != set(PARTS):
            raise ConfigError("initial_state must have the keys %s, but has %s" % (list(PARTS), sorted(state)))
        return {key: get_layer(value) if isinstance(value, str) else value for key, value in state.items()}
    if state in (*_NO_FRAMES, *_OF_STEP_BEFORE, "placeholder"):
        return state
    if state == "var":
        raise ConfigError('initial_state "var": how many frames there are is not fixed, so no parameter can be there')
    raise ConfigError(
        "invalid initial state type: %r; one of keep_over_epoch, keep_over_epoch_no_init, placeholder, or a dict with"
        " layers for %s" % (state, " and ".join(PARTS))
    )


class FramesBefore:
    """Of one layer, in one step."""

    def __init__(self, layer: SelfAttentionLayer, *, batch: Dim, heads: Dim, key_dim: Dim, value_dim: Dim):
        self._layer = layer
        self._batch = batch
        self._dim = layer.make_dim("frames-before", None)
        """how many there are, the same number for all sequences"""
        self._parts: dict[str, Tensor] = {}
        """key -> [batch, heads, dim, size]"""
        for key, size in zip(PARTS, (key_dim, value_dim), strict=True):
            self._parts[key] = Tensor(key, [batch, heads, self._dim, size], "float32")
        self._mask: Tensor | None = None
        """bool [batch, dim]: which frames count; None: all"""
        self._new: Tensor | None = None
        """bool [batch, frames of the input]: which of these count; None: all"""
        self._new_dim = self._all = self._dim
        """of the frames of the input; of all frames"""
        self._keep: dict[str, Callable[[Any], Any]] = {}

    @staticmethod
    def are_wanted(layer: SelfAttentionLayer) -> bool:
        """
        :return: whether there can be any
        :raises ConfigError: options that do not go together
        """
        wanted = isinstance(layer.initial_state, dict) or layer.initial_state not in _NO_FRAMES
        if layer.state_var_lengths is not None and not wanted:
            raise ConfigError("state_var_lengths needs an initial_state with frames, such as placeholder")
        return wanted

    def drop_values(self) -> None:
        """See :func:`LayerBase.drop_values`."""
        self._parts = {key: x.copy_template() for key, x in self._parts.items()}
        self._mask, self._new, self._keep = None, None, {}

    @property
    def _backend(self) -> Any:
        return self._layer.network.backend

    def _read_all(self, num_seqs: Any) -> None:
        """
        Outside of loops: gets the values.

        :param num_seqs: raw scalar, or int
        """
        self.drop_values()
        state = self._layer.initial_state
        if isinstance(state, dict):
            self._read_layers(state)
        else:
            for key in PARTS:
                self._parts[key] = self._parts[key].like(self._read(key, list(self._parts[key].dims[1:]), num_seqs))
        set_size_of_array(self._dim, self._parts["k_left"])
        if state in _OF_STEP_BEFORE and BehaviorVersion.has(Change.KEPT_FRAMES_MASK):
            template = Tensor("mask", [self._batch, self._dim], "float32")
            self._mask = template.like(self._read("mask", [self._dim], num_seqs)) > 0.5
        if self._layer.state_var_lengths is not None:
            counts = self._last_ones(self._lengths())
            self._mask = counts if self._mask is None else rf.logical_and(self._mask, counts)

    def _read(self, key: str, dims: Sequence[Dim], num_seqs: Any) -> Any:
        layer, backend, sizes = self._layer, self._backend, [d.dimension for d in dims]
        if layer.initial_state == "placeholder":
            name = "%s/initial_state_placeholder_%s" % (layer.scope, key)
            return backend.placeholder(name, [None, *sizes], "float32")
        reset = None
        if layer.initial_state == "keep_over_epoch":
            reset = backend.compare("equal", layer.network.get_epoch_step(), backend.convert(0, "int64"))
        name = "%s/keep_state_%s" % (layer.scope, key)
        raw, self._keep[key] = backend.kept_value(name, sizes, rows=num_seqs, reset=reset)
        return raw

    def _read_layers(self, layers: dict[str, Any]) -> None:
        for key, template in self._parts.items():
            layer = layers[key]
            if not isinstance(layer, LayerBase):
                raise ConfigError("initial_state: %s must be the name of a layer, but is %r" % (key, layer))
            x = self._layer._output_of(layer)
            x = x.copy_as_batch_major() if x.have_batch_axis() else x
            wanted = [d.dimension for d in template.dims]
            if [d.dimension for d in x.dims[:2] + x.dims[3:]] != wanted[:2] + wanted[3:]:
                text = "initial_state: layer %r must be [batch, %i, frames, %i], but is %s"
                raise ConfigError(text % (layer.name, wanted[1], wanted[3], x.short_repr()))
            frames = x.dims[2]
            if frames.need_masking and x.raw_tensor is not None:
                mask = rf.replace_dim(frames.get_mask(), in_dim=frames, out_dim=self._dim)
                self._mask = mask.copy_transpose([self._batch, self._dim])
            self._parts[key] = template.like(x.raw_tensor)

    def _lengths(self) -> Tensor:
        """int [batch]: ``state_var_lengths``"""
        layer, given = self._layer, self._layer.state_var_lengths
        if isinstance(given, LayerBase):
            lengths = layer._output_of(given)
            if lengths.dims != (self._batch,) or "int" not in lengths.dtype:
                raise ConfigError("state_var_lengths must be int [batch], but is %s" % lengths.short_repr())
            return rf.cast(lengths, "int32")
        if callable(given):
            with failures_in_users_code("layer %r: state_var_lengths" % layer.get_absolute_name()):
                given = self._backend.user_function(given)()
        raw = self._backend.cast(self._backend.convert(given), "int32")
        return Tensor("lengths", [self._batch], "int32", raw_tensor=raw)

    def _last_ones(self, lengths: Tensor) -> Tensor:
        """bool [batch, dim]: the last frames of each sequence, so many"""
        assert self._dim.dyn_size_ext is not None
        first = self._dim.dyn_size_ext - lengths
        return rf.compare(_numbers(self._dim), "greater_equal", first).copy_transpose([self._batch, self._dim])

    # ---- attention

    def in_front_of(self, keys: Tensor, values: Tensor, time: Dim) -> tuple[Tensor, Tensor, Dim]:
        """
        Outside of loops, or moved out of one: gets the values.

        :param keys: of the input, [batch, .., time, ..]
        :param values: as the keys
        :param time: has the lengths of the input
        :return: keys and values of all frames, and the dim of these
        """
        if keys.raw_tensor is not None:
            self._read_all(self._backend.size_of_axis(keys.raw_tensor, keys.get_axis_from_dim(self._batch)))
        self._new_dim, self._all = time, self._layer.make_dim("frames-before:all", None)
        if time.need_masking:
            self._new = time.get_mask()
        res = []
        for key, x in zip(PARTS, (keys, values), strict=True):
            y, total = rf.concat((self._parts[key], self._dim), (x, time), handle_dynamic_dims=False)
            res.append(rf.replace_dim(y, in_dim=total, out_dim=self._all))
        set_size_of_array(self._all, res[0])
        return res[0], res[1], self._all

    def start_of_loop(self, key: str) -> Callable[[Dim], Tensor]:
        """
        :param key: of PARTS
        :return: function that gives, outside of the loop, the frames before the first one, with another dim for these
        """

        def start(dim: Dim) -> Tensor:
            if key == PARTS[0]:  # this comes first
                run = self._layer.network.require_loop().run
                assert run is not None
                self._read_all(run.size_of(self._batch))
            return rf.replace_dim(self._parts[key], in_dim=self._dim, out_dim=dim)

        return start

    def set_frames_of_loop(self, keys: Tensor, dim: Dim) -> None:
        """
        :param keys: in a loop: of those before, and of all frames so far
        :param dim: of these
        """
        self._new_dim, self._all = self._layer.make_dim("frames-before:loop", None), dim
        if keys.raw_tensor is not None:
            assert self._dim.dyn_size_ext is not None and dim.dyn_size_ext is not None
            self._new_dim.dyn_size_ext = dim.dyn_size_ext - self._dim.dyn_size_ext

    def bias(self, causal: Dim | None) -> Tensor | None:
        """
        :param causal: a frame of this axis of the query sees no later frame of the input; None: it sees all
        :return: to add to the energies: the lowest number where a frame is not seen; None: all are seen
        """
        if self._parts["k_left"].raw_tensor is None:
            return None
        seen = self._of_all(self._mask, None if causal else self._new)
        if causal is not None:
            assert self._dim.dyn_size_ext is not None
            earlier = rf.compare(_numbers(self._all) - self._dim.dyn_size_ext, "less_equal", _numbers(causal))
            seen = earlier if seen is None else rf.logical_and(seen, earlier)
        if seen is None:
            return None
        zero = Tensor("zero", [], "float32", raw_tensor=self._backend.convert(0.0, "float32"))
        return rf.where(seen, zero, lowest("float32"))

    def _of_all(self, before: Tensor | None, new: Tensor | None) -> Tensor | None:
        """bool [batch, all frames]; None: all count"""
        if before is None and new is None:
            return None
        before, new = self._or_ones(before, self._dim), self._or_ones(new, self._new_dim)
        mask, total = rf.concat((before, self._dim), (new, self._new_dim), handle_dynamic_dims=False)
        return rf.replace_dim(mask, in_dim=total, out_dim=self._all)

    def _or_ones(self, mask: Tensor | None, dim: Dim) -> Tensor:
        if mask is not None:
            return mask.copy_transpose([self._batch, dim])
        rows = self._backend.size_of_axis(self._parts["k_left"].raw_tensor, 0)
        raw = self._backend.full([rows, dim.get_dim_value()], True, "bool")
        return Tensor("ones", [self._batch, dim], "bool", raw_tensor=raw)

    # ---- what is left

    @property
    def keeps(self) -> bool:
        """whether something is kept for the next step"""
        return bool(self._keep)

    def states(self, keys: Tensor, values: Tensor) -> dict[str, Tensor]:
        """
        :param keys: of all frames
        :param values: of all frames
        :return: key -> [batch, heads, frames, size]: what is left, the frames of the input alone if the options say so
        """
        return {key: self._wanted(x) for key, x in zip(PARTS, (keys, values), strict=True)}

    def keep(self, states: dict[str, Tensor], loop_dim: Dim | None) -> list[Any]:
        """
        :param states: see :func:`states`
        :param loop_dim: the axis of the loop; None: all frames of the input are there
        :return: operations that keep these for the next step
        :raises ConfigError: the lengths of the loop are not known while it runs
        """
        if "mask" in self._keep:
            new = self._new
            if loop_dim is not None and loop_dim.is_dynamic:
                lengths = loop_dim.dyn_size_ext
                if lengths is None:
                    text = "initial_state %r in a loop that ends by itself is not possible"
                    raise ConfigError(text % (self._layer.initial_state,))
                new = rf.compare(_numbers(self._new_dim), "less", lengths) if lengths.dims else None
            mask = self._of_all(self._mask, new)
            mask = self._or_ones(None, self._all) if mask is None else mask
            states = {**states, "mask": self._wanted(rf.cast(mask, "float32"))}
        return [keep(states[key].raw_tensor) for key, keep in self._keep.items()]

    def _wanted(self, x: Tensor) -> Tensor:
        """
        :param x: keys, values, or a mask, of all frames
        :return: [batch, heads, frames, size] or [batch, frames]
        """
        rest = [d for d in x.dims if d not in (self._batch, self._all)]
        if len(rest) > 2:
            text = "initial_state %r: hypotheses of a search cannot be kept"
            raise ConfigError(text % (self._layer.initial_state,))
        x = x.copy_transpose([self._batch, *rest[:1], self._all, *rest[1:]])
        if not self._layer.restrict_state_to_last_seq:
            return x
        own, raw = self._layer.make_dim("frames-left", None), x.raw_tensor
        if raw is not None:
            assert self._dim.dyn_size_ext is not None
            raw = self._backend.slice(raw, x.get_axis_from_dim(self._all), self._dim.dyn_size_ext.raw_tensor, None)
        return x.like(raw, dims=[own if d == self._all else d for d in x.dims])

    def named(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        """
        :param states: see :func:`states`, outside of loops
        :return: the same; they can be fetched by their names, if those before the first frame are fed by theirs
        """
        if self._layer.initial_state != "placeholder" or states["k_left"].raw_tensor is None:
            return states
        name = self._layer.scope + "/last_state_%s"
        return {key: x.like(self._backend.named(x.raw_tensor, name % key)) for key, x in states.items()}


def _numbers(dim: Dim) -> Tensor:
    """int [dim]: 0, 1, .."""
    x = rf.range_over_dim(dim)
    return x.like(x.raw_tensor, sparse_dim=None)
