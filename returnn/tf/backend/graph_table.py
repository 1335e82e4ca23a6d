"""Finds the table of lengths and masks that belongs to the current TensorFlow graph and control-flow context.

A tensor made inside a loop or conditional cannot be used outside, so each context has its own table, inside that of the
context around it.
"""

from __future__ import annotations

from typing import Any

from returnn.tensor.run_table import RunTable, set_graph_table_lookup
from returnn.tf.compat import v1


def graph_table() -> RunTable:
    """
    :return: the table of the current graph and control-flow context
    """
    graph = v1.get_default_graph()
    tables = getattr(graph, "_returnn_run_tables", None)
    if tables is None:
        # on the graph itself: its tables hold tensors, which hold the graph, so that all of them are freed together
        tables = graph._returnn_run_tables = {}
    return _table(tables, graph._get_control_flow_context())


def _table(tables: dict[Any, RunTable], context: Any) -> RunTable:
    if context not in tables:
        tables[context] = RunTable(None if context is None else _table(tables, context.outer_context))
    return tables[context]


set_graph_table_lookup(graph_table)
