"""Layers that align frames and labels, and losses as layers that do so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import feature_dim_of
from .loss.base import frames_like
from .parts import LayerWithParts
from .registry import layer_class
from .unify import unify

if TYPE_CHECKING:
    from returnn.network.network import Network


class _Scores(ConcatInputLayer):
    """Of frames, and how to read them."""

    input_type: str | None = None
    """what the source gives, log_prob or prob"""

    def _log_scores(self, x: Tensor) -> Tensor:
        """
        :param x: source
        :return: +log
        """
        if self.input_type == "log_prob":
            return x
        if self.input_type != "prob":
            raise ConfigError("input_type must be log_prob or prob, but is %r" % (self.input_type,))
        known = self.sources[0].output_before_activation if len(self.sources) == 1 else None
        if known is None or not known.is_softmax() or self.dropout or self._is_template:
            return rf.safe_log(x)
        return rf.log_softmax(known.x, axis=feature_dim_of(known.x))


@layer_class("fast_bw")
class FastBaumWelchLayer(_Scores):
    """Soft alignment: how probable each class is in each frame, given that the frames are one of the label sequence's
    alignments. By the sum over all of these (Baum and Welch), of scores am_scale * max(log p, log min_prob).

    Source: scores [B, T, F] in any order. Output [T, B, F]: each real frame sums to one, padding is 0, and so is a
    sequence that has no alignment. No gradient. With it comes ``output_loss`` [B], minus the logarithm of the sum, 0
    without alignment, for the loss ``via_layer`` of another layer.
    """

    recurrent = True

    align_target: str | None = None
    """ctc: the labels of ``align_target_key`` with blanks; staircase: up from class to class, any of them skipped;
    sprint: automata of RASR, which is not supported yet. Must be given"""
    align_target_key: str | None = None
    """data key, or ``layer:NAME``: the labels of ctc; the target, or the default one, by default"""
    ctc_opts: dict[str, Any] | None = None
    """``blank_idx``: class of the blank, that behind the labels by default; ``label_loop``, with the other name
    ``ctc_merge_repeated``, True by default: a label may last several frames"""
    sprint_opts: dict[str, Any] | None = None
    """options of RASR, for sprint only"""
    input_type: str = "log_prob"
    """of the source; or prob"""
    tdp_scale: float = 1.0
    """factor of the weights of automata of RASR; the others have none"""
    am_scale: float = 1.0
    """factor of the scores"""
    min_prob: float = 0.0
    """the scores are at least the logarithm of this"""
    staircase_seq_len_source: LayerBase | str | None = None
    """layer whose lengths are the numbers of steps of staircase, and of the frames in which they are gone, a step or
    more in each; the source by default"""
    _align_target: LayerBase | None = None
    _layer_options = ("staircase_seq_len_source", "_align_target")

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if d.get("align_target") == "ctc":
            target = d.get("align_target_key") or d.get("target") or network.get_default_target()
            d["_align_target"] = get_layer(_target_layer_name(target, network))
        super().transform_config_dict(d, network, get_layer)

    def compute(self, x: Tensor) -> Tensor:
        fsa, lens = self._make_fsa(x)
        scores = self._log_scores(x)
        if self.min_prob > 0:
            scores = rf.maximum(scores, math.log(self.min_prob))
        if self.am_scale != 1:
            scores = scores * float(self.am_scale)
        time = x.get_time_dim_tag()
        posteriors, log_sum = rf.fsa_full_sum(scores, axis=feature_dim_of(x), spatial_dim=time, fsa=fsa, lens=lens)
        if log_sum.raw_tensor is not None:
            self.output_loss = rf.where(log_sum > -math.inf, -log_sum, 0.0).raw_tensor
        return posteriors

    def _make_fsa(self, x: Tensor) -> tuple[rf.Fsa, Tensor | None]:
        """:return: automata; and how many frames count, if not all"""
        if self.align_target == "sprint":
            raise ConfigError("align_target sprint needs RASR, which is not supported yet")
        if self.sprint_opts is not None:
            raise ConfigError("sprint_opts are for align_target sprint, but that is %r" % (self.align_target,))
        if self.align_target == "ctc":
            return self._make_ctc_fsa(x), None
        if self.align_target == "staircase":
            return self._make_staircase_fsa(x)
        raise ConfigError("align_target must be ctc, staircase or sprint, but is %r" % (self.align_target,))

    def _make_ctc_fsa(self, x: Tensor) -> rf.Fsa:
        labels = self._output_of_option("_align_target")
        opts = dict(self.ctc_opts or {})
        if "ctc_merge_repeated" in opts:
            opts["label_loop"] = opts.pop("ctc_merge_repeated")
        known = ("blank_idx", "label_loop")
        for key in opts:
            if key not in known:
                near, names = did_you_mean(key, known), ", ".join(known)
                raise ConfigError("unknown ctc_opts %r.%s Options: %s" % (key, near, names))
        _require_labels(labels, "align_target_key")
        blank: int = opts.get("blank_idx", labels.dim or 0)
        classes = feature_dim_of(x).require_static()
        _check_classes(labels, blank, classes)
        return rf.ctc_fsa(
            labels,
            spatial_dim=labels.get_time_dim_tag(),
            blank_index=blank % classes,
            label_loop=opts.get("label_loop", True),
        )

    def _make_staircase_fsa(self, x: Tensor) -> tuple[rf.Fsa, Tensor | None]:
        source, num_frames = self.staircase_seq_len_source, x.get_time_dim_tag().dyn_size_ext
        steps = num_frames
        if isinstance(source, LayerBase):
            steps = self._output_of(source).get_time_dim_tag().dyn_size_ext
        if not self.has_values or steps is None or num_frames is None:
            return rf.Fsa(None, None, None), None
        fsa = rf.staircase_fsa(steps, num_emissions=feature_dim_of(x).require_static())
        return fsa, rf.minimum(steps, num_frames)


@layer_class("forced_align")
class ForcedAlignmentLayer(LayerWithParts, _Scores):
    """The best alignment of frames and labels (Viterbi).

    Source: scores [B, T, F] in any order. Output [T, B], int32: the class of each frame, labels and blanks; 0 on
    padding, and for a sequence that has no alignment. Part ``scores`` [B]: the logarithm of its score. No gradient.
    """

    recurrent = True

    align_target: LayerBase | str | None = None
    """layer, or ``data:KEY``: labels [B, U]; must be given"""
    topology: str | None = None
    """ctc; or rna: a label lasts one frame. Must be given"""
    input_type: str | None = None
    """of the source, log_prob or prob; must be given"""
    blank_idx: int = -1
    """class of the blank; negative: from the end"""
    blank_included: bool = False
    """the blank is one of the classes of the labels; else it is one more, at the end"""
    _layer_options = ("align_target",)

    def compute(self, x: Tensor) -> Tensor:
        labels, classes = self._output_of_option("align_target"), feature_dim_of(x)
        if self.topology not in ("ctc", "rna"):
            raise ConfigError("topology must be ctc or rna, but is %r" % (self.topology,))
        _require_labels(labels, "align_target")
        num_classes = classes.require_static()
        if labels.dim != num_classes - (not self.blank_included):
            raise ConfigError(
                "the source has %i classes, but align_target %s labels%s"
                % (num_classes, labels.dim, "" if self.blank_included else ", and the blank is one more")
            )
        if not self.blank_included and self.blank_idx % num_classes != num_classes - 1:
            raise ConfigError("blank_idx is %r, but without blank_included it is the last class" % self.blank_idx)
        fsa = rf.ctc_fsa(
            labels,
            spatial_dim=labels.get_time_dim_tag(),
            blank_index=self.blank_idx % num_classes,
            label_loop=self.topology == "ctc",
        )
        alignment, score = rf.fsa_best_path(
            self._log_scores(x), axis=classes, spatial_dim=x.get_time_dim_tag(), fsa=fsa
        )
        self.parts["scores"] = score
        return alignment


class _OfLogitsAndTargets(LayerBase):
    """``compute(logits, targets)``."""

    _default_source = None
    _layer_options = ("logits", "targets")

    logits: LayerBase | str | None = None
    """layer: scores of the classes, as the last function of the layer is not applied yet; must be given"""
    targets: LayerBase | str | None = None
    """layer: labels; must be given"""

    def _inputs(self) -> list[Tensor]:
        inputs = [self._output_of_option(key) for key in self._layer_options]
        _require_labels(inputs[1], "targets")
        return inputs


@layer_class("ctc_loss")
class CtcLossLayer(_OfLogitsAndTargets):
    """-log p(targets | logits) [B], summed over all alignments (Graves et al., 2006), with gradient.

    Logits [B, T, F], targets [B, U], in any order. A sequence that has no alignment has the value 0, and inf with
    ``max_approx``.
    """

    recurrent = True

    logits_normalized: bool = False
    """they are log probabilities already"""
    blank_index: int = -1
    """class of the blank; negative: from the end"""
    max_approx: bool = False
    """only the best alignment"""
    label_loop: bool = True
    """a label may last several frames"""

    def compute(self, logits: Tensor, targets: Tensor) -> Tensor:
        axis = feature_dim_of(logits)
        opts: dict[str, Any] = {
            "labels": targets,
            "axis": axis,
            "input_spatial_dim": logits.get_time_dim_tag(),
            "target_spatial_dim": targets.get_time_dim_tag(),
            "blank_index": self.blank_index,
            "label_loop": self.label_loop,
            "logits_normalize": not self.logits_normalized,
        }
        _check_classes(targets, self.blank_index, axis.require_static())
        if self.max_approx:
            return rf.ctc_best_path_score(logits, **opts)
        zero_infinity = self.network.get_config().bool(
            "tf_native_ctc_zero_infinity", BehaviorVersion.has(Change.NATIVE_CTC_WITHOUT_PATH_IS_ZERO)
        )
        return rf.ctc_full_sum(logits, zero_infinity=zero_infinity, **opts)


@layer_class("sparse_softmax_cross_entropy_with_logits")
class SparseSoftmaxCrossEntropyWithLogitsLayer(_OfLogitsAndTargets):
    """-log softmax(logits)[target]: the axes of logits without that of the classes; targets have all of these."""

    axis: Any = None
    """axis of the classes in logits; the feature axis by default"""

    def compute(self, logits: Tensor, targets: Tensor) -> Tensor:
        axis: Dim = feature_dim_of(logits) if self.axis is None else logits.get_dim_tag_from_description(self.axis)
        what = "layer %s: the lengths of the targets are not those of the logits" % self.get_absolute_name()
        targets = frames_like(targets, logits, network=self.network, what=what)
        logits, targets = unify([logits, targets])
        return rf.sparse_softmax_cross_entropy(logits, labels=targets, axis=axis)


def _target_layer_name(target: Any, network: Network) -> str:
    if isinstance(target, (list, tuple)):
        target = target[0]
    if target.startswith("layer:"):
        return target[len("layer:") :]
    return target if network.has_layer(target) else "data:" + target


def _require_labels(x: Tensor, option: str) -> None:
    if not x.sparse or x.dim is None:
        raise ConfigError("%s must be labels, but is %s" % (option, x.short_repr()))


def _check_classes(labels: Tensor, blank: int, classes: int) -> None:
    """
    :param labels: with or without the blank among them
    :param blank: negative: from the end
    :param classes: that there are scores for
    """
    if not -classes <= blank < classes or (labels.dim or 0) > classes:
        raise ConfigError(
            "there are %i classes, but %s labels, and the blank is class %i" % (classes, labels.dim, blank)
        )
