"""Search outside of loops: each layer that chooses goes on from the one before, and what is in between follows.

As within a loop, a beam is a dim of its own, until it is merged into the batch for the output of a layer. What belongs
to hypotheses of before is brought to those of the layer that chose last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor, batch_dim

from .beam_border import beam_of, merge_beam

if TYPE_CHECKING:
    from .base import LayerBase
    from .search_choices import SearchChoices


class OuterSearch:
    """What a layer that chooses has to know: as :class:`.recurrent.loop.Loop` has it, of a frame."""

    def __init__(self, layer: LayerBase):
        """
        :param layer: chooses
        """
        self._layer = layer
        self._backend = layer.network.backend
        self._before = _choices_of(layer.get_dep_layers())
        self.index: Tensor | None = Tensor("i", [], "int32", raw_tensor=self._backend.convert(0, "int32"))
        self.beams = self
        """as :class:`.recurrent.beams.Beams` has it"""
        self.gold: Tensor | None = None
        """int32 [batch]: which one of the hypotheses chosen now has the targets"""

    def incoming(self, layer: LayerBase) -> Dim:
        """
        :param layer: chooses
        :return: the hypotheses that it goes on from
        """
        beam = None if self._before is None else _beam_of_choices(self._before)
        return beam or self._beam("before", 1)

    def of(self, layer: LayerBase) -> Dim:
        """
        :param layer: chooses
        :return: its hypotheses
        """
        if layer.keeps_hypotheses:  # type: ignore[attr-defined]
            return self._beam("beam", self.incoming(layer).require_static())
        return self._beam("beam", layer.beam_size)  # type: ignore[attr-defined]

    def _beam(self, key: str, size: int) -> Dim:
        dim = self._layer.make_dim("search:" + key, size)
        dim.is_beam_dim = True
        return dim

    def is_first(self, layer: LayerBase) -> bool:
        """
        :param layer: chooses
        :return: False: in front of the first one, there is a beam of one hypothesis
        """
        return False

    def scores_before(self, layer: LayerBase) -> Tensor:
        """
        :param layer: chooses
        :return: [batch, beam]: of the hypotheses that it goes on from
        """
        if self._before is not None and self._before.scores is not None:
            return self._before.scores
        return self.full_tensor("scores", [batch_dim, self.incoming(layer)], "float32", 0.0)

    def ended_before(self) -> None:
        """No hypothesis ends."""

    def gold_before(self, layer: LayerBase) -> Tensor:
        """
        :param layer: chooses
        :return: int32 [batch]: which one of the hypotheses that it goes on from has the targets
        """
        gold = None if self._before is None else self._before.gold
        if gold is None:
            gold = self.full_tensor("gold", [batch_dim], "int32", 0)
        return gold.like(gold.raw_tensor, sparse_dim=self.incoming(layer))

    def set_gold(self, gold: Tensor | None) -> None:
        """
        :param gold: which one of the hypotheses chosen now has the targets
        """
        assert gold is not None
        self.gold = rf.cast(gold, "int32").like(gold.raw_tensor, sparse_dim=None)

    def chosen(self, layer: LayerBase, src_beams: Tensor, scores: Tensor) -> None:
        """Those who come behind ask the layer."""

    def size_of(self, dim: Dim) -> Any:
        """
        :return: int, or raw scalar
        """
        return self._layer.network.get_data_batch_dim() if dim.is_batch_dim else dim.get_dim_value()

    def full_tensor(self, name: str, dims: Iterable[Dim], dtype: str, value: Any) -> Tensor:
        """
        :param name: of the tensor
        :param dims: of it
        :param dtype: for instance "float32"
        :param value: of all entries
        :return: [dims..]
        """
        dims = list(dims)
        raw = self._backend.full([self.size_of(d) for d in dims], value, dtype)
        return Tensor(name, dims, dtype, raw_tensor=raw)

    def constant_value(self, x: Tensor) -> None:
        """:return: None: it is not kept"""


def _choices_of(layers: Iterable[LayerBase]) -> SearchChoices | None:
    """
    :return: of the layer that chose last, of these and all that they depend on
    """
    layers = [layer for layer in layers if not layer.is_unknown]
    found = layers[0].network.get_search_choices(sources=layers) if layers else None
    return None if found is None else found.search_choices


def _beam_of_choices(choices: SearchChoices) -> Dim | None:
    return None if choices.scores is None else beam_of(choices.scores)


@contextmanager
def inputs_of_one_beam(layer: LayerBase) -> Iterator[None]:
    """
    Outside of loops. Inside, all that the layer depends on is of the same hypotheses: those chosen last.

    :param layer: is computed now
    """
    if layer.network.loop is not None or not layer.has_values:
        yield
        return
    outputs = {x: x.output for x in layer.get_dep_layers() if not x.is_unknown and x.output.unmerged is not None}
    beams = {x: beam_of(y.unmerged) for x, y in outputs.items()}
    choices = _choices_of(outputs) if len(set(beams.values())) > 1 else None
    target = None if choices is None else _beam_of_choices(choices)
    changed = {x: y for x, y in outputs.items() if beams[x] is not None and beams[x] != target} if target else {}
    try:
        for other, output in changed.items():
            assert choices is not None
            other.output = merge_beam(_brought(output.unmerged, choices))
        yield
    finally:
        for other, output in changed.items():
            other.output = output


def _brought(x: Tensor, choices: SearchChoices) -> Tensor:
    """
    :param x: of some hypotheses
    :param choices: those chosen last
    :return: x of the latter; as it is if these do not go on from them
    """
    path: list[SearchChoices] = []
    last: SearchChoices | None = choices
    while last is not None and _beam_of_choices(last) not in (None, beam_of(x)):
        path.append(last)
        before = last.src_layer
        last = None if before is None else before.search_choices
    if last is None or any(step.src is None for step in path):
        return x
    for step in reversed(path):
        old, new = beam_of(x), _beam_of_choices(step)
        assert old is not None and new is not None and step.src is not None
        x = rf.gather_beam(x, step.src, beam_in=old, beam_out=new)
    return x
