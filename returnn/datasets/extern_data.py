"""``extern_data`` of a config that has none, from its train dataset."""

from __future__ import annotations

from typing import Any

from returnn.config import Config

from .dataset import Dataset


def extern_data_from_dataset(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """
    :return: data key -> options of ``extern_data``, batch-major with a dynamic time axis
    """
    targets = dataset.get_target_list()
    return {
        key: {
            "batch_dim_axis": 0,
            "time_dim_axis": 1,
            "shape": [None, *dataset.get_data_shape(key)],
            "dim": dataset.get_data_dim(key),
            "sparse": dataset.is_data_sparse(key),
            "dtype": dataset.get_data_dtype(key),
            "available_for_inference": key not in targets,
        }
        for key in dataset.get_data_keys()
    }


def set_config_extern_data_from_dataset(config: Config, dataset: Dataset) -> None:
    """Sets ``extern_data`` in the config."""
    config.set("extern_data", extern_data_from_dataset(dataset))
