"""Hypotheses of a search, from frame to frame: which ones a value belongs to, their scores, which one has the targets.

See :mod:`returnn.layers.recurrent.beams` for those of one frame. A loop where no layer chooses has none: values stay as
they are then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.recurrent.beams import reaching
from returnn.layers.recurrent.loop_layers import RecPreviousLayer
from returnn.tensor import Dim, Tensor, batch_dim

from .all_frames import AllFrames
from .carried import Carried
from .context import LoopContext


class Hypotheses:
    """Of all layers of a loop."""

    def __init__(self, context: LoopContext):
        """
        :param context: of the loop
        """
        self._context = context
        self.beams = context.groups.beams
        """None: no layer in the loop chooses"""
        self.beam: Dim | None = None
        """the hypotheses that the layer which is computed belongs to"""
        self._outer_beams: dict[Dim, set[LayerBase]] = {}
        """beam of a search outside of this loop -> layers in the loop that depend on its hypotheses"""
        self._scores: Carried | None = None
        """of the hypotheses before a frame"""
        self._gold: Carried | None = None
        """of the hypotheses before a frame, the one with the targets; if a layer that chooses needs it"""
        self._sources: Carried | None = None
        """which hypotheses of the frame before those before a frame go on from; if a layer asks for it"""

    # ---- from frame to frame

    def begin_loop(self, frames: AllFrames) -> None:
        """
        :param frames: of all layers computed before
        """
        self._outer_beams = self._find_outer_beams(frames)
        if self.beams is None:
            return
        full, dims = self._context.full_tensor, [batch_dim, self.beams.before]
        self._scores = Carried(full("scores", dims, "float32", 0.0))
        if any(layer.cheats for layer in self.beams.choices):  # type: ignore[attr-defined]
            self._gold = Carried(full("gold", [batch_dim], "int32", 0))
        if any(layer.asks_for_sources for layer in self._context.groups.in_loop):
            self._sources = Carried(full("src", dims, "int32", 0))

    def carried(self) -> list[Carried]:
        """
        :return: all that is handed on
        """
        return [value for value in (self._scores, self._gold, self._sources) if value is not None]

    def sources_of_frame(self) -> Tensor:
        """
        Behind all layers of a frame, where one has chosen.

        :return: int32 [batch, beam]: which hypotheses of the frame before the last ones of this frame go on from
        """
        assert self.beams is not None and self._scores is not None
        sources = self.beams.sources_of_frame(self._scores.now)
        if self._sources is not None:
            self._sources.next = sources.like(sources.raw_tensor, sparse_dim=None)
        return sources

    def _find_outer_beams(self, frames: AllFrames) -> dict[Dim, set[LayerBase]]:
        groups = self._context.groups
        found: dict[Dim, list[LayerBase]] = {}
        for layer in groups.in_loop:
            for other in layer.get_dep_layers():
                if isinstance(other, RecPreviousLayer) or (other in groups.uses and other not in frames):
                    continue
                for beam in frames.with_beam_apart(other).dims:
                    if beam.is_beam_dim:
                        found.setdefault(beam, []).append(layer)
        return {beam: reaching(layers, groups) for beam, layers in found.items()}

    # ---- dims

    def with_beam(self, layer: LayerBase, dims: Iterable[Dim]) -> list[Dim]:
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

    def with_last_beam(self, layer: LayerBase, dims: Iterable[Dim]) -> list[Dim]:
        """
        :param layer: in the loop
        :param dims: of its output, or of another value of it
        :return: with the beam of the hypotheses behind the last choice of a frame, if the layer has one
        """
        dims = self.with_beam(layer, dims)
        return dims if self.beams is None else [self.beams.last if d == self.beams.before else d for d in dims]

    def with_beam_of_layer(self, dims: Iterable[Dim]) -> list[Dim]:
        """
        :param dims: with the beam of the frame before
        :return: with the beam of the layer that is computed instead
        """
        if self.beams is None or self.beam is None:
            return list(dims)
        return [self.beam if d == self.beams.before else d for d in dims]

    # ---- values

    @contextlib.contextmanager
    def inputs_of_one_beam(self, layer: LayerBase) -> Iterator[None]:
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

    def bring(self, x: Tensor) -> Tensor:
        """
        :return: x of the hypotheses that the layer which is computed belongs to
        """
        return x if self.beams is None else self.beams.bring(x, self.beam)

    def bring_to_last(self, x: Tensor) -> Tensor:
        """
        :return: x of the hypotheses chosen last in the frame
        """
        return x if self.beams is None else self.beams.bring(x, self.beams.last)

    def of_same(self, *values: Tensor) -> list[Tensor]:
        """
        :param values: of the loop
        :return: the same, all of those of their hypotheses that were chosen last
        """
        if self.beams is None:
            return list(values)
        beam = self.beams.latest(values)
        return [self.beams.bring(x, beam) for x in values]

    def for_next_frame(self, x: Tensor) -> Tensor:
        """
        :param x: of this frame
        :return: of the hypotheses before the next one
        """
        return x if self.beams is None else self.beams.for_next_frame(x)

    def of_final(self, x: Tensor) -> Tensor:
        """
        :param x: handed on behind the last frame
        :return: of the hypotheses chosen last
        """
        if self.beams is None or self.beams.before not in x.dims:
            return x
        return rf.replace_dim(x, in_dim=self.beams.before, out_dim=self.beams.last)

    # ---- choices

    def chosen(self, layer: LayerBase, src_beams: Tensor, scores: Tensor) -> None:
        """
        :param layer: chooses
        :param src_beams: [batch, its beam]: which hypotheses it goes on from
        :param scores: [batch, its beam]
        """
        assert self.beams is not None and self._scores is not None
        self.beams.chosen(layer, src_beams)
        self._scores.next = scores

    def scores_before(self) -> Tensor:
        """
        :return: [batch, beam]: of the hypotheses that the layer which chooses now goes on from
        """
        assert self._scores is not None
        return self._scores.latest

    def scores_of_layer(self) -> Tensor | None:
        """
        :return: [batch, beam]: of those that the layer which is computed belongs to; None: it has none
        """
        if self.beams is None or self.beam is None or self._scores is None:
            return None
        choices = self.beams.choices_of(self.beam)
        return self._scores.now if choices is None else choices.scores

    def sources_of_layer(self) -> Tensor | None:
        """
        :return: int32 [batch, beam]: which ones those go on from that the layer which is computed belongs to
        """
        if self.beams is None or self.beam is None:
            return None
        choices = self.beams.choices_of(self.beam)
        if choices is None:
            return None if self._sources is None else self._sources.now
        return choices.src

    def gold_before(self, layer: LayerBase) -> Tensor | None:
        """
        :param layer: chooses
        :return: int32 [batch]: which one of the hypotheses that it goes on from has the targets; None: nobody asks
        """
        if self._gold is None or self.beams is None:
            return None
        gold = self._gold.latest
        return gold.like(gold.raw_tensor, sparse_dim=self.beams.incoming(layer))

    def set_gold(self, gold: Tensor | None) -> None:
        """
        :param gold: which one of the hypotheses chosen last has the targets
        """
        if self._gold is not None and gold is not None:
            self._gold.next = rf.cast(gold, "int32").like(gold.raw_tensor, sparse_dim=None)

    def scores_of_final(self) -> Tensor:
        """
        :return: [batch, beam]: behind the last frame, not normalized
        """
        assert self._scores is not None
        return self.of_final(self._scores.now)
