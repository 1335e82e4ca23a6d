"""Where the values behind dims live: lengths, masks and what else is worth computing once a step.

A :class:`~returnn.tensor.dim.Dim` is an identity and outlives many graphs and steps, so it holds no values. They stand
in a
:class:`RunTable`: one for each step of an eager backend, one for each (graph, control-flow context) of a graph backend.
Lookup goes from the innermost table outwards; writing goes to the innermost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tensor import Tensor


class RunTable:
    """Lengths of dynamic dims, and a cache of what was computed from them (masks, largest lengths)."""

    def __init__(self, parent: RunTable | None = None):
        """
        :param parent: the table around this one, for instance of the graph around a loop
        """
        self.parent = parent
        self.sizes: dict[Hashable, Tensor] = {}
        self.cache: dict[Hashable, Any] = {}

    def _outwards(self) -> Iterator[RunTable]:
        table: RunTable | None = self
        while table is not None:
            yield table
            table = table.parent

    def get_size(self, keys: list[Hashable]) -> Tensor | None:
        """
        :param keys: of all dims that were declared the same
        :return: lengths, from the innermost table that has any
        """
        for table in self._outwards():
            for key in keys:
                if key in table.sizes:
                    return table.sizes[key]
        return None

    def cached(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """
        :return: the value computed earlier under this key, here or further out; else what ``compute`` returns
        """
        for table in self._outwards():
            if key in table.cache:
                return table.cache[key]
        value = self.cache[key] = compute()
        return value

    def find(self, key: Hashable) -> Any:
        """
        :return: the value under this key, here or further out; None if there is none
        """
        return next((table.cache[key] for table in self._outwards() if key in table.cache), None)


_explicit_tables: list[RunTable] = []
_table_of_graph: Callable[[], RunTable] | None = None
_default_table = RunTable()


def current_table() -> RunTable:
    """
    :return: the innermost table: that of :func:`run_table_ctx`, else that of the current graph, else one for the
        process
    """
    if _explicit_tables:
        return _explicit_tables[-1]
    if _table_of_graph is not None:
        return _table_of_graph()
    return _default_table


def set_graph_table_lookup(lookup: Callable[[], RunTable]) -> None:
    """
    :param lookup: how a graph backend finds the table of its current graph; called once, when that backend is imported
    """
    global _table_of_graph
    _table_of_graph = lookup


@contextlib.contextmanager
def run_table_ctx(table: RunTable | None = None) -> Iterator[RunTable]:
    """
    Values of dims belong to this table inside; for a step of an eager backend, and for tests.

    :param table: a new one by default
    """
    table = table or RunTable()
    _explicit_tables.append(table)
    try:
        yield table
    finally:
        _explicit_tables.pop()
