"""The names around datasets that configs and scripts import. Imports and nothing else."""

from .batching import shapes_for_batches
from .create import (
    extend_dataset_dict_from_parent_dataset,
    get_dataset_class,
    init_dataset,
    init_dataset_via_str,
)
from .data_dims import convert_data_dims
from .dataset import Dataset, OptionalNotImplementedError
from .extern_data import set_config_extern_data_from_dataset
from .seq import DatasetSeq

__all__ = [
    "Dataset",
    "DatasetSeq",
    "OptionalNotImplementedError",
    "convert_data_dims",
    "extend_dataset_dict_from_parent_dataset",
    "get_dataset_class",
    "init_dataset",
    "init_dataset_via_str",
    "set_config_extern_data_from_dataset",
    "shapes_for_batches",
]
