"""Operations on axes: dims, markers, errors. Values: test_contract.py."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx
from tests.common import BACKENDS, run_rf

T = SpatialDim("t", size_dims=(batch_dim,))
S, F = SpatialDim("s", 3), FeatureDim("f", 4)
X = Tensor("x", [batch_dim, T, S, F], "float32", feature_dim=F, time_dim_axis=1)


def test_merge_dims_places_and_marks_the_new_axis() -> None:
    """At the place of the first one; feature if one of them was; product of the sizes. One dim: nothing to do."""
    y, dim = rf.merge_dims(X, dims=[S, F])
    assert (y.dims, y.feature_dim, y.time_dim) == ((batch_dim, T, dim), dim, T)
    assert dim == S * F and dim.dimension == 12
    z, dim = rf.merge_dims(X, dims=[F, T])
    assert z.dims == (batch_dim, S, dim) and dim == F * T
    assert (z.feature_dim, z.time_dim) == (dim, None)
    w, dim = rf.merge_dims(X, dims=[T, S])
    assert (w.time_dim, dim.size_dims) == (dim, (batch_dim,))
    assert rf.merge_dims(X, dims=[S]) == (X, S)
    assert rf.merge_dims(X, dims=[S], out_dim=F)[0].dims == (batch_dim, T, F, F)


def test_merged_with_batch_it_is_batch() -> None:
    """padding included; no time any more"""
    y, dim = rf.merge_dims(X, dims=[batch_dim, T])
    assert dim is batch_dim and (y.dims, y.time_dim, y.feature_dim) == ((batch_dim, S, F), None, F)
    z, dim = rf.merge_dims(X, dims=[F, batch_dim])
    assert z.dims[1:] == (S, batch_dim) and z.feature_dim is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_merged_with_batch_lengths_are_those_of_all_entries(backend: str) -> None:
    """lengths [3, 1] of 2 sequences with 2 features each: [3, 3, 1, 1], so the sums of the rows see no padding"""
    two = FeatureDim("two", 2)
    x = Tensor("x", [batch_dim, T, two], "float32", feature_dim=two, time_dim_axis=1)
    nan = numpy.nan
    feed = {T: [3, 1], "x": [[[1, 2], [1, 2], [1, 2]], [[5, 7], [nan, nan], [nan, nan]]]}

    def function(x: Tensor) -> Tensor:
        y, _ = rf.merge_dims(x, dims=[batch_dim, two])
        assert y.time_dim is rf.merge_dims(x, dims=[batch_dim, two])[0].time_dim and y.time_dim != T
        return rf.reduce_sum(y, axis=y.time_dim)

    assert run_rf("template", function, [x], []).template.dims == (batch_dim,)
    assert run_rf(backend, function, [x], [feed]).values[0].tolist() == [3, 6, 5, 7]


def test_split_dims_must_fit() -> None:
    """3 is no multiple of 2"""
    with pytest.raises(DimError, match="split_dims: .* does not split into"):
        rf.split_dims(X, axis=S, dims=[Dim(2, name="a"), Dim(2, name="b")])


@pytest.mark.parametrize("backend", BACKENDS)
def test_split_then_merge_is_the_identity(backend: str) -> None:
    """f = 4 as [2, 2]"""
    a, b = SpatialDim("a", 2), FeatureDim("b", 2)
    value = numpy.arange(24).reshape(2, 1, 3, 4)

    def function(x: Tensor) -> Tensor:
        return rf.merge_dims(rf.split_dims(x, axis=F, dims=[a, b]), dims=[a, b], out_dim=F)[0]

    y = run_rf(backend, function, [X], [{T: [1, 1], "x": value}])
    assert y.template.dims == X.dims
    numpy.testing.assert_array_equal(y.values[0], value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_concat_repeats_what_a_source_does_not_have(backend: str) -> None:
    """[b, t, s, 4] with [g=2]: the 2 everywhere; order and markers of the largest"""
    g = FeatureDim("g", 2)
    v = Tensor("v", [g], "float32", feature_dim=g)
    feed = {T: [2, 1], "x": numpy.zeros((2, 2, 3, 4)), "v": [5, 6]}
    y = run_rf(backend, lambda v, x: rf.concat((v, g), (x, F))[0], [v, X], [feed])
    assert y.template.dims == (batch_dim, T, S, g + F)
    assert (y.template.feature_dim, y.template.time_dim) == (g + F, T)
    assert y.values[0].shape == (2, 2, 3, 6) and (y.values[0][..., :2] == [5, 6]).all()


def test_concat_features_needs_features() -> None:
    """says of which"""
    with pytest.raises(DimError, match="concat_features: Tensor.'y'.* has no feature dim"):
        rf.concat_features(X, Tensor("y", [batch_dim], "float32"))


def test_gather_puts_the_dims_of_the_indices_in_place() -> None:
    """an embedding; time comes from the indices"""
    indices = Tensor("i", [batch_dim, T], "int32", sparse_dim=S, time_dim_axis=1)
    table = Tensor("w", [S, F], "float32", feature_dim=F)
    y = rf.gather(table, indices=indices, axis=S)
    assert (y.dims, y.feature_dim, y.time_dim) == ((batch_dim, T, F), F, T)
    with pytest.raises(DimError, match="are in both x and the indices i"):
        rf.gather(X, indices=indices, axis=S)


@pytest.mark.parametrize(
    ("options", "lens", "static"),
    [
        ({"start": 1}, [2, 0], 2),
        ({"end": 2}, [2, 1], 2),
        ({"end": 20}, [3, 1], 3),
        ({"end": -1}, [2, 0], 2),
        ({"start": 1, "end": -1}, [1, 0], 1),
        ({"step": 2}, [2, 1], 2),
        ({"start": 1, "end": 3, "step": 2}, [1, 0], 1),
    ],
)
def test_slice_knows_its_lengths(options: dict, lens: list[int], static: int) -> None:
    """of t with lengths [3, 1], and of s = 3; the same slice of the same dim is the same dim"""
    y, dim = rf.slice(X, axis=T, **options)
    assert (y.dims[1], y.time_dim) == (dim, dim)
    assert rf.slice(X, axis=T, **options)[1] is dim
    assert rf.slice(X, axis=S, **options)[1].dimension == static
    with run_table_ctx():
        T.dyn_size = numpy.array([3, 1], "int32")
        assert dim.dyn_size.tolist() == lens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "sam"}, "padding must be 'same' or 'valid', but is 'sam'"),
        ({"padding": "valid", "window_left": 1}, "padding 'valid' has no window_left"),
        ({"window_left": 3}, "left 3, right -1 and the frame itself are not 3"),
        ({"window_left": 1, "window_right": 2}, "left 1, right 2 and the frame itself are not 3"),
    ],
)
def test_window_checks_its_options(options: dict, message: str) -> None:
    """three frames"""
    with pytest.raises(DimError, match=message):
        rf.window(X, spatial_dim=T, window_dim=SpatialDim("w", 3), **options)


def test_window_dims() -> None:
    """the new axis behind the spatial one; a window of 4 has 1 frame before and 2 behind"""
    w = SpatialDim("w", 4)
    y, dim = rf.window(X, spatial_dim=T, window_dim=w)
    assert dim is T and y.dims == (batch_dim, T, w, S, F)
    frames = Tensor("y", [SpatialDim("q", 3)], "float32", raw_tensor=numpy.array([1, 2, 3], "float32"))
    z = rf.window(frames, spatial_dim=frames.dims[0], window_dim=w)[0]
    assert z.raw_tensor.tolist() == [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 0]]


def test_replace_and_squeeze() -> None:
    """markers stay; only size 1 goes"""
    g = FeatureDim("g", 4)
    y = rf.replace_dim(X, in_dim=F, out_dim=g)
    assert (y.dims, y.feature_dim) == ((batch_dim, T, S, g), g)
    one = SpatialDim("one", 1)
    assert rf.squeeze(rf.expand_dim(X, one), one).dims == X.dims
    with pytest.raises(DimError, match="not of size 1"):
        rf.squeeze(X, S)
    with pytest.raises(DimError, match="replace_dim: x has no dim"):
        rf.replace_dim(X, in_dim=g, out_dim=F)
