"""Networks give what a reference implementation of the layer dict gives: see tests/peer_cases/README.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from returnn.util.behavior_version import BehaviorVersion

from .peer_case import case_names, compute, differences, load_stored


@pytest.fixture(autouse=True)
def own_behavior_version() -> Iterator[None]:
    """A case may set one."""
    BehaviorVersion._reset()
    yield
    BehaviorVersion._reset()


@pytest.mark.parametrize("name", case_names())
def test_same_as_reference(name: str) -> None:
    """Outputs, lengths, axes, losses, gradients, parameters: relative difference at most 1e-4."""
    stored = load_stored(name)
    assert differences(stored, compute(name, stored)) == []


def test_cases_are_there() -> None:
    """A lost folder must not look like success."""
    assert len(case_names()) >= 37
