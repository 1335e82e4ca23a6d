"""Another dataset in each epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from returnn.util.errors import ConfigError
from returnn.util.user_functions import call_with_spare_kwarg

from ..create import init_dataset
from ..dataset import Dataset, OptionalNotImplementedError
from ..sub_reader import options_without_effect
from .delegating import DelegatingDataset


class VariableDataset(DelegatingDataset):
    """The dataset that a function of the config returns for the epoch. Keys and dims must be the same for all epochs.
    Options about the order belong into what the function returns."""

    def __init__(
        self,
        *,
        get_dataset: Callable[..., dict[str, Any]],
        dataset_lru_cache_size: int = 1,
        always_same_tags: bool = False,
        **kwargs: Any,
    ):
        """
        :param get_dataset: ``(self, epoch, **kwargs) -> dict``, options of the dataset
        :param dataset_lru_cache_size: so many datasets are kept; one that is there is used again if the options are
            equal
        :param always_same_tags: promise that the sequences are the same in all epochs, maybe in another order. Then
            all tags are known in advance, which a MetaDataset needs
        """
        super().__init__(**kwargs)
        if not callable(get_dataset):
            raise ConfigError(f"{self.describe()}: get_dataset must be a function, but is {get_dataset!r}")
        if dataset_lru_cache_size < 1:
            raise ConfigError(
                f"{self.describe()}: dataset_lru_cache_size must be at least 1, but is {dataset_lru_cache_size!r}"
            )
        self._get_dataset = get_dataset
        self.dataset_lru_cache_size = dataset_lru_cache_size
        self.always_same_tags = always_same_tags
        self._kept: list[tuple[Any, Dataset]] = []
        only_told = ("unique_seq_tags", "seq_list_filter_file", "partition_epoch", "repeat_epoch")
        options_without_effect(self, only_told, kwargs, where="what get_dataset returns")

    def initialize(self) -> None:
        """Makes the dataset of the first epoch, whose keys and dims are those of all."""
        if self.sub is None:
            self._use_dataset_of(1)
            self.set_all_keys_from(self._get_sub())
        super().initialize()

    def _use_dataset_of(self, epoch: int) -> None:
        options = call_with_spare_kwarg(
            self._get_dataset,
            what=f"{self.describe()}: the function given as get_dataset",
            self=self,
            epoch=epoch,
        )
        if not isinstance(options, dict):
            raise ConfigError(
                f"{self.describe()}: get_dataset must return a dict for epoch {epoch}, got {options!r:.100}"
            )
        entry = next((kept for kept in self._kept if _equal(kept[0], options)), None)
        if entry is None:
            entry = (options, init_dataset(options, default_kwargs={"name": f"{self.name}_sub"}, parent_dataset=self))
        else:
            self._kept.remove(entry)
        self._kept.append(entry)
        while len(self._kept) > self.dataset_lru_cache_size:
            self._kept.pop(0)[1].finish_epoch(free_resources=True)
        if self.sub is not entry[1] and self._key_sources:
            self._check_same_kinds(entry[1], epoch)
            self.sub = entry[1]
            self.set_all_keys_from(entry[1])
        self.sub = entry[1]

    def _check_same_kinds(self, new: Dataset, epoch: int) -> None:
        for key in self.get_data_keys():
            there = (new.get_data_dim(key), new.get_data_shape(key)) if key in new.get_data_keys() else "no such key"
            here = self.get_data_dim(key), self.get_data_shape(key)
            if here != there:
                raise ConfigError(
                    f"{self.describe()}: the data key {key!r} must be the same in all epochs, but (dim, shape of a"
                    f" frame) was {here}, and is {there} in epoch {epoch}"
                )

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch of the dataset for it."""
        if epoch is not None:
            self._use_dataset_of(epoch)
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        return True

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: known only with ``always_same_tags``
        """
        self._need_same_tags()
        return super().get_total_num_seqs(fast=fast)

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: known only with ``always_same_tags``
        """
        self._need_same_tags()
        return super().get_all_tags()

    def _need_same_tags(self) -> None:
        if not self.always_same_tags:
            raise OptionalNotImplementedError(
                f"{self.describe()} can have other sequences in another epoch; if not, set always_same_tags=True"
            )


def _equal(a: Any, b: Any) -> bool:
    """:return: whether options are surely the same; arrays in them cannot be compared as a whole"""
    try:
        return bool(a == b)
    except ValueError:
        return False
