"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence

import returnn.frontend as rf
from returnn.frontend.masking import dims_to_mask, mask_padding
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import batch_major
from .registry import layer_class
from .spatial import SpatialLayer


@layer_class("pool")
class PoolLayer(SpatialLayer):
    """y[t] = maximum or mean of x[t * stride - left + i * dilation] for i < pool_size, along each spatial axis.

    Input [B, spatial.., F] in any axis order. Output: B and other axes, spatial axes, F; lengths as those of class
    conv.
    """

    mode: str | None = None
    """max or avg; must be given"""
    pool_size: int | Sequence[int] | None = None
    """per spatial axis; must be given"""
    padding: str | int | Sequence[int] = "VALID"
    """or "same": borders do not count; "same_static": between zeros that count (for max from behaviour version 31 on:
    nothing), so that where the windows begin does not depend on the longest sequence; or the number of frames on both
    sides, for all or per spatial axis: zeros that count for avg, nothing for max"""
    strides: int | Sequence[int] | None = None
    """per spatial axis; default: pool_size"""
    dilation_rate: int | Sequence[int] = 1
    """per spatial axis"""
    use_channel_first: bool | None = None
    """a hint in old configs how to lay out memory on GPUs; changes no value, and the layout is chosen without it"""

    def compute(self, x: Tensor) -> Tensor:
        if self.mode not in ("max", "avg"):
            raise ConfigError("mode must be max or avg, but is %r" % (self.mode,))
        if self.pool_size is None:
            raise ConfigError('option "pool_size" is missing')
        x = batch_major(x)
        axes = self._spatial_dims(x)
        size = self._per_axis("pool_size", self.pool_size, axes)
        strides = size if self.strides is None else self._per_axis("strides", self.strides, axes)
        dilation = self._per_axis("dilation_rate", self.dilation_rate, axes)
        if all(n == 1 for n in size + strides):
            return x
        padding = self._padding(self.padding, axes)
        self._check_sizes(size, strides, dilation, padding)
        features = [x.feature_dim] if x.feature_dim is not None and x.feature_dim not in axes else []
        x = x.copy_transpose([d for d in x.dims if d not in axes + features] + axes + features)
        use_mask, pads_nothing = self._use_mask(x, axes), BehaviorVersion.has(Change.MAX_POOL_PADS_NOTHING)
        if use_mask and self.mode == "avg" and not BehaviorVersion.has(Change.CONV_LAYERS_MASK):
            x, use_mask = mask_padding(x, dims_to_mask(x, axes), 0), False  # zeros that count
        y, _ = rf.pool(
            x,
            mode=self.mode,
            pool_size=size,
            padding=padding,
            strides=strides,
            dilation_rate=dilation,
            in_spatial_dims=axes,
            out_spatial_dims=self._out_spatial_dims(),
            use_mask=use_mask,
            use_consistent_same_padding=BehaviorVersion.has(Change.CONV_LAYERS_MASK),
            pad_value=0.0 if padding == "same_static" and not pads_nothing else None,
        )
        return y

    def _with_feature_axis(self, dims: list[Dim]) -> list[Dim]:
        return dims

    def _check_sizes(self, size: list[int], strides: list[int], dilation: list[int], padding: str | list[int]) -> None:
        if any(stride > n for n, stride in zip(size, strides, strict=True)):
            raise ConfigError("strides %r must not be larger than pool_size %r" % (self.strides, self.pool_size))
        if any(n > 1 for n in dilation) and (padding in ("same", "same_static") or any(n > 1 for n in strides)):
            raise ConfigError(
                'dilation_rate needs padding "valid" or a number, and strides 1 (which by default are pool_size)'
            )
