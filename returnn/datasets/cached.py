"""Datasets with random access to a corpus whose lengths are all known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.numbers_dict import NumbersDict

from .dataset import Dataset
from .seq import DatasetSeq


class CachedDataset(Dataset):
    """Base class. Override ``get_total_num_seqs``, ``get_all_tags``, ``get_data_keys``, ``get_corpus_seq_lens``
    and ``read_corpus_data``. Sequences are read when their data is asked for.
    """

    seqs_in_any_order = True

    def __init__(self, cache_byte_size: int = 0, **kwargs: Any):
        """
        :param cache_byte_size: memory for the sequences that were read last. 0: none. -1: as much as needed
        """
        super().__init__(**kwargs)
        self.cache_byte_size = cache_byte_size
        self._cache = _ArrayCache(2**40 if cache_byte_size == -1 else cache_byte_size)
        self._seq_order: Sequence[int] = []
        self._shuffled_blocks: dict[str, tuple[int, numpy.ndarray]] = {}

    def get_corpus_seq_lens(self, corpus_seq_idx: int) -> dict[str, int]:
        """
        :return: length per data key
        """
        raise NotImplementedError(f"{type(self).__name__} does not override get_corpus_seq_lens")

    def _get_corpus_len(self, corpus_seq_idx: int, key: str) -> int:
        return self.get_corpus_seq_lens(corpus_seq_idx)[key]

    def get_corpus_seq_tag(self, corpus_seq_idx: int) -> str:
        """
        :return: name of the sequence
        """
        return self.get_all_tags()[corpus_seq_idx]

    def read_corpus_data(self, corpus_seq_idx: int, key: str, start: int, end: int) -> numpy.ndarray:
        """
        :return: frames start to end (exclusive) of the sequence
        """
        raise NotImplementedError(f"{type(self).__name__} does not override read_corpus_data")

    # Order.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. Orders by length use "data", else the first key.

        :return: whether the order changed
        """
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        if epoch is not None:
            print(f"Reinitialize dataset seq order for epoch {epoch}.", file=log.v4)
        old = self._seq_order
        self._shuffled_blocks = {}
        self._seq_order = self._corpus_order(
            epoch,
            seq_list,
            seq_order,
            num_seqs=0 if epoch is None else self.get_total_num_seqs(),
            get_seq_len=self._get_len_for_order,
        )
        return not numpy.array_equal(old, self._seq_order)

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        self._shuffled_blocks = {}
        if free_resources:
            self._cache.clear()

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        lens = self.get_corpus_seq_lens(corpus_seq_idx)
        return lens["data"] if "data" in lens else next(iter(lens.values()))

    @property
    def num_seqs(self) -> int:
        """
        :return: number of sequences of this epoch
        """
        return len(self._seq_order)

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
        :return: position in the whole corpus
        """
        return int(self._seq_order[seq_idx])

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

    # Data.

    def load_seqs(self, start: int, end: int) -> None:
        """Nothing is loaded before it is asked for."""
        assert 0 <= start <= end, f"{self.describe()}: load_seqs({start}, {end})"

    def is_cached(self, start: int, end: int) -> bool:
        """
        :return: True, see :meth:`load_seqs`
        """
        return True

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: name of the sequence
        """
        return self.get_corpus_seq_tag(int(self._seq_order[seq_idx]))

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: length per data key
        """
        return NumbersDict(self.get_corpus_seq_lens(int(self._seq_order[seq_idx])))

    def get_estimated_seq_length(self, seq_idx: int) -> int:
        """
        :return: length that orders by length use
        """
        return self._get_len_for_order(int(self._seq_order[seq_idx]))

    def get_data(self, seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: [time, ...]
        """
        if self.shuffle_frames_of_nseqs:
            return self._get_shuffled_frames(seq_idx, key)
        return self.get_corpus_data(int(self._seq_order[seq_idx]), key)

    def get_data_slice(self, seq_idx: int, key: str, start_frame: int, end_frame: int) -> numpy.ndarray:
        """
        :return: [end_frame - start_frame, ...]
        """
        if self.shuffle_frames_of_nseqs or self.cache_byte_size or self.window > 1:
            return self.get_data(seq_idx, key)[start_frame:end_frame]
        corpus_seq_idx = int(self._seq_order[seq_idx])
        end_frame = min(end_frame, self._get_corpus_len(corpus_seq_idx, key))
        return self.read_corpus_data(corpus_seq_idx, key, min(start_frame, end_frame), end_frame)

    def get_corpus_data(self, corpus_seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: [time, ...], from the cache if it is there
        """
        data = self._cache.get((corpus_seq_idx, key))
        if data is None:
            data = self.read_corpus_data(corpus_seq_idx, key, 0, self._get_corpus_len(corpus_seq_idx, key))
            self._cache.put((corpus_seq_idx, key), data)
        return data

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        features = {key: self.get_corpus_data(corpus_seq_idx, key) for key in self.get_data_keys()}
        return DatasetSeq(corpus_seq_idx, features, seq_tag=self.get_corpus_seq_tag(corpus_seq_idx))

    def _get_shuffled_frames(self, seq_idx: int, key: str) -> numpy.ndarray:
        """:return: frames of the sequences around, by chance; for all keys the same chance"""
        first = seq_idx - seq_idx % self.shuffle_frames_of_nseqs
        block = [int(i) for i in self._seq_order[first : first + self.shuffle_frames_of_nseqs]]
        lens = [self.get_corpus_seq_lens(i) for i in block]
        if any(n[k] != n[key] for n in lens for k in self.get_data_keys()):
            raise ConfigError(
                f"{self.describe()}: shuffle_frames_of_nseqs needs the same length for all data keys of a sequence,"
                f" but among the sequences from {self.get_tag(first)!r} on there are {lens}"
            )
        if self._shuffled_blocks.get(key, (None,))[0] != first:
            frames = numpy.concatenate([self.get_corpus_data(i, key) for i in block])
            frames = frames[numpy.random.RandomState(first).permutation(len(frames))]
            self._shuffled_blocks[key] = (first, frames)
        start = sum(n[key] for n in lens[: seq_idx - first])
        return self._shuffled_blocks[key][1][start : start + lens[seq_idx - first][key]]


class _ArrayCache:
    """Arrays that were used last, up to a number of bytes."""

    def __init__(self, max_bytes: int):
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._arrays: OrderedDict[tuple[int, str], numpy.ndarray] = OrderedDict()

    def get(self, key: tuple[int, str]) -> numpy.ndarray | None:
        """
        :return: the array, if it is there
        """
        if key not in self._arrays:
            return None
        self._arrays.move_to_end(key)
        return self._arrays[key]

    def put(self, key: tuple[int, str], value: numpy.ndarray) -> None:
        """Adds it, unless it is larger than all the space."""
        if value.nbytes > self._max_bytes:
            return
        self._arrays[key] = value
        self._num_bytes += value.nbytes
        while self._num_bytes > self._max_bytes:
            self._num_bytes -= self._arrays.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Drops all."""
        self._arrays.clear()
        self._num_bytes = 0
