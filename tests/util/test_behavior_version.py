"""Behaviour versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from returnn.util.behavior_version import BehaviorVersion, Change, RequirementNotSatisfied
from returnn.util.errors import UserError


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    before = (BehaviorVersion._version, BehaviorVersion._min_version)
    BehaviorVersion._reset()
    yield
    BehaviorVersion._reset(*before)


def test_unset_is_the_minimum_of_the_backend() -> None:
    assert BehaviorVersion.get() == 0 and not BehaviorVersion.is_set()
    BehaviorVersion.set_min_behavior_version(16)
    assert BehaviorVersion.get() == 16 and not BehaviorVersion.is_set()


def test_each_version_up_to_the_latest_says_what_it_changes() -> None:
    versions = [change.version for change in Change]
    assert versions == sorted(versions) and set(versions) == set(range(1, 32))
    assert BehaviorVersion._latest_behavior_version == 31 and all(change.text for change in Change)


def test_a_change_is_there_from_its_version_on() -> None:
    for version, expected in [(16, False), (17, True), (18, True)]:
        BehaviorVersion._reset(version)
        assert BehaviorVersion.has(Change.ZONEOUT_OUTPUT) == expected


def test_set_once() -> None:
    BehaviorVersion.set(6)
    BehaviorVersion.set(6)
    BehaviorVersion.set(None)
    assert BehaviorVersion.get() == 6 and BehaviorVersion.is_set()
    with pytest.raises(UserError, match="behavior_version already set to 6, cannot reset to 7"):
        BehaviorVersion.set(7)


def test_set_version_below_the_minimum() -> None:
    BehaviorVersion.set(6)
    with pytest.raises(UserError, match="behavior_version 6 is too old here: this backend needs at least 16"):
        BehaviorVersion.set_min_behavior_version(16)


def test_version_of_the_future_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    BehaviorVersion.set(32)
    assert "behavior_version 32 is newer than this program knows" in capsys.readouterr().out


def test_require_warns_once_below_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        BehaviorVersion.require(False, "test_require: say what you mean", 5)
    assert capsys.readouterr().out == (
        "DEPRECATION WARNING: test_require: say what you mean\nThis will be disallowed with behavior_version 5.\n"
    )


def test_require_fails_from_the_version_on() -> None:
    BehaviorVersion.set(5)
    BehaviorVersion.require(True, "fine", 5)
    with pytest.raises(RequirementNotSatisfied) as info:
        BehaviorVersion.require(False, "say what you mean", 5)
    assert str(info.value) == "say what you mean (required since behavior_version >= 5)"
