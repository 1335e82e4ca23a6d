"""Beams in a loop: which hypotheses a value belongs to, and how it gets to those chosen later.

A beam is a dim of its own, beside batch. The hypotheses of a frame come from those of the frame before; each layer that
chooses makes new ones. What does not depend on them has no beam, and is never repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.search_choices import SearchChoices

    from .partition import Partition


class Beams:
    """Of all layers that choose in one loop, in the order in which they choose."""

    def __init__(self, choices: Sequence[LayerBase], groups: Partition):
        """
        :param choices: layers that choose
        :param groups: all layers of the loop
        """
        self.choices = list(choices)
        sizes = _sizes(self.choices)
        self._dims = [_beam_dim(layer, size) for layer, size in zip(self.choices, sizes, strict=True)]
        self.before = _beam_dim(self.choices[-1], sizes[-1], "before ")
        """hypotheses of the frame before"""
        self._src_beams: dict[Dim, Tensor] = {}
        self.with_beam = reaching(self.choices, groups)
        """layers that depend on what was chosen"""

    @property
    def last(self) -> Dim:
        """hypotheses behind the last choice of a frame"""
        return self._dims[-1]

    def of(self, layer: LayerBase) -> Dim:
        """
        :param layer: chooses
        :return: its hypotheses
        """
        return self._dims[self.choices.index(layer)]

    def choices_of(self, beam: Dim) -> SearchChoices | None:
        """
        :param beam: hypotheses
        :return: of the layer that has chosen them in this frame; None: they are those of the frame before
        """
        return None if beam == self.before else self.choices[self._dims.index(beam)].search_choices

    def incoming(self, layer: LayerBase) -> Dim:
        """
        :param layer: chooses
        :return: the hypotheses that it goes on from
        """
        return self._chain[self.choices.index(layer)]

    def is_first(self, layer: LayerBase) -> bool:
        """
        :param layer: chooses
        :return: whether no layer has chosen before in the frame, so that in the first one there is only one hypothesis
        """
        before = self.choices[: self.choices.index(layer)]
        if before and not BehaviorVersion.has(Change.SEARCH_BEHIND_TARGET):
            return False
        return all(other.keeps_hypotheses for other in before)  # type: ignore[attr-defined]

    @property
    def _chain(self) -> list[Dim]:
        return [self.before, *self._dims]

    def chosen(self, layer: LayerBase, src_beams: Tensor) -> None:
        """
        :param layer: chooses
        :param src_beams: [batch, its beam]: which ones its hypotheses go on from
        """
        self._src_beams[self.of(layer)] = src_beams

    def beam_of(self, x: Tensor) -> Dim | None:
        """
        :return: among its dims
        """
        return next((d for d in x.dims if d in self._chain), None)

    def latest(self, tensors: Iterable[Tensor]) -> Dim | None:
        """
        :return: of the beams of all these, the one chosen last; None: there is none
        """
        found = [beam for beam in map(self.beam_of, tensors) if beam is not None]
        return max(found, key=self._chain.index, default=None)

    def bring(self, x: Tensor, beam: Dim | None) -> Tensor:
        """
        :param x: of some hypotheses
        :param beam: chosen at the same time, or later
        :return: x of these hypotheses; as it is without a beam
        """
        own = self.beam_of(x)
        if own is None or beam is None or own == beam:
            return x
        start, end = self._chain.index(own), self._chain.index(beam)
        for i in range(start, end):
            x = rf.gather_beam(
                x, self._src_beams[self._chain[i + 1]], beam_in=self._chain[i], beam_out=self._chain[i + 1]
            )
        return x

    def for_next_frame(self, x: Tensor) -> Tensor:
        """
        :return: x of the last hypotheses of this frame, which are those before the next one
        """
        x = self.bring(x, self.last)
        return rf.replace_dim(x, in_dim=self.last, out_dim=self.before) if self.last in x.dims else x

    def sources_of_frame(self, like: Tensor) -> Tensor:
        """
        :param like: [.., before]
        :return: int32 [.., last]: which hypotheses of the frame before the last ones of this frame go on from
        """
        places = rf.range_over_dim(self.before)
        zeros = rf.cast(like > 0, "int32") * 0
        return self.bring(zeros + places, self.last)


def _sizes(choices: Sequence[Any]) -> list[int]:
    """:return: number of hypotheses behind each one; a layer with nothing to choose from keeps those before"""
    sizes: list[int] = []
    for layer in choices:
        size = layer.beam_size
        if not layer.keeps_hypotheses and (not isinstance(size, int) or size < 1):
            raise ConfigError("layer %r: beam_size must be a positive integer, but is %r" % (layer.name, size))
        sizes.append(0 if layer.keeps_hypotheses else size)
    last = next((size for size in reversed(sizes) if size), 1)
    for i, size in enumerate(sizes):
        last = sizes[i] = size or last
    return sizes


def _beam_dim(layer: LayerBase, size: int, text: str = "") -> Dim:
    dim = Dim(size, description="%sbeam %s" % (text, layer.get_absolute_name()))
    dim.is_beam_dim = True
    return dim


def reaching(layers: Iterable[LayerBase], groups: Partition) -> set[LayerBase]:
    """
    :param layers: of a loop
    :param groups: all layers of the loop
    :return: these layers, and all that depend on them
    """
    found = set(layers)
    while True:
        new = {
            layer
            for layer in groups.uses
            if layer not in found and any(x in found for x in [*groups.uses[layer], *groups.uses_before[layer]])
        }
        if not new:
            return found
        found |= new
