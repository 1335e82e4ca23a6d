"""Sequences without padding, and back."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx
from tests.common import BACKENDS, run_rf

from .contract import FEATURE, LABEL_TIME, LABELS, TIME, Case, X, contract_tests

T = SpatialDim("t", size_dims=(batch_dim,))
U = SpatialDim("u", size_dims=(batch_dim,))
F = FeatureDim("f", 1)
Y = Tensor("y", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1)
FEED = {T: [2, 0, 1], "y": [[[1], [2]], [[-1], [-1]], [[3], [-1]]]}
XU = Tensor("xu", [batch_dim, TIME, LABEL_TIME], "float32", time_dim_axis=1)


def packed_and_padded(x: Tensor, *dims: Dim) -> Tensor:
    y, dim = rf.pack_padded(x, dims=dims)
    return rf.pad_packed(y * 2.0 if y.dtype == "float32" else y, in_dim=dim, dims=dims)


TestContract = contract_tests(
    [
        Case("pack", [X], lambda x: packed_and_padded(x, batch_dim, TIME), lambda x: 2 * x, gradient=True),
        Case("pack_time_major", [X], lambda x: packed_and_padded(x, TIME, batch_dim), lambda x: 2 * x),
        Case("pack_labels", [LABELS], lambda x: packed_and_padded(x, batch_dim, TIME), lambda x: x),
        Case(
            "pack_static", [X], lambda x: packed_and_padded(x, batch_dim, TIME, FEATURE), lambda x: 2 * x, gradient=True
        ),
        Case("pack_two_times", [XU], lambda x: packed_and_padded(x, batch_dim, TIME, LABEL_TIME), lambda x: 2 * x),
    ]
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_packed_are_the_real_frames_in_the_order_of_the_dims(backend: str) -> None:
    """lengths [2, 0, 1]: sequence by sequence 1 2 3, frame by frame 1 3 2; as many as there are"""
    for dims, expected in [([batch_dim, T], [1, 2, 3]), ([T, batch_dim], [1, 3, 2])]:
        packed = Dim(None, name="packed", size_dims=())
        with run_table_ctx():
            y = run_rf(backend, lambda x: rf.pack_padded(x, dims=dims, out_dim=packed)[0], [Y], [FEED])  # noqa: B023
        assert (y.template.dims, y.template.feature_dim, y.template.time_dim) == ((packed, F), F, None)
        assert y.values[0].tolist() == [[n] for n in expected]
        total = run_rf(backend, lambda x: rf.reduce_mean(rf.pack_padded(x, dims=dims)[0], axis=F), [Y], [FEED])  # noqa: B023
        assert total.values[0].tolist() == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_padded_again_is_zero_behind_the_ends(backend: str) -> None:
    """whatever was there before; time is time again"""
    y = run_rf(backend, lambda x: packed_and_padded(x, batch_dim, T), [Y], [FEED])
    assert (y.template.dims, y.template.feature_dim, y.template.time_dim) == (Y.dims, F, T)
    assert y.values[0][..., 0].tolist() == [[2, 4], [0, 0], [6, 0]]


def test_a_packed_batch_is_a_batch_that_knows_its_dims() -> None:
    """always the same object; equal to any batch dim"""
    packed = T.packed_batch([batch_dim, T])
    assert packed is T.packed_batch([batch_dim, T]) and packed is not T.packed_batch([T, batch_dim])
    assert packed == batch_dim and packed.packed_dims == (batch_dim, T) and batch_dim.packed_dims is None
    y, dim = rf.pack_padded(Y, dims=[batch_dim, T], out_dim=packed)
    assert dim is packed and (y + y).dims[0] is packed
    with run_table_ctx():
        assert packed.dyn_size_ext is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_lengths_of_other_dims_are_those_of_the_packed_entries(backend: str) -> None:
    """lengths [2, 1] of t, [1, 3] of u: the entries have lengths 1, 1, 3 along u, so the sums see no padding"""
    x = Tensor("x", [batch_dim, T, U], "float32", time_dim_axis=1)
    nan = numpy.nan
    value = [[[1, nan, nan], [2, nan, nan]], [[3, 4, 5], [nan, nan, nan]]]

    def function(x: Tensor) -> Tensor:
        y, _ = rf.pack_padded(x, dims=[batch_dim, T], out_dim=T.packed_batch([batch_dim, T]))
        assert y.dims[1] != U
        return rf.reduce_sum(y, axis=y.dims[1])

    assert run_rf("template", function, [x], []).template.dims == (batch_dim,)
    assert run_rf(backend, function, [x], [{T: [2, 1], U: [1, 3], "x": value}]).values[0].tolist() == [1, 2, 12]


def test_the_dims_of_the_lengths_must_be_packed_too() -> None:
    """the lengths of t are [batch]"""
    with pytest.raises(DimError, match="the lengths of .*'t'.* depend on .*, which must be among"):
        rf.pack_padded(Y, dims=[T, F])


@pytest.mark.parametrize("backend", BACKENDS)
def test_range_over_dim(backend: str) -> None:
    """0, 1, .. as labels of the dim; as long as its longest sequence, or as the array"""
    y = run_rf(backend, lambda x: rf.range_over_dim(T), [Y], [FEED])
    assert (y.template.dims, y.template.sparse_dim) == ((T,), T) and y.values[0].tolist() == [0, 1]
    y = run_rf(backend, lambda x: rf.range_over_dim(batch_dim, of=x, dtype="float32"), [Y], [FEED])
    assert y.values[0].tolist() == [0, 1, 2] and y.values[0].dtype == "float32"
    assert rf.range_over_dim(SpatialDim("three", 3)).raw_tensor.tolist() == [0, 1, 2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_unflatten_nd_has_its_own_sizes_for_each_sequence(backend: str) -> None:
    """lengths [6, 4] as 2 x 3 and 4 x 1: sums of the rows 0 + 1 + 2, 3 + 4 + 5 and 6, 7, 8, 9"""
    x = Tensor("x", [batch_dim, T], "float32", time_dim_axis=1)
    sizes = [Tensor(name, [batch_dim], "int32") for name in ("h", "w")]
    feed = {T: [6, 4], "x": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, -1, -1]], "h": [2, 4], "w": [3, 1]}
    height, width = SpatialDim("height", size_dims=(batch_dim,)), SpatialDim("width", size_dims=(batch_dim,))

    def function(x: Tensor, h: Tensor, w: Tensor) -> Tensor:
        y = rf.unflatten_nd(x, axis=T, sizes=[h, w], out_dims=[height, width])
        assert (y.dims, y.time_dim) == ((batch_dim, height, width), height)
        return rf.reduce_sum(y, axis=width)

    for turned in (False, True):  # with time in front
        inputs = [x.copy_transpose([T, batch_dim]) if turned else x, *sizes]
        with run_table_ctx():
            fed = {**feed, "x": numpy.transpose(feed["x"]) if turned else feed["x"]}
            y = run_rf(backend, function, inputs, [fed])
        assert y.values[0][0, :2].tolist() == [3, 12] and y.values[0][1].tolist() == [6, 7, 8, 9]


@pytest.mark.parametrize("backend", BACKENDS)
def test_unflatten_nd_with_one_axis_only_renames_it(backend: str) -> None:
    """of the same lengths"""
    lens = Tensor("lens", [batch_dim], "int32")
    new = SpatialDim("new", size_dims=(batch_dim,))

    def function(x: Tensor, lens: Tensor) -> Tensor:
        return rf.reduce_sum(rf.unflatten_nd(x, axis=T, sizes=[lens], out_dims=[new]), axis=new)

    with run_table_ctx():
        y = run_rf(backend, function, [Y, lens], [{**FEED, "lens": [2, 0, 1]}])
    assert y.values[0].tolist() == [[3], [0], [3]]
