"""Sequences of a dataset glued together, as a list says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from returnn.util.cache_manager import cf
from returnn.util.errors import ConfigError, UserError

from ..cached2 import CachedDataset2
from ..create import init_dataset
from ..dataset import Dataset
from ..seq import DatasetSeq
from ..seq_lists import load_seq_lens, load_seq_list
from .epoch_wise_filter import EpochWiseFilter
from .key_sources import HasKeySources


class ConcatSeqsDataset(HasKeySources, CachedDataset2):
    """A line of the list is a sequence: the tags of those of another dataset which are glued together. The line is the
    tag. Keys, dims, dtypes: as there. Memory: the list."""

    _getnewargs_remap = {"dataset": "_dataset_options"}

    def __init__(
        self,
        dataset: Any,
        seq_list_file: str,
        seq_len_file: str | None = None,
        seq_tag_delim: str = ";",
        remove_in_between_postfix: Mapping[str, int] | None = None,
        repeat_in_between_last_frame_up_to_multiple_of: Mapping[str, int] | None = None,
        pad_narrow_data_to_multiple_of_target_len: Mapping[str, tuple[str, int]] | None = None,
        use_cache_manager: bool = False,
        epoch_wise_filter: Any = None,
        **kwargs: Any,
    ):
        """
        :param dataset: see :func:`~returnn.datasets.create.init_dataset`
        :param seq_list_file: lines ``tag1;tag2``
        :param seq_len_file: of the single sequences, see :func:`~returnn.datasets.seq_lists.load_seq_lens`; needed for
            orders by length and for ``epoch_wise_filter``
        :param seq_tag_delim: between the tags
        :param remove_in_between_postfix: data key -> label, which must be the last one of each sequence; it is dropped
            of all but the last sequence of a line
        :param repeat_in_between_last_frame_up_to_multiple_of: data key -> number; the last frame is repeated until the
            length is a multiple of it, for all but the last sequence of a line
        :param pad_narrow_data_to_multiple_of_target_len: data key -> (target key, number); the length becomes that of
            the target in the dataset times the number, by a cut or by repeating the last frame, for all but the last
            sequence of a line
        :param use_cache_manager: get the files by the external command ``cf``, if there is one
        :param epoch_wise_filter: a :class:`EpochWiseFilter`, or the dict for one
        """
        super().__init__(**kwargs)
        if not seq_tag_delim:
            raise ConfigError(f"{self.describe()}: seq_tag_delim must not be empty")
        self._dataset_options = dataset
        self.seq_list_file = seq_list_file
        self.seq_len_file = seq_len_file
        self.seq_tag_delim = seq_tag_delim
        self.remove_in_between_postfix = dict(remove_in_between_postfix or {})
        self.repeat_in_between_last_frame_up_to_multiple_of = dict(repeat_in_between_last_frame_up_to_multiple_of or {})
        self.pad_narrow_data_to_multiple_of_target_len = dict(pad_narrow_data_to_multiple_of_target_len or {})
        self.use_cache_manager = use_cache_manager
        self.epoch_wise_filter = epoch_wise_filter
        self._filter = EpochWiseFilter.from_option(epoch_wise_filter, self.describe())
        self.dataset: Dataset | None = None
        self._tags: list[str] = []
        self._order: Sequence[int] = []
        self._first_sub_seq: numpy.ndarray = numpy.zeros(1, dtype="int64")
        self._num_seqs = 0

    def initialize(self) -> None:
        """Makes the dataset and reads the list."""
        if self.dataset is None:
            extra = {"name": f"{self.name}_subdataset", "_num_shards": 1, "_shard_index": 0}
            self.dataset = init_dataset(self._dataset_options, extra, parent_dataset=self)
            self.set_all_keys_from(self.dataset)
            tags = load_seq_list(self._file(self.seq_list_file))
            if isinstance(tags, dict) or not tags:
                raise ConfigError(
                    f"{self.describe()}: seq_list_file {self.seq_list_file!r} must have a line per sequence"
                )
            self._tags = tags
            self._check_keys()
        super().initialize()

    def _file(self, filename: str) -> str:
        return cf(filename) if self.use_cache_manager else filename

    def _check_keys(self) -> None:
        keys = self.get_data_keys()
        for option in (
            "remove_in_between_postfix",
            "repeat_in_between_last_frame_up_to_multiple_of",
            "pad_narrow_data_to_multiple_of_target_len",
        ):
            for key, value in getattr(self, option).items():
                used = [key, value[0]] if isinstance(value, (tuple, list)) else [key]
                unknown = next((k for k in used if k not in keys), None)
                if unknown is not None:
                    raise ConfigError(
                        f"{self.describe()}: {option} has the data key {unknown!r}, but there are: {', '.join(keys)}"
                    )

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. The length of a sequence, for the order, is the sum of those in ``seq_len_file``."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        assert self.dataset is not None
        get_seq_len = self._get_len_for_order if self.seq_len_file else None
        order = self._corpus_order(epoch, seq_list, seq_order, num_seqs=len(self._tags), get_seq_len=get_seq_len)
        if self._filter and seq_list is None and seq_order is None:
            order = self._filter.filter(epoch, order, self._get_len_for_order)
        self._order = order
        self._num_seqs = len(order)
        if epoch is None:
            self.dataset.init_seq_order(epoch=None)
            return True
        sub_tags = [self._split(i) for i in order]
        self._first_sub_seq = numpy.cumsum([0, *map(len, sub_tags)])
        self.dataset.init_seq_order(epoch=epoch, seq_list=[tag for tags in sub_tags for tag in tags])
        return True

    def _split(self, corpus_seq_idx: int) -> list[str]:
        return self._tags[corpus_seq_idx].split(self.seq_tag_delim)

    def _get_len_for_order(self, corpus_seq_idx: int) -> float:
        if not self.seq_len_file:
            raise ConfigError(f"{self.describe()}: epoch_wise_filter needs seq_len_file")
        filename = self._file(self.seq_len_file)
        lens = load_seq_lens(filename)
        try:
            return sum(lens[tag] for tag in self._split(corpus_seq_idx))
        except KeyError as exc:
            raise UserError(
                f"{self.describe()}: seq_len_file {filename!r} has no length for {exc}, which is in seq_list_file"
                f" {self.seq_list_file!r}; tags there are for example {next(iter(lens), None)!r}"
            ) from None

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        assert self.dataset is not None
        start, end = self._first_sub_seq[seq_idx : seq_idx + 2].tolist()
        self.dataset.load_seqs(start, end)
        parts: dict[str, list[numpy.ndarray]] = {key: [] for key in self._key_sources}
        for sub_idx in range(start, end):
            features = {key: self.dataset.get_data(sub_idx, key) for key in parts}
            if sub_idx < end - 1:
                features = self._in_between(features, self.dataset.get_tag(sub_idx))
            for key, value in features.items():
                parts[key].append(value)
        data = {key: numpy.concatenate(values) if len(values) > 1 else values[0] for key, values in parts.items()}
        return DatasetSeq(seq_idx, data, seq_tag=self.get_tag(seq_idx))

    def _in_between(self, features: dict[str, numpy.ndarray], tag: str) -> dict[str, numpy.ndarray]:
        """:return: what is used of a sequence that is not the last one of its line"""
        res = dict(features)
        for key, label in self.remove_in_between_postfix.items():
            if not len(res[key]) or res[key][-1] != label:
                raise UserError(
                    f"{self.describe()}: data key {key!r} of the sequence {tag!r} should end with the label {label},"
                    f" see remove_in_between_postfix, but its end is {res[key][-5:].tolist()}"
                )
            res[key] = res[key][:-1]
        for key, multiple in self.repeat_in_between_last_frame_up_to_multiple_of.items():
            res[key] = _with_len(res[key], -(-len(res[key]) // multiple) * multiple)
        for key, (target, factor) in self.pad_narrow_data_to_multiple_of_target_len.items():
            if not len(res[key]) and len(features[target]):
                raise UserError(
                    f"{self.describe()}: data key {key!r} of the sequence {tag!r} is empty, cannot be padded"
                )
            res[key] = _with_len(res[key], len(features[target]) * factor)
        return res

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        if self.dataset is not None:
            self.dataset.finish_epoch(free_resources=free_resources)

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: the line of the list
        """
        return self._tags[self._order[seq_idx]]

    def get_all_tags(self) -> list[str]:
        """
        :return: the lines of the list
        """
        return self._tags

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: number of lines
        """
        return len(self._tags)

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: numbers of lines
        """
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: number of the line
        """
        return int(self._order[seq_idx])

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: sum of the lengths in ``seq_len_file``
        """
        if not self.seq_len_file:
            return super().get_estimated_seq_length(seq_idx)
        return self._get_len_for_order(self.get_corpus_seq_idx(seq_idx))

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether lengths are known
        """
        return bool(self.seq_len_file)

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True


def _with_len(data: numpy.ndarray, length: int) -> numpy.ndarray:
    """:return: cut, or with the last frame repeated"""
    if length <= len(data):
        return data[:length]
    return numpy.concatenate([data, numpy.repeat(data[-1:], length - len(data), axis=0)])
