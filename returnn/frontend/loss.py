"""Losses per frame or per sequence, not summed, not masked."""

from __future__ import annotations

import math
from typing import Any

from returnn.tensor import Dim, DimError, Tensor, batch_dim
from returnn.tensor.backend import backend_of_all, template_backend
from returnn.util import bleu

from .elementwise import compare, where
from .lengths import raw_lens
from .shape import require_dims


def sparse_softmax_cross_entropy(logits: Tensor, *, labels: Tensor, axis: Dim) -> Tensor:
    """
    -log softmax(logits)[label].

    :param logits: [.., axis]
    :param labels: int, the other dims of logits; in range on all frames, padding too
    :param axis: the classes
    :return: dims of labels
    """
    require_dims(logits, [axis], op="cross entropy")
    dims = [d for d in logits.dims if d != axis]
    backend = backend_of_all([logits, labels])
    raw = None
    if backend is not template_backend:
        ordered = logits.copy_transpose(dims + [axis])
        raw = backend.sparse_softmax_cross_entropy(ordered.raw_tensor, labels.copy_transpose(dims).raw_tensor)
    return logits.like(raw, dims=dims, feature_dim=None, name="cross_entropy")


def ctc_loss(
    *,
    logits: Tensor,
    logits_normalized: bool = False,
    targets: Tensor,
    input_spatial_dim: Dim,
    targets_spatial_dim: Dim,
    blank_index: int,
    max_approx: bool = False,
    label_loop: bool = True,
) -> Tensor:
    """
    -log p(targets | logits), summed over all alignments (Graves et al., 2006).

    :param logits: [batch, input_spatial_dim, its feature dim] in any order
    :param logits_normalized: they are log probabilities already
    :param targets: int [batch, targets_spatial_dim] in any order
    :param input_spatial_dim: frames; its lengths count
    :param targets_spatial_dim: labels; its lengths count
    :param blank_index: negative: from the end
    :param max_approx: only the best alignment
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    :return: [batch]; 0, without gradient, where there is no alignment
    """
    axis = logits.feature_dim
    assert axis is not None, logits
    opts: dict[str, Any] = {
        "axis": axis,
        "labels": targets,
        "input_spatial_dim": input_spatial_dim,
        "target_spatial_dim": targets_spatial_dim,
        "blank_index": blank_index,
        "label_loop": label_loop,
        "logits_normalize": not logits_normalized,
    }
    if not max_approx:
        return ctc_full_sum(logits, zero_infinity=True, **opts)
    loss = ctc_best_path_score(logits, **opts)
    return where(compare(loss, "<", math.inf), loss, 0.0)


def ctc_loss_v1(
    logits: Tensor, *, axis: Dim, labels: Tensor, input_spatial_dim: Dim, target_spatial_dim: Dim, **options: Any
) -> Tensor:
    """
    :func:`ctc_loss` with the options and results of ``tf.compat.v1.nn.ctc_loss``. The blank is the last class.

    :param logits: [batch, input_spatial_dim, axis] in any order; not normalised
    :param axis: classes, and the blank as the last one
    :param labels: [batch, target_spatial_dim]
    :param input_spatial_dim: frames; its lengths count
    :param target_spatial_dim: labels; its lengths count
    :param options: ignore_longer_outputs_than_inputs, preprocess_collapse_repeated, ctc_merge_repeated
    :return: [batch]; inf where there is no alignment, unless ``ignore_longer_outputs_than_inputs``: then 0
    """
    return _of_alignments("ctc_loss", logits, axis, labels, input_spatial_dim, target_spatial_dim, **options)


def ctc_full_sum(
    logits: Tensor,
    *,
    axis: Dim,
    labels: Tensor,
    input_spatial_dim: Dim,
    target_spatial_dim: Dim,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
    grad_wrt_softmax_in: bool = True,
    zero_infinity: bool = False,
) -> Tensor:
    """
    :func:`ctc_loss` with other options. Sequences without frames, labels or alignment are fine.

    :param logits: [batch, input_spatial_dim, axis] in any order
    :param axis: classes, and the blank
    :param labels: [batch, target_spatial_dim]
    :param input_spatial_dim: frames; its lengths count
    :param target_spatial_dim: labels; its lengths count
    :param blank_index: negative: from the end
    :param label_loop: a label may last several frames, so equal neighbours need a blank between them
    :param logits_normalize: apply log_softmax; else the logits are the scores
    :param grad_wrt_softmax_in: the gradient is softmax - posteriors; else minus the posteriors
    :param zero_infinity: no gradient of a sequence that has no alignment; else it is softmax
    :return: [batch]; 0 where there is no alignment
    """
    return _of_alignments(
        "ctc_full_sum",
        logits,
        axis,
        labels,
        input_spatial_dim,
        target_spatial_dim,
        blank_index=blank_index,
        label_loop=label_loop,
        logits_normalize=logits_normalize,
        grad_wrt_softmax_in=grad_wrt_softmax_in,
        zero_infinity=zero_infinity,
    )


