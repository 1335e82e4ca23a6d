"""Which tasks there are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from returnn._version import __version__
from returnn.util.errors import UserError
from returnn.util.lazy import import_name
from returnn.util.suggest import did_you_mean, nearest_names


@dataclass(frozen=True)
class Task:
    """A task, and what has to be there before it runs."""

    module: str
    """Below ``returnn.tasks``; has ``run(engine, config, datasets)``."""
    needs_data: bool = True
    needs_engine: bool = True
    argument: str | None = None
    """What stands behind ``config:``; ``run`` gets it as keyword ``name``."""

    def load(self) -> Callable[..., None]:
        """:return: its ``run(engine, config, datasets)``"""
        run = import_name(f"returnn.tasks.{self.module}:run")
        return run if self.argument is None else functools.partial(run, name=self.argument)


_tasks: dict[str, Task] = {
    "train": Task("train"),
    "eval": Task("eval"),
    "forward": Task("forward"),
    "hpx": Task("forward"),  # old name
    "search": Task("search"),
    "initialize_model": Task("initialize_model"),
    "cleanup_old_models": Task("cleanup_old_models", needs_data=False),
    "nop": Task("nop", needs_data=False, needs_engine=False),
    "nop_init_net_train": Task("nop_init_net_train", needs_data=False),
    "debug_shell": Task("debug_shell"),
}

_tasks_with_argument: dict[str, Task] = {
    "config": Task("config_function"),
    "optional-config": Task("optional_config_function"),
}

_not_yet = ("compute_priors", "analyze", "analyze_data", "hyper_param_tuning", "search_server")


def get_task(name: str) -> Task:
    """
    :param name: config key ``task``
    :raises UserError: there is no such task; lists those there are, the nearest first
    """
    if name in _tasks:
        return _tasks[name]
    prefix, colon, argument = name.partition(":")
    if colon and argument and prefix in _tasks_with_argument:
        task = _tasks_with_argument[prefix]
        return Task(task.module, needs_data=task.needs_data, needs_engine=task.needs_engine, argument=argument)
    there_are = f"Tasks: {', '.join([*_tasks, *(f'{p}:NAME' for p in _tasks_with_argument)])}."
    if name in _not_yet:
        raise UserError(f"task {name!r} is not there yet in this version ({__version__}). {there_are}")
    near = nearest_names(name, [*_tasks, *_not_yet])
    missing = "".join(f" {other} is not supported yet (version {__version__})." for other in near if other in _not_yet)
    raise UserError(f"unknown task: {name!r}.{did_you_mean(name, [*_tasks, *_not_yet])}{missing} {there_are}")
