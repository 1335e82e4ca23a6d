"""Layers that copy their input, apply a function to each element, or give its axes another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.nn import POOL_PADDINGS
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .activations import OutputWithActivation, get_activation
from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .base import LayerBase


@layer_class("copy", "dropout")
class CopyLayer(ConcatInputLayer):
    """The sources, joined on the feature axis, with dropout if asked for."""

    extra_deps: list[LayerBase] | str | list[str] | None = None
    """layers that are built first, though their output is not used"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        super().transform_config_dict(d, network, get_layer)
        names = d.get("extra_deps") or []
        d["extra_deps"] = [get_layer(name) for name in ([names] if isinstance(names, str) else names)]

    def compute(self, x: Tensor) -> Tensor:
        if len(self.sources) == 1 and not self.dropout and not self._is_template:
            # a loss on the copy may use what the source knows
            self.output_before_activation = self.sources[0].output_before_activation
            self.output_loss = self.sources[0].output_loss
        return x


@layer_class("activation")
class ActivationLayer(ConcatInputLayer):
    """A function of each element; softmax and its like work on the feature axis, which then is the last one."""

    activation: str | None = None
    """name or expression of the function; must be given"""
    opts: dict[str, Any] | None = None
    """further arguments of the function"""

    def compute(self, x: Tensor) -> Tensor:
        if "activation" not in self.kwargs:
            raise ConfigError('option "activation" is missing')
        if self.activation and "softmax" in self.activation:
            if self.opts:
                raise ConfigError("activation %r takes no opts" % self.activation)
            x = x.copy_with_feature_last()
        function = get_activation(self.activation, backend=self.network.backend)
        if function is None:
            return x
        self.output_before_activation = OutputWithActivation(x, self.activation)
        return function(x, axis=x.feature_dim, **(self.opts or {}))


@layer_class("merge_dims")
class MergeDimsLayer(ConcatInputLayer):
    """Several axes become one, row-major. With the feature axis among them it is the new feature axis; with the batch
    axis it is the new batch axis, padding included.
    """

    axes: Any = None
    """axis descriptions; must be given"""
    keep_order: bool | None = None
    """merge in the order of ``axes``, which must be a list then; else in the order of the input. Default: False, True
    from behaviour version 6 on"""

    def compute(self, x: Tensor) -> Tensor:
        if self.axes is None:
            raise ConfigError('option "axes" is missing')
        keep_order = self.keep_order
        if keep_order is None:
            keep_order = BehaviorVersion.has(Change.MERGE_DIMS_KEEPS_ORDER)
        axes = x.get_axes_from_description(self.axes)
        if not keep_order:
            axes = sorted(axes)
        elif not isinstance(self.axes, (list, tuple)):
            raise ConfigError("keep_order needs axes as a list, but they are %r" % (self.axes,))
        if len(axes) <= 1:
            return x
        place = x.feature_dim_axis if x.feature_dim_axis in axes else min(axes)
        place -= sum(a < place for a in axes)
        dims = [x.dims[a] for a in axes]
        y, out_dim = rf.merge_dims(x, dims=dims)
        if not out_dim.is_batch_dim and any(d.is_dynamic for d in dims):
            self.recurrent = True  # frames of one sequence become features, or one longer sequence
        feature = x.feature_dim_axis in axes
        if not out_dim.is_batch_dim:
            kind = DimKind.Feature if feature else DimKind.Spatial
            if out_dim.is_static and out_dim.kind is not kind:
                named = self.make_dim("merged", out_dim.dimension, kind=kind)
                y, out_dim = rf.replace_dim(y, in_dim=out_dim, out_dim=named), named
        y = y.copy_move_axis(y.get_axis_from_dim(out_dim), place)
        if feature and not out_dim.is_batch_dim:
            y.feature_dim_axis = place
            if y.time_dim_axis == place:
                y.time_dim_axis = None
        return y


