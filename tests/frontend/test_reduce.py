"""Reductions over batch, without mask, and errors. Values over other dims: test_contract.py."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx
from tests.common import BACKENDS, run_rf

T = SpatialDim("t", size_dims=(batch_dim,))
F = FeatureDim("f", 2)
X = Tensor("x", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1)
FEED = {T: [3, 1], "x": [[[1, 2], [2, 4], [6, 9]], [[4, 7], [1e30, 1e30], [1e30, 1e30]]]}


@pytest.mark.parametrize("backend", BACKENDS)
def test_over_batch_and_time_counts_all_real_frames(backend: str) -> None:
    """4 frames: (1 + 2 + 6 + 4) / 4 and (2 + 4 + 9 + 7) / 4"""
    for axis in ([batch_dim, T], [T, batch_dim]):
        y = run_rf(backend, lambda x, axis=axis: rf.reduce_mean(x, axis=axis), [X], [FEED])
        assert y.template.dims == (F,)
        numpy.testing.assert_allclose(y.values[0], [13 / 4, 22 / 4])
    y = run_rf(backend, lambda x: rf.reduce(x, mode="mean", axis=[batch_dim, T, F]), [X], [FEED])
    numpy.testing.assert_allclose(y.values[0], 35 / 8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_over_batch_alone_is_not_masked(backend: str) -> None:
    """each frame over the sequences: (1 + 4) / 2, (2 + 7) / 2"""
    y = run_rf(backend, lambda x: rf.reduce_mean(x, axis=batch_dim), [X], [FEED])
    numpy.testing.assert_allclose(y.values[0][0], [2.5, 4.5])


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_mask_padding_counts(backend: str) -> None:
    """on request"""
    y = run_rf(backend, lambda x: rf.reduce_max(x, axis=T, use_mask=False), [X], [FEED])
    numpy.testing.assert_allclose(y.values[0], [[6, 9], [1e30, 1e30]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_lengths_of_other_dims_say_nothing(backend: str) -> None:
    """[t] without batch: all frames count, though the lengths of t are per sequence"""
    x = Tensor("x", [T], "float32")
    y = run_rf(backend, lambda x: rf.reduce_sum(x, axis=T), [x], [{T: [3, 1], "x": [1, 2, 3]}])
    assert y.values[0] == 6


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_masked_dims(backend: str) -> None:
    """lengths t [2, 1], u [1, 2]: sequence 0 has (0,0), (1,0), sequence 1 has (0,0), (0,1)"""
    u = SpatialDim("u", size_dims=(batch_dim,))
    x = Tensor("x", [batch_dim, T, u], "float32")
    nan = numpy.nan
    feed = {T: [2, 1], u: [1, 2], "x": [[[1, nan], [3, nan]], [[4, 6], [nan, nan]]]}
    y = run_rf(backend, lambda x: rf.reduce_mean(x, axis=[T, u]), [x], [feed])
    numpy.testing.assert_allclose(y.values[0], [2, 5])
    z = run_rf(backend, lambda x: rf.reduce_mean(x, axis=[T, u, batch_dim]), [x], [feed])
    numpy.testing.assert_allclose(z.values[0], 14 / 4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers(backend: str) -> None:
    """mean is rounded down; max of no frame is the lowest number"""
    x = Tensor("x", [batch_dim, T], "int32")
    feed = {T: [3, 0], "x": [[1, 2, 5], [9, 9, 9]]}
    for mode, expected in [("sum", [8, 0]), ("mean", [2, 0]), ("max", [5, -(2**31)]), ("min", [1, 2**31 - 1])]:
        y = run_rf(backend, lambda x, mode=mode: rf.reduce(x, mode=mode, axis=T), [x], [feed])
        assert (y.template.dtype, y.values[0].tolist()) == ("int32", expected)


def test_argmax_gives_labels() -> None:
    """of the reduced dim"""
    y = rf.reduce_argmax(X, axis=F)
    assert (y.dims, y.dtype, y.sparse_dim, y.feature_dim) == ((batch_dim, T), "int32", F, None)


def test_errors_name_what_is_there() -> None:
    """dim, mode, number of dims"""
    with pytest.raises(DimError, match=r"reduce: .* has no dim Dim\{'other'"):
        rf.reduce_sum(X, axis=SpatialDim("other"))
    with pytest.raises(DimError, match='unknown mode .maxx.. Did you mean "max"'):
        rf.reduce(X, mode="maxx", axis=F)
    with pytest.raises(DimError, match="argmax needs exactly one dim"):
        rf.reduce(X, mode="argmax", axis=[T, F])
    with pytest.raises(DimError, match="not divisible by 3"):
        rf.reduce_out(X, mode="max", num_pieces=3)


def test_unknown_lengths_are_an_error_not_a_guess() -> None:
    """a value without lengths"""
    with (
        run_table_ctx(),
        pytest.raises(DimError, match="the lengths of Dim.'t'.B.. are needed here, but are not known"),
    ):
        rf.reduce_sum(X.like(numpy.zeros((2, 3, 2), "float32")), axis=T)
