"""Lengths, masks, sizes; and axes made one."""

from __future__ import annotations

import numpy
import pytest

from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx

F = FeatureDim("f", 2)


def tensor(t: Dim, *, time_major: bool = False) -> Tensor:
    """[B=2, T=3, F=2], lengths [3, 2]"""
    raw = numpy.arange(12, dtype="float32").reshape(2, 3, 2)
    t.dyn_size = numpy.array([3, 2], "int32")
    x = Tensor("x", [batch_dim, t, F], "float32", feature_dim=F, time_dim_axis=1, raw_tensor=raw)
    return x.copy_as_time_major() if time_major else x


def test_lengths_and_masks() -> None:
    """[3, 2]; masks have the axes as the tensor has them"""
    with run_table_ctx():
        t = SpatialDim("t")
        x = tensor(t)
        mask = [[True, True, True], [True, True, False]]
        assert x.get_sequence_lengths().tolist() == [3, 2]
        assert x.get_sequence_mask().tolist() == mask
        assert x.get_sequence_mask_broadcast().shape == (2, 3, 1)
        y = x.copy_as_time_major()
        assert y.get_sequence_mask().tolist() == numpy.transpose(mask).tolist()
        assert y.get_sequence_mask_broadcast(axis=0).shape == (3, 2, 1)
        assert (x.get_batch_dim(), x.time_dimension(), x.get_dim(2)) == (2, 3, 2)


def test_static_time_has_equal_lengths() -> None:
    """[B=2, 3]: all frames are real"""
    t = SpatialDim("t", 3)
    x = Tensor("x", [batch_dim, t], "float32", time_dim_axis=1, raw_tensor=numpy.zeros((2, 3), "float32"))
    assert x.get_sequence_lengths().tolist() == [3, 3]
    assert x.get_sequence_mask().all() and x.get_sequence_mask().shape == (2, 3)


def test_size_placeholder_is_a_view() -> None:
    """axis without batch -> lengths; set, get, iterate, copy; no deletion, no static axis"""
    with run_table_ctx():
        x = Tensor("x", shape=(5, None, 7))
        assert dict(x.size_placeholder) == {}
        sizes = numpy.array([1, 4], "int32")
        x.size_placeholder[1] = sizes
        assert x.dims[2].dyn_size is sizes
        assert list(x.size_placeholder) == [1] and x.size_placeholder.copy() == {1: sizes}
        assert 0 not in x.size_placeholder
        with pytest.raises(DimError, match="axis 0 .* is not dynamic"):
            x.size_placeholder[0] = sizes
        with pytest.raises(TypeError, match="cannot be deleted"):
            del x.size_placeholder[1]
        y = Tensor("y", shape=(None,), size_placeholder={0: sizes}, placeholder=numpy.zeros((2, 4), "float32"))
        assert y.get_sequence_lengths() is sizes


def test_lengths_of_another_tensor_make_the_axis_the_same() -> None:
    """As layers of users say it: in the constructor, or later. An axis that has lengths already stays another one."""
    with run_table_ctx():
        x = Tensor("x", shape=(None, 7), size_placeholder={0: numpy.array([1, 4], "int32")})
        y = Tensor("y", shape=(None, 5), size_placeholder=x.size_placeholder)
        assert y.dims[1] is x.dims[1]
        z = Tensor("z", shape=(None, 5), batch_dim_axis=1, time_dim_axis=0)
        template, own = z.copy_template(), z.dims[0]
        z.size_placeholder = {0: x.size_placeholder[0]}
        assert z.dims[0] is x.dims[1] and z.is_time_major
        assert template.dims[0] is own and own == x.dims[1]
        other = Tensor("other", shape=(None,), size_placeholder={0: numpy.array([1, 4], "int32")})
        other.size_placeholder = x.size_placeholder
        assert other.dims[1] != x.dims[1]


def test_dynamic_sizes_by_axis() -> None:
    """axes with batch"""
    with run_table_ctx():
        x = Tensor("x", shape=(None, 7))
        assert x.is_axis_dynamic(1) and not x.is_axis_dynamic(0) and not x.is_axis_dynamic(2)
        assert not x.has_dynamic_size(1)
        with pytest.raises(DimError, match="axis 1 has no lengths"):
            x.get_dynamic_size(1)
        x.set_dynamic_size(1, numpy.array([2], "int32"))
        assert x.get_dynamic_size(1).tolist() == [2]
        assert x.get_size_dim_tag(0) is x.dims[1]
        assert (x.get_dynamic_axes(), x.get_static_axes()) == ([1], [2])
        assert x.get_axes(exclude_batch=True, exclude_feature=True) == [1]
        assert x.get_special_axes_dict() == {"batch_dim_axis": 0, "time_dim_axis": 1, "feature_dim_axis": 2}


def test_mark_same_time() -> None:
    """the first axis with one of the dims becomes time"""
    t, s = SpatialDim("t"), SpatialDim("s")
    x = Tensor("x", [batch_dim, s, t], "float32", time_dim_axis=1)
    assert x.mark_same_time({t}) and x.time_dim is t
    assert not x.mark_same_time(SpatialDim("u")) and x.time_dim is t
    assert x.is_same_time_dim(Tensor("y", [t], "float32", time_dim_axis=0))


def test_get_kwargs_makes_an_equal_template() -> None:
    """with other arguments put in"""
    x = Tensor("x", dim=40, available_for_inference=False)
    y = Tensor(**{**x.get_kwargs(), "name": "y"})
    assert repr(y) == repr(x).replace("'x'", "'y'", 1)


@pytest.mark.parametrize("time_major", [False, True])
def test_flattened_frames_are_the_real_ones_sequence_by_sequence(time_major: bool) -> None:
    """[3, 2] frames: rows 0..2 of the first, 0..1 of the second, whatever the order of the axes"""
    with run_table_ctx():
        x = tensor(SpatialDim("t"), time_major=time_major)
        expected = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
        assert x.get_placeholder_time_flattened().tolist() == expected
        assert x.get_placeholder_flattened().tolist() == expected
        assert x.get_placeholder_flattened(keepdims=True).shape == (5, 1, 2)
        y = x.copy_time_flattened()
        assert y.raw_tensor.tolist() == expected
        assert (y.batch_shape, y.feature_dim, y.time_dim) == ((None, 2), F, None)
        assert not y.dims[0].need_masking


def test_flattened_with_more_axes() -> None:
    """[2, 3, 2, 4, 5], lengths [3, 2] over axis 1: 5 frames * 2 * 4 rows of 5"""
    with run_table_ctx():
        x = Tensor("x", shape=(None, 2, None, 5), placeholder=numpy.zeros((2, 3, 2, 4, 5), "float32"))
        x.size_placeholder[0] = numpy.array([3, 2], "int32")
        assert x.get_placeholder_flattened().shape == (40, 5)
        assert x.get_placeholder_flattened(keepdims=True).shape == (40, 1, 1, 1, 5)


def test_merge_into_batch() -> None:
    """[B=2, T=3, F]: 6 rows; or frame by frame with time outermost"""
    with run_table_ctx():
        x = tensor(SpatialDim("t"))
        y = x.copy_merge_into_batch([0, 1])
        assert y.dims == (batch_dim, F) and y.time_dim is None
        assert y.raw_tensor[:, 0].tolist() == [0, 2, 4, 6, 8, 10]
        assert x.copy_merge_into_batch([1, 0]).raw_tensor[:, 0].tolist() == [0, 6, 2, 8, 4, 10]
        with pytest.raises(DimError, match="the batch axis must be one of"):
            x.copy_merge_into_batch([1, 2])
