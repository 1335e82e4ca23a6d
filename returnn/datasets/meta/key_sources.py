"""A dataset whose data keys are those of others, in the same process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..data_dims import convert_data_dims
from ..data_kinds import DataKinds
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq import DatasetSeq


class HasKeySources(DataKinds):
    """To inherit from, before the dataset class. Call :meth:`set_key_sources` in ``initialize``.

    Kinds of data are asked for when needed, since a dataset may know its dtypes only after its first sequence.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._key_sources: dict[str, tuple[Dataset, str]] = {}
        self._target_keys: list[str] = []

    def set_key_sources(self, sources: Mapping[str, tuple[Dataset, str]], targets: Sequence[str]) -> None:
        """
        :param sources: own data key -> dataset (initialized), data key there
        :param targets: those own keys that are not available at inference
        """
        self._key_sources = dict(sources)
        self._target_keys = list(targets)
        self.num_outputs = {}
        self.labels = {}
        for key, (dataset, sub_key) in sources.items():
            self.num_outputs[key] = output_of(dataset, sub_key)
            if sub_key in dataset.labels:
                self.labels[key] = dataset.labels[sub_key]

    def set_all_keys_from(self, dataset: Dataset) -> None:
        """
        :param dataset: initialized; all is as there
        """
        keys = {key: (dataset, key) for key in dataset.get_data_keys()}
        self.set_key_sources(keys, dataset.get_target_list())
        self.num_inputs = dataset.num_inputs

    def get_data_keys(self) -> list[str]:
        """
        :return: "data" first, if it is there
        """
        if not self._key_sources:
            return super().get_data_keys()
        return sorted(self._key_sources, key=lambda key: (key != "data", key))

    def get_target_list(self) -> list[str]:
        """
        :return: keys that are not available at inference
        """
        return list(self._target_keys) if self._key_sources else super().get_target_list()

    def get_data_dim(self, key: str) -> int:
        """
        :return: that of its source
        """
        if key not in self._key_sources:
            return super().get_data_dim(key)
        dataset, sub_key = self._key_sources[key]
        return dataset.get_data_dim(sub_key)

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: that of its source
        """
        if key not in self._key_sources:
            return super().is_data_sparse(key)
        dataset, sub_key = self._key_sources[key]
        return dataset.is_data_sparse(sub_key)

    def get_data_dtype(self, key: str) -> str:
        """
        :return: that of its source
        """
        if key not in self._key_sources:
            return super().get_data_dtype(key)
        dataset, sub_key = self._key_sources[key]
        return dataset.get_data_dtype(sub_key)

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: that of its source
        """
        if key not in self._key_sources:
            return super().get_data_shape(key)
        dataset, sub_key = self._key_sources[key]
        return dataset.get_data_shape(sub_key)

    def can_serialize_data(self, key: str) -> bool:
        """
        :return: that of its source
        """
        if key not in self._key_sources:
            return super().can_serialize_data(key)
        dataset, sub_key = self._key_sources[key]
        return dataset.can_serialize_data(sub_key)

    def serialize_data(self, key: str, data: numpy.ndarray) -> str:
        """
        :return: as its source does it
        """
        if key not in self._key_sources:
            return super().serialize_data(key, data)
        dataset, sub_key = self._key_sources[key]
        return dataset.serialize_data(sub_key, data)


def output_of(dataset: Dataset, key: str) -> Any:
    """
    :return: the entry of ``num_outputs``, also where there is none
    """
    outputs = dataset.num_outputs or {}
    if key in outputs:
        return outputs[key]
    return dataset.get_data_dim(key), 1 + len(dataset.get_data_shape(key))


def check_data_dims(dataset: Dataset, data_dims: Any) -> None:
    """
    :param dataset: whose keys are known
    :param data_dims: option of that name, or None
    :raises ConfigError: they are others
    """
    if data_dims is None:
        return
    for key, dims in convert_data_dims(data_dims).items():
        actual = (dataset.get_data_dim(key), 1 + len(dataset.get_data_shape(key)))
        if key not in dataset.get_data_keys():
            keys = ", ".join(dataset.get_data_keys())
            raise ConfigError(f"{dataset.describe()}: data_dims has the data key {key!r}, but there are only: {keys}")
        if isinstance(dims, tuple) and tuple(dims) != actual:
            raise ConfigError(
                f"{dataset.describe()}: data_dims says (dim, ndim) {tuple(dims)} for data key {key!r}, but it is"
                f" {actual}. The option is not needed."
            )


def read_corpus_seq(dataset: Dataset, corpus_seq_idx: int) -> DatasetSeq:
    """
    :return: the sequence
    :raises OptionalNotImplementedError: there is no random access
    """
    if not dataset.have_get_corpus_seq():
        raise OptionalNotImplementedError(f"{dataset.describe()} has no random access")
    return dataset.get_corpus_seq(corpus_seq_idx)
