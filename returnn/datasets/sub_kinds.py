"""A dataset whose keys, dims and dtypes are those of another one, which may be in another process."""

from __future__ import annotations

import dataclasses
from typing import Any

from .data_kinds import DataKinds


@dataclasses.dataclass
class SubKinds:
    """What a dataset tells about its data keys. Can be sent to another process."""

    num_inputs: int
    num_outputs: dict[str, Any]
    labels: dict[str, list[str]]
    data_keys: list[str]
    target_list: list[str]
    dims: dict[str, int]
    sparse: dict[str, bool]
    dtypes: dict[str, str]
    shapes: dict[str, list[int | None]]

    @classmethod
    def of(cls, dataset: DataKinds) -> SubKinds:
        """
        :param dataset: initialized
        """
        keys = list(dataset.get_data_keys())
        return cls(
            num_inputs=dataset.num_inputs,
            num_outputs=dict(dataset.num_outputs or {}),
            labels=dict(dataset.labels),
            data_keys=keys,
            target_list=list(dataset.get_target_list()),
            dims={key: dataset.get_data_dim(key) for key in keys},
            sparse={key: dataset.is_data_sparse(key) for key in keys},
            dtypes={key: dataset.get_data_dtype(key) for key in keys},
            shapes={key: dataset.get_data_shape(key) for key in keys},
        )


class HasSubKinds(DataKinds):
    """To inherit from, before the dataset class. Call :meth:`set_sub_kinds` in ``initialize``."""

    _sub_kinds: SubKinds | None = None

    def set_sub_kinds(self, kinds: SubKinds) -> None:
        """
        :param kinds: of the other dataset
        """
        self._sub_kinds = kinds
        self.num_inputs = kinds.num_inputs
        self.num_outputs = kinds.num_outputs
        self.labels = kinds.labels

    def get_data_keys(self) -> list[str]:
        """
        :return: those of the other dataset
        """
        return list(self._sub_kinds.data_keys) if self._sub_kinds else super().get_data_keys()

    def get_target_list(self) -> list[str]:
        """
        :return: those of the other dataset
        """
        return list(self._sub_kinds.target_list) if self._sub_kinds else super().get_target_list()

    def get_data_dim(self, key: str) -> int:
        """
        :return: that of the other dataset
        """
        if self._sub_kinds is None or key not in self._sub_kinds.dims:
            return super().get_data_dim(key)
        return self._sub_kinds.dims[key]

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: that of the other dataset
        """
        if self._sub_kinds is None or key not in self._sub_kinds.sparse:
            return super().is_data_sparse(key)
        return self._sub_kinds.sparse[key]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: that of the other dataset
        """
        if self._sub_kinds is None or key not in self._sub_kinds.dtypes:
            return super().get_data_dtype(key)
        return self._sub_kinds.dtypes[key]

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: that of the other dataset
        """
        if self._sub_kinds is None or key not in self._sub_kinds.shapes:
            return super().get_data_shape(key)
        return list(self._sub_kinds.shapes[key])
