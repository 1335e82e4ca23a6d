"""Losses of whole sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Dim, DimError, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.suggest import did_you_mean

from .base import Loss, option_error
from .no_path import SequencesWithoutPath

_CTC_OPTS = ("ignore_longer_outputs_than_inputs", "preprocess_collapse_repeated", "ctc_merge_repeated")
_NATIVE_CTC_OPTS = (
    "logits_normalize",
    "grad_wrt_softmax_in",
    "blank_index",
    "label_loop",
    "ctc_merge_repeated",
    "zero_infinity",
)


class CtcLoss(Loss):
    """-log p(labels | output), summed over all alignments (Graves et al., 2006). The blank is the last output.

    Error: edit distance of the best labels found; greedy in training.
    """

    class_name = "ctc"
    recurrent = True

    def __init__(
        self,
        base_network: Any,
        *,
        output_in_log_space: bool = False,
        beam_width: int | None = None,
        ctc_opts: dict[str, Any] | None = None,
        use_native: bool = False,
        use_viterbi: bool = False,
        target_collapse_repeated: bool = False,
        auto_clip_target_len: bool = False,
        **common: Any,
    ):
        """
        :param base_network: in which the layer is
        :param output_in_log_space: the output are logits, else probabilities
        :param beam_width: of the search for the error, in evaluation; 1: greedy. 100 by default, with ``use_native`` 1
        :param ctc_opts: ignore_longer_outputs_than_inputs, preprocess_collapse_repeated, ctc_merge_repeated. With
            ``use_native``: logits_normalize (True; False: the logits are scores already), grad_wrt_softmax_in (True;
            False: the gradient is minus the posteriors), blank_index (-1), label_loop or ctc_merge_repeated (True;
            False: a label lasts one frame), zero_infinity (no gradient without alignment; default: the config key
            ``tf_native_ctc_zero_infinity``, else True from behaviour version 30 on)
        :param use_native: a sum over alignments that is 0, and not inf, where there is none; its beam_width is 1
        :param use_viterbi: only the best alignment, without ctc_opts
        :param target_collapse_repeated: drop repeated labels in the target
        :param auto_clip_target_len: cut targets to the number of frames minus one
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        self.output_in_log_space = output_in_log_space
        self.beam_width = beam_width if beam_width is not None else 1 if use_native else 100
        self.use_native = use_native
        self.use_viterbi = use_viterbi
        self.ctc_opts = dict(ctc_opts or {})
        self._check_ctc_opts()
        self.target_collapse_repeated = target_collapse_repeated
        self.auto_clip_target_len = auto_clip_target_len
        self._without_path = SequencesWithoutPath(self)

    def _check_ctc_opts(self) -> None:
        if self.use_native and self.beam_width != 1:
            raise option_error(self, "use beam_width=1 with use_native, it is %r", self.beam_width)
        if self.use_viterbi and self.ctc_opts:
            raise option_error(self, "use_viterbi has no ctc_opts, but they are %r", self.ctc_opts)
        known = _NATIVE_CTC_OPTS if self.use_native else _CTC_OPTS
        for key in self.ctc_opts:
            if key not in known:
                of_native = " of use_native" if self.use_native else ""
                near, names = did_you_mean(key, known), ", ".join(known)
                raise option_error(self, "unknown ctc_opts %r%s.%s Options: %s", key, of_native, near, names)

    def _check_init(self) -> None:
        super()._check_init()
        self._require_sparse_target(True)
        self._check_output_dim(self.target.dim + 1, " and the blank")
        for x in (self.output, self.target):
            x.get_time_dim_tag()  # they must have one

    @classmethod
    def get_auto_output_layer_dim(cls, target_dim: Dim) -> Dim:
        return target_dim + 1

    def _logits(self) -> Tensor:
        known = self.output_with_activation
        if self.output_in_log_space:
            return self.output
        if known is not None and known.is_softmax():
            return known.x
        exact = known.get_log_output() if known is not None else None
        return rf.safe_log(self.output) if exact is None else exact

    def _labels(self) -> tuple[Tensor, Dim]:
        """
        :return: target, and its time dim
        """
        return self._cached("labels", self._make_labels)

    def _make_labels(self) -> tuple[Tensor, Dim]:
        labels, dim = self.target, self.target.get_time_dim_tag()
        if self.target_collapse_repeated:
            labels, dim = rf.collapse_repeated(labels, axis=dim)
        num_labels = dim.dyn_size_ext
        if self.auto_clip_target_len and labels.raw_tensor is not None and num_labels is not None:
            num_frames = rf.lengths_along(self.output, self.output.get_time_dim_tag())
            most = max(num_frames - 1, 0) if isinstance(num_frames, int) else rf.maximum(num_frames - 1, 0)
            clipped = Dim(rf.minimum(num_labels, most), description="clipped-target")
            raw = labels._raw_backend.slice(
                labels.raw_tensor, labels.get_axis_from_dim(dim), None, clipped.get_dim_value()
            )
            dims = [clipped if d == dim else d for d in labels.dims]
            labels, dim = labels.like(raw, dims=dims, time_dim=clipped), clipped
        return labels, dim

    def value_per_pos(self) -> Tensor:
        logits = self._logits()
        function: Callable[..., Tensor] = rf.ctc_loss_v1
        opts = self.ctc_opts
        if self.use_viterbi:
            function = rf.ctc_best_path_score
        elif self.use_native:
            function, opts = rf.ctc_full_sum, self._native_opts()
        labels, labels_dim = self._labels()
        value = function(
            logits,
            axis=feature_dim_of(logits),
            labels=labels,
            input_spatial_dim=self.output.get_time_dim_tag(),
            target_spatial_dim=labels_dim,
            **opts,
        )
        if function is not rf.ctc_full_sum:
            if not BehaviorVersion.has(Change.CTC_WITHOUT_PATH_IS_ZERO):
                return value  # inf, which stops the training
            value = rf.where(rf.compare(value, "<", float("inf")), value, 0.0)
        if value.raw_tensor is None:
            return value
        label_loop = opts.get("label_loop", opts.get("ctc_merge_repeated", True))
        return self._without_path.counted(value, labels, labels_dim, label_loop=label_loop)

    def _native_opts(self) -> dict[str, Any]:
        opts = dict(self.ctc_opts)
        if "ctc_merge_repeated" in opts:
            opts["label_loop"] = opts.pop("ctc_merge_repeated")
        if opts.get("zero_infinity") is None:
            default = BehaviorVersion.has(Change.NATIVE_CTC_WITHOUT_PATH_IS_ZERO)
            opts["zero_infinity"] = self.base_network.get_config().bool("tf_native_ctc_zero_infinity", default)
        return opts

    def error_per_pos(self) -> Tensor:
        logits, target = self._logits(), self._labels()

        def decode(beam_width: int) -> Tensor:
            labels, dim = rf.ctc_decode(
                logits,
                axis=feature_dim_of(logits),
                input_spatial_dim=self.output.get_time_dim_tag(),
                target_dim=self.target.sparse_dim,
                beam_width=beam_width,
            )
            return rf.cast(rf.edit_distance(labels, dim, *target), "float32")

        if self.beam_width == 1:
            return decode(1)
        return self.base_network.cond_on_train(lambda: decode(1), lambda: decode(self.beam_width))


