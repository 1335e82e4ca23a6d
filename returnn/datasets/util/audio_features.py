"""Features of audio, by formulas of numpy alone.

Notation: x [time] samples; N = int(window_len * sample_rate) samples a frame, hop = int(step_len * sample_rate) samples
from one to the next; frames [num_frames, N]; power spectrum P [num_frames, N // 2 + 1] with the periodic Hann window;
mel spectrum M = P W.

Law: with ``center``, frame i has sample ``i * hop`` in its middle, so there are ``1 + len(x) // hop`` frames (for even
N); what lies outside is zero, or mirrored (``pad_mode="reflect"``). Without, frames start at ``i * hop`` and all of
them lie inside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError

_block_size = 2**20
"""About so many samples of frames are transformed at once: long recordings need no more memory than short ones."""


def mfcc(
    *,
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_feature_filters: int,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    center: bool = True,
    pad_mode: str = "constant",
) -> numpy.ndarray:
    """Cepstral coefficients of the mel spectrum in dB, 80 dB below its maximum at least; the first one is not c_0 but
    the root mean square of the frame.

    :param audio: [time]
    :return: [num_frames, num_feature_filters]
    """
    if num_feature_filters > n_mels:
        raise ConfigError(f"mfcc: num_feature_filters={num_feature_filters} is more than n_mels={n_mels}")
    frame_len, hop = _frame_len(window_len, sample_rate), _hop(step_len, sample_rate)
    padded = _padded(audio, frame_len, center, pad_mode)
    filters = mel_filters(sample_rate, frame_len, n_mels, fmin, fmax)
    decibel = 10 * numpy.log10(numpy.maximum(_spectrum(padded, frame_len, hop, lambda p: p @ filters), 1e-10))
    decibel = numpy.maximum(decibel, decibel.max(initial=-numpy.inf) - 80)
    result = decibel @ _dct(n_mels)[:, :num_feature_filters]
    result[:, 0] = numpy.concatenate(
        [numpy.sqrt(numpy.mean(numpy.square(frames), axis=1)) for frames in _frame_blocks(padded, frame_len, hop)]
    )
    return result


def log_mel_filterbank(
    *,
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_feature_filters: int,
    pad_mode: str = "constant",
) -> numpy.ndarray:
    """ln max(M, 0.001).

    :param audio: [time]
    :return: [num_frames, num_feature_filters]
    """
    return numpy.log(
        numpy.maximum(
            _mel_spectrum(audio, sample_rate, window_len, step_len, num_feature_filters, pad_mode=pad_mode), 1e-3
        )
    )


def log_log_mel_filterbank(
    *,
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_feature_filters: int,
    pad_mode: str = "constant",
) -> numpy.ndarray:
    """:func:`log_mel_filterbank` L as an amplitude in dB: 20 log10 max(abs(L), 0.00001), at least its maximum - 80.

    :param audio: [time]
    :return: [num_frames, num_feature_filters]
    """
    log_mel = log_mel_filterbank(
        audio=audio,
        sample_rate=sample_rate,
        window_len=window_len,
        step_len=step_len,
        num_feature_filters=num_feature_filters,
        pad_mode=pad_mode,
    )
    decibel = 20 * numpy.log10(numpy.maximum(numpy.abs(log_mel), 1e-5))
    return numpy.maximum(decibel, decibel.max(initial=-numpy.inf) - 80)


def db_mel_filterbank(
    *,
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_feature_filters: int,
    fmin: float = 0.0,
    fmax: float | None = None,
    min_amp: float = 1e-10,
    center: bool = True,
    pad_mode: str = "constant",
) -> numpy.ndarray:
    """20 log10 max(M, min_amp).

    :param audio: [time]
    :return: [num_frames, num_feature_filters]
    """
    mel = _mel_spectrum(
        audio, sample_rate, window_len, step_len, num_feature_filters, fmin, fmax, center=center, pad_mode=pad_mode
    )
    return 20 * numpy.log10(numpy.maximum(mel, min_amp))


def linear_spectrogram(
    *,
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_feature_filters: int,
    center: bool = True,
    pad_mode: str = "constant",
) -> numpy.ndarray:
    """Amplitudes of ``2 * num_feature_filters`` points, the window in their middle, without the mean.

    :param audio: [time]
    :param num_feature_filters: an even number, at least half of the samples of a window
    :return: [num_frames, num_feature_filters]
    """
    frame_len, hop = _frame_len(window_len, sample_rate), _hop(step_len, sample_rate)
    num_points = 2 * num_feature_filters
    if num_feature_filters % 2 or num_points < frame_len:
        raise ConfigError(
            f"linear_spectrogram: num_feature_filters={num_feature_filters} must be even, and at least half of the"
            f" {frame_len} samples of a window ({window_len} s at {sample_rate} Hz)"
        )
    window = numpy.zeros(num_points)
    start = (num_points - frame_len) // 2
    window[start : start + frame_len] = hann(frame_len)
    padded = _padded(audio, num_points, center, pad_mode)
    return numpy.concatenate(
        [numpy.abs(numpy.fft.rfft(frames * window))[:, 1:] for frames in _frame_blocks(padded, num_points, hop)]
    )


def raw(
    *, audio: numpy.ndarray, sample_rate: int, window_len: float, step_len: float, num_feature_filters: int
) -> numpy.ndarray:
    """The samples.

    :param audio: [time], or [time, channels]
    :return: ``audio`` with a last axis of size 1
    """
    if num_feature_filters != 1:
        raise ConfigError(f"raw: num_feature_filters must be 1, but is {num_feature_filters}")
    return audio[..., None]


def raw_ogg(
    *, audio: numpy.ndarray, sample_rate: int, window_len: float, step_len: float, num_feature_filters: int
) -> numpy.ndarray:
    """Not available."""
    raise ConfigError(
        'audio features "raw_ogg" are made by a C library that is not part of this package.'
        f" Use one of: {', '.join(name for name in FEATURES if name != 'raw_ogg')}; or a function of your own."
    )


def f0(
    *,
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_feature_filters: int,
    fmin: float = 71.0,
    fmax: float = 800.0,
) -> numpy.ndarray:
    """Fundamental frequency in Hz, 0 where there is none. By the package pyworld.

    :param audio: [time]
    :return: [num_frames, 1]
    """
    if num_feature_filters != 1:
        raise ConfigError(f"f0: num_feature_filters must be 1, but is {num_feature_filters}")
    try:
        import pyworld  # noqa: PLC0415  # optional
    except ImportError as exc:
        raise UserError('audio features "f0" need the package pyworld: pip install pyworld') from exc
    samples = numpy.ascontiguousarray(audio, dtype="float64")
    coarse, times = pyworld.dio(samples, sample_rate, f0_floor=fmin, f0_ceil=fmax, frame_period=step_len * 1000)
    return numpy.nan_to_num(pyworld.stonemask(samples, coarse, times, sample_rate))[:, None]


FEATURES: dict[str, Callable[..., numpy.ndarray]] = {
    "mfcc": mfcc,
    "log_mel_filterbank": log_mel_filterbank,
    "log_log_mel_filterbank": log_log_mel_filterbank,
    "db_mel_filterbank": db_mel_filterbank,
    "linear_spectrogram": linear_spectrogram,
    "raw": raw,
    "raw_ogg": raw_ogg,
    "f0": f0,
}
"""Name in a config -> function."""


def hann(size: int) -> numpy.ndarray:
    """
    :return: [size], the periodic Hann window
    """
    return 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(size) / size)


@functools.lru_cache(maxsize=16)
def mel_filters(
    sample_rate: int, frame_len: int, num_filters: int, fmin: float = 0.0, fmax: float | None = None
) -> numpy.ndarray:
    """
    :param frame_len: number of points of the Fourier transform
    :param fmin: lower end of the first filter, in Hz
    :param fmax: upper end of the last one. None: half of the sample rate
    :return: [frame_len // 2 + 1, num_filters], triangles of area 1 (in Hz), equally far apart on Slaney's mel scale
    """
    ends = _hz_to_mel(numpy.array([fmin, sample_rate / 2 if fmax is None else fmax]))
    edges = _mel_to_hz(numpy.linspace(ends[0], ends[1], num_filters + 2))
    freqs = numpy.arange(frame_len // 2 + 1) * (sample_rate / frame_len)
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    rising = (freqs[:, None] - left) / (middle - left)
    falling = (right - freqs[:, None]) / (right - middle)
    filters = numpy.maximum(0.0, numpy.minimum(rising, falling)) * (2.0 / (right - left))
    filters.flags.writeable = False  # it is shared
    return filters


_mel_of_1000_hz = 15.0
_mels_per_log_hz = 27.0 / numpy.log(6.4)


def _hz_to_mel(hz: numpy.ndarray) -> numpy.ndarray:
    log_hz = numpy.log(numpy.maximum(hz, 1000.0) / 1000.0)
    return numpy.where(hz < 1000.0, 3.0 * hz / 200.0, _mel_of_1000_hz + _mels_per_log_hz * log_hz)


def _mel_to_hz(mel: numpy.ndarray) -> numpy.ndarray:
    high = 1000.0 * numpy.exp(numpy.maximum(mel - _mel_of_1000_hz, 0.0) / _mels_per_log_hz)
    return numpy.where(mel < _mel_of_1000_hz, 200.0 * mel / 3.0, high)


@functools.lru_cache(maxsize=16)
def _dct(size: int) -> numpy.ndarray:
    """:return: [size, size], input * coefficient, orthonormal (type II)"""
    positions = numpy.arange(size) + 0.5
    result = numpy.sqrt(2.0 / size) * numpy.cos(numpy.pi / size * positions[:, None] * numpy.arange(size))
    result[:, 0] = numpy.sqrt(1.0 / size)
    return result


def _frame_len(window_len: float, sample_rate: int) -> int:
    frame_len = int(window_len * sample_rate)
    if frame_len < 1:
        raise ConfigError(f"audio: a window of {window_len} s has no sample at {sample_rate} Hz")
    return frame_len


def _hop(step_len: float, sample_rate: int) -> int:
    hop = int(step_len * sample_rate)
    if hop < 1:
        raise ConfigError(f"audio: a step of {step_len} s has no sample at {sample_rate} Hz")
    return hop


def _padded(audio: numpy.ndarray, frame_len: int, center: bool, pad_mode: str) -> numpy.ndarray:
    if pad_mode not in ("constant", "reflect"):
        raise ConfigError(f'audio: pad_mode must be "constant" or "reflect", but is {pad_mode!r}')
    return numpy.pad(audio, frame_len // 2, mode=pad_mode) if center else audio  # type: ignore[call-overload]


def _frame_blocks(padded: numpy.ndarray, frame_len: int, hop: int) -> Iterator[numpy.ndarray]:
    """:return: the frames, some at a time: [n, frame_len]. At least one block, maybe without frames."""
    if len(padded) < frame_len:
        yield numpy.zeros((0, frame_len))
        return
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, frame_len)[::hop]
    num_frames = max(_block_size // frame_len, 1)
    for start in range(0, len(frames), num_frames):
        yield frames[start : start + num_frames]


def _spectrum(
    padded: numpy.ndarray, frame_len: int, hop: int, func: Callable[[numpy.ndarray], numpy.ndarray]
) -> numpy.ndarray:
    """:return: ``func`` of the power spectrum [n, frame_len // 2 + 1], all frames"""
    window = hann(frame_len)
    blocks = []
    for frames in _frame_blocks(padded, frame_len, hop):
        spectrum: Any = numpy.fft.rfft(frames * window)
        blocks.append(func(numpy.square(spectrum.real) + numpy.square(spectrum.imag)))
    return numpy.concatenate(blocks)


def _mel_spectrum(
    audio: numpy.ndarray,
    sample_rate: int,
    window_len: float,
    step_len: float,
    num_filters: int,
    fmin: float = 0.0,
    fmax: float | None = None,
    *,
    center: bool = True,
    pad_mode: str = "constant",
) -> numpy.ndarray:
    frame_len, hop = _frame_len(window_len, sample_rate), _hop(step_len, sample_rate)
    filters = mel_filters(sample_rate, frame_len, num_filters, fmin, fmax)
    return _spectrum(_padded(audio, frame_len, center, pad_mode), frame_len, hop, lambda power: power @ filters)


def deltas(features: numpy.ndarray, order: int, width: int = 9) -> numpy.ndarray:
    """Derivative over time by local polynomials of degree ``order`` (Savitzky-Golay). Near the ends, and where there
    are less than ``width`` frames, it is that of the polynomial through the first, last or all of them.

    :param features: [time, dim]
    :param order: of the derivative
    :param width: number of frames that a polynomial is fitted to, odd
    :return: [time, dim]
    """
    num_frames = len(features)
    width = min(width, num_frames - 1 + num_frames % 2)  # shorter sequences: the largest odd number
    if width <= order:
        return numpy.zeros_like(features)
    half = width // 2
    positions = numpy.arange(width) - half
    fit = numpy.linalg.pinv(numpy.vander(positions, order + 1, increasing=True).astype("float64"))
    factor = float(numpy.prod(numpy.arange(1, order + 1)))
    kernel = fit[order] * factor  # the derivative of that order is constant
    windows = numpy.lib.stride_tricks.sliding_window_view(features, width, axis=0)  # [time - width + 1, dim, width]
    inner = windows @ kernel
    last = num_frames - half - len(inner)
    return numpy.concatenate([numpy.repeat(inner[:1], half, axis=0), inner, numpy.repeat(inner[-1:], last, axis=0)])
