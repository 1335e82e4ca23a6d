"""Gradients as values, and values with another gradient than their own."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import DimError, FeatureDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf, visible

from .contract import TIME, X

GUESS = Tensor("guess", list(X.dims), "float32", feature_dim=X.feature_dim, time_dim_axis=1)
VALUES = numpy.random.RandomState(1).normal(size=(2, 3, 4))
GUESSES = numpy.random.RandomState(2).normal(size=(2, 3, 4))
FEED = {TIME: numpy.array([3, 1], "int32"), "x": VALUES}
FEED_BOTH = {**FEED, "guess": GUESSES}
REAL = numpy.array([[1, 1, 1], [1, 0, 0]], bool)[:, :, None]
WITH_GRADIENTS = BACKENDS[1:]


@pytest.mark.parametrize("backend", WITH_GRADIENTS)
def test_gradient_of_a_sum_of_cubes(backend: str) -> None:
    """3 x^2 on the real frames; its own gradient is 6 x."""

    def function(x: Tensor) -> Tensor:
        x = rf.watched(x)
        return rf.gradient(rf.reduce_sum(x * x * x, axis=x.dims), x)

    result = run_rf(backend, function, [X], [FEED], gradients=True)
    assert result.template.dims == X.dims and result.template.dtype == "float32"
    expected = numpy.where(REAL, 3 * VALUES**2, 0)
    numpy.testing.assert_allclose(visible(X, result.values[0], FEED), expected, rtol=1e-5)
    numpy.testing.assert_allclose(result.gradients[0][0], numpy.where(REAL, 6 * VALUES, 0), rtol=1e-5)


@pytest.mark.parametrize("backend", WITH_GRADIENTS)
@pytest.mark.parametrize("use_mask", [True, False])
@pytest.mark.parametrize("behind_end", [0.0, 1e30])
def test_synthetic_gradient(backend: str, use_mask: bool, behind_end: float) -> None:
    """Of the sum of x^2 the true gradient is g = 2 x. To x goes the guess; to the guess 2 scale / n (guess - g), where
    n counts the real entries, or all."""
    if not use_mask and behind_end:
        return
    feed = {**FEED_BOTH, "guess": numpy.where(REAL, GUESSES, behind_end) if use_mask else GUESSES}

    def function(x: Tensor, guess: Tensor) -> Tensor:
        return rf.square(rf.synthetic_gradient(x, synthetic=guess, scale=0.5, use_mask=use_mask))

    result = run_rf(backend, function, [X, GUESS], [feed], gradients=True)
    numpy.testing.assert_allclose(visible(X, result.values[0], feed), numpy.where(REAL, VALUES**2, 0), rtol=1e-5)
    to_x, to_guess = result.gradients[0]
    g = numpy.where(REAL, 2 * VALUES, 0)
    if use_mask:
        numpy.testing.assert_allclose(to_x, numpy.where(REAL, GUESSES, 0), rtol=1e-5)
        numpy.testing.assert_allclose(to_guess, numpy.where(REAL, GUESSES - g, 0) / 16, rtol=1e-5, atol=1e-7)
    else:
        numpy.testing.assert_allclose(to_x, GUESSES, rtol=1e-5)
        numpy.testing.assert_allclose(to_guess, (GUESSES - g) / 24, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("backend", ["template", *BACKENDS])
def test_values_stay(backend: str) -> None:
    """Also where there are no gradients: the values and dims of x."""
    result = run_rf(backend, lambda x, guess: rf.synthetic_gradient(x, synthetic=guess), [X, GUESS], [FEED_BOTH])
    assert result.template.dims == X.dims
    for value in result.values:
        numpy.testing.assert_allclose(value, VALUES, rtol=1e-6)
    result = run_rf(backend, rf.watched, [X], [FEED])
    assert result.template.dims == X.dims


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, guess: rf.gradient(x, x), "y must be a scalar, but has the dims"),
        (lambda x, guess: rf.gradient(rf.reduce_sum(guess, axis=guess.dims), rf.watched(x)), "does not depend on"),
        (lambda x, guess: rf.synthetic_gradient(x, synthetic=Tensor("v", [batch_dim], "float32")), "v has no dim"),
    ],
)
@pytest.mark.parametrize("backend", WITH_GRADIENTS)
def test_messages(function: Any, message: str, backend: str) -> None:
    with pytest.raises(DimError, match=message):
        run_rf(backend, function, [X, GUESS], [FEED_BOTH])


def test_feature_dim_of_x() -> None:
    """The template of a gradient is that of x."""
    scalar = Tensor("y", (), "float32")
    dim = FeatureDim("f", 3)
    x = Tensor("x", [dim], "float32", feature_dim=dim)
    assert rf.gradient(scalar, x).feature_dim == dim
