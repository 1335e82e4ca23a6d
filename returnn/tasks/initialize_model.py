"""Makes a network as for training and saves it under ``model``, without training."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.tasks.model_lock import model_lock
from returnn.util.errors import ConfigError


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    model = config.value("model", None)
    if not model:
        raise ConfigError("task 'initialize_model': set the config key `model` to the file name to save under.")
    with model_lock(config):
        engine.init_train_from_config(
            config, train_data=datasets.get("train"), dev_data=datasets.get("dev"), eval_data=datasets.get("eval")
        )
        engine.save_model(model)
