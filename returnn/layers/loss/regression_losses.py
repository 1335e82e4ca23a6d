"""Losses that compare the numbers of output and target frame by frame."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Tensor
from returnn.util.behavior_version import BehaviorVersion, Change

from .base import Loss


class _Regression(Loss):
    """Target of the dim of the output."""

    def _check_init(self) -> None:
        super()._check_init()
        self._check_output_dim(self.target.dim)

    def error_per_pos(self) -> Tensor | None:
        if BehaviorVersion.has(Change.REGRESSION_WITHOUT_FRAME_ERROR):
            return None
        return super().error_per_pos()


class MeanSquaredErrorLoss(_Regression):
    """Mean over the features of (output - target)^2; labels as target count as one-hot vectors.

    Error: whether the highest output is at another place than the highest target; none from behaviour version 31 on.
    """

    class_name = "mse"

    def value_per_pos(self) -> Tensor:
        target = self.dense_target_like_output()
        return rf.reduce_mean(rf.squared_difference(self.output, target), axis=feature_dim_of(self.output))


class _AbsoluteError(_Regression):
    def _check_init(self) -> None:
        super()._check_init()
        self._require_sparse_target(False)

    def _absolute_error(self) -> Tensor:
        return rf.abs(self.output - self.dense_target_like_output())


class MeanL1Loss(_AbsoluteError):
    """Mean over the features of abs(output - target). Error: as that of ``mse``."""

    class_name = "mean_l1"

    def value_per_pos(self) -> Tensor:
        return rf.reduce_mean(self._absolute_error(), axis=feature_dim_of(self.output))


class L1Loss(_AbsoluteError):
    """Sum over the features of abs(output - target). Error: as that of ``mse``."""

    class_name = "l1"

    def value_per_pos(self) -> Tensor:
        return rf.reduce_sum(self._absolute_error(), axis=feature_dim_of(self.output))


class BinaryCrossEntropyLoss(Loss):
    """Each feature is a class of its own. Mean over the features of -(t log p + (1 - t) log(1 - p)) with p = sigmoid of
    the output, t = target in [0, 1].

    The output are logits, so the layer has no activation. Error: share of the features with (p > 1/2) != (t > 1/2).
    """

    class_name = "bin_ce"

    def __init__(self, base_network: Any, *, pos_weight: float | None = None, **common: Any):
        """
        :param base_network: in which the layer is
        :param pos_weight: factor for t log p: above one, it is worse to miss a class than to see it where it is not
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        self.pos_weight = pos_weight

    def _check_init(self) -> None:
        super()._check_init()
        self._check_output_dim(self.target.dim)

    def value_per_pos(self) -> Tensor:
        x, t = self.output, self.dense_target_like_output()
        minus_log_p = rf.softplus(-x)
        if self.pos_weight is not None:
            minus_log_p = minus_log_p * (1.0 + (float(self.pos_weight) - 1.0) * t)
        return rf.reduce_mean((1.0 - t) * x + minus_log_p, axis=feature_dim_of(x))

    def error_per_pos(self) -> Tensor:
        is_wrong = rf.compare(
            rf.cast(self.output > 0.0, "int32"), "!=", rf.cast(self.dense_target_like_output() > 0.5, "int32")
        )
        return rf.reduce_mean(rf.cast(is_wrong, "float32"), axis=feature_dim_of(self.output))
