"""Outputs and states at the last frame of each sequence, of layers with ``need_last``."""

from __future__ import annotations

from collections.abc import Sequence

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.recurrent.initial import initial_output, with_all_dims
from returnn.tensor import Dim, Tensor

from .all_frames import AllFrames
from .carried import Carried
from .context import LoopContext
from .ending import Ending
from .frames_before import FramesBefore
from .hypotheses import Hypotheses
from .states import States


class LastFrames:
    """In the loop, what they were at the last frame so far; of others, they are taken from all frames."""

    def __init__(self, context: LoopContext, frames: AllFrames, hypotheses: Hypotheses, ending: Ending, states: States):
        """
        :param context: of the loop
        :param frames: of the loop
        :param hypotheses: of the loop
        :param ending: of the loop
        :param states: of the loop
        """
        self._context = context
        self._frames = frames
        self._hypotheses = hypotheses
        self._ending = ending
        self._states = states
        self._outputs: dict[LayerBase, Carried] = {}
        self._last_states: dict[tuple[LayerBase, str], Carried] = {}

    def begin_loop(self, before: FramesBefore) -> None:
        """
        :param before: of the loop, which has begun
        """
        subnet = self._context.subnet
        for layer in self._context.groups.in_loop:
            if layer.need_last:
                has_all = set(subnet.template_of_last_frame(layer).dims) == set(subnet.template_of(layer).dims)
                # what is the same for all sequences at each frame is not at their last ones
                shared = before.of_layer(layer) if has_all else None
                self._outputs[layer] = shared or self._start_of(layer)
        self._last_states = {key: Carried(x.start) for key, x in self._states.values.items() if key[0].need_last}

    def carried(self) -> list[Carried]:
        """
        :return: all that is handed on; some may be that of :class:`.frames_before.FramesBefore`
        """
        return [*self._outputs.values(), *self._last_states.values()]

    def end_frame(self) -> None:
        """All layers are computed, and what had ended before this frame is known."""
        for layer, value in self._outputs.items():
            value.next = self._kept_behind_end(value.held(layer, layer.output), value.now)
        for key, value in self._last_states.items():
            value.next = self._kept_behind_end(self._states.values[key].latest, value.now)

    def output_of(self, layer: LayerBase) -> Tensor:
        """
        :param layer: in the loop; the frame is computed
        :return: its output; behind the end of a sequence that of the last frame, where it is kept
        """
        last = self._outputs.get(layer)
        return layer.output if last is None or last.next is None else last.next

    def final_states(self) -> dict[tuple[LayerBase, str], Tensor]:
        """
        :return: layer, name of the state there -> state behind the last frame
        """
        return {key: self._hypotheses.of_final(value.now) for key, value in self._last_states.items()}

    def final_output(self, layer: LayerBase) -> Tensor:
        """
        Behind the computation of all layers.

        :param layer: one whose last frame is wanted
        :return: its output at the last frame of each sequence; of a sequence without frames, the initial one
        """
        if layer in self._outputs:
            return self._hypotheses.of_final(self._outputs[layer].now)
        dim, backend = self._context.dim, self._context.backend
        x = self._frames[layer]
        if dim not in x.dims:
            return x
        dims = [d for d in x.dims if d != dim]
        start = self._before_first_frame(layer, dims)
        frames = with_all_dims(x, [dim, *dims], self._context).raw_tensor
        raw = backend.concat([backend.expand_dims(start.raw_tensor, 0), frames], 0)
        places = Dim(None, description="frames and the one before")
        x = x.like(raw, dims=[places, *dims], time_dim=None)
        last = rf.gather(x, indices=self._ending.known_lens(), axis=places)
        template = self._context.subnet.template_of_last_frame(layer)
        order = [d for d in template.dims if d in last.dims]
        last = last.copy_transpose(order + [d for d in last.dims if d not in order])
        return template.like(last.raw_tensor, dims=last.dims)

    def _start_of(self, layer: LayerBase) -> Carried:
        template = self._context.subnet.template_of_last_frame(layer)
        start = self._before_first_frame(layer, self._hypotheses.with_beam(layer, template.dims))
        return Carried(template.like(start.raw_tensor, dims=start.dims))

    def _before_first_frame(self, layer: LayerBase, dims: Sequence[Dim]) -> Tensor:
        """labels need no initial output for this; where none is given, zero"""
        subnet = self._context.subnet
        template = subnet.template_of(layer)
        if template.sparse and layer.layer_of_initial_output.initial_output is None:
            zero = self._context.full_tensor(layer.name, dims, template.dtype, 0)
            return template.like(zero.raw_tensor, dims=dims)
        return with_all_dims(initial_output(subnet.previous_of(layer), self._context), dims, self._context)

    def _kept_behind_end(self, value: Tensor, before: Tensor) -> Tensor:
        """
        :param value: of this frame
        :param before: of the frame before
        :return: that of the last frame so far of each sequence
        """
        ended = self._ending.does_not_count()
        if ended is None:
            return value
        value, before, ended = self._hypotheses.of_same(value, before, ended)
        return rf.where(ended, before, value)
