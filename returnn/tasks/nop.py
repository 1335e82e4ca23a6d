"""Does nothing: shows that the config can be read and the backend starts."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.log import log


def run(engine: EngineBase | None, config: Config, datasets: Mapping[str, Dataset]) -> None:
    print("Task: No-operation", file=log.v1)