@layer_class("split_dims")
class SplitDimsLayer(ConcatInputLayer):
    """One axis becomes several, row-major: new[i, j] = old[i * len(j) + j].

    Of a split feature axis, the last new one is the feature axis. Of a split time axis, the dynamic one is time.
    """

    axis: Any = None
    """axis description; must be given"""
    dims: Sequence[int | Dim] | None = None
    """sizes of the new axes, at most one -1: what is left; or Dims. Must be given"""
    pad_to_multiples: bool | None = None
    """fill up at the end so that the sizes divide; default: where the axis is dynamic"""
    pad_value: float | int = 0
    """with this"""

    def compute(self, x: Tensor) -> Tensor:
        if self.axis is None or self.dims is None:
            raise ConfigError('options "axis" and "dims" are needed')
        if isinstance(self.axis, int) and x.have_batch_axis():
            x = x.copy_as_batch_major()
        number = x.get_axis_from_description(self.axis)
        axis = x.dims[number]
        if axis.is_dynamic:
            self.recurrent = True
        dims = self._new_dims(axis, list(self.dims), is_feature=number == x.feature_dim_axis)
        y = rf.split_dims(
            x,
            axis=axis,
            dims=dims,
            pad_to_multiples=self.pad_to_multiples,
            pad_value=self.pad_value,
            use_mask=BehaviorVersion.has(Change.WINDOW_AND_SPLIT_MASK),
        )
        if number == x.feature_dim_axis:
            y.feature_dim_axis = number + len(dims) - 1
        if number == x.time_dim_axis:
            y.time_dim_axis = number + next((i for i, d in enumerate(dims) if d.is_dynamic), 0)
        return y

    def _new_dims(self, axis: Dim, given: list[int | Dim], *, is_feature: bool) -> list[Dim]:
        sizes = [d.dimension if isinstance(d, Dim) else d for d in given]
        open_places = [i for i, n in enumerate(sizes) if n in (-1, None)]
        factor = 1
        for n in sizes:
            if n is not None and not isinstance(n, int):
                raise ConfigError("dims must be ints or Dims, but are %r" % (given,))
            factor *= n if n not in (-1, None) else 1
        if len(open_places) > 1:
            raise ConfigError("dims has more than one -1: %r" % (given,))
        if axis.is_dynamic and not open_places:
            raise ConfigError("axis %s is dynamic: one of dims must be -1, but they are %r" % (axis, given))
        size = axis.dimension
        if size is not None and (size % factor if open_places else size != factor):
            why = "%i is not %s%i" % (size, "a multiple of " if open_places else "", factor)
            raise ConfigError("axis %s cannot be split into %r: %s" % (axis, tuple(given), why))
        res = []
        for i, dim in enumerate(given):
            last = is_feature and i == len(sizes) - 1
            if i in open_places:
                res.append(self._rest_dim(axis, factor, i, dim, last))
            elif isinstance(dim, Dim):
                res.append(dim)
            else:
                res.append(self.make_dim("split%i" % i, dim, kind=DimKind.Feature if last else DimKind.Spatial))
        return res

    def _rest_dim(self, axis: Dim, factor: int, place: int, given: int | Dim, last: bool) -> Dim:
        if axis.dimension is not None:
            size = axis.dimension // factor
            if factor == 1 and (axis.kind is DimKind.Feature) == last:
                rest = axis
            else:
                rest = self.make_dim("split%i" % place, size, kind=DimKind.Feature if last else DimKind.Spatial)
        else:
            rest = axis if factor == 1 else axis.ceildiv_right(factor)
        if isinstance(given, Dim):
            given.declare_same_as(rest)
        return rest


@layer_class("window")
class WindowLayer(ConcatInputLayer):
    """A new axis of size w right behind the axis: frame t sees x[t - left], .., x[t + right], zeros outside.
    Batch-major; from behaviour version 18 on the axis and the window are in front. A window over features is the
    feature axis then.
    """

    recurrent = True

    window_size: int | None = None
    """w; must be given"""
    window_left: int | None = None
    """frames before t"""
    window_right: int | None = None
    """frames behind t; default: w // 2, and the rest is left"""
    axis: Any = "T"
    """axis description"""
    padding: str = "same"
    """or "valid": only windows that fit"""
    stride: int = 1
    """every so many frames"""

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.window_size, int) or self.window_size < 1:
            raise ConfigError("window_size must be an integer > 0, but is %r" % (self.window_size,))
        if x.have_batch_axis():
            x = x.copy_as_batch_major()
        axis = x.dims[x.get_axis_from_description(self.axis)]
        window_dim = self.make_dim("window", self.window_size)
        y, out_dim = rf.window(
            x,
            spatial_dim=axis,
            window_dim=window_dim,
            window_left=self.window_left,
            window_right=self.window_right,
            padding=self.padding,
            stride=self.stride,
            use_mask=BehaviorVersion.has(Change.WINDOW_AND_SPLIT_MASK),
        )
        if axis == x.feature_dim:
            y.feature_dim = window_dim
        if BehaviorVersion.has(Change.WINDOW_TIME_FIRST):
            y = y.copy_transpose([out_dim, window_dim] + [d for d in y.dims if d not in (out_dim, window_dim)])
        return y


