"""As training, but without a step: shows that the network can be built. No data is opened."""

from __future__ import annotations

from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.log import log


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    print("Task: No-operation, despite initializing the network (for training)", file=log.v1)
    engine.init_train_from_config(config, train_data=None, dev_data=None, eval_data=None)
