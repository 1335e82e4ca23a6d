"""Label sequences from CTC logits, and how far one is from another.

T frames, B sequences, C classes with the blank as the last one, N labels. Logits [T, B, C] are time-major, labels
[B, N] batch-major, each with its lengths [B]; what is stored behind the end of a sequence never matters.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional

from .alignment import collapse_repeated, compact
from .padding import sequence_mask, time_mask


def ctc_greedy_decode(logits: torch.Tensor, logit_lens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The best class of each frame, repetitions merged, blanks dropped.

    :param logits: float [T, B, C]
    :param logit_lens: int [B]
    :return: labels int32 [B, N], 0 behind the end, and their lengths int32 [B]
    """
    path, lens = collapse_repeated(logits.argmax(-1).int().T, logit_lens)
    is_label = (path != logits.shape[-1] - 1) & sequence_mask(lens, path.shape[1], device=path.device)
    return compact(path, is_label)


class _Beam(NamedTuple):
    """K prefixes for each sequence, of different labels. Scores are logarithms."""

    labels: torch.Tensor
    """int [B, K, T], any number behind the end"""
    lens: torch.Tensor
    """int [B, K]"""
    hash: torch.Tensor
    """int [B, K], of the labels"""
    parent_hash: torch.Tensor
    """int [B, K], of the labels but the last"""
    last: torch.Tensor
    """int [B, K], last label; -1: none"""
    blank: torch.Tensor
    """float [B, K], of all alignments that end with a blank"""
    label: torch.Tensor
    """float [B, K], of all others"""


