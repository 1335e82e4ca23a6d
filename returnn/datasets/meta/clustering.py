"""The cluster of each sequence, say its speaker, as one more data key."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.numbers_dict import NumbersDict
from returnn.util.suggest import file_not_found

from ..batching import SeqFrames
from ..create import init_dataset
from ..seq import DatasetSeq
from .delegating import DelegatingDataset

_item = re.compile(r'<map-item\s+key="([^"]*)"\s+value="([^"]*)"\s*/>')
_key = "cluster_idx"


class ClusteringDataset(DelegatingDataset):
    """A dataset with the data key "cluster_idx": [1] int32, the cluster of the sequence."""

    def __init__(
        self, dataset: Any, cluster_map_file: str, n_clusters: int, single_cluster: bool = False, **kwargs: Any
    ):
        """
        :param dataset: see :func:`~returnn.datasets.create.init_dataset`
        :param cluster_map_file: lines ``<map-item key="TAG" value="IDX"/>``, and ``<coprus-key-map>`` (so spelled) or
            ``<corpus-key-map>`` within the first three lines
        :param n_clusters: number of clusters
        :param single_cluster: all sequences of a batch are from one cluster
        """
        super().__init__(**kwargs)
        self.dataset = dataset
        self.cluster_map_file = cluster_map_file
        self.n_clusters = n_clusters
        self.single_cluster = single_cluster
        self._clusters: dict[str, int] = {}

    def initialize(self) -> None:
        """Makes the dataset and reads the map."""
        if self.sub is None:
            self._clusters = _read_map(self.cluster_map_file, self.n_clusters, self.describe())
            self.sub = init_dataset(self.dataset, default_kwargs={"name": f"{self.name}_sub"}, parent_dataset=self)
            self.set_all_keys_from(self.sub)
            if _key in self.sub.get_data_keys():
                raise ConfigError(f"{self.describe()}: {self.sub.describe()} already has the data key {_key!r}")
            assert self.num_outputs is not None
            self.num_outputs[_key] = (self.n_clusters, 1)
        super().initialize()

    def get_data_keys(self) -> list[str]:
        """
        :return: those of the dataset, and "cluster_idx"
        """
        return [*super().get_data_keys(), _key]

    def get_target_list(self) -> list[str]:
        """
        :return: those of the dataset, and "cluster_idx"
        """
        return [*super().get_target_list(), _key]

    def get_cluster_of(self, tag: str) -> int:
        """
        :param tag: of a sequence
        """
        try:
            return self._clusters[tag]
        except KeyError:
            raise UserError(
                f"{self.describe()}: cluster_map_file {self.cluster_map_file!r} has no cluster for the sequence"
                f" {tag!r}, but for example for {next(iter(self._clusters), None)!r}"
            ) from None

    def _batch_runs(self, frames: Iterator[SeqFrames]) -> Iterator[Iterator[SeqFrames]]:
        if not self.single_cluster:
            return super()._batch_runs(frames)
        runs = itertools.groupby(frames, key=lambda seq: self.get_cluster_of(self.get_tag(seq[0])))
        return (run for _, run in runs)

    def get_data(self, seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: [time, ...]; "cluster_idx": [1]
        """
        if key == _key:
            return numpy.array([self.get_cluster_of(self.get_tag(seq_idx))], dtype="int32")
        return super().get_data(seq_idx, key)

    def get_data_slice(self, seq_idx: int, key: str, start_frame: int, end_frame: int) -> numpy.ndarray:
        """
        :return: [end_frame - start_frame, ...]
        """
        if key == _key:
            return self.get_data(seq_idx, key)[start_frame:end_frame]
        return super().get_data_slice(seq_idx, key, start_frame, end_frame)

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: length per data key
        """
        return NumbersDict({**super().get_seq_length(seq_idx).dict, _key: 1})

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        seq = super().get_corpus_seq(corpus_seq_idx)
        cluster = numpy.array([self.get_cluster_of(seq.seq_tag)], dtype="int32")
        return DatasetSeq(corpus_seq_idx, {**seq.features, _key: cluster}, seq_tag=seq.seq_tag)


def _read_map(filename: str, num_clusters: int, owner: str) -> dict[str, int]:
    try:
        with open(filename, encoding="utf8") as f:
            lines = f.read().splitlines()
    except FileNotFoundError:
        raise ConfigError(f"{owner}: {file_not_found('cluster_map_file', filename)}") from None
    if not any(marker in line for line in lines[:3] for marker in ("<coprus-key-map>", "<corpus-key-map>")):
        raise ConfigError(
            f"{owner}: cluster_map_file {filename!r} is no map, there is no <coprus-key-map> in its first 3 lines"
        )
    res = {}
    for line in lines:
        for tag, value in _item.findall(line):
            if not value.isdigit() or int(value) >= num_clusters:
                raise ConfigError(
                    f"{owner}: cluster_map_file {filename!r}: the cluster of {tag!r} must be in 0..{num_clusters - 1},"
                    f" but is {value!r}"
                )
            res[tag] = int(value)
    return res
