"""TensorDict: named tensors, and their exchange with flat dicts of raw values and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .dim import Dim
from .tensor import Tensor


class TensorDict:
    """name -> :class:`Tensor`"""

    def __init__(self, data: Mapping[str, Any] | list[Tensor] | None = None):
        """
        :param data: tensors by name, or a list of them; a dict in place of a tensor holds its constructor arguments
        """
        self.data: dict[str, Tensor] = {}
        if data is not None:
            self.update(data, auto_convert=True)

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.data)

    def __getitem__(self, key: str) -> Tensor:
        return self.data[key]

    def __setitem__(self, key: str, value: Tensor) -> None:
        self.data[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def update(self, data: Mapping[str, Any] | list[Tensor] | TensorDict, *, auto_convert: bool = False) -> None:
        """
        :param data: more tensors
        :param auto_convert: a dict in place of a tensor holds its constructor arguments
        """
        if isinstance(data, TensorDict):
            data = data.data
        items = data.items() if isinstance(data, Mapping) else [(x.name, x) for x in data]
        for key, value in items:
            if auto_convert and isinstance(value, dict):
                value = Tensor(key, **value)
            self.data[key] = value

    def copy_template(self) -> TensorDict:
        """
        :return: the same without values
        """
        return TensorDict({key: value.copy_template() for key, value in self.data.items()})

    def reset_content(self) -> None:
        """Drops the values."""
        for value in self.data.values():
            value.raw_tensor = None

    def as_raw_tensor_dict(
        self,
        *,
        include_const_sizes: bool = False,
        include_scalar_dyn_sizes: bool = True,
        exclude_duplicate_dims: bool = False,
    ) -> dict[str, Any]:
        """
        :param include_const_sizes: sizes of static dims too, as numbers
        :param include_scalar_dyn_sizes: lengths that are the same for all sequences too (also that of the batch)
        :param exclude_duplicate_dims: each dim only once
        :return: ``x`` -> value, ``x:size<axis>`` -> lengths; axes are counted with batch
        """
        seen: set[Dim] = set()
        res: dict[str, Any] = {}
        for key, value in self.data.items():
            res[key] = value.raw_tensor
            for axis, dim in enumerate(value.dims):
                if exclude_duplicate_dims and dim in seen:
                    continue
                seen.add(dim)
                size_key = "%s:size%i" % (key, axis)
                if dim.is_static:
                    if include_const_sizes:
                        res[size_key] = dim.dimension
                elif dim.dyn_size_ext is not None and (dim.dyn_size_ext.dims or include_scalar_dyn_sizes):
                    res[size_key] = dim.dyn_size
                elif dim.is_batch_dim and value.raw_tensor is not None and include_scalar_dyn_sizes:
                    backend = value._raw_backend
                    res[size_key] = backend.convert(backend.size_of_axis(value.raw_tensor, axis), "int32")
        return res

    def assign_from_raw_tensor_dict_(self, raw: Mapping[str, Any]) -> None:
        """
        Takes over values and lengths, as :func:`as_raw_tensor_dict` gives them.

        :param raw: must hold a value for each name
        """
        for key, value in self.data.items():
            for axis, dim in enumerate(value.dims):
                size = raw.get("%s:size%i" % (key, axis))
                if size is not None and not dim.is_static:
                    dim.dyn_size = size
            value.raw_tensor = raw[key]
