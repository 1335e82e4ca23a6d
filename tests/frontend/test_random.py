"""Random numbers: a function of a state, in the right range. Their distributions: tests/layers/test_random.py."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, Tensor
from returnn.tensor.backend import template_backend
from returnn.tensor.numpy_backend import backend as numpy_backend
from tests.common import BACKENDS, run_rf

ROWS, COLUMNS = Dim(50, name="rows"), FeatureDim("columns", 4)
STATE_DIM = Dim(3, name="state")
STATE = Tensor("state", [STATE_DIM], "int64")
MEAN = Tensor("mean", [COLUMNS], "float32", feature_dim=COLUMNS)


def draw(backend: str, state: Any, values: Any = (0, 0, 0, 0), **options: Any) -> numpy.ndarray:
    """
    :param values: of MEAN, which an option may be
    :return: [50, 4]
    """
    options = {"distribution": "normal", **options}

    def function(state: Tensor, mean: Tensor) -> Tensor:
        given = {key: mean if value is MEAN else value for key, value in options.items()}
        return rf.random([ROWS, COLUMNS], state=state, feature_dim=COLUMNS, **given)

    result = run_rf(backend, function, [STATE, MEAN], [{"state": numpy.array(state), "mean": numpy.array(values)}])
    assert result.template.dims == (ROWS, COLUMNS) and result.template.feature_dim == COLUMNS
    assert result.template.dtype == options.get("dtype", "float32")
    return result.values[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("distribution", ["uniform", "normal", "truncated_normal"])
def test_function_of_the_state(backend: str, distribution: str) -> None:
    """Each of its three words counts."""
    options: dict[str, Any] = {"distribution": distribution}
    if distribution == "uniform":
        options["maxval"] = 1.0
    values = draw(backend, [1, 2, 3], **options)
    assert (draw(backend, [1, 2, 3], **options) == values).all()
    for other in ([100, 2, 3], [1, 0, 3], [1, 2, -1]):
        assert (draw(backend, other, **options) != values).mean() > 0.9


@pytest.mark.parametrize("backend", BACKENDS)
def test_mean_by_column(backend: str) -> None:
    """A tensor: 0, 10, 20, 30, and deviations 0.1 each."""
    values = draw(backend, [1, 2, 3], [0, 10, 20, 30], mean=MEAN, stddev=0.1)
    numpy.testing.assert_allclose(values.mean(0), [0, 10, 20, 30], atol=0.1)
    assert (abs(values - [0, 10, 20, 30]) < 1).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_bounds_by_column(backend: str) -> None:
    """Uniform in [-m, 2 m)."""
    values = draw(backend, [1, 2, 3], [1, 10, 100, 1000], distribution="uniform", maxval=MEAN, minval=-1.0)
    assert (values >= -1).all() and (values < [1, 10, 100, 1000]).all()
    assert (values.max(0) > [0.8, 8, 80, 800]).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64"])
def test_dtypes(backend: str, dtype: str) -> None:
    """Of the result; integers reach both ends."""
    values = draw(backend, [1, 2, 3], distribution="uniform", minval=-2, maxval=3, dtype=dtype)
    assert values.dtype == dtype
    if "int" in dtype:
        assert set(values.ravel().tolist()) == {-2, -1, 0, 1, 2}
    else:
        assert -2 <= values.min() < -1.5 and 2.5 < values.max() < 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_of_a_step(backend: str) -> None:
    """Another one for each name, step and random seed."""

    def states(x: Tensor) -> Tensor:
        found = []
        for name, step, seed in [("a", 1, 1), ("a", 1, 1), ("b", 1, 1), ("a", 2, 1), ("a", 1, 2)]:
            with rf.run_ctx(rf.RunCtx(step=step, random_seed=seed)):
                found.append(rf.random_state_of_step(name, backend=x._raw_backend))
        return rf.stack(found, out_dim=Dim(5, name="found"))[0]

    words = run_rf(backend, states, [STATE], [{"state": numpy.zeros(3, "int64")}])
    value = numpy.moveaxis(words.values[0], [d.dimension for d in words.template.dims].index(3), -1).tolist()
    assert value[0] == value[1] and len({tuple(row) for row in value}) == 4
    assert words.template.dtype == "int64"


def test_template() -> None:
    """No value without that of a state."""
    state = rf.random_state_of_step("a", backend=template_backend)
    y = rf.random_uniform([ROWS], state=state, dtype="int32", maxval=3, sparse_dim=COLUMNS)
    assert y.raw_tensor is None and (y.dims, y.dtype, y.sparse_dim) == ((ROWS,), "int32", COLUMNS)


def test_short_forms() -> None:
    """The same numbers as by the name of the distribution."""
    state = rf.random_state_from_seed(3, backend=numpy_backend)
    for function, name, opts in [
        (rf.random_normal, "normal", {}),
        (rf.random_truncated_normal, "truncated_normal", {}),
        (rf.random_uniform, "uniform", {"maxval": 1}),
    ]:
        value = function([ROWS], state=state).raw_tensor
        assert (value == rf.random([ROWS], distribution=name, state=state, **opts).raw_tensor).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distribution": "flat"}, "distribution must be one of uniform, normal, truncated_normal, but is 'flat'"),
        ({"distribution": "uniform"}, "uniform needs bound or maxval or stddev and takes mean, but got nothing"),
        ({"distribution": "uniform", "minval": 1}, "but got minval"),
        ({"distribution": "normal", "maxval": 1}, "normal needs nothing and takes mean, stddev, but got maxval"),
        ({"distribution": "normal", "dtype": "int32"}, "distribution 'normal' gives no integers"),
        ({"distribution": "uniform", "dtype": "int32", "maxval": MEAN}, "maxval must be a scalar, but has the dims"),
    ],
)
def test_messages(options: dict[str, Any], message: str) -> None:
    state = rf.random_state_from_seed([1, 2, 3], backend=numpy_backend)
    with pytest.raises(DimError, match=message):
        rf.random([ROWS], state=state, **options)


def test_seed_of_two_numbers() -> None:
    with pytest.raises(DimError, match=r"a seed is one number or three, but is \[1, 2\]"):
        rf.random_state_from_seed([1, 2], backend=numpy_backend)
