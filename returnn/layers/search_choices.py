"""What a layer chose in a beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from returnn.tensor import Tensor

    from .base import LayerBase


class SearchChoices:
    """Belongs to a layer that chooses: for each sequence ``beam_size`` hypotheses, where each comes from, its score."""

    def __init__(self, owner: LayerBase, beam_size: int, is_decided: bool = False, keep_raw: bool = False):
        """
        :param owner: layer that chooses
        :param beam_size: number of hypotheses per sequence
        :param is_decided: one hypothesis is left, and the output has no beam any more
        :param keep_raw: with ``is_decided``: the output still has its beam
        """
        self.owner = owner
        self.beam_size = beam_size
        self.is_decided = is_decided
        self.keep_raw = keep_raw
        self.src_beams: Any = None
        """raw int32 [batch, beam]: which hypothesis of ``src_layer`` each one goes on from"""
        self.beam_scores: Any = None
        """raw float32 [batch, beam]: logarithm of the score of each one"""
        self.scores: Tensor | None = None
        """the same as a Tensor"""
        self.src: Tensor | None = None
        """``src_beams`` as a Tensor; of a frame of a loop, or outside of loops"""
        self.gold: Tensor | None = None
        """int32 [batch], outside of loops: the hypothesis with the targets"""

    def __repr__(self) -> str:
        decided = ", decided" if self.is_decided else ""
        return "<%s owner=%r beam_size=%r%s>" % (type(self).__name__, self.owner.name, self.beam_size, decided)

    @property
    def src_layer(self) -> LayerBase | None:
        """the layer that chose before, if there is one"""
        return self.owner.network.get_search_choices(base_search_choice=self.owner)

    def forget(self) -> None:
        """Values of one frame of a loop, or of one step, once that is over."""
        self.src_beams = self.beam_scores = self.scores = self.src = self.gold = None

    def set_src_beams(self, src_beam_idxs: Any) -> None:
        """
        :param src_beam_idxs: raw int32 [batch, beam]
        """
        self.src_beams = src_beam_idxs

    def set_beam_scores(self, scores: Any) -> None:
        """
        :param scores: raw float32 [batch, beam]
        """
        self.beam_scores = scores
