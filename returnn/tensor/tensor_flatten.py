"""Several axes as one: padding dropped, or merged into the batch. Part of :class:`~returnn.tensor.tensor.Tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .backend import backend_of_raw
from .dim import Dim, DimError
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
        shape: list[Any] = [
            d.dimension if d.dimension is not None else backend.size_of_axis(x.raw_tensor, i)
            for i, d in enumerate(x.dims)
        ]
        size = None if x.raw_tensor is None else _product(backend, shape[start:end])
        raw = backend.reshape(x.raw_tensor, shape[:start] + [size] + shape[end:])

        def marker(axis: int | None) -> int | None:
            if axis is None or axis < start:
                return axis
            if axis >= end:
                return axis - len(axes) + 1
            return None if dim.is_batch_dim else start

        feature, time = marker(x.feature_dim_axis), marker(x.time_dim_axis)
        return x._with(
            dims=x.dims[:start] + (dim,) + x.dims[end:],
            raw=raw,
            feature_dim_axis=feature,
            time_dim_axis=None if time == feature else time,
        )


def _product(backend: Any, sizes: Sequence[Any]) -> Any:
    """
    :return: of sizes, of which some are raw scalars
    """
    static = 1
    dynamic = None
    for size in sizes:
        if isinstance(size, int):
            static *= size
        else:
            dynamic = size if dynamic is None else backend.binary("mul", dynamic, size)
    if dynamic is None:
        return static
    return dynamic if static == 1 else backend.binary("mul", dynamic, static)
