"""SearchBeam: says that the batch axis of a tensor holds several hypotheses for each sequence."""

from __future__ import annotations

from typing import Any


class SearchBeam:
    """Row ``b * beam_size + k`` of the batch is hypothesis k of sequence b. Two beams of one name are the same."""

    def __init__(self, beam_size: int, dependency: Any = None, name: str | None = None):
        """
        :param beam_size: hypotheses per sequence
        :param dependency: the beam that this one was chosen from
        :param name: of the choice
        """
        self.beam_size = beam_size
        self.dependency = dependency
        self.name = name

    def __repr__(self) -> str:
        return "Beam{%r}(%s)" % (self.name, self.beam_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchBeam):
            return NotImplemented
        return self is other or (self.name is not None and self.name == other.name)

    def __hash__(self) -> int:
        return id(self) if self.name is None else hash(self.name)
