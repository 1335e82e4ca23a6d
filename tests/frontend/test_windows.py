"""Windows, chunks, other numbers of frames: values on all backends, dims, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend.windows import window_split
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx
from tests.common import BACKENDS, run_rf

from .contract import FEATURE, LABELS, TIME, Case, X, contract_tests

T = SpatialDim("t", size_dims=(batch_dim,))
S, F = SpatialDim("s", 3), FeatureDim("f", 4)
Y = Tensor("y", [batch_dim, T, S, F], "float32", feature_dim=F, time_dim_axis=1)
ROWS = Tensor("rows", [batch_dim, T], "float32", time_dim_axis=1)
WINDOW = SpatialDim("window", 3)
WINDOWS = Tensor("windows", [batch_dim, TIME, WINDOW], "float32", time_dim_axis=1)


def overlapped(x: Any, size: int, *, left: int, stride: int, mean: bool) -> Any:
    """x [windows, 3], one behind the other"""
    res, counts = numpy.zeros(size), numpy.zeros(size)
    for t, row in enumerate(x):
        for j, value in enumerate(row):
            place = t * stride + j - left
            if 0 <= place < size:
                res[place] += value
                counts[place] += 1
    return res / numpy.maximum(counts, 1) if mean else res


def fold_case(mode: str, padding: str = "same", *, stride: int = 1, left: int | None = None) -> Case:
    same = padding == "same"

    def reference(x: Any) -> Any:
        size = len(x) * stride + (0 if same else 2)
        places = {"left": (1 if left is None else left) if same else 0, "stride": stride}
        return overlapped(x, size, mean=mode == "mean", **places)

    return Case(
        "fold_%s_%s_%i_%s" % (mode, padding, stride, left),
        [WINDOWS],
        lambda x: rf.fold(
            x, in_spatial_dim=TIME, window_dim=WINDOW, mode=mode, padding=padding, stride=stride, window_left=left
        )[0],
        reference,
        gradient=True,
    )


def resampled(x: Any, factor: float, kind: str) -> Any:
    """x [frames, features]"""
    places = numpy.arange(int(numpy.ceil(len(x) * numpy.float32(factor)))) / factor
    lower = numpy.floor(places).astype(int)

    def at(i: Any) -> Any:
        return x[numpy.clip(i, 0, len(x) - 1)]

    if kind == "nn":
        return at(lower)
    t = (places - lower)[:, None]
    if kind == "linear":
        return at(lower) * (1 - t) + at(lower + 1) * t
    t = numpy.round(t * 1024) / 1024
    a = -0.75  # Keys, 1981
    outer = [a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a for d in (1 + t, 2 - t)]
    inner = [(a + 2) * d**3 - (a + 3) * d**2 + 1 for d in (t, 1 - t)]
    return at(lower - 1) * outer[0] + at(lower) * inner[0] + at(lower + 1) * inner[1] + at(lower + 2) * outer[1]


def resize_case(factor: float, kind: str) -> Case:
    return Case(
        "resize_%s_%s" % (kind, factor),
        [X],
        lambda x: resized_sum(x, factor, kind),
        lambda x: (resampled(x, factor, kind) * (1 + numpy.arange(int(numpy.ceil(len(x) * factor))))[:, None]).sum(0),
        gradient=True,
        tolerance=1e-4,
    )


def resized_sum(x: Tensor, factor: float, kind: str) -> Tensor:
    """each frame times its number, added up: so that the new lengths count too"""
    y, dim = rf.resize(x, axis=TIME, factor=factor, kind=kind)
    numbers = rf.cast(rf.cumsum(rf.cast(y * 0.0, "int32") + 1, spatial_dim=dim), "float32")
    return rf.reduce_sum(y * numbers, axis=dim)


def chunk_sums(x: Tensor, size: int = 2, step: int = 2, *, axis: Dim = TIME) -> Tensor:
    """running sums within chunks, and the mean of these where several have a frame"""
    chunk_dim, chunks_dim = Dim(None, name="chunk", size_dims=(batch_dim,)), Dim(None, name="chunks", size_dims=())
    y = rf.chunk(x, axis=axis, chunk_size=size, chunk_step=step, chunk_dim=chunk_dim, chunks_dim=chunks_dim)
    y, _ = rf.merge_dims(rf.cumsum(y, spatial_dim=chunk_dim), dims=[batch_dim, chunks_dim])
    return rf.unchunk(y, chunk_dim=chunk_dim, chunks_dim=chunks_dim, chunk_step=step, out_dim=axis)


TestContract = contract_tests(
    [
        fold_case("sum"),
        fold_case("mean", left=2),
        fold_case("sum", stride=2),
        fold_case("mean", "valid", stride=2),
        fold_case("mean", stride=4),
        Case(
            "resize_fill",
            [X],
            lambda x: rf.resize(x, axis=TIME, factor=3, kind="fill", fill_value=7)[0],
            lambda x: numpy.where((numpy.arange(3 * len(x)) % 3)[:, None] == 0, numpy.repeat(x, 3, axis=0), 7),
            gradient=True,
        ),
        Case(
            "resize_labels",
            [LABELS],
            lambda y: rf.resize(y, axis=TIME, factor=2)[0],
            lambda y: numpy.repeat(y, 2),
        ),
        Case(
            "resize_features",
            [X],
            lambda x: rf.resize(x, axis=FEATURE, factor=1.5, kind="linear")[0],
            lambda x: resampled(x.T, 1.5, "linear").T,
            gradient=True,
        ),
        resize_case(2, "linear"),
        resize_case(0.5, "nn"),
        resize_case(1.5, "nn"),
        resize_case(1.5, "linear"),
        resize_case(3, "cubic"),
        Case(
            "chunks",
            [X],
            chunk_sums,
            lambda x: x + numpy.where(numpy.arange(len(x)) % 2, numpy.pad(x, [(1, 0), (0, 0)])[:-1].T, 0).T,
            gradient=True,
        ),
    ]
)


def test_window_splits_its_size() -> None:
    """by default half of it is behind the frame, rounded down; valid: the frame is the first"""
    assert [window_split(n, "same", None, None, op="") for n in (3, 4)] == [(1, 1), (1, 2)]
    assert window_split(4, "same", 3, None, op="") == (3, 0) and window_split(4, "same", None, 0, op="") == (3, 0)
    assert window_split(4, "valid", None, None, op="") == (0, 3)


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
    with pytest.raises(DimError, match="window: " + message):
        rf.window(Y, spatial_dim=T, window_dim=WINDOW, **options)
    with pytest.raises(DimError, match="fold: " + message):
        rf.fold(Y, in_spatial_dim=T, window_dim=S, **options)


def test_window_dims() -> None:
    """the new axis behind the spatial one; a window of 4 has 1 frame before and 2 behind"""
    w = SpatialDim("w", 4)
    y, dim = rf.window(Y, spatial_dim=T, window_dim=w)
    assert dim is T and y.dims == (batch_dim, T, w, S, F)
    frames = Tensor("y", [SpatialDim("q", 3)], "float32", raw_tensor=numpy.array([1, 2, 3], "float32"))
    z = rf.window(frames, spatial_dim=frames.dims[0], window_dim=w)[0]
    assert z.raw_tensor.tolist() == [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_window_of_short_sequences(backend: str) -> None:
    """1 2 3: 0 1 2, 1 2 3, 2 3 0; and 4: 0 4 0"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, numpy.nan, numpy.nan]]}
    y = run_rf(backend, lambda x: rf.window(x, spatial_dim=T, window_dim=WINDOW, use_mask=True)[0], [ROWS], [feed])
    assert y.values[0][0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 0]]
    assert y.values[0][1, 0].tolist() == [0, 4, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_fold_undoes_window(backend: str) -> None:
    """mean of the windows of 1 2 3 and 4: the same"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, numpy.nan, numpy.nan]]}

    def function(x: Tensor) -> Tensor:
        y, dim = rf.window(x, spatial_dim=T, window_dim=WINDOW, use_mask=True)
        return rf.fold(y, in_spatial_dim=dim, window_dim=WINDOW, mode="mean")[0]

    y = run_rf(backend, function, [ROWS], [feed])
    assert y.template.dims == ROWS.dims
    assert y.values[0][0].tolist() == [1, 2, 3] and y.values[0][1, 0] == 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_resize_of_the_array(backend: str) -> None:
    """Without a look at the lengths: 4 becomes 4 4.5, as 5 stands behind its end. Factor 1.5: the 3 frames of the array
    are spread over ceil(4.5) = 5 frames, so that they are 0.6 frames apart."""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, 5, 6]]}

    def function(x: Tensor, factor: float) -> Tensor:
        return rf.resize(x, axis=T, factor=factor, kind="linear", use_mask=False)[0]

    doubled = run_rf(backend, lambda x: function(x, 2), [ROWS], [feed]).values[0]
    assert doubled.tolist() == [[1, 1.5, 2, 2.5, 3, 3], [4, 4.5, 5, 5.5, 6, 6]]
    spread = run_rf(backend, lambda x: function(x, 1.5), [ROWS], [feed]).values[0]
    numpy.testing.assert_allclose(spread, [[1, 1.6, 2.2, 2.8, 3], [4, 4.6, 5.2, 5.8, 6]], rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_overlapping_chunks(backend: str) -> None:
    """1 2 3 4 and 5 6, chunks of 3, 2 further each: 1 2 3, 3 4; 5 6, none. Running sums 1 3 6, 3 7; 5 11. The third
    frame is in both chunks: (6 + 3) / 2. With steps of 4, chunks of 2: 1 2, none; 5 6, none: the others are zero."""
    feed = {T: [4, 2], "rows": [[1, 2, 3, 4], [5, 6, 100, 100]]}
    y = run_rf(backend, lambda x: chunk_sums(x, 3, 2, axis=T), [ROWS], [feed])
    assert (y.template.dims, y.template.time_dim) == (ROWS.dims, T)
    assert y.values[0][0].tolist() == [1, 3, 4.5, 7] and y.values[0][1, :2].tolist() == [5, 11]
    y = run_rf(backend, lambda x: chunk_sums(x, 2, 4, axis=T), [ROWS], [feed])
    assert y.values[0][0].tolist() == [1, 3, 0, 0]


def test_dims_of_resize_and_fold() -> None:
    """an int factor: by dim arithmetic; else lengths rounded up"""
    assert rf.resize(Y, axis=T, factor=2, kind="linear")[1] == T * 2
    assert rf.resize(Y, axis=F, factor=0.6)[1].dimension == 3
    assert rf.fold(Y, in_spatial_dim=T, window_dim=S, stride=2, padding="valid")[1] == T * 2 + 2
    with run_table_ctx():
        T.dyn_size = numpy.array([3, 1, 0], "int32")
        x = Y.like(numpy.zeros((3, 3, 3, 4), "float32"))
        y, dim = rf.resize(x, axis=T, factor=1.5)
        assert dim.dyn_size.tolist() == [5, 2, 0] and y.raw_tensor.shape == (3, 5, 3, 4)
        assert (y.time_dim, y.feature_dim) == (dim, F)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: rf.resize(Y, axis=T, factor=2, kind="line"), "unknown kind 'line'. Did you mean \"linear\"?"),
        (lambda: rf.resize(Y, axis=T, factor=0), "factor must be a number > 0, but is 0"),
        (lambda: rf.resize(Y, axis=T, factor=1.5, kind="fill"), "factor must be an int > 0, but is 1.5"),
        (lambda: rf.resize(LABELS, axis=TIME, factor=2, kind="linear"), "kind 'linear' needs floats"),
        (lambda: rf.fold(Y, in_spatial_dim=T, window_dim=S, mode="max"), "mode must be sum or mean, but is 'max'"),
        (lambda: rf.fold(Y, in_spatial_dim=T, window_dim=S, stride=0), "stride must be > 0, but is 0"),
        (lambda: rf.fold(Y, in_spatial_dim=S, window_dim=T), "must have a static size"),
    ],
)
def test_messages(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(DimError, match=message):
        function()
