"""The loop as a whole, and what layers in it can ask it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from returnn.layers.base import LayerBase
from returnn.layers.recurrent.initial import with_all_dims
from returnn.layers.recurrent.input_lengths import at_most
from returnn.layers.recurrent.loop_layers import RecStepInfoLayer
from returnn.layers.recurrent.subnet import RecSubnet
from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import all_dims_visible_ctx

from .all_frames import AllFrames
from .carried import Carried
from .context import LoopContext
from .ending import Ending
from .for_outside import output_for_outside
from .frames_before import FramesBefore
from .hypotheses import Hypotheses
from .inputs import FrameInputs
from .last_frames import LastFrames
from .outputs import FrameOutputs
from .states import States


class Loop:
    """One computation of a :class:`~returnn.layers.recurrent.subnet.RecSubnet`.

    A layer is the same object before, in and behind the loop. Before and behind it, its output has the axis of the loop
    besides those of a frame; descriptions of axes do not see it, see :mod:`returnn.tensor.hidden_dims`.
    """

    def __init__(
        self, subnet: RecSubnet, *, max_seq_len: Any, include_eos: bool, back_prop: bool, zero_padding: bool = False
    ):
        """
        :param subnet: its layers are built
        :param max_seq_len: int or raw scalar: bounds a loop of unknown length; None: nothing does
        :param include_eos: the frame where ``end`` is true first counts
        :param back_prop: gradients go through the loop
        :param zero_padding: outside, frames behind a sequence's end are zero
        """
        self._context = context = LoopContext(subnet)
        self.subnet = subnet
        self.groups = context.groups
        self.dim = context.dim
        self._max_seq_len = max_seq_len
        self._back_prop = back_prop
        self._zero_padding = zero_padding
        self._frames = AllFrames(context)
        self._hypotheses = Hypotheses(context)
        self._before = FramesBefore(context, self._hypotheses)
        self._states = States(context, self._hypotheses)
        self._ending = Ending(context, self._hypotheses, include_eos=include_eos)
        self._last = LastFrames(context, self._frames, self._hypotheses, self._ending, self._states)
        self._outputs = FrameOutputs(context, self._frames, self._hypotheses, self._ending, self._last)
        self.beams = self._hypotheses.beams

    def compute(self) -> None:
        """Gives all layers their outputs for all frames."""
        run_before, self.subnet.run = self.subnet.run, self
        outer_net, steps = self.subnet.net.outer_net, self.subnet.net.inner_steps
        layers = self.groups.layers()
        try:
            with steps.running():
                self._compute_layers()
                ops = steps.take_ops()
            if ops and outer_net is not None:
                outer_net.register_post_control_dependencies(ops)
            self.subnet.last_frames = {x: self._last.final_output(x) for x in layers if x.need_last}
            self.subnet.last_states = self._last.final_states()
            for layer in layers:
                layer.output = output_for_outside(layer, self._context, self._frames, zero_padding=self._zero_padding)
        finally:
            self.subnet.run = run_before

    def _compute_layers(self) -> None:
        known = self.subnet.length_is_known
        if known:
            self._context.set_index_of_all_frames()
        for layer in self.groups.before:
            self._frames.compute(layer)
        if self.groups.in_loop:
            self._compute_in_loop()
            if not known:
                self._context.set_index_of_all_frames()
        for layer in self.groups.behind:
            self._frames.compute(layer)

    # ---- frame by frame

    def _compute_in_loop(self) -> None:
        context, backend, known = self._context, self._context.backend, self.subnet.length_is_known
        needed = [x for layer in self.groups.in_loop for x in context.read_inside(layer)]
        inputs = FrameInputs(needed, context, self._frames)
        carried = self._begin_loop(needed)
        frames = inputs.begin_loop()

        def body(i: Any, frames: list[Any], state: list[Any]) -> tuple[list[Any], list[Any]]:
            for value, raw in zip(carried, state, strict=True):
                value.begin_frame(raw)
            self._before.begin_frame()
            inputs.begin_frame(i, frames)
            self._compute_frame(i, needed)
            outputs = self._outputs.end_frame()
            return [self._raw_for_next_frame(value) for value in carried], outputs

        def go_on(i: Any, state: list[Any]) -> Any:
            ended = self._ending.ended
            return None if ended is None else self._ending.goes_on(state[carried.index(ended)])

        num_frames = self.dim.get_dim_value() if known else at_most(self._max_seq_len, frames, backend)
        with context.frame_by_frame(), all_dims_visible_ctx():
            num, last, stacked = backend.frame_loop(
                body,
                frames=frames,
                state=[value.start.raw_tensor for value in carried],
                num_frames=num_frames,
                go_on=None if known else go_on,
                growing=[value.growing_axes for value in carried],
                output_dtypes=self._outputs.dtypes(),
                empty_shapes=self._outputs.shapes_without_frames,
                varying=self._outputs.varying_axes,
                back_prop=self._back_prop,
            )
        inputs.end_loop()
        for value, raw in zip(carried, last, strict=True):
            value.end_loop(raw)
        self._ending.check_has_ended(num, self._max_seq_len, [layer.name for layer in inputs.layers])
        self._outputs.take(stacked, num)

    def _begin_loop(self, needed: list[LayerBase]) -> list[Carried]:
        """
        :param needed: what is read in the loop
        :return: all that is handed on from frame to frame
        """
        self._hypotheses.begin_loop(self._frames)
        self._before.begin_loop(needed)
        self._states.begin_loop()
        self._ending.begin_loop()
        self._last.begin_loop(self._before)
        self._outputs.begin_loop()
        parts = (self._before, self._states, self._last, self._hypotheses, self._ending)
        carried = list(dict.fromkeys(value for part in parts for value in part.carried()))
        for value in carried:
            value.begin_loop()
        return carried

    def _compute_frame(self, i: Any, needed: list[LayerBase]) -> None:
        context, net = self._context, self.subnet.net
        context.index = Tensor("i", [], "int32", raw_tensor=i)
        for layer in needed:
            if isinstance(layer, RecStepInfoLayer):
                layer.output = context.index
        with net.run_ctx():  # noise is another one in each frame
            for layer in self.groups.in_loop:
                layer.output = self.subnet.template_of(layer)
                with self._hypotheses.inputs_of_one_beam(layer), self._before.lengths_for(layer):
                    net.inner_steps.compute_layer(layer)
        self._before.end_frame()
        self._ending.end_frame()
        self._last.end_frame()

    def _raw_for_next_frame(self, value: Carried) -> Any:
        new = self._hypotheses.for_next_frame(value.latest)
        return with_all_dims(new, value.start.dims, self._context).raw_tensor

    # ---- for layers: where the loop is

    @property
    def is_in_loop(self) -> bool:
        """frames are being computed, one at a time"""
        return self._context.is_in_loop

    @property
    def index(self) -> Tensor | None:
        """int32: number of the frame; or of all frames"""
        return self._context.index

    def ended_before(self) -> Tensor | None:
        """
        See :meth:`.ending.Ending.ended_before`.
        """
        return self._ending.ended_before()

    def get_prev_end_flag(self, target_search_choices: Any = None) -> Any:
        """
        :param target_search_choices: not needed: it is those of the layer that is computed
        :return: raw bool [batch], a beam merged into it: which ones had ended before this frame
        """
        return self._ending.raw_ended_before()

    # ---- for layers: values

    def size_of(self, dim: Dim) -> Any:
        """
        See :meth:`.context.LoopContext.size_of`.
        """
        return self._context.size_of(dim)

    def full_tensor(self, name: str, dims: Iterable[Dim], dtype: str, value: Any) -> Tensor:
        """
        See :meth:`.context.LoopContext.full_tensor`.
        """
        return self._context.full_tensor(name, dims, dtype, value)

    def constant_value(self, x: Tensor) -> Any:
        """
        See :meth:`.context.LoopContext.constant_value`.
        """
        return self._context.constant_value(x)

    def bring(self, x: Tensor) -> Tensor:
        """
        See :meth:`.hypotheses.Hypotheses.bring`.
        """
        return self._hypotheses.bring(x)

    def of_same_hypotheses(self, *values: Tensor) -> list[Tensor]:
        """
        See :meth:`.hypotheses.Hypotheses.of_same`.
        """
        return self._hypotheses.of_same(*values)

    # ---- for layers: states

    def previous(self, layer: LayerBase, key: str) -> Tensor:
        """
        See :meth:`.states.States.previous`.
        """
        return self._states.previous(layer, key)

    def leave(self, layer: LayerBase, key: str, value: Tensor, *, in_each_frame: bool = False) -> None:
        """
        See :meth:`.states.States.leave`.
        """
        self._states.leave(layer, key, value, in_each_frame=in_each_frame)

    def states_of(self, layers: Iterable[LayerBase]) -> list[Carried]:
        """
        See :meth:`.states.States.of_layers`.
        """
        return self._states.of_layers(layers)

    def take_left(self, states: Iterable[Carried]) -> list[Tensor]:
        """
        See :meth:`.states.States.take_left`.
        """
        return self._states.take_left(states)

    # ---- for layers that choose, or ask what was chosen

    def scores_before(self, layer: LayerBase) -> Tensor:
        """
        :param layer: chooses
        :return: [batch, beam]: of the hypotheses that it goes on from
        """
        return self._hypotheses.scores_before()

    def gold_before(self, layer: LayerBase) -> Tensor | None:
        """
        See :meth:`.hypotheses.Hypotheses.gold_before`.
        """
        return self._hypotheses.gold_before(layer)

    def chosen(self, layer: LayerBase, src_beams: Tensor, scores: Tensor) -> None:
        """
        See :meth:`.hypotheses.Hypotheses.chosen`.
        """
        self._hypotheses.chosen(layer, src_beams, scores)

    def set_gold(self, gold: Tensor | None) -> None:
        """
        See :meth:`.hypotheses.Hypotheses.set_gold`.
        """
        self._hypotheses.set_gold(gold)

    def scores_of_hypotheses(self) -> Tensor | None:
        """
        See :meth:`.hypotheses.Hypotheses.scores_of_layer`.
        """
        return self._hypotheses.scores_of_layer()

    def sources_of_hypotheses(self) -> Tensor | None:
        """
        See :meth:`.hypotheses.Hypotheses.sources_of_layer`.
        """
        return self._hypotheses.sources_of_layer()

    @property
    def final_scores(self) -> Tensor | None:
        """[batch, beam]: of the hypotheses behind the last frame; None: no layer in the loop chooses"""
        return self._outputs.final_scores
