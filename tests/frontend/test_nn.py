"""Softmax, dropout: what test_contract.py does not see."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor import DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf

T = SpatialDim("t", size_dims=(batch_dim,))
F = FeatureDim("f", 1000)
X = Tensor("x", [batch_dim, T], "float32", time_dim_axis=1)
ONES = Tensor("x", [batch_dim, F], "float32", raw_tensor=numpy.ones((3, 1000), "float32"), feature_dim=F)


@pytest.mark.parametrize("backend", BACKENDS)
def test_softmax_over_time_gives_padding_probability_zero(backend: str) -> None:
    """lengths [2, 1]: [1/2 1/2], [1 0], also next to a large padded value"""
    feed = {T: [2, 1], "x": [[3, 3], [3, 1e30]]}
    y = run_rf(backend, lambda x: rf.softmax(x, axis=T), [X], [feed])
    numpy.testing.assert_allclose(y.values[0], [[0.5, 0.5], [1, 0]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sequence_without_frames_gives_no_nan(backend: str) -> None:
    """It would spread through the gradient, as 0 * nan."""
    feed = {T: [2, 0], "x": [[3, 3], [3, 4]]}
    for log in (rf.softmax, rf.log_softmax):
        assert numpy.isfinite(run_rf(backend, lambda x, log=log: log(x, axis=T), [X], [feed]).values[0]).all()


def test_dropout_is_off_outside_of_training() -> None:
    """the very tensor comes back"""
    assert rf.dropout(ONES, 0.5, name="a") is ONES
    with run_ctx(RunCtx(train_flag=False)):
        assert rf.dropout(ONES, 0.5, name="a") is ONES
        assert rf.dropout(ONES, 0.5, name="a", on_forward=True) is not ONES


def test_dropout_is_a_function_of_seed_name_and_step() -> None:
    """so that a resumed run draws the same"""

    def draw(name: str = "a", **ctx: object) -> numpy.ndarray:
        with run_ctx(RunCtx(train_flag=True, **ctx)):
            return rf.dropout(ONES, 0.25, name=name).raw_tensor

    a = draw(step=3)
    assert (a == draw(step=3)).all()
    for other in (draw(step=4), draw(step=3, random_seed=1), draw("b", step=3)):
        assert (a != other).any()
    numpy.testing.assert_allclose(numpy.unique(a), [0, 4 / 3], rtol=1e-6)
    assert a.mean() == pytest.approx(1, abs=0.05)
    assert (a[0] != a[1]).any()


def test_dropout_noise_is_shared_along_the_other_dims() -> None:
    """axis: those with noise of their own"""
    with run_ctx(RunCtx(train_flag=True)):
        y = rf.dropout(ONES, 0.5, axis=[F], name="a").raw_tensor
    assert (y == y[:1]).all() and len(numpy.unique(y)) == 2


@pytest.mark.parametrize("drop_prob", [0.0, 1.0, -1.0, 1.5])
def test_dropout_checks_its_probability(drop_prob: float) -> None:
    """(0, 1)"""
    with pytest.raises(DimError, match=r"drop_prob must be in \(0, 1\), but is"):
        rf.dropout(ONES, drop_prob, name="a")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("limit", "expected"), [(1.0, [0, 0]), (1.5, [2, 1])])
def test_zero_large_gradient(backend: str, limit: float, expected: list[float]) -> None:
    """The gradient of a sum is 1 at each real frame."""
    feed = {T: [2, 1], "x": [[3, 4], [5, 6]]}
    y = run_rf(backend, lambda x: rf.zero_large_gradient(x, limit=limit), [X], [feed], gradients=backend != "numpy")
    assert y.values[0].tolist() == [[3, 4], [5, 6]]
    if backend != "numpy":
        assert y.gradients[0][0].sum(axis=1).tolist() == expected
    with pytest.raises(DimError, match="limit must be > 0, but is 0"):
        rf.zero_large_gradient(X, limit=0)
