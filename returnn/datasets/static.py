"""Sequences that are given as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from .cached2 import CachedDataset2
from .data_dims import convert_data_dims
from .dataset import Dataset
from .seq import DatasetSeq


class StaticDataset(CachedDataset2):
    """All keys, dims and dtypes as in ``data``. Tags are ``seq-<corpus seq idx>``. Memory: that of ``data``."""

    def __init__(
        self,
        data: Sequence[dict[str, Any]],
        target_list: Sequence[str] | None = None,
        input_dim: int | None = None,
        output_dim: Any = None,
        **kwargs: Any,
    ):
        """
        :param data: per sequence: data key -> [time, ...]; all with the same keys
        :param target_list: keys that are not available at inference. None: all but "data"
        :param input_dim: of "data". None: from ``output_dim``, or the first sequence
        :param output_dim: see :func:`~returnn.datasets.data_dims.convert_data_dims`. What is missing comes from the
            first sequence: the last axis, or 0 if there is only time
        """
        super().__init__(**kwargs)
        if not data:
            raise ConfigError(f"{self.describe()}: there must be at least one sequence, but data is {data!r}")
        self.data = [{key: numpy.asarray(value) for key, value in seq.items()} for seq in data]
        first = self.data[0]
        for i, seq in enumerate(self.data):
            if seq.keys() != first.keys():
                raise ConfigError(
                    f"{self.describe()}: sequence {i} has the data keys {sorted(seq)},"
                    f" but the first one has {sorted(first)}"
                )
        self._keys = sorted(first, key=lambda key: (key != "data", key))
        self.target_list = [key for key in self._keys if key != "data"] if target_list is None else list(target_list)
        self.num_outputs = convert_data_dims(output_dim) if output_dim is not None else {}
        for key in self._keys:
            if key not in self.num_outputs:
                value = first[key]
                dim = value.shape[-1] if value.ndim > 1 else 0
                self.num_outputs[key] = ((input_dim if key == "data" else None) or dim, value.ndim)
        self.input_dim = input_dim
        self.num_inputs = input_dim or (self.get_data_dim("data") if "data" in self._keys else 0)
        self._num_seqs = 0
        self._seq_order: Sequence[int] = []

    _getnewargs_remap = {"output_dim": "num_outputs"}

    @classmethod
    def copy_from_dataset(cls, dataset: Dataset, start_seq_idx: int = 0, max_seqs: int | None = None) -> StaticDataset:
        """
        :param dataset: if it is in no epoch, its epoch 1 is started
        :param start_seq_idx: first seq idx to copy
        :param max_seqs: None: all
        """
        if dataset.epoch is None:
            dataset.init_seq_order(epoch=1)
        data: list[dict[str, Any]] = []
        seq_idx = start_seq_idx
        while (max_seqs is None or len(data) < max_seqs) and dataset.is_less_than_num_seqs(seq_idx):
            dataset.load_seqs(seq_idx, seq_idx + 1)
            data.append({key: dataset.get_data(seq_idx, key) for key in dataset.get_data_keys()})
            seq_idx += 1
        res = cls(data=data, target_list=dataset.get_target_list(), output_dim=dataset.num_outputs)
        res.labels = dict(dataset.labels)
        return res

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. Orders by length use the first key, "data" if there is one."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._seq_order = self._corpus_order(
            epoch,
            seq_list,
            seq_order,
            num_seqs=len(self.data),
            get_seq_len=lambda i: len(self.data[i][self._keys[0]]),
        )
        self._num_seqs = len(self._seq_order)
        return True

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        corpus_seq_idx = self._seq_order[seq_idx]
        return DatasetSeq(seq_idx, self.data[corpus_seq_idx], seq_tag=f"seq-{corpus_seq_idx}")

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices
        """
        return self._seq_order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: position in ``data``
        """
        return int(self._seq_order[seq_idx])

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        return DatasetSeq(corpus_seq_idx, self.data[corpus_seq_idx])

    def get_estimated_seq_length(self, seq_idx: int) -> int:
        """
        :return: length of the first key
        """
        return len(self.data[self._seq_order[seq_idx]][self._keys[0]])

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: size of the corpus
        """
        return len(self.data)

    def get_num_timesteps(self) -> int:
        """
        :return: frames of the first key
        """
        return sum(len(seq[self._keys[0]]) for seq in self.data)

    def get_all_tags(self) -> list[str]:
        """
        :return: ``seq-0``, ``seq-1``, ...
        """
        return [f"seq-{i}" for i in range(len(self.data))]

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: True
        """
        return True

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    def get_data_keys(self) -> list[str]:
        """
        :return: sorted, "data" first
        """
        return list(self._keys)

    def get_target_list(self) -> list[str]:
        """
        :return: keys that are not available at inference
        """
        return list(self.target_list)

    def get_data_dtype(self, key: str) -> str:
        """
        :return: that of the first sequence
        """
        dtype = self.data[0][key].dtype
        return "string" if dtype.kind in "OSU" else dtype.name
