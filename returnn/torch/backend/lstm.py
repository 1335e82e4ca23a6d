"""The LSTM layer on PyTorch's own kernels (cuDNN, oneDNN).

Contract: x [T, B, D] in, all hidden states [T, B, n] and the last state out; padding is never visible (see ``rnn.py``).
    gates = x[t] w + h[t-1] w_re + b                   columns j, i, f, o in the order that the caller names
    c[t] = sigmoid(f) c[t-1] + sigmoid(i) tanh(j)
    h[t] = sigmoid(o) tanh(c[t])
The kernels know nothing of lengths. So behind the end of a sequence one more input is 1 instead of 0, with weights that
open the forget gate and close the input gate: c stays what it is, exactly, and without gradient. What they give for h
there is dropped.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from .padding import enter_time, last_frame, leave_time, time_mask
from .rnn import scan

_KERNEL_ORDER = "ifjo"
_CLOSED = 1e4
"""sigmoid(-x) is 0 and sigmoid(x) is 1 in all dtypes, whatever else is added to x"""


def lstm(
    x: torch.Tensor,
    w_re: torch.Tensor,
    *,
    w: torch.Tensor | None = None,
    b: torch.Tensor | None = None,
    lens: torch.Tensor | None = None,
    initial_h: torch.Tensor | None = None,
    initial_c: torch.Tensor | None = None,
    gate_order: str = "jifo",
    forget_bias: float = 0.0,
    direction: int = 1,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """LSTM without peepholes over all frames.

    :param x: float [T, B, D]; without ``w``: what the input adds to the gates [T, B, 4n]
    :param w_re: [n, 4n]
    :param w: [D, 4n]; better given than applied outside, as the kernels include it
    :param b: [4n], default 0
    :param lens: int [B], at most T; default: all sequences have T frames
    :param initial_h: [B, n], default 0
    :param initial_c: [B, n], default 0
    :param gate_order: of the 4n columns: j cell input, i input gate, f forget gate, o output gate
    :param forget_bias: added to the forget gate
    :param direction: 1, or -1 for each sequence from its own end
    :return: h [T, B, n]; h and c [B, n] after the last frame of each sequence (direction -1: after frame 0)
    """
    num_frames, num_seqs = x.shape[:2]
    zeros = w_re.new_zeros((num_seqs, w_re.shape[0]))
    initial_h = zeros if initial_h is None else initial_h
    initial_c = zeros if initial_c is None else initial_c
    if not num_frames or not num_seqs:
        return w_re.new_zeros((num_frames, *zeros.shape)), initial_h, initial_c
    if b is None:
        b = w_re.new_zeros(w_re.shape[1])
    if forget_bias:
        extra = torch.zeros_like(b).unflatten(0, (4, -1))
        extra[gate_order.index("f")] = forget_bias
        b = b + extra.flatten()
    if w is None:
        return _by_steps(x + b, w_re, lens, initial_h, initial_c, gate_order, direction)
    weights = [_in_kernel_order(a, gate_order) for a in (w, w_re, b)]
    inputs = enter_time(x, lens, direction=direction)
    if lens is not None:
        inputs, weights[0] = _with_end_marks(inputs, weights[0], lens)
    if x.is_cuda:
        weights = _as_one_buffer(weights)
    h, _, c = torch.lstm(
        inputs,
        (initial_h[None], initial_c[None]),
        (*weights, torch.zeros_like(b)),  # the second bias, which cuDNN has
        True,  # has_biases
        1,  # num_layers
        0.0,  # dropout
        True,  # train
        False,  # bidirectional
        False,  # batch_first
    )
    last_h = last_frame(h, lens, initial=initial_h)
    return leave_time(h, lens, direction=direction), last_h, c[0]


def _in_kernel_order(weights: torch.Tensor, gate_order: str) -> torch.Tensor:
    """:return: [4n, D] of [D, 4n]; [4n] of [4n]"""
    gates = dict(zip(gate_order, weights.chunk(4, -1), strict=True))
    return torch.cat([gates[gate].t() for gate in _KERNEL_ORDER])


def _with_end_marks(
    inputs: torch.Tensor, weights: torch.Tensor, lens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    :param inputs: [T, B, D]
    :param weights: [4n, D]
    :return: both with more inputs: the mark of frames behind the end, and zeros up to a multiple of 8, which kernels
        like
    """
    num_inputs = inputs.shape[-1]
    more = 8 - num_inputs % 8
    behind_end = ~time_mask(lens, len(inputs), ndim=3, device=inputs.device)
    marks = functional.pad(behind_end.to(inputs.dtype), (0, more - 1))
    per_gate = {"i": -_CLOSED, "f": _CLOSED}
    columns = weights.new_zeros((4, len(weights) // 4, more))
    for number, gate in enumerate(_KERNEL_ORDER):
        columns[number, :, 0] = per_gate.get(gate, 0.0)
    return torch.cat([inputs, marks], -1), torch.cat([weights, columns.flatten(0, 1)], 1)


def _as_one_buffer(weights: list[torch.Tensor]) -> list[torch.Tensor]:
    """:return: the same, one behind the other in memory: so cuDNN takes them without a copy and a warning"""
    buffer = torch.cat([*[a.flatten() for a in weights], torch.zeros_like(weights[-1])])
    parts = buffer.split([a.numel() for a in weights] + [weights[-1].numel()])
    return [part.view(a.shape) for part, a in zip(parts[:-1], weights, strict=True)]


def _by_steps(
    z: torch.Tensor,
    w_re: torch.Tensor,
    lens: torch.Tensor | None,
    initial_h: torch.Tensor,
    initial_c: torch.Tensor,
    gate_order: str,
    direction: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """:param z: what the input adds to the gates [T, B, 4n]. The kernels cannot leave out their matrix product."""

    def step(frame: torch.Tensor, state: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        h, c = state
        gates: dict[str, Any] = dict(zip(gate_order, torch.addmm(frame, h, w_re).chunk(4, 1), strict=True))
        c = torch.sigmoid(gates["f"]) * c + torch.sigmoid(gates["i"]) * torch.tanh(gates["j"])
        h = torch.sigmoid(gates["o"]) * torch.tanh(c)
        return h, [h, c]

    h, (last_h, last_c) = scan(step, z, lens=lens, initial_state=[initial_h, initial_c], direction=direction)
    return h, last_h, last_c
