"""Millions of strings in little memory."""

from __future__ import annotations

import array
from collections.abc import Iterable, Sequence
from typing import Any


class StringList(Sequence[str]):
    """Strings, one behind the other in UTF-8. 8 bytes more each; nothing for the garbage collector to visit."""

    def __init__(self, strings: Iterable[str] = ()):
        """
        :param strings: first ones
        """
        self._content = bytearray()
        self._ends = array.array("q", [0])
        for string in strings:
            self.append(string)

    def append(self, string: str) -> None:
        """
        :param string: comes last
        """
        self._content += string.encode("utf8", "surrogatepass")
        self._ends.append(len(self._content))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"no string {index} of {len(self)}")
        return self._content[self._ends[index] : self._ends[index + 1]].decode("utf8", "surrogatepass")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    def get_bytes(self, index: int) -> bytes:
        """
        :return: the string in UTF-8
        """
        return bytes(self._content[self._ends[index] : self._ends[index + 1]])
