"""Features of audio signals."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend.audio import mel_filters
from returnn.tensor import DimError, FeatureDim, Tensor, batch_dim

from .contract import FEATURE, TIME, Case, X, contract_tests

MEL = FeatureDim("mel", 3)


def mel(x: Tensor, **options: Any) -> Tensor:
    return rf.audio.mel_filterbank(x, in_dim=FEATURE, out_dim=MEL, sampling_rate=16000, **options)


def reference(x: Any) -> Any:
    return x @ mel_filters(num_filters=3, sampling_rate=16000, fft_length=6, f_min=0, f_max=8000)


TestContract = contract_tests([Case("mel_filterbank", [X], mel, reference, gradient=True)])


def test_mel_filters() -> None:
    """Rows 1 to 5 for 16 samples at 16 kHz, and the sums of the columns."""
    matrix = mel_filters(num_filters=3, sampling_rate=16000, fft_length=16, f_min=0, f_max=8000)
    expected = [(0.6656, 0.3344, 0), (0, 0.8928, 0.1072), (0, 0.4311, 0.5689), (0, 0, 0.9837), (0, 0, 0.7377)]
    numpy.testing.assert_allclose(matrix[1:6], expected, atol=5e-5)
    assert not matrix[0].any() and not matrix[8].any()
    numpy.testing.assert_allclose(matrix.sum(0), [0.665640, 1.658193, 3.135315], atol=1e-6)


def test_mel_filters_without_any_frequency_are_zero() -> None:
    """corners between two bins"""
    assert not mel_filters(num_filters=2, sampling_rate=16000, fft_length=4, f_min=100, f_max=3000).any()


def test_mel_filterbank_takes_the_place_of_the_features() -> None:
    """other axes stay"""
    x = X.copy_transpose([FEATURE, batch_dim, TIME])
    y = mel(x)
    assert (y.dims, y.feature_dim, y.time_dim) == ((MEL, batch_dim, TIME), MEL, TIME)
    with pytest.raises(DimError, match="fft_length 8 means 5 frequencies, but the input has"):
        mel(x, fft_length=8)
