"""Tables of lengths and of what was computed from them."""

from __future__ import annotations

import gc
import weakref

import numpy

from returnn.tensor import Dim
from returnn.tensor.run_table import RunTable, current_table, run_table_ctx


def test_lookup_goes_outwards_and_writing_stays_inside() -> None:
    """A loop sees the lengths around it; what it sets itself ends with it."""
    t = Dim(None, name="t")
    outer = RunTable()
    with run_table_ctx(outer):
        t.dyn_size = numpy.array([3, 2], "int32")
        with run_table_ctx(RunTable(outer)):
            assert t.dyn_size.tolist() == [3, 2]
            t.dyn_size = numpy.array([1, 1], "int32")
            assert t.dyn_size.tolist() == [1, 1]
        assert t.dyn_size.tolist() == [3, 2]


def test_values_are_computed_once() -> None:
    """here or further out"""
    calls = []
    outer = RunTable()
    assert outer.cached("x", lambda: calls.append(1) or 7) == 7
    inner = RunTable(outer)
    assert inner.cached("x", lambda: calls.append(2) or 8) == 7
    assert inner.find("y") is None and "y" not in inner.cache
    assert calls == [1]


def test_a_finished_step_is_freed() -> None:
    """Nothing but the table holds lengths and masks."""
    t = Dim(None, name="t")
    with run_table_ctx() as table:
        t.dyn_size = numpy.array([3, 2], "int32")
        mask = weakref.ref(t.get_mask())
        assert current_table() is table
    del table
    gc.collect()
    assert mask() is None
