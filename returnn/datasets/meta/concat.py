"""Datasets behind each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..create import init_dataset
from .joint import JointDataset


class ConcatDataset(JointDataset):
    """All sequences of several datasets with the same data keys and dims, one dataset behind the other, each in its own
    order. Other ``seq_ordering`` than "default" order all of them together, see CombinedDataset."""

    def __init__(self, datasets: Sequence[Any], **kwargs: Any):
        """
        :param datasets: see :func:`~returnn.datasets.create.init_dataset`
        """
        super().__init__(**kwargs)
        if not isinstance(datasets, (list, tuple)) or not datasets:
            raise ConfigError(f"{self.describe()}: datasets must be a list of datasets, but is {datasets!r:.100}")
        self.datasets = list(datasets)

    def initialize(self) -> None:
        """Makes the datasets."""
        if not self._subs:
            for number, options in enumerate(self.datasets):
                extra = {"name": f"{self.name}_{number}", "_num_shards": 1, "_shard_index": 0}
                self._subs.append(init_dataset(options, extra, parent_dataset=self))
            self.set_all_keys_from(self._subs[0])
            self._sub_keys = [{key: key for key in self.get_data_keys()}] * len(self._subs)
            self._check_same_kinds()
        super().initialize()

    def _check_same_kinds(self) -> None:
        first, *others = self._subs
        for sub in others:
            for key in first.get_data_keys():
                here = key in sub.get_data_keys() and (
                    sub.get_data_dim(key),
                    sub.is_data_sparse(key),
                    sub.get_data_shape(key),
                )
                there = first.get_data_dim(key), first.is_data_sparse(key), first.get_data_shape(key)
                if here != there:
                    texts = ["(dim, sparse, shape of a frame) %r" % (x,) if x else "no such key" for x in (there, here)]
                    raise ConfigError(
                        f"{self.describe()}: the data key {key!r} must be the same in all datasets, but there is"
                        f" {texts[0]} in {first.describe()}, {texts[1]} in {sub.describe()}. See CombinedDataset for"
                        " datasets with different keys."
                    )

    def _corpus_order(
        self, epoch: int | None, seq_list: Sequence[str] | None, seq_order: Sequence[int] | None, **kwargs: Any
    ) -> Sequence[int]:
        if seq_list is None or seq_order is not None:
            return super()._corpus_order(epoch, seq_list, seq_order, **kwargs)
        tags = self._all_tags_for("seq_list")
        if len(set(tags)) == len(tags) or len(seq_list) != len(tags):
            return super()._corpus_order(epoch, seq_list, seq_order, **kwargs)
        # The same tag can stand for several sequences. So the list is cut by the sizes of the datasets.
        order: list[int] = []
        for start, end in zip(self._corpus_starts(), self._corpus_starts()[1:], strict=False):
            index = {tag: i for i, tag in enumerate(tags[start:end])}
            missing = [tag for tag in seq_list[start:end] if tag not in index]
            if missing:
                raise ConfigError(
                    f"{self.describe()}: the sequences {start} to {end} of a given list must be those of one dataset,"
                    f" but {missing[0]!r} is not there"
                )
            order += [int(start) + index[tag] for tag in seq_list[start:end]]
        return numpy.array(order, dtype="int64")  # type: ignore[return-value]  # an array is a sequence
