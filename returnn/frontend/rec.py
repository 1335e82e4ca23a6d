"""Recurrence over a whole sequence: LSTM and other cells.

Outputs are zero behind a sequence's end; states are carried from its last real frame. Backwards, a sequence starts at
its own end. All dims besides the one to iterate over and the feature dim are independent sequences: batch and any
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, Raw, Size, backend_of_all, backend_of_raw, template_backend

from .run_ctx import FRAMES_PER_STEP, RunCtx, get_run_ctx
from .shape import raw_shape, require_dims

"""more than a sequence has: room for a frame number beside the global step, where noise is drawn"""
NUM_STATES = {
    "lstm": 2,
    "zoneoutlstm": 2,
    "layernormlstm": 2,
    "gru": 1,
    "basicrnn": 1,
    "rhn": 1,
}
"""cells -> number of parts of the state; of two parts the first is h, the second is c"""


class _Layout:
    """Where the axes of an input go for the backend: [spatial, sequences, in], and back."""

    def __init__(self, x: Tensor, spatial_dim: Dim, in_dim: Dim, out_dim: Dim):
        require_dims(x, [spatial_dim] if x.sparse else [spatial_dim, in_dim], op="recurrence")
        self._spatial_dim, self._out_dim = spatial_dim, out_dim
        inner = [] if x.sparse else [in_dim]
        rest = [d for d in x.dims if d not in [spatial_dim, *inner]]
        self._rest = sorted(rest, key=lambda d: not d.is_batch_dim)
        self._x = x.copy_transpose([spatial_dim, *self._rest, *inner])
        self._merged = len(self._rest) != 1 and self._x.raw_tensor is not None

    @property
    def _sizes(self) -> list[Size]:
        return raw_shape(self._x)[1 : 1 + len(self._rest)]

    def _merge(self, raw: Raw, axis: int) -> Raw:
        """the axes of the other dims begin at ``axis``"""
        if not self._merged:
            return raw
        backend = backend_of_raw(raw)
        places = [(raw, i) for i in range(len(backend.static_shape(raw)))]
        end = axis + len(self._rest)
        groups = [*([p] for p in places[:axis]), places[axis:end], *([p] for p in places[end:])]
        return backend.reshape(raw, backend.reshape_sizes(groups))

    def _split(self, raw: Raw, axis: int) -> Raw:
        if not self._merged:
            return raw
        backend = backend_of_raw(raw)
        places = [(raw, i) for i in range(len(backend.static_shape(raw)))]
        others = [(self._x.raw_tensor, 1 + i) for i in range(len(self._rest))]
        return backend.reshape(raw, backend.reshape_sizes([[p] for p in places[:axis] + others + places[axis + 1 :]]))

    def input(self) -> Raw:
        """[spatial, sequences, in], or labels [spatial, sequences]"""
        return self._merge(self._x.raw_tensor, 1)

    def lens(self) -> Raw:
        """[sequences]; None: all sequences are of the same length"""
        if not self._spatial_dim.need_masking:
            return None
        lens = self._spatial_dim.dyn_size_ext
        if lens is None or lens.raw_tensor is None:
            raise DimError("recurrence: the lengths of %s are needed, but are not known" % self._spatial_dim)
        return self._over_sequences(lens, [])

    def state(self, state: Tensor | None) -> Raw:
        """[sequences, out]"""
        if state is None:
            return None
        require_dims(state, [self._out_dim], op="initial state of a recurrence")
        return self._over_sequences(state, [self._out_dim])

    def _over_sequences(self, x: Tensor, inner: list[Dim]) -> Raw:
        unknown = [d for d in x.dims if d not in self._rest + inner]
        if unknown:
            raise DimError(
                "recurrence: %s has dims %s that the input %s has not" % (x.name, unknown, self._x.short_repr())
            )
        dims = self._rest + inner
        if set(x.dims) == set(dims):
            raw = x.copy_transpose(dims).raw_tensor
        else:
            raw = backend_of_raw(x.raw_tensor).broadcast_to(
                backend_of_raw(self._x.raw_tensor).convert(x.copy_compatible_to_dims_raw(dims)),
                self._sizes + [d.dimension for d in inner],
            )
        return self._merge(raw, 0)

    def output(self, raw: Raw, *, name: str, dtype: str) -> Tensor:
        """[spatial, other dims.., out] of the raw value [spatial, sequences, out]"""
        dims = (self._spatial_dim, *self._rest, self._out_dim)
        raw = None if raw is None else self._split(raw, 1)
        return self._result(raw, dims, name=name, dtype=dtype, time_dim=self._spatial_dim)

    def last_state(self, raw: Raw, *, dtype: str) -> Tensor:
        """[other dims.., out]"""
        raw = None if raw is None else self._split(raw, 0)
        dims = (*self._rest, self._out_dim)
        return self._result(raw, dims, name="state", dtype=dtype, time_dim=None)

    def _result(self, raw: Raw, dims: tuple[Dim, ...], *, name: str, dtype: str, time_dim: Dim | None) -> Tensor:
        return self._x.like(
            raw, dims=dims, dtype=dtype, sparse_dim=None, feature_dim=self._out_dim, time_dim=time_dim, name=name
        )


def lstm(
    x: Tensor,
    *,
    w: Tensor | None,
    w_re: Tensor,
    b: Tensor | None,
    spatial_dim: Dim,
    in_dim: Dim,
    out_dim: Dim,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    gate_order: str = "jifo",
    forget_bias: float = 0.0,
    direction: int = 1,
) -> tuple[Tensor, Tensor, Tensor]:
    """
    z = x W + h' W_re + b; c = sigmoid(f + forget_bias) c' + sigmoid(i) tanh(j); h = sigmoid(o) tanh(c).

    :param x: [batch, spatial_dim, in_dim] in any order, with any other dims; or labels [batch, spatial_dim] of in_dim
        (rows of W are taken)
    :param w: [in_dim, 4 out]; None: x is added as it is, in_dim has the size 4 out
    :param w_re: [out_dim, 4 out]
    :param b: [4 out]; None: 0
    :param spatial_dim: to iterate over
    :param in_dim: features of x
    :param out_dim: features of the output and of both states
    :param initial_h: [batch, out_dim], or with fewer or more of the other dims of x; zeros by default
    :param initial_c: the same
    :param gate_order: of the blocks in w, w_re and b: j cell input, i input gate, f forget gate, o output gate
    :param forget_bias: added to the forget gate, in each step
    :param direction: 1, or -1 for backwards
    :return: output [spatial_dim, batch, out_dim]; last h and last c [batch, out_dim]; other dims of x behind batch
    """
    if w is None and (x.sparse or in_dim.dimension != 4 * (out_dim.dimension or 0)):
        raise DimError("lstm without w: the input must have 4 times %s features, but is %s" % (out_dim, x.short_repr()))
    backend = backend_of_all([t for t in (x, w, w_re, b, initial_h, initial_c) if t is not None])
    layout = _Layout(x, spatial_dim, in_dim, out_dim)
    raw, raw_h, raw_c = None, None, None
    if backend is not template_backend:
        raw, raw_h, raw_c = backend.lstm(
            layout.input(),
            None if w is None else _rows(w, in_dim),
            _rows(w_re, out_dim),
            None if b is None else b.raw_tensor,
            sparse=x.sparse,
            lens=layout.lens(),
            initial_h=layout.state(initial_h),
            initial_c=layout.state(initial_c),
            gate_order=gate_order,
            forget_bias=forget_bias,
            direction=direction,
        )
    dtype = w_re.dtype
    y = layout.output(raw, name="lstm", dtype=dtype)
    return y, layout.last_state(raw_h, dtype=dtype), layout.last_state(raw_c, dtype=dtype)


def _rows(w: Tensor, dim: Dim) -> Raw:
    require_dims(w, [dim], op="recurrence")
    return w.copy_move_axis(w.get_axis_from_dim(dim), 0).raw_tensor


def rnn(
    x: Tensor,
    *,
    cell: Any,
    params: dict[str, Tensor],
    spatial_dim: Dim,
    in_dim: Dim,
    out_dim: Dim,
    initial_state: Sequence[Tensor] | None = None,
    masks: dict[str, Tensor] | None = None,
    noise: str | None = None,
    direction: int = 1,
    **options: Any,
) -> tuple[Tensor, list[Tensor]]:
    """
    :param x: [batch, spatial_dim, in_dim] in any order, with any other dims
    :param cell: one of ``NUM_STATES``; the backends describe their formulas, :mod:`returnn.tensor.numpy_rnn` most
        plainly. Or what ``user_rnn_cell`` of the backend gives.
    :param params: by the names that the cell has for them
    :param spatial_dim: to iterate over
    :param in_dim: features of x
    :param out_dim: features of the output and of the states
    :param initial_state: each [batch, out_dim], or with fewer or more of the other dims of x; zeros by default
    :param masks: factors [batch, out_dim], the same for all frames, by the names that the cell has for them
    :param noise: who draws, for instance the absolute name of a layer; for cells that draw in each frame. What they
        draw is a function of (random seed, this name, global step, frame), see :mod:`.run_ctx`
    :param direction: 1, or -1 for backwards
    :param options: of the cell
    :return: output [spatial_dim, batch, out_dim]; last states, each [batch, out_dim]; other dims of x behind batch
    """
    masks = masks or {}
    backend = backend_of_all([x, *params.values(), *masks.values(), *(initial_state or ())])
    layout = _Layout(x, spatial_dim, in_dim, out_dim)
    raw, raw_states = None, [None] * (NUM_STATES[cell] if isinstance(cell, str) else cell.num_states)
    if backend is not template_backend:
        if noise is not None:
            ctx = get_run_ctx()
            options.update(train_flag=ctx.train_flag, draw=partial(_draw, backend, ctx, noise))
        if masks:
            options["masks"] = {key: layout.state(value) for key, value in masks.items()}
        raw, raw_states = backend.rnn(
            layout.input(),
            cell=cell,
            params={key: value.raw_tensor for key, value in params.items()},
            lens=layout.lens(),
            initial_state=[layout.state(s) for s in initial_state] if initial_state else None,
            direction=direction,
            **options,
        )
    y = layout.output(raw, name="rnn", dtype=x.dtype)
    return y, [layout.last_state(s, dtype=x.dtype) for s in raw_states]


def _draw(backend: Backend, ctx: RunCtx, name: str, frame: Raw, shape: Sequence[Size]) -> Raw:
    """
    :param frame: its number in the order of reading, an int scalar
    :return: uniform in [0, 1)
    """
    step = backend.binary("mul", backend.cast(backend.convert(ctx.step), "int64"), FRAMES_PER_STEP)
    for number in (frame, ctx.frame):
        if number is not None:
            step = backend.binary("add", step, backend.cast(backend.convert(number), "int64"))
    return backend.stateless_uniform(shape, seed=ctx.seed_for(name), step=step)