def ctc_beam_decode(
    logits: torch.Tensor, logit_lens: torch.Tensor, *, beam_width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The label sequence with the highest probability, summed over its alignments, by prefix beam search.

    All sequences and prefixes are extended at once. Two prefixes are the same only if one is there and the other is its
    parent with one more label, which is seen by hashes. (In a narrow beam, TensorFlow's op at times keeps another one.)

    :param logits: float [T, B, C]
    :param logit_lens: int [B]
    :param beam_width: number of prefixes kept after each frame
    :return: labels int32 [B, N], 0 behind the end, and their lengths int32 [B]
    """
    num_frames, num_seqs, _ = logits.shape
    device = logits.device
    inside = time_mask(logit_lens, num_frames, ndim=3, device=device)
    log_probs = torch.log_softmax(torch.where(inside, logits.detach(), 0.0), -1)
    nothing = torch.full((num_seqs, 1), -torch.inf, device=device)
    number = torch.zeros((num_seqs, 1), dtype=torch.int64, device=device)
    beam = _Beam(
        labels=torch.zeros((num_seqs, 1, num_frames), dtype=torch.int32, device=device),
        lens=number,
        hash=number + 1,
        parent_hash=number,
        last=number - 1,
        blank=torch.zeros_like(nothing),
        label=nothing,
    )
    for frame, real in zip(log_probs.unbind(0), inside.unbind(0), strict=True):
        beam = _beam_step(beam, torch.where(real, frame, _blank_only(frame)), beam_width)
    best = torch.logaddexp(beam.blank, beam.label).argmax(1, keepdim=True)
    lens = torch.gather(beam.lens, 1, best)[:, 0].int()
    labels = torch.gather(beam.labels, 1, best[:, :, None].expand(-1, 1, num_frames))[:, 0]
    return compact(labels, sequence_mask(lens, num_frames, device=device))


def _blank_only(frame: torch.Tensor) -> torch.Tensor:
    """:return: scores of a frame behind the end: nothing changes there"""
    scores = torch.full_like(frame, -torch.inf)
    scores[:, -1] = 0.0
    return scores


def _beam_step(beam: _Beam, frame: torch.Tensor, beam_width: int) -> _Beam:
    """
    :param frame: scores [B, C] of the classes, the blank last
    :return: the best prefixes, at most ``beam_width``
    """
    num_seqs, num_classes = frame.shape
    num_labels, width = num_classes - 1, beam.last.shape[1]
    total = torch.logaddexp(beam.blank, beam.label)
    classes = torch.arange(num_labels, device=frame.device)
    # one label more: [B, K, C-1]; after the same label only if a blank was between
    is_repeated = classes == beam.last[:, :, None]
    longer = torch.where(is_repeated, beam.blank[:, :, None], total[:, :, None]) + frame[:, None, :-1]
    # the prefix as it is
    last = torch.clamp(beam.last, min=0)
    last_score = torch.where(beam.last >= 0, torch.gather(frame, 1, last), -torch.inf)
    blank, label = total + frame[:, -1:], beam.label + last_score
    # a longer prefix that is there already is not a new one: it adds to that. [B, parent, child]
    is_parent = (beam.hash[:, :, None] == beam.parent_hash[:, None, :]) & (beam.last >= 0)[:, None, :]
    from_parent = torch.gather(longer, 2, last[:, None, :].expand(-1, width, -1))
    label = torch.logaddexp(label, torch.where(is_parent, from_parent, -torch.inf).amax(1))
    taken = torch.zeros(longer.shape, dtype=torch.int32, device=frame.device)
    taken.scatter_add_(2, last[:, None, :].expand(-1, width, -1), is_parent.int())
    longer = torch.where(taken > 0, -torch.inf, longer)

    candidates = torch.cat([torch.logaddexp(blank, label), longer.reshape(num_seqs, -1)], 1)
    chosen = candidates.topk(min(beam_width, candidates.shape[1]), dim=1).indices
    is_longer = chosen >= width
    source = torch.where(is_longer, torch.div(chosen - width, num_labels, rounding_mode="floor"), chosen)
    new_label = torch.where(is_longer, (chosen - width) % num_labels, -1)

    def of_source(x: torch.Tensor) -> torch.Tensor:
        return torch.gather(x, 1, source)

    labels = torch.gather(beam.labels, 1, source[:, :, None].expand(-1, -1, beam.labels.shape[2]))
    lens = of_source(beam.lens)
    at_end = torch.arange(labels.shape[2], device=frame.device) == lens[:, :, None]
    old_hash = of_source(beam.hash)
    return _Beam(
        labels=torch.where(at_end & is_longer[:, :, None], new_label[:, :, None].int(), labels),
        lens=lens + is_longer,
        hash=torch.where(is_longer, _hash(old_hash, new_label), old_hash),
        parent_hash=torch.where(is_longer, old_hash, of_source(beam.parent_hash)),
        last=torch.where(is_longer, new_label, of_source(beam.last)),
        blank=torch.where(is_longer, -torch.inf, of_source(blank)),
        label=torch.where(is_longer, torch.gather(candidates, 1, chosen), of_source(label)),
    )


def _hash(before: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """:return: int64, of the labels before and this one; products overflow, as meant"""
    x = (before + label + 1) * 0x2545F4914F6CDD1D
    return x ^ (x >> 29)


def edit_distance(a: torch.Tensor, a_lens: torch.Tensor, b: torch.Tensor, b_lens: torch.Tensor) -> torch.Tensor:
    """Levenshtein distance: insertion, deletion and substitution cost 1 each; not normalised.

    row[j] is the distance of the labels of a so far from the first j of b. The next row without insertions is known at
    once; with them it is a running minimum: row[j] = min over k <= j of without[k] + j - k.

    :param a: int [B, N]
    :param a_lens: int [B]
    :param b: int [B, M]
    :param b_lens: int [B]
    :return: int32 [B]
    """
    device = a.device
    places = torch.arange(b.shape[1] + 1, dtype=torch.int32, device=device)
    row = places.expand(len(a), -1)
    inside = sequence_mask(a_lens, a.shape[1], device=device)
    for label, real in zip(a.unbind(1), inside.unbind(1), strict=True):
        substituted = row[:, :-1] + (b.to(device) != label[:, None])
        without = torch.minimum(row + 1, functional.pad(substituted, (1, 0), value=torch.iinfo(torch.int32).max))
        new_row = torch.cummin(without - places, 1).values + places
        row = torch.where(real[:, None], new_row, row)
    return torch.gather(row, 1, b_lens.to(device).long()[:, None])[:, 0]
