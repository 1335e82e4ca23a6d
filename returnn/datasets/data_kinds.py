"""What kind of data a dataset has, per data key."""

from __future__ import annotations

from typing import Any

import numpy

from .labels import serialize_labels


class DataKinds:
    """The part of the dataset protocol that needs no sequence."""

    window: int

    def __init__(self) -> None:
        self.num_inputs = 0
        """dim of the key "data", 0 if there is none"""
        self.num_outputs: dict[str, Any] | None = None
        """data key -> (dim, ndim), ndim counts the time axis; or options as in ``extern_data``. None: not set"""
        self.labels: dict[str, list[str]] = {}
        """data key -> labels of the classes"""

    def get_data_keys(self) -> list[str]:
        """
        :return: all keys
        """
        return ["data", *self.get_target_list()]

    def get_target_list(self) -> list[str]:
        """
        :return: keys that are not available at inference
        """
        return ["classes"]

    def _output_opts(self, key: str) -> Any:
        return (self.num_outputs or {}).get(key)

    def get_data_dim(self, key: str) -> int:
        """
        :return: number of classes if sparse, else of features
        """
        opts = self._output_opts(key)
        if isinstance(opts, dict):
            return opts.get("dim") or next((n for n in reversed(opts.get("shape", ())) if n), 1)
        if opts is not None:
            return opts[0]
        return self.num_inputs * self.window if key == "data" else 1

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: whether the values are class indices
        """
        opts = self._output_opts(key)
        if isinstance(opts, dict):
            return bool(opts.get("sparse", False))
        return opts[1] <= 1 if opts is not None else key != "data"

    def get_data_dtype(self, key: str) -> str:
        """
        :return: dtype, or "string"
        """
        opts = self._output_opts(key)
        if isinstance(opts, dict) and "dtype" in opts:
            return opts["dtype"]
        return "int32" if self.is_data_sparse(key) else "float32"

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: shape of a frame; None where dynamic
        """
        opts = self._output_opts(key)
        if isinstance(opts, dict):
            return list(opts["shape"][1:]) if "shape" in opts else []
        ndim = opts[1] if opts is not None else (2 if key == "data" else 1)
        if ndim <= 1:
            return []
        dims: list[int | None] = [None] * (ndim - 1)
        if not self.is_data_sparse(key):
            dims[-1] = self.get_data_dim(key)
        return dims

    def can_serialize_data(self, key: str) -> bool:
        """
        :return: whether :meth:`serialize_data` works
        """
        return len(self.labels.get(key, ())) > 1

    def serialize_data(self, key: str, data: numpy.ndarray) -> str:
        """
        :param data: [time] class indices
        :return: their labels, as text
        """
        return serialize_labels(self.labels[key], data)
