"""Normalisation layers."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.tensor import Tensor

from . import batch_norm
from .concat_input import ConcatInputLayer
from .features import feature_dim_of
from .registry import layer_class


@layer_class("layer_norm")
class LayerNormLayer(ConcatInputLayer):
    """(x - mean) / sqrt(var + epsilon) * scale + bias over the feature axis (Ba et al., 2016).

    Parameters: ``scale`` [F], starts at 1; ``bias`` [F], starts at 0.
    """

    epsilon: float = 1e-6
    """added to the variance"""

    def compute(self, x: Tensor) -> Tensor:
        feature_dim = feature_dim_of(x)
        scale = self.param("scale", [feature_dim], init=Constant(1.0))
        bias = self.param("bias", [feature_dim], init=Constant(0.0))
        return rf.layer_norm(x, axis=feature_dim, scale=scale, bias=bias, epsilon=self.epsilon)


@layer_class("batch_norm")
class BatchNormLayer(ConcatInputLayer):
    """Normalises the features over batch and time (Ioffe and Szegedy, 2015); see :mod:`.batch_norm` for the options."""

    momentum: float | None = None
    """weight of the new value in the running mean and variance; default 0.99, from behaviour version 12 on 0.1"""
    update_sample_only_in_training: bool | None = None
    """default False, from behaviour version 12 on True"""
    delay_sample_update: bool | None = None
    """use the running values of before the step; default False, from behaviour version 12 on True"""
    param_version: int | None = None
    """names and shapes of the parameters; default 0, from behaviour version 12 on 2"""
    masked_time: bool | None = None
    """frames behind a sequence's end do not count; default True, from behaviour version 12 on to be given"""
    epsilon: float = 1e-3
    """added to the variance"""
    use_shift: bool = True
    """add beta"""
    use_std: bool = True
    """multiply with gamma"""
    use_sample: float = 0.0
    """weight of the running values in training"""
    force_sample: bool = False
    """use the values of the batch also when not training"""
    gamma_init: Any = 1.0
    """initial value of gamma"""
    beta_init: Any = 0.0
    """initial value of beta"""

    def compute(self, x: Tensor) -> Tensor:
        opts = {key: getattr(self, key) for key in batch_norm.OPTIONS}
        return batch_norm.batch_norm(self, x, **opts)
