"""Outputs of the frame before, as layers in the loop see them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.recurrent.initial import initial_output, with_all_dims
from returnn.layers.recurrent.loop_layers import RecPreviousLayer
from returnn.tensor import Dim, Tensor

from .carried import Carried, growing_axes
from .context import LoopContext
from .frame_lengths import length_in_frame, length_of_array, set_lengths_of_array
from .hypotheses import Hypotheses


class FramesBefore:
    """Of all layers in the loop whose frame before is read there."""

    def __init__(self, context: LoopContext, hypotheses: Hypotheses):
        """
        :param context: of the loop
        :param hypotheses: of the loop
        """
        self._context = context
        self._hypotheses = hypotheses
        self._outputs: dict[RecPreviousLayer, Carried] = {}
        self._lens: dict[RecPreviousLayer, dict[Dim, Carried]] = {}
        """of sequences, where they differ from frame to frame"""

    def begin_loop(self, needed: Iterable[LayerBase]) -> None:
        """
        :param needed: what is read in the loop
        """
        in_loop = set(self._context.groups.in_loop)
        self._outputs = {
            x: Carried(self._start_of(x)) for x in needed if isinstance(x, RecPreviousLayer) and x.of_layer in in_loop
        }
        self._lens = {x: self._start_of_lengths(x, value.start) for x, value in self._outputs.items()}

    def carried(self) -> list[Carried]:
        """
        :return: all that is handed on
        """
        return [*self._outputs.values(), *(value for of_dims in self._lens.values() for value in of_dims.values())]

    def of_layer(self, layer: LayerBase) -> Carried | None:
        """
        :param layer: in the loop
        :return: its output of the frame before; None: nobody reads that
        """
        return {previous.of_layer: value for previous, value in self._outputs.items()}.get(layer)

    def begin_frame(self) -> None:
        """Gives the outputs, and their dims the lengths that they had then."""
        for previous, value in self._outputs.items():
            set_lengths_of_array(value.now, value.growing_axes)
            previous.output = value.now
        for lens in self._lens.values():
            for dim, value in lens.items():
                dim.dyn_size_ext = value.now

    def end_frame(self) -> None:
        """All layers are computed."""
        for previous, value in self._outputs.items():
            layer = previous.of_layer
            value.next = value.held(layer, layer.output)
            for dim, lens in self._lens[previous].items():
                lens.next = lens.held(layer, length_in_frame(dim, [layer.output]))

    @contextlib.contextmanager
    def lengths_for(self, layer: LayerBase) -> Iterator[None]:
        """
        Inside, dims of its inputs of the frame before have the lengths that they had then.

        :param layer: in the loop
        """
        read = layer.get_dep_layers() if any(self._lens.values()) else []
        previous = [x for x in read if isinstance(x, RecPreviousLayer)]
        lens = {d: value.now for x in previous for d, value in self._lens.get(x, {}).items()}
        now = {d for x in read if not isinstance(x, RecPreviousLayer) for d in x.output.dims}
        before = {d: d.dyn_size_ext for d in lens if d not in now}
        for dim in before:
            dim.dyn_size_ext = self._hypotheses.bring(lens[dim])
        yield
        for dim, size in before.items():
            if size is not None:
                dim.dyn_size_ext = size

    def _start_of(self, layer: RecPreviousLayer) -> Tensor:
        template = self._context.subnet.template_of(layer)
        dims = self._hypotheses.with_beam(layer.of_layer, template.dims)
        start = with_all_dims(initial_output(layer, self._context), dims, self._context)
        return template.like(start.raw_tensor, dims=start.dims)

    def _start_of_lengths(self, layer: RecPreviousLayer, start: Tensor) -> dict[Dim, Carried]:
        """
        :param layer: in the loop
        :param start: its output at the first frame
        :return: lengths there of those dims that get them within the loop, for each sequence
        """
        res = {}
        for axis in growing_axes(start):
            dim = start.dims[axis]
            if dim.size_dims:
                dims = self._hypotheses.with_beam(layer.of_layer, dim.size_dims)
                zero = self._context.full_tensor("lens", dims, "int32", 0)
                res[dim] = Carried(rf.combine(zero, "add", length_of_array(start, axis)))
        return res
