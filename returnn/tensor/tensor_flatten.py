"""Several axes as one: padding dropped, or merged into the batch. Part of :class:`~.tensor.Tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .backend import backend_of_raw
from .dim import Dim, DimError
from .run_table import current_table
from .tensor_base import TensorBase
from .tensor_sequences import TensorSequences

if TYPE_CHECKING:
    from typing_extensions import Self


class TensorFlatten(TensorSequences):
    """Methods that make one axis of several."""

    def get_placeholder_time_flattened(self) -> Any:
        """
        :return: raw [sum of lengths, ..]: the real frames, one sequence after the other
        """
        x = self.copy_as_batch_major().copy_with_time_dim_axis(1)
        return x._raw_backend.boolean_mask(x.raw_tensor, x.get_sequence_mask())

    def copy_time_flattened(self) -> Self:
        """
        :return: batch and time as one axis, the real frames only, one sequence after the other
        """
        time = self.get_time_dim_tag()
        x = self.copy_as_batch_major().copy_with_time_dim_axis(1)
        dim = Dim(None, description="%s_flattened" % time.description, auto_generated=True, size_dims=())
        raw = None if x.raw_tensor is None else x.get_placeholder_time_flattened()
        return x.like(raw, dims=(dim,) + x.dims[2:], time_dim=None)

    def get_placeholder_flattened(self, keepdims: bool = False) -> Any:
        """
        :param keepdims: the other axes stay, with size 1, in front of the feature
        :return: raw [frames, feature] (labels: [frames]): all axes but the feature as one; padding along time is
            dropped
        """
        x = self.copy_with_feature_last()
        has_time = x.have_time_axis() and x.have_batch_axis()
        raw = x.get_placeholder_time_flattened() if has_time else x.raw_tensor
        backend = backend_of_raw(raw)
        kept = [] if x.feature_dim is None else [x.feature_dim.require_static()]
        ones = [1] * (x.batch_ndim - 1 - len(kept)) if keepdims else []
        return backend.reshape(raw, [-1] + ones + kept)

    def copy_merge_into_batch(self, axes: Sequence[int]) -> Self:
        """
        :param axes: the batch axis among them, in the order in which they are to be merged
        :return: these are the batch axis, padding included, at the place of the first of them
        """
        batch_axis = self.batch_dim_axis
        if batch_axis is None or batch_axis not in axes:
            raise DimError("%r: the batch axis must be one of the axes %s" % (self, list(axes)))
        return self._merge_axes(axes, self.dims[batch_axis])

    def _merge_axes(self, axes: Sequence[int], dim: Dim) -> Self:
        """
        :param axes: in the order in which they are to be merged, the first one outermost
        :param dim: what they become
        :return: at the place of the first of them. It is feature or time if one of them was, unless it is batch.
        """
        start = axes[0] - sum(a < axes[0] for a in axes[1:])
        rest = [i for i in range(self.batch_ndim) if i not in axes]
        x = self._permuted(rest[:start] + list(axes) + rest[start:])
        end = start + len(axes)
        backend = backend_of_raw(x.raw_tensor)
        raw = None
        if x.raw_tensor is not None:
            places = [(x.raw_tensor, i) for i in range(x.batch_ndim)]
            groups = [*([p] for p in places[:start]), places[start:end], *([p] for p in places[end:])]
            raw = backend.reshape(x.raw_tensor, backend.reshape_sizes(groups))

        def marker(axis: int | None) -> int | None:
            if axis is None or axis < start:
                return axis
            if axis >= end:
                return axis - len(axes) + 1
            return None if dim.is_batch_dim else start

        feature, time = marker(x.feature_dim_axis), marker(x.time_dim_axis)
        rest_dims = [d for i, d in enumerate(x.dims) if not start <= i < end]
        if dim.is_batch_dim and len(axes) > 1:
            merged = x.dims[start:end]
            rest_dims = [_lengths_in_merged_batch(x, d, merged, start) for d in rest_dims]
        return x._with(
            dims=[*rest_dims[:start], dim, *rest_dims[start:]],
            raw=raw,
            feature_dim_axis=feature,
            time_dim_axis=None if time == feature else time,
        )


def axis_size(x: TensorBase, axis: int) -> Any:
    """
    :param x: with value, or a template
    :param axis: of x
    :return: int where static, else a raw scalar, which is made once a step for all tensors with that dim; None in a
        template
    """
    dim = x.dims[axis]
    if dim.dimension is not None:
        return dim.dimension
    backend = backend_of_raw(x.raw_tensor)
    if x.raw_tensor is None or dim.is_batch_dim:  # of a merged batch the dim is the same, but not the size
        return backend.size_of_axis(x.raw_tensor, axis)
    size = backend.static_shape(x.raw_tensor)[axis]
    if size is not None:
        return size
    base = dim.get_same_base()
    key = ("axis size", id(base), backend.name)
    return current_table().cached(key, lambda: (backend.size_of_axis(x.raw_tensor, axis), base))[0]


def _lengths_in_merged_batch(x: TensorBase, dim: Dim, merged: Sequence[Dim], start: int) -> Dim:
    """
    :param x: with value, or a template
    :param dim: another dim of it
    :param merged: dims of x that become the batch
    :param start: first axis of these
    :return: the same dim, if its lengths do not depend on these; else one with the lengths repeated for all entries
    """
    if not set(dim.size_dims or ()) & set(merged):
        return dim
    res = dim.in_merged_batch(merged)
    lens = dim.dyn_size_ext
    if x.raw_tensor is None or lens is None or lens.raw_tensor is None or not set(lens.dims) <= set(merged):
        return res
    backend = backend_of_raw(x.raw_tensor)

    def repeated() -> Any:
        assert lens is not None
        sizes = [axis_size(x, start + i) for i in range(len(merged))]
        raw = backend.broadcast_to(lens.copy_compatible_to_dims_raw(merged), sizes)
        return backend.reshape(raw, [-1]), lens.raw_tensor

    key = ("lengths in merged batch", id(lens.raw_tensor), *merged)
    res.dyn_size = current_table().cached(key, repeated)[0]
    return res
