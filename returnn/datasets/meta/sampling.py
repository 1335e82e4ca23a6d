"""So many sequences of a dataset in each epoch, however many it has."""

from __future__ import annotations

import numpy

from returnn.util.errors import ConfigError

from ..dataset import Dataset
from ..sub_reader import known_seq_order


class EndlessEpochs:
    """The epochs of a dataset, one behind the other without an end. Over ``partition_epoch`` of them nothing comes
    twice, so this goes for any part of this stream as well."""

    def __init__(self, dataset: Dataset, owner: str):
        """
        :param dataset: that can tell its order
        :param owner: for messages
        """
        self.dataset = dataset
        self._owner = owner
        self._size_of_pass: int | None = None

    def take(self, start: int, number: int) -> int:
        """
        Starts an epoch of the dataset with these sequences.

        :param start: position in the stream
        :param number: of sequences
        :return: the epoch
        """
        num_parts = self.dataset.partition_epoch
        if self._size_of_pass is None:
            self._size_of_pass = sum(len(self._order_of(epoch)) for epoch in range(1, num_parts + 1))
            if not self._size_of_pass:
                raise ConfigError(f"{self._owner}: {self.dataset.describe()} has no sequence, but should be sampled")
        num_passes, skip = divmod(start, self._size_of_pass)
        epoch = first = num_passes * num_parts + 1
        parts: list[numpy.ndarray] = []
        missing = number
        while missing > 0:
            order = self._order_of(epoch)
            if skip < len(order):
                first = first if parts else epoch
                parts.append(order[skip : skip + missing])
                missing -= len(parts[-1])
            skip = max(skip - len(order), 0)
            epoch += 1
        indices = numpy.concatenate(parts) if parts else numpy.zeros(0, dtype="int64")
        self.dataset.init_seq_order(epoch=first, seq_order=indices)  # type: ignore[arg-type]  # an array is a sequence
        return first

    def _order_of(self, epoch: int) -> numpy.ndarray:
        self.dataset.init_seq_order(epoch=epoch)
        order = known_seq_order(self.dataset)
        if order is None:
            raise ConfigError(
                f"{self._owner}: sampling_sizes is not possible for {self.dataset.describe()}, which cannot tell the"
                " order of its sequences"
            )
        return numpy.asarray(order, dtype="int64")
