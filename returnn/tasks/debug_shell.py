"""An interactive Python with the names ``config``, ``engine`` and ``datasets``."""

from __future__ import annotations

from collections.abc import Mapping

import better_exchook

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    names = {"config": config, "engine": engine, "datasets": datasets, **datasets}
    better_exchook.debug_shell(user_ns=names, user_global_ns=names)
