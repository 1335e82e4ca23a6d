"""Constructor arguments of old configs."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim

N = None


@pytest.mark.parametrize(
    ("kwargs", "batch_shape", "axes", "dim", "dtype"),
    [
        # axes: batch, time, feature
        ({"dim": 40}, (N, N, 40), (0, 1, 2), 40, "float32"),
        ({"dim": 10, "sparse": True}, (N, N), (0, 1, N), 10, "int32"),
        ({"shape": (40,)}, (N, 40), (0, N, 1), 40, "float32"),
        ({"shape": (N,)}, (N, N), (0, 1, N), N, "float32"),
        ({"shape": (3, N, 7)}, (N, 3, N, 7), (0, 2, 3), 7, "float32"),
        ({"dim": 40, "batch_dim_axis": 1}, (N, N, 40), (1, 0, 2), 40, "float32"),
        ({"dim": 40, "feature_dim_axis": 1}, (N, 40, N), (0, 2, 1), 40, "float32"),
        ({"dim": 40, "time_dim_axis": N}, (N, 40), (0, N, 1), 40, "float32"),
        ({"shape": (), "dtype": "int32"}, (N,), (0, N, N), N, "int32"),
        ({"shape": (N, 40), "dim": 40, "batch_dim_axis": N}, (N, 40), (N, 0, 1), 40, "float32"),
        ({"shape": (N, N, 3), "feature_dim_axis": -1}, (N, N, N, 3), (0, 1, 3), 3, "float32"),
    ],
)
def test_axes_follow_from_old_arguments(
    kwargs: dict[str, Any], batch_shape: tuple[Any, ...], axes: tuple[Any, ...], dim: int | None, dtype: str
) -> None:
    """Time is the first dynamic axis, feature the last static one, batch the first."""
    x = Tensor("x", **kwargs)
    assert x.batch_shape == batch_shape
    assert (x.batch_dim_axis, x.time_dim_axis, x.feature_dim_axis) == axes
    assert (x.dim, x.dtype) == (dim, dtype)


def test_dense_repr() -> None:
    """[batch, time, feature]; sizes of time depend on batch."""
    assert repr(Tensor("x", dim=40)) == "Tensor{'x', [B,T|'time:var-unk:x'[B],F|F'feature:x'(40)]}"


def test_sparse_repr() -> None:
    """Labels show their dtype and their dim."""
    assert repr(Tensor("x", dim=10, sparse=True)).endswith(", dtype='int32', sparse_dim=Dim{F'x:sparse-dim'(10)}}")


def test_names_of_automatic_dims_tell_where_they_come_from() -> None:
    """Config files search them with ``stag:``."""
    x = Tensor("x", shape=(5, None, 7, None, 3), auto_create_placeholders=True)
    assert [d.description for d in x.dims[1:]] == [
        "spatial0:static5:x",
        "time:var:extern_data:x",
        "spatial2:static7:x",
        "spatial3:var:extern_data:x",
        "feature:x",
    ]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({}, "give shape, or dim, or dims"),
        ({"sparse": True}, "needs dim, the number of classes"),
        ({"shape": (None, 40), "dim": 41}, "dim is 41, but the feature axis of shape has size 40"),
        ({"dim": 4, "shap": (None, 4)}, "unknown argument 'shap'. Did you mean \"shape\"?"),
        ({"dim": 4, "time_dim_axis": 5}, "time_dim_axis is 5, but there are 3 axes"),
    ],
)
def test_contradictions_are_named(kwargs: dict[str, Any], message: str) -> None:
    """Configs expect an AssertionError; the message says what does not fit."""
    with pytest.raises(AssertionError, match="Tensor .x.: ") as error:
        Tensor("x", **kwargs)
    assert message in str(error.value)
    assert "'x'" in str(error.value)


def test_new_style_needs_a_dtype() -> None:
    """With dims nothing is guessed: neither dtype nor time nor feature."""
    with pytest.raises(DimError, match="dtype is needed"):
        Tensor("x", [batch_dim])
    x = Tensor("x", [batch_dim, SpatialDim("t"), FeatureDim("f", 3)], "float32")
    assert (x.time_dim_axis, x.feature_dim_axis) == (None, None)


def test_dim_tags_get_old_defaults() -> None:
    """Time is the first dynamic spatial dim, feature the one of kind feature."""
    time, feature = SpatialDim("t"), FeatureDim("f", 3)
    x = Tensor("x", dim_tags=[batch_dim, feature, SpatialDim("s", 5), time])
    assert (x.batch_dim_axis, x.time_dim_axis, x.feature_dim_axis) == (0, 3, 1)
    assert x.dims[3] is time


def test_same_dim_tags_as_joins_dims_of_two_tensors() -> None:
    """Both time axes are the one dim of the config afterwards; a config writes it without a size."""
    time = Dim(kind=Dim.Types.Spatial, description="time")
    x = Tensor("x", dim=40, same_dim_tags_as={"t": time})
    y = Tensor("y", dim=10, sparse=True, same_dim_tags_as={"T": time})
    assert x.dims[1] is time and y.dims[1] is time
    assert time.size_dims == (batch_dim,)


def test_sparse_dim_alone_means_sparse() -> None:
    """dim and dtype follow from it."""
    classes = FeatureDim("classes", 12)
    x = Tensor("x", shape=(None,), sparse_dim=classes)
    assert (x.sparse, x.dim, x.dtype) == (True, 12, "int32")
