"""Writes the output of a layer, for each sequence of the eval dataset, into an HDF file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.engine.base import EngineBase
from returnn.log import log
from returnn.tasks.load_epoch import use_epoch_as_load_epoch
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import remove_stale_temp_files


def run(engine: EngineBase, config: Config, datasets: Mapping[str, Dataset]) -> None:
    if "eval" not in datasets:
        raise ConfigError("no eval data provided: set the config key `eval` to the dataset to forward.")
    batch_size = config.int("forward_batch_size", 0)
    if batch_size <= 0:
        raise ConfigError("forward_batch_size not set: set it to the frames of a batch, for example 5000.")
    use_epoch_as_load_epoch(config)
    output_file = config.value("output_file", None)
    if output_file:
        _make_way_for(output_file, config)
    engine.init_network_from_config(config, dataset=datasets["eval"])
    if not output_file:
        output_file = "dump-fwd-epoch-%i.hdf" % engine.epoch
        _make_way_for(output_file, config)
    engine.forward_to_hdf(
        data=datasets["eval"],
        output_file=output_file,
        batch_size=batch_size,
        output_layer=config.value("forward_output_layer", None),
        overwrite=config.bool("forward_override_hdf_output", False),
    )


def _make_way_for(output_file: str, config: Config) -> None:
    """The file stays until the new one is complete, which then takes its place."""
    remove_stale_temp_files(output_file)
    if not os.path.exists(output_file):
        return
    if not config.bool("forward_override_hdf_output", False):
        raise UserError(
            f"output file {output_file!r} exists already. Remove it, set another `output_file`,"
            " or set forward_override_hdf_output = True."
        )
    print("HDF file exists, delete now (forward_override_hdf_output).", file=log.v2)
