"""Tags of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class NumberedTags(Sequence[str]):
    """``line-0``, ``line-1``, ...; made when they are wanted, since there can be millions."""

    def __init__(self, prefix: str, number: int):
        """
        :param prefix: ``line-``
        :param number: of tags
        """
        self.prefix = prefix
        self._range = range(number)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [f"{self.prefix}{i}" for i in self._range[index]]
        return f"{self.prefix}{self._range[index]}"

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (NumberedTags, list, tuple)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list
