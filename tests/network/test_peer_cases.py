"""Networks give what a reference implementation of the layer dict gives: see tests/peer_cases/README.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from returnn.util.behavior_version import BehaviorVersion

from .peer_case import case_names, compute, differences, load_stored

NOT_ON_TORCH = {
    "custom_layers": "its layers compute in __init__, with TensorFlow",
    "loop_user_layer": "its layer class computes in __init__, with TensorFlow",
    "loop_masked_user_state": "likewise",
    "losses_of_users": "a layer class of the user makes its losses itself, with TensorFlow",
    "random_states": "the state of a random generator, and what it draws, are each backend's own",
    "search_combine_list": "its function computes with TensorFlow and numpy",
    "search_custom_combine": "its function computes with TensorFlow",
    "rec_user_cells": "its cells are classes that compute with TensorFlow",
    "reuse_params_functions": "its functions make variables of TensorFlow",
}
"""case -> why it does not run on PyTorch"""
ZERO_WHERE_NOT_USED = ("cond_branches",)
"""The reference tells the zero gradients of the branch that was not taken."""


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


@pytest.mark.parametrize("name", [name for name in case_names() if name not in NOT_ON_TORCH])
def test_same_on_torch(name: str) -> None:
    """The same layer dicts, computed in a step on PyTorch."""
    torch_case = pytest.importorskip("tests.network.torch_case", reason="needs torch")
    stored = load_stored(name)
    ours = torch_case.compute_on_torch(name, stored)
    if name in ZERO_WHERE_NOT_USED:
        stored = {key: value for key, value in stored.items() if key in ours or not _is_zero_gradient(key, value)}
    assert differences(stored, ours) == []


def _is_zero_gradient(key: str, value: object) -> bool:
    return key.startswith("grad:") and not value.any()  # type: ignore[attr-defined]


def test_cases_are_there() -> None:
    """A lost folder must not look like success; and no exemption outlives its case."""
    names = case_names()
    assert len(names) >= 130
    assert not (set(NOT_ON_TORCH) | set(ZERO_WHERE_NOT_USED)) - set(names)
