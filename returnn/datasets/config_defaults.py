"""What a config says about all its datasets: defaults of dataset options, and memory for caches."""

from __future__ import annotations

import os
from typing import Any

from returnn.config import Config, get_global_config
from returnn.util.errors import ConfigError


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


def cache_byte_sizes(config: Config) -> dict[str, int]:
    """
    :return: "train", "dev", "eval" -> bytes that the cache of this dataset may take. 0: no cache
    """
    sizes = [_parse_bytes(str(size)) for size in config.list("cache_size", [])]
    if not sizes:
        sizes = [int(_total_memory_bytes() / 2**30 * 0.7) * 2**30]
    if len(sizes) > 3:
        raise ConfigError(f"cache_size: expected one to three sizes (train, dev, eval), got {len(sizes)}")
    names = ("train", "dev", "eval")
    if len(sizes) == 1:
        share = sizes[0] // (1 + sum(bool(config.has(name)) for name in names[1:]))
        return dict.fromkeys(names, share)
    return dict(zip(names, [*sizes, 0], strict=False))


def _parse_bytes(text: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    unit = units.get(text[-1:].upper(), 1)
    try:
        return int(float(text.rstrip("KMGkmg")) * unit)
    except ValueError:
        raise ConfigError(f"cache_size: expected a number with suffix G, M, K or none, got {text!r}") from None


def _total_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def default_random_seed_offset() -> int:
    """
    :return: from the environment, or by rank where each process of a distributed training reads all data; else 0
    """
    config = get_global_config(raise_exception=False)
    if config is None:
        return 0
    if "RETURNN_RANDOM_SEED_OFFSET" in os.environ:
        return int(os.environ["RETURNN_RANDOM_SEED_OFFSET"])
    env: tuple[str, ...] = ()
    if config.typed_value("torch_distributed") is not None:
        env = ("RANK",)
    elif config.is_true("use_horovod") and config.value("horovod_dataset_distribution", "") == "random_seed_offset":
        env = ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK")
    return next((int(os.environ[name]) for name in env if name in os.environ), 0) * 16127
