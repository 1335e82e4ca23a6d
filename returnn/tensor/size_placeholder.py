"""The dict-like view of lengths that old configs use: ``data.size_placeholder[0]``."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from .dim import Dim, DimError

if TYPE_CHECKING:
    from .tensor_base import TensorBase


class SizePlaceholder(MutableMapping[int, Any]):
    """Axis (counted without batch) -> raw lengths [batch], of the dynamic axes whose lengths are known. No deletion."""

    def __init__(self, tensor: TensorBase):
        self._tensor = tensor

    def _dynamic_axes(self) -> dict[int, Any]:
        dims = [d for d in self._tensor.dims if not d.is_batch_dim]
        return {i: d for i, d in enumerate(dims) if d.is_dynamic}

    def __getitem__(self, axis: int) -> Any:
        dim = self._dynamic_axes().get(axis)
        size = None if dim is None else dim.dyn_size
        if size is None:
            raise KeyError(axis)
        return size

    def __setitem__(self, axis: int, size: Any) -> None:
        dims = self._dynamic_axes()
        if axis not in dims:
            raise DimError("%r: axis %i (without batch) is not dynamic, so it has no lengths" % (self._tensor, axis))
        dim, known = dims[axis], Dim.get_tag_from_size_tensor(size)
        if known is not None and known != dim and dim.dyn_size is None:
            dim.declare_same_as(known)  # layers of users say so that an axis is the one of their input
            self._tensor._dims = tuple(known if d is dim else d for d in self._tensor._dims)
        else:
            dim.dyn_size = size

    def __delitem__(self, axis: int) -> None:
        raise TypeError("lengths cannot be deleted")

    def __iter__(self) -> Iterator[int]:
        return iter([axis for axis, dim in self._dynamic_axes().items() if dim.dyn_size is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def copy(self) -> dict[int, Any]:
        """
        :return: a plain dict
        """
        return dict(self)

    def __repr__(self) -> str:
        return repr(self.copy())
