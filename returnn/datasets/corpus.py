"""Datasets with random access to a corpus of known size, where a sequence is read as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .cached2 import CachedDataset2
from .dataset import OptionalNotImplementedError
from .seq import DatasetSeq


class CorpusDataset(CachedDataset2):
    """Base class. Override ``_open_corpus``, ``get_all_tags`` and ``_read_corpus_seq``; ``_get_len_for_order`` if
    lengths are known before a sequence is read; ``_close_corpus`` if there is something to close.

    Nothing is opened before the first epoch, or before somebody asks for the size of the corpus.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._corpus_is_open = False
        self._seq_order: Sequence[int] = []
        self._num_seqs = 0

    def _open_corpus(self) -> None:
        """Finds out which sequences there are."""

    def _close_corpus(self) -> None:
        """Closes files, and drops what :meth:`_open_corpus` can get again."""

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """:return: the sequence, as it is in this epoch"""
        raise NotImplementedError(f"{type(self).__name__} does not override _read_corpus_seq")

    _get_len_for_order: Callable[[int], float] | None = None
    """corpus seq idx -> length"""

    def _filter_epoch(self, epoch: int, order: Sequence[int]) -> Sequence[int]:
        """:return: what is left of an epoch"""
        return order

    def _ensure_open(self) -> None:
        if not self._corpus_is_open:
            self._open_corpus()
            self._corpus_is_open = True

    # Order.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._seq_order = []
        given = seq_list is not None or seq_order is not None
        if given or epoch is not None:
            self._ensure_open()
            order = self._corpus_order(
                epoch, seq_list, seq_order, num_seqs=self.get_total_num_seqs(), get_seq_len=self._get_len_for_order
            )
            self._seq_order = order if given or epoch is None else self._filter_epoch(epoch, order)
        self._num_seqs = len(self._seq_order)
        return True

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        if free_resources and self._corpus_is_open:
            self._close_corpus()
            self._corpus_is_open = False
            self._seq_order = []
            self._num_seqs = 0

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

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :param fast: raise rather than open
        :return: size of the corpus
        """
        if fast and not self._corpus_is_open:
            raise OptionalNotImplementedError(f"{self.describe()} is not loaded yet")
        return len(self.get_all_tags())

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: name of the sequence, without reading it
        """
        return self.get_all_tags()[self.get_corpus_seq_idx(seq_idx)]

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: what orders by length use
        """
        if self._get_len_for_order is None:
            return super().get_estimated_seq_length(seq_idx)
        return self._get_len_for_order(self.get_corpus_seq_idx(seq_idx))

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether lengths are known
        """
        return self._get_len_for_order is not None

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    # Data.

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        seq = self._read_corpus_seq(self.get_corpus_seq_idx(seq_idx))
        seq.seq_idx = seq_idx
        return seq

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence as it is in this epoch
        """
        self._ensure_open()
        return self._read_corpus_seq(corpus_seq_idx)
