"""What layers in the loop read of those computed before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from returnn.layers.base import LayerBase
from returnn.layers.recurrent.loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer
from returnn.tensor import Tensor

from .all_frames import AllFrames
from .context import LoopContext
from .frame_lengths import LengthsBefore


class FrameInputs:
    """Their outputs of one frame; those of layers that are the same in all frames are there for good."""

    def __init__(self, needed: Sequence[LayerBase], context: LoopContext, frames: AllFrames):
        """
        :param needed: what is read in the loop
        :param context: of the loop
        :param frames: of all layers computed before
        """
        self._context = context
        self._frames = frames
        self._needed = needed
        self.layers = self._with_frames(needed)
        """have a value for each frame"""
        self._cut: dict[LayerBase, Tensor] = {}
        """the others whose length differs from frame to frame -> their output"""
        self._lengths: LengthsBefore

    def begin_loop(self) -> list[Any]:
        """
        :return: raw [frames, ..]: of each of ``layers``
        """
        outside = {x: self._frames.of_loop(x) for x in self._needed if x in self._frames}
        self._lengths = LengthsBefore(outside.values(), self._context.dim)
        self._cut = {x: y for x, y in outside.items() if x not in self.layers and self._lengths.concern(y)}
        dim = self._context.dim
        outputs = [self._frames.of_loop(layer) for layer in self.layers]
        return [x.copy_transpose([dim, *(d for d in x.dims if d != dim)]).raw_tensor for x in outputs]

    def begin_frame(self, i: Any, raws: Iterable[Any]) -> None:
        """
        :param i: raw: number of the frame
        :param raws: of each of ``layers``
        """
        self._lengths.set_those_of_frame(i)
        for layer, raw in zip(self.layers, raws, strict=True):
            layer.output = self._lengths.cut(self._frame(layer, raw))
        for layer, x in self._cut.items():
            layer.output = self._lengths.cut(x)

    def end_loop(self) -> None:
        """Lengths are those of all frames again."""
        self._lengths.restore()

    def _with_frames(self, needed: Iterable[LayerBase]) -> list[LayerBase]:
        groups, res = self._context.groups, dict[LayerBase, None]()
        in_loop = set(groups.in_loop)
        for layer in needed:
            if layer in res or layer in in_loop or isinstance(layer, RecStepInfoLayer):
                continue
            if isinstance(layer, RecPreviousLayer) and layer.of_layer in in_loop:
                continue
            if isinstance(layer, (RecFrameLayer, RecPreviousLayer)):
                layer.output = self._frames.made(layer)
            if layer not in self._frames:
                continue
            if self._context.dim in self._frames.of_loop(layer).dims and layer not in groups.read_as_whole:
                res[layer] = None
            else:
                layer.output = self._frames[layer]
        return list(res)

    def _frame(self, layer: LayerBase, raw: Any) -> Tensor:
        x = self._frames.of_loop(layer)
        template = self._context.subnet.template_of(layer)
        res = template.like(raw, dims=[d for d in x.dims if d != self._context.dim])
        order = LayerBase.with_hidden_dims(template, res.dims).dims
        return res.copy_transpose([d for d in order if d in res.dims])
