"""Several epochs as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..cached2 import CachedDataset2
from ..create import init_dataset
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq import DatasetSeq
from ..sub_reader import known_num_seqs, known_seq_order, options_without_effect, read_seq
from .key_sources import HasKeySources, read_corpus_seq


class MultiEpochDataset(HasKeySources, CachedDataset2):
    """Epoch e is the epochs (e - 1) * multi_epoch + 1 to e * multi_epoch of another dataset, in a row. Keys, dims, tags
    as there."""

    _getnewargs_remap = {"dataset": "_dataset_options"}

    def __init__(self, *, dataset: Any, multi_epoch: int, **kwargs: Any):
        """
        :param dataset: see :func:`~returnn.datasets.create.init_dataset`
        :param multi_epoch: number of its epochs that are one here
        """
        super().__init__(**kwargs)
        if not isinstance(multi_epoch, int) or multi_epoch < 1:
            raise ConfigError(f"{self.describe()}: multi_epoch must be an int, at least 1, but is {multi_epoch!r}")
        self._dataset_options = dataset
        self.multi_epoch = multi_epoch
        self.dataset: Dataset | None = None
        self._inner_epochs: list[int] = []
        self._orders: list[Any] | None = []
        self._inner_no = 0
        self._first_of_inner = 0
        self._num_seqs = 0
        options_without_effect(self, ("partition_epoch", "repeat_epoch"), kwargs, where="the dataset inside")

    def initialize(self) -> None:
        """Makes the other dataset."""
        if self.dataset is None:
            default = {"name": f"{self.name}_sub"}
            self.dataset = init_dataset(self._dataset_options, default_kwargs=default, parent_dataset=self)
            self.set_all_keys_from(self.dataset)
        super().initialize()

    def _get_dataset(self) -> Dataset:
        assert self.dataset is not None, f"{self.describe()} is not initialized"
        return self.dataset

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. Given sequences are all in the first of the inner epochs."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        dataset = self._get_dataset()
        self._inner_no = self._first_of_inner = 0
        self._num_seqs, self._orders = 0, []
        if epoch is None:
            self._inner_epochs = []
            dataset.init_seq_order(epoch=None)
            return True
        first = (epoch - 1) * self.multi_epoch + 1
        given = seq_list is not None or seq_order is not None
        self._inner_epochs = list(range(first, first + (1 if given else self.multi_epoch)))
        sizes: list[int | None] = []
        for inner in reversed(self._inner_epochs):  # the first one last, so that it is ready to be read
            dataset.init_seq_order(epoch=inner, seq_list=seq_list, seq_order=seq_order)
            sizes.append(known_num_seqs(dataset))
            self._orders.append(known_seq_order(dataset))
            if sizes[-1] is None:
                break
        if None in sizes:
            self._num_seqs, self._orders = None, None
            if len(self._inner_epochs) > 1:
                dataset.init_seq_order(epoch=first)
        else:
            self._num_seqs = sum(n for n in sizes if n is not None)
            self._orders.reverse()
            if any(order is None for order in self._orders):
                self._orders = None
        return True

    @property
    def estimated_num_seqs(self) -> int | None:
        """
        :return: for an unknown number: as if all inner epochs were as long as the current one
        """
        if self._num_seqs is not None or self._num_seqs_found is not None:
            return self.num_seqs
        estimate = self._get_dataset().estimated_num_seqs
        return self._estimated_num_seqs if estimate is None else estimate * len(self._inner_epochs)

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        while self._inner_no < len(self._inner_epochs):
            seq = read_seq(self._get_dataset(), seq_idx - self._first_of_inner)
            if seq is not None:
                seq.seq_idx = seq_idx
                parts = len(self._inner_epochs)
                if self._num_seqs is not None:
                    seq.complete_frac = None
                elif seq.complete_frac is not None:
                    seq.complete_frac = (self._inner_no + seq.complete_frac) / parts
                return seq
            self._inner_no += 1
            self._first_of_inner = seq_idx
            if self._inner_no < len(self._inner_epochs):
                self._get_dataset().init_seq_order(epoch=self._inner_epochs[self._inner_no])
        return None

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        self._get_dataset().finish_epoch(free_resources=free_resources)

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus indices of the other dataset
        """
        if self._orders is None:
            raise OptionalNotImplementedError(
                f"{self.describe()}: {self._get_dataset().describe()} cannot tell its order"
            )
        if not self._orders:
            return []
        return numpy.concatenate([numpy.asarray(order, dtype="int64") for order in self._orders])  # type: ignore[return-value]

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: whether the order is known
        """
        return self._orders is not None and self._get_dataset().have_corpus_seq_idx()

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: that in the other dataset
        """
        assert self._orders is not None
        for order in self._orders:
            if seq_idx < len(order):
                return int(order[seq_idx])
            seq_idx -= len(order)
        raise IndexError(f"{self!r}: there is no sequence {seq_idx}")

    def have_get_corpus_seq(self) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_dataset().have_get_corpus_seq()

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: as the other dataset
        """
        return read_corpus_seq(self._get_dataset(), corpus_seq_idx)

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: as the other dataset
        """
        return self._get_dataset().get_total_num_seqs(fast=fast)

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: as the other dataset
        """
        return self._get_dataset().get_all_tags()

    def supports_sharding(self) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_dataset().supports_sharding()
