"""A dataset that passes on what another one has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.numbers_dict import NumbersDict

from ..dataset import Dataset
from ..seq import DatasetSeq
from .key_sources import HasKeySources, read_corpus_seq


class DelegatingDataset(HasKeySources, Dataset):
    """Base class. Set ``sub`` and the key sources in ``initialize``."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.sub: Dataset | None = None

    def _get_sub(self) -> Dataset:
        assert self.sub is not None, f"{self.describe()} is not initialized"
        return self.sub

    @property
    def seqs_in_any_order(self) -> bool:  # type: ignore[override]  # a class attribute there
        """
        :return: that of the other dataset
        """
        return self._get_sub().seqs_in_any_order

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch of the other dataset."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        return self._get_sub().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch of the other dataset."""
        super().finish_epoch(free_resources=free_resources)
        self._get_sub().finish_epoch(free_resources=free_resources)

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_current_seq_order()

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_sub().have_corpus_seq_idx()

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_corpus_seq_idx(seq_idx)

    def have_get_corpus_seq(self) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_sub().have_get_corpus_seq()

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: as the other dataset
        """
        return read_corpus_seq(self._get_sub(), corpus_seq_idx)

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_sub().supports_seq_order_sorting()

    def supports_sharding(self) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_sub().supports_sharding()

    @property
    def num_seqs(self) -> int:
        """
        :return: as the other dataset
        """
        return self._get_sub().num_seqs

    @property
    def estimated_num_seqs(self) -> int | None:
        """
        :return: as the other dataset
        """
        return self._get_sub().estimated_num_seqs or self._estimated_num_seqs

    def is_less_than_num_seqs(self, n: int) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_sub().is_less_than_num_seqs(n)

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_total_num_seqs(fast=fast)

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_all_tags()

    def get_num_timesteps(self) -> int | NumbersDict:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_num_timesteps()

    def get_complete_frac(self, sorted_seq_idx: int, *, allow_only_lr_suitable: bool = False) -> float | None:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_complete_frac(sorted_seq_idx, allow_only_lr_suitable=allow_only_lr_suitable)

    def load_seqs(self, start: int, end: int) -> None:
        """Loads them in the other dataset."""
        self._get_sub().load_seqs(start, end)

    def is_cached(self, start: int, end: int) -> bool:
        """
        :return: as the other dataset
        """
        return self._get_sub().is_cached(start, end)

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_seq_length(seq_idx)

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_estimated_seq_length(seq_idx)

    def get_data(self, seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_data(seq_idx, key)

    def get_data_slice(self, seq_idx: int, key: str, start_frame: int, end_frame: int) -> numpy.ndarray:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_data_slice(seq_idx, key, start_frame, end_frame)

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: as the other dataset
        """
        return self._get_sub().get_tag(seq_idx)
