"""Calls a function of the config, if it has it."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.log import log
from returnn.tasks import config_function


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset], *, name: str) -> None:
    """:param name: of the function"""
    if not config.has(name):
        print(f"Task: the config has no function {name!r}, nothing to do", file=log.v1)
        return
    config_function.run(engine, config, datasets, name=name)
