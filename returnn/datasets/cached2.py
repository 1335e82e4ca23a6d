"""Datasets that make their sequences one after another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError
from returnn.util.numbers_dict import NumbersDict

from .dataset import Dataset
from .seq import DatasetSeq


class CachedDataset2(Dataset):
    """Base class. Override ``_collect_single_seq``, and ``init_seq_order``: call super, set ``_num_seqs`` if known.

    Sequences are loaded in their order, and kept until ``load_seqs`` goes on beyond them.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._num_seqs: int | float | None = None
        """of the current epoch; None: seen when the last one is loaded"""
        self._num_seqs_found: int | None = None
        self._loaded: dict[int, DatasetSeq] = {}
        self._next_seq_idx = 0
        self._start_seq_idx = 0
        self._first_seq_keys: list[str] | None = None
        self._first_seq_dtypes: dict[str, str] = {}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        """
        :param seq_idx: called with 0, 1, 2, ... in each epoch
        :return: the sequence, or None if there is no further one
        """
        raise NotImplementedError(f"{type(self).__name__} does not override _collect_single_seq")

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._num_seqs_found = None
        self._loaded = {}
        self._next_seq_idx = 0
        self._start_seq_idx = 0
        return True

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        self._loaded = {}

    @property
    def num_seqs(self) -> int:
        """
        :return: number of sequences of this epoch, 0 without an epoch
        """
        if self._num_seqs is not None:
            return self._num_seqs  # type: ignore[return-value]  # can be infinite
        if self._num_seqs_found is not None:
            return self._num_seqs_found
        if self.epoch is None:
            return 0
        return super().num_seqs

    def is_less_than_num_seqs(self, n: int) -> bool:
        """
        :return: whether the epoch has a sequence n
        """
        try:
            return n < self.num_seqs
        except NotImplementedError:
            return n < self._next_seq_idx or self._load_up_to(n + 1)

    def _load_up_to(self, end: int) -> bool:
        """:return: whether all sequences before ``end`` are there, or were"""
        while self._next_seq_idx < end:
            seq_idx = self._next_seq_idx
            if self._num_seqs_found is not None:
                return False
            seq = self._collect_single_seq(seq_idx)
            if seq is None:
                if seq_idx == 0 and self._num_seqs != 0:
                    raise ConfigError(f"{self!r}: Not a single seq was loaded? The epoch is empty.")
                self._num_seqs_found = seq_idx
                return False
            if self._first_seq_keys is None:
                self._first_seq_keys = sorted(seq.features)
                self._first_seq_dtypes = {key: _dtype_name(value) for key, value in seq.features.items()}
            if seq_idx >= self._start_seq_idx:
                self._loaded[seq_idx] = seq
            self._next_seq_idx += 1
        return True

    def _load_seqs(self, start: int, end: int) -> None:
        assert start >= self._start_seq_idx, (
            f"{self!r}: sequences must be loaded in their order, but {start} is wanted after {self._start_seq_idx}"
        )
        self._start_seq_idx = start
        for seq_idx in [i for i in self._loaded if i < start]:
            del self._loaded[seq_idx]
        self._load_up_to(end)

    def _get_seq(self, seq_idx: int) -> DatasetSeq:
        self._load_up_to(seq_idx + 1)
        try:
            return self._loaded[seq_idx]
        except KeyError:
            why = "is over" if seq_idx < self._next_seq_idx else f"does not exist, there are {self._next_seq_idx}"
            raise IndexError(f"{self!r}: sequence {seq_idx} {why}") from None

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: length per data key; loads the sequence if needed
        """
        return self._get_seq(seq_idx).num_frames

    def get_data(self, seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: [time, ...]
        """
        return self._get_seq(seq_idx).features[key]

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: name of the sequence; loads it if needed
        """
        return self._get_seq(seq_idx).seq_tag

    def get_complete_frac(self, sorted_seq_idx: int, *, allow_only_lr_suitable: bool = False) -> float | None:
        """
        :return: what the sequence says, else as the base class
        """
        seq = self._loaded.get(sorted_seq_idx)
        if seq is not None and seq.complete_frac is not None:
            return seq.complete_frac
        return super().get_complete_frac(sorted_seq_idx, allow_only_lr_suitable=allow_only_lr_suitable)

    def _see_first_seq(self) -> bool:
        """:return: whether keys and dtypes are known"""
        if self._first_seq_keys is None and self.epoch is not None and self.is_less_than_num_seqs(0):
            self._load_up_to(1)
        return self._first_seq_keys is not None

    def get_data_keys(self) -> list[str]:
        """
        :return: those of the first sequence; before there is one, those of ``num_outputs``
        """
        return list(self._first_seq_keys or ()) if self._see_first_seq() else sorted(self.num_outputs or ())

    def get_target_list(self) -> list[str]:
        """
        :return: all keys but "data"
        """
        return [key for key in self.get_data_keys() if key != "data"]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: that of the first sequence, if there is one
        """
        return (
            self._first_seq_dtypes[key]
            if self._see_first_seq() and key in self._first_seq_dtypes
            else super().get_data_dtype(key)
        )


def _dtype_name(value: numpy.ndarray) -> str:
    return "string" if value.dtype.kind in "OSU" else value.dtype.name


class SingleStreamPipeDataset(CachedDataset2):
    """Another thread puts in the sequences. Key "data" only. One epoch; it ends when the producer says so, or with the
    main thread."""

    def __init__(self, dim: int, ndim: int, sparse: bool = False, dtype: str = "float32", **kwargs: Any):
        """
        :param dim: number of features, or of classes
        :param ndim: of an array, with time
        :param sparse: class indices
        :param dtype: of the arrays
        """
        super().__init__(**kwargs)
        self._dim, self._ndim, self._sparse, self._dtype = dim, ndim, sparse, dtype
        self.num_inputs = dim
        self.num_outputs = {"data": {"dim": dim, "shape": self._shape(), "sparse": sparse, "dtype": dtype}}
        self._condition = threading.Condition()
        self._waiting: list[DatasetSeq] = []
        self._num_added = 0
        self._finished = False

    def _shape(self) -> tuple[int | None, ...]:
        dims: list[int | None] = [None] * self._ndim
        if not self._sparse and self._ndim > 1:
            dims[-1] = self._dim
        return tuple(dims)

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence, so nobody has to wait for one
        """
        return ["data"]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return Dataset.get_data_dtype(self, key)

    def producer_add_data(self, data: numpy.ndarray, seq_tag: str | None = None) -> None:
        """
        :param data: [time, ...]
        :param seq_tag: None: ``seq-<number>``
        """
        with self._condition:
            assert not self._finished, f"{self!r}: the producer has finished"
            self._waiting.append(DatasetSeq(self._num_added, data, seq_tag=seq_tag))
            self._num_added += 1
            self._condition.notify_all()

    def producer_set_finished(self) -> None:
        """There will be no further sequence."""
        with self._condition:
            self._finished = True
            self._condition.notify_all()

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        with self._condition:
            while not self._waiting and not self._finished and threading.main_thread().is_alive():
                self._condition.wait(timeout=1.0)  # the producer may wait for people, so only the program ends this
            return self._waiting.pop(0) if self._waiting else None
