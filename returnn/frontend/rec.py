"""Recurrence over a whole sequence: LSTM and other cells.

Outputs are zero behind a sequence's end; states are carried from its last real frame. Backwards, a sequence starts at its own
end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.tensor import Dim, Tensor, batch_dim
from returnn.tensor.backend import backend_of_all, template_backend

from .shape import require_dims


def _time_major(x: Tensor, spatial_dim: Dim, in_dim: Dim) -> Tensor:
    require_dims(x, [spatial_dim, in_dim, batch_dim], op="recurrence")
    return x.copy_transpose([spatial_dim, batch_dim, in_dim])


def _rows(w: Tensor, dim: Dim) -> Tensor:
    require_dims(w, [dim], op="recurrence")
    return w.copy_move_axis(w.get_axis_from_dim(dim), 0)


def _raw_lens(spatial_dim: Dim) -> Any:
    return spatial_dim.dyn_size if spatial_dim.need_masking else None


def _states(raws: Sequence[Any], like: Tensor, out_dim: Dim) -> list[Tensor]:
    return [
        Tensor("state", (batch_dim, out_dim), like.dtype, feature_dim=out_dim, raw_tensor=raw) for raw in raws
    ]


def lstm(
    x: Tensor,
    *,
    w: Tensor,
    w_re: Tensor,
    b: Tensor,
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

    :param x: [batch, spatial_dim, in_dim] in any order; or labels [batch, spatial_dim] of in_dim (rows of W are taken)
    :param w: [in_dim, 4 out]
    :param w_re: [out_dim, 4 out]
    :param b: [4 out]
    :param spatial_dim: to iterate over
    :param in_dim:
    :param out_dim:
    :param initial_h: [batch, out_dim]; zeros by default
    :param initial_c: the same
    :param gate_order: of the blocks in w, w_re and b: j cell input, i input gate, f forget gate, o output gate
    :param forget_bias:
    :param direction: 1, or -1 for backwards
    :return: output [spatial_dim, batch, out_dim]; last h and last c [batch, out_dim]
    """
    states = [s for s in (initial_h, initial_c) if s is not None]
    backend = backend_of_all([x, w, w_re, b] + states)
    raws: tuple[Any, Any, Any] = (None, None, None)
    if backend is not template_backend:
        sparse = x.sparse_dim is not None
        x = x.copy_transpose([spatial_dim, batch_dim]) if sparse else _time_major(x, spatial_dim, in_dim)
        raws = backend.lstm(
            x.raw_tensor,
            _rows(w, in_dim).raw_tensor,
            _rows(w_re, out_dim).raw_tensor,
            b.raw_tensor,
            sparse=sparse,
            lens=_raw_lens(spatial_dim),
            initial_h=_raw_state(initial_h, out_dim),
            initial_c=_raw_state(initial_c, out_dim),
            gate_order=gate_order,
            forget_bias=forget_bias,
            direction=direction,
        )
    dims = (spatial_dim, batch_dim, out_dim)
    dtype = w.dtype
    y = Tensor("lstm", dims, dtype, feature_dim=out_dim, time_dim_axis=0, raw_tensor=raws[0])
    h, c = _states(raws[1:], y, out_dim)
    return y, h, c


def rnn(
    x: Tensor,
    *,
    cell: str,
    params: dict[str, Tensor],
    spatial_dim: Dim,
    in_dim: Dim,
    out_dim: Dim,
    initial_state: Sequence[Tensor] | None = None,
    direction: int = 1,
    **options: Any,
) -> tuple[Tensor, list[Tensor]]:
    """
    Any cell, step by step.

    :param x: [batch, spatial_dim, in_dim] in any order
    :param cell: name of a cell that the backend knows: gru, basicrnn, lstm (with peepholes, zoneout)
    :param params: by the names that the cell has for them
    :param spatial_dim: to iterate over
    :param in_dim:
    :param out_dim:
    :param initial_state: each [batch, out_dim]; zeros by default
    :param direction: 1, or -1 for backwards
    :param options: of the cell
    :return: output [spatial_dim, batch, out_dim]; last states, each [batch, out_dim]
    """
    backend = backend_of_all([x] + list(params.values()) + list(initial_state or ()))
    raw, raw_states = None, [None] * (2 if "lstm" in cell else 1)
    if backend is not template_backend:
        raw, raw_states = backend.rnn(
            _time_major(x, spatial_dim, in_dim).raw_tensor,
            cell=cell,
            params={key: value.raw_tensor for key, value in params.items()},
            lens=_raw_lens(spatial_dim),
            initial_state=[_raw_state(s, out_dim) for s in initial_state] if initial_state else None,
            direction=direction,
            **options,
        )
    y = Tensor(
        cell, (spatial_dim, batch_dim, out_dim), x.dtype, feature_dim=out_dim, time_dim_axis=0, raw_tensor=raw
    )
    return y, _states(raw_states, y, out_dim)


def _raw_state(state: Tensor | None, out_dim: Dim) -> Any:
    return None if state is None else state.copy_transpose([batch_dim, out_dim]).raw_tensor
