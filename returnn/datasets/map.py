"""Datasets of the user's own in map style: a length, and a sequence for each index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError
from returnn.util.user_functions import failures_in_users_code

from .cached2 import CachedDataset2
from .data_templates import data_templates, num_outputs_of
from .dataset import OptionalNotImplementedError
from .seq import DatasetSeq


class MapDatasetBase:
    """Base class. Override ``__len__`` and ``__getitem__``, and what you know of the other methods."""

    def __init__(self, data_types: Mapping[str, Mapping[str, Any]] | None = None):
        """
        :param data_types: data key -> options of a Tensor without batch axis: ``dim``, ``shape`` (None for time),
            ``sparse``, ``dtype``
        """
        self.data_types: dict[str, Any] = dict(data_types or {})

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not override __len__")

    def __getitem__(self, seq_idx: int) -> dict[str, numpy.ndarray]:
        """
        :param seq_idx: corpus seq idx
        :return: data key -> [time, ...]
        """
        raise NotImplementedError(f"{type(self).__name__} does not override __getitem__")

    def get_seq_len(self, seq_idx: int) -> int:
        """
        :param seq_idx: corpus seq idx
        :return: length to order by
        """
        raise OptionalNotImplementedError(f"{type(self).__name__} does not override get_seq_len")

    def get_seq_tag(self, seq_idx: int) -> str:
        """
        :param seq_idx: corpus seq idx
        :return: name of the sequence
        """
        return "seq-%i" % seq_idx

    def get_seq_order(self, epoch: int) -> Sequence[int]:
        """
        To override if the dataset has an order of its own, which replaces ``seq_ordering`` and the like.

        :param epoch: starts at 1
        :return: corpus seq indices
        """
        raise OptionalNotImplementedError(f"{type(self).__name__} does not override get_seq_order")


class MapDatasetWrapper(CachedDataset2):
    """Keys in the order of ``data_types``, tags and lengths as the map-style dataset says. Memory: that of it."""

    def __init__(self, map_dataset: MapDatasetBase | Callable[[], MapDatasetBase], **kwargs: Any):
        """
        :param map_dataset: or a function or class that makes it
        """
        super().__init__(**kwargs)
        self.map_dataset = map_dataset
        if isinstance(map_dataset, MapDatasetBase):
            self._dataset = map_dataset
        elif callable(map_dataset):
            with failures_in_users_code(f"{self.describe()}: map_dataset"):
                self._dataset = map_dataset()
        if not isinstance(getattr(self, "_dataset", None), MapDatasetBase):
            raise ConfigError(
                f"{self.describe()}: map_dataset must be an instance of MapDatasetBase, or a function or class that"
                f" gives one, but is {map_dataset!r}"
            )
        if not getattr(self._dataset, "data_types", None):  # also if its constructor does not call ours
            raise ConfigError(
                f"{self.describe()}: {type(self._dataset).__name__} has no data_types. Call"
                ' super().__init__(data_types={"data": {"dim": 40, "shape": (None, 40)}}) in its constructor.'
            )
        self._templates = data_templates(self._dataset.data_types, f"{self.describe()}: data_types")
        self.num_outputs = num_outputs_of(self._templates)
        self.labels = {key: x.vocab.labels for key, x in self._templates.items() if x.vocab is not None}
        self._num_seqs = 0
        self._order: Sequence[int] = []

    def _has(self, method: str) -> bool:
        return getattr(type(self._dataset), method) is not getattr(MapDatasetBase, method)

    def _knows_lengths(self) -> bool:
        if not self._has("get_seq_len"):
            return False
        with contextlib.suppress(IndexError):
            try:
                self._dataset.get_seq_len(0)
            except NotImplementedError:
                return False
        return True

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        if epoch is not None and seq_list is None and seq_order is None and self._has("get_seq_order"):
            self._order = self._own_order(epoch)
        else:
            self._order = self._corpus_order(
                epoch,
                seq_list,
                seq_order,
                num_seqs=len(self._dataset),
                get_seq_len=self._dataset.get_seq_len if self._knows_lengths() else None,
            )
        self._num_seqs = len(self._order)
        return True

    def _own_order(self, epoch: int) -> Sequence[int]:
        if self._num_shards > 1:
            return list(self._dataset.get_seq_order(epoch))[self._shard_index :: self._num_shards]
        return self._dataset.get_seq_order(epoch)

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        seq = self.get_corpus_seq(int(self._order[seq_idx]))
        seq.seq_idx = seq_idx
        return seq

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices
        """
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: index in the map-style dataset
        """
        return int(self._order[seq_idx])

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        values = self._dataset[corpus_seq_idx]
        tag = self._dataset.get_seq_tag(corpus_seq_idx)
        try:
            features = {key: self._checked(key, values[key]) for key in self._templates}
        except KeyError as exc:
            raise ConfigError(
                f"{self.describe()}: sequence {tag!r} has no {exc.args[0]!r}, which is in data_types;"
                f" it has {sorted(values)}"
            ) from None
        return DatasetSeq(corpus_seq_idx, features, seq_tag=tag)

    def _checked(self, key: str, value: Any) -> numpy.ndarray:
        array = numpy.asarray(value)
        if array.ndim != self._templates[key].ndim:
            raise ConfigError(
                f"{self.describe()}: the value of {key!r} has shape {list(array.shape)},"
                f" but data_types says {list(self._templates[key].shape)}"
            )
        return array

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: ``get_seq_len`` of the map-style dataset
        """
        return self._dataset.get_seq_len(int(self._order[seq_idx]))

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: length of the map-style dataset
        """
        return len(self._dataset)

    def get_all_tags(self) -> list[str]:
        """
        :return: ``get_seq_tag`` of each index
        """
        return [self._dataset.get_seq_tag(i) for i in range(len(self._dataset))]

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether the map-style dataset knows lengths
        """
        return self._knows_lengths()

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    def get_data_keys(self) -> list[str]:
        """
        :return: those of ``data_types``
        """
        return list(self._templates)

    def get_target_list(self) -> list[str]:
        """
        :return: all but "data"
        """
        return [key for key in self._templates if key != "data"]

    def get_data_dim(self, key: str) -> int:
        """
        :return: number of features or classes, as in ``data_types``
        """
        return self._templates[key].dim or 0

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: as in ``data_types``
        """
        return self._templates[key].sparse

    def get_data_dtype(self, key: str) -> str:
        """
        :return: as in ``data_types``
        """
        return self._templates[key].dtype

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: shape of a frame, as in ``data_types``
        """
        return list(self._templates[key].shape[1:])


class FromListDataset(MapDatasetBase):
    """Sequences that are given as arrays."""

    def __init__(
        self,
        data_list: Sequence[dict[str, numpy.ndarray]],
        sort_data_key: str | None = None,
        data_types: Mapping[str, Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ):
        """
        :param data_list: per sequence: data key -> [time, ...]
        :param sort_data_key: whose length orders sequences. None: none
        :param data_types: see :class:`MapDatasetBase`
        """
        super().__init__(data_types=data_types, **kwargs)
        self._data_list = data_list
        self._sort_data_key = sort_data_key

    def __len__(self) -> int:
        return len(self._data_list)

    def __getitem__(self, seq_idx: int) -> dict[str, numpy.ndarray]:
        return self._data_list[seq_idx]

    def get_seq_len(self, seq_idx: int) -> int:
        """
        :return: length of ``sort_data_key``
        """
        if self._sort_data_key is None:
            raise OptionalNotImplementedError("FromListDataset: sort_data_key is not set")
        return len(self._data_list[seq_idx][self._sort_data_key])


__all__ = ["FromListDataset", "MapDatasetBase", "MapDatasetWrapper"]
