"""Runs in a worker process: a dataset that is read there, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from returnn.log import log
from returnn.util.errors import ConfigError

from .create import init_dataset
from .dataset import Dataset, OptionalNotImplementedError
from .seq import DatasetSeq
from .sub_kinds import SubKinds
from .worker_server import Handler


def read_seq(dataset: Dataset, seq_idx: int) -> DatasetSeq | None:
    """
    :param dataset: in an epoch
    :param seq_idx: not smaller than before
    :return: the sequence; None if there is no further one
    """
    if not dataset.is_less_than_num_seqs(seq_idx):
        return None
    dataset.load_seqs(seq_idx, seq_idx + 1)
    return DatasetSeq(
        seq_idx,
        {key: dataset.get_data(seq_idx, key) for key in dataset.get_data_keys()},
        seq_tag=dataset.get_tag(seq_idx),
        complete_frac=dataset.get_complete_frac(seq_idx),
    )


def known_num_seqs(dataset: Dataset) -> int | None:
    """
    :return: of the epoch; None: not known yet
    """
    try:
        return dataset.num_seqs
    except NotImplementedError:
        return None


def known_seq_order(dataset: Dataset) -> Sequence[int] | None:
    """
    :return: of the epoch; None: the dataset cannot tell
    """
    try:
        return dataset.get_current_seq_order()
    except NotImplementedError:
        return None


def options_without_effect(
    dataset: Dataset, only_told: Sequence[str], kwargs: Mapping[str, Any], *, where: str
) -> None:
    """
    For datasets that do not order sequences themselves.

    :param dataset: that has the options
    :param only_told: options that give a warning, all others are errors
    :param kwargs: of its constructor
    :param where: the options should be set instead
    :raises ConfigError: an option is set that would have no effect
    """
    for name in ("unique_seq_tags", "seq_list_filter_file", "partition_epoch", "repeat_epoch"):
        value = kwargs.get(name)
        if not value or (value == 1 and value is not True):
            continue
        message = f"{dataset.describe()}: the option {name} has no effect on its sequences; set it in {where}"
        if name not in only_told:
            raise ConfigError(message)
        log.print_warning(message, once=True)


class SubReader(Handler):
    """Holds one dataset."""

    def __init__(self, options: Any, default_kwargs: dict[str, Any], extra_kwargs: dict[str, Any]):
        """
        :param options: see :func:`.create.init_dataset`
        :param default_kwargs: the same
        :param extra_kwargs: the same
        """
        self.dataset = init_dataset(options, extra_kwargs, default_kwargs)

    def describe(self) -> dict[str, Any]:
        """
        :return: all that does not depend on the epoch
        """
        dataset = self.dataset
        return {
            "kinds": SubKinds.of(dataset),
            "describe": dataset.describe(),
            "have_corpus_seq_idx": dataset.have_corpus_seq_idx(),
            "supports_seq_order_sorting": dataset.supports_seq_order_sorting(),
            "supports_sharding": dataset.supports_sharding(),
        }

    def ask(self, method: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """
        :param method: of the dataset
        :return: its result in a tuple; an empty one if the dataset does not know
        """
        try:
            return (getattr(self.dataset, method)(*args, **kwargs),)
        except OptionalNotImplementedError:
            return ()

    def seq_order(
        self, epoch: int, seq_list: Sequence[str] | None, seq_order: Sequence[int] | None
    ) -> Sequence[int] | None:
        """
        Starts an epoch.

        :return: corpus indices, None: the dataset cannot tell
        """
        self.dataset.init_seq_order(epoch, seq_list=seq_list, seq_order=seq_order)
        return known_seq_order(self.dataset)

    def start_epoch(
        self,
        inputs: Iterator[DatasetSeq],
        epoch: int,
        seq_list: Sequence[str] | None = None,
        seq_order: Sequence[int] | None = None,
    ) -> tuple[Any, Iterator[DatasetSeq]]:
        """
        :param epoch: of the dataset
        :param seq_list: see :meth:`.dataset.Dataset.init_seq_order`
        :param seq_order: the same
        :return: what is known about the epoch; its sequences
        """
        self.dataset.init_seq_order(epoch, seq_list=seq_list, seq_order=seq_order)
        info = {
            "num_seqs": known_num_seqs(self.dataset),
            "estimated_num_seqs": self.dataset.estimated_num_seqs,
            "seq_order": known_seq_order(self.dataset) if seq_order is None else None,
            "dtypes": {key: self.dataset.get_data_dtype(key) for key in self.dataset.get_data_keys()},
        }
        return info, self._seqs()

    def _seqs(self) -> Iterator[DatasetSeq]:
        seq_idx = 0
        while (seq := read_seq(self.dataset, seq_idx)) is not None:
            yield seq
            seq_idx += 1

    def finish_epoch(self, free_resources: bool) -> None:
        """Ends the epoch."""
        self.dataset.finish_epoch(free_resources=free_resources)
