"""Copies in another layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx

T, S, F = SpatialDim("t"), SpatialDim("s", 5), FeatureDim("f", 7)


def tensor() -> Tensor:
    """[B=2, T=3, S=5, F=7]"""
    raw = numpy.arange(2 * 3 * 5 * 7, dtype="float32").reshape(2, 3, 5, 7)
    return Tensor("x", [batch_dim, T, S, F], "float32", feature_dim=F, time_dim_axis=1, raw_tensor=raw)


@pytest.mark.parametrize(
    ("copy", "order"),
    [
        (lambda x: x.copy_as_time_major(), "TBSF"),
        (lambda x: x.copy_as_batch_major(), "BTSF"),
        (lambda x: x.copy_as_time_batch_major(), "TBSF"),
        (lambda x: x.copy_as_batch_feature_major(), "BFTS"),
        (lambda x: x.copy_with_feature_dim_axis(0), "FBTS"),
        (lambda x: x.copy_with_feature_dim_axis(1).copy_with_feature_last(), "BTSF"),
        (lambda x: x.copy_with_batch_dim_axis(2), "TSBF"),
        (lambda x: x.copy_with_time_dim_axis(-1), "BSFT"),
        (lambda x: x.copy_move_axis(3, 0).copy_as_bt_or_tb_major(), "BTFS"),
        (lambda x: x.copy_swap_axes(0, 2), "STBF"),
        (lambda x: x.copy_transpose([F, S, T, batch_dim]), "FSTB"),
        (lambda x: x.copy_transpose([3, 2, 1, 0]), "FSTB"),
        (lambda x: x.copy(), "BTSF"),
    ],
)
def test_axes_move_with_their_markers(copy: Callable[[Tensor], Tensor], order: str) -> None:
    """Value, time and feature stay with their dims, the others keep their order."""
    x = tensor()
    y = copy(x)
    dims = [{"B": batch_dim, "T": T, "S": S, "F": F}[letter] for letter in order]
    assert list(y.dims) == dims
    assert (y.time_dim, y.feature_dim, y.batch_dim_axis) == (T, F, order.index("B"))
    numpy.testing.assert_array_equal(y.raw_tensor, x.raw_tensor.transpose([x.dims.index(d) for d in dims]))


def test_copy_compatible_to_adds_axes_of_size_1() -> None:
    """[F, B] for [B, T, S, F]: [B, 1, 1, F], or repeated"""
    with run_table_ctx():
        T.dyn_size = numpy.array([3, 2], "int32")
        x = Tensor("v", [F, batch_dim], "float32", raw_tensor=numpy.arange(14, dtype="float32").reshape(7, 2))
        y = x.copy_compatible_to(tensor())
        assert y.raw_tensor.shape == (2, 1, 1, 7)
        assert [d.dimension for d in y.dims] == [None, 1, 1, 7]
        full = x.copy_compatible_to(tensor(), unbroadcast=True)
        assert full.dims == tensor().dims and full.raw_tensor.shape == (2, 3, 5, 7)
        assert (full.raw_tensor == y.raw_tensor).all()
        partly = x.copy_compatible_to(tensor(), unbroadcast=True, except_axis=2)
        assert partly.raw_tensor.shape == (2, 3, 1, 7)


def test_copy_compatible_to_refuses_what_does_not_fit() -> None:
    """other dims, another dtype, labels against values, missing dims"""
    x = tensor()
    with pytest.raises(DimError, match="does not fit to the dims"):
        x.copy_compatible_to(Tensor("y", [batch_dim, T], "float32"))
    with pytest.raises(DimError, match="other dtype"):
        x.copy_compatible_to(x.copy_template(dtype="int32"))
    with pytest.raises(DimError, match="one is sparse"):
        x.copy_compatible_to(Tensor("y", x.dims, "float32", sparse_dim=F))
    with pytest.raises(DimError, match="dims are missing"):
        Tensor("v", [F], "float32").copy_compatible_to(x, add_dims=False)


@pytest.mark.parametrize(
    ("dim", "place"),
    [(Dim(None, kind=Dim.Types.Batch), 0), (FeatureDim("g", 2), 3), (SpatialDim("u"), 1), (SpatialDim("r", 4), 2)],
)
def test_new_axis_has_a_place_by_kind(dim: Dim, place: int) -> None:
    """In [T, S, F]: batch first, feature behind the feature, dynamic behind T, static behind the last spatial one."""
    x = tensor().copy_template_excluding_axis(0)
    assert x.copy_add_dim_by_tag(dim, unbroadcast=True).dims[place] == dim


def test_new_axis_has_size_1_unless_repeated() -> None:
    """the same for templates"""
    x = Tensor("x", [batch_dim, F], "float32", feature_dim=F)
    assert x.copy_add_dim_by_tag(S).batch_shape == (None, 1, 7)
    assert x.copy_add_dim_by_tag(S, unbroadcast=True).batch_shape == (None, 5, 7)
    x.raw_tensor = numpy.zeros((2, 7), "float32")
    assert x.copy_add_dim_by_tag(S).raw_tensor.shape == (2, 1, 7)
    assert x.copy_add_dim_by_tag(S, unbroadcast=True).raw_tensor.shape == (2, 5, 7)


def test_copy_template_excluding_time_makes_the_next_dynamic_axis_time() -> None:
    """[B, T, 5, spatial2, 7] without T; with a new feature behind the 7"""
    d = Tensor("d", shape=(None, 5, None, 7))
    x = d.copy_template_excluding_time_dim()
    assert x.batch_shape == (None, 5, None, 7)
    assert (x.time_dim_axis, x.feature_dim_axis) == (2, 3)
    y = d.copy_add_feature_dim()
    assert y.batch_shape == (None, None, 5, None, 7, 1)
    assert (y.time_dim_axis, y.feature_dim_axis) == (1, 5)
    assert d.copy_template_excluding_spatial_dim(-1).batch_shape == (None, None, 5, 7)


def test_templates() -> None:
    """without value; with a new time axis, other dims, labels as one-hot"""
    x = tensor()
    assert x.copy_template("y").raw_tensor is None and x.copy_template("y").name == "y"
    y = x.copy_template_adding_time_dim()
    assert (y.time_dim_axis, y.batch_dim_axis, y.feature_dim_axis) == (0, 1, 4)
    z = x.copy_template_replace_dim_tag(1, S)
    assert z.dims == (batch_dim, S, S, F) and z.time_dim_axis == 1
    w = x.copy_template_new_dim_tags([F, batch_dim])
    assert (w.feature_dim_axis, w.time_dim_axis) == (0, None)
    labels = Tensor("l", [batch_dim, T], "int32", sparse_dim=F, time_dim_axis=1)
    dense = labels.copy_template_dense()
    assert (dense.dims, dense.dtype, dense.feature_dim, dense.sparse) == ((batch_dim, T, F), "float32", F, False)


def test_split_and_squeeze() -> None:
    """F = 7 as [7, 1], and back"""
    x = tensor()
    y = x.copy_split_feature_dim(1)
    assert y.raw_tensor.shape == (2, 3, 5, 7, 1) and y.feature_dim_axis == 4
    assert y.copy_squeeze_axes([4]).raw_tensor.shape == (2, 3, 5, 7)
    with pytest.raises(DimError, match="cannot be split into parts of 2"):
        x.copy_split_feature_dim(2)
    with pytest.raises(DimError, match="not of size 1"):
        x.copy_squeeze_axes([2])


def test_missing_axis_is_named() -> None:
    """no batch"""
    with pytest.raises(DimError, match="has no batch axis"):
        Tensor("x", [F], "float32").copy_as_batch_major()


def test_a_dim_that_occurs_twice_keeps_its_order() -> None:
    """A square weight [F, F']: transposing by dims takes the identical one first."""
    other = F.copy(match_priority=1)
    w = Tensor("w", [F, other], "float32", raw_tensor=numpy.arange(49, dtype="float32").reshape(7, 7))
    numpy.testing.assert_array_equal(w.copy_transpose([other, F]).raw_tensor, w.raw_tensor.T)
