"""CTC and edit distance by plain dynamic programming, one sequence at a time."""

from __future__ import annotations

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
            target = [x for j, x in enumerate(target) if j == 0 or target[j - 1] != x]
        if len(target) > num_frames and ignore_longer_outputs_than_inputs:
            res.append(0.0)
        else:
            res.append(-_ctc_score(scores[:num_frames, i].astype("float64"), target, ctc_merge_repeated))
    return numpy.array(res, dtype="float32")


def _ctc_score(scores: numpy.ndarray, target: list[int], merge_repeated: bool) -> float:
    """
    :param scores: [time, classes + 1]
    :return: log of the sum over all alignments
    """
    blank = scores.shape[1] - 1
    states = [blank]
    for label in target:
        states += [label, blank]
    alpha = numpy.full(len(states), -numpy.inf)
    alpha[0] = 0.0
    for t, frame in enumerate(scores):
        new = numpy.full_like(alpha, -numpy.inf)
        for s, label in enumerate(states):
            came_from = [alpha[s]] if merge_repeated or label == blank or t == 0 else []
            if t == 0:
                came_from = [0.0] if s < 2 else []
            else:
                if s >= 1:
                    came_from.append(alpha[s - 1])
                if s >= 2 and label != blank and not (merge_repeated and states[s - 2] == label):
                    came_from.append(alpha[s - 2])
            if came_from:
                new[s] = numpy.logaddexp.reduce(came_from) + frame[label]
        alpha = new
    return float(numpy.logaddexp.reduce(alpha[-2:])) if len(scores) else (0.0 if not target else -numpy.inf)


def ctc_greedy_decode(logits: numpy.ndarray, lens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    :param logits: [time, batch, classes + 1], blank last
    :param lens: [batch]
    :return: best label of each frame, repeats merged, blanks dropped: int32 [batch, longest], 0 behind the end; lengths
    """
    blank = logits.shape[2] - 1
    seqs = []
    for i, num_frames in enumerate(lens):
        path = logits[:num_frames, i].argmax(axis=-1)
        seqs.append([int(x) for j, x in enumerate(path) if x != blank and (j == 0 or path[j - 1] != x)])
    out = numpy.zeros((len(seqs), max([len(s) for s in seqs], default=0)), dtype="int32")
    for i, seq in enumerate(seqs):
        out[i, : len(seq)] = seq
    return out, numpy.array([len(s) for s in seqs], dtype="int32")
