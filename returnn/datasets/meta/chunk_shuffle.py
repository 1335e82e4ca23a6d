"""Chunks of sequences as sequences, in random order."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..batching import Batch, BatchSeqCopyPart
from ..cached2 import CachedDataset2
from ..create import init_dataset
from ..dataset import Dataset
from ..seq import DatasetSeq
from ..sub_reader import options_without_effect
from .key_sources import HasKeySources


class ChunkShuffleDataset(HasKeySources, CachedDataset2):
    """The chunks of another dataset, as its option ``chunking`` cuts them. Tags: ``<tag>.<number of the chunk>``.
    Keys and dims as there. Memory: the chunks that are shuffled together."""

    _getnewargs_remap = {"dataset": "_dataset_options"}

    def __init__(
        self,
        dataset: Any,
        chunk_shuffle_cache: int = 1000,
        batch_gen_batch_size: int = 5000,
        batch_gen_max_seqs: int = 1,
        batch_gen_recurrent_net: bool = True,
        **kwargs: Any,
    ):
        """
        :param dataset: see :func:`~returnn.datasets.create.init_dataset`
        :param chunk_shuffle_cache: so many chunks are read and shuffled together
        :param batch_gen_batch_size: the other dataset is read in batches of so many frames
        :param batch_gen_max_seqs: and so many sequences
        :param batch_gen_recurrent_net: False: sequences are laid end to end, and cut by the batch size
        """
        super().__init__(**kwargs)
        if chunk_shuffle_cache < 1:
            raise ConfigError(
                f"{self.describe()}: chunk_shuffle_cache must be positive, but is {chunk_shuffle_cache!r}"
            )
        self._dataset_options = dataset
        self.chunk_shuffle_cache = chunk_shuffle_cache
        self.batch_gen_batch_size = batch_gen_batch_size
        self.batch_gen_max_seqs = batch_gen_max_seqs
        self.batch_gen_recurrent_net = batch_gen_recurrent_net
        self.dataset: Dataset | None = None
        self._next_chunks: Iterator[DatasetSeq] = iter(())
        self._shuffled: deque[DatasetSeq] = deque()
        self._rng = random.Random(1)
        self._num_seqs = 0
        options_without_effect(self, ("partition_epoch", "repeat_epoch"), kwargs, where="the dataset inside")

    def initialize(self) -> None:
        """Makes the other dataset."""
        if self.dataset is None:
            default = {"name": f"{self.name}_sub"}
            self.dataset = init_dataset(self._dataset_options, default_kwargs=default, parent_dataset=self)
            self.set_all_keys_from(self.dataset)
        super().initialize()

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. Given sequences are those of the other dataset."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        assert self.dataset is not None
        self.dataset.init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._shuffled.clear()
        self._rng = random.Random(epoch)
        self._num_seqs = 0 if epoch is None else None
        self._next_chunks = iter(()) if epoch is None else self._iter_chunks(self.dataset)
        return True

    def _iter_chunks(self, dataset: Dataset) -> Iterator[DatasetSeq]:
        keys = dataset.get_data_keys()
        batches = dataset.generate_batches(
            recurrent_net=self.batch_gen_recurrent_net,
            batch_size=self.batch_gen_batch_size,
            max_seqs=self.batch_gen_max_seqs,
            used_data_keys=keys,
        )
        last_seq_idx, number = -1, 0
        while batches.has_more():
            batch: Batch = batches.peek_next_n(1)[0]
            batches.advance(1)
            assert batch.start_seq is not None and batch.end_seq is not None
            dataset.load_seqs(batch.start_seq, batch.end_seq)
            for part in batch.seqs:
                number = number + 1 if part.seq_idx == last_seq_idx else 0
                last_seq_idx = part.seq_idx
                features = {key: _frames(dataset, part, key) for key in keys}
                yield DatasetSeq(0, features, seq_tag=f"{dataset.get_tag(part.seq_idx)}.{number}")

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if not self._shuffled:
            block = [seq for _, seq in zip(range(self.chunk_shuffle_cache), self._next_chunks, strict=False)]
            self._rng.shuffle(block)
            self._shuffled.extend(block)
        if not self._shuffled:
            return None
        seq = self._shuffled.popleft()
        seq.seq_idx = seq_idx
        return seq

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        self._next_chunks = iter(())
        self._shuffled.clear()
        if self.dataset is not None:
            self.dataset.finish_epoch(free_resources=free_resources)

    def supports_sharding(self) -> bool:
        """
        :return: as the other dataset
        """
        assert self.dataset is not None
        return self.dataset.supports_sharding()


def _frames(dataset: Dataset, part: BatchSeqCopyPart, key: str) -> numpy.ndarray:
    """:return: frames of the chunk; zeros outside of the sequence, as context windows want it"""
    if dataset.get_data(part.seq_idx, key).ndim == 0:
        return dataset.get_data(part.seq_idx, key)
    start, end = int(part.seq_start_frame[key]), int(part.seq_end_frame[key])
    data = dataset.get_data_slice(part.seq_idx, key, max(start, 0), max(end, 0))
    before = min(max(-start, 0), end - start)
    after = end - start - before - len(data)
    if not before and not after:
        return data
    return numpy.pad(data, [(before, after)] + [(0, 0)] * (data.ndim - 1))
