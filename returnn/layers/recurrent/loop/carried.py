"""A value that is handed on from frame to frame."""

from __future__ import annotations

from typing import Any

from returnn.layers.base import LayerBase
from returnn.tensor import Tensor


class Carried:
    """What it is before a frame, and what it will be before the next one."""

    def __init__(self, start: Tensor):
        """
        :param start: before the first frame; its dims are those of the frames, too
        """
        self.start = start
        self.now = start
        self.next: Tensor | None = None
        """None: it stays as it is"""
        self.growing_axes: list[int] = []
        """those whose dims get their sizes within the loop"""

    @property
    def latest(self) -> Tensor:
        """as far as the frame is computed"""
        return self.now if self.next is None else self.next

    def begin_loop(self) -> None:
        """Which sizes are known is seen now: in a frame, all are."""
        self.growing_axes = growing_axes(self.start)

    def begin_frame(self, raw: Any) -> None:
        """
        :param raw: before this frame
        """
        self.now = self.start.like(raw)
        self.next = None

    def end_loop(self, raw: Any) -> None:
        """
        :param raw: behind the last frame
        """
        self.now = self.start.like(raw)

    def held(self, layer: LayerBase, value: Tensor) -> Tensor:
        """
        :param layer: whose it is
        :param value: for the next frame
        :return: the value; or as before, where this frame does not concern the layer
        """
        masking = layer.network.masking
        return value if masking is None else masking.held(value, self.now)


def growing_axes(x: Tensor) -> list[int]:
    """
    :param x: before the loop
    :return: axes whose dims get their sizes within the loop
    """
    return [axis for axis, dim in enumerate(x.dims) if dim.is_dynamic and not dim.is_dim_known()]
