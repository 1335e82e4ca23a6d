"""How parameters start."""

from __future__ import annotations

import numpy
import pytest

from returnn.frontend import init


def test_gammatone_filters() -> None:
    """t^3 exp(-2 pi t b) cos(2 pi t f) with b = 24.7 (1 + 0.00437 f), at t = 1 / 16000, of 100 and of 7500 Hz."""
    filters = init.gammatone_filterbank(num_channels=4, length=0.01, normalization=False)
    assert filters.shape == (160, 4)
    t = 1 / 16000
    for channel, frequency in ((0, 100.0), (3, 7500.0)):
        bandwidth = 24.7 * (1 + 0.00437 * frequency)
        expected = t**3 * numpy.exp(-2 * numpy.pi * t * bandwidth) * numpy.cos(2 * numpy.pi * t * frequency)
        assert filters[0, channel] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("length", [0.01, 0.1])
def test_gammatone_filters_are_normalised(length: float) -> None:
    """The largest response to one of 512 frequencies is 1, also of filters with more samples than that."""
    filters = init.gammatone_filterbank(num_channels=3, length=length, sample_rate=8000, freq_max=3800, freq_min=50)
    waves = numpy.exp(-1j * numpy.pi * numpy.outer(numpy.arange(512) / 512, numpy.arange(len(filters))))
    numpy.testing.assert_allclose(numpy.abs(waves @ filters).max(0), 1, rtol=1e-9)


@pytest.mark.parametrize(("distribution", "limit"), [("uniform", (3 / 50) ** 0.5), ("truncated_normal", 2 / 50**0.5)])
def test_variance_scaling_non_zero(distribution: str, limit: float) -> None:
    """[50, 60]: variance 1 / 50; absolute values between a quarter of the limit and the limit."""
    draw = init.VarianceScalingNonZero(distribution=distribution, non_zero_fraction=0.25)
    values = numpy.abs(draw.draw((50, 60), numpy.random.RandomState(1)))
    assert limit / 4 <= values.min() < 0.26 * limit
    assert 0.99 * limit < values.max() <= limit
