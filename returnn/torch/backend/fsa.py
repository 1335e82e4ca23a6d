"""Sums and best paths over all paths of automata.

Contract and algorithm are those of ``returnn/tf/backend/fsa.py``: scores [T, B, C] are time-major and +log, edges
[4, E], weights [E] (-log), start and end states [2, B]; what is stored behind the end of a sequence never matters.

    state[to] = join over edges into it of (state[from] + score of the emission in this frame - weight)

Behind the end of a sequence states stay as they are. "Impossible" is -1e30, so that differences of such scores stay
numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from .padding import time_mask

_IMPOSSIBLE = -1e30


@torch.no_grad()
def full_sum(
    scores: torch.Tensor,
    lens: torch.Tensor,
    edges: torch.Tensor,
    weights: torch.Tensor,
    start_end_states: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    Both directions run in one loop: states of the automata, and behind these the states of the reversed ones.

    :param scores: float32 [T, B, C]
    :param lens: int32 [B]
    :param edges: int32 [4, E]
    :param weights: float32 [E]
    :param start_end_states: int32 [2, B]
    :return: posteriors of the emissions [T, B, C], each real frame sums to one, 0 on padding; logarithm of the sum over
        all paths [B]. Without a path: 0, -inf. No gradient.
    """
    fsa = _Fsa.of(edges, weights, start_end_states, scores.device)
    frames = _frames_of_edges(scores, lens, fsa)
    both = torch.cat([frames.scores, frames.scores.flip(0)], 1)
    inside = torch.cat([frames.states_inside, frames.states_inside.flip(0)], 1)
    num_states = fsa.num_states
    from_state = torch.cat([fsa.from_state, fsa.to_state + num_states])
    to_state = torch.cat([fsa.to_state, fsa.from_state + num_states])
    state = _initial(torch.cat([fsa.starts, fsa.ends + num_states]), 2 * num_states, scores)
    before = []
    for score, is_inside in zip(both.unbind(0), inside.unbind(0), strict=True):
        before.append(state)
        score = state[from_state] + score
        high = torch.full_like(state, _IMPOSSIBLE).scatter_reduce(0, to_state, score, "amax")
        total = torch.zeros_like(state).index_add(0, to_state, torch.exp(score - high[to_state]))
        new = high + torch.log(torch.clamp(total, min=1e-37))  # no edge: stays impossible
        state = torch.where(is_inside, new, state)
    result = state[fsa.ends]
    has_path = result > _IMPOSSIBLE / 2
    if not before:
        return torch.zeros_like(scores), torch.where(has_path, result, -torch.inf)
    states = torch.stack(before)
    forward, backward = states[:, :num_states], states.flip(0)[:, num_states:]
    of_edges = forward[:, fsa.from_state] + frames.scores + backward[:, fsa.to_state] - result[fsa.seq]
    is_used = frames.edges_inside & has_path[fsa.seq]
    posteriors = _to_emissions(torch.where(is_used, torch.exp(of_edges), 0.0), fsa, scores)
    sums = posteriors.sum(2, keepdim=True)  # one, but for rounding
    return torch.where(sums == 0, 0.0, posteriors / sums), torch.where(has_path, result, -torch.inf)


