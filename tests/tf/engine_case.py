"""A small training for the tests of engine and runner: which of two classes has the larger input."""

from __future__ import annotations

from typing import Any

import numpy

from returnn.config import Config
from returnn.datasets.static import StaticDataset
from returnn.tf.engine import Engine

NET_DICT = {"output": {"class": "softmax", "loss": "ce", "from": "data"}}


def make_seqs(num_seqs: int, *, seed: int) -> list[dict[str, numpy.ndarray]]:
    """
    :return: sequences of 2 to 8 frames with 3 features; class 1 where their sum is above 0
    """
    rnd = numpy.random.RandomState(seed)
    seqs = []
    for _ in range(num_seqs):
        data = rnd.normal(size=(rnd.randint(2, 9), 3)).astype("float32")
        seqs.append({"data": data, "classes": (data.sum(axis=1) > 0).astype("int32")})
    return seqs


def make_dataset(
    name: str, *, num_seqs: int = 10, seqs: list[dict[str, numpy.ndarray]] | None = None, **kwargs: Any
) -> StaticDataset:
    """
    :param name: its letters are the seed of the data
    :return: initialized
    """
    if seqs is None:
        seqs = make_seqs(num_seqs, seed=sum(map(ord, name)))
    dataset = StaticDataset(seqs, name=name, output_dim={"data": (3, 2), "classes": (2, 1)}, **kwargs)
    dataset.initialize()
    return dataset


def make_config(folder: Any = None, **opts: Any) -> Config:
    """
    :param folder: of model and learning-rate file; None: nothing is saved
    """
    config = {
        **{"task": "train", "device": "cpu", "network": NET_DICT, "num_inputs": 3, "num_outputs": 2},
        **{"num_epochs": 2, "batch_size": 20, "optimizer": {"class": "adam"}, "learning_rate": 0.01},
        "tf_log_dir": None,
    }
    if folder is not None:
        config.update(model=str(folder / "m"), learning_rate_file=str(folder / "learning_rates"))
    return Config({**config, **opts})


def make_engine(config: Config, *, train: StaticDataset | None = None, dev: bool = True) -> Engine:
    """
    :return: ready to train; data in random order, a function of the epoch
    """
    engine = Engine(config)
    engine.init_train_from_config(
        config,
        train_data=train or make_dataset("train", num_seqs=20, seq_ordering="random"),
        dev_data=make_dataset("dev") if dev else None,
    )
    return engine


def run_training(config: Config, **opts: Any) -> Engine:
    """
    :return: after the training
    """
    engine = make_engine(config, **opts)
    try:
        engine.train()
    finally:
        engine.finalize()
    return engine
