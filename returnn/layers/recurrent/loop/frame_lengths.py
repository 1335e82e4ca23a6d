"""Dims whose lengths differ from frame to frame of a loop.

Within the loop their lengths are those of the frame. Outside, where all frames are there at once, the lengths have the
axis of the loop, and the arrays are as long as the longest frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from returnn.tensor import Dim, Tensor
from returnn.tensor.backend import backend_of_raw


def dims_with_frame_lengths(templates: Iterable[Tensor], loop_dim: Dim) -> list[Dim]:
    """
    :param templates: of values of one frame; asked before the loop
    :param loop_dim: of the loop
    :return: their dims that get their lengths within the loop
    """
    dims = [d for x in templates for d in x.dims if d.is_dynamic and not d.is_beam_dim]
    return [d for d in dict.fromkeys(dims) if not d.is_dim_known() or loop_dim in (d.size_dims or ())]


def set_lengths_of_array(x: Tensor, axes: Iterable[int]) -> None:
    """
    :param x: in a frame
    :param axes: of x, whose dims have in this frame the size that the array has
    """
    for axis in axes:
        x.dims[axis].dyn_size_ext = length_of_array(x, axis)


def length_of_array(x: Tensor, axis: int) -> Tensor:
    """
    :param x: with value
    :param axis: of x
    :return: int32: the size that the array has there
    """
    backend = backend_of_raw(x.raw_tensor)
    return Tensor("size", [], "int32", raw_tensor=backend.convert(backend.size_of_axis(x.raw_tensor, axis), "int32"))


def length_in_frame(dim: Dim, values: Iterable[Tensor]) -> Tensor:
    """
    :param dim: asked within the loop
    :param values: one of them has the dim
    :return: int32
    """
    size = dim.dyn_size_ext
    if size is None:
        x = next(x for x in values if dim in x.dims)
        size = length_of_array(x, x.get_axis_from_dim(dim))
    return size


class LengthsBefore:
    """Of what is computed before the loop, for all frames."""

    def __init__(self, values: Iterable[Tensor], loop_dim: Dim):
        """
        :param values: for all frames
        :param loop_dim: of the loop
        """
        self._loop_dim = loop_dim
        dims = dict.fromkeys(d for x in values for d in x.dims if d.is_dynamic and d != loop_dim)
        sizes = {d: d.dyn_size_ext for d in dims}
        self._sizes = {d: size for d, size in sizes.items() if size is not None and loop_dim in size.dims}

    def concern(self, x: Tensor) -> bool:
        """
        :param x: for all frames
        :return: whether its length differs from frame to frame
        """
        return any(d in self._sizes for d in x.dims)

    def set_those_of_frame(self, i: Any) -> None:
        """
        :param i: raw: number of the frame. Within the loop, the lengths are its own from here on
        """
        for dim, size in self._sizes.items():
            rest = [d for d in size.dims if d != self._loop_dim]
            backend = backend_of_raw(size.raw_tensor)
            raw = backend.gather(size.copy_transpose([self._loop_dim, *rest]).raw_tensor, i, axis=0)
            dim.dyn_size_ext = Tensor(size.name, rest, "int32", raw_tensor=raw)

    def cut(self, x: Tensor) -> Tensor:
        """
        :param x: of one frame, as long as the longest one
        :return: as long as its own length
        """
        for axis, dim in enumerate(x.dims):
            if dim in self._sizes:
                backend = backend_of_raw(x.raw_tensor)
                x = x.like(backend.slice(x.raw_tensor, axis, None, dim.get_dim_value()))
        return x

    def restore(self) -> None:
        """Behind the loop, they are those of all frames again."""
        for dim, size in self._sizes.items():
            dim.dyn_size_ext = size
