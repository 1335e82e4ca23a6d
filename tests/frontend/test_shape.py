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


def test_merged_axis_is_as_long_as_its_own_array() -> None:
    """Outside of a step too, the size of an axis is not that of an earlier tensor with the same dim: 2 * 3, 5 * 3."""
    t = SpatialDim("t")
    for length in (2, 5):
        x = Tensor("x", [t, S], "float32", raw_tensor=numpy.zeros((length, 3), "float32"))
        assert rf.merge_dims(x, dims=[t, S])[0].raw_tensor.shape == (length * 3,)


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
    """3 is no multiple of 2; filled up it may be longer, not shorter"""
    a, b = Dim(2, name="a"), Dim(1, name="b")
    for dims, pad_to_multiples in [([a, a], None), ([a, b], True)]:
        with pytest.raises(DimError, match="split_dims: .* does not split into"):
            rf.split_dims(X, axis=S, dims=dims, pad_to_multiples=pad_to_multiples)


@pytest.mark.parametrize("backend", BACKENDS)
def test_split_dims_fills_up_a_static_axis_if_asked_to(backend: str) -> None:
    """1 2 3 in rows of two: [1 2] [3 9]"""
    x = Tensor("x", [S], "float32")
    a, b = SpatialDim("a", 2), SpatialDim("b", 2)
    y = run_rf(
        backend,
        lambda x: rf.split_dims(x, axis=S, dims=[a, b], pad_to_multiples=True, pad_value=9),
        [x],
        [{"x": [1, 2, 3]}],
    )
    assert y.values[0].tolist() == [[1, 2], [3, 9]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_reshape_puts_the_new_dims_where_the_first_old_one_was(backend: str) -> None:
    """[b, t, 3, 4] with 4 in front of 3 as [6, 2], in place of the 3"""
    six, two = SpatialDim("six", 6), SpatialDim("two", 2)
    value = numpy.arange(24).reshape(1, 2, 3, 4)
    y = run_rf(backend, lambda x: rf.reshape(x, [F, S], [six, two]), [X], [{T: [2], "x": value}])
    assert y.template.dims == (batch_dim, T, six, two) and y.template.feature_dim is None
    numpy.testing.assert_array_equal(y.values[0], value.swapaxes(2, 3).reshape(1, 2, 6, 2))
    with pytest.raises(DimError, match="reshape: .* of x have 3 entries, but .* have 2"):
        rf.reshape(X, [S], [two])


@pytest.mark.parametrize("backend", BACKENDS)
def test_reshape_of_dynamic_dims(backend: str) -> None:
    """[t, 3] as [3 * t / 2, 2]: the size of one dim need not be known"""
    half, two = SpatialDim("half", size_dims=(batch_dim,)), SpatialDim("two", 2)
    value = numpy.arange(24).reshape(1, 2, 3, 4)
    y = run_rf(backend, lambda x: rf.reshape(x, [T, S], [half, two]), [X], [{T: [2], "x": value}])
    assert y.values[0].tolist() == value.reshape(1, 3, 2, 4).tolist()
    y = run_rf(backend, lambda x: rf.reshape(x, [T, S], [S, T]), [X], [{T: [2], "x": value}])
    assert y.values[0].tolist() == value.reshape(1, 3, 2, 4).tolist()


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
