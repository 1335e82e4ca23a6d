"""Different sequences from several datasets, which can have different data keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from ..create import init_dataset
from ..dataset import Dataset
from .joint import JointDataset
from .key_sources import check_data_dims
from .sampling import EndlessEpochs


class CombinedDataset(JointDataset):
    """All sequences of several datasets. A data key that a dataset does not have is an empty array in its sequences.

    Each dataset orders its own epoch first. ``seq_ordering`` then orders all of them together: "default" is one dataset
    behind the other, by sorted name; "random_dataset" shuffles which dataset comes next, each one keeps its own order;
    "interleave" lets all datasets advance alike; others as for all datasets. If the number of sequences is not known of
    all datasets, only "default", "reverse", "random_dataset" and "interleave" are possible.
    """

    def __init__(
        self,
        datasets: Mapping[str, Any],
        data_map: Mapping[tuple[str, str], str],
        sampling_sizes: int | Mapping[str, int] | None = None,
        data_dims: Any = None,
        data_dtypes: Mapping[str, str] | None = None,
        window: int = 1,
        interleave_gumbel_scale: float | str | None = None,
        **kwargs: Any,
    ):
        """
        :param datasets: name -> see :func:`~returnn.datasets.create.init_dataset`. Use their ``partition_epoch`` and
            ``repeat_epoch`` to weight them
        :param data_map: (name of the dataset, data key there) -> own data key. All but "data" are targets
        :param sampling_sizes: so many sequences of each dataset (or by name) in an epoch; the next epoch goes on
            where this one has stopped, over the epochs of the dataset
        :param data_dims: not needed, but checked
        :param data_dtypes: not needed, ignored
        :param window: only 1 is possible
        :param interleave_gumbel_scale: chance in "interleave". 1: proportional to what remains of each dataset. 0: most
            remaining first. "remaining": less and less towards the end
        """
        super().__init__(**kwargs)
        if window != 1:
            raise ConfigError(f"{self.describe()}: window must be 1, but is {window!r}; set it in the datasets")
        for source, key in data_map.items():
            if not isinstance(source, tuple) or len(source) != 2 or not isinstance(key, str):
                raise ConfigError(
                    f"{self.describe()}: data_map must be (name of the dataset, data key there) -> own data key,"
                    f" but has {source!r}: {key!r}"
                )
            if source[0] not in datasets:
                raise ConfigError(
                    f"{self.describe()}: data_map names the dataset {source[0]!r}, which is not in datasets."
                    f"{did_you_mean(source[0], datasets)} There are: {', '.join(datasets)}"
                )
        if interleave_gumbel_scale is not None and interleave_gumbel_scale != "remaining":
            if not isinstance(interleave_gumbel_scale, (int, float)):
                raise ConfigError(
                    f'{self.describe()}: interleave_gumbel_scale must be a number, "remaining" or None,'
                    f" but is {interleave_gumbel_scale!r}"
                )
        self._dataset_options = dict(datasets)
        self.data_map = dict(data_map)
        self.dataset_keys = sorted({name for name, _ in data_map})
        self.sampling_sizes = sampling_sizes
        self.data_dims = data_dims
        self.data_dtypes = data_dtypes
        self.interleave_gumbel_scale = interleave_gumbel_scale
        self.datasets: dict[str, Dataset] = {}
        self._samplers: list[EndlessEpochs] = []
        self._sizes_by_name = self._parse_sampling_sizes()

    _getnewargs_remap = {"datasets": "_dataset_options"}

    def _parse_sampling_sizes(self) -> dict[str, int] | None:
        sizes = self.sampling_sizes
        if sizes is None:
            return None
        by_name = sizes if isinstance(sizes, Mapping) else dict.fromkeys(self.dataset_keys, sizes)
        for name in by_name:
            if name not in self.dataset_keys:
                raise ConfigError(
                    f"{self.describe()}: sampling_sizes names the dataset {name!r}, which data_map does not use."
                    f"{did_you_mean(name, self.dataset_keys)} It uses: {', '.join(self.dataset_keys)}"
                )
        for name in self.dataset_keys:
            size = by_name.get(name)
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise ConfigError(
                    f"{self.describe()}: sampling_sizes must be a number of sequences, or one for each dataset,"
                    f" but it is {size!r} for {name!r}"
                )
        option = self._option_about_parts()
        if option and option != "_num_shards":
            raise ConfigError(
                f"{self.describe()}: {option} and sampling_sizes exclude each other; set it in the datasets inside"
            )
        return dict(by_name)

    def initialize(self) -> None:
        """Makes the datasets."""
        if not self.datasets:
            unused = sorted(set(self._dataset_options) - set(self.dataset_keys))
            if unused:
                log.print_warning(
                    f"{self.describe()}: the datasets {', '.join(unused)} are not used, data_map has none of their keys"
                )
            for name in self.dataset_keys:
                extra = {"name": f"{self.name}_{name}", "_num_shards": 1, "_shard_index": 0}
                self.datasets[name] = init_dataset(self._dataset_options[name], extra, parent_dataset=self)
            self._subs = [self.datasets[name] for name in self.dataset_keys]
            self._sub_keys = [
                {own: key for (of, key), own in self.data_map.items() if of == name} for name in self.dataset_keys
            ]
            self._set_sources()
            if self._sizes_by_name is not None:
                self._samplers = [EndlessEpochs(sub, self.describe()) for sub in self._subs]
        super().initialize()

    def _set_sources(self) -> None:
        sources: dict[str, tuple[Dataset, str]] = {}
        for name, sub, keys in zip(self.dataset_keys, self._subs, self._sub_keys, strict=True):
            for own, key in keys.items():
                there = sub.get_data_keys()
                if key not in there:
                    raise ConfigError(
                        f"{self.describe()}: data_map wants the data key {key!r} of dataset {name!r}, which it does not"
                        f" have.{did_you_mean(key, there)} There are: {', '.join(there)}"
                    )
                if own not in sources or self._is_larger((sub, key), sources[own], own):
                    sources[own] = (sub, key)
        self.set_key_sources(sources, sorted(key for key in sources if key != "data"))
        self.num_inputs = self.get_data_dim("data") if "data" in sources else 0
        check_data_dims(self, self.data_dims)

    def _is_larger(self, new: tuple[Dataset, str], old: tuple[Dataset, str], own: str) -> bool:
        """:raises ConfigError: two sources of a data key do not go together"""
        kinds = [(dataset.is_data_sparse(key), dataset.get_data_shape(key)) for dataset, key in (new, old)]
        if kinds[0] != kinds[1]:
            texts = ["sparse" if sparse else f"dense, shape of a frame {shape}" for sparse, shape in kinds]
            raise ConfigError(
                f"{self.describe()}: the data key {own!r} comes from {old[0].describe()} ({texts[1]}) and"
                f" {new[0].describe()} ({texts[0]}), which do not go together. Use two data keys."
            )
        dims = [dataset.get_data_dim(key) for dataset, key in (new, old)]
        if dims[0] != dims[1]:
            log.print_warning(
                f"{self.describe()}: the data key {own!r} has {dims[1]} classes in {old[0].describe()},"
                f" {dims[0]} in {new[0].describe()}; the larger number is used"
            )
        return dims[0] > dims[1]

    def _gumbel_scale(self) -> float | str | None:
        return self.interleave_gumbel_scale

    def _start_subs(self, epoch: int) -> list[int]:
        if self._sizes_by_name is None:
            return super()._start_subs(epoch)
        sizes = [self._sizes_by_name[name] for name in self.dataset_keys]
        return [sampler.take((epoch - 1) * size, size) for sampler, size in zip(self._samplers, sizes, strict=True)]
