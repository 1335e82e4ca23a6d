"""Random changes of audio: louder, faster, longer, higher. And the changes themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean

PERMUTE_OPTIONS: dict[str, float] = {
    "rnd_scale_lower": 0.8,
    "rnd_scale_upper": 1.0,
    "rnd_zoom_switch": 0.2,
    "rnd_zoom_lower": 0.9,
    "rnd_zoom_upper": 1.1,
    "rnd_zoom_order": 3,
    "rnd_stretch_switch": 0.2,
    "rnd_stretch_lower": 0.9,
    "rnd_stretch_upper": 1.2,
    "rnd_pitch_switch": 0.2,
    "rnd_pitch_lower": -1.0,
    "rnd_pitch_upper": 1.0,
}
"""Option of ``random_permute`` -> default. A switch is a probability."""


def parse_permute_options(options: Any) -> dict[str, float] | None:
    """
    :param options: None or False: nothing is changed; True: the defaults; or a dict of some of them
    :return: all of :data:`PERMUTE_OPTIONS`
    :raises ConfigError: one does not exist
    """
    if options is None or options is False:
        return None
    if options is True:
        options = {}
    if not isinstance(options, Mapping):
        raise ConfigError(f"audio option random_permute must be True or a dict, but is {options!r}")
    for name in options:
        if name not in PERMUTE_OPTIONS:
            raise ConfigError(
                f"audio option random_permute: {name!r} is unknown.{did_you_mean(str(name), PERMUTE_OPTIONS)}"
                f" There are: {', '.join(PERMUTE_OPTIONS)}"
            )
    return {**PERMUTE_OPTIONS, **options}


def random_permute(
    audio: numpy.ndarray, sample_rate: int, options: Mapping[str, float], rng: numpy.random.RandomState
) -> numpy.ndarray:
    """
    :param audio: [time]
    :param options: see :func:`parse_permute_options`
    :param rng: gives the scale; then, for zoom, stretch and pitch, whether, and if so, how much
    :return: [another time]
    """

    def draw(what: str) -> float:
        return rng.uniform(options[f"rnd_{what}_lower"], options[f"rnd_{what}_upper"])

    def switched_on(what: str) -> bool:
        return rng.uniform(0.0, 1.0) < options[f"rnd_{what}_switch"]

    audio = audio * draw("scale")
    if switched_on("zoom"):
        audio = zoom(audio, draw("zoom"), order=int(options["rnd_zoom_order"]))
    if switched_on("stretch"):
        audio = time_stretch(audio, draw("stretch"))
    if switched_on("pitch"):
        audio = pitch_shift(audio, draw("pitch"))
    return audio


def zoom(audio: numpy.ndarray, factor: float, order: int = 3) -> numpy.ndarray:
    """
    :param audio: [time]
    :param factor: more than 1: longer and lower
    :param order: of the splines
    :return: [round(time * factor)]
    """
    try:
        import scipy.ndimage  # noqa: PLC0415  # heavy, optional
    except ImportError as exc:
        raise UserError(
            "audio option random_permute: rnd_zoom_switch needs scipy: pip install returnn[audio]."
            ' Or do without: {"rnd_zoom_switch": 0}'
        ) from exc
    return scipy.ndimage.zoom(audio, factor, order=order)


def time_stretch(audio: numpy.ndarray, rate: float, num_points: int = 2048) -> numpy.ndarray:
    """Other duration, same pitch, by a phase vocoder.

    :param audio: [time]
    :param rate: more than 1: faster
    :param num_points: of a Fourier transform, 4 to a frame
    :return: [round(time / rate)]
    """
    hop = num_points // 4
    window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(num_points) / num_points)
    padded = numpy.pad(audio, num_points // 2)
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, num_points)[::hop]
    spectrum = numpy.fft.rfft(frames * window)
    steps = numpy.arange(0, len(spectrum), rate)
    num_out = round(len(audio) / rate)
    stretched = numpy.fft.irfft(_phase_vocoder(spectrum, steps, hop), n=num_points) * window
    size = num_points + hop * (len(steps) - 1)
    result, weight = numpy.zeros(size), numpy.zeros(size)
    for i, frame in enumerate(stretched):
        result[i * hop : i * hop + num_points] += frame
        weight[i * hop : i * hop + num_points] += window**2
    result = numpy.divide(result, weight, out=result, where=weight > numpy.finfo("float32").tiny)
    result = result[num_points // 2 :][:num_out]
    return numpy.pad(result, (0, num_out - len(result)))


def _phase_vocoder(spectrum: numpy.ndarray, steps: numpy.ndarray, hop: int) -> numpy.ndarray:
    """
    :param spectrum: [frames, bins]
    :param steps: [new frames], positions on the axis of frames
    :return: [new frames, bins]; phases go on as from each frame to the next one
    """
    num_bins = spectrum.shape[1]
    expected = numpy.linspace(0.0, numpy.pi * hop, num_bins)
    spectrum = numpy.concatenate([spectrum, numpy.zeros((2, num_bins))])
    index = steps.astype(int)
    part = (steps - index)[:, None]
    magnitude = (1.0 - part) * numpy.abs(spectrum[index]) + part * numpy.abs(spectrum[index + 1])
    change = numpy.angle(spectrum[index + 1]) - numpy.angle(spectrum[index]) - expected
    change = change - 2.0 * numpy.pi * numpy.round(change / (2.0 * numpy.pi)) + expected
    phase = numpy.angle(spectrum[0]) + numpy.cumsum(change, axis=0) - change
    return magnitude * numpy.exp(1j * phase)


def pitch_shift(audio: numpy.ndarray, num_semitones: float) -> numpy.ndarray:
    """Other pitch, same duration.

    :param audio: [time]
    :param num_semitones: more than 0: higher
    :return: [time]
    """
    rate = 2.0 ** (-num_semitones / 12)
    stretched = time_stretch(audio, rate)
    result = resample(stretched, round(len(stretched) * rate))[: len(audio)]
    return numpy.pad(result, (0, len(audio) - len(result)))


def resample(audio: numpy.ndarray, num_samples: int) -> numpy.ndarray:
    """Samples at other times, from the Fourier series; what is above the new half rate is dropped.

    :param audio: [time, ...]
    :param num_samples: for the same duration
    :return: [num_samples, ...]
    """
    if num_samples == len(audio) or not len(audio) or not num_samples:
        return audio[:num_samples]
    spectrum = numpy.fft.rfft(audio, axis=0)
    if num_samples > len(audio) and len(audio) % 2 == 0:
        spectrum[-1] *= 0.5  # this frequency stood for itself and its mirror image
    elif num_samples < len(audio) and num_samples % 2 == 0:
        spectrum[num_samples // 2] *= 2.0  # and this one does from now on
    result = numpy.fft.irfft(spectrum, n=num_samples, axis=0)
    return result * (num_samples / len(audio))
