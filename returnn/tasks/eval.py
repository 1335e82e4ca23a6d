"""Scores a trained model on the dev and eval datasets."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.log import log
from returnn.tasks.load_epoch import use_epoch_as_load_epoch
from returnn.tasks.model_lock import model_lock
from returnn.util.errors import ConfigError


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    load = config.value("load", None)
    epoch = use_epoch_as_load_epoch(config)
    if load:
        print(f"Evaluate model {load}", file=log.v2)
    elif epoch:
        print(f"Evaluate epoch {epoch}", file=log.v2)
    else:
        raise ConfigError("specify epoch or load_epoch (a number), or load (a model file)")
    # Scores of an epoch go into the learning-rate file, which a training would write at the same time.
    with contextlib.nullcontext() if load else model_lock(config):
        engine.init_train_from_config(
            config, train_data=datasets.get("train"), dev_data=datasets.get("dev"), eval_data=datasets.get("eval")
        )
        engine.eval_model(
            output_file=config.value("eval_output_file", None),
            output_per_seq_file=config.value("eval_output_file_per_seq", None),
            loss_name=config.value("loss_name", None),
            output_per_seq_format=config.list("output_per_seq_format", ["score"]),
            output_per_seq_file_format=config.value("output_per_seq_file_format", "txt"),
            lr_control_update_scores=not load,
        )
