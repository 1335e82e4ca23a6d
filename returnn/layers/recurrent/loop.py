"""Computes the network inside of a recurrent layer: what comes before the loop, the loop, what comes behind it.

A layer is the same object in all three places. Before and behind the loop, its output has the axis of the loop besides
those of a frame; descriptions of axes do not see it, see :mod:`returnn.tensor.hidden_dims`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.activations import OutputWithActivation
from returnn.layers.base import LayerBase
from returnn.layers.beam_border import merge_beam
from returnn.layers.features import default_feature_again
from returnn.tensor import Dim, Tensor, batch_dim
from returnn.tensor.hidden_dims import all_dims_visible_ctx, hidden_dims_ctx
from returnn.tensor.run_table import current_table
from returnn.util.behavior_version import BehaviorVersion, Change

from .beams import reaching
from .frame_lengths import (
    LengthsBefore,
    dims_with_frame_lengths,
    length_in_frame,
    length_of_array,
    set_lengths_of_array,
)
from .initial import initial_output, with_all_dims
from .input_lengths import at_most, check_has_ended, dim_of_frames, with_frames_of_loop
from .loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer
from .subnet import RecSubnet, StateSpec

if TYPE_CHECKING:
    from returnn.tensor.backend import Backend


class _Carried:
    """A value that is handed on from frame to frame."""

    def __init__(self, start: Tensor):
        """
        :param start: before the first frame; its axes are those of the frames, too
        """
        self.start = start
        self.now = start
        self.next: Tensor | None = None


class Loop:
    """One computation of a :class:`RecSubnet`."""

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
        self.subnet = subnet
        self.net = subnet.net
        self.steps = subnet.net.inner_steps
        self.backend: Backend = subnet.net.backend
        self.groups = subnet.groups
        assert subnet.loop_dim is not None
        self.dim: Dim = subnet.loop_dim
        self.is_in_loop = False
        """frames are being computed, one at a time"""
        self.index: Tensor | None = None
        """int32: number of the frame; or of all frames"""
        self._max_seq_len = max_seq_len
        self._include_eos = include_eos
        self._back_prop = back_prop
        self._zero_padding = zero_padding
        self._full: dict[LayerBase, Tensor] = {}
        """outputs for all frames, of the loop or of an input, see :mod:`.input_lengths`"""
        self._full_of_loop: dict[LayerBase, Tensor] = {}
        """the same, where they are brought from those of an input to those of the loop"""
        self._before_output: dict[RecPreviousLayer, _Carried] = {}
        self._lens_before: dict[RecPreviousLayer, dict[Dim, _Carried]] = {}
        """of sequences, where they differ from frame to frame"""
        self._states: dict[tuple[LayerBase, str], _Carried] = {}
        self._ended: _Carried | None = None
        self._lens: _Carried | None = None
        self._last: dict[LayerBase, _Carried] = {}
        """output at the last frame so far of each sequence, of layers whose last one is wanted"""
        self._last_states: dict[tuple[LayerBase, str], _Carried] = {}
        """the same, of their states"""
        self.beams = subnet.groups.beams
        self._scores: _Carried | None = None
        """of the hypotheses before a frame"""
        self.beam: Dim | None = None
        """the hypotheses that the layer which is computed belongs to"""
        self._outer_beams: dict[Dim, set[LayerBase]] = {}
        """beam of a search outside of this loop -> layers in the loop that depend on its hypotheses"""
        self._gold: _Carried | None = None
        """of the hypotheses before a frame, the one with the targets; if a layer that chooses needs it"""
        self._src_before: _Carried | None = None
        """which hypotheses of the frame before those before a frame go on from; if a layer asks for it"""
        self._constants: dict[int, tuple[Any, Any]] = {}
        """id of a raw value -> the raw value, and what all its entries are"""
        self.final_scores: Tensor | None = None
        """[batch, beam]: of the hypotheses behind the last frame"""

    # ---- the whole

    def compute(self) -> None:
        """Gives all layers their outputs for all frames."""
        run_before, self.subnet.run = self.subnet.run, self
        try:
            with self.steps.running():
                if self.subnet.length_is_known:
                    self._set_index()
                self._compute_before()
                if self.groups.in_loop:
                    self._compute_in_loop()
                    if not self.subnet.length_is_known:
                        self._set_index()
                self._compute_behind()
                ops = self.steps.take_ops()
            if ops and self.net.outer_net is not None:
                self.net.outer_net.register_post_control_dependencies(ops)
            self.subnet.last_frames = {x: self.last_frame(x) for x in self._all_layers() if x.need_last}
            last_states = {key: self._of_final_hypotheses(value.now) for key, value in self._last_states.items()}
            self.subnet.last_states = last_states
            for layer in self._all_layers():
                layer.output = self._for_outside(layer)
        finally:
            self.subnet.run = run_before

    def _all_layers(self) -> list[LayerBase]:
        return [*self.groups.before, *self.groups.in_loop, *self.groups.behind]

    def _for_outside(self, layer: LayerBase) -> Tensor:
        full = self._full.get(layer)
        if full is None:
            return self.subnet.template_of(layer)
        full = self._masked_for_loss(layer, full).copy()
        if self.subnet.is_single_step and self.dim in full.dims:
            return self._step_for_outside(layer, full)
        masking = layer.network.masking
        dim = self.groups.dims_of_inputs.get(layer, self.dim) if masking is None else masking.out_dim
        if dim in full.dims:
            if self._zero_padding and dim.need_masking and set(dim.size_dims or ()) <= set(full.dims):
                full = rf.where(dim.get_mask(), full, False if full.dtype == "bool" else 0).copy_transpose(full.dims)
            full.time_dim_axis = full.get_axis_from_dim(dim)
            full = default_feature_again(full, before=self.subnet.template_of(layer))
        return merge_beam(full) if self.subnet.parent_net.loop is None else full

    def _step_for_outside(self, layer: LayerBase, full: Tensor) -> Tensor:
        """the only frame"""
        before = layer.output_before_activation
        if before is not None and self.dim in before.x.dims:
            layer.output_before_activation = OutputWithActivation(rf.squeeze(before.x, self.dim), before.activation)
        frame = rf.squeeze(full, self.dim)
        res = self.subnet.template_of(layer)
        order = [*(d for d in res.dims if d in frame.dims), *(d for d in frame.dims if d not in res.dims)]
        res = res.like(frame.copy_transpose(order).raw_tensor, dims=order)
        return merge_beam(res) if self.subnet.parent_net.loop is None else res

    def _masked_for_loss(self, layer: LayerBase, full: Tensor) -> Tensor:
        """
        :param layer: any
        :param full: its output; if it was computed frame by frame, also of frames that do not concern it
        :return: without these, if it has a loss
        """
        masking = layer.network.masking
        if masking is None or masking.mask is None or layer.loss is None or self.dim not in full.dims:
            return full
        mask = functools.reduce(rf.logical_and, map(self._all_frames_of, masking.masks))
        before = layer.output_before_activation
        if before is not None:
            x = masking.masked_frames_of_loop(before.x, mask)
            layer.output_before_activation = OutputWithActivation(x, before.activation)
        return masking.masked_frames_of_loop(full, mask)

    # ---- all frames at once

    def _set_index(self) -> None:
        size = self.dim.get_dim_value()
        raw = self.backend.range(size)
        self.index = Tensor("i", [self.dim], "int32", raw_tensor=raw)

    def _compute_before(self) -> None:
        for layer in self.groups.before:
            self._compute_all_frames(layer)

    def _compute_behind(self) -> None:
        for layer in self.groups.behind:
            self._compute_all_frames(layer)

    def _compute_all_frames(self, layer: LayerBase) -> None:
        own = self.groups.dims_of_inputs.get(layer)
        for other in self._read_inside(layer):
            if other in self._full or isinstance(other, (RecFrameLayer, RecPreviousLayer, RecStepInfoLayer)):
                x = self._all_frames_of(other)
                other.output = self._frames_of_loop(other) if own is None else x
        layer.output = self.subnet.template_of(layer)
        hidden = [*self._dims_of_frames(), *([] if own is None else [own])]
        if layer in self.groups.read_as_whole:
            hidden.remove(self.dim)
        with hidden_dims_ctx(hidden) if layer.name != ":source" else all_dims_visible_ctx():
            self.steps.compute_layer(layer)
        self._full[layer] = layer.output

    def _dims_of_frames(self) -> list[Dim]:
        """that of the loop, and those of frames that are masked out of it"""
        masks = [layer.network.masking for layer in self._all_layers()]
        return [self.dim, *dict.fromkeys(masking.out_dim for masking in masks if masking is not None)]

    def _all_frames_of(self, layer: LayerBase) -> Tensor:
        if layer in self._full:
            return self._full[layer]
        if isinstance(layer, RecStepInfoLayer):
            assert self.index is not None
            res = self.index
        elif isinstance(layer, RecFrameLayer):
            res = self._frames_of_input(layer)
        else:
            assert isinstance(layer, RecPreviousLayer)
            res = self._shifted(layer)
        self._full[layer] = res
        return res

    def _frames_of_loop(self, layer: LayerBase) -> Tensor:
        """
        :param layer: its output for all frames is there
        :return: that, for the frames of the loop, also where it is read from an input that has its own
        """
        x, own = self._full[layer], dim_of_frames(layer, self.groups)
        if own is None or own == self.dim or own not in x.dims:
            return x
        if layer not in self._full_of_loop:
            self._full_of_loop[layer] = with_frames_of_loop(x, own, self.subnet, layer.name)
        return self._full_of_loop[layer]

    def _frames_of_input(self, layer: RecFrameLayer) -> Tensor:
        x = self._full.get(layer.full) or layer.full.output.unmerged or layer.full.output
        if not layer.is_sliced:
            return x
        dim = layer.own_loop_dim
        assert dim is not None
        res = x.copy_transpose([dim, *(d for d in x.dims if d != dim)])
        template = self.subnet.template_of(layer)
        res.time_dim_axis = None if template.time_dim is None else res.get_axis_from_dim(template.time_dim)
        return res

    def _shifted(self, layer: RecPreviousLayer) -> Tensor:
        """the output of all frames, one later; in front of it the initial one"""
        x = self._frames_of_loop(layer.of_layer)
        start = self._initial_output(layer)
        dims = [d for d in x.dims if d != self.dim]
        dims += [d for d in start.dims if d not in dims]
        frames = with_all_dims(x, [self.dim, *dims], self).raw_tensor
        first = self.backend.expand_dims(with_all_dims(start, dims, self).raw_tensor, 0)
        raw = self.backend.concat([first, self.backend.slice(frames, 0, None, -1)], 0)
        res = x.like(raw, dims=[self.dim, *dims])
        # without any frame there is no frame before, either
        res.raw_tensor = self.backend.slice(raw, 0, None, self.backend.size_of_axis(frames, 0))
        return res

    def _initial_output(self, layer: RecPreviousLayer) -> Tensor:
        return initial_output(layer, self)

    # ---- frame by frame

    def _compute_in_loop(self) -> None:
        in_loop = set(self.groups.in_loop)
        needed = list(self._layers_of_loop())
        inputs = self._inputs_of_loop(needed, in_loop)
        self._outer_beams = self._find_outer_beams()
        self._before_output = {
            x: _Carried(self._start_of(x)) for x in needed if isinstance(x, RecPreviousLayer) and x.of_layer in in_loop
        }
        self._lens_before = {x: self._start_of_lengths(x, value.start) for x, value in self._before_output.items()}
        computed_by = {layer: layer for layer in in_loop}
        computed_by.update({inner: layer for layer in in_loop for inner in layer.layers_computed_inside})
        for spec in self.subnet.states.values():
            if spec.layer in computed_by:
                self._states[spec.layer, spec.key] = _Carried(self._start_of_state(spec, computed_by[spec.layer]))
        if self.beams is not None:
            dims = [batch_dim, self.beams.before]
            self._scores = _Carried(self.full_tensor("scores", dims, "float32", 0.0))
            if any(layer.cheats for layer in self.beams.choices):  # type: ignore[attr-defined]
                self._gold = _Carried(self.full_tensor("gold", [batch_dim], "int32", 0))
            if any(layer.asks_for_sources for layer in in_loop):
                self._src_before = _Carried(self.full_tensor("src", dims, "int32", 0))
        if not self.subnet.length_is_known:
            self._ended = _Carried(self.full_tensor("ended", self._end_dims(), "bool", False))
            self._lens = _Carried(self.full_tensor("lens", self._end_dims(), "int32", 0))
        self._last = self._start_of_last_frames(in_loop)
        self._last_states = {key: _Carried(x.start) for key, x in self._states.items() if key[0].need_last}
        collected = self.subnet.layers_to_collect()
        expected = self._expected_parts(collected)
        lengths_inside = dims_with_frame_lengths(expected.values(), self.dim)
        expected.update({d: Tensor("size", d.size_dims or [], "int32") for d in lengths_inside})
        outside = {x: self._frames_of_loop(x) for x in needed if x in self._full}
        lengths_before = LengthsBefore(outside.values(), self.dim)
        cut_inputs = [x for x, full in outside.items() if x not in inputs and lengths_before.concern(full)]
        parts: dict[Any, Tensor] = {}
        carried = self._all_carried()
        growing = [self._growing_axes(value.start) for value in carried]

        def body(i: Any, frames: list[Any], state: list[Any]) -> tuple[list[Any], list[Any]]:
            for value, raw in zip(carried, state, strict=True):
                value.now = value.start.like(raw)
                value.next = None
            for value, axes in zip(self._before_output.values(), growing, strict=False):
                set_lengths_of_array(value.now, axes)
            for lens in self._lens_before.values():
                for dim, value in lens.items():
                    dim.dyn_size_ext = value.now
            lengths_before.set_those_of_frame(i)
            for layer, raw in zip(inputs, frames, strict=True):
                layer.output = lengths_before.cut(self._frame(layer, raw))
            for layer in cut_inputs:
                layer.output = lengths_before.cut(outside[layer])
            self._compute_frame(i)
            parts.clear()
            parts.update(self._outputs_of_frame(collected))
            if self.beams is not None:
                assert self._scores is not None
                parts["src"] = self.beams.sources_of_frame(self._scores.now)
                if self._src_before is not None:
                    self._src_before.next = parts["src"].like(parts["src"].raw_tensor, sparse_dim=None)
            parts.update({d: length_in_frame(d, parts.values()) for d in lengths_inside})
            new = [self._next_raw(value) for value in carried]
            return new, [x.raw_tensor for x in parts.values()]

        def go_on(i: Any, state: list[Any]) -> Any:
            return self._go_on(i, state[carried.index(self._ended)]) if self._ended else None

        known = self.subnet.length_is_known
        frames = [self._raw_frames(layer) for layer in inputs]
        num_frames = self.dim.get_dim_value() if known else at_most(self._max_seq_len, frames, self.backend)
        self.is_in_loop = True
        index_before, self.index = self.index, None
        try:
            with all_dims_visible_ctx():
                num, last, stacked = self.backend.frame_loop(
                    body,
                    frames=frames,
                    state=[value.start.raw_tensor for value in carried],
                    num_frames=num_frames,
                    go_on=None if known else go_on,
                    growing=growing,
                    output_dtypes=[x.dtype for x in expected.values()],
                    empty_shapes=lambda: [self._sizes(x.dims) for x in (parts or expected).values()],
                    varying=lambda: [[i for i, d in enumerate(x.dims) if d in lengths_inside] for x in parts.values()],
                    back_prop=self._back_prop,
                )
        finally:
            self.is_in_loop, self.index = False, index_before
        lengths_before.restore()
        for value, raw in zip(carried, last, strict=True):
            value.now = value.start.like(raw)
        if self._ended is not None and self._lens is not None and inputs:
            names = [layer.name for layer in inputs]
            lens, ended = self._lens.now, self._ended.now
            self._lens.now = check_has_ended(lens, ended, num, self._max_seq_len, names, self.subnet)
        self._take_outputs(parts or expected, stacked, num)

    def _compute_frame(self, i: Any) -> None:
        self.index = Tensor("i", [], "int32", raw_tensor=i)
        for layer in self._layers_of_loop():
            if isinstance(layer, RecStepInfoLayer):
                layer.output = self.index
        for previous, value in self._before_output.items():
            previous.output = value.now
        with self.net.run_ctx():  # noise is another one in each frame
            for layer in self.groups.in_loop:
                layer.output = self.subnet.template_of(layer)
                with self._inputs_of_one_beam(layer), self._lengths_of_frame_before(layer):
                    self.steps.compute_layer(layer)
        for previous, value in self._before_output.items():
            value.next = self._held(previous.of_layer, previous.of_layer.output, value)
            for dim, state in self._lens_before[previous].items():
                state.next = self._held(previous.of_layer, length_in_frame(dim, [previous.of_layer.output]), state)
        if self._ended is not None and self._lens is not None:
            self._compute_end(self._ended, self._lens)
        for layer, value in self._last.items():
            value.next = self._kept_behind_end(self._held(layer, layer.output, value), value.now)
        for key, value in self._last_states.items():
            state = self._states[key]
            value.next = self._kept_behind_end(state.now if state.next is None else state.next, value.now)

    def _layers_of_loop(self) -> Iterable[LayerBase]:
        for layer in self.groups.in_loop:
            yield from self._read_inside(layer)

    def _read_inside(self, layer: LayerBase) -> list[LayerBase]:
        """
        :param layer: of the unit
        :return: what it reads, without what is of a loop around this one, or of none
        """
        return [x for x in layer.get_dep_layers() if x.network.loop is self.subnet]

    def _compute_end(self, ended: _Carried, lens: _Carried) -> None:
        end = self.net.layers["end"].output
        ended_before, lens_before = ended.now, lens.now
        if self.beams is not None and self.beams.beam_of(ended_before) is not None:
            ended_before, lens_before = (self.beams.bring(x, self.beams.last) for x in (ended_before, lens_before))
            end = self.beams.bring(end, self.beams.last)
        ended.next = rf.logical_or(ended_before, end)
        counts = rf.logical_not(ended_before if self._include_eos else ended.next)
        lens.next = lens_before + rf.cast(counts, "int32")

    def _go_on(self, i: Any, ended: Any) -> Any:
        return self.backend.unary("logical_not", self.backend.reduce(ended, "all", None))

    def _all_carried(self) -> list[_Carried]:
        last = [value for value in self._last.values() if value not in self._before_output.values()]
        lens = [value for of_dims in self._lens_before.values() for value in of_dims.values()]
        res = [*self._before_output.values(), *lens, *self._states.values(), *last, *self._last_states.values()]
        of_loop = (self._scores, self._gold, self._src_before, self._ended, self._lens)
        return res + [value for value in of_loop if value is not None]

    def _next_raw(self, value: _Carried) -> Any:
        new = value.now if value.next is None else value.next
        if self.beams is not None:
            new = self.beams.for_next_frame(new)
        return with_all_dims(new, value.start.dims, self).raw_tensor

    def _start_of(self, layer: RecPreviousLayer) -> Tensor:
        template = self.subnet.template_of(layer)
        start = with_all_dims(self._initial_output(layer), self._with_beam(layer.of_layer, template.dims), self)
        return template.like(start.raw_tensor, dims=start.dims)

    def _start_of_lengths(self, layer: RecPreviousLayer, start: Tensor) -> dict[Dim, _Carried]:
        """
        :param layer: in the loop
        :param start: its output at the first frame
        :return: lengths there of those dims that get them within the loop, for each sequence
        """
        res = {}
        for axis in self._growing_axes(start):
            dim = start.dims[axis]
            if dim.size_dims:
                dims = self._with_beam(layer.of_layer, dim.size_dims)
                zero = self.full_tensor("lens", dims, "int32", 0)
                res[dim] = _Carried(rf.combine(zero, "add", length_of_array(start, axis)))
        return res

    @contextlib.contextmanager
    def _lengths_of_frame_before(self, layer: LayerBase) -> Iterator[None]:
        """Inside, dims of its inputs of the frame before have the lengths that they had then."""
        read = layer.get_dep_layers() if any(self._lens_before.values()) else []
        previous = [x for x in read if isinstance(x, RecPreviousLayer)]
        lens = {d: value.now for x in previous for d, value in self._lens_before.get(x, {}).items()}
        now = {d for x in read if not isinstance(x, RecPreviousLayer) for d in x.output.dims}
        before = {d: d.dyn_size_ext for d in lens if d not in now}
        for dim in before:
            dim.dyn_size_ext = self.bring(lens[dim])
        yield
        for dim, size in before.items():
            if size is not None:
                dim.dyn_size_ext = size

    def _start_of_state(self, spec: StateSpec, layer: LayerBase) -> Tensor:
        start = with_all_dims(spec.initial(), self._with_beam(layer, spec.template.dims), self)
        return spec.template.like(start.raw_tensor, dims=start.dims)

    @staticmethod
    def _growing_axes(x: Tensor) -> list[int]:
        """those whose dims get their sizes within the loop"""
        return [axis for axis, dim in enumerate(x.dims) if dim.is_dynamic and not dim.is_dim_known()]

    def _end_dims(self) -> list[Dim]:
        end = self.net.layers["end"]
        return self._with_beam(end, [d for d in self.subnet.template_of(end).dims if d.is_batch_dim])

    # ---- hypotheses

    def _with_beam(self, layer: LayerBase, dims: Iterable[Dim]) -> list[Dim]:
        """
        :param layer: in the loop
        :param dims: of its output, or of another value that it hands on
        :return: with the beam of the frame before, behind batch, if the layer has one
        """
        dims = list(dims)
        beams = [beam for beam, layers in self._outer_beams.items() if layer in layers]
        if self.beams is not None and layer in self.beams.with_beam:
            beams.append(self.beams.before)
        place = next((i + 1 for i, d in enumerate(dims) if d.is_batch_dim), None)
        return dims if place is None else [*dims[:place], *beams, *dims[place:]]

    def _find_outer_beams(self) -> dict[Dim, set[LayerBase]]:
        """
        :return: beam of a search outside of this loop -> layers in the loop that depend on its hypotheses
        """
        found: dict[Dim, list[LayerBase]] = {}
        for layer in self.groups.in_loop:
            for other in layer.get_dep_layers():
                if isinstance(other, RecPreviousLayer) or (other in self.groups.uses and other not in self._full):
                    continue
                x = self._full.get(other) or other.output.unmerged or other.output
                for beam in x.dims:
                    if beam.is_beam_dim:
                        found.setdefault(beam, []).append(layer)
        return {beam: reaching(layers, self.groups) for beam, layers in found.items()}

    @contextlib.contextmanager
    def _inputs_of_one_beam(self, layer: LayerBase) -> Iterator[None]:
        """Inside, all that the layer depends on is of the same hypotheses: the latest ones."""
        beams = self.beams
        if beams is None:
            yield
            return
        before = {other: other.output for other in layer.get_dep_layers() if not other.is_unknown}
        beam_before = self.beam
        self.beam = beams.incoming(layer) if layer in beams.choices else beams.latest(before.values())
        changed = {x: y for x, y in before.items() if beams.beam_of(y) not in (None, self.beam)}
        try:
            for other, output in changed.items():
                other.output = beams.bring(output, self.beam)
            yield
        finally:
            for other, output in changed.items():
                other.output = output
            self.beam = beam_before

    def scores_before(self, layer: LayerBase) -> Tensor:
        """
        :param layer: chooses
        :return: [batch, beam]: of the hypotheses that it goes on from
        """
        assert self.beams is not None and self._scores is not None
        return self._scores.now if self._scores.next is None else self._scores.next

    def scores_of_hypotheses(self) -> Tensor | None:
        """
        :return: [batch, beam]: of those that the layer which is computed belongs to; None: it has none
        """
        if self.beams is None or self.beam is None or self._scores is None:
            return None
        choices = self.beams.choices_of(self.beam)
        return self._scores.now if choices is None else choices.scores

    def sources_of_hypotheses(self) -> Tensor | None:
        """
        :return: int32 [batch, beam]: which ones those go on from that the layer which is computed belongs to
        """
        if self.beams is None or self.beam is None:
            return None
        choices = self.beams.choices_of(self.beam)
        if choices is None:
            return None if self._src_before is None else self._src_before.now
        return choices.src

    def chosen(self, layer: LayerBase, src_beams: Tensor, scores: Tensor) -> None:
        """
        :param layer: chooses
        :param src_beams: [batch, its beam]: which hypotheses it goes on from
        :param scores: [batch, its beam]
        """
        assert self.beams is not None and self._scores is not None
        self.beams.chosen(layer, src_beams)
        self._scores.next = scores

    def gold_before(self, layer: LayerBase) -> Tensor | None:
        """
        :param layer: chooses
        :return: int32 [batch]: which one of the hypotheses that it goes on from has the targets; None: nobody asks
        """
        if self._gold is None or self.beams is None:
            return None
        gold = self._gold.now if self._gold.next is None else self._gold.next
        return gold.like(gold.raw_tensor, sparse_dim=self.beams.incoming(layer))

    def set_gold(self, gold: Tensor | None) -> None:
        """
        :param gold: which one of the hypotheses chosen last has the targets
        """
        if self._gold is not None and gold is not None:
            self._gold.next = rf.cast(gold, "int32").like(gold.raw_tensor, sparse_dim=None)

    def get_prev_end_flag(self, target_search_choices: Any = None) -> Any:
        """
        :param target_search_choices: not needed: it is those of the layer that is computed
        :return: raw bool [batch], a beam merged into it: which ones had ended before this frame
        """
        ended = self.ended_before()
        if ended is None:
            ended = self.full_tensor("ended", [batch_dim], "bool", False)
        return merge_beam(ended, self.beam).raw_tensor

    def ended_before(self) -> Tensor | None:
        """
        Up to behaviour version 30, in a loop of known length the frame behind the end of a sequence is not ended yet.

        :return: bool [batch, beam]: hypotheses that had ended before this frame; None: none can
        """
        if self._ended is not None:
            return self._ended.now if self.beams is None else self.beams.bring(self._ended.now, self.beam)
        lens = self.dim.dyn_size_ext
        if lens is None or not lens.dims or self.index is None:
            return None
        include_padding = not self._include_eos and not BehaviorVersion.has(Change.SEARCH_ENDS_EXACTLY)
        return rf.compare(self.index, "greater_equal", lens + (1 if include_padding else 0))

    def bring(self, x: Tensor) -> Tensor:
        """
        :return: x of the hypotheses that the layer which is computed belongs to
        """
        return x if self.beams is None else self.beams.bring(x, self.beam)

    # ---- last frames

    def last_frame(self, layer: LayerBase) -> Tensor:
        """
        Behind the computation of all layers.

        :param layer: one whose last frame is wanted
        :return: its output at the last frame of each sequence; of a sequence without frames, the initial one
        """
        if layer in self._last:
            return self._of_final_hypotheses(self._last[layer].now)
        x = self._full[layer]
        if self.dim not in x.dims:
            return x
        dims = [d for d in x.dims if d != self.dim]
        start = self._before_first_frame(layer, dims)
        frames = with_all_dims(x, [self.dim, *dims], self).raw_tensor
        raw = self.backend.concat([self.backend.expand_dims(start.raw_tensor, 0), frames], 0)
        places = Dim(None, description="frames and the one before")
        lens = self.dim.dyn_size_ext
        if lens is None:
            lens = Tensor("lens", [], "int32", raw_tensor=self.backend.convert(self.dim.get_dim_value(), "int32"))
        last = rf.gather(x.like(raw, dims=[places, *dims], time_dim=None), indices=lens, axis=places)
        template = self.subnet.template_of_last_frame(layer)
        order = [d for d in template.dims if d in last.dims]
        last = last.copy_transpose(order + [d for d in last.dims if d not in order])
        return template.like(last.raw_tensor, dims=last.dims)

    def _start_of_last_frames(self, in_loop: set[LayerBase]) -> dict[LayerBase, _Carried]:
        carried = {previous.of_layer: value for previous, value in self._before_output.items()}
        res = {}
        for layer in self.groups.in_loop:
            if layer.need_last:
                dims = self.subnet.template_of_last_frame(layer).dims
                has_all = set(dims) == set(self.subnet.template_of(layer).dims)
                own = carried.get(layer) if has_all else None  # else it is the same for all sequences, but for this
                res[layer] = own or self._start_of_last_frame(layer)
        return res

    def _start_of_last_frame(self, layer: LayerBase) -> _Carried:
        template = self.subnet.template_of_last_frame(layer)
        start = self._before_first_frame(layer, self._with_beam(layer, template.dims))
        return _Carried(template.like(start.raw_tensor, dims=start.dims))

    def _before_first_frame(self, layer: LayerBase, dims: Sequence[Dim]) -> Tensor:
        """labels need no initial output for this; where none is given, zero"""
        template = self.subnet.template_of(layer)
        if template.sparse and layer.layer_of_initial_output.initial_output is None:
            return template.like(self.full_tensor(layer.name, dims, template.dtype, 0).raw_tensor, dims=dims)
        return with_all_dims(self._initial_output(self.subnet.previous_of(layer)), dims, self)

    def _kept_behind_end(self, value: Tensor, before: Tensor) -> Tensor:
        """
        :param value: of this frame
        :param before: of the frame before
        :return: that of the last frame so far of each sequence
        """
        ended = self._behind_end()
        if ended is None:
            return value
        if self.beams is not None:
            beam = self.beams.latest([value, before, ended])
            value, before, ended = (self.beams.bring(x, beam) for x in (value, before, ended))
        return rf.where(ended, before, value)

    def _behind_end(self) -> Tensor | None:
        """
        :return: bool: this frame does not count; None: all do
        """
        if self._ended is not None:
            return self._ended.now if self._include_eos else self._ended.next
        lens = self.dim.dyn_size_ext
        if lens is None or not lens.dims or self.index is None:
            return None
        if self._include_eos and not BehaviorVersion.has(Change.LAST_FRAME_COUNTS):
            lens = lens - 1
        return rf.compare(self.index, "greater_equal", lens)

    # ---- inputs and outputs of the loop

    def _inputs_of_loop(self, needed: list[LayerBase], in_loop: set[LayerBase]) -> list[LayerBase]:
        """
        :return: layers computed before that have a value for each frame; all others have theirs for good
        """
        res: list[LayerBase] = []
        for layer in needed:
            if layer in res or layer in in_loop:
                continue
            if isinstance(layer, RecPreviousLayer) and layer.of_layer in in_loop:
                continue
            if isinstance(layer, RecStepInfoLayer):
                continue
            if isinstance(layer, (RecFrameLayer, RecPreviousLayer)):
                layer.output = self._all_frames_of(layer)
            if layer not in self._full:
                continue
            if self.dim in self._frames_of_loop(layer).dims and layer not in self.groups.read_as_whole:
                res.append(layer)
            else:
                layer.output = self._full[layer]
        return res

    def _raw_frames(self, layer: LayerBase) -> Any:
        x = self._frames_of_loop(layer)
        return x.copy_transpose([self.dim, *(d for d in x.dims if d != self.dim)]).raw_tensor

    def _frame(self, layer: LayerBase, raw: Any) -> Tensor:
        x = self._frames_of_loop(layer)
        template = self.subnet.template_of(layer)
        res = template.like(raw, dims=[d for d in x.dims if d != self.dim])
        order = LayerBase.with_hidden_dims(template, res.dims).dims
        return res.copy_transpose([d for d in order if d in res.dims])

    def _expected_parts(self, layers: list[LayerBase]) -> dict[Any, Tensor]:
        """
        :return: templates of :func:`_outputs_of_frame`
        """
        res: dict[Any, Tensor] = {}
        for layer in layers:
            res[layer] = self.subnet.template_of(layer)
            before = self.subnet.template_before_activation(layer)
            if layer.loss is not None and before is not None:
                res[layer, "before activation"] = before
        for key, x in res.items():
            dims = self._with_beam(key[0] if isinstance(key, tuple) else key, x.dims)
            if self.beams is not None:
                dims = [self.beams.last if d == self.beams.before else d for d in dims]
            res[key] = x.like(None, dims=dims)
        if self.beams is not None:
            res["src"] = Tensor("src", [batch_dim, self.beams.last], "int32", sparse_dim=self.beams.before)
        return res

    def _outputs_of_frame(self, layers: list[LayerBase]) -> dict[Any, Tensor]:
        res: dict[Any, Tensor] = {}
        for layer in layers:
            last = self._last.get(layer)
            res[layer] = layer.output if last is None or last.next is None else last.next
            before = layer.output_before_activation
            if layer.loss is not None and before is not None:
                res[layer, "before activation"] = before.x
        if self.beams is not None:
            res = {key: self.beams.bring(x, self.beams.last) for key, x in res.items()}
        return res

    def _take_outputs(self, parts: dict[Any, Tensor], stacked: list[Any], num: Any) -> None:
        path = steps = None
        if self.beams is not None:
            steps, path = self._path_of_final_hypotheses(parts, stacked, num)
        if not self.subnet.length_is_known:
            assert self._lens is not None
            self.dim.dyn_size_ext = self._of_final_hypotheses(self._lens.now).copy("lens")
        longest = None if self.subnet.length_is_known else self.dim.get_dim_value()
        for (key, frame), raw in zip(parts.items(), stacked, strict=True):
            if key == "src":
                continue
            if path is not None and self._is_traced(key, frame):
                assert self.beams is not None and steps is not None
                x = frame.like(raw, dims=[steps, *frame.dims])
                x = rf.gather_beam(x, path, beam_in=self.beams.last, beam_out=self.beams.last)
                raw = x.copy_transpose([steps, *frame.dims]).raw_tensor
            if longest is not None:
                raw = self.backend.slice(raw, 0, None, longest)
            full = frame.like(raw, dims=[self.dim, *frame.dims])
            if isinstance(key, Dim):
                key.dyn_size_ext = full
            elif isinstance(key, tuple):
                layer = key[0]
                assert layer.output_before_activation is not None
                layer.output_before_activation = OutputWithActivation(full, layer.output_before_activation.activation)
            else:
                self._full[key] = full

    def _is_traced(self, key: Any, frame: Tensor) -> bool:
        """whether it belongs to hypotheses, and those of each frame have to be the final ones"""
        choices = key.search_choices if isinstance(key, LayerBase) else None
        return self.beams is not None and self.beams.last in frame.dims and not (choices and choices.keep_raw)

    def _path_of_final_hypotheses(self, parts: dict[Any, Tensor], stacked: list[Any], num: Any) -> tuple[Dim, Tensor]:
        """
        :return: steps of the loop; [steps, batch, beam]: the hypothesis of each step that a final one has gone through
        """
        assert self.beams is not None and self._scores is not None
        steps = Dim(None, description="steps")
        steps.dyn_size_ext = Tensor("steps", [], "int32", raw_tensor=num)
        raw = stacked[list(parts).index("src")]
        src = parts["src"].like(raw, dims=[steps, *parts["src"].dims], sparse_dim=self.beams.last)
        last = self.beams.choices[-1]
        scores = self._of_final_hypotheses(self._scores.now)
        if last.length_normalization:  # type: ignore[attr-defined]
            if self._lens is not None:
                lens = self._of_final_hypotheses(self._lens.now)
            else:
                lens = self.dim.dyn_size_ext or Tensor("lens", [], "int32", raw_tensor=self.dim.get_dim_value())
            scores = rf.normalized_scores(
                scores,
                lens=lens,
                num_frames=Tensor("steps", [], "int32", raw_tensor=num),
                include_eos=self._include_eos,
                exponent=last.exponent_of_final_scores,  # type: ignore[attr-defined]
            )
        self.final_scores = scores
        return steps, rf.trace_beams(src, axis=steps, beam=self.beams.last)

    def _of_final_hypotheses(self, x: Tensor) -> Tensor:
        """
        :param x: handed on behind the last frame
        :return: of the hypotheses chosen last
        """
        if self.beams is None or self.beams.before not in x.dims:
            return x
        return rf.replace_dim(x, in_dim=self.beams.before, out_dim=self.beams.last)

    # ---- values

    def _sizes(self, dims: Iterable[Dim]) -> list[Any]:
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
        sizes = self._sizes(dims)

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

    def previous(self, layer: LayerBase, key: str) -> Tensor:
        """
        :return: what the layer left at the frame before
        """
        value = self._states[layer, key].now
        return value if self.beams is None else self.beams.bring(value, self.beam)

    def leave(self, layer: LayerBase, key: str, value: Tensor, *, in_each_frame: bool = False) -> None:
        """
        :param value: for the next frame
        :param in_each_frame: also where this one does not concern the layer
        """
        state = self._states[layer, key]
        state.next = value if in_each_frame else self._held(layer, value, state)

    @staticmethod
    def _held(layer: LayerBase, value: Tensor, state: _Carried) -> Tensor:
        """
        :param layer: in the loop
        :param value: for the next frame
        :param state: what it will be
        :return: the value; or as before, where this frame does not concern the layer
        """
        masking = layer.network.masking
        return value if masking is None else masking.held(value, state.now)

    def states_of(self, layers: Iterable[LayerBase]) -> list[_Carried]:
        """
        :param layers: in the loop, or computed inside of one that is
        :return: all that they hand on
        """
        return [state for (layer, _), state in self._states.items() if layer in layers]

    def take_left(self, states: Iterable[_Carried]) -> list[Tensor]:
        """
        :param states: of this loop
        :return: for the next frame, as they were left, of the hypotheses of the layer that is computed; which is
            forgotten
        """
        res = []
        for state in states:
            new, dims = state.now if state.next is None else state.next, list(state.start.dims)
            if self.beams is not None and self.beam is not None:
                new = self.beams.bring(new, self.beam)
                dims = [self.beam if d == self.beams.before else d for d in dims]
            res.append(with_all_dims(new, dims, self))
            state.next = None
        return res

    def of_same_hypotheses(self, *values: Tensor) -> list[Tensor]:
        """
        :param values: of the loop
        :return: the same, all of those that were chosen last
        """
        if self.beams is None:
            return list(values)
        beam = self.beams.latest(values)
        return [self.beams.bring(x, beam) for x in values]

    def last_state(self, layer: LayerBase, key: str) -> Tensor:
        """
        :return: behind the last frame
        """
        return self._states[layer, key].now
