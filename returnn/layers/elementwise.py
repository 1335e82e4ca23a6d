"""Layers with weights, gates and gradients for single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .activations import get_activation
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import static_feature_dim_of
from .registry import layer_class


@layer_class("gating")
class GatingLayer(ConcatInputLayer):
    """act(a) * gate(b), where a is the first half of the features, b the second half; Dauphin et al., 2016.

    With two sources of equal size these are a and b. Output: half of the features.
    """

    activation: str | None = None
    """function of a; must be given, None for none"""
    gate_activation: str | None = "sigmoid"
    """function of b"""

    def compute(self, x: Tensor) -> Tensor:
        if "activation" not in self.kwargs:
            raise ConfigError('option "activation" is missing (None: no function)')
        dim = static_feature_dim_of(x)
        if x.sparse or dim.require_static() % 2:
            raise ConfigError("the input must have an even number of features, but is %s" % x.short_repr())
        half = dim.div_left(2)
        a, b = rf.split(x, axis=dim, out_dims=[half, half])
        parts = []
        for part, name in ((a, self.activation), (b, self.gate_activation)):
            function = get_activation(name, backend=self.network.backend, config=self.network.get_config())
            parts.append(part if function is None else function(part, axis=half))
        return rf.combine(parts[0], "mul", parts[1])


@layer_class("scaled_grad")
class ScaledGradientLayer(ConcatInputLayer):
    """The input. Its gradient is scale * g + shift, for the gradient g of the output: 0 stops it, a negative scale
    reverses it.
    """

    scale: float | LayerBase | str | None = None
    """number, or layer without axes; must be given"""
    shift: float | LayerBase | str | None = None
    """number, or layer without axes"""
    scale_shift_by_sum_over_axis: Any = None
    """axis description: the shift is times the sum of abs(g) over it"""
    clip_max_axis: Any = None
    """axis description: in the end each element is cut to at most the largest abs(g) along it"""

    _layer_options = ("scale", "shift")

    def compute(self, x: Tensor) -> Tensor:
        if self.scale is None:
            raise ConfigError('option "scale" is missing')
        scale, shift = self._scalar("scale"), self._scalar("shift")
        if "float" not in x.dtype:
            return x
        if scale == 0 and not self.shift:
            return rf.stop_gradient(x)
        return rf.scaled_gradient_ext(
            x,
            scale=scale,
            shift=shift,
            scale_shift_by_sum_over_axis=self._dim(x, self.scale_shift_by_sum_over_axis),
            clip_max_axis=self._dim(x, self.clip_max_axis),
        )

    def _scalar(self, key: str) -> float | Tensor:
        value = getattr(self, key) or 0.0
        if isinstance(value, LayerBase):
            x = self._output_of(value)
            if x.dims:
                raise ConfigError("%s must have no axes, but layer %r is %s" % (key, value.name, x.short_repr()))
            return rf.cast(x, "float32")
        if not isinstance(value, (int, float)):
            raise ConfigError("%s must be a number or a layer, but is %r" % (key, value))
        return float(value)

    @staticmethod
    def _dim(x: Tensor, spec: Any) -> Dim | None:
        return None if spec is None else x.get_dim_tag_from_description(spec)


class _WeightsLayer(ConcatInputLayer):
    """Weights ``W``, one for each place along some axes."""

    axes: Any = None
    """axis descriptions; must be given"""
    size: Sequence[int] | None = None
    """sizes of ``W``, one for each axis, by default those of the axes, which then must be static"""

    _initial: float | None = None
    """of the weights; None: 1 / number of them"""

    def _weighted_dims(self, x: Tensor) -> list[Dim]:
        if self.axes is None:
            raise ConfigError('option "axes" is missing')
        if "float" not in x.dtype or x.sparse:
            raise ConfigError("the input must be float, but is %s" % x.short_repr())
        axes = sorted(x.get_axes_from_description(self.axes))
        if not axes or any(x.dims[a].is_batch_dim for a in axes):
            raise ConfigError("axes %r: one or more axes without batch are needed: %s" % (self.axes, x.short_repr()))
        return [x.dims[a] for a in axes]

    def _sizes(self, dims: Sequence[Dim]) -> list[int]:
        if self.size is None:
            for dim in dims:
                if dim.dimension is None:
                    raise ConfigError('axis %s is dynamic: option "size" is needed' % dim.short_repr())
            return [d.require_static() for d in dims]
        sizes = list(self.size) if isinstance(self.size, (list, tuple)) else []
        if len(sizes) != len(dims) or not all(isinstance(n, int) and n > 0 for n in sizes):
            raise ConfigError("size must be %i integers > 0, one for each axis, but is %r" % (len(dims), self.size))
        return sizes

    def _weights(self, dims: Sequence[Dim]) -> Tensor:
        number = 1
        for dim in dims:
            number *= dim.require_static()
        return self.param("W", dims, init=Constant(1.0 / number if self._initial is None else self._initial))


@layer_class("elemwise_prod")
class ElemwiseProdLayer(_WeightsLayer):
    """x * W, element by element along some axes, the same for all others.

    Parameters: ``W`` [sizes of the axes], starts at 1.
    """

    _initial = 1.0

    def compute(self, x: Tensor) -> Tensor:
        dims = self._weighted_dims(x)
        sizes = self._sizes(dims)
        if sizes != [d.dimension for d in dims]:
            raise ConfigError("size is %r, but the axes are %s" % (sizes, ", ".join(d.short_repr() for d in dims)))
        return rf.combine(x, "mul", self._weights(dims))


@layer_class("weighted_sum")
class WeightedSumLayer(_WeightsLayer):
    """Sum of x * W over some axes; with ``size`` over all windows of that size, so that the axes stay.

    Parameters: ``W`` [size], starts at 1 / number of weights.
    """

    padding: str = "valid"
    """of the windows: valid: only those that fit; same: as many as there were places, between zeros"""
    keep_dims: bool = False
    """keep the axes, of size 1, where all of them are summed up"""

    def compute(self, x: Tensor) -> Tensor:
        if self.padding.lower() not in ("valid", "same"):
            raise ConfigError('padding must be "valid" or "same", but is %r' % (self.padding,))
        dims = self._weighted_dims(x)
        sizes = self._sizes(dims)
        if self.size is None or (sizes == [d.dimension for d in dims] and self.padding.lower() == "valid"):
            y = rf.matmul(x, self._weights(dims), reduce=dims)
            return self._with_kept_dims(x, y, dims) if self.keep_dims or self.size is not None else y
        return self._over_windows(x, dims, sizes)

    def _with_kept_dims(self, x: Tensor, y: Tensor, dims: Sequence[Dim]) -> Tensor:
        for axis, dim in enumerate(x.dims):
            if dim in dims:
                y = y.copy_add_dim_by_tag(self._own_dim(x, dim, 1), axis=axis)
        return self._with_markers_of(x, y)

    def _over_windows(self, x: Tensor, dims: Sequence[Dim], sizes: Sequence[int]) -> Tensor:
        y, window_dims = x, []
        if any(d.is_dynamic for d in dims):
            self.recurrent = True
        for i, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
            window = self.make_dim("window%i" % i, size)
            right = size // 2 if self.padding.lower() == "same" else None
            y, out = rf.window(
                y,
                spatial_dim=dim,
                window_dim=window,
                window_right=right,
                padding=self.padding.lower(),
                use_mask=BehaviorVersion.has(Change.NORM_MASKS),
            )
            window_dims.append(window)
            if out.is_static:
                y, out = rf.replace_dim(y, in_dim=out, out_dim=self._own_dim(x, dim, out.require_static())), out
        return self._with_markers_of(x, rf.matmul(y, self._weights(window_dims), reduce=window_dims))

    def _own_dim(self, x: Tensor, dim: Dim, size: int) -> Dim:
        kind = DimKind.Feature if dim == x.feature_dim else DimKind.Spatial
        return self.make_dim("sum%i" % x.get_axis_from_dim(dim), size, kind=kind)

    def _with_markers_of(self, x: Tensor, y: Tensor) -> Tensor:
        y.feature_dim_axis, y.time_dim_axis = x.feature_dim_axis, x.time_dim_axis
        return y
