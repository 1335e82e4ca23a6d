"""What the parts of a loop share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.tensor import Dim, Tensor
from returnn.tensor.run_table import current_table

if TYPE_CHECKING:
    from returnn.layers.recurrent.subnet import RecSubnet
    from returnn.tensor.backend import Backend


class LoopContext:
    """The unit, its axis, which frame it is, and values that are the same in all of them."""

    def __init__(self, subnet: RecSubnet):
        """
        :param subnet: its layers are built
        """
        self.subnet = subnet
        self.net = subnet.net
        self.backend: Backend = subnet.net.backend
        self.groups = subnet.groups
        self.dim = subnet.loop_dim
        self.is_in_loop = False
        """frames are being computed, one at a time"""
        self.index: Tensor | None = None
        """int32: number of the frame; or of all frames"""
        self._constants: dict[int, tuple[Any, Any]] = {}
        """id of a raw value -> the raw value, and what all its entries are"""

    def set_index_of_all_frames(self) -> None:
        """Their number is known now."""
        raw = self.backend.range(self.dim.get_dim_value())
        self.index = Tensor("i", [self.dim], "int32", raw_tensor=raw)

    @contextlib.contextmanager
    def frame_by_frame(self) -> Iterator[None]:
        """Inside, frames are computed, one at a time."""
        index_before, self.index = self.index, None
        self.is_in_loop = True
        try:
            yield
        finally:
            self.is_in_loop, self.index = False, index_before

    def read_inside(self, layer: LayerBase) -> list[LayerBase]:
        """
        :param layer: of the unit
        :return: what it reads, without what is of a loop around this one, or of none
        """
        return [x for x in layer.get_dep_layers() if x.network.loop is self.subnet]

    def sizes_of(self, dims: Iterable[Dim]) -> list[Any]:
        """
        :return: see :func:`size_of`
        """
        return [self.size_of(d) for d in dims]

    def size_of(self, dim: Dim) -> Any:
        """
        :return: int, or raw scalar
        """
        if dim.is_batch_dim:
            return self.net.get_data_batch_dim()
        if dim.is_static or dim.is_dim_known():
            return dim.get_dim_value()
        return 0

    def full_tensor(self, name: str, dims: Iterable[Dim], dtype: str, value: Any) -> Tensor:
        """
        :param name: of the tensor
        :param dims: whose sizes are known outside of the loop
        :param dtype: for instance "float32"
        :param value: of all entries
        :return: [dims..]
        """
        dims = list(dims)
        sizes = self.sizes_of(dims)

        def full() -> tuple[Any, list[Any]]:
            return self.backend.full(sizes, value, dtype), sizes

        # the same one for all states of that shape
        key = ("full", *(size if isinstance(size, int) else ("raw", id(size)) for size in sizes), dtype, repr(value))
        raw = current_table().cached(key, full)[0]
        self._constants[id(raw)] = raw, value
        return Tensor(name, dims, dtype, raw_tensor=raw)

    def constant_value(self, x: Tensor) -> Any:
        """
        :return: number or bool, if x is of :func:`full_tensor`; else None
        """
        return self._constants.get(id(x.raw_tensor), (None, None))[1]
