"""Recognizes each sequence of a dataset: a log of what was found, the error rate, and an output file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from returnn.config import Config
from returnn.datasets import Dataset, init_dataset
from returnn.engine.base import EngineBase
from returnn.engine.search_options import check_search_output_file
from returnn.tasks.load_epoch import use_epoch_as_load_epoch
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import remove_stale_temp_files
from returnn.util.suggest import did_you_mean


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    dataset = _get_dataset(config, datasets)
    output_file = config.value("search_output_file", None)
    file_format = config.value("search_output_file_format", "txt")
    output_layers = _output_layers(config)
    if output_file:
        remove_stale_temp_files(output_file)
        check_search_output_file(output_file, file_format, output_layers)
    use_epoch_as_load_epoch(config)
    engine.use_search_flag = True
    engine.init_network_from_config(config, dataset=dataset)
    engine.search(
        dataset,
        do_eval=config.bool("search_do_eval", True),
        output_layer_names=output_layers,
        output_file=output_file,
        output_file_format=file_format,
    )


def _output_layers(config: Config) -> str | list[str]:
    """
    :return: one name, or several; those of the command line have commas between
    """
    value = config.opt_typed_value("search_output_layer") or "output"
    if isinstance(value, str):
        return value.split(",") if "," in value else value
    return list(value)


def _get_dataset(config: Config, datasets: Mapping[str, Dataset]) -> Dataset:
    value = config.opt_typed_value("search_data") or "eval"
    if isinstance(value, str) and not value.startswith(("{", "config:")):
        return _get_named_dataset(value, config, datasets)
    return _init_dataset("search_data", value)


def _get_named_dataset(name: str, config: Config, datasets: Mapping[str, Dataset]) -> Dataset:
    if name in datasets:
        return datasets[name]
    others = config.typed_value("eval_datasets") or {}
    if name in others:
        return _init_dataset(name, others[name])
    there_are = [*datasets, *others]
    raise ConfigError(
        f"search_data = {name!r}: the config has no such dataset.{did_you_mean(name, there_are)} Set search_data to"
        f" one of those there are ({', '.join(there_are) or 'none'}), or to a dict with dataset options."
    )


def _init_dataset(name: str, opts: Any) -> Dataset:
    """:raises UserError: its message starts with the name"""
    try:
        return init_dataset(opts, default_kwargs={"name": name})
    except UserError as exc:
        exc.args = (f"{name}: {str(exc).removeprefix(f'dataset {name!r}: ')}",)
        raise
