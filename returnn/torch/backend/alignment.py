"""CTC by dynamic programming over all sequences at once: the sum over all alignments, or the best one.

T frames, B sequences, C classes, N labels. Logits [T, B, C] are time-major, labels [B, N] batch-major, each with its
lengths [B]; what is stored behind the end of a sequence never matters. A sequence may have no frames, no labels, or no
alignment at all.

An alignment passes the states blank 0, label 0, blank 1, .., label n-1, blank n. Before each frame, blank[i] and
label[i] are the logarithms of the sum over all alignments of the frames so far that end there (or the score of the best
one: then ``join`` is the maximum):
    reached[i] = join(blank[i], label[i-1])                      i labels are complete
    blank[i]   = reached[i] + score of the blank
    label[i]   = join(label[i], reached[i]) + score of label i   where it equals label i-1: blank[i], not reached[i]
Behind the end of a sequence the blank costs nothing and labels are impossible. So blank[n] one frame later is the
result. "Impossible" is -1e30, so that differences of such scores stay numbers.

Where PyTorch's own CTC loss computes the same, it is taken: it is several times as fast. Else the sum has a gradient
written by hand, softmax - posteriors of the states. They need the same recursion from the other end, which is that of
the reversed sequence: both run side by side in the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from .padding import reverse_sequence, sequence_mask, time_mask

_IMPOSSIBLE = -1e30

Join = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def ctc_loss(
    logits: torch.Tensor,
    logit_lens: torch.Tensor,
    labels: torch.Tensor,
    label_lens: torch.Tensor,
    *,
    ignore_longer_outputs_than_inputs: bool = False,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
) -> torch.Tensor:
    """-log p(labels | logits), summed over all alignments of labels and frames.

    :param logits: float32 [T, B, C], not normalised: softmax is applied here. The last class is the blank
    :param logit_lens: int [B]
    :param labels: int [B, N], each below C - 1
    :param label_lens: int [B]
    :param ignore_longer_outputs_than_inputs: a sequence with more labels than frames gets loss and gradient 0
    :param preprocess_collapse_repeated: equal neighbours in the labels become one
    :param ctc_merge_repeated: equal neighbours in an alignment are one label (unless a blank is between them)
    :return: float32 [B]; inf where there is no alignment. The gradient is softmax - posteriors; without alignment
        softmax, as TensorFlow has it, but 0 if there are more labels than frames. Gradient 0 on padded frames
    """
    if preprocess_collapse_repeated:
        labels, label_lens = collapse_repeated(labels, label_lens)
    loss, no_path = _full_sum(
        logits, logit_lens, labels, label_lens, blank_index=-1, label_loop=ctc_merge_repeated, options=_Options()
    )
    more_labels = (label_lens > logit_lens).to(logits.device, non_blocking=True)
    loss = loss + torch.where(no_path, torch.inf, 0.0)
    return torch.where(more_labels, 0.0 if ignore_longer_outputs_than_inputs else torch.inf, loss)


def ctc_full_sum(
    logits: torch.Tensor,
    logit_lens: torch.Tensor,
    labels: torch.Tensor,
    label_lens: torch.Tensor,
    *,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
    grad_wrt_softmax_in: bool = True,
    zero_infinity: bool = False,
) -> torch.Tensor:
    """-log p(labels | logits), summed over all alignments of labels and frames.

    :param logits: float32 [T, B, C]
    :param logit_lens: int [B]
    :param labels: int [B, N], each below C
    :param label_lens: int [B]
    :param blank_index: negative: from the end
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    :param logits_normalize: apply log_softmax; else the logits are the scores
    :param grad_wrt_softmax_in: the gradient is softmax - posteriors; else minus the posteriors
    :param zero_infinity: no gradient of a sequence that has no alignment
    :return: float32 [B], 0 where there is no alignment. Gradient 0 on padded frames
    """
    loss, _ = _full_sum(
        logits,
        logit_lens,
        labels,
        label_lens,
        blank_index=blank_index,
        label_loop=label_loop,
        options=_Options(logits_normalize, grad_wrt_softmax_in, zero_infinity),
    )
    return loss


def ctc_best_path(
    logits: torch.Tensor,
    logit_lens: torch.Tensor,
    labels: torch.Tensor,
    label_lens: torch.Tensor,
    *,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
) -> torch.Tensor:
    """-log of the probability of the best alignment. Arguments as those of :func:`ctc_full_sum`.

    :return: float32 [B], inf where there is no alignment: then without gradient
    """
    inside = time_mask(logit_lens, len(logits), ndim=3, device=logits.device)
    log_probs = torch.where(inside, logits, 0.0)  # or NaN would come back in the gradient
    if logits_normalize:
        log_probs = torch.log_softmax(log_probs, -1)
    task = _make_task(log_probs, logit_lens, labels, label_lens, blank_index)
    last, _ = _scan(task.scores, _distinct_neighbors(task.labels), label_loop=label_loop, join=torch.maximum)
    best = _result(task, last)
    return torch.where(best < _IMPOSSIBLE / 2, torch.inf, -best)


def collapse_repeated(labels: torch.Tensor, lens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    :param labels: int [B, N]
    :param lens: int [B]
    :return: of equal neighbours the first, [B, longest]; and the lengths int32 [B]
    """
    return compact(labels, _distinct_neighbors(labels).T & sequence_mask(lens, labels.shape[1], device=labels.device))


