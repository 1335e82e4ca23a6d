"""CTC and edit distance by plain dynamic programming, one sequence at a time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy


def edit_distance(a: Sequence[int], b: Sequence[int]) -> int:
    """
    :return: Levenshtein distance; each insertion, deletion and substitution costs 1
    """
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        left_above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            left_above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left_above + int(x != y))
    return row[-1]


def ctc_loss(
    scores: numpy.ndarray,
    score_lens: numpy.ndarray,
    labels: numpy.ndarray,
    label_lens: numpy.ndarray,
    *,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
) -> numpy.ndarray:
    """
    :param scores: log probabilities [time, batch, classes + 1], blank last
    :param score_lens: [batch]
    :param labels: [batch, label time]
    :param label_lens: [batch]
    :param preprocess_collapse_repeated: merge equal neighbours of the labels first
    :param ctc_merge_repeated: a label may last several frames, so equal neighbours need a blank between them
    :param ignore_longer_outputs_than_inputs: 0 instead of inf where there are more labels than frames
    :return: [batch] -log p(labels), float32
    """
    res = []
    for i, (num_frames, num_labels) in enumerate(zip(score_lens, label_lens, strict=True)):
        target = [int(x) for x in labels[i, :num_labels]]
        if preprocess_collapse_repeated:
            target = [x for x, _ in itertools.groupby(target)]
        if len(target) > num_frames and ignore_longer_outputs_than_inputs:
            res.append(0.0)
        else:
            frames = scores[:num_frames, i].astype("float64")
            res.append(-_ctc_score(frames, target, blank=scores.shape[2] - 1, label_loop=ctc_merge_repeated))
    return numpy.array(res, dtype="float32")


def ctc_alignments(
    scores: numpy.ndarray,
    score_lens: numpy.ndarray,
    labels: numpy.ndarray,
    label_lens: numpy.ndarray,
    *,
    blank_index: int = -1,
    label_loop: bool = True,
    best_only: bool = False,
) -> numpy.ndarray:
    """
    :param scores: log probabilities [time, batch, classes and blank]
    :param score_lens: [batch]
    :param labels: [batch, label time]
    :param label_lens: [batch]
    :param blank_index: negative: from the end
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    :param best_only: the best alignment instead of the sum over all
    :return: [batch] minus the score, float32; inf where there is no alignment
    """
    blank = blank_index % scores.shape[2]
    res = []
    for i, (num_frames, num_labels) in enumerate(zip(score_lens, label_lens, strict=True)):
        target = [int(x) for x in labels[i, :num_labels]]
        frames = scores[:num_frames, i].astype("float64")
        res.append(-_ctc_score(frames, target, blank=blank, label_loop=label_loop, best_only=best_only))
    return numpy.array(res, dtype="float32")


def _ctc_score(
    scores: numpy.ndarray,
    target: list[int],
    *,
    blank: int,
    label_loop: bool = True,
    best_only: bool = False,
) -> float:
    """
    :param scores: [time, classes and blank]
    :param blank: its class
    :return: log of the sum over all alignments, or of the best one
    """
    join = numpy.maximum.reduce if best_only else numpy.logaddexp.reduce
    states = [blank]
    for label in target:
        states += [label, blank]
    alpha = numpy.full(len(states), -numpy.inf)
    alpha[0] = 0.0
    for t, frame in enumerate(scores):
        new = numpy.full_like(alpha, -numpy.inf)
        for s, label in enumerate(states):
            came_from = [alpha[s]] if label_loop or label == blank or t == 0 else []
            if t == 0:
                came_from = [0.0] if s < 2 else []
            else:
                if s >= 1:
                    came_from.append(alpha[s - 1])
                if s >= 2 and label != blank and not (label_loop and states[s - 2] == label):
                    came_from.append(alpha[s - 2])
            if came_from:
                new[s] = join(came_from) + frame[label]
        alpha = new
    return float(join(alpha[-2:])) if len(scores) else (0.0 if not target else -numpy.inf)


def ctc_greedy_decode(logits: numpy.ndarray, lens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    :param logits: [time, batch, classes + 1], blank last
    :param lens: [batch]
    :return: best label of each frame, repeats merged, blanks dropped: int32 [batch, longest], 0 behind the end; lengths
    """
    blank = logits.shape[2] - 1
    best, best_lens = collapse_repeated(logits.argmax(axis=-1).astype("int32").T, lens)
    return _padded([[x for x in path[:n] if x != blank] for path, n in zip(best.tolist(), best_lens, strict=True)])


