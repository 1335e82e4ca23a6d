"""Automata: their edges, and which labelings of frames they accept."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy
import pytest

from returnn.util.fsa import FastBaumWelchBatchFsa, FastBwFsaShared, fast_bw_fsa_staircase, get_ctc_fsa_fast_bw


def edges_of(fsa: FastBaumWelchBatchFsa, seq: int = 0) -> list[tuple[int, ...]]:
    """from state, to state, emission; sorted"""
    return sorted(map(tuple, fsa.edges[:3, fsa.edges[3] == seq].T.tolist()))


def labelings(fsa: FastBaumWelchBatchFsa, seq: int, num_frames: int) -> Counter[tuple[int, ...]]:
    """each labeling of so many frames, by the number of paths that emit it"""
    start, end = fsa.start_end_states[:, seq].tolist()
    paths: list[tuple[tuple[int, ...], int]] = [((), start)]
    for _ in range(num_frames):
        paths = [
            ((*labels, emission), to)
            for labels, at in paths
            for state, to, emission in edges_of(fsa, seq)
            if state == at
        ]
    return Counter(labels for labels, at in paths if at == end)


def test_edges_of_ctc() -> None:
    """Labels 0 1, blank 2: states blank, 0, blank, 1, blank, end."""
    fsa = get_ctc_fsa_fast_bw(targets=numpy.array([[0, 1]]), seq_lens=numpy.array([2]), blank_idx=2)
    assert edges_of(fsa) == [
        *[(0, 0, 2), (0, 1, 0), (1, 1, 0), (1, 2, 2), (1, 3, 1), (1, 5, 1), (2, 2, 2), (2, 3, 1), (2, 5, 1)],
        *[(3, 3, 1), (3, 4, 2), (3, 5, 1), (3, 5, 2), (4, 4, 2), (4, 5, 2)],
    ]
    assert fsa.start_end_states.tolist() == [[0], [5]]
    repeated = get_ctc_fsa_fast_bw(targets=numpy.array([[0, 0]]), seq_lens=numpy.array([2]), blank_idx=2)
    assert not [edge for edge in edges_of(repeated) if edge[:2] in ((1, 3), (1, 5))]  # a blank must be in between


@pytest.mark.parametrize("label_loop", [True, False])
def test_ctc_accepts_each_labeling_by_one_path(label_loop: bool) -> None:
    """Those that give the labels, if repetitions are merged (with label_loop) and blanks dropped. All in one batch."""
    targets, lens = numpy.array([[1, 1, 2], [0, 2, 2], [2, 1, 0], [0, 0, 0]]), numpy.array([3, 0, 2, 1])
    fsa = get_ctc_fsa_fast_bw(targets=targets, seq_lens=lens, blank_idx=3, label_loop=label_loop)
    assert fsa.edges.dtype == fsa.start_end_states.dtype == "int32"
    assert not fsa.weights.any() and fsa.weights.dtype == "float32"
    for seq, num_frames in itertools.product(range(4), range(1, 5)):
        expected = set()
        for labeling in itertools.product(range(4), repeat=num_frames):
            merged = [label for label, _ in itertools.groupby(labeling)] if label_loop else labeling
            if [label for label in merged if label != 3] == targets[seq, : lens[seq]].tolist():
                expected.add(labeling)
        assert labelings(fsa, seq, num_frames) == dict.fromkeys(expected, 1)


def test_edges_of_staircase() -> None:
    """Three steps: out of state 0 anything below the next state, out of another one its own number."""
    fsa = fast_bw_fsa_staircase(numpy.array([3]))
    assert edges_of(fsa) == [
        *[(0, 1, 0), (0, 2, 0), (0, 2, 1), (0, 3, 0), (0, 3, 1), (0, 3, 2)],
        *[(1, 2, 1), (1, 3, 1), (2, 3, 2)],
    ]
    two = fast_bw_fsa_staircase(numpy.array([1, 2]))
    assert edges_of(two, 1) == [(2, 3, 0), (2, 4, 0), (2, 4, 1), (3, 4, 1)]
    assert two.start_end_states.tolist() == [[0, 2], [1, 4]]


def test_one_automaton_for_all_sequences() -> None:
    """A loop of two labels on state 0, and an edge out of it with weight .5; twice."""
    shared = FastBwFsaShared()
    shared.add_inf_loop(0, 2)
    shared.add_edge(0, 1, 2, 0.5)
    assert shared.get_edges(2).tolist() == [
        [0, 0, 0, 2, 2, 2],
        [0, 0, 1, 2, 2, 3],
        [0, 1, 2, 0, 1, 2],
        [0, 0, 0, 1, 1, 1],
    ]
    assert shared.get_weights(2).tolist() == [0, 0, 0.5, 0, 0, 0.5]
    assert shared.get_start_end_states(2).tolist() == [[0, 2], [1, 3]]


def test_no_sequence() -> None:
    for fsa in (
        get_ctc_fsa_fast_bw(targets=numpy.zeros((0, 0), "int32"), seq_lens=numpy.zeros(0, "int32"), blank_idx=1),
        fast_bw_fsa_staircase(numpy.zeros(0, "int32")),
    ):
        assert (fsa.edges.shape, fsa.weights.shape, fsa.start_end_states.shape) == ((4, 0), (0,), (2, 0))
