"""Where sequences come from: the dataset protocol, and one module a family of datasets."""

from .basic import Dataset, init_dataset, init_dataset_via_str

__all__ = ["Dataset", "init_dataset", "init_dataset_via_str"]