def collapse_repeated(labels: numpy.ndarray, lens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    :param labels: [batch, label time]
    :param lens: [batch]
    :return: of equal neighbours the first: int32 [batch, longest], 0 behind the end; lengths
    """
    return _padded([[x for x, _ in itertools.groupby(row[:n])] for row, n in zip(labels.tolist(), lens, strict=True)])


def _padded(seqs: list[list[int]]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """:return: int32 [batch, longest], 0 behind the end; lengths"""
    out = numpy.zeros((len(seqs), max([len(s) for s in seqs], default=0)), dtype="int32")
    for i, seq in enumerate(seqs):
        out[i, : len(seq)] = seq
    return out, numpy.array([len(s) for s in seqs], dtype="int32")


def fsa_full_sum(
    scores: numpy.ndarray,
    lens: numpy.ndarray,
    edges: numpy.ndarray,
    weights: numpy.ndarray,
    start_end_states: numpy.ndarray,
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    :param scores: +log [time, batch, emissions]
    :param lens: [batch]
    :param edges: of automata, see :mod:`returnn.util.fsa`; int [4, edges]
    :param weights: -log [edges]
    :param start_end_states: int [2, batch]
    :return: posteriors of the emissions, 0 on padding, [time, batch, emissions]; logarithm of the sum over all paths
        [batch]. Without a path: 0, -inf. float32
    """
    posteriors = numpy.zeros(scores.shape)
    result = numpy.full(scores.shape[1], -numpy.inf)
    for i, (num_frames, start, end) in enumerate(zip(lens, *start_end_states, strict=True)):
        own = edges[3] == i
        from_state, to_state, emission = edges[:3, own]
        of_edges = scores[:num_frames, i].astype("float64")[:, emission] - weights[own]
        forward = _states(of_edges, from_state, to_state, start, end)
        backward = _states(of_edges[::-1], to_state, from_state, end, start)[::-1]
        result[i] = forward[-1, end]
        if not numpy.isfinite(result[i]):
            continue
        for t in range(num_frames):
            score = forward[t, from_state] + of_edges[t] + backward[t + 1, to_state]
            numpy.add.at(posteriors[t, i], emission, numpy.exp(score - result[i]))
    return posteriors.astype("float32"), result.astype("float32")


def _states(
    of_edges: numpy.ndarray, from_state: numpy.ndarray, to_state: numpy.ndarray, start: int, end: int
) -> numpy.ndarray:
    """:return: [time + 1, states], log sums over all paths from the start"""
    num_states = max([start, end, *from_state.tolist(), *to_state.tolist()]) + 1
    states = numpy.full((len(of_edges) + 1, num_states), -numpy.inf)
    states[0, start] = 0.0
    for t, frame in enumerate(of_edges):
        numpy.logaddexp.at(states[t + 1], to_state, states[t, from_state] + frame)
    return states


def fsa_best_path(
    scores: numpy.ndarray,
    lens: numpy.ndarray,
    edges: numpy.ndarray,
    weights: numpy.ndarray,
    start_end_states: numpy.ndarray,
    *,
    mask_label: int = 0,
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    Arguments as those of :func:`fsa_full_sum`. Of paths with the same score, that of the first edges counts.

    :param mask_label: on padding, and where there is no path
    :return: emissions int32 [time, batch]; score float32 [batch], -inf without a path
    """
    labels = numpy.full(scores.shape[:2], mask_label, "int32")
    result = numpy.full(scores.shape[1], -numpy.inf, "float32")
    for i, (num_frames, start, end) in enumerate(zip(lens, *start_end_states, strict=True)):
        own = edges[3] == i
        automaton = [tuple(edge) for edge in edges[:3, own].T.tolist()]
        best: dict[int, tuple[float, tuple[int, ...]]] = {int(start): (0.0, ())}
        for frame in scores[:num_frames, i].tolist():
            before, best = best, {}
            for (a, b, emission), weight in zip(automaton, weights[own].tolist(), strict=True):
                if a in before:
                    score = before[a][0] + frame[emission] - weight
                    if b not in best or score > best[b][0]:
                        best[b] = score, (*before[a][1], emission)
        if int(end) in best:
            result[i], path = best[int(end)]
            labels[:num_frames, i] = path
    return labels, result
