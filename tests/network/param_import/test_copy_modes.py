"""Copy modes, from the arithmetic of corners."""

from __future__ import annotations

import numpy
import pytest

from returnn.network.param_import import copy_param
from returnn.util.errors import ConfigError

OLD, NEW = numpy.full((3, 1), 5.0), numpy.ones((4, 2))


def test_subset_copies_the_corner_that_both_have() -> None:
    assert copy_param(OLD, NEW, mode="subset", name="W").tolist() == [[5, 1], [5, 1], [5, 1], [1, 1]]


@pytest.mark.parametrize("mode", ["ifpossible", "reset"])
def test_no_copy_of_another_shape(mode: str) -> None:
    assert copy_param(OLD, NEW, mode=mode, name="W").tolist() == NEW.tolist()


@pytest.mark.parametrize("mode", ["ifpossible", "subset", None])
def test_same_shape_is_copied(mode: str | None) -> None:
    assert copy_param(OLD, numpy.zeros((3, 1)), mode=mode, name="W") is OLD


def test_reset_never_copies() -> None:
    assert copy_param(OLD, numpy.zeros((3, 1)), mode="reset", name="W").tolist() == [[0], [0], [0]]


def test_without_mode_another_shape_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"'W' has the shape \(4, 2\), but its new value \(3, 1\)"):
        copy_param(OLD, NEW, mode=None, name="W")


def test_unknown_mode() -> None:
    with pytest.raises(ConfigError, match="'subsett'. Did you mean \"subset\""):
        copy_param(OLD, NEW, mode="subsett", name="W")


def test_subset_goes_gate_by_gate() -> None:
    """Two gates of two units grow to three units: each starts at its own place."""
    old, new = numpy.array([[1.0, 2, 3, 4]]), numpy.zeros((1, 6))
    grown = copy_param(old, new, mode="subset", name="W", old_split=[[1], [2, 2]], new_split=[[1], [3, 3]])
    assert grown.tolist() == [[1, 2, 0, 3, 4, 0]]
    back = copy_param(grown, old * 0, mode="subset", name="W", old_split=[[1], [3, 3]], new_split=[[1], [2, 2]])
    assert back.tolist() == [[1, 2, 3, 4]]
