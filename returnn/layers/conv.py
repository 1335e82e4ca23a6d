"""Convolution layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import batch_major
from .features import feature_dim_of
from .initializers import offset_init
from .registry import layer_class
from .spatial import SpatialLayer

if TYPE_CHECKING:
    from .base import LayerBase


class _FilterLayer(SpatialLayer):
    """What a convolution and its transpose share: filter, bias, activation."""

    filter_size: int | Sequence[int | Dim] | None = None
    """one number (or Dim) for each spatial axis, at most 3; must be given"""
    activation: str | None = None
    """name or expression of a function"""
    forward_weights_init: Any = "glorot_uniform"
    """initial values of the filter"""
    bias_init: Any = 0.0
    """initial values of ``bias``"""
    filter: LayerBase | str | None = None
    """layer whose output is the filter, without batch: its axes are those of the parameter, in that order, or in any if
    their Dims or sizes say which is which"""
    filter_perm: dict[Any, Any] | Sequence[Any] | None = None
    """axis of the parameter -> axis of the output of ``filter``; or all axes of that in the order of the parameter"""
    bias: LayerBase | str | None = None
    """layer whose output [F_out] is added"""

    _layer_options = ("filter", "bias")

    def _input(self, x: Tensor) -> Tensor:
        if self.out_type is not None:
            raise ConfigError("out_type is not possible here: the output is what the options say")
        if x.sparse:
            raise ConfigError("the input must be dense, but is %s" % x.short_repr())
        return batch_major(x)

    def _filter_dims(self, axes: Sequence[Dim]) -> list[Dim]:
        if self.filter_size is None:
            raise ConfigError('option "filter_size" is missing')
        sizes = [self.filter_size] if isinstance(self.filter_size, int) else list(self.filter_size)
        if not 1 <= len(sizes) <= 3 or not all(isinstance(n, Dim) or (isinstance(n, int) and n > 0) for n in sizes):
            raise ConfigError("filter_size must be 1 to 3 numbers > 0, but is %r" % (self.filter_size,))
        if len(sizes) != len(axes):
            raise ConfigError(
                "filter_size has %i numbers, but there are %i spatial axes: %s"
                % (len(sizes), len(axes), ", ".join(map(str, axes)) or "none")
            )
        dims = [n if isinstance(n, Dim) else self.make_dim("filter%i" % i, n) for i, n in enumerate(sizes)]
        for dim in dims:
            dim.require_static()
        return dims

    def _filter(self, name: str, dims: Sequence[Dim]) -> Tensor:
        """
        :param name: of the parameter
        :param dims: of the parameter
        """
        if self.filter is None:
            return self.param(name, dims, init=self.forward_weights_init)
        w = self._output_of_option("filter")
        if self.filter_perm is not None:
            w = w.copy_transpose(self._perm(w))
        axes = _axes_by_dim(w.dims, dims) or _axes_by_size([d.dimension for d in w.dims], [d.dimension for d in dims])
        if axes is None:
            raise ConfigError(
                "the output of the filter %s does not fit to the sizes %s of the parameter. Say with filter_perm which"
                " axis is which" % (w.short_repr(), [d.dimension for d in dims])
            )
        raw = w.copy_transpose(axes).raw_tensor
        return Tensor(name, dims, w.dtype, raw_tensor=raw)

    def _perm(self, w: Tensor) -> list[int]:
        if not isinstance(self.filter_perm, dict):
            return [w.get_axis_from_description(axis) for axis in self.filter_perm or ()]
        axes = list(range(w.batch_ndim))
        for target, source in self.filter_perm.items():
            axes[w.get_axis_from_description(target)] = w.get_axis_from_description(source)
        if sorted(axes) != list(range(w.batch_ndim)):
            raise ConfigError("filter_perm %r is not a permutation of the axes of %s" % (self.filter_perm, w))
        return axes

    def _bias(self, with_bias: bool, out_dim: Dim) -> Tensor | None:
        if self.bias is None:
            return self.param("bias", [out_dim], init=offset_init(self.bias_init)) if with_bias else None
        b = self._output_of_option("bias")
        if b.batch_ndim != 1 or b.dims[0].dimension != out_dim.dimension:
            raise ConfigError("bias must be of shape [%s], but is %s" % (out_dim.dimension, b.short_repr()))
        return Tensor("bias", [out_dim], b.dtype, raw_tensor=b.raw_tensor)


@layer_class("conv")
class ConvLayer(_FilterLayer):
    """y[t] = act(sum over i of x[t * stride - left + i * dilation] W[i] + bias), along each spatial axis: a convolution
    in one, two or three dims; the filter is not flipped.

    Input [B, spatial.., F_in] in any axis order, dense, F_in static.
    Output: [B, spatial.., F_out]; axes that are neither spatial nor feature stand behind B. A length L becomes
    ceil(L / stride) with padding "same", else ceil((L + 2 p - (k - 1) dilation) / stride), and at least 0; with "same"
    and stride 1 the axis stays the same.
    Parameters: ``W`` [k.., F_in / groups, F_out], ``bias`` [F_out].
    """

    padding: str | int | Sequence[int] | None = None
    """of zeros; must be given. "same": as many frames as strides leave; "valid": only where the filter fits;
    "same_static": as many as "same", on a dynamic axis between as many zeros for each length; or the number of zeros on
    both sides, for all or per spatial axis. With "same" and strides, where the windows begin depends on the longest
    sequence; from behaviour version 31 on they begin where those of stride 1 do"""
    strides: int | Sequence[int] = 1
    """every so many frames, for all or per spatial axis"""
    dilation_rate: int | Sequence[int] = 1
    """distance of two frames that the filter sees, for all or per spatial axis"""
    groups: int = 1
    """features are divided into so many groups; an output feature sees the inputs of its own one. As many as input
    features: a depthwise convolution, output c * m + j sees input c"""
    with_bias: bool | None = None
    """add ``bias``; default: False, True from behaviour version 10 on"""
    input_expand_dims: int = 0
    """so many spatial axes of size 1 are added, in front of the feature axis"""
    input_split_feature_dim: int | None = None
    """n: the feature axis is split into a spatial one, and a feature axis of size n"""
    input_add_feature_dim: bool = False
    """the feature axis becomes a spatial one, and the new feature axis has size 1"""
    auto_use_channel_first: bool | None = None
    """a hint in old configs how to lay out memory on GPUs; changes no value, and the layout is chosen without it"""
    pad_seq_len_to_power: float | None = None
    """b: compute with the time axis filled with zeros up to the next power of b, so that a GPU sees few different
    sizes; then they are cut off again. Default: config option conv_pad_seq_len_to_power"""

    def compute(self, x: Tensor) -> Tensor:
        if self.padding is None:
            raise ConfigError('option "padding" is missing')
        x = self._with_input_axes(self._input(x))
        axes = self._spatial_dims(x)
        sizes = self._filter_dims(axes)
        padding = self._padding(self.padding, axes)
        in_dim, out_dim = feature_dim_of(x), self.required_out_dim()
        strides = self._per_axis("strides", self.strides, axes)
        if padding == "same_static":
            self._check_same_static(sizes, strides, axes)
        group_dim = self.make_dim("in", self._group_size(in_dim, out_dim), kind=DimKind.Feature)
        filter = self._filter("W", [*sizes, group_dim, out_dim])
        with_bias = BehaviorVersion.has(Change.CONV_WITH_BIAS) if self.with_bias is None else self.with_bias
        y, _ = rf.conv(
            x,
            filter=filter,
            filter_size=sizes,
            in_dim=in_dim,
            out_dim=out_dim,
            in_spatial_dims=axes,
            out_spatial_dims=self._out_spatial_dims(),
            padding=padding,
            strides=strides,
            dilation_rate=self._per_axis("dilation_rate", self.dilation_rate, axes),
            groups=self.groups,
            bias=self._bias(with_bias, out_dim),
            use_mask=self._use_mask(x, axes),
            use_consistent_same_padding=BehaviorVersion.has(Change.CONV_LAYERS_MASK),
            pad_to_power=self._pad_to_power(),
        )
        return self._activated(y, self.activation)

    def _pad_to_power(self) -> float | None:
        base = self.pad_seq_len_to_power
        if base is None:
            base = self.network.get_config().float("conv_pad_seq_len_to_power", 0) or None
        if base is not None and (not isinstance(base, (int, float)) or not base > 1):
            raise ConfigError("pad_seq_len_to_power must be a number > 1, but is %r" % (base,))
        return base

    def _with_input_axes(self, x: Tensor) -> Tensor:
        feature = feature_dim_of(x)
        x = x.copy_with_feature_last()
        for i in range(self.input_expand_dims):
            x = x.copy_add_dim_by_tag(self.make_dim("expanded%i" % i, 1), axis=x.batch_ndim - 1)
        if self.input_split_feature_dim:
            n, size = self.input_split_feature_dim, feature.require_static()
            if size % n:
                raise ConfigError("input_split_feature_dim: %i features cannot be split into groups of %i" % (size, n))
            new = self.make_dim("split_feature", n, kind=DimKind.Feature)
            x = rf.split_dims(x, axis=feature, dims=[self.make_dim("split_spatial", size // n), new])
            x.feature_dim = new
        if self.input_add_feature_dim:
            new = self.make_dim("feature", 1, kind=DimKind.Feature)
            x = x.copy_add_dim_by_tag(new, axis=x.batch_ndim)
            x.feature_dim = new
        return x

    def _group_size(self, in_dim: Dim, out_dim: Dim) -> int:
        n_in, n_out = in_dim.require_static(), out_dim.require_static()
        if not isinstance(self.groups, int) or self.groups < 1 or n_in % self.groups or n_out % self.groups:
            raise ConfigError(
                "groups must divide the number of input features, %i, and that of the outputs, %i, but is %r"
                % (n_in, n_out, self.groups)
            )
        return n_in // self.groups

    def _check_same_static(self, sizes: Sequence[Dim], strides: Sequence[int], axes: Sequence[Dim]) -> None:
        for size, stride, axis in zip(sizes, strides, axes, strict=True):
            if axis.is_dynamic and stride > size.require_static():
                raise ConfigError('padding "same_static" needs strides that are not larger than filter_size')


@layer_class("transposed_conv")
class TransposedConvLayer(_FilterLayer):
    """y[t * stride - left + i] += x[t] W[i], along each spatial axis, and + bias: the gradient of a convolution; for
    upsampling in one or two dims.

    Input [B, spatial.., F_in] in any axis order, dense, F_in static.
    Output: [B, spatial.., F_out]; axes that are neither spatial nor feature stand behind B. A length L becomes
    L * stride with padding "same", L * stride + max(k - stride, 0) with "valid"; less 2 * remove_padding.
    Parameters: ``W_native_transposed_conv`` [k.., F_out, F_in], in one dim [k, 1, F_out, F_in]; ``bias`` [F_out].
    """

    padding: str = "same"
    """or "valid": see above; left is max(k - stride, 0) // 2, or 0"""
    strides: int | Sequence[int] | None = None
    """for all or per spatial axis; default: filter_size"""
    remove_padding: int | Sequence[int] = 0
    """number of frames to cut off at both ends, for all or per spatial axis"""
    output_padding: int | Sequence[int | None] | None = None
    """o: (L - 1) * stride + k - 2 p + o frames, with p = k // 2 for "same", else 0; less than the stride. None: see
    above"""
    with_bias: bool = True
    """add ``bias``"""

    def compute(self, x: Tensor) -> Tensor:
        x = self._input(x)
        axes = self._spatial_dims(x)
        sizes = self._filter_dims(axes)
        if len(sizes) > 2:
            raise ConfigError("filter_size must be one or two numbers, but is %r" % (self.filter_size,))
        if self.padding not in ("same", "valid"):
            raise ConfigError('padding must be "same" or "valid", but is %r' % (self.padding,))
        in_dim, out_dim = feature_dim_of(x), self.required_out_dim()
        w_in_dim = self.make_dim("in", in_dim.require_static(), kind=DimKind.Feature)
        filter = self._transposed_filter(sizes, out_dim, w_in_dim)
        default = [n.require_static() for n in sizes]
        strides = default if self.strides is None else self._per_axis("strides", self.strides, axes)
        y, _ = rf.transposed_conv(
            x,
            filter=filter,
            filter_size=sizes,
            in_dim=in_dim,
            out_dim=out_dim,
            in_spatial_dims=axes,
            out_spatial_dims=self._out_spatial_dims(),
            padding=self.padding,
            remove_padding=self._per_axis("remove_padding", self.remove_padding, axes, least=0),
            output_padding=self._output_padding(strides),
            strides=strides,
            bias=self._bias(self.with_bias, out_dim),
            use_mask=self._use_mask(x, axes),
        )
        return self._activated(y, self.activation)

    def _transposed_filter(self, sizes: Sequence[Dim], out_dim: Dim, in_dim: Dim) -> Tensor:
        one = [self.make_dim("one", 1)] * (len(sizes) == 1)
        if self.filter is not None and self._output_of_option("filter").batch_ndim == len(sizes) + 2:
            one = []  # given without the axis that the parameter has
        w = self._filter("W_native_transposed_conv", [*sizes, *one, out_dim, in_dim])
        return rf.squeeze(w, one[0]) if one else w

    def _output_padding(self, strides: Sequence[int]) -> list[int | None]:
        given = self.output_padding
        values = [given] * len(strides) if given is None or isinstance(given, int) else list(given)
        if len(values) != len(strides) or not all(
            n is None or (isinstance(n, int) and 0 <= n < stride) for n, stride in zip(values, strides, strict=False)
        ):
            raise ConfigError(
                "output_padding must be None or a number less than the stride (%s), for all or per spatial axis, but is"
                " %r" % (", ".join(map(str, strides)), given)
            )
        return values


def _axes_by_dim(given: Sequence[Dim], wanted: Sequence[Dim]) -> list[int] | None:
    """
    :return: axes of what is given, in the order that is wanted, if all but one are the same dims; else None
    """
    axes = [next((i for i, d in enumerate(given) if d == dim), None) for dim in wanted]
    rest = [i for i in range(len(given)) if i not in axes]
    if len(given) != len(wanted) or len(rest) != axes.count(None) or len(rest) > 1:
        return None
    return [rest[0] if i is None else i for i in axes]


def _axes_by_size(given: Sequence[int | None], wanted: Sequence[int | None]) -> list[int] | None:
    """
    :return: axes of what is given, in the order that is wanted: as they are, if that fits, else by their sizes, if
        these are all different; else None
    """
    if list(given) == list(wanted):
        return list(range(len(given)))
    if len(set(wanted)) == len(wanted) and set(given) == set(wanted) and len(given) == len(wanted):
        return [list(given).index(n) for n in wanted]
    return None
