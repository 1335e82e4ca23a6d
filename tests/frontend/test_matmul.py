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
    numpy.testing.assert_allclose(
        y.values[0], numpy.einsum("bsfg,fbsh->bgh", feed["a"], feed["c"]), rtol=1e-5, atol=1e-6
    )


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
    """dim in none of the two; dtypes; a dim twice; another order than that of the dims"""
    with pytest.raises(DimError, match=r"matmul: neither .*'x'.* nor .*'w'.* has the dim Dim\{'other'\(2\)\}"):
        rf.matmul(X, W, reduce=SpatialDim("other", 2))
    with pytest.raises(DimError, match="matmul: dim_order is .* but the result has the dims"):
        rf.matmul(X, W, reduce=F, dim_order=[T, G])
    with pytest.raises(DimError, match="dtypes differ: float32, float16"):
        rf.matmul(X, W.copy_template(dtype="float16"), reduce=F)
    with pytest.raises(DimError, match="the result would have .* twice"):
        rf.matmul(Tensor("w", [F, F, G], "float32"), W, reduce=G)


@pytest.mark.parametrize("backend", BACKENDS)
def test_order_of_the_result(backend: str) -> None:
    """a [b, s, f] c [b, h, f] as [h, s, b], and a matrix product as [g, t, b]"""
    s, h = SpatialDim("s", 4), SpatialDim("h", 5)
    a, c = Tensor("a", [batch_dim, s, F], "float32"), Tensor("c", [batch_dim, h, F], "float32")
    rnd = numpy.random.RandomState(1)
    feed = {"a": rnd.normal(size=(2, 4, 3)), "c": rnd.normal(size=(2, 5, 3))}
    y = run_rf(backend, lambda a, c: rf.matmul(a, c, reduce=F, dim_order=[h, s, batch_dim]), [a, c], [feed])
    assert y.template.dims == (h, s, batch_dim)
    numpy.testing.assert_allclose(y.values[0], numpy.einsum("bsf,bhf->hsb", feed["a"], feed["c"]), rtol=1e-5, atol=1e-6)
    feed = {T: [2, 1], "x": rnd.normal(size=(2, 2, 3)), "w": rnd.normal(size=(3, 2))}
    y = run_rf(backend, lambda x, w: rf.matmul(x, w, reduce=F, dim_order=[G, T, batch_dim]), [X, W], [feed])
    numpy.testing.assert_allclose(y.values[0], (feed["x"] @ feed["w"]).transpose(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_outer_product_and_dims_that_one_side_lacks(backend: str) -> None:
    """nothing reduced: u v^T; a dim of one operand only: that one is summed first, padding not counted"""
    u, v = Tensor("u", [batch_dim, F], "float32"), Tensor("v", [batch_dim, G], "float32")
    feed = {"u": [[1, 2, 3]], "v": [[10, 20]]}
    y = run_rf(backend, lambda u, v: rf.matmul(u, v, reduce=[]), [u, v], [feed])
    assert y.template.dims == (batch_dim, F, G)
    numpy.testing.assert_allclose(y.values[0], [[[10, 20], [20, 40], [30, 60]]])
    feed = {T: [1, 2], "x": [[[1, 2, 3], [9, 9, 9]], [[1, 1, 1], [0, 0, 2]]], "w": [[1, 0], [0, 1], [1, 1]]}
    y = run_rf(backend, lambda x, w: rf.matmul(x, w, reduce=[F, T]), [X, W], [feed])
    assert y.template.dims == (batch_dim, G)
    numpy.testing.assert_allclose(y.values[0], [[4, 5], [4, 4]])


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
