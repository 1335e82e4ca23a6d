"""Signals: Fourier transforms of frames, complex numbers, cosine transform."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from returnn.tensor import Dim, DimError, DimKind, Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.util.behavior_version import BehaviorVersion, Change

from .conv import transposed_conv
from .elementwise import imag, make_complex, real
from .join import stack, unstack
from .masking import dims_to_mask, mask_padding
from .matmul import matmul
from .shape import longer_dim, merge_dims, replace_dim, require_dims, same_as, split_dims, squeeze

_PARTS = Dim(2, description="real-imag", auto_generated=True)


def stft(
    x: Tensor,
    *,
    in_spatial_dim: Dim,
    frame_step: int,
    frame_length: int,
    fft_length: int | None = None,
    window: Sequence[float] | numpy.ndarray | None = None,
    one_sided: bool = True,
    end_padding: int = 0,
    out_spatial_dim: Dim | None = None,
    out_dim: Dim | None = None,
    use_mask: bool | None = None,
) -> tuple[Tensor, Dim, Dim]:
    """
    Short-time Fourier transform: y[t, k] = sum over n of window[n] x[t * step + n] exp(-2 pi i k n / fft_length).

    :param x: float32, has the spatial dim; other dims are independent of each other
    :param in_spatial_dim: samples
    :param frame_step: samples from one frame to the next
    :param frame_length: samples of a frame
    :param fft_length: to which frames are filled with zeros, or cut; frame_length by default
    :param window: of frame_length numbers; :func:`hann_window` by default
    :param one_sided: only the first fft_length // 2 + 1 frequencies; the others are the conjugates of these
    :param end_padding: number of zeros behind the array; negative: so many samples of its end are left out
    :param out_spatial_dim: ceil((samples + end_padding - frame_length + 1) / step), at least 0; follows from the others
        by default
    :param out_dim: frequencies; a new feature dim by default
    :param use_mask: samples behind a sequence's end are 0. Default: from behaviour version 23 on
    :return: complex64, [.., frames, frequencies]; the dim of frames; that of frequencies
    """
    require_dims(x, [in_spatial_dim], op="stft")
    fft_length = fft_length or frame_length
    if use_mask or (use_mask is None and BehaviorVersion.has(Change.CONV_AND_POOL_MASK)):
        x = mask_padding(x, dims_to_mask(x, [in_spatial_dim]), 0)
    frames = longer_dim(in_spatial_dim, end_padding - (frame_length - 1))
    frames = frames.ceildiv_right(frame_step) if frame_step != 1 else frames
    frames = same_as(out_spatial_dim, frames)
    num_bins = fft_length // 2 + 1 if one_sided else fft_length
    if out_dim is None:
        out_dim = Dim(num_bins, description="frequency", kind=DimKind.Feature, auto_generated=True)
    if out_dim.dimension != num_bins:
        raise DimError("stft: there are %i frequencies, but out_dim is %s" % (num_bins, out_dim))
    place = x.get_axis_from_dim(in_spatial_dim)
    rest = [i for i in range(x.batch_ndim) if i != place]
    dims = [*[x.dims[i] for i in rest], frames, out_dim]
    time = frames if x.time_dim == in_spatial_dim else x.time_dim
    res = x.like(None, dims=dims, dtype="complex64", feature_dim=out_dim, time_dim=time, name="stft")
    if x.raw_tensor is None:
        return res, frames, out_dim
    backend, raw = x._raw_backend, x.raw_tensor
    if place != len(rest):
        raw = backend.transpose(raw, [*rest, place])
    if end_padding > 0:
        raw = backend.pad(raw, [*[(0, 0)] * len(rest), (0, end_padding)])
    elif end_padding < 0:
        raw = backend.slice(raw, len(rest), None, end_padding)
    raw = backend.frames(raw, axis=len(rest), size=frame_length, stride=frame_step)
    factors = hann_window(frame_length) if window is None else numpy.asarray(window, "float32")
    raw = backend.binary("mul", raw, backend.convert(factors, "float32"))
    res.raw_tensor = backend.fft(raw, fft_length, kind="rfft" if one_sided else "fft")
    return res, frames, out_dim


def istft(
    x: Tensor,
    *,
    in_spatial_dim: Dim,
    in_dim: Dim,
    frame_step: int,
    frame_length: int,
    fft_length: int | None = None,
    out_spatial_dim: Dim | None = None,
    use_mask: bool | None = None,
) -> tuple[Tensor, Dim]:
    """
    Undoes :func:`stft` with the Hann window, but for the borders, where fewer frames overlap.

    :param x: complex64, has frames and frequencies; other dims are independent of each other
    :param in_spatial_dim: frames
    :param in_dim: fft_length // 2 + 1 frequencies
    :param frame_step: samples from one frame to the next
    :param frame_length: samples of a frame
    :param fft_length: frame_length by default
    :param out_spatial_dim: frames * step + max(frame_length - step, 0); follows from the others by default
    :param use_mask: frames behind a sequence's end are 0. Default: from behaviour version 23 on
    :return: float32, [.., samples]; and that dim
    """
    require_dims(x, [in_spatial_dim, in_dim], op="istft")
    fft_length = fft_length or frame_length
    if in_dim.dimension != fft_length // 2 + 1:
        raise DimError("istft: there must be %i frequencies, but the dim is %s" % (fft_length // 2 + 1, in_dim))
    if use_mask or (use_mask is None and BehaviorVersion.has(Change.CONV_AND_POOL_MASK)):
        x = mask_padding(x, dims_to_mask(x, [in_spatial_dim]), 0)
    size = min(frame_length, fft_length)
    samples = Dim(size, description="samples", kind=DimKind.Feature, auto_generated=True)
    place = Dim(frame_length, description="frame", auto_generated=True)
    one = Dim(1, description="signal", kind=DimKind.Feature, auto_generated=True)
    x = x.copy_move_axis(x.get_axis_from_dim(in_dim), -1)
    backend = backend_of_raw(x.raw_tensor)
    raw = backend.fft(x.raw_tensor, fft_length, kind="irfft")
    if size < fft_length:
        raw = backend.slice(raw, x.batch_ndim - 1, None, size)
    dims = [*x.dims[:-1], samples]
    time = x.time_dim if x.time_dim in dims else None
    y = x.like(raw, dims=dims, dtype="float32", feature_dim=samples, time_dim=time)
    matrix = numpy.diag(_inverse_window(frame_length, frame_step))[:, None, :size]
    y, (out,) = transposed_conv(  # adds up where frames overlap
        y,
        filter=Tensor("overlap", [place, one, samples], "float32", raw_tensor=matrix),
        filter_size=[place],
        in_dim=samples,
        out_dim=one,
        in_spatial_dims=[in_spatial_dim],
        out_spatial_dims=[out_spatial_dim],
        padding="valid",
        strides=frame_step,
        use_mask=False,
    )
    return squeeze(y, one), out


def hann_window(size: int) -> numpy.ndarray:
    """
    :return: sin(pi n / m)^2 for n < size, with m = size if that is even, else size - 1
    """
    period = max(size - size % 2, 1)
    return (0.5 - 0.5 * numpy.cos(2 * math.pi * numpy.arange(size) / period)).astype("float32")


def _inverse_window(size: int, step: int) -> numpy.ndarray:
    """:return: w / (sum of w^2 of all frames that overlap there), where w is the Hann window"""
    window = hann_window(size).astype("float64")
    num = -(-size // step)
    total = numpy.pad(window**2, (0, num * step - size)).reshape(num, step).sum(0)
    total[total == 0] = 1  # where no frame is seen
    return (window / numpy.tile(total, num)[:size]).astype("float32")


def real_as_complex(x: Tensor, *, axis: Dim | None = None, out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    """
    :param x: float32
    :param axis: of x; static, even; real and imaginary parts take turns. The feature dim by default
    :param out_dim: half as large; follows by default
    :return: complex64, with the new dim in place of axis; and that dim
    """
    axis = _axis_or_feature(x, axis, "real_as_complex")
    if axis.require_static() % 2:
        raise DimError("real_as_complex: the size of %s must be even" % axis)
    out_dim = out_dim or axis.div_right(2)
    y = split_dims(x, axis=axis, dims=[out_dim, _PARTS])
    if x.feature_dim == axis:
        y.feature_dim = out_dim
    return make_complex(*unstack(y, axis=_PARTS)), out_dim


def complex_as_real(x: Tensor, *, axis: Dim | None = None, out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    """
    :param x: complex64
    :param axis: of x; the feature dim by default
    :param out_dim: twice as large; follows by default
    :return: float32, real and imaginary parts take turns on the new dim, in place of axis; and that dim
    """
    axis = _axis_or_feature(x, axis, "complex_as_real")
    if not x.dtype.startswith("complex"):
        raise DimError("complex_as_real: the input must be complex, but is %s" % x.dtype)
    place = x.get_axis_from_dim(axis) + 1
    order = [*x.dims[:place], _PARTS, *x.dims[place:]]
    y, _ = stack([real(x), imag(x)], out_dim=_PARTS, dim_order=order)
    y, out_dim = merge_dims(y, dims=[axis, _PARTS], out_dim=out_dim or axis * 2)
    y.feature_dim = out_dim if x.feature_dim == axis else x.feature_dim
    return y, out_dim


def _axis_or_feature(x: Tensor, axis: Dim | None, op: str) -> Dim:
    axis = axis or x.feature_dim
    if axis is None:
        raise DimError("%s: axis must be given, as %s has no feature dim" % (op, x))
    require_dims(x, [axis], op=op)
    return axis


def dct(x: Tensor, *, axis: Dim, type: int = 2, norm: str | None = None) -> Tensor:
    """
    Discrete cosine transform of one axis of N entries::

        1: y[k] = x[0] + (-1)^k x[N - 1] + 2 sum over 0 < n < N - 1 of x[n] cos(pi k n / (N - 1))
        2: y[k] = 2 sum of x[n] cos(pi k (2 n + 1) / (2 N))
        3: y[k] = x[0] + 2 sum over n > 0 of x[n] cos(pi (2 k + 1) n / (2 N))
        4: y[k] = 2 sum of x[n] cos(pi (2 k + 1) (2 n + 1) / (4 N))

    :param axis: of x; static
    :param type: see above
    :param norm: None, or "ortho": the transform is orthonormal; not for type 1
    :return: dims of x
    """
    require_dims(x, [axis], op="dct")
    matrix = _dct_matrix(axis.require_static(), type, norm)
    out = Dim(axis.dimension, description="cosine", kind=axis.kind, auto_generated=True)
    y = matmul(x, Tensor("dct", [axis, out], x.dtype, raw_tensor=matrix.astype(x.dtype)), reduce=axis)
    y = replace_dim(y, in_dim=out, out_dim=axis).copy_transpose(x.dims)
    return x.like(y.raw_tensor, name="dct")


def _dct_matrix(size: int, type: int, norm: str | None) -> numpy.ndarray:
    """:return: [n, k]"""
    if type not in (1, 2, 3, 4) or norm not in (None, "ortho") or (type == 1 and (norm or size < 2)):
        raise DimError(
            "dct: type must be 1, 2, 3 or 4 and norm None or 'ortho', type 1 has neither norm nor fewer than two"
            " entries; but they are %r, %r, and %i entries" % (type, norm, size)
        )
    n, k = numpy.arange(size)[:, None], numpy.arange(size)[None]
    factor = {
        1: lambda: numpy.cos(math.pi * k * n / (size - 1)),
        2: lambda: numpy.cos(math.pi * k * (2 * n + 1) / (2 * size)),
        3: lambda: numpy.cos(math.pi * (2 * k + 1) * n / (2 * size)),
        4: lambda: numpy.cos(math.pi * (2 * k + 1) * (2 * n + 1) / (4 * size)),
    }[type]()
    matrix = 2 * factor
    ends = {1: [0, -1], 3: [0]}.get(type, [])
    matrix[ends] /= 2
    if norm == "ortho":
        matrix *= math.sqrt(1 / (2 * size))
        if type == 2:
            matrix[:, 0] /= math.sqrt(2)
        elif type == 3:
            matrix[0] *= math.sqrt(2)
    return matrix
