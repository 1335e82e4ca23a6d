"""What a dataset gives in an epoch, in a form that tests compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from returnn.datasets.basic import Dataset


class Seq(NamedTuple):
    """One sequence."""

    tag: str
    data: dict[str, Any]
    """data key -> values, as nested lists"""


def iterate(dataset: Dataset) -> Iterator[Seq]:
    """:return: sequences of the running epoch"""
    seq_idx = 0
    while dataset.is_less_than_num_seqs(seq_idx):
        dataset.load_seqs(seq_idx, seq_idx + 1)
        lens = dataset.get_seq_length(seq_idx)
        data = {key: dataset.get_data(seq_idx, key) for key in sorted(dataset.get_data_keys())}
        for key, value in data.items():
            assert isinstance(value, numpy.ndarray)
            assert lens[key] == (len(value) if value.ndim else 1)
        yield Seq(dataset.get_tag(seq_idx), {key: value.tolist() for key, value in data.items()})
        seq_idx += 1


def read_epoch(dataset: Dataset, epoch: int, **kwargs: Any) -> list[Seq]:
    """
    :param epoch: is started, and ended
    :param kwargs: for ``init_seq_order``
    :return: all its sequences
    """
    dataset.init_seq_order(epoch, **kwargs)
    seqs = list(iterate(dataset))
    dataset.finish_epoch()
    return seqs


def tags(seqs: list[Seq]) -> list[str]:
    """:return: one of each"""
    return [seq.tag for seq in seqs]


def unchanged(data: Any, **kwargs: Any) -> Any:
    """A ``map_seq``. Here, where a worker process finds it without importing a test module."""
    return data
