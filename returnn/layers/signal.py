"""Layers on audio signals: Fourier transforms, filter banks, complex numbers, several channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import batch_major
from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import feature_dim_of, static_feature_dim_of
from .registry import layer_class
from .spatial import SpatialLayer
from .unify import unify

if TYPE_CHECKING:
    from returnn.network.network import Network


class _FourierLayer(SpatialLayer):
    """What the transform and its inverse share."""

    frame_shift: int | None = None
    """samples from one frame to the next; must be given"""
    frame_size: int | None = None
    """samples of a frame; must be given"""
    fft_size: int | None = None
    """frames are filled with zeros to this size; default: frame_size"""

    def _one_spatial_dim(self, x: Tensor) -> Dim:
        axes = self._spatial_dims(x)
        if len(axes) != 1:
            raise ConfigError(
                "there must be one spatial axis, but there are %i: %s. Say with in_spatial_dims which"
                % (len(axes), ", ".join(map(str, axes)))
            )
        return axes[0]

    def _out_spatial_dim(self) -> Dim | None:
        dims = self._out_spatial_dims()
        if dims is not None and len(dims) != 1:
            raise ConfigError("out_spatial_dims must be one Dim, but are %r" % (dims,))
        return None if dims is None else dims[0]


@layer_class("stft")
class StftLayer(_FourierLayer):
    """Short-time Fourier transform with the Hann window, sin(pi n / frame_size)^2 for even sizes, without padding:
    frame t begins with sample t * frame_shift.

    Input [B, T] or [B, T, 1], float32, further axes are independent of each other.
    Output: complex64 [B, .., T', fft_size // 2 + 1] with T' = ceil((T - frame_size + 1) / frame_shift), at least 0.
    """

    def compute(self, x: Tensor) -> Tensor:
        x = _signal_of(x)
        time = self._one_spatial_dim(x)
        y, _, _ = rf.stft(
            x,
            in_spatial_dim=time,
            frame_step=_positive(self, "frame_shift"),
            frame_length=_positive(self, "frame_size"),
            fft_length=_positive(self, "fft_size") if self.fft_size is not None else None,
            out_spatial_dim=self._out_spatial_dim(),
            out_dim=_out_dim(self, (self.fft_size or _positive(self, "frame_size")) // 2 + 1),
            use_mask=self._use_mask(x, [time]),
        )
        return y


@layer_class("istft")
class IstftLayer(_FourierLayer):
    """Undoes ``stft``, but for the borders, where fewer frames overlap.

    Input: complex64 [B, T, fft_size // 2 + 1].
    Output: float32 [B, T', 1] with T' = T * frame_shift + frame_size - frame_shift.
    """

    def compute(self, x: Tensor) -> Tensor:
        x = batch_major(x)
        size = self.fft_size or _positive(self, "frame_size")
        in_dim = feature_dim_of(x)
        if x.dtype != "complex64" or in_dim.dimension != size // 2 + 1:
            raise ConfigError("the input must be complex64 with %i features, but is %r" % (size // 2 + 1, x))
        time = self._one_spatial_dim(x)
        y, _ = rf.istft(
            x,
            in_spatial_dim=time,
            in_dim=in_dim,
            frame_step=_positive(self, "frame_shift"),
            frame_length=_positive(self, "frame_size"),
            fft_length=size,
            out_spatial_dim=self._out_spatial_dim(),
            use_mask=self._use_mask(x, [time]),
        )
        return _with_feature(y, _out_dim(self, 1))


@layer_class("mel_filterbank")
class MelFilterbankLayer(ConcatInputLayer):
    """Sums of magnitudes over triangles on the frequency axis, equally wide on the mel scale, mel(f) = 1125 ln(1 + f /
    700); each rises from 0 to 1 and falls to 0.

    Input [B, T, fft_size // 2 + 1], float32. Output [B, T, nr_of_filters].
    """

    sampling_rate: float = 16000
    """samples a second"""
    fft_size: int = 1024
    """of the Fourier transform"""
    nr_of_filters: int = 80
    """number of triangles; n_out, if given, must be the same"""
    f_min: float = 0
    """Hz, where the first triangle begins"""
    f_max: float | None = None
    """Hz, where the last triangle ends; default: sampling_rate / 2"""

    def compute(self, x: Tensor) -> Tensor:
        x = batch_major(x)
        in_dim = static_feature_dim_of(x)
        if x.dtype != "float32" or in_dim.dimension != self.fft_size // 2 + 1:
            raise ConfigError(
                "the input must be float32 with fft_size // 2 + 1 = %i features, but is %s"
                % (self.fft_size // 2 + 1, x.short_repr())
            )
        return rf.audio.mel_filterbank(
            x,
            in_dim=in_dim,
            out_dim=_out_dim(self, self.nr_of_filters),
            sampling_rate=self.sampling_rate,
            fft_length=self.fft_size,
            f_min=self.f_min,
            f_max=self.f_max,
        )


class _MultiChannelStftLayer(ConcatInputLayer):
    """Fourier transforms of several channels, next to each other on the feature axis."""

    recurrent = True

    frame_shift: int | None = None
    """samples from one frame to the next; must be given"""
    window: str = "hanning"
    """hanning, blackman or ones"""
    use_rfft: bool = True
    """only the first fft_size // 2 + 1 frequencies; False: all fft_size"""
    nr_of_channels: int = 1
    """number of features of the input"""
    pad_last_frame: bool = False
    """zeros behind the end, if the last frame is not full; else what it has is left out"""

    def _transform(self, x: Tensor, sizes: Sequence[tuple[int, int]]) -> Tensor:
        """
        :param x: [B, T, C]
        :param sizes: of frames, and of their transforms
        :return: [B, T', F]
        """
        x = batch_major(x)
        channels = static_feature_dim_of(x)
        if x.dtype != "float32" or channels.dimension != self.nr_of_channels:
            raise ConfigError(
                "the input must be float32 with nr_of_channels = %r features, but is %s"
                % (self.nr_of_channels, x.short_repr())
            )
        if x.time_dim is None:
            raise ConfigError("the input %s has no time axis" % x.short_repr())
        time, step = x.time_dim, _positive(self, "frame_shift")
        parts = []
        for size, fft_size in sizes:
            # as many frames as there are of the first size
            end_padding = size - sizes[0][0] + (step - 1 if self.pad_last_frame else 0)
            y, frames, bins = rf.stft(
                x,
                in_spatial_dim=time,
                frame_step=step,
                frame_length=size,
                fft_length=fft_size,
                window=_window(self.window, size),
                one_sided=self.use_rfft,
                end_padding=end_padding,
                use_mask=BehaviorVersion.has(Change.CONV_LAYERS_MASK),
            )
            rest = [d for d in y.dims if d not in (frames, channels, bins)]
            y, merged = rf.merge_dims(y.copy_transpose([*rest, frames, channels, bins]), dims=[channels, bins])
            y.feature_dim = merged
            parts.append(y)
        y = parts[0] if len(parts) == 1 else rf.concat_features(*parts)
        return _renamed_features(y, _out_dim(self, feature_dim_of(y).require_static()))


@layer_class("multichannel_stft_layer")
class MultiChannelStftLayer(_MultiChannelStftLayer):
    """Short-time Fourier transform of each channel.

    Input [B, T, C], float32. Output: complex64 [B, T', C * (fft_size // 2 + 1)], channel by channel, with
    T' = (T - frame_size) // frame_shift + 1, at least 0.
    """

    frame_size: int | None = None
    """samples of a frame; must be given"""
    fft_size: int | None = None
    """frames are filled with zeros to this size; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        return self._transform(x, [(_positive(self, "frame_size"), _positive(self, "fft_size"))])


@layer_class("multichannel_multiresolution_stft_layer")
class MultiChannelMultiResolutionStftLayer(_MultiChannelStftLayer):
    """Short-time Fourier transforms of each channel, with frames of several sizes.

    Input [B, T, C], float32. Output: complex64 [B, T', F]: for each frame size the channels one by one, each with its
    fft_size // 2 + 1 frequencies. T' = (T - s) // frame_shift + 1, at least 0, where s is the first size.
    """

    frame_sizes: Sequence[int] | None = None
    """samples of a frame; must be given"""
    fft_sizes: Sequence[int] | None = None
    """as many: frames are filled with zeros to these sizes; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        for key, value in (("frame_sizes", self.frame_sizes), ("fft_sizes", self.fft_sizes)):
            if (
                not isinstance(value, (list, tuple))
                or not all(isinstance(n, int) and n > 0 for n in value)
                or not value
            ):
                raise ConfigError("%s must be a list of numbers > 0, but is %r" % (key, value))
        sizes, fft_sizes = list(self.frame_sizes or ()), list(self.fft_sizes or ())
        if len(sizes) != len(fft_sizes):
            raise ConfigError("frame_sizes %r and fft_sizes %r must be as many" % (self.frame_sizes, self.fft_sizes))
        return self._transform(x, list(zip(sizes, fft_sizes, strict=True)))


@layer_class("alternating_real_to_complex")
class AlternatingRealToComplexLayer(ConcatInputLayer):
    """Features 0, 2, .. are the real, 1, 3, .. the imaginary parts: float32 [.., F] becomes complex64 [.., F / 2]."""

    def compute(self, x: Tensor) -> Tensor:
        x = batch_major(x)
        size = static_feature_dim_of(x).require_static()
        if x.dtype != "float32" or size % 2:
            raise ConfigError("the input must be float32 with an even number of features, but is %s" % x.short_repr())
        return rf.real_as_complex(x, out_dim=_out_dim(self, size // 2))[0]


@layer_class("complex_to_alternating_real")
class ComplexToAlternatingRealLayer(ConcatInputLayer):
    """Real and imaginary parts take turns on the feature axis: complex64 [.., F] becomes float32 [.., 2 F]."""

    def compute(self, x: Tensor) -> Tensor:
        x = batch_major(x)
        size = static_feature_dim_of(x).require_static()
        if x.dtype != "complex64":
            raise ConfigError("the input must be complex64, but is %s" % x.short_repr())
        return rf.complex_as_real(x, out_dim=_out_dim(self, 2 * size))[0]


@layer_class("complex_linear_projection")
class ComplexLinearProjectionLayer(ConcatInputLayer):
    """log |z K|, where z are complex features and K is complex (Variani et al., Complex Linear Projection, 2016).

    Input: complex64 [.., F / 2]; or float32 [.., F] with real and imaginary parts in turns. Output: float32 [.., n].
    Parameter: ``clp_kernel`` [2, F / 2, n], the real and the imaginary part of K.
    """

    nr_of_filters: int | None = None
    """n; must be given"""
    clp_weights_init: Any = "glorot_uniform"
    """initial values of ``clp_kernel``"""

    def compute(self, x: Tensor) -> Tensor:
        x = batch_major(x)
        if x.dtype != "complex64":
            size = static_feature_dim_of(x).require_static()
            if x.dtype != "float32" or size % 2:
                raise ConfigError("the input must be complex64, or float32 with an even number of features: %r" % x)
            x = rf.real_as_complex(x)[0]
        in_dim = self.make_dim("in", static_feature_dim_of(x).dimension, kind=DimKind.Feature)
        x = rf.replace_dim(x, in_dim=feature_dim_of(x), out_dim=in_dim)
        out_dim = _out_dim(self, _positive(self, "nr_of_filters"))
        parts = self.make_dim("parts", 2)
        kernel = self.param("clp_kernel", [parts, in_dim, out_dim], init=self.clp_weights_init)
        place = x.get_axis_from_dim(in_dim)
        y = rf.matmul(x, rf.make_complex(*rf.unstack(kernel, axis=parts)), reduce=in_dim).copy_move_axis(-1, place)
        y.feature_dim = out_dim
        return rf.safe_log(rf.abs(y))


@layer_class("first_t_frames_noise_estimator")
class NoiseEstimationByFirstTFramesLayer(ConcatInputLayer):
    """The mean of the first frames, at each frame. Output as the input [B, T, F]."""

    recurrent = True

    nr_of_frames: int | None = None
    """how many; -1 for all; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        count = self.nr_of_frames
        if not isinstance(count, int) or (count < 1 and count != -1):
            raise ConfigError("nr_of_frames must be a number > 0, or -1 for all, but is %r" % (count,))
        x = batch_major(x)
        time = x.time_dim
        if time is None:
            raise ConfigError("the input %s has no time axis" % x.short_repr())
        first, first_dim = (x, time) if count == -1 else rf.slice(x, axis=time, end=count)
        mean = rf.reduce_mean(first, axis=first_dim, use_mask=BehaviorVersion.has(Change.CONV_LAYERS_MASK))
        y = rf.expand_dim(mean, time).copy_transpose(x.dims)
        return x.like(y.raw_tensor)


@layer_class("signal_masking")
class SignalMaskingLayer(LayerBase):
    """signal * mask, element by element."""

    _default_source = None

    signal: LayerBase | str | None = None
    """layer; must be given"""
    mask: LayerBase | str | None = None
    """layer; must be given"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        for key in ("signal", "mask"):
            if not isinstance(d.get(key), str):
                raise ConfigError('option "%s" must be a layer name, but is %r' % (key, d.get(key)))
        d.pop("from", None)  # old configs name the same layers there
        super().transform_config_dict(d, network, get_layer)
        for key in ("signal", "mask"):
            d[key] = get_layer(d[key])
        d["sources"] = [d["signal"], d["mask"]]

    def compute(self, signal: Tensor, mask: Tensor) -> Tensor:
        signal, mask = unify([signal, mask])
        return batch_major(rf.combine(signal, "mul", mask))


@layer_class("split_concatenated_multichannel")
class SplitConcatenatedMultiChannelLayer(ConcatInputLayer):
    """Channels that stand side by side on the feature axis become sequences of their own: [B, T, C * F] becomes
    [B * C, T, F], the channels of a sequence next to each other.
    """

    nr_of_channels: int | None = None
    """C; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        channels = _positive(self, "nr_of_channels")
        x = batch_major(x)
        features = static_feature_dim_of(x)
        size = features.require_static()
        if size % channels:
            raise ConfigError("nr_of_channels: %i features cannot be split into %i channels" % (size, channels))
        out_dim, channel_dim = _out_dim(self, size // channels), self.make_dim("channels", channels)
        y = rf.split_dims(x, axis=features, dims=[channel_dim, out_dim])
        y.feature_dim = out_dim
        batch = y.dims[0]
        return rf.merge_dims(y, dims=[batch, channel_dim])[0]


@layer_class("tile_features")
class TileFeaturesLayer(ConcatInputLayer):
    """The features so many times, one copy behind the other: [.., F] becomes [.., repetitions * F]."""

    repetitions: int | None = None
    """how often; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        times, x = _positive(self, "repetitions"), batch_major(x)
        size = static_feature_dim_of(x).require_static()
        y = x if times == 1 else rf.concat_features(*[x] * times)
        return _renamed_features(y, _out_dim(self, times * size))


@layer_class("batch_median_pooling")
class BatchMedianPoolingLayer(ConcatInputLayer):
    """The median, element by element, of each pool_size neighbouring sequences, for instance the channels of one
    recording: [B * pool_size, ..] becomes [B, ..]. Of an even number it is the mean of the two in the middle. The
    sequences of a group should be equally long; the result is as long as the longest.
    """

    recurrent = True

    pool_size: int | None = None
    """number of sequences; must be given; the batch must be a multiple of it"""

    def compute(self, x: Tensor) -> Tensor:
        size = _positive(self, "pool_size")
        if not x.have_batch_axis():
            raise ConfigError("the input %s has no batch axis" % x.short_repr())
        x = batch_major(x)
        if size == 1:
            return x
        dims = [self._pooled_dim(i, dim, size) for i, dim in enumerate(x.dims)]
        ordered = _sorted([_every(x, start, size) for start in range(size)])
        middle = ordered[(size - 1) // 2 : size // 2 + 1]
        y = middle[0] if len(middle) == 1 else (middle[0] + middle[1]) * 0.5
        time = None if x.time_dim_axis is None else dims[x.time_dim_axis]
        return x.like(y.raw_tensor, dims=dims, time_dim=time)

    def _pooled_dim(self, axis: int, dim: Dim, size: int) -> Dim:
        """:return: for a dim whose lengths are those of the sequences one with those of the groups"""
        if batch_dim not in (dim.size_dims or ()):
            return dim
        pooled = self.make_dim("pooled%i" % axis, None, kind=dim.kind)
        lens = dim.dyn_size_ext
        if lens is None or lens.raw_tensor is None:
            lens = Tensor("lens", [batch_dim], "int32")
        longest = _sorted([_every(lens, start, size) for start in range(size)])[-1]
        pooled.dyn_size_ext = longest
        return pooled


def _every(x: Tensor, start: int, step: int) -> Tensor:
    """:return: of the sequences start, start + step, .."""
    return rf.slice(x, axis=batch_dim, start=start, step=step, out_dim=batch_dim)[0]


def _sorted(xs: list[Tensor]) -> list[Tensor]:
    """:return: element by element from the smallest to the largest"""
    xs = list(xs)
    for end in range(len(xs) - 1, 0, -1):
        for i in range(end):
            xs[i], xs[i + 1] = rf.minimum(xs[i], xs[i + 1]), rf.maximum(xs[i], xs[i + 1])
    return xs


@layer_class("dct")
class DctLayer(ConcatInputLayer):
    """Discrete cosine transform of the features (Ahmed et al., 1974), for instance for cepstra. Output as the input.

    Type 2: y[k] = 2 sum over n of x[n] cos(pi k (2 n + 1) / (2 F)); the others see :func:`returnn.frontend.dct`.
    """

    type: int = 2
    """1, 2, 3 or 4"""
    norm: str | None = None
    """or "ortho": the transform is orthonormal; not for type 1"""

    def compute(self, x: Tensor) -> Tensor:
        return rf.dct(batch_major(x), axis=static_feature_dim_of(x), type=self.type, norm=self.norm)


def _signal_of(x: Tensor) -> Tensor:
    """:return: batch-major, without the feature axis of size 1, if there is one"""
    x = batch_major(x)
    if x.dtype != "float32" or x.sparse:
        raise ConfigError("the input must be float32, but is %s" % x.short_repr())
    if x.feature_dim is None:
        return x
    if x.feature_dim.dimension != 1:
        raise ConfigError("the input must be a single channel, but is %s" % x.short_repr())
    return rf.squeeze(x, x.feature_dim)


def _positive(layer: LayerBase, option: str) -> int:
    value = getattr(layer, option)
    if not isinstance(value, int) or value < 1:
        raise ConfigError("%s must be given, as a number > 0, but is %r" % (option, value))
    return value


def _out_dim(layer: LayerBase, size: int) -> Dim:
    """:return: the output dim that the config says, or one of this size, which it must have"""
    if layer.out_dim is None and layer.n_out is None:
        return layer.make_dim("out", size, kind=DimKind.Feature)
    dim = layer.required_out_dim()
    if dim.dimension != size:
        raise ConfigError("n_out must be %i, but is %s" % (size, dim.dimension))
    return dim


def _renamed_features(x: Tensor, dim: Dim) -> Tensor:
    return rf.replace_dim(x, in_dim=feature_dim_of(x), out_dim=dim)


def _with_feature(x: Tensor, dim: Dim) -> Tensor:
    """:return: with a last axis of size 1"""
    y = x.copy_add_dim_by_tag(dim, axis=x.batch_ndim)
    y.feature_dim = dim
    return y


def _window(name: str, size: int) -> numpy.ndarray | None:
    """:return: None for the default, the Hann window"""
    windows = {"hanning": None, "blackman": numpy.blackman(size), "ones": numpy.ones(size)}
    if name not in windows:
        raise ConfigError('window must be "hanning", "blackman" or "ones", but is %r' % (name,))
    return windows[name]
