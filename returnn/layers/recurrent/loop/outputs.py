"""What comes out of each frame of a loop, and becomes an output for all frames behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import returnn.frontend as rf
from returnn.layers.activations import OutputWithActivation
from returnn.layers.base import LayerBase
from returnn.tensor import Dim, Tensor, batch_dim

from .all_frames import AllFrames
from .context import LoopContext
from .ending import Ending
from .frame_lengths import dims_with_frame_lengths, length_in_frame
from .hypotheses import Hypotheses
from .last_frames import LastFrames


class _Part(NamedTuple):
    """One of the values that are collected."""

    kind: str
    of: Any = None


_OUTPUT = "output"  # of a layer
_BEFORE_ACTIVATION = "before activation"  # of a layer
_LENGTHS = "lengths"  # of a dim
_SOURCES = _Part("sources")  # of the hypotheses


class FrameOutputs:
    """Of the layers whose outputs of all frames are needed, and what is needed besides to make something of them."""

    def __init__(
        self,
        context: LoopContext,
        frames: AllFrames,
        hypotheses: Hypotheses,
        ending: Ending,
        last_frames: LastFrames,
    ):
        """
        :param context: of the loop
        :param frames: get the outputs
        :param hypotheses: of the loop
        :param ending: of the loop
        :param last_frames: of the loop
        """
        self.final_scores: Tensor | None = None
        """[batch, beam]: of the hypotheses behind the last frame"""
        self._context = context
        self._frames = frames
        self._hypotheses = hypotheses
        self._ending = ending
        self._last_frames = last_frames
        self._layers: list[LayerBase] = []
        self._lengths_inside: list[Dim] = []
        """get their lengths within the loop"""
        self._expected: dict[_Part, Tensor] = {}
        """templates"""
        self._of_frame: dict[_Part, Tensor] = {}
        """values of the frame computed last"""

    def begin_loop(self) -> None:
        """Finds out what is needed."""
        self._layers = self._context.groups.layers_to_collect(self._context.net)
        expected = self._expected_of_layers()
        if self._hypotheses.beams is not None:
            beams = self._hypotheses.beams
            expected[_SOURCES] = Tensor("src", [batch_dim, beams.last], "int32", sparse_dim=beams.before)
        self._lengths_inside = dims_with_frame_lengths(expected.values(), self._context.dim)
        expected.update({_Part(_LENGTHS, d): Tensor("size", d.size_dims or [], "int32") for d in self._lengths_inside})
        self._expected = expected

    def end_frame(self) -> list[Any]:
        """
        All layers are computed.

        :return: raw values
        """
        parts = {part: self._hypotheses.bring_to_last(x) for part, x in self._values_of_layers().items()}
        if self._hypotheses.beams is not None:
            parts[_SOURCES] = self._hypotheses.sources_of_frame()
        parts.update({_Part(_LENGTHS, d): length_in_frame(d, parts.values()) for d in self._lengths_inside})
        self._of_frame = parts
        return [x.raw_tensor for x in parts.values()]

    # ---- for the backend

    def dtypes(self) -> list[str]:
        """
        :return: of the raw values of a frame
        """
        return [x.dtype for x in self._expected.values()]

    def shapes_without_frames(self) -> list[list[Any]]:
        """
        :return: of the raw values of a frame, where there is none
        """
        return [self._context.sizes_of(x.dims) for x in self._parts.values()]

    def varying_axes(self) -> list[list[int]]:
        """
        :return: of the raw values of a frame: axes whose size differs from frame to frame
        """
        return [[i for i, d in enumerate(x.dims) if d in self._lengths_inside] for x in self._of_frame.values()]

    # ---- behind the loop

    def take(self, stacked: Sequence[Any], num: Any) -> None:
        """
        :param stacked: raw [frames, ..]: of all frames
        :param num: raw: number of frames
        """
        context = self._context
        ends_by_itself = not context.subnet.length_is_known
        raws = dict(zip(self._parts, stacked, strict=True))
        path = None if self._hypotheses.beams is None else self._path_of_final_hypotheses(raws.pop(_SOURCES), num)
        if ends_by_itself:
            context.dim.dyn_size_ext = self._ending.final_lens().copy("lens")
        longest = context.dim.get_dim_value() if ends_by_itself else None
        for part, raw in raws.items():
            frame = self._parts[part]
            if path is not None and self._is_traced(part, frame):
                raw = self._traced(frame, raw, *path)
            if longest is not None:
                raw = context.backend.slice(raw, 0, None, longest)
            self._take_part(part, frame.like(raw, dims=[context.dim, *frame.dims]))

    def _take_part(self, part: _Part, full: Tensor) -> None:
        """
        :param full: for all frames
        """
        if part.kind == _LENGTHS:
            part.of.dyn_size_ext = full
        elif part.kind == _BEFORE_ACTIVATION:
            activation = part.of.output_before_activation.activation
            part.of.output_before_activation = OutputWithActivation(full, activation)
        else:
            self._frames[part.of] = full

    def _is_traced(self, part: _Part, frame: Tensor) -> bool:
        """whether it belongs to hypotheses, and those of each frame have to be the final ones"""
        choices = part.of.search_choices if part.kind == _OUTPUT else None
        beams = self._hypotheses.beams
        return beams is not None and beams.last in frame.dims and not (choices and choices.keep_raw)

    def _traced(self, frame: Tensor, raw: Any, steps: Dim, path: Tensor) -> Any:
        """
        :param frame: of one frame
        :param raw: of all frames
        :param steps: see :func:`_path_of_final_hypotheses`
        :param path: see there
        :return: raw, of the final hypotheses
        """
        assert self._hypotheses.beams is not None
        beam = self._hypotheses.beams.last
        dims = [steps, *frame.dims]
        x = rf.gather_beam(frame.like(raw, dims=dims), path, beam_in=beam, beam_out=beam)
        return x.copy_transpose(dims).raw_tensor

    def _path_of_final_hypotheses(self, sources: Any, num: Any) -> tuple[Dim, Tensor]:
        """
        :param sources: raw: of all frames
        :param num: raw: number of frames
        :return: steps of the loop; [steps, batch, beam]: the hypothesis of each step that a final one has gone through
        """
        beams, template = self._hypotheses.beams, self._parts[_SOURCES]
        assert beams is not None
        last = beams.choices[-1]
        num_frames = Tensor("steps", [], "int32", raw_tensor=num)
        self.final_scores = self._hypotheses.scores_of_final()
        if last.length_normalization:  # type: ignore[attr-defined]
            self.final_scores = rf.normalized_scores(
                self.final_scores,
                lens=self._ending.final_lens(),
                num_frames=num_frames,
                include_eos=self._ending.include_eos,
                exponent=last.exponent_of_final_scores,  # type: ignore[attr-defined]
            )
        steps = Dim(None, description="steps")
        steps.dyn_size_ext = num_frames
        src = template.like(sources, dims=[steps, *template.dims], sparse_dim=beams.last)
        return steps, rf.trace_beams(src, axis=steps, beam=beams.last)

    # ---- the values

    @property
    def _parts(self) -> dict[_Part, Tensor]:
        """if there was no frame, as expected"""
        return self._of_frame or self._expected

    def _expected_of_layers(self) -> dict[_Part, Tensor]:
        """
        :return: templates of :func:`_values_of_layers`
        """
        subnet, res = self._context.subnet, dict[_Part, Tensor]()
        for layer in self._layers:
            res[_Part(_OUTPUT, layer)] = subnet.template_of(layer)
            before = subnet.template_before_activation(layer)
            if layer.loss is not None and before is not None:
                res[_Part(_BEFORE_ACTIVATION, layer)] = before
        return {part: x.like(None, dims=self._hypotheses.with_last_beam(part.of, x.dims)) for part, x in res.items()}

    def _values_of_layers(self) -> dict[_Part, Tensor]:
        res: dict[_Part, Tensor] = {}
        for layer in self._layers:
            res[_Part(_OUTPUT, layer)] = self._last_frames.output_of(layer)
            before = layer.output_before_activation
            if layer.loss is not None and before is not None:
                res[_Part(_BEFORE_ACTIVATION, layer)] = before.x
        return res
