"""Products: layout of the result, several dims, errors. More values: test_contract.py."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf

T = SpatialDim("t", size_dims=(batch_dim,))
F, G = FeatureDim("f", 3), FeatureDim("g", 2)
X = Tensor("x", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1)
W = Tensor("w", [F, G], "float32", feature_dim=G)


def test_layout() -> None:
    """the other dims of a, then those of b; the feature of a if it is still there, else of b"""
    y = rf.matmul(X, W, reduce=F)
    assert (y.dims, y.feature_dim, y.time_dim) == ((batch_dim, T, G), G, T)
    z = rf.matmul(W, X, reduce=F)
    assert (z.dims, z.feature_dim, z.time_dim) == ((G, batch_dim, T), G, T)
    assert rf.matmul(X, X.copy_template("y"), reduce=T).dims == (batch_dim, F)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_dims_with_shared_ones(backend: str) -> None:
    """sum over f and s of a[b, s, f, g] c[f, b, s, h]; b is shared"""
    s, h = SpatialDim("s", 4), FeatureDim("h", 5)
    a = Tensor("a", [batch_dim, s, F, G], "float32")
    c = Tensor("c", [F, batch_dim, s, h], "float32", feature_dim=h)
    rnd = numpy.random.RandomState(1)
    feed = {"a": rnd.normal(size=(2, 4, 3, 2)), "c": rnd.normal(size=(3, 2, 4, 5))}
    y = run_rf(backend, lambda a, c: rf.matmul(a, c, reduce=[F, s]), [a, c], [feed])
    assert y.template.dims == (batch_dim, G, h) and y.template.feature_dim is h
    numpy.testing.assert_allclose(y.values[0], numpy.einsum("bsfg,fbsh->bgh", feed["a"], feed["c"]), rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_padding_of_the_reduced_dim_counts_as_zero(backend: str) -> None:
    """attention: weights [b, t], values [b, t, f], lengths [1, 2]; on request padding counts"""
    weights = Tensor("a", [batch_dim, T], "float32")
    feed = {T: [1, 2], "a": [[1, 5], [2, 3]], "x": [[[1, 2, 3], [9, 9, 9]], [[1, 1, 1], [0, 0, 2]]]}
    y = run_rf(backend, lambda a, x: rf.matmul(a, x, reduce=T), [weights, X], [feed])
    numpy.testing.assert_allclose(y.values[0], [[1, 2, 3], [2, 2, 8]])
    z = run_rf(backend, lambda a, x: rf.matmul(a, x, reduce=T, use_mask=False), [weights, X], [feed])
    numpy.testing.assert_allclose(z.values[0], [[46, 47, 48], [2, 2, 8]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_lengths_that_only_one_side_knows(backend: str) -> None:
    """positions [t, g] have no batch: the side with batch is masked, and the result has batch once"""
    positions = Tensor("p", [T, G], "float32", feature_dim=G)
    feed = {T: [1, 2], "p": [[1, 2], [3, 4]], "a": [[1, 100], [1, 1]]}
    weights = Tensor("a", [batch_dim, T], "float32")
    y = run_rf(backend, lambda p, a: rf.matmul(p, a, reduce=T), [positions, weights], [feed])
    assert y.template.dims == (G, batch_dim)
    numpy.testing.assert_allclose(y.values[0], [[1, 4], [2, 6]])


def test_errors() -> None:
    """dim not in both; dtypes; a dim twice"""
    with pytest.raises(DimError, match=r"matmul: w has no dim Dim\{'t'\[B\]\}, its dims are"):
        rf.matmul(X, W, reduce=T)
    with pytest.raises(DimError, match="dtypes differ: float32, float16"):
        rf.matmul(X, W.copy_template(dtype="float16"), reduce=F)
    with pytest.raises(DimError, match="the result would have .* twice"):
        rf.matmul(Tensor("w", [F, F, G], "float32"), W, reduce=G)


@pytest.mark.parametrize("backend", BACKENDS)
def test_square_weight(backend: str) -> None:
    """[f', f]: the axis with the higher match_priority is reduced, whichever it is; the result has f again"""
    first = F.copy(match_priority=1)
    w = numpy.arange(9).reshape(3, 3)
    feed = {T: [1], "x": [[[1, 2, 3]]], "w": w, "v": w.T}
    for name, dims in [("w", [first, F]), ("v", [F, first])]:
        weight = Tensor(name, dims, "float32", feature_dim=F)
        y = run_rf(backend, lambda x, w: rf.matmul(x, w, reduce=F), [X, weight], [feed_for(feed, name)])
        assert y.template.dims == (batch_dim, T, F)
        numpy.testing.assert_allclose(y.values[0][0, 0], [24, 30, 36])


def feed_for(feed: dict, name: str) -> dict:
    """without the other weight"""
    return {key: value for key, value in feed.items() if key in (T, "x", name)}
