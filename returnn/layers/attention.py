"""Attention: sums over the frames of a sequence, with weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.errors import ConfigError

from .attention_state import PARTS, FramesBefore, resolve_initial_state
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import feature_dim_of, static_feature_dim_of, time_dim_of, with_markers_by_kind
from .history import all_frames_so_far, means_frames_of_loop, not_in_loop, over_frames
from .registry import layer_class
from .softmax import softmax_over_frames

if TYPE_CHECKING:
    from returnn.network.network import Network


class AttentionLayer(LayerBase):
    """Sum over the frames of a layer ``base``, with weights."""

    base: LayerBase | str | None = None
    """layer with time and feature axis whose frames are summed up; must be given"""

    _layer_options: tuple[str, ...] = ("base",)

    def _base(self) -> Tensor:
        """[batch, time, other axes.., feature]"""
        base = self._output_of_option("base")
        time, feature = time_dim_of(base, "base"), base.feature_dim
        if base.sparse or feature is None:
            raise ConfigError("base must have a feature axis: %s" % base.short_repr())
        batch = [d for d in base.dims if d.is_batch_dim]
        rest = [d for d in base.dims if d not in (*batch, time, feature)]
        return base.copy_transpose([*batch, time, *rest, feature])


@layer_class("generic_attention")
class GenericAttentionLayer(AttentionLayer):
    """Sum over the frames of ``base``, with the output of a layer as weights, such as softmax_over_spatial.

    base [batch, time, heads.., feature]; weights [batch, time, other axes..], in any order. Each axis of heads has its
    partner in an axis of weights: that of the same size, from the right. Output [batch, heads.., other axes of weights
    without those of size 1.., feature].
    Padding counts: the weights must be 0 behind a sequence's end.
    """

    weights: LayerBase | str | None = None
    """layer; must be given"""
    auto_squeeze: bool = True
    """drop axes of size 1 of the weights"""

    recurrent = True
    _default_source = None
    _layer_options = ("weights", "base")

    def compute(self, *sources: Tensor) -> Tensor:
        if sources:
            raise ConfigError('the layer has no "from", but "weights" and "base"')
        weights, base = self._output_of_option("weights"), self._base()
        time = time_dim_of(base, "base")
        weights = self._with_time_of_base(weights, base)
        weights, heads = self._with_heads_of_base(weights, base)
        if self.auto_squeeze:
            ones = [i for i, d in enumerate(weights.dims) if d.dimension == 1 and d not in heads]
            weights = weights.copy_squeeze_axes(ones) if ones else weights
        shared = [d for d in base.dims if d in weights.dims and d != time]
        rest = [d for d in weights.dims if d not in shared and d != time]
        own = [d for d in base.dims if d not in shared and d != time]
        y = rf.matmul(weights, base, reduce=time, use_mask=False, dim_order=shared + rest + own)
        return with_markers_by_kind(y)

    def _with_time_of_base(self, weights: Tensor, base: Tensor) -> Tensor:
        time = time_dim_of(base, "base")
        if weights.time_dim is None and time in weights.dims:
            return weights
        own = time_dim_of(weights, "weights")
        if own == time:
            return weights
        if time in weights.dims:
            return weights
        if (own.twin_of or own) == (time.twin_of or time) or not (own.is_dim_known() and time.is_dim_known()):
            return rf.replace_dim(weights, in_dim=own, out_dim=time)
        raise ConfigError(
            "base %s and weights %s have different time axes: %s and %s"
            % (base.short_repr(), weights.short_repr(), time, own)
        )

    def _with_heads_of_base(self, weights: Tensor, base: Tensor) -> tuple[Tensor, list[Dim]]:
        """
        :return: weights; an axis that is the partner of one of base has the same dim; and these dims
        """
        time = base.time_dim
        free = [d for d in weights.dims if not d.is_batch_dim and d != time]
        heads = []
        dims = list(weights.dims)
        for dim in reversed(base.dims[:-1]):
            if dim.is_batch_dim or dim == time:
                continue
            found = [d for d in free if d == dim or (d.is_static and d.dimension == dim.dimension)]
            if not found:
                raise ConfigError(
                    "axis %s of base %s has no partner of the same size in weights %s"
                    % (dim.short_repr(), base.short_repr(), weights.short_repr())
                )
            free = free[: free.index(found[-1])]
            dims[weights.dims.index(found[-1])] = dim
            heads.append(dim)
        return weights.like(weights.raw_tensor, dims=dims, feature_dim=None, time_dim=time), heads


class _EnergyAttentionLayer(AttentionLayer):
    """softmax over the frames of ``base`` of an energy, which a subclass computes."""

    base_ctx: LayerBase | str | None = None
    """layer with the time axis of ``base``, of which the energy is computed; must be given"""

    recurrent = True
    _layer_options = ("base", "base_ctx")

    def compute(self, *sources: Tensor) -> Tensor:
        x, base, context = self._only_source(sources), self._base(), self._output_of_option("base_ctx")
        time = time_dim_of(base, "base")
        if time not in context.dims:
            raise ConfigError("base_ctx %s has no time axis %s" % (context.short_repr(), time.short_repr()))
        if time in x.dims:
            raise ConfigError("the source %s must not have the time axis of base" % x.short_repr())
        inner, own = feature_dim_of(context), feature_dim_of(x)
        if inner.dimension != own.dimension:
            raise ConfigError("the source has feature dim %s, but base_ctx %s" % (own.short_repr(), inner.short_repr()))
        x = x if own == inner else rf.replace_dim(x, in_dim=own, out_dim=inner)
        energy = self._energy(x, context, inner)
        weights = softmax_over_frames(self, energy, axis=time, mask=time.get_mask() if time.need_masking else None)
        rest = [d for d in base.dims if d not in weights.dims]
        order = [d for d in weights.dims if d != time] + rest
        order.sort(key=lambda d: not d.is_batch_dim)
        return with_markers_by_kind(rf.matmul(weights, base, reduce=time, use_mask=False, dim_order=order))

    def _energy(self, x: Tensor, context: Tensor, inner: Dim) -> Tensor:
        raise NotImplementedError


@layer_class("dot_attention")
class DotAttentionLayer(_EnergyAttentionLayer):
    """softmax_t(energy_factor * source . base_ctx[t]) summed over base[t].

    Source [batch, inner], base_ctx [batch, time, inner], base [batch, time, feature]. Output [batch, feature].
    """

    energy_factor: float | None = None
    """multiplies the energy"""

    def _energy(self, x: Tensor, context: Tensor, inner: Dim) -> Tensor:
        energy = rf.matmul(x, context, reduce=inner)
        return energy if self.energy_factor is None else energy * float(self.energy_factor)


@layer_class("concat_attention")
class ConcatAttentionLayer(_EnergyAttentionLayer):
    """softmax_t(v . tanh(source + base_ctx[t])) summed over base[t]; Bahdanau et al., 2014.

    Source [batch, inner], base_ctx [batch, time, inner], base [batch, time, feature]. Output [batch, feature].
    Parameters: ``v`` [inner].
    """

    def _energy(self, x: Tensor, context: Tensor, inner: Dim) -> Tensor:
        v = self.param("v", [inner], init="glorot_uniform")
        return rf.matmul(rf.tanh(rf.combine(context, "add", x)), v, reduce=inner)


@layer_class("gauss_window_attention")
class GaussWindowAttentionLayer(AttentionLayer):
    """Sum over a window of frames of base around a position t, weighted by a Gaussian bell around t.

    Source: t, float [batch], in frames. Frames r = round(t) - window_size // 2 + {0, .., window_size - 1}, cut to those
    there are; the weight of base[r] is exp(-(t - r)^2 / (2 std^2)) / (std sqrt(2 pi)), with r as before the cut. The
    weights are not normalised. Output [batch, feature]; with ``inner_size`` [batch, inner_size, feature].
    """

    window_size: int | None = None
    """number of frames; must be given"""
    std: float = 1.0
    """width of the bell, in frames"""
    inner_size: int | None = None
    """so many sums i, for the positions t + i * inner_size_step - inner_size / 2"""
    inner_size_step: float = 0.5
    """distance of two of these, in frames"""

    recurrent = True

    def compute(self, *sources: Tensor) -> Tensor:
        if len(sources) != 1 or not isinstance(self.window_size, int) or self.window_size < 1:
            raise ConfigError("one source, and window_size, an integer > 0, are needed")
        (t,), base = sources, self._base()
        if "float" not in t.dtype or t.have_feature_axis():
            raise ConfigError("the source must be one float per sequence, but is %s" % t.short_repr())
        time = time_dim_of(base, "base")
        window = Dim(self.window_size, description="window", auto_generated=True)
        first = rf.cast(rf.round(t), "int32") - self.window_size // 2
        offsets = rf.range_over_dim(window)
        frames = rf.combine(first, "add", offsets.like(offsets.raw_tensor, sparse_dim=None))
        if self.inner_size is not None:
            inner = self.make_dim("inner", self.inner_size)
            steps = rf.cast(rf.range_over_dim(inner), "float32") * float(self.inner_size_step) - self.inner_size / 2.0
            t = rf.combine(t, "add", steps)
        distance = rf.combine(t, "sub", rf.cast(frames, "float32"))
        factor = 1.0 / (self.std * math.sqrt(2.0 * math.pi))
        weights = rf.exp(rf.square(distance) * (-0.5 / self.std**2)) * factor
        rows = rf.gather(base, indices=frames, axis=time, clip_to_valid=True)
        rest = [d for d in base.dims if d not in weights.dims and d != time]
        order = [d for d in weights.dims if d != window] + rest
        return with_markers_by_kind(rf.matmul(weights, rows, reduce=window, dim_order=order))


@layer_class("self_attention")
class SelfAttentionLayer(ConcatInputLayer):
    """Each frame attends to all frames of its sequence, in several heads; Vaswani et al., 2017.

    q, k, v = x QKV, for each head; out = softmax(q . k / sqrt(K) + q . key_shift / sqrt(K)) . v, K the size of a key.
    There is no projection behind it. Output [batch, time, n_out], the heads one behind the other.
    Within a loop also over its frames, with ``attention_left_only``: input [batch, F_in], output [batch, n_out].
    Parameters: ``QKV`` [F_in, 2 total_key_dim + n_out], its columns by heads: q, k, v of the first one, then those of
    the next.
    """

    num_heads: int | None = None
    """must divide total_key_dim and n_out; must be given"""
    total_key_dim: int | Dim | None = None
    """size of the keys of all heads; must be given"""
    key_shift: LayerBase | str | None = None
    """layer [time, time, total_key_dim / num_heads], such as relative_positional_encoding: added to the key for each
    pair of frames. Over the frames of a loop [1, frames so far, total_key_dim / num_heads]"""
    attention_left_only: bool = False
    """a frame does not see later ones"""
    attention_dropout: float = 0.0
    """of the weights, each by itself, in training"""
    forward_weights_init: Any = "glorot_uniform"
    """initial values of ``QKV``"""
    initial_state: Any = None
    """frames from before the first one, which all frames see too: "keep_over_epoch": those of the steps before, none in
    the first step of an epoch; "keep_over_epoch_no_init": the same, over all epochs; "placeholder": fed by the user, as
    ``LAYER/initial_state_placeholder_k_left`` and ``.._v_left`` [batch, heads, frames, size of a head], and those
    behind the last frame are ``LAYER/last_state_k_left`` and ``.._v_left`` (not where the layer is computed frame by
    frame); or ``{"k_left": .., "v_left": ..}``, layers of that shape. None, 0, 1, "zeros" and "ones": no frames"""
    restrict_state_to_last_seq: bool = False
    """what is left for the next step are the frames of the input; else also those from before"""
    state_var_lengths: Any = None
    """with ``initial_state``: how many of the frames from before count, the last ones. Function that gives an int
    tensor [batch], such a tensor, or a layer. None: all"""

    recurrent = True
    iterates_itself = True
    _layer_options = ("key_shift", "state_var_lengths")
    _frames_before: FramesBefore | None = None
    """of this step"""
    _states: Mapping[str, Tensor] = MappingProxyType({})
    """what is left behind the last frame"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        d["initial_state"] = resolve_initial_state(d.get("initial_state"), get_layer)
        super().transform_config_dict(d, network, get_layer)

    def used_layers(self) -> list[LayerBase]:
        parts = self.initial_state.values() if isinstance(self.initial_state, dict) else ()
        return [*super().used_layers(), *(layer for layer in parts if isinstance(layer, LayerBase))]

    def compute(self, x: Tensor) -> Tensor:
        heads, key_dim, value_dim, out_dim = self._sizes()
        in_dim = static_feature_dim_of(x)
        if x.sparse:
            raise ConfigError("the input must be dense, but is %s" % x.short_repr())
        x, time_dim, over_loop = self._time_dim(x)
        x = x.copy_transpose([d for d in x.dims if d != in_dim] + [in_dim])
        x = x.copy_as_batch_major()
        per_head = self.make_dim("qkv-per-head", 2 * key_dim.require_static() + value_dim.require_static())
        weights = self._weights(in_dim, heads, per_head)
        qkv = rf.matmul(x, weights, reduce=in_dim)
        query, keys, values = rf.split(qkv, axis=per_head, out_dims=[key_dim, key_dim, value_dim])
        before = self._frames_before_first(x, heads, key_dim, value_dim)
        if time_dim is None:
            key_time = self.make_dim("history", None)
            starts = [None if before is None else before.start_of_loop(key) for key in PARTS]
            keys = all_frames_so_far(self, "k_left", keys, key_time, start=starts[0])
            values = all_frames_so_far(self, "v_left", values, key_time, start=starts[1])
            if before is not None:
                before.set_frames_of_loop(keys, key_time)
        else:
            key_time = time_dim.twin()
            keys, values = (rf.replace_dim(y, in_dim=time_dim, out_dim=key_time) for y in (keys, values))
            if before is not None:
                keys, values, key_time = before.in_front_of(keys, values, key_time)
        scale = 1.0 / math.sqrt(key_dim.require_static())
        query = query * scale
        causal_dim = time_dim if self.attention_left_only else None
        if before is None:
            bias = self._energy_of_key_shift(query, heads, key_dim, time_dim, key_time, over_loop=over_loop)
        else:
            bias, causal_dim = before.bias(causal_dim), None
        y = rf.dot_attention(
            query,
            keys,
            values,
            key_dim=key_dim,
            axis=key_time,
            scale=1.0,
            energy_bias=bias,
            causal_query_spatial_dim=causal_dim,
            att_dropout=self._dropout_of_weights(),
            name=self.get_absolute_name() + "/attention_dropout",
        )
        if before is not None:
            y = self._leave_frames(y, before, keys, values)
        y, _ = rf.merge_dims(y, dims=[heads, value_dim], out_dim=out_dim)
        y.feature_dim = out_dim
        if not over_loop and time_dim is not None:
            y.time_dim_axis = y.get_axis_from_dim(time_dim)
        return y

    def _time_dim(self, x: Tensor) -> tuple[Tensor, Dim | None, bool]:
        """:return: input; its axis to attend to, None: it is one frame; whether that is the axis of the loop around"""
        over_loop = means_frames_of_loop(self, x)
        time_dim = None if over_loop else time_dim_of(x, "the input")
        if len(visible_dims(x.dims)) != (2 if over_loop else 3) or not x.have_batch_axis():
            raise ConfigError("the input must have batch, time and feature axis, but is %s" % x.short_repr())
        if not over_loop:
            return x, time_dim, False
        if not self.attention_left_only:
            raise not_in_loop("self-attention without attention_left_only")
        return *over_frames(self, x), True

    def _frames_before_first(self, x: Tensor, heads: Dim, key_dim: Dim, value_dim: Dim) -> FramesBefore | None:
        if not FramesBefore.are_wanted(self):
            return None
        if self.key_shift is not None:
            raise ConfigError(
                "key_shift with initial_state %r is not possible: frames from before the first one have no position"
                % (self.initial_state,)
            )
        if self.is_stepping and self.has_values and self._frames_before is not None:
            return self._frames_before  # read before the loop
        batch = next(d for d in x.dims if d.is_batch_dim)
        self._frames_before = FramesBefore(self, batch=batch, heads=heads, key_dim=key_dim, value_dim=value_dim)
        return self._frames_before

    def _leave_frames(self, y: Tensor, before: FramesBefore, keys: Tensor, values: Tensor) -> Tensor:
        """:return: y, in a loop once these frames are kept"""
        if not self.is_stepping:
            self._states = before.states(keys, values)
            if self.has_values:
                self._states = before.named(self._states)
                self.network.register_post_control_dependencies(before.keep(self._states, None))
            return y
        if not self.has_values or not before.keeps:
            return y
        ops = before.keep(before.states(keys, values), self.dim_of_frames)
        backend, raw = self.network.backend, y.raw_tensor
        return y.like(backend.after(ops, lambda: backend.identity(raw)))

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        """
        :param key: "k_left" or "v_left"
        :return: [batch, heads, frames, size]: what is left behind the last frame, with an ``initial_state``
        """
        return self._states.get(key)

    def drop_values(self) -> None:
        super().drop_values()
        self._states = {}
        if self._frames_before is not None:
            self._frames_before.drop_values()

    def _sizes(self) -> tuple[Dim, Dim, Dim, Dim]:
        """heads, key, value of a head, output"""
        for option in ("num_heads", "total_key_dim"):
            if getattr(self, option) is None:
                raise ConfigError('option "%s" is missing' % option)
        total_key = self.total_key_dim.require_static() if isinstance(self.total_key_dim, Dim) else self.total_key_dim
        out_dim = self.required_out_dim()
        number, n_out = self.num_heads, out_dim.require_static()
        if not isinstance(number, int) or not isinstance(total_key, int) or number < 1 or total_key < 1:
            raise ConfigError("num_heads and total_key_dim must be integers > 0: %r, %r" % (number, total_key))
        for option, size in (("total_key_dim", total_key), ("n_out", n_out)):
            if size % number:
                raise ConfigError("num_heads %i does not divide %s %i" % (number, option, size))
        sizes = {"heads": number, "key": total_key // number, "value": n_out // number}
        heads, key, value = (self.make_dim(name, size, kind=DimKind.Feature) for name, size in sizes.items())
        return heads, key, value, out_dim

    def _weights(self, in_dim: Dim, heads: Dim, per_head: Dim) -> Tensor:
        """:return: QKV [in_dim, heads, per_head]"""
        number = heads.require_static() * per_head.require_static()
        columns = self.make_dim("qkv", number, kind=DimKind.Feature)
        weights = self.param("QKV", [in_dim, columns], init=self.forward_weights_init)
        return rf.split_dims(weights, axis=columns, dims=[heads, per_head])

    def _energy_of_key_shift(
        self, query: Tensor, heads: Dim, key_dim: Dim, time: Dim | None, key_time: Dim, *, over_loop: bool
    ) -> Tensor | None:
        """
        :param query: scaled
        :param time: None: the query is one frame
        :param over_loop: it is the axis of the loop around
        :return: [.., time, key time]
        """
        if self.key_shift is None:
            return None
        if not isinstance(self.key_shift, LayerBase):
            raise ConfigError("key_shift must be a layer, but is %r" % (self.key_shift,))
        shift = self._output_of(self.key_shift)
        batch = [d for d in query.dims if d not in (time, heads, key_dim)]
        if time is None or over_loop:
            shift = self._key_shift_of_frame(shift, key_dim, key_time)
            return rf.matmul(
                query, shift, reduce=key_dim, dim_order=[*batch, heads, *([] if time is None else [time]), key_time]
            )
        wanted = (time, key_time, key_dim)
        dims = [d.twin_of or d for d in shift.dims]
        if shift.batch_ndim != 3 or dims[:2] != [time, time] or dims[2].dimension != key_dim.dimension:
            text = "key_shift must be [time, time, %i], with the time axis %s, but layer %r is %s"
            size = key_dim.require_static()
            raise ConfigError(text % (size, time.short_repr(), self.key_shift.name, shift.short_repr()))
        shift = shift.like(shift.raw_tensor, dims=wanted, feature_dim=key_dim, time_dim=None)
        return rf.matmul(query, shift, reduce=key_dim, dim_order=[*batch, heads, time, key_time])

    def _key_shift_of_frame(self, shift: Tensor, key_dim: Dim, key_time: Dim) -> Tensor:
        """:return: [frames so far, key]; moved out of the loop with the axis of the loop besides"""
        dims = [d for d in visible_dims(shift.dims) if not d.is_batch_dim]
        if [d.dimension for d in dims] != [1, None, key_dim.dimension]:
            text = "key_shift must be [1, frames so far, %i] over the frames of a loop, but layer %r is %s"
            name = getattr(self.key_shift, "name", None)
            raise ConfigError(text % (key_dim.require_static(), name, shift.short_repr()))
        shift = rf.squeeze(shift, dims[0])
        for own, wanted in ((dims[1], key_time), (dims[2], key_dim)):
            shift = shift if own == wanted else rf.replace_dim(shift, in_dim=own, out_dim=wanted)
        return shift

    def _dropout_of_weights(self) -> float:
        value = self.attention_dropout
        if not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise ConfigError("attention_dropout must be in [0, 1), but is %r" % (value,))
        if value and self.network.train_flag is not False:
            self._skip_seed()
        return float(value)
