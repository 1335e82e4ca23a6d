"""Layers that are computed for all frames at once, before the loop or behind it."""

from __future__ import annotations

import functools

from returnn.layers.base import LayerBase
from returnn.layers.recurrent.initial import initial_output, with_all_dims
from returnn.layers.recurrent.input_lengths import dim_of_frames, with_frames_of_loop
from returnn.layers.recurrent.loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer
from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import all_dims_visible_ctx, hidden_dims_ctx

from .context import LoopContext


class AllFrames:
    """Outputs of the layers of a unit for all frames: of those computed so, of those that the loop has computed, and
    of what they see of the loop.
    """

    def __init__(self, context: LoopContext):
        """
        :param context: of the loop
        """
        self._context = context
        self._outputs: dict[LayerBase, Tensor] = {}
        """for the frames of the loop, or of an input, see :mod:`returnn.layers.recurrent.input_lengths`"""
        self._of_loop: dict[LayerBase, Tensor] = {}
        """the same, where they are brought from those of an input to those of the loop"""

    def __contains__(self, layer: LayerBase) -> bool:
        """
        :return: whether its output is there
        """
        return layer in self._outputs

    def __getitem__(self, layer: LayerBase) -> Tensor:
        """
        :param layer: its output is there
        :return: that, for the frames of the loop, or of an input that has its own
        """
        return self._outputs[layer]

    def __setitem__(self, layer: LayerBase, output: Tensor) -> None:
        """
        :param output: of all frames
        """
        self._outputs[layer] = output

    def compute(self, layer: LayerBase) -> None:
        """
        :param layer: all that it reads is there
        """
        context = self._context
        own = context.groups.dims_of_inputs.get(layer)
        for other in context.read_inside(layer):
            if other in self or isinstance(other, (RecFrameLayer, RecPreviousLayer, RecStepInfoLayer)):
                x = self.made(other)
                other.output = self.of_loop(other) if own is None else x
        layer.output = context.subnet.template_of(layer)
        hidden = [*self._dims_of_frames, *([] if own is None else [own])]
        if layer in context.groups.read_as_whole:
            hidden.remove(context.dim)
        with hidden_dims_ctx(hidden) if layer.name != ":source" else all_dims_visible_ctx():
            context.net.inner_steps.compute_layer(layer)
        self[layer] = layer.output

    @functools.cached_property
    def _dims_of_frames(self) -> list[Dim]:
        """that of the loop, and those of frames that are masked out of it"""
        masks = [layer.network.masking for layer in self._context.groups.layers()]
        return [self._context.dim, *dict.fromkeys(masking.out_dim for masking in masks if masking is not None)]

    def made(self, layer: LayerBase) -> Tensor:
        """
        :param layer: its output is there; or it is what layers see of the loop
        :return: its output, see :func:`__getitem__`
        """
        if layer not in self:
            self[layer] = self._of_loop_layer(layer)
        return self[layer]

    def of_loop(self, layer: LayerBase) -> Tensor:
        """
        :param layer: its output is there
        :return: that, for the frames of the loop, also where it is read from an input that has its own
        """
        x, own = self[layer], dim_of_frames(layer, self._context.groups)
        if own is None or own == self._context.dim or own not in x.dims:
            return x
        if layer not in self._of_loop:
            self._of_loop[layer] = with_frames_of_loop(x, own, self._context.subnet, layer.name)
        return self._of_loop[layer]

    def with_beam_apart(self, layer: LayerBase) -> Tensor:
        """
        :param layer: of the unit, or outside of it
        :return: its output, of all frames if it is there; a beam is a dim of its own
        """
        return self._outputs.get(layer) or layer.output.unmerged or layer.output

    def _of_loop_layer(self, layer: LayerBase) -> Tensor:
        if isinstance(layer, RecStepInfoLayer):
            assert self._context.index is not None
            return self._context.index
        if isinstance(layer, RecFrameLayer):
            return self._of_input(layer)
        assert isinstance(layer, RecPreviousLayer)
        return self._shifted(layer)

    def _of_input(self, layer: RecFrameLayer) -> Tensor:
        x = self.with_beam_apart(layer.full)
        if not layer.is_sliced:
            return x
        dim = layer.own_loop_dim
        assert dim is not None
        res = x.copy_transpose([dim, *(d for d in x.dims if d != dim)])
        template = self._context.subnet.template_of(layer)
        res.time_dim_axis = None if template.time_dim is None else res.get_axis_from_dim(template.time_dim)
        return res

    def _shifted(self, layer: RecPreviousLayer) -> Tensor:
        """the output of all frames, one later; in front of it the initial one"""
        context, backend = self._context, self._context.backend
        x = self.of_loop(layer.of_layer)
        start = initial_output(layer, context)
        dims = [d for d in x.dims if d != context.dim]
        dims += [d for d in start.dims if d not in dims]
        frames = with_all_dims(x, [context.dim, *dims], context).raw_tensor
        first = backend.expand_dims(with_all_dims(start, dims, context).raw_tensor, 0)
        raw = backend.concat([first, backend.slice(frames, 0, None, -1)], 0)
        res = x.like(raw, dims=[context.dim, *dims])
        # without any frame there is no frame before, either
        res.raw_tensor = backend.slice(raw, 0, None, backend.size_of_axis(frames, 0))
        return res
