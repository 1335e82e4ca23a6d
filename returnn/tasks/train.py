"""Trains, from the last checkpoint on if there is one."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.tasks.model_lock import model_lock
from returnn.util.errors import ConfigError


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    if "train" not in datasets:
        raise ConfigError(f"no train files specified, check 'train' option: {config.opt_typed_value('train')!r}")
    with model_lock(config):
        engine.init_train_from_config(
            config, train_data=datasets["train"], dev_data=datasets.get("dev"), eval_data=datasets.get("eval")
        )
        engine.train()
