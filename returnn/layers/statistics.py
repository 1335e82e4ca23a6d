"""Layers that collect statistics of their input."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import feature_dim_of
from .registry import layer_class
from .target import get_target_value
from .variables import value_before_step


@layer_class("accumulate_mean")
class AccumulateMeanLayer(ConcatInputLayer):
    """Running mean: in each training step, mean += exp_average * (mean over ``axes`` of this step - mean). Frames
    behind a sequence's end do not count. For instance the priors of a softmax. Output: the mean from before the step,
    [other axes of the input..]; no gradient goes through it.

    Parameter: ``mean_1``, the mean; not trained, but only updated where the layer is ``trainable``.
    """

    exp_average: float | None = None
    """in (0, 1]: how much the mean of a step counts; must be given"""
    axes: Any = "bt"
    """axis descriptions"""
    initial_value: float | None = None
    """of the mean; default 0, or 1 / dim with ``is_prob_distribution``"""
    is_prob_distribution: bool | None = None
    """the features are probabilities: the mean starts uniform"""

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.exp_average, (int, float)):
            raise ConfigError("exp_average must be a number, but is %r" % (self.exp_average,))
        axes = [x.dims[a] for a in x.get_axes_from_description(self.axes)]
        dims = [d for d in x.dims if d not in axes]
        start = self.initial_value
        if start is None:
            start = 1.0 / feature_dim_of(x).require_static() if self.is_prob_distribution else 0.0
        # the name that checkpoints have: once, the operation that computes the mean took the name without number
        mean = self.param("mean_1", dims, init=Constant(start), trainable=False)
        if not self._is_template:
            var = self.find_param("mean_1")
            mean = value_before_step(self, var, mean)
            if self.trainable and self.network.enclosing_trainable():
                new = rf.reduce_mean(x, axis=axes).copy_transpose(dims)
                new = rf.stop_gradient(mean + (new - mean) * float(self.exp_average))
                self.network.register_update(var, new.raw_tensor, only_in_training=True)
        return x.like(
            mean.raw_tensor, dims=dims, feature_dim=x.feature_dim if x.feature_dim in dims else None, time_dim=None
        )

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output


@layer_class("framewise_statistics")
class FramewiseStatisticsLayer(LayerBase):
    """How well a softmax layer does, frame by frame, told in the log as ``stats:LAYER:..``: of all frames (``all_``),
    of those whose target is silence (``sil_``) and of the others (``no_sil_``) their number ``num_frames``, the
    fraction with another label as the likeliest one ``frame_error_rate``, and the mean of -log probability of the
    target ``cross_entropy``. And ``histogram``: how many frames give the target a probability in each of
    ``histogram_num_bins`` parts of [0, 1].

    Output: the int32 scalar 0. Needs a target, so it is for training and evaluation.
    """

    sil_label_idx: int | None = None
    """label that means silence; must be given"""
    histogram_num_bins: int = 20
    """parts of the histogram"""

    def compute(self, *sources: Tensor) -> Tensor:
        if not isinstance(self.sil_label_idx, int):
            raise ConfigError("sil_label_idx must be a label, but is %r" % (self.sil_label_idx,))
        x = self._only_source(sources)
        target = get_target_value(self)
        if not target.sparse or target.dim != x.dim:
            raise ConfigError("the target must be labels of the %s classes, but is %s" % (x.dim, target.short_repr()))
        output = Tensor(self.name, (), "int32")
        if not self.has_values:
            return output
        self._collect(x, self._like_frames_of(x, target))
        return output.like(self.network.backend.convert(0, "int32"))

    def _like_frames_of(self, x: Tensor, target: Tensor) -> Tensor:
        """the dims of x for the same axes of the target"""
        for own, other in zip(_frame_dims(x), _frame_dims(target), strict=True):
            if own != other:
                target = self.network.check_same_lens(target, [(other, own)], "%s: lengths differ" % self.name)
                target = rf.replace_dim(target, in_dim=other, out_dim=own)
        return target

    def _collect(self, x: Tensor, target: Tensor) -> None:
        classes = feature_dim_of(x)
        probability = rf.reduce_sum(rf.where(_is_label(classes, target), x, 0.0), axis=classes)
        ones = rf.cast(probability > -1.0, "float32")
        wrong = rf.where(rf.compare(rf.reduce_argmax(x, axis=classes), "!=", target), ones, 0.0)
        assert self.sil_label_idx is not None
        silence = rf.compare(target, "==", self.sil_label_idx)
        parts = {"all": ones, "sil": rf.where(silence, ones, 0.0), "no_sil": rf.where(silence, 0.0, ones)}
        values = {"frame_error_rate": wrong, "cross_entropy": rf.safe_log(probability) * -1.0}
        for part, weight in parts.items():
            count = rf.reduce_sum(weight, axis=weight.dims)
            self.stats["%s_num_frames" % part] = count.raw_tensor
            for name, value in values.items():
                total = rf.reduce_sum(value * weight, axis=weight.dims)
                self.stats["%s_%s" % (part, name)] = (total / rf.maximum(count, 1.0)).raw_tensor
        bins = Dim(self.histogram_num_bins, description="bins")
        place = rf.cast(
            rf.minimum(rf.floor(probability * float(self.histogram_num_bins)), bins.require_static() - 1.0), "int32"
        )
        inside = rf.where(_is_label(bins, place), ones, 0.0)
        self.stats["histogram"] = rf.reduce_sum(inside, axis=ones.dims).raw_tensor


def _frame_dims(x: Tensor) -> list[Dim]:
    """time and the like, without batch and feature"""
    return [d for d in x.dims if not d.is_batch_dim and d != x.feature_dim]


def _is_label(classes: Dim, labels: Tensor) -> Tensor:
    """:return: bool [dims of labels.., classes]"""
    return rf.compare(rf.range_over_dim(classes), "==", labels)
