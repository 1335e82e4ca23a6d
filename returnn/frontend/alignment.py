"""Sums and best paths over all alignments of frames and labels, by automata.

What these give has no gradient; losses that have one are in :mod:`returnn.frontend.loss`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from returnn.tensor import Dim, DimError, Tensor, batch_dim
from returnn.tensor.backend import backend_of_raw, template_backend
from returnn.util import fsa as fsa_module

from .lengths import raw_lens
from .nn import log_softmax


class Fsa(NamedTuple):
    """Automata of a batch, as :mod:`returnn.util.fsa` has them, raw; on templates without values."""

    edges: Any
    """int32 [4, edges]"""
    weights: Any
    """float32 [edges], -log"""
    start_end_states: Any
    """int32 [2, batch]"""


def ctc_fsa(labels: Tensor, *, spatial_dim: Dim, blank_index: int, label_loop: bool = True) -> Fsa:
    """
    :param labels: int [batch, spatial_dim] in any order
    :param spatial_dim: its lengths count
    :param blank_index: >= 0
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    """

    def build(targets: numpy.ndarray, lens: numpy.ndarray) -> fsa_module.FastBaumWelchBatchFsa:
        return fsa_module.get_ctc_fsa_fast_bw(
            targets=targets, seq_lens=lens, blank_idx=blank_index, label_loop=label_loop
        )

    if labels.raw_tensor is None:
        return Fsa(None, None, None)
    return _automata(build, labels.copy_transpose([batch_dim, spatial_dim]).raw_tensor, raw_lens(labels, spatial_dim))


def staircase_fsa(lens: Tensor, *, num_emissions: int) -> Fsa:
    """
    :param lens: int [batch]: number of states behind the first one. Each frame goes up by one state or more.
    :param num_emissions: of the scores; more steps than this are an error in the step
    """

    def build(steps: numpy.ndarray) -> fsa_module.FastBaumWelchBatchFsa:
        if len(steps) and steps.max() > num_emissions:
            raise DimError(
                "staircase: a sequence has %i steps, but there are %i classes" % (steps.max(), num_emissions)
            )
        return fsa_module.fast_bw_fsa_staircase(steps)

    if lens.raw_tensor is None:
        return Fsa(None, None, None)
    return _automata(build, lens.raw_tensor)


def _automata(build: Any, *args: Any) -> Fsa:
    backend = backend_of_raw(args[0])
    return Fsa(*backend.call_numpy(build, args, [("int32", 2), ("float32", 1), ("int32", 2)]))


def fsa_full_sum(
    scores: Tensor, *, axis: Dim, spatial_dim: Dim, fsa: Fsa, lens: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """
    :param scores: float32, +log, [batch, spatial_dim, axis] in any order
    :param axis: emissions
    :param spatial_dim: frames
    :param fsa: automata over the emissions
    :param lens: int32 [batch], so many frames count; the lengths of spatial_dim by default
    :return: posteriors of the emissions [spatial_dim, batch, axis], each real frame sums to one, 0 on padding;
        logarithm of the sum over all paths [batch]. A sequence without a path has 0 and -inf.
    """
    x = scores.copy_transpose([spatial_dim, batch_dim, axis])
    backend = backend_of_raw(x.raw_tensor)
    raw, raw_score = None, None
    if backend is not template_backend:
        raw_frames = raw_lens(x, spatial_dim) if lens is None else lens.raw_tensor
        raw, raw_score = backend.fsa_full_sum(x.raw_tensor, raw_frames, *fsa)
    posteriors = x.like(raw, feature_dim=axis, time_dim=spatial_dim, name="posteriors")
    return posteriors, Tensor("score", (batch_dim,), "float32", raw_tensor=raw_score)


def fsa_best_path(
    scores: Tensor, *, axis: Dim, spatial_dim: Dim, fsa: Fsa, mask_label: int = 0
) -> tuple[Tensor, Tensor]:
    """
    :param scores: float32, +log, [batch, spatial_dim, axis] in any order
    :param axis: emissions
    :param spatial_dim: frames; its lengths count
    :param fsa: automata over the emissions
    :param mask_label: on padding, and where there is no path
    :return: labels int32 [spatial_dim, batch] of ``axis``; score of the path [batch], -inf without one
    """
    x = scores.copy_transpose([spatial_dim, batch_dim, axis])
    backend = backend_of_raw(x.raw_tensor)
    raw, raw_score = None, None
    if backend is not template_backend:
        raw, raw_score = backend.fsa_best_path(x.raw_tensor, raw_lens(x, spatial_dim), *fsa, mask_label=mask_label)
    labels = Tensor("alignment", (spatial_dim, batch_dim), "int32", sparse_dim=axis, time_dim_axis=0, raw_tensor=raw)
    return labels, Tensor("score", (batch_dim,), "float32", raw_tensor=raw_score)


def ctc_best_path(
    *,
    logits: Tensor,
    logits_normalized: bool = False,
    targets: Tensor,
    input_spatial_dim: Dim,
    targets_spatial_dim: Dim,
    blank_index: int,
    label_loop: bool = True,
) -> Tensor:
    """
    :param logits: [batch, input_spatial_dim, its feature dim] in any order
    :param logits_normalized: they are log probabilities already
    :param targets: int [batch, targets_spatial_dim] in any order
    :param input_spatial_dim: frames
    :param targets_spatial_dim: labels
    :param blank_index: negative: from the end
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    :return: best alignment, int32 [batch, input_spatial_dim], labels and blanks; blanks on padding, and where there is
        none
    """
    axis = logits.feature_dim
    assert axis is not None, logits
    blank = blank_index % axis.require_static()
    fsa = ctc_fsa(targets, spatial_dim=targets_spatial_dim, blank_index=blank, label_loop=label_loop)
    scores = logits if logits_normalized else log_softmax(logits, axis=axis)
    labels, _ = fsa_best_path(scores, axis=axis, spatial_dim=input_spatial_dim, fsa=fsa, mask_label=blank)
    return labels.copy_transpose([batch_dim, input_spatial_dim])
