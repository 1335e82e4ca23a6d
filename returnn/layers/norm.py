"""Normalisation layers."""

from __future__ import annotations

import math
from typing import Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from . import batch_norm
from .axes import axes_of
from .concat_input import ConcatInputLayer
from .features import feature_dim_of
from .reduce import with_kept_dims
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


@layer_class("norm")
class NormLayer(ConcatInputLayer):
    """(x - mean) / sqrt(var + epsilon) * scale + bias, mean and (biased) variance over the given axes.

    Up to behaviour version 30, frames behind a sequence's end count.
    Parameters: ``scale`` [param_shape], starts at 1; ``bias`` [param_shape], starts at 0.
    """

    axis: Any = None
    """axis description, or several"""
    axes: Any = None
    """the same; one of the two must be given"""
    param_shape: Any = "F"
    """axis description, or list of them: axes of the parameters, static"""
    scale: bool = True
    """multiply with ``scale``"""
    bias: bool = True
    """add ``bias``"""
    epsilon: float = 1e-6
    """added to the variance"""

    def compute(self, x: Tensor) -> Tensor:
        dims = [x.dims[a] for a in _axes(x, self.axis, self.axes)]
        if any(d.is_dynamic or d.is_batch_dim for d in dims):
            self.recurrent = True
        y = rf.normalize(x, axis=dims, epsilon=self.epsilon, use_mask=BehaviorVersion.has(Change.NORM_MASKS))
        param_dims = self._param_dims(x) if self.scale or self.bias else []
        if self.scale:
            y = rf.combine(y, "mul", self.param("scale", param_dims, init=Constant(1.0)))
        if self.bias:
            y = rf.combine(y, "add", self.param("bias", param_dims, init=Constant(0.0)))
        return y

    def _param_dims(self, x: Tensor) -> list[Dim]:
        specs = self.param_shape if isinstance(self.param_shape, (list, tuple)) else [self.param_shape]
        dims = [x.dims[x.get_axis_from_description(spec, allow_int=False)] for spec in specs]
        for dim in dims:
            if dim.dimension is None:
                raise ConfigError("param_shape %r: axis %s is not static" % (self.param_shape, dim.short_repr()))
        return dims


@layer_class("math_norm")
class MathNormLayer(ConcatInputLayer):
    """(sum of abs(x)^p)^(1/p) over the given axes; the maximum of abs(x) for p = inf. Padding does not count."""

    p: float | None = None
    """> 0; must be given"""
    axis: Any = None
    """axis description, or several"""
    axes: Any = None
    """the same; one of the two must be given"""
    keep_dims: bool = False
    """keep the axes, of size 1"""

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.p, (int, float)) or not self.p > 0:
            raise ConfigError("p must be a number > 0, but is %r" % (self.p,))
        if x.sparse:
            raise ConfigError("labels have no norm: %s" % x.short_repr())
        axes = sorted(_axes(x, self.axis, self.axes))
        dims = [x.dims[a] for a in axes]
        if any(d.is_dynamic or d.is_batch_dim for d in dims):
            self.recurrent = True
        y = self._norm(x, dims)
        return with_kept_dims(self, x, y, axes) if self.keep_dims else y

    def _norm(self, x: Tensor, dims: list[Dim]) -> Tensor:
        p = float(self.p or 0)
        if math.isinf(p):
            return rf.maximum(rf.reduce_max(rf.abs(x), axis=dims), 0)
        if p == 1:
            return rf.reduce_sum(rf.abs(x), axis=dims)
        if p == 2:
            return rf.sqrt(rf.reduce_sum(rf.square(x), axis=dims))
        return rf.reduce_sum(rf.abs(x) ** p, axis=dims) ** (1.0 / p)


def _axes(x: Tensor, axis: Any, axes: Any) -> list[int]:
    """
    :param axis: option
    :param axes: option, the same with another name
    """
    if (axis is None) == (axes is None):
        raise ConfigError('one of the options "axis" and "axes" must be given, and not both')
    return axes_of(x, axis if axes is None else axes)


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