def ctc_best_path_score(
    logits: Tensor,
    *,
    axis: Dim,
    labels: Tensor,
    input_spatial_dim: Dim,
    target_spatial_dim: Dim,
    blank_index: int = -1,
    label_loop: bool = True,
    logits_normalize: bool = True,
) -> Tensor:
    """
    -log of the probability of the best alignment. Arguments as those of :func:`ctc_full_sum`.

    :return: [batch]; inf where there is no alignment: then without gradient
    """
    return _of_alignments(
        "ctc_best_path",
        logits,
        axis,
        labels,
        input_spatial_dim,
        target_spatial_dim,
        blank_index=blank_index,
        label_loop=label_loop,
        logits_normalize=logits_normalize,
    )


def _of_alignments(
    op: str,
    logits: Tensor,
    axis: Dim,
    labels: Tensor,
    input_spatial_dim: Dim,
    target_spatial_dim: Dim,
    **options: Any,
) -> Tensor:
    """:return: [batch], what the backend's function ``op`` gives"""
    if logits.dtype != "float32":
        raise DimError("%s: logits must be float32, but are %s" % (op, logits.dtype))
    backend = backend_of_all([logits, labels])
    raw = None
    if backend is not template_backend:
        raw = getattr(backend, op)(
            logits.copy_transpose([input_spatial_dim, batch_dim, axis]).raw_tensor,
            raw_lens(logits, input_spatial_dim),
            labels.copy_transpose([batch_dim, target_spatial_dim]).raw_tensor,
            raw_lens(labels, target_spatial_dim),
            **options,
        )
    return Tensor(op, (batch_dim,), "float32", raw_tensor=raw)


def ctc_decode(
    logits: Tensor, *, axis: Dim, input_spatial_dim: Dim, target_dim: Dim, beam_width: int
) -> tuple[Tensor, Dim]:
    """
    :param logits: as in :func:`ctc_loss`
    :param axis: classes and blank
    :param input_spatial_dim: frames; its lengths count
    :param target_dim: classes
    :param beam_width: 1: greedy, repeats merged, blanks dropped
    :return: labels [batch, new spatial dim]; and that dim
    """
    backend = backend_of_all([logits])
    out_dim = Dim(None, description="ctc-decode", auto_generated=False, size_dims=(batch_dim,))
    raw = None
    if backend is not template_backend:
        raw, lens = backend.ctc_decode(
            logits.copy_transpose([input_spatial_dim, batch_dim, axis]).raw_tensor,
            raw_lens(logits, input_spatial_dim),
            beam_width=beam_width,
        )
        out_dim.dyn_size = lens
    return Tensor(
        "ctc_decode", (batch_dim, out_dim), "int32", sparse_dim=target_dim, time_dim_axis=1, raw_tensor=raw
    ), out_dim


def collapse_repeated(labels: Tensor, *, axis: Dim) -> tuple[Tensor, Dim]:
    """
    :param labels: [batch, axis] in any order
    :param axis: dynamic
    :return: of equal neighbours only the first, [batch, new spatial dim]; and that dim
    """
    backend = backend_of_all([labels])
    out_dim = Dim(None, description="collapsed", auto_generated=False, size_dims=(batch_dim,))
    raw = None
    if backend is not template_backend:
        raw, out_dim.dyn_size = backend.collapse_repeated(
            labels.copy_transpose([batch_dim, axis]).raw_tensor, raw_lens(labels, axis)
        )
    return labels.like(raw, dims=(batch_dim, out_dim), time_dim=out_dim, name="collapse_repeated"), out_dim


def edit_distance(a: Tensor, a_spatial_dim: Dim, b: Tensor, b_spatial_dim: Dim) -> Tensor:
    """
    Levenshtein distance, each insertion, deletion and substitution costs 1.

    :param a: labels [batch, a_spatial_dim] in any order
    :param b: labels [batch, b_spatial_dim] in any order
    :return: int32 [batch]
    """
    backend = backend_of_all([a, b])
    raw = None
    if backend is not template_backend:
        raw = backend.edit_distance(
            a.copy_transpose([batch_dim, a_spatial_dim]).raw_tensor,
            raw_lens(a, a_spatial_dim),
            b.copy_transpose([batch_dim, b_spatial_dim]).raw_tensor,
            raw_lens(b, b_spatial_dim),
        )
    return Tensor("edit_distance", (batch_dim,), "int32", raw_tensor=raw)


def sentence_bleu(hypothesis: Tensor, hypothesis_dim: Dim, reference: Tensor, reference_dim: Dim) -> Tensor:
    """
    :param hypothesis: labels [batch, hypothesis_dim] in any order
    :param reference: labels [batch, reference_dim] in any order
    :return: float32 [batch], BLEU of each sequence, see :func:`returnn.util.bleu.sentence_bleu`
    """

    def compute(hyps: Any, hyp_lens: Any, refs: Any, ref_lens: Any) -> list[Any]:
        pairs = zip(hyps.tolist(), hyp_lens, refs.tolist(), ref_lens, strict=True)
        return [[bleu.sentence_bleu(a[:n], b[:m]) for a, n, b, m in pairs]]

    backend = backend_of_all([hypothesis, reference])
    raw = None
    if backend is not template_backend:
        args = [
            y
            for x, dim in ((hypothesis, hypothesis_dim), (reference, reference_dim))
            for y in (x.copy_transpose([batch_dim, dim]).raw_tensor, raw_lens(x, dim))
        ]
        (raw,) = backend.call_numpy(compute, args, [("float32", 1)])
    return Tensor("bleu", (batch_dim,), "float32", raw_tensor=raw)
