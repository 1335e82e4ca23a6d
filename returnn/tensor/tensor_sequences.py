"""Lengths and masks of a tensor, and access to its raw value. Part of :class:`~.tensor.Tensor`.

Users' own layers and eval strings live on these methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .dim import Dim, DimError
from .tensor_base import TensorBase
from .tensor_copies import TensorCopies


class TensorSequences(TensorCopies):
    """Methods about lengths, masks, sizes of axes and lists of axes."""

    def get_sequence_lengths(self) -> Any:
        """
        :return: raw int32 [batch]: lengths along the time axis
        """
        dim = self.get_time_dim_tag()
        if dim.need_masking and dim.dyn_size is not None:
            return dim.dyn_size
        if self.raw_tensor is None or self.batch_dim_axis is None:
            raise DimError("%r: lengths are not known" % self)
        # a static or unpadded time axis: all are as long as the array
        return self._raw_backend.full([self.get_batch_dim()], self.time_dimension(), "int32")

    def get_sequence_mask(self) -> Any:
        """
        :return: raw bool, [batch, time] or [time, batch] as this tensor has them
        """
        dim = self.get_time_dim_tag()
        axes = [i for i, d in enumerate(self.dims) if d.is_batch_dim or d is dim]
        if not dim.need_masking:
            return self._raw_backend.full([self.get_dim(i) for i in axes], True, "bool")
        return dim.get_mask().copy_transpose([self.dims[i] for i in axes]).raw_tensor

    def get_sequence_mask_broadcast(self, axis: int | None = None) -> Any:
        """
        :param axis: dynamic, counted with batch; time by default
        :return: raw bool, with all axes of this tensor, of size 1 where the mask has none
        """
        dim = self.get_time_dim_tag() if axis is None else self.dims[axis]
        return dim.get_mask().copy_compatible_to_dims_raw(self.dims)

    def get_placeholder_as_batch_major(self) -> Any:
        """
        :return: raw value, batch first
        """
        return self.copy_as_batch_major().raw_tensor

    def get_placeholder_as_time_major(self) -> Any:
        """
        :return: raw value, time first
        """
        return self.copy_as_time_major().raw_tensor

    def get_time_dim_tag(self) -> Dim:
        """
        :return: the time dim
        :raises DimError: there is none
        """
        if self.time_dim_axis is None:
            raise DimError("%r has no time axis" % self)
        return self.dims[self.time_dim_axis]

    def get_dim_tag(self, axis: int) -> Dim:
        """
        :param axis: counted with batch
        :return: its dim
        """
        return self.dims[axis]

    def get_size_dim_tag(self, number: int) -> Dim:
        """
        :param number: among the dynamic axes
        :return: its dim
        """
        return self.dims[self.get_dynamic_axes()[number]]

    def get_dim(self, axis: int) -> Any:
        """
        :param axis: counted with batch
        :return: int, or raw scalar
        """
        size = self.dims[axis].dimension
        return size if size is not None else self._raw_backend.size_of_axis(self.raw_tensor, axis % self.batch_ndim)

    def get_batch_dim(self) -> Any:
        """
        :return: raw scalar: number of sequences
        """
        if self.batch_dim_axis is None:
            raise DimError("%r has no batch axis" % self)
        return self.get_dim(self.batch_dim_axis)

    def time_dimension(self) -> Any:
        """
        :return: raw scalar: the longest length
        """
        if self.time_dim_axis is None:
            raise DimError("%r has no time axis" % self)
        return self.get_dim(self.time_dim_axis)

    def is_axis_dynamic(self, axis: int) -> bool:
        """
        :param axis: counted with batch
        :return: whether its size depends on the data; False for batch
        """
        return self.dims[axis].is_dynamic

    def has_dynamic_size(self, axis: int) -> bool:
        """
        :return: whether there are lengths
        """
        return self.dims[axis].dyn_size is not None

    def get_dynamic_size(self, axis: int) -> Any:
        """
        :return: raw lengths [batch]
        """
        size = self.dims[axis].dyn_size
        if size is None:
            raise DimError("%r: axis %i has no lengths" % (self, axis))
        return size

    def set_dynamic_size(self, axis: int, sizes: Any) -> None:
        """
        :param axis: counted with batch
        :param sizes: raw lengths [batch]
        """
        self.dims[axis].dyn_size = sizes

    def get_axes(
        self, exclude_time: bool = False, exclude_batch: bool = False, exclude_feature: bool = False
    ) -> list[int]:
        """
        :return: axes, counted with batch
        """
        excluded = []
        if exclude_time:
            excluded.append(self.time_dim_axis)
        if exclude_batch:
            excluded.append(self.batch_dim_axis)
        if exclude_feature:
            excluded.append(self.feature_dim_axis)
        return [i for i in range(self.batch_ndim) if i not in excluded]

    def get_spatial_batch_axes(self) -> list[int]:
        """
        :return: spatial axes, counted with batch
        """
        return self.get_axes_from_description("spatial")

    def get_dynamic_axes(self) -> list[int]:
        """
        :return: axes whose size depends on the data, without batch, counted with batch
        """
        return [i for i, d in enumerate(self.dims) if d.is_dynamic]

    def get_static_axes(self) -> list[int]:
        """
        :return: axes of static size, counted with batch
        """
        return [i for i, d in enumerate(self.dims) if d.is_static]

    def get_special_axes_dict(self) -> dict[str, int | None]:
        """
        :return: batch, time and feature axes by their attribute names
        """
        return {
            "batch_dim_axis": self.batch_dim_axis,
            "time_dim_axis": self.time_dim_axis,
            "feature_dim_axis": self.feature_dim_axis,
        }

    def get_bc_shape(self, dims_map: Mapping[Any, Any] | None = None) -> tuple[int | None, ...]:
        """
        Which axes noise is drawn for.

        :param dims_map: axis description -> None or -1: own noise along it; 1 or "x": the same noise all along it. "*"
            is for all that are not named; without it, batch and spatial axes share the noise, feature has its own.
        :return: per axis 1, or its static size (None: dynamic)
        """
        own = {None: True, -1: True, 1: False, "x": False}
        keep = [
            not d.is_batch_dim and i not in self.get_axes_from_description("spatial") for i, d in enumerate(self.dims)
        ]
        rules = sorted((dims_map or {}).items(), key=lambda kv: kv[0] != "*")  # the general one first
        for spec, value in rules:
            if value not in own:
                raise DimError("%r: noise shape: %r must be -1, None, 1 or 'x', but is %r" % (self, spec, value))
            for axis in self.get_axes_from_description(spec):
                keep[axis] = own[value]
        return tuple(size if k else 1 for k, size in zip(keep, self.batch_shape, strict=True))

    def mark_same_time(self, tags: Dim | set[Dim]) -> bool:
        """
        Makes the axis of one of these dims the time axis.

        :return: whether there is one
        """
        tags = {tags} if isinstance(tags, Dim) else tags
        for axis, dim in enumerate(self.dims):
            if dim in tags:
                self.time_dim_axis = axis
                return True
        return False

    def is_same_time_dim(self, other: TensorBase) -> bool:
        """
        :return: whether both have the same time dim
        """
        return self.have_time_axis() and other.have_time_axis() and self.time_dim == other.time_dim

    def get_kwargs(self) -> dict[str, Any]:
        """
        :return: constructor arguments for a template like this
        """
        return {
            "name": self.name,
            "dims": self.dims,
            "dtype": self.dtype,
            "sparse_dim": self.sparse_dim,
            "time_dim_axis": self.time_dim_axis,
            "feature_dim_axis": self.feature_dim_axis,
            "available_for_inference": self.available_for_inference,
            "beam": self.beam,
        }
