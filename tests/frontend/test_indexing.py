"""Entries by their number: values on all backends, dims, errors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf

from .contract import (
    FEATURE,
    FLAG,
    LABEL_TIME,
    LABELS,
    OTHER_LABELS,
    PER_SEQ,
    TIME,
    VECTOR,
    Case,
    W,
    X,
    contract_tests,
)

SHORT = SpatialDim("short", 2)
"""indices into sequences of any length: 0 or 1"""
PIECE = SpatialDim("piece", 3)
PLACES = Tensor("places", [batch_dim, SHORT], "int32", sparse_dim=SpatialDim("two", 2))
START = Tensor("start", [batch_dim], "int32", sparse_dim=SpatialDim("starts", 4))
STARTS = Tensor("starts", [batch_dim, LABEL_TIME], "int32", sparse_dim=SpatialDim("starts", 4))
COUNTED = SpatialDim("counted", 4)
LOWEST = float(numpy.finfo("float32").min)


def clipped(x: Any, i: Any) -> Any:
    return x[numpy.clip(i, 0, len(x) - 1)]


def piece(x: Any, start: int, size: int) -> Any:
    """x[start : start + size], zeros where there is no frame"""
    res = numpy.zeros((size, *x.shape[1:]))
    for i in range(size):
        if 0 <= start + i < len(x):
            res[i] = x[start + i]
    return res


def histogram(values: Any, i: Any, size: int) -> Any:
    res = numpy.zeros((size, *values.shape[1:]))
    for value, n in zip(values, i, strict=True):
        if 0 <= n < size:
            res[n] += value
    return res


def largest(x: Any, k: int) -> Any:
    """along the last axis, lowest numbers where there are too few"""
    x = numpy.concatenate([x, numpy.full((*x.shape[:-1], k), LOWEST)], axis=-1)
    return -numpy.sort(-x, axis=-1)[..., :k]


def first_kept(x: Tensor, mask: Tensor, dims: list[Dim]) -> Tensor:
    """the first 3 entries, and zeros"""
    y, dim = rf.masked_select(x, mask=mask, dims=dims)
    return rf.slice_nd(y, axis=dim, start=0, out_dim=PIECE)


def two_frames(x: Tensor, start: Tensor) -> Tensor:
    return rf.slice_nd(x, axis=TIME, start=start - 1, out_dim=PIECE, fill_value=0)


def rest_of_each(x: Tensor, start: Tensor) -> Tensor:
    """from its own start to the end"""
    out_dim = Dim(None, name="rest", size_dims=(batch_dim,), auto_generated=True)
    if x.raw_tensor is not None:
        out_dim.dyn_size_ext = rf.maximum(rf.lengths_along(x, TIME) - start, 0)
    return rf.reduce_sum(rf.slice_nd(x, axis=TIME, start=start, out_dim=out_dim), axis=out_dim)


TestContract = contract_tests(
    [
        Case("gather_table", [W, LABELS], lambda w, y: rf.gather(w, indices=y), lambda w, y: w[y]),
        Case(
            "gather_frames",
            [X, PLACES],
            lambda x, i: rf.gather(x, indices=i, axis=TIME, clip_to_valid=True),
            lambda x, i: clipped(x, i),
            gradient=True,
            min_len=1,
        ),
        Case(
            "gather_frames_of_labels",
            [LABELS, OTHER_LABELS],
            lambda x, i: rf.gather(x, indices=i, axis=TIME, clip_to_valid=True),
            lambda x, i: clipped(x, i),
            min_len=1,
        ),
        Case(
            "gather_features",
            [X, LABELS],
            lambda x, y: rf.gather(x, indices=y, axis=FEATURE),
            lambda x, y: x[numpy.arange(len(x)), y],
            gradient=True,
        ),
        Case("gather_one", [X], lambda x: rf.gather(x, indices=2, axis=FEATURE), lambda x: x[:, 2], gradient=True),
        Case(
            "gather_shared_and_own",
            [PER_SEQ, LABELS],
            lambda x, y: rf.gather(x, indices=y, axis=FEATURE),
            lambda x, y: x[y],
            gradient=True,
        ),
        Case("slice_nd", [X, START], two_frames, lambda x, s: piece(x, s - 1, 3), gradient=True, min_len=1),
        Case(
            "slice_nd_many",
            [X, STARTS],
            lambda x, s: rf.slice_nd(x, axis=TIME, start=s, out_dim=PIECE),
            lambda x, s: numpy.array([piece(x, i, 3) for i in s]).reshape(len(s), 3, 4),
            gradient=True,
            min_len=1,
        ),
        Case("slice_nd_to_the_end", [X, START], rest_of_each, lambda x, s: x[s:].sum(0), gradient=True, min_len=1),
        Case(
            "slice_nd_features",
            [X, START],
            lambda x, s: rf.slice_nd(x, axis=FEATURE, start=s, out_dim=PIECE, fill_value=7),
            lambda x, s: numpy.concatenate([x, numpy.full((len(x), 9), 7.0)], axis=1)[:, s : s + 3],
        ),
        Case(
            "slice_nd_one_start",
            [X],
            lambda x: rf.slice_nd(x, axis=TIME, start=-1, out_dim=PIECE),
            lambda x: piece(x, -1, 3),
            min_len=1,
        ),
        Case(
            "scatter",
            [X, LABELS],
            lambda x, y: rf.scatter(x, indices=y, indices_dim=TIME),
            lambda x, y: histogram(x, y, 4),
            gradient=True,
        ),
        Case(
            "scatter_into_another",
            [X, LABELS],
            lambda x, y: rf.scatter(x, indices=y - 1, indices_dim=TIME, out_dim=PIECE, filter_invalid=True),
            lambda x, y: histogram(x, y - 1, 3),
            gradient=True,
        ),
        Case(
            "scatter_repeated",
            [PER_SEQ, LABELS],
            lambda x, y: rf.scatter(x, indices=y, indices_dim=TIME, out_dim=COUNTED),
            lambda x, y: histogram(numpy.repeat(x[None], len(y), axis=0), y, 4),
            gradient=True,
        ),
        Case("cumsum", [X], lambda x: rf.cumsum(x, spatial_dim=TIME), lambda x: x.cumsum(0), gradient=True),
        Case(
            "cumsum_reverse",
            [X],
            lambda x: rf.cumsum(x, spatial_dim=TIME, reverse=True),
            lambda x: x[::-1].cumsum(0)[::-1],
            gradient=True,
        ),
        Case("cumsum_features", [X], lambda x: rf.cumsum(x, spatial_dim=FEATURE), lambda x: x.cumsum(1)),
        Case(
            "search_sorted",
            [X, PER_SEQ],
            lambda x, v: rf.search_sorted(rf.cumsum(rf.square(x), spatial_dim=TIME), rf.square(v), axis=TIME),
            lambda x, v: (((x * x).cumsum(0)) < v * v).sum(0),
        ),
        Case(
            "search_sorted_vector",
            [VECTOR, X],
            lambda v, x: rf.search_sorted(rf.cumsum(rf.square(v), spatial_dim=FEATURE), x, axis=FEATURE, side="right"),
            lambda v, x: ((v * v).cumsum() <= x[..., None]).sum(-1),
            finite_padding=True,
        ),
        Case(
            "search_sorted_labels",
            [LABELS, VECTOR],
            lambda y, v: rf.search_sorted(
                rf.cumsum(y, spatial_dim=TIME), rf.cast(rf.round(v), "int32"), axis=TIME, side="right"
            ),
            lambda y, v: (y.cumsum()[:, None] <= numpy.round(v)).sum(0),
        ),
        Case("top_k", [X], lambda x: rf.top_k(x, axis=FEATURE, k=3)[0], lambda x: largest(x, 3), gradient=True),
        Case("top_k_time", [X], lambda x: rf.top_k(x, axis=TIME, k=3)[0], lambda x: largest(x.T, 3)),
        Case(
            "top_k_places",
            [X],
            lambda x: rf.top_k(x, axis=FEATURE, k=4)[1],
            lambda x: numpy.argsort(-x, axis=-1),
            finite_padding=True,
        ),
        Case(
            "top_k_together",
            [X],
            lambda x: rf.top_k(x, axis=[FEATURE, TIME], k=5)[0],
            lambda x: largest(x.reshape(-1), 5),
        ),
        Case(
            "masked_select",
            [X, FLAG],
            lambda x, f: first_kept(x, f, [TIME]),
            lambda x, f: piece(x[f], 0, 3),
            gradient=True,
        ),
        Case(
            "masked_select_labels",
            [LABELS],
            lambda y: first_kept(y, rf.compare(y, "!=", 1), [TIME]),
            lambda y: piece(y[y != 1], 0, 3),
        ),
        Case(
            "masked_select_two_dims",
            [X],
            lambda x: first_kept(x, x > 0, [TIME, FEATURE]),
            lambda x: piece(x[x > 0], 0, 3),
        ),
    ]
)


T = SpatialDim("t", size_dims=(batch_dim,))
S, F = SpatialDim("s", 3), FeatureDim("f", 4)
Y = Tensor("y", [batch_dim, T, S, F], "float32", feature_dim=F, time_dim_axis=1)
ROWS = Tensor("rows", [batch_dim, T], "float32", time_dim_axis=1)


def indices(*dims: Dim, dtype: str = "int32", time: Dim | None = None) -> Tensor:
    res = Tensor("i", dims, dtype)
    return res if time is None else res.like(None, time_dim=time)


def test_gather_dims() -> None:
    """common ones, those in front of the axis, those of the indices, those behind it; time: what is left of it"""
    other = SpatialDim("other", size_dims=(batch_dim,))
    y = rf.gather(Y, indices=indices(other, batch_dim, time=other), axis=S)
    assert (y.dims, y.time_dim, y.feature_dim) == ((batch_dim, T, other, F), T, F)
    y = rf.gather(Y, indices=indices(batch_dim, other, S, time=other), axis=T)
    assert (y.dims, y.time_dim) == ((batch_dim, S, other, F), other)
    y = rf.gather(Y, indices=indices(batch_dim, T, time=T), axis=T)  # T counts the frames of the result, too
    assert (y.dims, y.time_dim) == ((batch_dim, T, S, F), T)
    y = rf.gather(Y, indices=3, axis=F)
    assert (y.dims, y.feature_dim) == ((batch_dim, T, S), None)
    assert rf.gather(Y, indices=indices(batch_dim), axis=batch_dim).dims == (batch_dim, T, S, F)


def test_other_dims() -> None:
    """of scatter, slice_nd, search_sorted, top_k, masked_select"""
    other, row = SpatialDim("other", size_dims=(batch_dim,)), Dim(None, name="row", size_dims=())
    y = rf.scatter(Y, indices=indices(T, batch_dim), indices_dim=T, out_dim=other)
    assert (y.dims, y.time_dim, y.feature_dim) == ((batch_dim, other, S, F), other, F)
    y = rf.slice_nd(Y, axis=F, start=0, out_dim=FeatureDim("piece", 2))
    assert y.dims[3].dimension == 2 and y.feature_dim == y.dims[3]
    assert rf.slice_nd(Y, axis=T, start=1, out_dim=S, use_mask=False).time_dim is None
    y = rf.search_sorted(ROWS, Tensor("v", [S, batch_dim], "float32"), axis=T)
    assert (y.dims, y.dtype) == ((S, batch_dim), "int32")
    assert rf.search_sorted(ROWS, Tensor("v", [S], "float32"), axis=T).dims == (batch_dim, S)
    values, places, k = rf.top_k(Y, axis=[S, T], k=2)
    assert values.dims == (batch_dim, F, k) and [p.sparse_dim for p in places] == [S, T]
    y, dim = rf.masked_select(Y, mask=Tensor("m", [T, batch_dim], "bool"), dims=[T])
    assert (y.dims, y.time_dim, dim.size_dims) == ((batch_dim, dim, S, F), dim, (batch_dim,))
    y, dim = rf.masked_select(Y, mask=Tensor("m", [T, batch_dim], "bool"), dims=[batch_dim, T], out_dim=row)
    assert (y.dims, y.time_dim, dim) == ((row, S, F), row, row)


@pytest.mark.parametrize("backend", BACKENDS)
def test_masked_select_of_all(backend: str) -> None:
    """1 2 3 and 4, those > 1: 2 3 4; what stands behind the end does not count, or counts"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, 5, 6]]}

    def function(x: Tensor, use_mask: bool) -> Tensor:
        y, dim = rf.masked_select(x, mask=x > 1, dims=[batch_dim, T], use_mask=use_mask)
        assert dim.size_dims == () or x.raw_tensor is None
        return y

    assert run_rf(backend, lambda x: function(x, True), [ROWS], [feed]).values[0].tolist() == [2, 3, 4]
    assert run_rf(backend, lambda x: function(x, False), [ROWS], [feed]).values[0].tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("backend", BACKENDS)