class EditDistanceLoss(Loss):
    """Levenshtein distance of output and target. Only an error, never in the objective."""

    class_name = "edit_distance"
    recurrent = True

    def __init__(
        self,
        base_network: Any,
        *,
        label_map: dict[int, int] | None = None,
        ctc_decode: bool = False,
        output_in_log_space: bool = False,
        debug_print: bool = False,
        **common: Any,
    ):
        """
        :param base_network: in which the layer is
        :param label_map: label -> label, on both sides; others stay
        :param debug_print: print the first sequence of each step to stdout
        :param ctc_decode: the output is that of ctc: search with beam 100 first
        :param output_in_log_space: with ``ctc_decode``: the output are logits, else probabilities
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        self.label_map = label_map
        self.ctc_decode = ctc_decode
        self.output_in_log_space = output_in_log_space
        self.debug_print = debug_print

    def _check_init(self) -> None:
        super()._check_init()
        self._require_sparse_target(True)
        if self.ctc_decode:
            if self.output.sparse or self.output.dim != self.target.dim + 1:
                raise option_error(self, "with ctc_decode it needs an output of dim %i", self.target.dim + 1)
        else:
            _require_labels_on_both_sides(self)

    def value_per_pos(self) -> None:
        return None

    def error_per_pos(self) -> Tensor:
        output, dim = self.output, None
        if self.ctc_decode:
            logits = output if self.output_in_log_space else rf.safe_log(output)
            output, dim = rf.ctc_decode(
                logits,
                axis=feature_dim_of(logits),
                input_spatial_dim=output.get_time_dim_tag(),
                target_dim=self.target.sparse_dim,
                beam_width=100,
            )
        else:
            dim = output.get_time_dim_tag()
        target_dim = self.target.get_time_dim_tag()
        distance = rf.edit_distance(self._mapped(output), dim, self._mapped(self.target), target_dim)
        if self.debug_print and distance.raw_tensor is not None:
            raws = [
                x
                for y, d in ((output, dim), (self.target, target_dim))
                for x in (y.copy_as_batch_major().raw_tensor, d.dyn_size)
            ]
            distance = distance.like(self.base_network.observe(self._print_first, raws, distance.raw_tensor))
        return rf.cast(distance, "float32")

    def _print_first(
        self, output: numpy.ndarray, output_lens: numpy.ndarray, target: numpy.ndarray, target_lens: numpy.ndarray
    ) -> None:
        if len(output):
            parts = [("output", output[0], output_lens[0]), ("target", target[0], target_lens[0])]
            vocab = self.output.vocab
            print(
                "".join("[%s][%i]%s" % (name, n, _label_text(labels[:n], vocab)) for name, labels, n in parts),
                flush=True,
            )

    def _mapped(self, labels: Tensor) -> Tensor:
        if not self.label_map:
            return labels
        size = labels.dim or 0
        bad = [x for pair in self.label_map.items() for x in pair if not 0 <= x < size]
        if bad:
            raise DimError("loss edit_distance: label_map has labels out of [0, %i): %r" % (size, bad))
        table = [self.label_map.get(i, i) for i in range(size)]
        backend = labels._raw_backend
        raw = backend.gather(backend.convert(table, labels.dtype), labels.raw_tensor, axis=0)
        return labels.like(raw)


class BleuLoss(Loss):
    """-BLEU of each sequence, see :func:`returnn.util.bleu.sentence_bleu`. Only an error, never in the objective."""

    class_name = "bleu"
    recurrent = True

    def _check_init(self) -> None:
        super()._check_init()
        _require_labels_on_both_sides(self)

    def value_per_pos(self) -> None:
        return None

    def error_per_pos(self) -> Tensor:
        output, target = self.output, self.target
        return -rf.sentence_bleu(output, output.get_time_dim_tag(), target, target.get_time_dim_tag())


def _require_labels_on_both_sides(loss: Loss) -> None:
    output, target = loss.output, loss.target
    if not output.sparse or not target.sparse or output.dim != target.dim:
        raise option_error(
            loss,
            "output %s and target %s must be labels of the same dim",
            output.short_repr(),
            target.short_repr(),
        )


def _label_text(labels: numpy.ndarray, vocab: Any) -> str:
    """blank between; of more than 20 the first and last 10"""
    texts = [str(i) if vocab is None else vocab.labels[i] for i in labels.tolist()]
    return " ".join(texts if len(texts) <= 20 else texts[:10] + ["..."] + texts[-10:])
