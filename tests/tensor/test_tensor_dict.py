"""Named tensors as a flat dict of arrays."""

from __future__ import annotations

import numpy
import pytest

from returnn.tensor import Dim, FeatureDim, SpatialDim, Tensor, TensorDict, batch_dim
from returnn.tensor.run_table import run_table_ctx

FEATURE = FeatureDim("f", 3)


def example(t: Dim) -> TensorDict:
    """x [B, t, F]"""
    return TensorDict([Tensor("x", [batch_dim, t, FEATURE], "float32", feature_dim=FEATURE)])


def test_as_raw_tensor_dict() -> None:
    """x [B=2, t, F=3], lengths [4, 2]: value, batch size, lengths; sizes of static dims on request"""
    t = SpatialDim("t")
    with run_table_ctx():
        data = example(t)
        data["x"].raw_tensor = numpy.zeros((2, 4, 3), "float32")
        t.dyn_size = numpy.array([4, 2], "int32")
        raw = data.as_raw_tensor_dict()
        assert sorted(raw) == ["x", "x:size0", "x:size1"]
        assert int(raw["x:size0"]) == 2 and raw["x:size1"].tolist() == [4, 2]
        assert data.as_raw_tensor_dict(include_const_sizes=True)["x:size2"] == 3
        assert sorted(data.as_raw_tensor_dict(include_scalar_dyn_sizes=False)) == ["x", "x:size1"]


def test_duplicate_dims_only_once() -> None:
    """x and y share batch and time"""
    t = SpatialDim("t")
    with run_table_ctx():
        t.dyn_size = numpy.array([1], "int32")
        data = example(t)
        data.update({"y": {"dims": [batch_dim, t], "dtype": "int32"}}, auto_convert=True)
        data["x"].raw_tensor, data["y"].raw_tensor = numpy.zeros((1, 1, 3), "float32"), numpy.zeros((1, 1), "int32")
        assert sorted(data.as_raw_tensor_dict(exclude_duplicate_dims=True)) == ["x", "x:size0", "x:size1", "y"]
        assert "y:size1" in data.as_raw_tensor_dict()


def test_round_trip() -> None:
    """assign takes back what as_raw_tensor_dict gave"""
    t = SpatialDim("t")
    with run_table_ctx():
        data = example(t)
        data["x"].raw_tensor = numpy.arange(24, dtype="float32").reshape(2, 4, 3)
        t.dyn_size = numpy.array([4, 2], "int32")
        raw = data.as_raw_tensor_dict()
    with run_table_ctx():
        other = data.copy_template()
        assert other["x"].raw_tensor is None
        other.assign_from_raw_tensor_dict_(raw)
        assert other["x"].raw_tensor is raw["x"]
        assert t.dyn_size.tolist() == [4, 2]
        other.reset_content()
        assert other["x"].raw_tensor is None


def test_dict_of_constructor_arguments() -> None:
    """as in extern_data of a config"""
    data = TensorDict({"data": {"dim": 40}, "classes": {"dim": 10, "sparse": True}})
    assert "data" in data and "other" not in data
    assert data["data"].dim == 40 and data["classes"].sparse
    with pytest.raises(KeyError):
        data["other"]
