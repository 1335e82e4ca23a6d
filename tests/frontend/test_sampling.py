"""Draws without replacement: how often each class is drawn."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, Tensor
from tests.common import BACKENDS, run_rf

CLASSES = FeatureDim("classes", 5)
DRAWS, SAMPLED = Dim(20_000, name="draws"), Dim(2, name="sampled")
WEIGHTS = Tensor("weights", [CLASSES], "float32", feature_dim=CLASSES)
P = numpy.array([0.4, 0.3, 0.2, 0.1, 0.0])


def draw(weights: Tensor) -> tuple[Tensor, Tensor]:
    state = rf.random_state_of_step("test", backend=weights._raw_backend)
    return rf.sample_without_replacement(weights, axis=CLASSES, num_dim=SAMPLED, batch_dims=[DRAWS], state=state)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_of_five(backend: str) -> None:
    """
    The first class is i with probability p[i], the second one j with p[j] / (1 - p[i]). Standard error at most .0036.
    The class of weight 0 never comes. Weights need not sum to one.
    """
    classes = run_rf(backend, lambda w: draw(w)[0], [WEIGHTS], [{"weights": 3 * P}])
    assert (classes.template.dims, classes.template.dtype) == ((DRAWS, SAMPLED), "int32")
    assert classes.template.sparse_dim == CLASSES
    value = classes.values[0]
    assert (value[:, 0] != value[:, 1]).all()
    first = P
    second = numpy.array([sum(P[i] * P[j] / (1 - P[i]) for i in range(4) if i != j) for j in range(5)])
    for column, expected in ((value[:, 0], first), (value[:, 1], second)):
        numpy.testing.assert_allclose(numpy.bincount(column, minlength=5) / len(value), expected, atol=0.015)


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_by_expected_counts_are_unbiased(backend: str) -> None:
    """The sum of f(class) / expected count over the classes drawn is the sum of f over all, in the mean."""

    def estimate(weights: Tensor) -> Tensor:
        classes, time = draw(weights)
        counts = rf.expected_counts(rf.gather(weights, indices=classes), time)
        values = rf.cast(classes + 1, "float32")
        return rf.reduce_mean(rf.reduce_sum(values / counts, axis=SAMPLED), axis=DRAWS)

    y = run_rf(backend, estimate, [WEIGHTS], [{"weights": P}])
    numpy.testing.assert_allclose(y.values[0], 1 + 2 + 3 + 4, rtol=0.02)


def test_as_many_as_there_are_cannot_be_drawn() -> None:
    with pytest.raises(DimError, match="5 classes, but there are only 5"):
        rf.sample_without_replacement(
            WEIGHTS, axis=CLASSES, num_dim=Dim(5), state=rf.random_state_of_step("x", backend=WEIGHTS._raw_backend)
        )
