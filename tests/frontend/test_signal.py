"""Fourier and cosine transforms, complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend.signal import hann_window
from returnn.tensor import Dim, DimError, FeatureDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf

from .contract import FEATURE, TIME, Case, X, contract_tests

SAMPLES = Tensor("samples", [batch_dim, TIME], "float32", time_dim_axis=1)


def stft_as_real(x: Tensor, step: int = 1, length: int = 2, **options: Any) -> Tensor:
    y, _, _ = rf.stft(x, in_spatial_dim=TIME, frame_step=step, frame_length=length, use_mask=True, **options)
    return rf.complex_as_real(y)[0]


def frames(x: Any, step: int, length: int) -> Any:
    """x [T]"""
    starts = range(0, len(x) - length + 1, step)
    return numpy.array([x[t : t + length] for t in starts]).reshape(len(starts), length)


def as_real(z: Any) -> Any:
    return numpy.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], 2 * z.shape[-1])


def stft_reference(step: int = 1, length: int = 2, fft: int = 2, window: Any = (0, 1)) -> Any:
    def compute(x: Any) -> Any:
        return as_real(numpy.fft.rfft(frames(x, step, length) * numpy.array(window), fft))

    return compute


def istft_of_stft(x: Tensor) -> Tensor:
    y, time, bins = rf.stft(x, in_spatial_dim=TIME, frame_step=1, frame_length=2, use_mask=True)
    return rf.istft(y, in_spatial_dim=time, in_dim=bins, frame_step=1, frame_length=2, use_mask=True)[0]


TestContract = contract_tests(
    [
        Case("stft", [SAMPLES], stft_as_real, stft_reference(), gradient=True),
        Case(
            "stft_filled",
            [SAMPLES],
            lambda x: stft_as_real(x, 2, 2, fft_length=5, window=[1, 2]),
            stft_reference(2, 2, 5, (1, 2)),
            gradient=True,
        ),
        Case(
            "stft_of_features",
            [X],
            lambda x: stft_as_real(x, 1, 3, window=[1, 1, 1]),
            lambda x: numpy.stack([stft_reference(1, 3, 3, (1, 1, 1))(x[:, i]) for i in range(4)]),
            gradient=True,
        ),
        Case(
            "stft_two_sided",
            [SAMPLES],
            lambda x: stft_as_real(x, 1, 3, one_sided=False, window=[1, 1, 1]),
            lambda x: as_real(numpy.fft.fft(frames(x, 1, 3))),
            gradient=True,
        ),
        Case(
            "stft_with_end",
            [SAMPLES],
            lambda x: stft_as_real(x, 2, 2, end_padding=1),
            lambda x: stft_reference(2)(numpy.pad(x, (0, 1))),
            gradient=True,
        ),
        Case(
            "istft",
            [SAMPLES],
            istft_of_stft,
            lambda x: numpy.pad(x[1:], (1, 0)) if len(x) > 1 else numpy.zeros(1),  # the window is 0 on the first sample
            gradient=True,
            min_len=1,
        ),
        Case(
            "complex_parts",
            [X],
            lambda x: rf.angle(rf.conj(rf.real_as_complex(x)[0])),
            lambda x: numpy.arctan2(-x[:, 1::2], x[:, ::2]),
            gradient=True,
        ),
        Case(
            "complex_abs",
            [X],
            lambda x: rf.abs(rf.real_as_complex(x)[0]),
            lambda x: numpy.hypot(x[:, ::2], x[:, 1::2]),
            gradient=True,
        ),
        Case(
            "complex_as_real",
            [X],
            lambda x: rf.complex_as_real(rf.make_complex(x, x * 2.0))[0],
            lambda x: numpy.stack([x, 2 * x], -1).reshape(len(x), 8),
            gradient=True,
        ),
        Case(
            "complex_square",
            [X],
            lambda x: rf.imag(rf.square(rf.real_as_complex(x)[0])) + rf.real(rf.real_as_complex(x)[0]),
            lambda x: 2 * x[:, ::2] * x[:, 1::2] + x[:, ::2],
            gradient=True,
        ),
        Case(
            "dct",
            [X],
            lambda x: rf.dct(x, axis=FEATURE),
            lambda x: 2 * x @ numpy.cos(math.pi / 8 * numpy.outer(2 * numpy.arange(4) + 1, numpy.arange(4))),
            gradient=True,
        ),
    ]
)


@pytest.mark.parametrize("type", [2, 3, 4])
def test_orthonormal_transforms_are_orthonormal(type: int) -> None:
    """Rows of the identity become an orthogonal matrix; types 2 and 3 undo each other."""
    x = Tensor("x", [Dim(4), FEATURE], "float32", raw_tensor=numpy.eye(4, dtype="float32"))
    y = rf.dct(x, axis=FEATURE, type=type, norm="ortho")
    numpy.testing.assert_allclose(y.raw_tensor @ y.raw_tensor.T, numpy.eye(4), atol=1e-6)
    back = rf.dct(y, axis=FEATURE, type={2: 3, 3: 2, 4: 4}[type], norm="ortho")
    numpy.testing.assert_allclose(back.raw_tensor, numpy.eye(4), atol=1e-6)


@pytest.mark.parametrize(("type", "norm"), [(5, None), (2, "some"), (1, "ortho")])
def test_dct_checks_its_arguments(type: int, norm: str | None) -> None:
    """type 1 has no norm"""
    with pytest.raises(DimError, match="dct: type must be 1, 2, 3 or 4 and norm None or 'ortho'"):
        rf.dct(X, axis=FEATURE, type=type, norm=norm)


def test_hann_window() -> None:
    """sin(pi n / 4)^2 for sizes 4 and 5; nothing of a single sample"""
    numpy.testing.assert_allclose(hann_window(4), [0, 0.5, 1, 0.5], atol=1e-7)
    numpy.testing.assert_allclose(hann_window(5), [0, 0.5, 1, 0.5, 0], atol=1e-7)
    assert hann_window(1).tolist() == [0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_long_frames(backend: str) -> None:
    """of more samples than slices would be good for: 0 to 19, frames of 10 every 5, the constant part of each"""
    feed = {TIME: [20], "samples": numpy.arange(20)[None]}
    y = run_rf(backend, lambda x: stft_as_real(x, 5, 10, window=[1] * 10), [SAMPLES], [feed]).values[0]
    assert y.shape == (1, 3, 12)
    numpy.testing.assert_allclose(y[0, :, 0], [45, 95, 145])


def test_equal_transforms_give_equal_dims() -> None:
    """frames: ceil((t - 3) / 2); samples: 2 frames + 2"""
    y, time, bins = rf.stft(SAMPLES, in_spatial_dim=TIME, frame_step=2, frame_length=4)
    assert (time, bins.dimension, y.dtype) == ((TIME - 3).ceildiv_right(2), 3, "complex64")
    assert (y.dims, y.feature_dim, y.time_dim) == ((batch_dim, time, bins), bins, time)
    z, out = rf.istft(y, in_spatial_dim=time, in_dim=bins, frame_step=2, frame_length=4)
    assert (z.dims, out, z.dtype) == ((batch_dim, out), time * 2 + 2, "float32")


def test_dims_that_do_not_fit() -> None:
    """named in the message"""
    options = {"in_spatial_dim": TIME, "frame_step": 2, "frame_length": 4}
    with pytest.raises(DimError, match="stft: there are 3 frequencies, but out_dim is"):
        rf.stft(SAMPLES, out_dim=FeatureDim("other", 4), **options)
    y, time, bins = rf.stft(SAMPLES, **options)
    with pytest.raises(DimError, match="istft: there must be 4 frequencies, but the dim is"):
        rf.istft(y, in_spatial_dim=time, in_dim=bins, frame_step=2, frame_length=6)
    with pytest.raises(DimError, match="complex_as_real: the input must be complex, but is float32"):
        rf.complex_as_real(X)
    with pytest.raises(DimError, match="real_as_complex: the size of .* must be even"):
        rf.real_as_complex(y, axis=bins)
    with pytest.raises(DimError, match="real_as_complex: axis must be given"):
        rf.real_as_complex(SAMPLES)
