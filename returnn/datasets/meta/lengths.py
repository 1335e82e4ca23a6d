"""Lengths of the sequences of a dataset, for orders by length."""

from __future__ import annotations

from collections.abc import Callable

from returnn.log import log

from ..cached import CachedDataset
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq_lists import load_seq_lens


def lengths_of_epoch(dataset: Dataset, key: str | None = None) -> Callable[[int], float]:
    """
    :param dataset: in an epoch, whose sequences may have to be loaded, with growing indices
    :param key: data key that is meant, if the dataset tells lengths per key. None, or not there: any length it tells
    :return: seq idx -> length
    """
    if isinstance(dataset, CachedDataset) and key in dataset.get_data_keys():
        return lambda seq_idx: dataset.get_seq_length(seq_idx)[key]
    if dataset.seq_order_seq_lens_file:
        lens = load_seq_lens(dataset.seq_order_seq_lens_file)
        if all(dataset.get_tag(i) in lens for i in range(min(1, _num_seqs(dataset)))):
            return lambda seq_idx: lens[dataset.get_tag(seq_idx)]
    try:
        if _num_seqs(dataset):
            dataset.get_estimated_seq_length(0)
        return dataset.get_estimated_seq_length
    except OptionalNotImplementedError:
        pass
    print(
        f"{dataset!r}: all its sequences are loaded to know their lengths. A file with lengths is faster: see the"
        " option seq_order_seq_lens_file.",
        file=log.v3,
    )

    def load_length(seq_idx: int) -> float:
        dataset.load_seqs(seq_idx, seq_idx + 1)
        length = dataset.get_seq_length(seq_idx)
        keys = [key, "data", *dataset.get_data_keys()]
        return next(length[k] for k in keys if k is not None and k in length)

    return load_length


def _num_seqs(dataset: Dataset) -> int:
    return dataset.num_seqs
