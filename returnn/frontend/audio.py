"""Features of audio signals."""

from __future__ import annotations

import numpy

from returnn.tensor import Dim, DimError, Tensor

from .matmul import matmul


def mel_filterbank(
    x: Tensor,
    *,
    in_dim: Dim,
    out_dim: Dim,
    sampling_rate: float,
    fft_length: int | None = None,
    f_min: float | None = None,
    f_max: float | None = None,
) -> Tensor:
    """
    Sums of x over triangles on the frequency axis, equally wide on the mel scale, mel(f) = 1125 ln(1 + f / 700).

    :param x: magnitudes or powers, float32
    :param in_dim: of x, fft_length // 2 + 1 frequencies
    :param out_dim: filters
    :param sampling_rate: samples a second
    :param fft_length: by default the even one that in_dim says
    :param f_min: Hz; 0 by default
    :param f_max: Hz; half of the sampling rate by default
    :return: ``out_dim`` in place of ``in_dim``
    """
    num_bins = in_dim.require_static()
    fft_length = fft_length or 2 * (num_bins - 1)
    if fft_length // 2 + 1 != num_bins:
        raise DimError(
            "mel_filterbank: fft_length %i means %i frequencies, but the input has %s"
            % (fft_length, fft_length // 2 + 1, in_dim)
        )
    matrix = mel_filters(
        num_filters=out_dim.require_static(),
        sampling_rate=sampling_rate,
        fft_length=fft_length,
        f_min=0.0 if f_min is None else f_min,
        f_max=sampling_rate / 2 if f_max is None else f_max,
    )
    place = x.get_axis_from_dim(in_dim)
    filters = Tensor("mel", [in_dim, out_dim], x.dtype, raw_tensor=matrix.astype(x.dtype))
    y = matmul(x, filters, reduce=in_dim).copy_move_axis(-1, place)
    if x.feature_dim == in_dim:
        y.feature_dim = out_dim
    return y


def mel_filters(
    *, num_filters: int, sampling_rate: float, fft_length: int, f_min: float, f_max: float
) -> numpy.ndarray:
    """
    :return: [fft_length // 2 + 1, num_filters]; filter i rises from 0 at corner i to 1 at corner i + 1, and falls to 0
        at corner i + 2; corners are equally distant on the mel scale, from f_min to f_max
    """

    def mel(frequency: float) -> float:
        return float(1125 * numpy.log(1 + frequency / 700))

    mels = numpy.linspace(mel(f_min), mel(f_max), num_filters + 2)
    corners = 700 * (numpy.exp(mels / 1125) - 1) * fft_length / sampling_rate
    left, center, right = corners[:-2], corners[1:-1], corners[2:]
    bins = numpy.arange(fft_length // 2 + 1)[:, None]
    rising, falling = (bins - left) / (center - left), (right - bins) / (right - center)
    return numpy.maximum(0, numpy.minimum(rising, falling))
