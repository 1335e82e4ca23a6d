"""Deletes checkpoints that ``cleanup_old_models`` does not keep, after asking."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    engine.cleanup_old_models(ask_for_confirmation=True)