def compact(labels: torch.Tensor, keep: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    :param labels: int [B, N]
    :param keep: bool [B, N]
    :return: those to keep, moved together, [B, longest], 0 behind the end; and their number, int32 [B]
    """
    new_lens = keep.sum(1, dtype=torch.int32)
    longest = int(new_lens.max()) if len(labels) else 0
    order = torch.argsort((~keep).to(torch.uint8), dim=1, stable=True)[:, :longest]
    kept = torch.gather(labels, 1, order)
    return kept * sequence_mask(new_lens, longest, device=labels.device).to(labels.dtype), new_lens


class _Options(NamedTuple):
    """See :func:`ctc_full_sum`."""

    logits_normalize: bool = True
    grad_wrt_softmax_in: bool = True
    zero_infinity: bool = False


def _full_sum(
    logits: torch.Tensor,
    logit_lens: torch.Tensor,
    labels: torch.Tensor,
    label_lens: torch.Tensor,
    *,
    blank_index: int,
    label_loop: bool,
    options: _Options,
) -> tuple[torch.Tensor, torch.Tensor]:
    """:return: -log p [B], 0 where there is no alignment; and bool [B], where there is none"""
    if label_loop and options.logits_normalize and options.grad_wrt_softmax_in and 0 not in logits.shape:
        loss, no_path = _full_sum_of_torch(logits, logit_lens, labels, label_lens, blank_index, options.zero_infinity)
    else:
        loss, no_path = _FullSum.apply(logits, logit_lens, labels, label_lens, blank_index, label_loop, options)
    return loss, no_path


def _full_sum_of_torch(
    logits: torch.Tensor,
    logit_lens: torch.Tensor,
    labels: torch.Tensor,
    label_lens: torch.Tensor,
    blank_index: int,
    zero_infinity: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Its gradient, with respect to log_softmax(logits), is softmax - posteriors. Of no alignment it has none."""
    inside = time_mask(logit_lens, len(logits), ndim=3, device=logits.device)
    logits = torch.where(inside, logits, 0.0)  # or NaN would come back in the gradient
    is_label = sequence_mask(label_lens, labels.shape[1], device=labels.device)
    targets = torch.where(is_label, labels, 0).long()
    if targets.device.type == "cpu" and ((targets < 0) | (targets >= logits.shape[-1])).any():
        raise IndexError("a label is not in [0, %i)" % logits.shape[-1])  # PyTorch would read other memory
    # the function of torch.nn hides which losses are infinite
    loss, _ = torch.ops.aten._ctc_loss(
        torch.log_softmax(logits, -1),
        targets,
        logit_lens.tolist(),
        label_lens.tolist(),
        blank_index % logits.shape[-1],
        True,  # no gradient of infinite ones
    )
    no_path = loss == torch.inf
    loss = torch.where(no_path, 0.0, loss)
    if not zero_infinity:
        normalizer = torch.where(inside[:, :, 0] & no_path, torch.logsumexp(logits, -1), 0.0).sum(0)
        loss = loss + (normalizer - normalizer.detach())  # 0, with the gradient softmax
    return loss, no_path


class _FullSum(torch.autograd.Function):
    """See :func:`_full_sum`."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: torch.Tensor,
        logit_lens: torch.Tensor,
        labels: torch.Tensor,
        label_lens: torch.Tensor,
        blank_index: int,
        label_loop: bool,
        options: _Options,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        log_probs = torch.log_softmax(logits, -1) if options.logits_normalize else logits
        task = _make_task(log_probs, logit_lens, labels, label_lens, blank_index)
        both, distinct = _with_reversed(task)
        last, states = _scan(both, distinct, label_loop=label_loop, join=torch.logaddexp, keep_states=True)
        total = _result(task, last)
        no_path = total < _IMPOSSIBLE / 2  # and not so where it is nan
        total = torch.where(no_path, 0.0, total)
        ctx.task, ctx.options, ctx.blank_index = task, options, blank_index
        ctx.save_for_backward(log_probs, total, no_path, *states)
        ctx.mark_non_differentiable(no_path)
        return -total, no_path

    @staticmethod
    def backward(ctx: Any, d_loss: torch.Tensor, _: Any) -> tuple[Any, ...]:
        log_probs, total, no_path, *states = ctx.saved_tensors
        task: _Task = ctx.task
        posteriors = _posteriors(task, _OfStates(*states), total)
        expected = torch.exp(log_probs) if ctx.options.grad_wrt_softmax_in else torch.zeros_like(log_probs)
        classes = functional.pad(task.labels.T, (0, 0, 0, 1), value=ctx.blank_index % log_probs.shape[-1])
        index = classes.T.expand(len(log_probs), *classes.T.shape).long()
        res = expected.scatter_add(2, index, -posteriors.transpose(1, 2))
        inside = time_mask(task.logit_lens, len(log_probs), ndim=3, device=log_probs.device)
        if ctx.options.zero_infinity:
            inside = inside & ~no_path[:, None]
        return torch.where(inside, res * d_loss[:, None], 0.0), None, None, None, None, None, None


class _OfStates(NamedTuple):
    """A number for each state, for all frames or of one."""

    blank: torch.Tensor
    """[.., n+1, B]; scores, which all blanks share: [.., 1, B]"""
    label: torch.Tensor
    """[.., n, B]"""


class _Task(NamedTuple):
    scores: _OfStates
    """[T+1, ..]"""
    labels: torch.Tensor
    """int [B, N], 0 behind the end"""
    logit_lens: torch.Tensor
    label_lens: torch.Tensor


def _make_task(
    log_probs: torch.Tensor,
    logit_lens: torch.Tensor,
    labels: torch.Tensor,
    label_lens: torch.Tensor,
    blank_index: int,
) -> _Task:
    device = log_probs.device
    inside = time_mask(logit_lens, len(log_probs), ndim=2, device=device)[:, None]
    is_label = sequence_mask(label_lens, labels.shape[1], device=device)
    labels = torch.where(is_label, labels.to(device), 0).long()
    of_labels = torch.gather(log_probs, 2, labels.expand(len(log_probs), *labels.shape)).transpose(1, 2)
    of_labels = torch.where(inside & is_label.T, of_labels, _IMPOSSIBLE)
    of_blank = torch.where(inside, log_probs[:, :, blank_index][:, None], 0.0)
    one_frame = (0, 0, 0, 0, 0, 1)
    scores = _OfStates(
        functional.pad(torch.clamp(of_blank, min=_IMPOSSIBLE), one_frame),
        functional.pad(torch.clamp(of_labels, min=_IMPOSSIBLE), one_frame, value=_IMPOSSIBLE),
    )
    return _Task(scores, labels, logit_lens, label_lens)


def _distinct_neighbors(labels: torch.Tensor) -> torch.Tensor:
    """:return: bool [N, B], whether the label [B, N] is another one than the label before it, or the first"""
    return (labels != functional.pad(labels, (1, 0), value=-1)[:, :-1]).T


def _with_reversed(task: _Task) -> tuple[_OfStates, torch.Tensor]:
    """:return: scores of each sequence, and behind these of each one reversed; distinct neighbors of both"""
    scores = _OfStates(*(torch.cat(pair, 2) for pair in zip(task.scores, _reversed(task, task.scores), strict=True)))
    labels = torch.cat([task.labels, reverse_sequence(task.labels, task.label_lens, axis=1, batch_axis=0)])
    return scores, _distinct_neighbors(labels)


def _reversed(task: _Task, x: _OfStates) -> _OfStates:
    """:return: x [T+1, ..], each sequence from its last real frame and its last real state on"""

    def reverse(value: torch.Tensor, num_states: torch.Tensor) -> torch.Tensor:
        value = reverse_sequence(value, task.logit_lens, axis=0, batch_axis=2)
        if value.shape[1] == 1:  # one number for all states
            return value
        return reverse_sequence(value, num_states, axis=1, batch_axis=2)

    return _OfStates(reverse(x.blank, task.label_lens + 1), reverse(x.label, task.label_lens))


def _scan(
    scores: _OfStates, distinct: torch.Tensor, *, label_loop: bool, join: Join, keep_states: bool = False
) -> tuple[_OfStates, list[torch.Tensor]]:
    """
    :param scores: [T+1, ..]
    :param distinct: bool [N, B]
    :return: states after the last frame; and with ``keep_states`` blank and label after each one, [T+1, ..]
    """
    num_labels, num_seqs = distinct.shape
    label = scores.label.new_full((num_labels, num_seqs), _IMPOSSIBLE)
    blank = functional.pad(label, (0, 0, 1, 0), value=0.0)
    kept: list[_OfStates] = []
    for score in zip(scores.blank.unbind(0), scores.label.unbind(0), strict=True):
        reached = join(blank, functional.pad(label, (0, 0, 1, 0), value=_IMPOSSIBLE))
        if label_loop:
            entered = join(label, torch.where(distinct, reached[:-1], blank[:-1]))
        else:
            entered = reached[:-1]
        blank, label = reached + score[0], entered + score[1]
        if keep_states:
            kept.append(_OfStates(blank, label))
    return _OfStates(blank, label), [torch.stack(x) for x in zip(*kept, strict=True)]


def _result(task: _Task, last: _OfStates) -> torch.Tensor:
    """:return: [B], of the sequences that are not reversed"""
    at_end = last.blank[:, : len(task.labels)]
    return torch.gather(at_end, 0, task.label_lens.to(at_end.device, non_blocking=True).long()[None])[0]


def _posteriors(task: _Task, states: _OfStates, total: torch.Tensor) -> torch.Tensor:
    """
    :param task: what to align
    :param states: [T+1, .., 2 B], as :func:`_scan` gives them for :func:`_with_reversed`
    :param total: [B]
    :return: [T, N+1, B], of the labels, and at last of the blank; 0 if there is no alignment; any number on padding
    """
    num_seqs = len(task.labels)
    forward = _OfStates(*(x[:, :, :num_seqs] for x in states))
    backward = _reversed(task, _OfStates(*(x[:, :, num_seqs:] for x in states)))
    blank, label = (  # both have the score of the frame
        torch.exp(a + b - score - total)[:-1] for a, b, score in zip(forward, backward, task.scores, strict=True)
    )
    weights = torch.cat([label, blank.sum(1, keepdim=True)], 1)
    # they sum to one but for rounding: that of total is the same for all
    sums = weights.sum(1, keepdim=True)
    return torch.where(sums == 0, 0.0, weights / sums)
