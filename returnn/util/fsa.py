"""Automata over label sequences, for sums and best paths over all alignments.

An automaton accepts labelings of frames: a path takes one edge a frame, from the start state to the end state, and
emits one label on each. Automata of a batch are one array of edges [4, E], int32: from state, to state, emission,
sequence. States are numbered over the whole batch. Weights [E] are -log, 0 where all paths count the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

Edge = tuple[int, int, int]
"""from state, to state, emission"""


class FastBaumWelchBatchFsa(NamedTuple):
    """Automata of a batch."""

    edges: numpy.ndarray
    """int32 [4, E]: from state, to state, emission, sequence"""
    weights: numpy.ndarray
    """float32 [E], -log"""
    start_end_states: numpy.ndarray
    """int32 [2, B]"""


def batch_of(automata: list[tuple[list[Edge], int]]) -> FastBaumWelchBatchFsa:
    """
    :param automata: for each sequence its edges, and its number of states. State 0 is the start, the last one the end.
    :return: all of them, weights 0
    """
    edges: list[tuple[int, int, int, int]] = []
    ends = []
    offset = 0
    for seq, (own, num_states) in enumerate(automata):
        edges += [(offset + a, offset + b, emission, seq) for a, b, emission in own]
        ends.append((offset, offset + num_states - 1))
        offset += num_states
    return FastBaumWelchBatchFsa(
        numpy.array(edges, "int32").reshape(-1, 4).T,
        numpy.zeros(len(edges), "float32"),
        numpy.array(ends, "int32").reshape(-1, 2).T,
    )


def get_ctc_fsa_fast_bw(
    *, targets: numpy.ndarray, seq_lens: numpy.ndarray, blank_idx: int, label_loop: bool = True
) -> FastBaumWelchBatchFsa:
    """
    CTC (Graves et al., 2006). Of labels l1 .. ln the states are blank 0, label 1, blank 1, .., label n, blank n, and
    one end state behind them, so that each labeling of the frames is exactly one path.

    :param targets: int [B, L]
    :param seq_lens: int [B]
    :param blank_idx: emission of the blank
    :param label_loop: a label may last several frames, so that equal neighbors need a blank in between
    """
    seq_lens = numpy.asarray(seq_lens, "int64")
    targets = numpy.asarray(targets, "int64")
    num_seqs, length = targets.shape
    n = seq_lens[:, None]
    place = numpy.arange(length + 1)[None]
    label = numpy.pad(targets, [(0, 0), (0, 1)])
    blank = numpy.full_like(label, blank_idx)
    skips = place + 1 < n
    if label_loop:
        skips = skips & (label != numpy.roll(label, -1, axis=1))
    at_blank, at_label = 2 * place, 2 * place + 1
    kinds = [  # from state, to state, emission, which are there
        (at_blank, at_blank, blank, place <= n),
        (at_blank, at_label, label, place < n),
        (at_label, at_label, label, (place < n) & label_loop),
        (at_label, at_label + 1, blank, place < n),
        (at_label, at_label + 2, numpy.roll(label, -1, axis=1), skips),
    ]
    seq = numpy.arange(num_seqs)[:, None]
    shape = (num_seqs, length + 1, len(kinds))  # in the order of the states
    edges = numpy.stack([numpy.stack([_expanded(x, shape[:2]) for x in (*kind[:3], seq)]) for kind in kinds], -1)
    is_there = numpy.stack([_expanded(kind[3], shape[:2]) for kind in kinds], -1)
    edges, ends = edges[:, is_there], 2 * seq_lens + 1
    into_end = edges[:, edges[1] >= ends[edges[3]] - 2]
    into_end[1] = ends[into_end[3]]
    edges = numpy.concatenate([edges, into_end], axis=1)
    offsets = numpy.cumsum(ends + 1) - (ends + 1)
    edges[:2] += offsets[edges[3]]
    return FastBaumWelchBatchFsa(
        edges.astype("int32"),
        numpy.zeros(edges.shape[1], "float32"),
        numpy.stack([offsets, offsets + ends]).astype("int32"),
    )


def _expanded(x: numpy.ndarray, shape: tuple[int, ...]) -> numpy.ndarray:
    return numpy.broadcast_to(x, shape)


def fast_bw_fsa_staircase(seq_lens: numpy.ndarray) -> FastBaumWelchBatchFsa:
    """
    Each sequence goes up through its states 0 to n, and may skip any number of them.

    :param seq_lens: int [B]: n of each sequence
    :return: An edge out of state s emits s; out of state 0 it emits anything below the state that it leads to
    """
    automata = []
    for n in numpy.asarray(seq_lens).tolist():
        first = [(0, to, emission) for to in range(1, n + 1) for emission in range(to)]
        rest = [(state, to, state) for state in range(1, n) for to in range(state + 1, n + 1)]
        automata.append((first + rest, n + 1))
    return batch_of(automata)


class FastBwFsaShared:
    """One automaton, the same for all sequences of a batch."""

    def __init__(self) -> None:
        self.num_states = 1
        self._edges: list[Edge] = []
        self._weights: list[float] = []

    def add_edge(self, source_state_idx: int, target_state_idx: int, emission_idx: int, weight: float = 0.0) -> None:
        """
        :param source_state_idx: 0 is the start
        :param target_state_idx: the highest one is the end
        :param emission_idx: label
        :param weight: -log
        """
        self.num_states = max(self.num_states, source_state_idx + 1, target_state_idx + 1)
        self._edges.append((source_state_idx, target_state_idx, emission_idx))
        self._weights.append(weight)

    def add_inf_loop(self, state_idx: int, num_emission_labels: int) -> None:
        """
        :param state_idx: may go on for ever
        :param num_emission_labels: with any of these
        """
        for emission in range(num_emission_labels):
            self.add_edge(state_idx, state_idx, emission)

    def get_fast_bw_fsa(self, n_batch: int) -> FastBaumWelchBatchFsa:
        """
        :param n_batch: number of sequences
        """
        fsa = batch_of([(self._edges, self.num_states)] * n_batch)
        return fsa._replace(weights=numpy.tile(numpy.array(self._weights, "float32"), n_batch))

    def get_edges(self, n_batch: int) -> numpy.ndarray:
        """
        :return: int32 [4, E]
        """
        return self.get_fast_bw_fsa(n_batch).edges

    def get_weights(self, n_batch: int) -> numpy.ndarray:
        """
        :return: float32 [E]
        """
        return self.get_fast_bw_fsa(n_batch).weights

    def get_start_end_states(self, n_batch: int) -> numpy.ndarray:
        """
        :return: int32 [2, B]
        """
        return self.get_fast_bw_fsa(n_batch).start_end_states
