"""Calls a function of the config, without arguments."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset], *, name: str) -> None:
    """:param name: of the function"""
    function = config.typed_value(name)
    if not callable(function):
        functions = [key for key, value in config.typed_dict.items() if callable(value) and not isinstance(value, type)]
        problem = "has no such function" if function is None else f"{name!r} is no function, but {function!r}"
        raise ConfigError(f"task 'config:{name}': the config {problem}.{did_you_mean(name, functions)}")
    function()
