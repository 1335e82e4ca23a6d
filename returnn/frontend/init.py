"""How parameters start: descriptions without backend. A backend turns them into values.

``draw`` gives the value in numpy. TensorFlow draws with its own generators instead, so that networks start there as
they always did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from returnn.tensor import DimError

TRUNCATED_STDDEV = 0.87962566103423978
"""standard deviation of a standard normal distribution that is cut at two standard deviations"""


@dataclass(frozen=True)
class ParamInit:
    """Base class."""

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """
        :param shape: of the parameter
        :param rnd: where random numbers come from
        :return: value of this shape
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Constant(ParamInit):
    """A number, or an array of the shape of the parameter."""

    value: Any = 0.0
    seed: None = None

    def array(self, shape: Sequence[int], dtype: str | None = None) -> numpy.ndarray:
        """
        :return: value of this shape
        :raises DimError: an array of another shape
        """
        value = numpy.asarray(self.value, dtype=dtype)
        if value.ndim and value.shape != tuple(shape):
            raise DimError("initial value has shape %s, but the parameter %s" % (value.shape, tuple(shape)))
        return numpy.broadcast_to(value, tuple(shape)).copy()

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """nothing is drawn"""
        return self.array(shape)


@dataclass(frozen=True)
class Computed(ParamInit):
    """What a graph computes, without data. Not for backends that compute at once, which have the value itself."""

    raw: Any
    """tensor of the graph"""


@dataclass(frozen=True)
class VarianceScaling(ParamInit):
    """Variance ``scale / fan``, where fan is that of the input (fan_in), the output (fan_out) or the mean (fan_avg)."""

    scale: float = 1.0
    mode: str = "fan_in"
    distribution: str = "truncated_normal"
    """truncated_normal (cut at two standard deviations), untruncated_normal, uniform"""
    seed: int | None = None

    def variance(self, shape: Sequence[int]) -> float:
        """
        :return: of each entry
        """
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        return self.scale / max(1.0, fan)

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """see the class"""
        variance = self.variance(shape)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return rnd.uniform(-limit, limit, size=shape)
        if self.distribution == "untruncated_normal":
            return rnd.normal(0.0, math.sqrt(variance), size=shape)
        return _truncated_normal(shape, rnd) * (math.sqrt(variance) / TRUNCATED_STDDEV)


@dataclass(frozen=True)
class VarianceScalingNonZero(VarianceScaling):
    """Like :class:`VarianceScaling`, moved away from zero: x becomes (1 - f) x + f sign(x) limit, so that no absolute
    value is below f * limit. The limit is where the uniform distribution ends, and two standard deviations of the
    normal one."""

    non_zero_fraction: float = 0.5
    """f, in [0, 1]"""

    def limit(self, shape: Sequence[int]) -> float:
        """
        :return: no value is larger
        """
        factor = math.sqrt(3.0) if self.distribution == "uniform" else 2.0
        return factor * math.sqrt(self.variance(shape))

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """see the class"""
        limit, fraction = self.limit(shape), self.non_zero_fraction
        if self.distribution == "uniform":
            values = rnd.uniform(-limit, limit, size=shape)
        else:
            values = _truncated_normal(shape, rnd) * (limit / 2)
        return values * (1 - fraction) + numpy.sign(values) * (fraction * limit)


@dataclass(frozen=True)
class RandomNormal(ParamInit):
    """Normal distribution; truncated: cut at two standard deviations."""

    mean: float = 0.0
    stddev: float = 0.05
    truncated: bool = False
    seed: int | None = None

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """see the class"""
        values = _truncated_normal(shape, rnd) if self.truncated else rnd.normal(size=shape)
        return values * self.stddev + self.mean


@dataclass(frozen=True)
class RandomUniform(ParamInit):
    """Uniform in [minval, maxval)."""

    minval: float = 0.0
    maxval: float = 1.0
    seed: int | None = None

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """see the class"""
        return rnd.uniform(self.minval, self.maxval, size=shape)


@dataclass(frozen=True)
class Orthogonal(ParamInit):
    """Orthogonal matrix times gain; leading axes are merged."""

    gain: float = 1.0
    seed: int | None = None

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """see the class"""
        rows, columns = math.prod(shape[:-1]), shape[-1]
        matrix, upper = numpy.linalg.qr(rnd.normal(size=(max(rows, columns), min(rows, columns))))
        matrix = matrix * numpy.sign(numpy.diag(upper))  # without it some directions would be more likely than others
        return (matrix if rows >= columns else matrix.T).reshape(shape) * self.gain


@dataclass(frozen=True)
class Identity(ParamInit):
    """Identity matrix times gain."""

    gain: float = 1.0
    seed: None = None

    def draw(self, shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
        """nothing is drawn"""
        rows, columns = shape
        return numpy.eye(rows, columns) * self.gain


def gammatone_filterbank(
    *,
    num_channels: int,
    length: float,
    sample_rate: float = 16000,
    freq_max: float = 7500.0,
    freq_min: float = 100.0,
    normalization: bool = True,
) -> numpy.ndarray:
    """
    Filters as the ear has them: t^3 exp(-2 pi t b(f)) cos(2 pi t f), with the equivalent rectangular bandwidth
    b(f) = 24.7 (1 + 4.37 f / 1000). The centers f are equally distant on the scale log(f / 165.4 + 0.88).

    :param num_channels: number of filters
    :param length: seconds
    :param sample_rate: samples a second
    :param freq_max: Hz, of the last filter
    :param freq_min: Hz, of the first filter
    :param normalization: the largest response of each filter to 512 frequencies is 1
    :return: [samples, num_channels]; the first sample is that at t = 1 / sample_rate
    """
    time = numpy.arange(1, int(length * sample_rate) + 1)[:, None] / sample_rate
    scale, offset = 165.4, 0.88
    first, last = (math.log10(frequency / scale + offset) for frequency in (freq_min, freq_max))
    centers = scale * (10 ** numpy.linspace(first, last, num_channels) - offset)
    bandwidths = 24.7 * (1 + 4.37e-3 * centers)
    filters = time**3 * numpy.exp(-2 * math.pi * bandwidths * time) * numpy.cos(2 * math.pi * centers * time)
    if normalization:
        num = 512
        padded = numpy.pad(filters, [(0, -len(filters) % (2 * num)), (0, 0)])
        folded = padded.reshape(-1, 2 * num, num_channels).sum(0)  # has the same response at these frequencies
        filters = filters / numpy.abs(numpy.fft.rfft(folded, axis=0)[:num]).max(0)
    return filters


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """
    :param shape: [.., in, out]; the leading axes are those of a filter
    :return: number of inputs of an output, number of outputs of an input
    """
    if not shape:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    field = math.prod(shape[:-2])
    return float(field * shape[-2]), float(field * shape[-1])


def _truncated_normal(shape: tuple[int, ...], rnd: numpy.random.RandomState) -> numpy.ndarray:
    values = numpy.asarray(rnd.normal(size=shape))
    while (outside := numpy.abs(values) > 2).any():
        values[outside] = rnd.normal(size=int(outside.sum()))
    return values
