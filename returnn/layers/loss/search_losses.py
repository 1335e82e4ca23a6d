"""Losses of a beam search.

B sequences, each with K hypotheses; row b * K + k of an output is hypothesis k of sequence b.
"""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.layers.search_choices import SearchChoices
from returnn.tensor import Dim, Tensor, batch_dim

from .base import Loss, option_error, require_one_of
from .registry import check_loss_options, get_loss_class, loss_from_options


class _SearchLoss(Loss):
    """Of a layer behind a beam search."""

    recurrent = True

    def _check_init(self) -> None:
        super()._check_init()
        self._choices()

    def _choices(self) -> SearchChoices:
        choices = self.layer.get_search_choices() if self.layer is not None else None
        if choices is None:
            raise option_error(
                self,
                "layer %s is not behind a beam search. This loss needs a network for search, with a layer that chooses",
                self._layer_name(),
            )
        return choices

    def _scores(self) -> Tensor:
        """:return: log scores of the hypotheses [B, K]"""
        choices = self._choices()
        beam = Dim(choices.beam_size, description="beam")
        return Tensor("beam_scores", (batch_dim, beam), "float32", raw_tensor=choices.beam_scores)


class SearchScoreLoss(_SearchLoss):
    """Minus the log scores of all hypotheses, summed. No target, no error."""

    class_name = "search_score"
    need_target = False

    def value_per_pos(self) -> Tensor:
        scores = self._scores()
        return -rf.reduce_sum(scores, axis=scores.dims[1])

    def error_per_pos(self) -> None:
        return None


class ExpectedLoss(_SearchLoss):
    """Minimum risk: the expectation of another loss over the hypotheses of a beam search.

    With L[b, k] the other loss of a hypothesis and s[b, k] its log score, w = exp(s), with ``norm_scores`` softmax(s)
    over the hypotheses; the value is the sum of w * L, see the options. No error.
    """

    class_name = "expected_loss"

    def __init__(
        self,
        base_network: Any,
        *,
        loss: dict[str, Any] | Loss,
        loss_kind: str,
        norm_scores: bool = True,
        norm_scores_stop_gradient: bool = True,
        divide_beam_size: bool = True,
        subtract_average_loss: bool = True,
        loss_correction_grad_only: bool = False,
        **common: Any,
    ):
        """
        :param base_network: in which the layer is
        :param loss: the other loss: its name as "class", and its options
        :param loss_kind: "error" or "value" of the other loss
        :param norm_scores: the scores are normalised over the hypotheses
        :param norm_scores_stop_gradient: their sum counts as a constant
        :param divide_beam_size: the mean over the hypotheses, not the sum
        :param subtract_average_loss: from L its mean over the hypotheses, a constant
        :param loss_correction_grad_only: that only for the gradient; the value is that of L itself
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        require_one_of(self, "loss_kind", loss_kind, ["error", "value"])
        if not isinstance(loss, Loss):
            raise option_error(self, 'loss must be a dict with "class" and options, but is %r', loss)
        self.loss = loss
        self.loss_kind = loss_kind
        self.norm_scores = norm_scores
        self.norm_scores_stop_gradient = norm_scores_stop_gradient
        self.divide_beam_size = divide_beam_size
        self.subtract_average_loss = subtract_average_loss
        self.loss_correction_grad_only = loss_correction_grad_only

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        super().transform_config_dict(d, network, get_layer)
        if isinstance(d.get("loss"), dict) and "class" in d["loss"]:
            opts = dict(d["loss"])
            loss_class = get_loss_class(opts.pop("class"))
            check_loss_options(loss_class, opts)
            d["loss"] = loss_from_options(loss_class, opts, network, get_layer)

    def value_per_pos(self) -> Tensor:
        scores = self._scores()
        beam = scores.dims[1]
        losses = self._losses(beam)
        if self.norm_scores:
            total = rf.reduce(scores, mode="logsumexp", axis=beam)
            scores = scores - (rf.stop_gradient(total) if self.norm_scores_stop_gradient else total)
        weights = rf.exp(scores)
        value = weights * losses
        if self.subtract_average_loss:
            average = rf.stop_gradient(rf.reduce_mean(losses, axis=beam))
            corrected = weights * (losses - average)
            if self.loss_correction_grad_only:
                value = rf.stop_gradient(value) + corrected - rf.stop_gradient(corrected)
            else:
                value = corrected
        value = rf.reduce_sum(value, axis=beam)
        return value * (1.0 / beam.require_static()) if self.divide_beam_size else value

    def error_per_pos(self) -> None:
        return None

    def _losses(self, beam: Dim) -> Tensor:
        """:return: of each hypothesis [B, K]"""
        loss = self.loss
        target = self.target
        if target is not None and target.beam is None:
            target = _repeated(target, beam)
        loss.init(self.output, self.output_with_activation, target, self.layer)
        per_pos = loss.get_error_per_pos() if self.loss_kind == "error" else loss.get_value_per_pos()
        if per_pos is None:
            raise option_error(self, "the loss %s has no %s", loss.class_name, self.loss_kind)
        per_seq = rf.reduce_sum(per_pos, axis=[d for d in per_pos.dims if not d.is_batch_dim])
        backend = per_seq._raw_backend
        raw = backend.reshape(per_seq.raw_tensor, [-1, beam.require_static()])
        return Tensor("losses", (batch_dim, beam), per_seq.dtype, raw_tensor=raw)


def _repeated(x: Tensor, beam: Dim) -> Tensor:
    """
    :param x: [B, ..], one for each sequence
    :return: [B * K, ..], one for each hypothesis
    """
    x = x.copy_as_batch_major()
    backend, num = x._raw_backend, beam.require_static()
    if x.raw_tensor is None:
        return x
    count = backend.binary("mul", x.get_batch_dim(), num)
    rows = backend.binary("floordiv", backend.range(count), num)
    dims = list(x.dims)
    for axis, dim in enumerate(dims):
        if dim.need_masking and dim.size_dims == (batch_dim,):
            dims[axis] = dim.in_merged_batch([batch_dim, beam])
            dims[axis].dyn_size = backend.gather(dim.dyn_size, rows, axis=0)
    res = x.copy_template_new_dim_tags(dims, keep_special_axes=True)
    res.raw_tensor = backend.gather(x.raw_tensor, rows, axis=0)
    return res