@layer_class("pool")
class PoolLayer(ConcatInputLayer):
    """Maximum or average over neighbouring frames. Output batch-major, lengths as those of a convolution."""

    recurrent = True

    mode: str | None = None
    """max or avg; must be given"""
    pool_size: int | Sequence[int] | None = None
    """per spatial axis; must be given"""
    padding: str | int | Sequence[int] = "VALID"
    """or "same": borders do not count; "same_static": between zeros that count, so that where the windows begin does
    not depend on the longest sequence; or the number of frames on both sides, for all or per spatial axis: zeros that
    count for avg, nothing for max"""
    strides: int | Sequence[int] | None = None
    """per spatial axis; default: pool_size"""
    dilation_rate: int | Sequence[int] = 1
    """per spatial axis"""
    in_spatial_dims: Sequence[Any] | None = None
    """axis descriptions; default: all but batch and feature"""
    out_spatial_dims: Sequence[Dim] | None = None
    """Dims of the result"""
    use_time_mask: bool | None = None
    """frames behind a sequence's end do not count; default: False, True from behaviour version 23 on"""
    use_channel_first: bool | None = None
    """a hint in old configs how to lay out memory on GPUs; changes no value, and the layout is chosen without it"""

    def compute(self, x: Tensor) -> Tensor:
        if self.mode not in ("max", "avg"):
            raise ConfigError("mode must be max or avg, but is %r" % (self.mode,))
        if self.pool_size is None:
            raise ConfigError('option "pool_size" is missing')
        if x.have_batch_axis():
            x = x.copy_as_batch_major()
        spatial = self._spatial_dims(x)
        size = self._per_axis(self.pool_size, len(spatial), "pool_size")
        strides = size if self.strides is None else self._per_axis(self.strides, len(spatial), "strides")
        dilation = self._per_axis(self.dilation_rate, len(spatial), "dilation_rate")
        if all(n == 1 for n in size + strides):
            return x
        padding = self._padding(len(spatial))
        self._check_sizes(size, strides, dilation, padding)
        features = [x.feature_dim] if x.feature_dim is not None and x.feature_dim not in spatial else []
        y, _ = rf.pool(
            x.copy_transpose([d for d in x.dims if d not in spatial + features] + spatial + features),
            mode=self.mode,
            pool_size=size,
            padding=padding,
            strides=strides,
            dilation_rate=dilation,
            in_spatial_dims=spatial,
            out_spatial_dims=self.out_spatial_dims,
            use_mask=self._use_mask(),
        )
        return y

    def _use_mask(self) -> bool:
        return BehaviorVersion.has(Change.CONV_AND_POOL_MASK) if self.use_time_mask is None else self.use_time_mask

    def _padding(self, number: int) -> str | list[int]:
        if isinstance(self.padding, str):
            if self.padding.lower() not in POOL_PADDINGS:
                names = ", ".join('"%s"' % name for name in POOL_PADDINGS)
                raise ConfigError("padding must be %s, or a number, but is %r" % (names, self.padding))
            return self.padding.lower()
        return self._per_axis(self.padding, number, "padding", least=0)

    def _check_sizes(self, size: list[int], strides: list[int], dilation: list[int], padding: str | list[int]) -> None:
        if any(stride > n for n, stride in zip(size, strides, strict=True)):
            raise ConfigError("strides %r must not be larger than pool_size %r" % (self.strides, self.pool_size))
        if any(n > 1 for n in dilation) and (padding in ("same", "same_static") or any(n > 1 for n in strides)):
            raise ConfigError(
                'dilation_rate needs padding "valid" or a number, and strides 1 (which by default are pool_size)'
            )

    def _spatial_dims(self, x: Tensor) -> list[Dim]:
        if self.in_spatial_dims is not None:
            return [x.dims[x.get_axis_from_description(d)] for d in self.in_spatial_dims]
        spatial = [d for i, d in enumerate(x.dims) if not d.is_batch_dim and i != x.feature_dim_axis]
        if len(spatial) > 1:
            message = "pool: in_spatial_dims is not given, but there are several axes."
            BehaviorVersion.require(False, message, Change.SPATIAL_DIMS_ARE_REQUIRED)
        return spatial

    def _per_axis(self, value: int | Sequence[int], number: int, option: str, *, least: int = 1) -> list[int]:
        values = [value] * number if isinstance(value, int) else list(value)
        if len(values) != number or not all(isinstance(v, int) and v >= least for v in values):
            raise ConfigError("%s must have one number per spatial axis (%i), but is %r" % (option, number, value))
        return values