@torch.no_grad()
def best_path(
    scores: torch.Tensor,
    lens: torch.Tensor,
    edges: torch.Tensor,
    weights: torch.Tensor,
    start_end_states: torch.Tensor,
    *,
    mask_label: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    Arguments as those of :func:`full_sum`. Of paths with the same score, that of the first edges counts.

    :param mask_label: on padding, and where there is no path
    :return: emissions int32 [T, B]; score float32 [B], -inf without a path. No gradient.
    """
    fsa = _Fsa.of(edges, weights, start_end_states, scores.device)
    frames = _frames_of_edges(scores, lens, fsa)
    num_edges = len(fsa.from_state)
    edge_idx = torch.arange(num_edges, device=scores.device)
    last_edge = torch.full((fsa.num_states,), num_edges - 1, device=scores.device)
    state = _initial(fsa.starts, fsa.num_states, scores)
    best_edges = []
    for score, is_inside in zip(frames.scores.unbind(0), frames.states_inside.unbind(0), strict=True):
        score = state[fsa.from_state] + score
        high = torch.full_like(state, _IMPOSSIBLE).scatter_reduce(0, fsa.to_state, score, "amax")
        candidates = torch.where(score >= high[fsa.to_state], edge_idx, num_edges - 1)
        best_edges.append(last_edge.scatter_reduce(0, fsa.to_state, candidates, "amin"))
        state = torch.where(is_inside, high, state)
    result = state[fsa.ends]
    has_path = result > _IMPOSSIBLE / 2
    labels = torch.zeros(scores.shape[:2], dtype=torch.int32, device=scores.device)
    inside = time_mask(lens, len(scores), ndim=2, device=scores.device)
    place = fsa.ends
    for t in range(len(scores) - 1, -1, -1):
        edge = best_edges[t][place]
        labels[t] = fsa.emission[edge].int()
        place = torch.where(inside[t], fsa.from_state[edge], place)
    return torch.where(inside & has_path, labels, mask_label), torch.where(has_path, result, -torch.inf)


class _Fsa(NamedTuple):
    from_state: torch.Tensor
    to_state: torch.Tensor
    emission: torch.Tensor
    seq: torch.Tensor
    """each [E]"""
    weights: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor
    """each [B]"""
    seq_of_state: torch.Tensor
    """[states]"""
    num_states: int

    @classmethod
    def of(
        cls, edges: torch.Tensor, weights: torch.Tensor, start_end_states: torch.Tensor, device: torch.device
    ) -> _Fsa:
        from_state, to_state, emission, seq = edges.to(device).long()
        starts, ends = start_end_states.to(device).long()
        states = torch.cat([from_state, to_state, starts, ends])
        num_states = int(states.max()) + 1 if len(states) else 0
        seqs = torch.arange(len(starts), device=device)
        seq_of_state = seqs.new_zeros(num_states).scatter(0, states, torch.cat([seq, seq, seqs, seqs]))
        return cls(from_state, to_state, emission, seq, weights.to(device), starts, ends, seq_of_state, num_states)


class _Frames(NamedTuple):
    scores: torch.Tensor
    """[T, E], impossible on padding"""
    edges_inside: torch.Tensor
    """bool [T, E]"""
    states_inside: torch.Tensor
    """bool [T, states]"""


def _frames_of_edges(scores: torch.Tensor, lens: torch.Tensor, fsa: _Fsa) -> _Frames:
    of_edges = scores[:, fsa.seq, fsa.emission] - fsa.weights
    inside = time_mask(lens, len(scores), ndim=2, device=scores.device)
    edges_inside = inside[:, fsa.seq]
    of_edges = torch.where(edges_inside, torch.clamp(of_edges, min=_IMPOSSIBLE), _IMPOSSIBLE)
    return _Frames(of_edges, edges_inside, inside[:, fsa.seq_of_state])


def _initial(starts: torch.Tensor, num_states: int, scores: torch.Tensor) -> torch.Tensor:
    """:return: [states], 0 for these, else impossible"""
    return scores.new_full((num_states,), _IMPOSSIBLE).index_fill(0, starts, 0.0)


def _to_emissions(of_edges: torch.Tensor, fsa: _Fsa, scores: torch.Tensor) -> torch.Tensor:
    """
    :param of_edges: [T, E]
    :param scores: for the shape
    :return: [T, B, C], sums over the edges
    """
    num_frames, num_seqs, num_emissions = scores.shape
    sums = scores.new_zeros(num_frames, num_seqs * num_emissions)
    return sums.index_add(1, fsa.seq * num_emissions + fsa.emission, of_edges).reshape(scores.shape)
