"""Base of all generated datasets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..cached2 import CachedDataset2
from ..data_dims import convert_data_dims, sliding_window
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq import DatasetSeq


class GeneratingDataset(CachedDataset2):
    """Base class. Override ``generate_seq``, and use only ``self.random`` for what is random there.

    ``self.random`` is seeded by (seed of the epoch, corpus seq idx) before each call. So what a sequence holds depends
    on nothing else, above all not on the order. Tags are ``seq-<corpus seq idx>``.
    """

    sorted_needs_lengths = False  # "sorted" is the default of "dev" and "eval"
    _input_classes: Sequence[str] | None = None
    _output_classes: Sequence[str] | None = None
    _getnewargs_remap = {"num_seqs": "_total_num_seqs", "output_dim": "num_outputs"}

    def __init__(self, input_dim: int | None, output_dim: Any, num_seqs: float = math.inf, **kwargs: Any):
        """
        :param input_dim: features of a frame of "data", before ``window``; None: there is no "data", or it is in
            ``output_dim``
        :param output_dim: see :func:`~returnn.datasets.data_dims.convert_data_dims`
        :param num_seqs: size of the corpus; infinite only with ``seq_ordering="default"``
        """
        super().__init__(**kwargs)
        self.input_dim = input_dim
        self.num_inputs = input_dim or 0
        self.num_outputs = convert_data_dims(output_dim)
        if input_dim is not None and "data" not in self.num_outputs:
            self.num_outputs["data"] = (input_dim * self.window, 2)
        self._total_num_seqs = num_seqs
        self._num_seqs = 0
        self._seq_order: Sequence[int] | None = None
        self.random = numpy.random.RandomState(1)

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        raise NotImplementedError(f"{type(self).__name__} does not override generate_seq")

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        if self._total_num_seqs == math.inf and seq_list is None and seq_order is None:
            unordered = self.seq_ordering in ("default", "sorted", "sorted_reverse")
            if not unordered or self.partition_epoch > 1 or self._num_shards > 1:
                raise ConfigError(f'{self.describe()} is infinite, so only seq_ordering="default" is possible')
            self._seq_order = None
            self._num_seqs = 0 if epoch is None else math.inf
            return True
        order = self._corpus_order(epoch, seq_list, seq_order, num_seqs=self._num_seqs_for_order())
        self._seq_order = order
        self._num_seqs = len(order)
        return True

    def _num_seqs_for_order(self) -> int:
        return 0 if self._total_num_seqs == math.inf else int(self._total_num_seqs)

    def _corpus_seq_idx(self, seq_idx: int) -> int:
        return seq_idx if self._seq_order is None else int(self._seq_order[seq_idx])

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        seq = self._generate(self._corpus_seq_idx(seq_idx))
        seq.seq_idx = seq_idx
        return seq

    def _generate(self, corpus_seq_idx: int) -> DatasetSeq:
        self.random.seed((self._get_random_seed_for_epoch(self.epoch), corpus_seq_idx))
        seq = self.generate_seq(corpus_seq_idx)
        seq.seq_tag = f"seq-{corpus_seq_idx}"
        if self.window > 1 and "data" in seq.features:
            seq.features["data"] = sliding_window(seq.features["data"], self.window)
        return seq

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices
        """
        if self._seq_order is None:
            raise OptionalNotImplementedError(f"{self.describe()} is infinite")
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
        return self._corpus_seq_idx(seq_idx)

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence as it is in the current epoch
        """
        return self._generate(corpus_seq_idx)

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: size of the corpus; can be infinite
        """
        return self._total_num_seqs  # type: ignore[return-value]  # an int, or infinite

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: ``seq-0``, ``seq-1``, ...
        """
        if self._total_num_seqs == math.inf:
            raise OptionalNotImplementedError(f"{self.describe()} is infinite")
        return [f"seq-{i}" for i in range(int(self._total_num_seqs))]

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    def get_data_dtype(self, key: str) -> str:
        """
        :return: int32 or float32, whatever the arrays are, so that a network need not care
        """
        return Dataset.get_data_dtype(self, key)
