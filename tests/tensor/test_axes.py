"""Axis descriptions."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.util.behavior_version import BehaviorVersion, RequirementNotSatisfied


@pytest.fixture
def d() -> Tensor:
    """[B, time, 5, spatial2, 7]"""
    return Tensor("d", shape=(None, 5, None, 7))


@pytest.mark.parametrize(
    ("spec", "axes"),
    [
        ("T", [1]),
        ("time?", [1]),
        ("spatial", [1, 2, 3]),
        ("s:-1", [3]),
        ("spatial:0", [1]),
        ("dyn", [1, 3]),
        ("d:1", [3]),
        ("static", [2, 4]),
        ("static:-1", [4]),
        ("dim:5", [2]),
        ("BTF", [0, 1, 4]),
        ("fb", [4, 0]),
        ("bt", [0, 1]),
        ("except_time", [2, 3, 4]),
        ("except_batch", [1, 2, 3, 4]),
        ("except_batch:-1", [4]),
        ("spatial_except_time", [2, 3]),
        ("stag:spatial1", [2]),
        ("STAG:Spatial1", [2]),
        ("stag-single:-1:spatial", [3]),
        ("tag:feature", [4]),
        ("*", [0, 1, 2, 3, 4]),
        ("", []),
        (None, []),
        ("F", [4]),
        ("feature", [4]),
        ("b", [0]),
        (-1, [4]),
        (2, [2]),
        ([0, 2], [0, 2]),
        (["F", "T", "F"], [4, 1]),
        (("stag:spatial1", 0), [2, 0]),
    ],
)
def test_description_names_axes(d: Tensor, spec: Any, axes: list[int]) -> None:
    """As in the table of the axis descriptions, on [B, time, 5, spatial2, 7]."""
    assert d.get_axes_from_description(spec) == axes


@pytest.mark.parametrize("spec", ["stag:spatial", "T+1", "dim:9", "s:7", "stag:nothing", 5])
def test_what_is_not_there_is_an_error_that_lists_the_axes(d: Tensor, spec: Any) -> None:
    """Ambiguous, unknown or out of range."""
    with pytest.raises(DimError, match=r"Its axes: \[B, T\|'time:var-unk:d'\[B\], 'spatial1:static5:d'\(5\)"):
        d.get_axes_from_description(spec)


def test_unknown_text_is_an_invalid_axis_mode(d: Tensor) -> None:
    """The words that users search for."""
    with pytest.raises(DimError, match="invalid axis mode 'T\\+1'"):
        d.get_axes_from_description("T+1")


def test_one_axis_is_needed(d: Tensor) -> None:
    """ "spatial" has three here, "F" one."""
    assert d.get_axis_from_description("F") == 4
    with pytest.raises(DimError, match="3 axes match, but exactly one is needed"):
        d.get_axis_from_description("spatial")


def test_time_must_exist_unless_asked_for_optionally() -> None:
    """ "T" and "T?" on [B, F]."""
    x = Tensor("x", shape=(4,))
    with pytest.raises(DimError, match="there is no time axis"):
        x.get_axes_from_description("T")
    assert x.get_axes_from_description("T?") == []
    assert Tensor("y", shape=(None,)).get_axes_from_description("F") == []


def test_feature_that_is_dynamic_or_time_counts_as_spatial() -> None:
    """[B, t, F] with F dynamic: both are spatial."""
    x = Tensor("x", dim_tags=[batch_dim, SpatialDim("t"), FeatureDim("f", None)])
    assert x.feature_dim_axis == 2
    assert x.get_axes_from_description("spatial") == [1, 2]


def test_dim_with_higher_match_priority_wins() -> None:
    """A square weight [f, f']: the dim alone is ambiguous, and the priority decides."""
    f = FeatureDim("f", 4)
    x = Tensor("x", [f.copy(match_priority=1), f], "float32")
    assert x.get_axes_from_description(f) == [0, 1]
    assert x.get_axis_from_description(f) == 0
    y = Tensor("y", [f, f], "float32")
    with pytest.raises(DimError, match="2 axes match"):
        y.get_axis_from_description(f)


def test_numbers_and_indexed_forms_end_with_newer_behaviour(d: Tensor) -> None:
    """Numbers from version 5 on (where a caller forbids them), "s:0" from version 7 on."""
    BehaviorVersion._reset(version=7)
    try:
        with pytest.raises(RequirementNotSatisfied, match="number"):
            d.get_axes_from_description(1, allow_int=False)
        with pytest.raises(RequirementNotSatisfied, match="order of the axes"):
            d.get_axes_from_description("s:0")
    finally:
        BehaviorVersion._reset()


def test_noise_shape(d: Tensor) -> None:
    """Default: batch and spatial axes share the noise, the feature has its own."""
    assert d.get_bc_shape() == (1, 1, 1, 1, 7)
    assert d.get_bc_shape({"T": -1}) == (1, None, 1, 1, 7)
    assert d.get_bc_shape({"*": None}) == (None, None, 5, None, 7)
    assert d.get_bc_shape({"*": 1}) == (1, 1, 1, 1, 1)
    assert d.get_bc_shape({"F": "x", "*": None}) == (None, None, 5, None, 1)
    with pytest.raises(DimError, match="must be -1, None, 1 or 'x', but is 3"):
        d.get_bc_shape({"T": 3})


def test_dim_object_names_its_axis() -> None:
    """Also a dim that was declared the same."""
    t, alias = SpatialDim("t"), Dim(None, name="alias")
    alias.declare_same_as(t)
    x = Tensor("x", [batch_dim, t], "float32")
    assert x.get_axes_from_description(alias) == [1]
    assert x.get_axes_from_description(SpatialDim("other")) == []
