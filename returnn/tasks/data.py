"""The datasets ``train``, ``dev`` and ``eval`` of a config, with the defaults that come from other keys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from returnn.config import Config
from returnn.datasets import Dataset, init_dataset, init_dataset_via_str
from returnn.datasets.create import evaluate_options
from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.format import parse_size

_names: tuple[str, ...] = ("train", "dev", "eval")
_creation_order: tuple[str, ...] = ("dev", "eval", "train")
_cached_class = "HDFDataset"  # the only one that ``cache_size`` is for


def load_datasets(config: Config) -> dict[str, Dataset]:
    """
    :param config: its keys ``train``, ``dev``, ``eval``: dataset options, a function that gives them, or a text
    :return: those that are set, by name
    """
    values = {name: config.opt_typed_value(name) for name in _names}
    present = [name for name in _names if values[name]]
    cache_bytes = cache_sizes(config, present)
    datasets = {
        name: _load_dataset(name, values[name], config, cache_bytes=cache_bytes[name])
        for name in _creation_order
        if name in present
    }
    return {name: datasets[name] for name in present}


def load_dataset(config: Config, key: str) -> Dataset:
    """
    :param key: of the dataset in the config, or in its ``eval_datasets``
    :raises ConfigError: there is none
    """
    value = config.opt_typed_value(key)
    if key in _names and value:
        return _load_dataset(key, value, config, cache_bytes=cache_sizes(config, [key])[key])
    value = value or (config.typed_value("eval_datasets") or {}).get(key)
    if not value:
        present = [name for name in _names if config.opt_typed_value(name)]
        present += list(config.typed_value("eval_datasets") or {})
        raise ConfigError(f"the config has no dataset {key!r}. There are: {', '.join(present) or 'none'}.")
    return init_dataset(value, default_kwargs={"name": key})


def _load_dataset(name: str, value: Any, config: Config, cache_bytes: int) -> Dataset:
    """:raises UserError: its message starts with the config key"""
    try:
        return _make_dataset(name, value, config, cache_bytes)
    except UserError as exc:
        exc.args = (f"{name}: {str(exc).removeprefix(f'dataset {name!r}: ')}",)
        raise


def _make_dataset(name: str, value: Any, config: Config, cache_bytes: int) -> Dataset:
    defaults: dict[str, Any] = {"name": name}
    if name != "train":
        defaults.update(Dataset.get_default_kwargs_eval(config))
    if isinstance(value, str) and value.startswith("{"):
        value = evaluate_options(value, config)
    if isinstance(value, str):
        return init_dataset_via_str(value, config=config, cache_byte_size=cache_bytes, **defaults)
    if not isinstance(value, dict):
        return init_dataset(value, default_kwargs=defaults)
    kwargs = {**defaults, **value}
    if kwargs.get("class") == _cached_class:
        kwargs.setdefault("cache_byte_size", cache_bytes)
    Dataset.kwargs_update_from_config(config, kwargs)
    return init_dataset(kwargs)


def cache_sizes(config: Config, present: list[str]) -> dict[str, int]:
    """
    :param config: its key ``cache_size``, one to three sizes for train, dev, eval. A single one is shared equally
        between the datasets; without any, 70% of the memory are.
    :param present: names of the datasets there are
    :return: bytes for each dataset; the byte on top of a size tells 1G from "all of it" in old configs
    """
    sizes = [_parse_cache_size(size) for size in config.list("cache_size", [])] or [_most_of_the_memory()]
    if len(sizes) > len(_names):
        raise ConfigError(f"cache_size: at most three sizes, for train, dev and eval, but got {len(sizes)}.")
    if len(sizes) == 1:
        num = 1 + sum(name in present for name in _names[1:])
        sizes = [sizes[0] // num] * len(_names)
    sizes += [0] * (len(_names) - len(sizes))
    return {name: size + 1 if size > 0 else 0 for name, size in zip(_names, sizes, strict=True)}


def _parse_cache_size(size: str | int | float) -> int:
    try:
        return parse_size(size)
    except ValueError as exc:
        raise ConfigError(f"cache_size: {exc}") from None


def _most_of_the_memory() -> int:
    gigabyte = 1024**3
    return int(0.7 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / gigabyte) * gigabyte


def print_summary(datasets: Mapping[str, Dataset]) -> None:
    """Says on v2 what data there is."""
    for name, title in zip(_names, ("Train data:", "Dev data:", "Eval data:"), strict=True):
        if name not in datasets:
            continue
        dataset = datasets[name]
        print(title, file=log.v2)
        if name == "train":
            print("  input:", dataset.num_inputs, "x", dataset.window, file=log.v2)
            print("  output:", dataset.num_outputs, file=log.v2)
        print(" ", dataset.len_info() or "no info", file=log.v2)
