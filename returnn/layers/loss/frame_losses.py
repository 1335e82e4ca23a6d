"""Losses that compare output and target frame by frame."""

from __future__ import annotations

import math
from typing import Any

import numpy

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.log import log
from returnn.tensor import Dim, Tensor

from .base import Loss, option_error, require_one_of, valid_labels


class CrossEntropyLoss(Loss):
    """-log p(label). With a dense target: -sum of target * log p."""

    class_name = "ce"

    def __init__(
        self,
        base_network: Any,
        *,
        input_type: str = "prob",
        label_smoothing: float = 0.0,
        label_smoothing_gaussian: bool = False,
        focal_loss_factor: float = 0.0,
        fake_upper_bound: float | None = None,
        use_fused: bool = True,
        safe_log_opts: dict[str, Any] | None = None,
        debug_dump: bool = False,
        **common: Any,
    ):
        """
        :param base_network: in which the layer is
        :param input_type: prob, or logits: the output was not normalised yet
        :param label_smoothing: e: the target is 1 - e on the label, e / (V - 1) elsewhere; the least value possible is
            subtracted
        :param label_smoothing_gaussian: the target is the density of N(label, stddev 1 - e) over the class indices
            instead; the same is subtracted
        :param focal_loss_factor: value * (1 - p(label))^factor (Lin et al., 2017)
        :param fake_upper_bound: larger values are reported as this; the gradient stays
        :param use_fused: compute from logits, where they are known
        :param safe_log_opts: ``eps`` of the logarithm of probabilities
        :param debug_dump: print the targets of each step to stdout
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        require_one_of(self, "input_type", input_type, ["prob", "logits"])
        self.input_type = input_type
        self.label_smoothing = label_smoothing
        self.label_smoothing_gaussian = label_smoothing_gaussian
        self.focal_loss_factor = focal_loss_factor
        self.fake_upper_bound = fake_upper_bound
        self.use_fused = use_fused
        self.safe_log_opts = safe_log_opts or {}
        self.debug_dump = debug_dump
        self._warned = False

    def _check_init(self) -> None:
        super()._check_init()
        self._check_output_dim(self.target.dim)

    def value_per_pos(self) -> Tensor:
        target = self.target_like_output()
        value = self._sparse(target) if target.sparse else self._dense(target)
        if self.fake_upper_bound is not None:
            value = rf.clip_with_identity_gradient(value, max=self.fake_upper_bound)
        if self.debug_dump and value.raw_tensor is not None:
            value = value.like(self.base_network.observe(self._print_target, [target.raw_tensor], value.raw_tensor))
        return value

    def _print_target(self, target: numpy.ndarray) -> None:
        print("[%s][target]%s" % (self._layer_name(), numpy.array2string(target, separator=" ")), flush=True)

    # ----

    def _logits(self) -> Tensor | None:
        if self.input_type == "logits":
            return self.output
        known = self.output_with_activation
        return known.x if self.use_fused and known is not None and known.is_softmax() else None

    def _log_prob(self) -> Tensor:
        logits = self._logits()
        if logits is not None:
            return rf.log_softmax(logits, axis=feature_dim_of(logits))
        exact = self.output_with_activation.get_log_output() if self.output_with_activation else None
        return rf.safe_log(self.output, **self.safe_log_opts) if exact is None else exact

    def _sparse(self, target: Tensor) -> Tensor:
        target = valid_labels(target)
        if self.label_smoothing:
            value = self._smoothed(target)
        else:
            value = self._unsmoothed(target)
        if self.focal_loss_factor:
            prob = rf.exp(-self._unsmoothed(target)) if self.label_smoothing else rf.exp(-value)
            value = value * (1.0 - prob) ** float(self.focal_loss_factor)
        return value

    def _unsmoothed(self, target: Tensor) -> Tensor:
        logits = self._logits()
        if logits is not None:
            return rf.sparse_softmax_cross_entropy(logits, labels=target, axis=feature_dim_of(logits))
        if target.raw_tensor is not None and not self._warned:
            self._warned = True
            print(
                "Warning: using numerical unstable sparse Cross-Entropy loss calculation (%s to %s), layer %r"
                % (self.output.short_repr(), target.short_repr(), self._layer_name()),
                file=log.v3,
            )
        log_prob = self._log_prob()
        return -rf.gather(log_prob, indices=target, axis=feature_dim_of(log_prob))

    def _smoothed(self, target: Tensor) -> Tensor:
        log_prob = self._log_prob()
        classes = feature_dim_of(log_prob)
        n, e = classes.require_static(), float(self.label_smoothing)
        if n < 2:
            raise option_error(self, "label_smoothing needs at least two classes")
        rest = e / (n - 1)
        least = -((1.0 - e) * math.log(1.0 - e) + e * math.log(rest + 1e-20)) if e < 1 else 0.0
        if self.label_smoothing_gaussian:
            return self._soft_cross_entropy(self._gaussian(target, classes), log_prob) - least
        total = rf.reduce_sum(log_prob, axis=classes)
        picked = rf.gather(log_prob, indices=target, axis=classes)
        return -(picked * (1.0 - e - rest) + total * rest) - least

    def _gaussian(self, target: Tensor, classes: Dim) -> Tensor:
        stddev = 1.0 - float(self.label_smoothing)
        index = Tensor(
            "classes",
            (classes,),
            "float32",
            raw_tensor=target._raw_backend.cast(target._raw_backend.range(classes.dimension), "float32"),
        )
        distance = index - rf.cast(_without_sparse_dim(target), "float32")
        return rf.exp(rf.square(distance) * (-0.5 / stddev**2)) * (1.0 / (stddev * math.sqrt(2.0 * math.pi)))

    def _dense(self, target: Tensor) -> Tensor:
        if self.focal_loss_factor or self.label_smoothing:
            raise option_error(self, "focal_loss_factor and label_smoothing need labels as target, but it is dense")
        log_prob = self._log_prob()
        target = rf.replace_dim(target, in_dim=feature_dim_of(target), out_dim=feature_dim_of(log_prob))
        return self._soft_cross_entropy(target, log_prob)

    def _soft_cross_entropy(self, target: Tensor, log_prob: Tensor) -> Tensor:
        """
        -sum target * log_prob. From logits, the gradient is softmax - target, as fused operations have it: it matters
        where a target does not sum to one.
        """
        classes = feature_dim_of(log_prob)
        value = -rf.reduce_sum(target * log_prob, axis=classes)
        logits = self._logits()
        if logits is None:
            return value
        constant = rf.stop_gradient(target)
        with_gradient = rf.reduce(logits, mode="logsumexp", axis=classes) - rf.reduce_sum(
            constant * logits, axis=classes
        )
        of_target = -rf.reduce_sum(target * rf.stop_gradient(log_prob), axis=classes)
        return with_gradient - rf.stop_gradient(with_gradient) + of_target


class GenericCrossEntropyLoss(Loss):
    """-log(y[label] / sum of y), for an output y > 0 of any activation."""

    class_name = "generic_ce"

    def _check_init(self) -> None:
        super()._check_init()
        self._require_sparse_target(True)
        self._check_output_dim(self.target.dim)

    def value_per_pos(self) -> Tensor:
        target = valid_labels(self.target_like_output())
        known = self.output_with_activation
        log_y = known.get_log_output() if known is not None else None
        if log_y is None:
            log_y = rf.safe_log(self.output)
        return rf.sparse_softmax_cross_entropy(log_y, labels=target, axis=feature_dim_of(log_y))


class AsIsLoss(Loss):
    """The output itself, summed over all frames and features. No target."""

    class_name = "as_is"
    need_target = False

    def __init__(self, base_network: Any, *, as_error: bool = False, **common: Any):
        """
        :param base_network: in which the layer is
        :param as_error: report it as error, nothing in the objective
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        self.as_error = as_error

    def _value(self) -> Tensor:
        value = rf.cast(self.output, "float32")
        rest = [d for d in value.dims if d.is_static]
        return rf.reduce_sum(value, axis=rest) if rest else value

    def value_per_pos(self) -> Tensor | None:
        return None if self.as_error else self._value()

    def error_per_pos(self) -> Tensor | None:
        return self._value() if self.as_error else None  # without target there is no other error


def _without_sparse_dim(target: Tensor) -> Tensor:
    return target.like(target.raw_tensor, sparse_dim=None)
