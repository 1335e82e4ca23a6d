"""Element-wise operations: dims, dtypes, errors. Values: test_contract.py."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim

T, F = SpatialDim("t", 3), FeatureDim("f", 2)
X = Tensor("x", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1)
V = Tensor("v", [F], "float32", feature_dim=F)
LABELS = Tensor("labels", [batch_dim, T], "int32", sparse_dim=F)


def test_dims_are_those_of_the_largest_operand_first() -> None:
    """whichever side it is on; then what only others have"""
    assert (V + X).dims == (X + V).dims == X.dims
    other = Tensor("y", [F, SpatialDim("s", 4)], "float32")
    assert rf.combine(X, "+", other).dims == X.dims + other.dims[1:]
    assert (V + X).feature_dim is F and (V + X).time_dim is T


def test_operands_of_the_same_dims_are_not_searched_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matching dims costs more than the sum. Where they are the same objects, one comparison: time is not feature."""
    x = Tensor("x", [T, F], "float32", feature_dim=F, time_dim_axis=0, raw_tensor=numpy.ones((3, 2), "float32"))
    compared = []
    equal = Dim.__eq__

    def counted(a: Dim, b: object) -> bool:
        compared.append((a, b))
        return equal(a, b)

    monkeypatch.setattr(Dim, "__eq__", counted)
    y = x + x
    assert len(compared) <= 1
    assert (y.feature_dim, y.time_dim) == (F, T) and y.raw_tensor.tolist() == [[2.0, 2.0]] * 3


def test_a_dim_that_occurs_twice_is_kept_twice() -> None:
    """a square [F, F] plus a vector [F]"""
    square = Tensor("w", [F, F], "float32")
    assert (square + V).dims == (F, F)


def test_dtype_and_labels() -> None:
    """Labels plus a number are labels; compared they are bool; divided they are float64."""
    assert ((LABELS + 1).dtype, (LABELS + 1).sparse_dim) == ("int32", F)
    assert ((LABELS < 1).dtype, (LABELS < 1).sparse_dim) == ("bool", None)
    assert ((LABELS / 2).dtype, (LABELS / 2).sparse_dim) == ("float64", None)
    assert rf.cast(LABELS, "int64").sparse_dim is F and rf.cast(LABELS, "float32").sparse_dim is None
    assert rf.cast(X, "float32") is X


def test_dtypes_must_agree() -> None:
    """named with both tensors"""
    with pytest.raises(DimError, match="dtypes differ: x float32, labels int32"):
        rf.combine(X, "+", LABELS)
    with pytest.raises(DimError, match="where: dtypes differ"):
        rf.where(X > 0, X, LABELS)


def test_unknown_kind_suggests_the_nearest() -> None:
    """combine and compare"""
    with pytest.raises(DimError, match='combine: unknown kind .maximun.. Did you mean "maximum"'):
        rf.combine(X, "maximun", V)
    with pytest.raises(DimError, match="compare: unknown kind"):
        rf.compare(X, "=", V)


def test_something_must_be_a_tensor() -> None:
    """two numbers are no task for rf"""
    with pytest.raises(TypeError, match="at least one operand must be a tensor"):
        rf.combine(1, "+", 2)
    with pytest.raises(TypeError, match="one of the two values must be a tensor"):
        rf.where(X > 0, 1.0, 0.0)


def test_operators() -> None:
    """both sides, all of them; what is no operand is Python's error"""
    x = V.like(numpy.array([4, -3], "float32"))
    values = {
        "x + 1": [5, -2],
        "1 - x": [-3, 4],
        "2 * x": [8, -6],
        "x / 2": [2, -1.5],
        "12 / x": [3, -4],
        "x // 3": [1, -1],
        "x % 3": [1, 0],
        "x ** 2": [16, 9],
        "-x": [-4, 3],
        "x > 0": [True, False],
        "0 >= x": [False, True],
        "(x > 0) & (x < 0)": [False, False],
        "(x > 0) | (x < 0)": [True, True],
        "~(x > 0)": [False, True],
    }
    for expression, expected in values.items():
        assert eval(expression, {"x": x}).raw_tensor.tolist() == expected, expression
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"


def test_public_names_do_not_leak_helpers() -> None:
    """``from returnn.frontend import *`` gives operations, the tensor types and the modules"""
    assert "combine" in rf.__all__ and "annotations" not in rf.__all__
    assert [name for name in rf.__all__ if not hasattr(rf, name)] == []