def test_top_k_of_few(backend: str) -> None:
    """3 of 1 3 2 and of 4: where there are no more, the lowest number; so many as each sequence has"""
    feed = {T: [3, 1], "rows": [[1, 3, 2], [4, 9, 9]]}
    y = run_rf(backend, lambda x: rf.top_k(x, axis=T, k=4)[0], [ROWS], [feed]).values[0]
    assert y.tolist() == [[3, 2, 1, LOWEST], [4, LOWEST, LOWEST, LOWEST]]

    def as_long(x: Tensor) -> Tensor:
        lens = T.dyn_size_ext
        values, places, dim = rf.top_k(x, axis=T, k=lens)
        assert places.sparse_dim == T and dim.dyn_size_ext.dims == (batch_dim,)
        return rf.slice_nd(values, axis=dim, start=0, out_dim=S)

    assert run_rf(backend, as_long, [ROWS], [feed]).values[0].tolist() == [[3, 2, 1], [4, 0, 0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_top_k_of_equal_ones(backend: str) -> None:
    """The first ones come first, also if not all of them are among the best; along one axis or two."""
    two, many = SpatialDim("two", 2), SpatialDim("many", 50)
    x = Tensor("x", [two, many], "float32")
    value = numpy.zeros((2, 50), "float32")
    value[:, 7::10] = 1
    feed = {"x": value}
    for k, expected in [(3, [7, 17, 27]), (5, [7, 17, 27, 37, 47]), (7, [7, 17, 27, 37, 47, 0, 1])]:
        y = run_rf(backend, lambda x, k=k: rf.top_k(x, axis=many, k=k)[1], [x], [feed])
        assert y.values[0].tolist() == [expected] * 2
        y = run_rf(backend, lambda x, k=k: rf.top_k(x, axis=[many, two], k=2 * k)[1][0], [x], [feed])
        assert y.values[0].tolist() == sorted(expected[:5] * 2) + sorted(expected[5:] * 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scatter_without_mask(backend: str) -> None:
    """1 2 3 and 4 5 6 at 0 1 1 of two: 1 5 and 4 11, though 5 and 6 stand behind the end"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, 5, 6]]}
    two = SpatialDim("two", 2)

    def function(x: Tensor) -> Tensor:
        places = rf.minimum(rf.places_along(T, x), 1)
        return rf.scatter(x, indices=places, indices_dim=T, out_dim=two, use_mask=False)

    y = run_rf(backend, function, [ROWS], [feed])
    assert y.template.dims == (two, batch_dim)
    assert y.values[0].tolist() == [[1, 4], [5, 11]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_cumsum_of_the_array(backend: str) -> None:
    """backwards from the end of the array: 4 5 6 gives 15 11 6"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, 5, 6]]}
    y = run_rf(backend, lambda x: rf.cumsum(x, spatial_dim=T, reverse=True, use_mask=False), [ROWS], [feed])
    assert y.values[0].tolist() == [[6, 5, 3], [15, 11, 6]]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: rf.gather(Y, indices=1), "axis is missing, and the indices 1 are no labels"),
        (lambda: rf.gather(Y, indices=-1, axis=S), "an index must be an integer >= 0, but is -1"),
        (lambda: rf.gather(Y, indices=3, axis=S), "index 3 does not exist in"),
        (lambda: rf.gather(Y, indices=ROWS, axis=S), "the indices must be integers, but .* is float32"),
        (lambda: rf.gather(ROWS, indices=1, axis=S), "gather: rows has no dim"),
        (lambda: rf.scatter(Y, indices=indices(T), indices_dim=T), "out_dim is missing, and the indices"),
        (lambda: rf.scatter(Y, indices=ROWS, indices_dim=T, out_dim=S), "must be integers, but .* is float32"),
        (lambda: rf.search_sorted(ROWS, ROWS, axis=T, side="up"), "side must be 'left' or 'right', but is 'up'"),
        (lambda: rf.search_sorted(ROWS, indices(T), axis=T), "differ in dtype"),
        (lambda: rf.top_k(Y, axis=S), "k or k_dim is needed"),
        (lambda: rf.top_k(Y, axis=S, k=4), r"there are no 4 entries along"),
        (lambda: rf.top_k(Y, axis=S, k=-1), "k must be an integer >= 0, but is -1"),
        (lambda: rf.top_k(Y, axis=S, k=2, k_dim=S), "other static sizes|sizes|differ"),
        (lambda: rf.masked_select(Y, mask=ROWS, dims=[T]), "the mask must be bool, but .* is float32"),
    ],
)
def test_messages(function: Any, message: str) -> None:
    with pytest.raises(DimError, match=message):
        function()


def test_lengths_must_be_known() -> None:
    """with a value"""
    x = ROWS.like(numpy.zeros((2, 3), "float32"))
    with pytest.raises(DimError, match="the lengths of .* are needed here, but are not known"):
        rf.lengths_along(x, T)
    assert rf.lengths_along(x, T, use_mask=False) == 3
    assert rf.lengths_along(Y, S) == 3
