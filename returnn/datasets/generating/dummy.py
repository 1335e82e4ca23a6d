"""Sequences of counters, for tests. Nothing here is random: values depend on the corpus index alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..seq import DatasetSeq
from .base import GeneratingDataset


class _CounterDataset(GeneratingDataset):
    """Values count on through a sequence, and from key to key. "data" starts at the corpus seq idx."""

    def __init__(
        self,
        input_dim: int | None,
        output_dim: Any,
        num_seqs: int,
        seq_len: Any,
        input_max_value: float = 10.0,
        input_shift: float | None = None,
        input_scale: float | None = None,
        **kwargs: Any,
    ):
        """
        :param input_dim: features of "data"
        :param output_dim: number of classes, or as for GeneratingDataset
        :param num_seqs: size of the corpus
        :param seq_len: number of frames
        :param input_max_value: dense values count modulo this
        :param input_shift: then added. None: minus half of that
        :param input_scale: then multiplied. None: one divided by that
        """
        super().__init__(input_dim=input_dim, output_dim=output_dim, num_seqs=num_seqs, **kwargs)
        self.seq_len = seq_len
        self.input_max_value = input_max_value
        self.input_shift = -input_max_value / 2.0 if input_shift is None else input_shift
        self.input_scale = 1.0 / input_max_value if input_scale is None else input_scale

    def _dense(self, start: int, seq_len: int, dim: int, dtype: str) -> numpy.ndarray:
        count = numpy.arange(start, start + seq_len * dim, dtype="float64") % self.input_max_value
        return ((count + self.input_shift) * self.input_scale).reshape(seq_len, dim).astype(dtype)

    @staticmethod
    def _sparse(start: int, seq_len: int, dim: int, dtype: str) -> numpy.ndarray:
        return (numpy.arange(start, start + seq_len) % dim).astype(dtype)


class DummyDataset(_CounterDataset):
    """ "data": [seq_len, input_dim] float32, "classes": [seq_len] int32."""

    def __init__(self, input_dim: int, output_dim: int, num_seqs: int, seq_len: int = 2, **kwargs: Any):
        """
        :param seq_len: number of frames of each sequence
        """
        super().__init__(input_dim=input_dim, output_dim=output_dim, num_seqs=num_seqs, seq_len=seq_len, **kwargs)

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        dim = self.input_dim or 0
        data = self._dense(seq_idx, self.seq_len, dim, "float32")
        num_classes = self.get_data_dim("classes")
        classes = self._sparse(seq_idx + self.seq_len * dim, self.seq_len, num_classes, "int32")
        return DatasetSeq(seq_idx, data, targets=classes)


class DummyDatasetMultipleSequenceLength(_CounterDataset):
    """ "data": [.., input_dim] float64, "classes": [..] int64, each with its own length."""

    def __init__(
        self, input_dim: int, output_dim: int, num_seqs: int, seq_len: dict[str, int] | None = None, **kwargs: Any
    ):
        """
        :param seq_len: data key -> number of frames. None: 10 and 20
        """
        seq_len = {"data": 10, "classes": 20} if seq_len is None else seq_len
        super().__init__(input_dim=input_dim, output_dim=output_dim, num_seqs=num_seqs, seq_len=seq_len, **kwargs)

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        dim, num_frames = self.input_dim or 0, self.seq_len["data"]
        data = self._dense(seq_idx, num_frames, dim, "float64")
        num_classes = self.get_data_dim("classes")
        classes = self._sparse(seq_idx + num_frames * dim, self.seq_len["classes"], num_classes, "int64")
        return DatasetSeq(seq_idx, data, targets=classes)


class DummyDatasetMultipleDataKeys(_CounterDataset):
    """Any keys, sparse (int32) if their ndim is 1, else dense (float32). One counter runs through the keys."""

    _getnewargs_exclude_attrs = {"input_dim"}

    def __init__(
        self,
        output_dim: dict[str, Any],
        num_seqs: int,
        seq_len: int | dict[str, int] = 20,
        data_keys: Sequence[str] = ("data", "classes"),
        **kwargs: Any,
    ):
        """
        :param output_dim: data key -> dim, or (dim, ndim)
        :param seq_len: number of frames, of all keys or per key
        :param data_keys: in the order of the counter
        """
        if isinstance(seq_len, int):
            seq_len = dict.fromkeys(data_keys, seq_len)
        super().__init__(input_dim=None, output_dim=output_dim, num_seqs=num_seqs, seq_len=seq_len, **kwargs)
        self.data_keys = list(data_keys)
        if "data" in self.data_keys:
            self.num_inputs = self.get_data_dim("data")

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        count, features = seq_idx, {}
        for key in self.data_keys:
            num_frames, dim = self.seq_len[key], self.get_data_dim(key)
            if self.is_data_sparse(key):
                features[key] = self._sparse(count, num_frames, dim, "int32")
            else:
                features[key] = self._dense(count, num_frames, dim, "float32")
            count += features[key].size
        return DatasetSeq(seq_idx, features)
