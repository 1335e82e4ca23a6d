"""Copies of a tensor: in another layout, with other dims, as a template. Part of :class:`~.tensor.Tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from returnn.util.behavior_version import BehaviorVersion, Change

from .backend import backend_of_raw
from .dim import Dim, DimError, DimKind, are_identical, batch_dim
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from typing_extensions import Self

_Same: Any = object()


class TensorCopies(TensorBase):
    """Methods that give a new tensor. Time and feature markers follow their axes."""

    def _with(
        self,
        *,
        dims: Sequence[Dim],
        raw: Any,
        time_dim_axis: int | None,
        feature_dim_axis: int | None,
        name: str | None = None,
        dtype: str | None = None,
        sparse_dim: Any = _Same,
    ) -> Self:
        """
        :return: like self but for the arguments
        """
        return type(self)(
            name or self.name,
            tuple(dims),
            dtype or self.dtype,
            sparse_dim=self.sparse_dim if sparse_dim is _Same else sparse_dim,
            time_dim_axis=time_dim_axis,
            feature_dim_axis=feature_dim_axis,
            raw_tensor=raw,
            available_for_inference=self.available_for_inference,
            beam=self.beam,
        )

    def like(
        self,
        raw: Any,
        *,
        dims: Sequence[Dim] | None = None,
        dtype: str | None = None,
        sparse_dim: Any = _Same,
        feature_dim: Any = _Same,
        time_dim: Any = _Same,
        name: str | None = None,
    ) -> Self:
        """
        The result of an operation on this tensor.

        :param raw: its value; None: a template
        :param dims: its dims; those of this tensor by default
        :param dtype: the same
        :param sparse_dim: the same
        :param feature_dim: the same if still there, else none
        :param time_dim: the same
        :param name: the same
        """
        dims = self.dims if dims is None else tuple(dims)
        feature_dim = self.feature_dim if feature_dim is _Same else feature_dim
        time_dim = self.time_dim if time_dim is _Same else time_dim
        return self._with(
            dims=dims,
            raw=raw,
            name=name,
            dtype=dtype,
            sparse_dim=sparse_dim,
            feature_dim_axis=_index(dims, feature_dim, self.feature_dim_axis),
            time_dim_axis=_index(dims, time_dim, self.time_dim_axis),
        )

    def copy(self, name: str | None = None) -> Self:
        """
        :return: the same value
        """
        return self.like(self.raw_tensor, name=name)

    def copy_template(self, name: str | None = None, *, dtype: str | None = None) -> Self:
        """
        :return: without value
        """
        return self.like(None, name=name, dtype=dtype)

    def copy_template_dense(self, name: str | None = None, dtype: str | None = None) -> Self:
        """
        :return: template; labels become a one-hot feature axis, the last one
        """
        if self.sparse_dim is None:
            return self.copy_template(name, dtype=dtype)
        dims = self.dims + (self.sparse_dim,)
        return self.like(
            None, dims=dims, sparse_dim=None, feature_dim=self.sparse_dim, dtype=dtype or "float32", name=name
        )

    # ---- order of axes

    def copy_transpose(self, perm: Sequence[Dim | int], *, allow_int: bool = True) -> Self:
        """
        :param perm: all dims (or axes) in the wanted order
        :param allow_int: whether axes are fine
        :return: with that order
        """
        if are_identical(perm, self.dims):
            return self.copy()
        axes: list[int] = []
        for x in perm:
            if isinstance(x, int):
                axes.append(x % self.batch_ndim)
                continue
            axis = _free_axis(self.dims, x, axes)
            if axis is None:
                raise DimError("%r: cannot transpose to %s" % (self, list(perm)))
            axes.append(axis)
        if sorted(axes) != list(range(self.batch_ndim)):
            raise DimError("%r: cannot transpose to %s, these are not its dims" % (self, list(perm)))
        return self._permuted(axes)

    def _permuted(self, axes: Sequence[int]) -> Self:
        """
        :param axes: axis i of the result is axis axes[i] of this one
        """
        if list(axes) == list(range(self.batch_ndim)):
            return self.copy()
        position = {old: new for new, old in enumerate(axes)}
        raw = backend_of_raw(self.raw_tensor).transpose(self.raw_tensor, list(axes))
        return self._with(
            dims=[self.dims[i] for i in axes],
            raw=raw,
            time_dim_axis=_moved(position, self.time_dim_axis),
            feature_dim_axis=_moved(position, self.feature_dim_axis),
        )

    def copy_move_axis(self, old_axis: int, new_axis: int) -> Self:
        """
        :return: the others keep their order
        """
        old_axis, new_axis = old_axis % self.batch_ndim, new_axis % self.batch_ndim
        axes = [i for i in range(self.batch_ndim) if i != old_axis]
        return self._permuted(axes[:new_axis] + [old_axis] + axes[new_axis:])

    def copy_swap_axes(self, axis1: int, axis2: int) -> Self:
        """
        :return: with these two exchanged
        """
        axes = list(range(self.batch_ndim))
        axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
        return self._permuted(axes)

    def copy_with_batch_dim_axis(self, axis: int) -> Self:
        """
        :return: batch moved there
        """
        return self.copy_move_axis(_need(self, self.batch_dim_axis, "batch"), axis)

    def copy_with_time_dim_axis(self, axis: int) -> Self:
        """
        :return: time moved there
        """
        return self.copy_move_axis(_need(self, self.time_dim_axis, "time"), axis)

    def copy_with_feature_dim_axis(self, axis: int) -> Self:
        """
        :return: feature moved there
        """
        return self.copy_move_axis(_need(self, self.feature_dim_axis, "feature"), axis)

    def copy_with_feature_last(self) -> Self:
        """
        :return: feature moved to the end, if there is one
        """
        return self.copy() if self.feature_dim_axis is None else self.copy_with_feature_dim_axis(-1)

    def copy_as_batch_major(self) -> Self:
        """
        :return: batch first
        """
        return self.copy_with_batch_dim_axis(0)

    def copy_as_time_major(self) -> Self:
        """
        :return: time first
        """
        return self.copy_with_time_dim_axis(0)

    def copy_as_bt_or_tb_major(self) -> Self:
        """
        :return: batch and time are the first two, in the order in which they are
        """
        batch, time = _need(self, self.batch_dim_axis, "batch"), _need(self, self.time_dim_axis, "time")
        first = sorted([batch, time])
        return self._permuted(first + [i for i in range(self.batch_ndim) if i not in first])

    def copy_as_time_batch_major(self) -> Self:
        """
        :return: time, batch, the rest
        """
        first = [_need(self, self.time_dim_axis, "time"), _need(self, self.batch_dim_axis, "batch")]
        return self._permuted(first + [i for i in range(self.batch_ndim) if i not in first])

    def copy_as_batch_feature_major(self) -> Self:
        """
        :return: batch, feature, the rest
        """
        first = [_need(self, self.batch_dim_axis, "batch"), _need(self, self.feature_dim_axis, "feature")]
        return self._permuted(first + [i for i in range(self.batch_ndim) if i not in first])

    # ---- fitting another tensor

    def copy_compatible_to_dims_raw(self, dims: Sequence[Dim]) -> Any:
        """
        :param dims: must hold all dims of this tensor
        :return: raw value with an axis for each of them, of size 1 where this tensor has none
        """
        used, missing = self.axes_in_layout(dims)
        raw, backend = self.raw_tensor, backend_of_raw(self.raw_tensor)
        if not used:
            return raw  # scalars broadcast
        if used != sorted(used):
            raw = backend.transpose(raw, used)
        for axis in missing:
            raw = backend.expand_dims(raw, axis)
        return raw

    def copy_compatible_to_dims(self, dims: Sequence[Dim]) -> Self:
        """
        :param dims: must hold all dims of this tensor
        :return: in that order; new dims of size 1 where this tensor has none
        """
        x, missing = self._ordered_like(dims)
        for axis in missing:
            x = x.copy_add_dim_by_tag(Dim(1, description="dummy:%i" % axis, auto_generated=True), axis=axis)
        return x

    def _ordered_like(self, dims: Sequence[Dim]) -> tuple[Self, list[int]]:
        """
        :return: transposed, and the axes that are missing, ascending
        """
        used, missing = self.axes_in_layout(dims)
        return self._permuted(used), missing

    def axes_in_layout(self, dims: Sequence[Dim]) -> tuple[list[int], list[int]]:
        """
        :param dims: must hold all dims of this tensor
        :return: axes of this tensor, in the order of dims; and the axes of dims that it does not have, ascending
        """
        if are_identical(dims, self.dims):
            return list(range(self.batch_ndim)), []
        used: list[int] = []
        missing: list[int] = []
        for axis, dim in enumerate(dims):
            own = _free_axis(self.dims, dim, used)
            if own is None:
                missing.append(axis)
            else:
                used.append(own)
        if len(used) < self.batch_ndim:
            raise DimError("%r does not fit to the dims %s" % (self, list(dims)))
        return used, missing

    def copy_compatible_to(
        self,
        data: TensorBase,
        add_dims: bool = True,
        unbroadcast: bool = False,
        except_feature: bool = False,
        except_axis: int | None = None,
        check_sparse: bool = True,
        check_dtype: bool = True,
    ) -> Self:
        """
        :param data: the axes wanted
        :param add_dims: new axes where this tensor has none; of size 1, or repeated with ``unbroadcast``. False: they
            must all be there
        :param unbroadcast: repeat the content along new axes
        :param except_feature: do not repeat over the feature axis
        :param except_axis: nor over this axis of data
        :param check_sparse: both must be sparse, or both dense
        :param check_dtype: both must be of the same dtype
        :return: in the order of data
        """
        if check_sparse and self.sparse != data.sparse:
            raise DimError("%r is not compatible to %r: one is sparse" % (self, data))
        if check_dtype and self.dtype != data.dtype:
            raise DimError("%r is not compatible to %r: other dtype" % (self, data))
        x, missing = self._with_feature_of(data)._ordered_like(data.dims)
        if missing and not add_dims:
            raise DimError("%r is not compatible to %r: dims are missing" % (self, data))
        for axis in missing:
            repeat = unbroadcast and axis != except_axis and not (except_feature and axis == data.feature_dim_axis)
            dim = data.dims[axis] if repeat else Dim(1, description="dummy:%i" % axis, auto_generated=True)
            x = x.copy_add_dim_by_tag(dim, unbroadcast=repeat, axis=axis)
        return x

    def _with_feature_of(self, data: TensorBase) -> Self:
        """
        :return: with the feature dim of data, if that is as large as the own one, which data does not have
        """
        own, other, axis = self.feature_dim, data.feature_dim, self.feature_dim_axis
        if own is None or other is None or axis is None or BehaviorVersion.has(Change.STRICT_DIMS):
            return self
        if own in data.dims or other in self.dims or own.dimension != other.dimension:
            return self
        dims = [*self.dims[:axis], other, *self.dims[axis + 1 :]]
        return self._with(
            dims=dims, raw=self.raw_tensor, time_dim_axis=self.time_dim_axis, feature_dim_axis=self.feature_dim_axis
        )

    # ---- more axes

    def copy_add_dim_by_tag(self, dim_tag: Dim, unbroadcast: bool = False, axis: int | None = None) -> Self:
        """
        :param dim_tag: new dim
        :param unbroadcast: repeat the content; else the axis has size 1, whatever the dim says
        :param axis: where; by kind if None: batch first; feature behind the feature, else last; dynamic behind the last
            dynamic one; static behind the last spatial one, else in front of the feature
        """
        if axis is None:
            axis = self._default_new_axis(dim_tag)
        axis %= self.batch_ndim + 1
        backend = backend_of_raw(self.raw_tensor)
        raw = backend.expand_dims(self.raw_tensor, axis)
        dims = list(self.dims)
        if unbroadcast:
            if raw is not None and dim_tag.dimension != 1:
                shape = [backend.size_of_axis(self.raw_tensor, i) for i in range(self.batch_ndim)]
                raw = backend.broadcast_to(raw, shape[:axis] + [dim_tag.get_dim_value()] + shape[axis:])
        elif dim_tag.dimension != 1 and not dim_tag.is_batch_dim:
            dim_tag = Dim(1, description=dim_tag.description, kind=dim_tag.kind, auto_generated=True)
        dims.insert(axis, dim_tag)
        feature = _shifted(self.feature_dim_axis, axis)
        if dim_tag.is_feature_dim and feature is None and not self.sparse:
            feature = axis
        return self._with(
            dims=dims, raw=raw, time_dim_axis=_shifted(self.time_dim_axis, axis), feature_dim_axis=feature
        )

    def _default_new_axis(self, dim: Dim) -> int:
        if dim.is_batch_dim:
            return 0
        if dim.is_feature_dim:
            return self.batch_ndim if self.feature_dim_axis is None else self.feature_dim_axis + 1
        candidates = self.get_axes_from_description("dyn" if dim.is_dynamic else "spatial")
        candidates = [i for i in candidates if i != self.feature_dim_axis]
        if candidates:
            return candidates[-1] + 1
        return self.batch_ndim if self.feature_dim_axis is None else self.feature_dim_axis

    def copy_add_batch_dim(self, batch_dim_axis: int = 0, dim_tag: Dim | None = None) -> Self:
        """
        :return: with a batch axis of size 1
        """
        if self.have_batch_axis():
            raise DimError("%r has a batch axis already" % self)
        raw = backend_of_raw(self.raw_tensor).expand_dims(self.raw_tensor, batch_dim_axis)
        dims = list(self.dims)
        dims.insert(batch_dim_axis, dim_tag or batch_dim)
        return self._with(
            dims=dims,
            raw=raw,
            time_dim_axis=_shifted(self.time_dim_axis, batch_dim_axis),
            feature_dim_axis=_shifted(self.feature_dim_axis, batch_dim_axis),
        )

    def copy_add_spatial_dim(self, spatial_dim_axis: int | None = None, dim: int | Dim | None = 1) -> Self:
        """
        :param spatial_dim_axis: counted with batch
        :param dim: its size; content is repeated
        """
        if not isinstance(dim, Dim):
            dim = Dim(dim, description="spatial-add", auto_generated=True)
        return self.copy_add_dim_by_tag(dim, unbroadcast=dim.dimension != 1, axis=spatial_dim_axis)

    def copy_add_feature_dim(self, axis: int | None = None) -> Self:
        """
        :return: with a new feature axis of size 1, behind the old one (which is spatial then), else last
        """
        if self.sparse:
            raise DimError("%r: labels have no feature axis" % self)
        dim = Dim(1, description="feature-add", kind=DimKind.Feature, auto_generated=True)
        if axis is None:
            axis = self._default_new_axis(dim)
        res = self.copy_add_dim_by_tag(dim, axis=axis)
        res.feature_dim_axis = axis
        return res

    def copy_split_feature_dim(self, new_feature_dim: int) -> Self:
        """
        :param new_feature_dim: must divide the old one
        :return: feature axis F becomes [F / n, n]
        """
        axis = _need(self, self.feature_dim_axis, "feature")
        size = self.dims[axis].dimension
        if size is None or size % new_feature_dim:
            raise DimError("%r: feature dim cannot be split into parts of %i" % (self, new_feature_dim))
        outer = Dim(size // new_feature_dim, description="feature-split-rem", auto_generated=True)
        inner = Dim(new_feature_dim, description="feature-split", kind=DimKind.Feature, auto_generated=True)
        backend = backend_of_raw(self.raw_tensor)
        shape = [backend.size_of_axis(self.raw_tensor, i) for i in range(self.batch_ndim)]
        shape[axis : axis + 1] = [outer.dimension, inner.dimension]
        dims = list(self.dims)
        dims[axis : axis + 1] = [outer, inner]
        return self._with(
            dims=dims,
            raw=backend.reshape(self.raw_tensor, shape),
            time_dim_axis=_shifted(self.time_dim_axis, axis + 1),
            feature_dim_axis=axis + 1,
        )

    # ---- fewer axes

    def copy_template_excluding_axis(self, exclude_axis: int, name: str | None = None) -> Self:
        """
        :return: template without that axis; if it was time, another dynamic axis becomes time
        """
        exclude_axis %= self.batch_ndim
        dims = self.dims[:exclude_axis] + self.dims[exclude_axis + 1 :]

        def new_axis(axis: int | None) -> int | None:
            if axis is None or axis == exclude_axis:
                return None
            return axis - (axis > exclude_axis)

        feature = new_axis(self.feature_dim_axis)
        time = new_axis(self.time_dim_axis)
        if self.time_dim_axis == exclude_axis:
            time = next((i for i, d in enumerate(dims) if d.is_dynamic and i != feature), None)
        return self._with(dims=dims, raw=None, time_dim_axis=time, feature_dim_axis=feature, name=name)

    def copy_template_excluding_time_dim(self, name: str | None = None) -> Self:
        """
        :return: template without time
        """
        return self.copy_template_excluding_axis(_need(self, self.time_dim_axis, "time"), name)

    def copy_template_excluding_spatial_dim(self, spatial_axis_num: int, name: str | None = None) -> Self:
        """
        :param spatial_axis_num: among the spatial axes
        """
        return self.copy_template_excluding_axis(self.get_axes_from_description("spatial")[spatial_axis_num], name)

    def copy_template_adding_time_dim(self, name: str | None = None, time_dim_axis: int = 0) -> Self:
        """
        :return: template with a new time axis
        """
        dims = list(self.dims)
        dim = Dim(None, description="unknown-time", auto_generated=True, size_dims=(batch_dim,))
        dims.insert(time_dim_axis, dim)
        return self._with(
            dims=dims,
            raw=None,
            name=name,
            time_dim_axis=time_dim_axis,
            feature_dim_axis=_shifted(self.feature_dim_axis, time_dim_axis),
        )

    def copy_template_replace_dim_tag(self, axis: int, new_dim_tag: Dim, name: str | None = None) -> Self:
        """
        :return: template with another dim there
        """
        dims = list(self.dims)
        dims[axis] = new_dim_tag
        return self.copy_template_new_dim_tags(dims, name=name, keep_special_axes=True)

    def copy_template_new_dim_tags(
        self, new_dim_tags: Sequence[Dim], *, name: str | None = None, keep_special_axes: bool = False
    ) -> Self:
        """
        :param new_dim_tags: as many as there are axes, or other ones
        :param keep_special_axes: time and feature stay at their axes; else they follow their dims
        :return: template with these dims
        """
        if not keep_special_axes:
            return self.like(None, dims=new_dim_tags, name=name)
        return self._with(
            dims=new_dim_tags,
            raw=None,
            name=name,
            time_dim_axis=self.time_dim_axis,
            feature_dim_axis=self.feature_dim_axis,
        )

    def copy_squeeze_axes(self, axes: Sequence[int]) -> Self:
        """
        :param axes: of size 1
        :return: without them
        """
        backend, raw = backend_of_raw(self.raw_tensor), self.raw_tensor
        axes = sorted(a % self.batch_ndim for a in axes)
        for axis in reversed(axes):
            if self.dims[axis].dimension != 1:
                raise DimError("%r: axis %i is not of size 1" % (self, axis))
            raw = backend.squeeze(raw, axis)
        position = {old: new for new, old in enumerate(i for i in range(self.batch_ndim) if i not in axes)}
        return self._with(
            dims=[self.dims[i] for i in position],
            raw=raw,
            time_dim_axis=_moved(position, self.time_dim_axis),
            feature_dim_axis=_moved(position, self.feature_dim_axis),
        )


def _free_axis(dims: Sequence[Dim], dim: Dim, used: Sequence[int]) -> int | None:
    """
    :return: the first axis with this dim that is not used yet: this very object if possible, else an equal one
    """
    free = [i for i in range(len(dims)) if i not in used]
    found = next((i for i in free if dims[i] is dim), None)
    return next((i for i in free if dims[i] == dim), None) if found is None else found


def _index(dims: Sequence[Dim], dim: Dim | None, old_axis: int | None) -> int | None:
    """
    :return: where the dim is now; the old place, if it is still there
    """
    if dim is None:
        return None
    if old_axis is not None and old_axis < len(dims) and dims[old_axis] is dim:
        return old_axis
    found = [i for i, d in enumerate(dims) if d is dim] or [i for i, d in enumerate(dims) if d == dim]
    return found[0] if found else None


def _shifted(axis: int | None, new_axis: int) -> int | None:
    return axis if axis is None or axis < new_axis else axis + 1


def _moved(position: dict[int, int], axis: int | None) -> int | None:
    return None if axis is None else position.get(axis)


def _need(x: TensorBase, axis: int | None, what: str) -> int:
    if axis is None:
        raise DimError("%r has no %s axis" % (x, what))
    return axis
