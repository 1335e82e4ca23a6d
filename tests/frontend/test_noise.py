"""Noise that is added in training. On template and when not training, the operation is none."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend import RunCtx, run_ctx
from returnn.tensor import DimError, FeatureDim, Tensor, batch_dim
from tests.common import run_rf

WIDE = FeatureDim("wide", 5000)
X = Tensor("x", [batch_dim, WIDE], "float32", feature_dim=WIDE)
VALUE = numpy.full((2, 5000), 3.0, "float32")
WITH_VALUES = ["numpy", "tf", "torch"]


def noisy(backend: str, *, step: int = 0, name: str = "a", seed: int = 42, train: Any = True) -> numpy.ndarray:
    """3 + 0.5 N, twice 5000 numbers"""

    def function(x: Tensor) -> Tensor:
        with run_ctx(RunCtx(train_flag=train, step=step, random_seed=seed)):
            return rf.add_normal_noise(x, 0.5, name=name)

    return numpy.asarray(run_rf(backend, function, [X], [{"x": VALUE}]).values[0])


@pytest.mark.parametrize("backend", WITH_VALUES)
def test_normal_of_the_deviation_asked_for(backend: str) -> None:
    """Mean 3 +- 0.005, deviation 0.5, kurtosis 3 of a normal distribution (1.8 of an even one)."""
    y = noisy(backend)
    assert y.shape == VALUE.shape and y.dtype == numpy.float32
    assert abs(y.mean() - 3) < 0.025 and abs(y.std() - 0.5) < 0.02
    assert abs((((y - 3) / 0.5) ** 4).mean() - 3) < 0.5


@pytest.mark.parametrize("backend", WITH_VALUES)
def test_a_function_of_seed_name_and_step(backend: str) -> None:
    """The same once more; another one with another one of these; and of each entry."""
    first = noisy(backend)
    numpy.testing.assert_array_equal(first, noisy(backend))
    others = [noisy(backend, step=1), noisy(backend, name="b"), noisy(backend, seed=43)]
    rows = numpy.concatenate([first, *others])
    assert abs(numpy.corrcoef(rows) - numpy.eye(len(rows))).max() < 0.08


@pytest.mark.parametrize("backend", WITH_VALUES)
def test_none_when_not_training(backend: str) -> None:
    numpy.testing.assert_array_equal(noisy(backend, train=False), VALUE)


def test_template() -> None:
    with run_ctx(RunCtx(train_flag=True)):
        assert rf.add_normal_noise(X, 0.5, name="a").dims == X.dims


def test_no_deviation_is_a_mistake() -> None:
    with pytest.raises(DimError, match="stddev must be > 0, but is 0"):
        rf.add_normal_noise(X, 0, name="a")
