"""What a config and the environment say about all datasets: defaults of their options."""

from __future__ import annotations

import os
from typing import Any

from returnn.config import Config, get_global_config


def update_kwargs_from_config(config: Config, kwargs: dict[str, Any]) -> None:
    """Sets what is missing or None in ``kwargs``, in place. Zero is as good as nothing for some options."""

    def set_default(key: str, value: Any) -> None:
        if kwargs.get(key) is None:
            kwargs[key] = value

    for key in ("window", "shuffle_frames_of_nseqs"):
        if config.int(key, 0):
            set_default(key, config.int(key, 0))
    for key, config_key in (
        ("context_window", "context_window"),
        ("chunking", "chunking"),
        ("seq_ordering", "batching"),
    ):
        value = config.opt_typed_value(config_key, None)
        if value is not None:
            set_default(key, value)
    min_chunk_size = config.opt_typed_value("min_chunk_size", 0)
    if isinstance(min_chunk_size, str):
        min_chunk_size = int(min_chunk_size)
    if min_chunk_size:
        set_default("min_chunk_size", min_chunk_size)
    set_default("chunking_variance", config.float("chunking_variance", 0))


def default_kwargs_eval(config: Config) -> dict[str, Any]:
    """
    :return: defaults of the datasets "dev" and "eval"
    """
    chunking: Any = "0"
    config_chunking = config.opt_typed_value("chunking", "0")
    if config.value("on_size_limit", "ignore") == "chunk":
        chunking = config.opt_typed_value("batch_size", "0")
    elif config_chunking in ("1", 1):
        chunking = "1"
    elif config.bool("chunk_eval", False):
        chunking = config_chunking
    return {"chunking": chunking, "seq_ordering": "sorted", "shuffle_frames_of_nseqs": 0}


def default_random_seed_offset() -> int:
    """
    :return: from the environment, or by rank where each process of a distributed training reads all data; else 0
    """
    config = get_global_config(raise_exception=False)
    if config is None:
        return 0
    if "RETURNN_RANDOM_SEED_OFFSET" in os.environ:
        return int(os.environ["RETURNN_RANDOM_SEED_OFFSET"])
    if config.is_true("use_horovod") and config.value("horovod_dataset_distribution", "") != "random_seed_offset":
        return 0
    return distributed_rank_and_size()[0] * 16127


def distributed_rank_and_size() -> tuple[int, int]:
    """
    :return: number of this process in a distributed training, and how many there are; (0, 1) without one
    """
    config = get_global_config(raise_exception=False)
    names: tuple[tuple[str, str], ...] = ()
    if config is not None and config.typed_value("torch_distributed") is not None:
        names = (("RANK", "WORLD_SIZE"),)
    elif config is not None and config.is_true("use_horovod"):
        names = (("HOROVOD_RANK", "HOROVOD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
    for rank, size in names:
        if rank in os.environ:
            return int(os.environ[rank]), int(os.environ.get(size, int(os.environ[rank]) + 1))
    return 0, 1
