"""Templates from several tensors, from constants; out_shape."""

from __future__ import annotations

import re

import numpy
import pytest

from returnn.tensor import DimError, FeatureDim, SpatialDim, Tensor, VerifyOutShapeException, batch_dim
from returnn.tensor.out_shape import ImplicitDynSizeDim, ImplicitSparseDim, OptionalDim
from returnn.util.behavior_version import BehaviorVersion, RequirementNotSatisfied

T, S = SpatialDim("t"), SpatialDim("q", 3)
F, G = FeatureDim("f", 5), FeatureDim("g", 7)
A = Tensor("a", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1)
B = Tensor("b", [batch_dim, F], "float32", feature_dim=F)
C = Tensor("c", [T, batch_dim, G], "float32", feature_dim=G, time_dim_axis=0)
E = Tensor("e", [S, F], "float32", feature_dim=F)


def test_common_data_is_like_the_largest_source() -> None:
    """in whatever order they come"""
    for sources in ([A, B], [B, A]):
        common = Tensor.get_common_data(sources, name="common")
        assert (common.name, common.dims, common.feature_dim, common.time_dim) == ("common", A.dims, F, T)
    assert Tensor.get_common_data([]) is None


def test_common_data_with_axes_of_others() -> None:
    """Missing axes at the places of their kinds; the last feature is the feature."""
    common = Tensor.get_common_data([A, C], allow_broadcast_all_sources=True)
    assert (common.dims, common.feature_dim) == ((batch_dim, T, F, G), G)
    assert Tensor.get_common_data([B, E], allow_broadcast_all_sources=True).dims == (batch_dim, S, F)
    assert Tensor.get_common_data([A, C], ignore_feature_dim=True).dims == A.dims


def test_one_source_must_have_all_axes_from_version_4_on() -> None:
    """[B, F] and [S, F]"""
    BehaviorVersion._reset(version=4)
    try:
        with pytest.raises(RequirementNotSatisfied, match="need more axes"):
            Tensor.get_common_data([B, E])
        assert Tensor.get_common_data([A, B]) is not None
    finally:
        BehaviorVersion._reset()


@pytest.mark.parametrize(
    ("value", "kwargs", "text"),
    [
        (3, {}, "Tensor{'c', [], dtype='int32'}"),
        (2.5, {}, "Tensor{'c', []}"),
        (True, {}, "Tensor{'c', [], dtype='bool'}"),
        (numpy.zeros(2), {}, "Tensor{'c', [F|F'c:static:0'(2)], dtype='float64'}"),
        (3, {"dtype": "float32", "with_batch_dim": True}, "Tensor{'c', [B]}"),
        (3, {"dtype": "float32", "shape": (2, 3)}, "Tensor{'c', ['c:static:0'(2),F|F'c:static:1'(3)]}"),
        (3, {"sparse_dim": SpatialDim("v", 5)}, "Tensor{'c', [], dtype='int32', sparse_dim=Dim{'v'(5)}}"),
        (0.0, {"shape": (batch_dim, F), "feature_dim": F}, "Tensor{'c', [B,F|F'f'(5)]}"),
    ],
)
def test_template_from_constant(value: object, kwargs: dict, text: str) -> None:
    """Numbers have no axes, arrays static ones, the last one the feature."""
    assert repr(Tensor.template_from_constant(value, "c", **kwargs)) == text


def test_constant_of_another_type_is_refused() -> None:
    """a list"""
    with pytest.raises(DimError, match="must be a number or a numpy array"):
        Tensor.template_from_constant([1, 2], "c")


def test_out_shape_is_a_set() -> None:
    """Any order; optional dims may be missing; labels and lengths have marks."""
    labels = Tensor("l", [batch_dim, T], "int32", sparse_dim=F)
    A.verify_out_shape({F, T, batch_dim})
    A.verify_out_shape({F, T, batch_dim, OptionalDim(S)})
    A.verify_out_shape({F, T, batch_dim, OptionalDim(F)} - {F})
    labels.verify_out_shape({batch_dim, T, ImplicitSparseDim(F)})
    labels.verify_out_shape({batch_dim, T}, allow_missing_implicit_dims=True)
    time = SpatialDim("time", size_dims=(batch_dim,))
    Tensor("x", [time], "float32").verify_out_shape({time, ImplicitDynSizeDim(batch_dim)})


@pytest.mark.parametrize(
    ("x", "out_shape", "message"),
    [
        (A, {batch_dim, T}, "verify_out_shape missing dims:|Missing dims: Dim{F'f'(5)}"),
        (A, {batch_dim, T, F, S}, "verify_out_shape:|Dim Dim{'q'(3)} not in self"),
        (B, {batch_dim, F, ImplicitDynSizeDim(batch_dim)}, "ImplicitDynSizeDim(Dim{B}) is not an implicit dim in self"),
        (
            Tensor("l", [batch_dim], "int32", sparse_dim=F),
            {batch_dim},
            "ImplicitSparseDim(Dim{F'f'(5)})|Missing dims: Dim{F'f'(5)}",
        ),
    ],
)
def test_out_shape_that_differs(x: Tensor, out_shape: set, message: str) -> None:
    """Says what is missing, or too much."""
    with pytest.raises(VerifyOutShapeException, match="(?s)" + ".*".join(map(re.escape, message.split("|")))):
        x.verify_out_shape(out_shape)
