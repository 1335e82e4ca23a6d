"""The parameters of a network and all networks inside of it, each once, by full name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError


@dataclass
class _Entry:
    var: Any
    value: Tensor
    trainable: bool
    saveable: bool


@dataclass(frozen=True)
class ParamRow:
    """A parameter, for tables."""

    name: str
    """full"""
    shape: tuple[int, ...]
    trainable: bool
    """the updater may change it"""

    @property
    def size(self) -> int:
        """number of entries"""
        return math.prod(self.shape)


class ParamStore:
    """Belongs to the root network."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._by_id: dict[int, _Entry] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def add(
        self, name: str, var: Any, raw: Any, shape: Sequence[int], dtype: str, *, trainable: bool, saveable: bool = True
    ) -> None:
        """
        :param name: full
        :param var: variable of the framework behind the backend
        :param raw: its value
        :param shape: sizes of its axes
        :param dtype: for instance "float32"
        :param trainable: the updater may change it
        :param saveable: it is part of checkpoints
        """
        value = Tensor(name, [Dim(n, description=name) for n in shape], dtype, raw_tensor=raw)
        self._entries[name] = self._by_id[id(var)] = _Entry(var, value, trainable, saveable)

    def do_not_save(self, var: Any) -> None:
        """
        :param var: one that was added: it is no part of checkpoints
        """
        self._by_id[id(var)].saveable = False

    def get(self, name: str, shape: Sequence[int]) -> tuple[Any, Any]:
        """
        :param name: full
        :param shape: needed
        :return: variable, raw value
        :raises ConfigError: it has another shape
        """
        entry = self._entries[name]
        if entry.value.batch_shape != tuple(shape):
            has = list(entry.value.batch_shape)
            raise ConfigError("parameter %r exists with the shape %s, but %s is needed" % (name, has, list(shape)))
        return entry.var, entry.value.raw_tensor

    def value_of(self, var: Any) -> Tensor:
        """
        :param var: one that was added
        """
        return self._by_id[id(var)].value

    def variables(self, *, trainable: bool | None = None, saveable: bool | None = None) -> list[Any]:
        """
        :param trainable: only those for which this is so; None: whatever it is
        :param saveable: likewise
        :return: sorted by name
        """
        return [
            entry.var
            for _, entry in sorted(self._entries.items())
            if trainable in (None, entry.trainable) and saveable in (None, entry.saveable)
        ]

    def named(self) -> dict[str, Any]:
        """
        :return: variables by full name, sorted
        """
        return {name: entry.var for name, entry in sorted(self._entries.items())}

    def rows(self) -> list[ParamRow]:
        """
        :return: what there is to say of each, sorted by name
        """
        return [
            ParamRow(name, tuple(dim.require_static() for dim in entry.value.dims), entry.trainable)
            for name, entry in sorted(self._entries.items())
        ]

    def count(self) -> int:
        """
        :return: number of numbers
        """
        return sum(row.size for row in self.rows())
