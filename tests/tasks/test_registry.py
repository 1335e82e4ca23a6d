"""The list of tasks."""

from __future__ import annotations

import pytest

from returnn.tasks.registry import _not_yet, _tasks, get_task
from returnn.util.errors import UserError


@pytest.mark.parametrize("name", [*_tasks, "config:f", "optional-config:f"])
def test_each_task_can_be_imported(name: str) -> None:
    assert callable(get_task(name).load())


@pytest.mark.parametrize("name", [*_not_yet, "config:", "config", "nop:x", ""])
def test_other_tasks_list_those_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"Tasks: train, eval, forward, .*, config:NAME, optional-config:NAME\.$"):
        get_task(name)
