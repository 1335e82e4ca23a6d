"""Several datasets that give different streams of the same sequences."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.numbers_dict import NumbersDict
from returnn.util.packed import read_unpacked
from returnn.util.suggest import did_you_mean

from ..cached import CachedDataset
from ..cached2 import CachedDataset2
from ..create import init_dataset
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq import DatasetSeq
from ..seq_lists import load_seq_list, load_seq_tags
from ..seq_order import LENGTH_BASED_RULES
from .key_sources import HasKeySources, check_data_dims
from .lengths import lengths_of_epoch

_order_options: dict[str, Any] = {
    "seq_ordering": "default",
    "partition_epoch": 1,
    "repeat_epoch": 1,
    "fixed_random_seed": None,
    "unique_seq_tags": False,
    "seq_list_filter_file": None,
    "seq_order_seq_lens_file": None,
}
"""Options about the order of the epoch -> the value that says nothing."""


class MetaDataset(HasKeySources, CachedDataset2):
    """Each data key comes from one of several datasets, all about the same sequences; tags tell which ones belong
    together. Keys, dims, dtypes: as in the datasets. Tags: those of the default dataset, which is the one that controls
    the order, else the one of "data". Memory: the list of tags.

    With ``seq_order_control_dataset``, that dataset makes the order, and the options about the order should be set
    there. Those that are only set here are handed on to it.
    """

    _getnewargs_remap = {"datasets": "_dataset_options"}

    def __init__(
        self,
        datasets: Mapping[str, Any],
        data_map: Mapping[str, tuple[str, str]],
        seq_list_file: str | Mapping[str, str] | None = None,
        seq_order_control_dataset: str | None = None,
        seq_lens_file: str | None = None,
        data_dims: Any = None,
        data_dtypes: Mapping[str, str] | None = None,
        window: int = 1,
        **kwargs: Any,
    ):
        """
        :param datasets: name -> see :func:`~returnn.datasets.create.init_dataset`. Those that nobody needs are not made
        :param data_map: own data key -> (name of the dataset, data key there). All but "data" are targets
        :param seq_list_file: tags of the sequences, see :func:`~returnn.datasets.seq_lists.load_seq_list`. If tags
            differ between the datasets: lists by dataset in one (pickled) file, or name of the dataset -> file; the
            lists belong together line by line. None: all sequences of the default dataset
        :param seq_order_control_dataset: name of the dataset that makes the order. None: it is made here
        :param seq_lens_file: JSON, tag -> data key -> length. Order by length, and batches, need not load then
        :param data_dims: not needed, but checked
        :param data_dtypes: not needed, ignored
        :param window: only 1 is possible
        """
        self._control: Dataset | None = None
        super().__init__(**kwargs)
        if window != 1:
            raise ConfigError(f"{self.describe()}: window must be 1, but is {window!r}; set it in one of the datasets")
        for key, source in data_map.items():
            if not isinstance(source, (tuple, list)) or len(source) != 2:
                raise ConfigError(
                    f"{self.describe()}: data_map[{key!r}] must be (name of the dataset, data key there),"
                    f" but is {source!r}"
                )
            _check_name(self, f"data_map[{key!r}]", source[0], datasets)
        if seq_order_control_dataset:
            _check_name(self, "seq_order_control_dataset", seq_order_control_dataset, datasets)
        elif "data" not in data_map:
            raise ConfigError(
                f'{self.describe()}: data_map must have the key "data", or seq_order_control_dataset must be set;'
                f" the data keys are {sorted(data_map)}"
            )
        self._datasets_given = dict(datasets)
        self.data_map = {key: (source[0], source[1]) for key, source in data_map.items()}
        self.seq_list_file = seq_list_file
        self.seq_order_control_dataset = seq_order_control_dataset
        self.default_dataset_key = seq_order_control_dataset or self.data_map["data"][0]
        self.seq_lens_file = seq_lens_file
        self.data_dims = data_dims
        self.data_dtypes = data_dtypes
        self.datasets: dict[str, Dataset] = {}
        self._tags: dict[str, Sequence[str]] = {}
        self._index_by_tag: dict[str, int] | None = None
        self._seq_lens: dict[str, Any] | None = None
        self._corpus_indices: dict[str, numpy.ndarray] = {}
        self._order: Sequence[int] = []
        self._num_seqs = 0

    # The order belongs to the control dataset, also when someone changes it later, as a search does.

    @property
    def seq_ordering(self) -> Any:
        """
        :return: the one that counts
        """
        return self._seq_ordering if self._control is None else self._control.seq_ordering

    @seq_ordering.setter
    def seq_ordering(self, rule: Any) -> None:
        if self._control is None:
            self._seq_ordering = rule
        else:
            self._control.seq_ordering = rule

    @property
    def _dataset_options(self) -> dict[str, Any]:
        """:return: for a copy of this one"""
        res = dict(self._datasets_given)
        name = self.seq_order_control_dataset
        if name and self._control is not None and isinstance(res[name], dict):
            res[name] = {**res[name], "seq_ordering": self._control.seq_ordering}
        return res

    # Creation.

    def initialize(self) -> None:
        """Makes the datasets and reads the tags."""
        if not self.datasets:
            self._make_datasets()
            for key, (name, sub_key) in self.data_map.items():
                keys = self.datasets[name].get_data_keys()
                if sub_key not in keys:
                    raise ConfigError(
                        f"{self.describe()}: data_map[{key!r}] wants the data key {sub_key!r} of dataset {name!r},"
                        f" which it does not have.{did_you_mean(sub_key, keys)} There are: {', '.join(keys)}"
                    )
            sources = {key: (self.datasets[name], sub_key) for key, (name, sub_key) in self.data_map.items()}
            self.set_key_sources(sources, sorted(key for key in sources if key != "data"))
            check_data_dims(self, self.data_dims)
            if self.seq_lens_file:
                self._seq_lens = _read_seq_lens(self.seq_lens_file, self.describe())
            self._tags = self._read_tags()
            self._check_totals()
        super().initialize()

    def _make_datasets(self) -> None:
        control = self.seq_order_control_dataset
        used = {name for name, _ in self.data_map.values()} | {self.default_dataset_key}
        for name in self._datasets_given:
            if name not in used:
                continue
            extra: dict[str, Any] = {"name": f"{self.name}_{name}"}
            defaults: dict[str, Any] = {}
            if name == control:
                defaults = self._own_order_options()
            else:  # it gets the list of sequences, so it must not take a part of it
                extra.update(_num_shards=1, _shard_index=0)
            options = self._datasets_given[name]
            self.datasets[name] = init_dataset(options, extra, defaults, parent_dataset=self)
            if name == control:
                self._hand_over_order(self.datasets[name])
            else:
                self._tell_about_unused_order(name)

    def _own_order_options(self) -> dict[str, Any]:
        """:return: options about the order that are set here, for the control dataset"""
        res = {
            option: value
            for option, nothing in _order_options.items()
            if (value := getattr(self, option)) != nothing and value is not None
        }
        rule = res.get("seq_ordering")
        if isinstance(rule, str) and rule.split(":")[0] in LENGTH_BASED_RULES:
            del res["seq_ordering"]  # it may not know lengths, see _hand_over_order
        return res

    def _hand_over_order(self, control: Dataset) -> None:
        rule = self._seq_ordering
        given = self._datasets_given[self.default_dataset_key]
        by_length = isinstance(rule, str) and rule.split(":")[0] in LENGTH_BASED_RULES
        if by_length and not (isinstance(given, dict) and given.get("seq_ordering") is not None):
            if control.supports_seq_order_sorting() and control.seq_ordering == "default":
                control.seq_ordering = rule
        if rule not in ("default", control.seq_ordering):
            print(
                f"{self.describe()}: seq_ordering {rule!r} is not used, the control dataset"
                f" {self.default_dataset_key!r} has {control.seq_ordering!r}",
                file=log.v3,
            )
        for option, nothing in _order_options.items():
            own = getattr(self, option)
            if option != "seq_ordering" and own != nothing and own is not None and own != getattr(control, option):
                raise ConfigError(
                    f"{self.describe()}: {option} is {own!r} here, but {getattr(control, option)!r} in the dataset"
                    f" {self.default_dataset_key!r}, which controls the order. Set it only there."
                )
        self._control = control

    def _tell_about_unused_order(self, name: str) -> None:
        dataset = self.datasets[name]
        if self.seq_order_control_dataset is None and dataset.partition_epoch > 1:
            log.print_warning(
                f"{self.describe()}: partition_epoch {dataset.partition_epoch} of the dataset {name!r} is not used."
                f" Set seq_order_control_dataset={name!r}, or partition_epoch of the MetaDataset.",
                once=True,
            )

    # Tags.

    def _read_tags(self) -> dict[str, Sequence[str]]:
        """:return: per dataset, in an order that is the same for all"""
        if self.seq_list_file:
            return self._read_seq_list_file(self.seq_list_file)
        name = self.default_dataset_key
        default = self.datasets[name]
        print(f"Reading sequence list for MetaDataset {self.name!r} from sub-dataset {default.name!r}", file=log.v3)
        try:
            tags = default.get_all_tags()
        except NotImplementedError as exc:
            raise ConfigError(
                f"{self.describe()}: the dataset {name!r} ({type(default).__name__}) cannot tell its tags in advance."
                " Set seq_list_file, or choose another dataset as seq_order_control_dataset."
            ) from exc
        if self._control is None:
            for filename in sorted(self._filters_of_datasets()):
                allowed = load_seq_tags(filename)
                tags = [tag for tag in tags if tag in allowed]
            if not len(tags):
                raise ConfigError(f"{self.describe()}: seq_list_filter_file of the datasets leaves no sequence")
        return dict.fromkeys(self.datasets, tags)

    def _filters_of_datasets(self) -> set[str]:
        """:return: files; sequences that are not in all of them are not there"""
        deciding = [self._control] if self._control is not None else list(self.datasets.values())
        return {dataset.seq_list_filter_file for dataset in deciding if dataset.seq_list_filter_file}

    def _read_seq_list_file(self, seq_list_file: str | Mapping[str, str]) -> dict[str, Sequence[str]]:
        lists: Any
        if isinstance(seq_list_file, Mapping):
            lists = {name: load_seq_list(filename) for name, filename in seq_list_file.items()}
            for name, tags in lists.items():
                if isinstance(tags, dict):
                    raise ConfigError(
                        f"{self.describe()}: seq_list_file[{name!r}] ({seq_list_file[name]}) must be one list of tags,"
                        f" but has lists by name: {sorted(tags)}"
                    )
        else:
            lists = load_seq_list(seq_list_file)
        if not isinstance(lists, dict):
            return dict.fromkeys(self.datasets, lists)
        missing = [name for name in self.datasets if name not in lists]
        if missing:
            raise ConfigError(
                f"{self.describe()}: seq_list_file has no list for the dataset {missing[0]!r}, only for {sorted(lists)}"
            )
        sizes = {name: len(lists[name]) for name in self.datasets}
        if len(set(sizes.values())) > 1:
            raise ConfigError(f"{self.describe()}: the lists of seq_list_file must be equally long, but are: {sizes}")
        return {name: lists[name] for name in self.datasets}

    def _check_totals(self) -> None:
        """:raises ConfigError: a dataset has less sequences than there are tags, so some must be missing"""
        options = self._datasets_given[self.default_dataset_key]
        if self._control is not None and _maybe_filtered(options):
            return  # maybe the missing ones are never used
        for name, dataset in self.datasets.items():
            try:
                total = dataset.get_total_num_seqs(fast=True)
            except NotImplementedError:
                continue
            tags = self._tags[name]
            if total >= len(tags):
                continue
            used = set(tags)
            for filename in {*self._filters_of_datasets(), self.seq_list_filter_file}:
                if filename:
                    used &= load_seq_tags(filename)
            if total < len(used):
                self._check_tags(name, used)

    def _check_tags(self, name: str, used: set[str]) -> None:
        """:raises ConfigError: some of the used tags are not in this dataset"""
        dataset, default = self.datasets[name], self.datasets[self.default_dataset_key]
        try:
            there = set(dataset.get_all_tags())
        except NotImplementedError:
            return
        missing = sorted(used - there)
        if not missing:
            return
        examples = [f"Sequence {missing[0]!r} is not in {dataset.describe()} (dataset {name!r})."]
        more = sorted(there - used)
        if more:
            examples.append(f"Sequence {more[0]!r} is there, but not used.")
        for line in (f"{self.describe()}: {len(missing)} of {len(used)} sequences are missing.", *examples):
            print(line, file=log.v1)
        raise ConfigError(
            f"Dataset {name!r} is missing seqs. {self.describe()}: {len(missing)} of the {len(used)} used sequences are"
            f" not in {dataset.describe()}, for example {missing[0]!r}. {''.join(f'{text} ' for text in examples[1:])}"
            f"Tags come from {'seq_list_file' if self.seq_list_file else default.describe()}; seq_list_filter_file"
            " can leave out some."
        )

    # Order.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch of all datasets."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        already_started = None
        if epoch is None:
            self._order = []
        elif self._control is not None and seq_list is None and seq_order is None:
            self._control.init_seq_order(epoch=epoch)
            self._order, already_started = self._order_of_control(self._control)
        else:
            self._order = self._corpus_order(
                epoch,
                seq_list,
                seq_order,
                num_seqs=self.get_total_num_seqs(),
                get_seq_len=self._make_get_seq_len(epoch),
            )
        self._num_seqs = len(self._order)
        for name, dataset in self.datasets.items():
            if epoch is None:
                dataset.init_seq_order(epoch=None)
            elif dataset is not already_started:
                self._init_dataset_order(name, epoch)
        return True

    def _order_of_control(self, control: Dataset) -> tuple[Sequence[int], Dataset | None]:
        """:return: positions in the list of tags; the control dataset, if it has them already"""
        try:
            order = control.get_current_seq_order()
        except NotImplementedError as exc:
            raise ConfigError(
                f"{self.describe()}: the dataset {self.default_dataset_key!r} ({type(control).__name__}) cannot be"
                " seq_order_control_dataset, since it cannot tell the order of its sequences. Without it, the order is"
                " made by the MetaDataset itself."
            ) from exc
        if not self.seq_list_file:
            return order, control
        tags = control.get_all_tags()
        index = self._get_index_by_tag()
        in_list = [index[tags[i]] for i in order if tags[i] in index]
        return in_list, control if len(in_list) == len(order) else None

    def _get_index_by_tag(self) -> dict[str, int]:
        if self._index_by_tag is None:
            self._index_by_tag = {tag: i for i, tag in enumerate(self.get_all_tags())}
        return self._index_by_tag

    def _init_dataset_order(self, name: str, epoch: int) -> None:
        dataset, tags = self.datasets[name], self._tags[name]
        if isinstance(dataset, CachedDataset):  # saves a look-up of each tag in each epoch
            indices = self._get_corpus_indices(name)[numpy.asarray(self._order, dtype="int64")]
            if not len(indices) or indices.min() >= 0:
                dataset.init_seq_order(epoch=epoch, seq_order=indices)
                return
        seq_list = [tags[i] for i in self._order]
        try:
            dataset.init_seq_order(epoch=epoch, seq_list=seq_list)
        except (UserError, LookupError):
            self._check_tags(name, set(seq_list))
            raise

    def _get_corpus_indices(self, name: str) -> numpy.ndarray:
        """:return: position in the list of tags -> corpus index in the dataset, -1: not there"""
        if name not in self._corpus_indices:
            tags, there = self._tags[name], self.datasets[name].get_all_tags()
            if len(tags) == len(there) and all(a == b for a, b in zip(tags, there, strict=True)):
                self._corpus_indices[name] = numpy.arange(len(tags))
            else:
                index = {tag: i for i, tag in enumerate(there)}
                self._corpus_indices[name] = numpy.fromiter((index.get(tag, -1) for tag in tags), dtype="int64")
        return self._corpus_indices[name]

    def _make_get_seq_len(self, epoch: int) -> Callable[[int], float]:
        """:return: position in the list of tags -> length; loads nothing before it is called"""
        lens: list[Callable[[int], float]] = []

        def get_seq_len(corpus_seq_idx: int) -> float:
            if self._seq_lens is not None:
                n = self._seq_lens_of(self.get_all_tags()[corpus_seq_idx])
                return n["data"] if "data" in n else next(iter(n.values()))
            if not lens:
                name = self.default_dataset_key
                default = self.datasets[name]
                default.init_seq_order(epoch=epoch, seq_list=list(self._tags[name]))
                source, key = self.data_map.get("data", (None, None))
                lens.append(lengths_of_epoch(default, key if source == name else None))
            return lens[0](corpus_seq_idx)

        return get_seq_len

    def _seq_lens_of(self, tag: str) -> dict[str, int]:
        assert self._seq_lens is not None
        try:
            return self._seq_lens[tag]
        except KeyError:
            raise UserError(
                f"{self.describe()}: seq_lens_file {self.seq_lens_file!r} has no lengths for the sequence {tag!r},"
                f" but for example for {next(iter(self._seq_lens), None)!r}"
            ) from None

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch of all datasets."""
        super().finish_epoch(free_resources=free_resources)
        for dataset in self.datasets.values():
            dataset.finish_epoch(free_resources=free_resources)

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: positions in the list of tags
        """
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: position in the list of tags
        """
        return int(self._order[seq_idx])

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: of the default dataset, see the class
        """
        return self._tags[self.default_dataset_key]

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: size of the list of tags
        """
        return len(self.get_all_tags())

    def supports_sharding(self) -> bool:
        """
        :return: whether the control dataset does, if there is one
        """
        return self._control is None or self._control.supports_sharding()

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether lengths are known to whoever makes the order
        """
        if self._control is not None:
            return self._control.supports_seq_order_sorting()
        return self._seq_lens is not None or self.datasets[self.default_dataset_key].supports_seq_order_sorting()

    # Data.

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        for name, dataset in self.datasets.items():
            dataset.load_seqs(seq_idx, seq_idx + 1)
            tag, expected = dataset.get_tag(seq_idx), self._tags[name][self._order[seq_idx]]
            if tag != expected:
                raise UserError(
                    f"{self.describe()}: sequence {seq_idx} of the epoch should be {expected!r}, but the dataset"
                    f" {name!r} ({dataset.describe()}) gives {tag!r}"
                )
        features = {
            key: self.datasets[name].get_data(seq_idx, sub_key) for key, (name, sub_key) in self.data_map.items()
        }
        return DatasetSeq(seq_idx, features, seq_tag=self.get_tag(seq_idx))

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: that of the default dataset
        """
        return self.get_all_tags()[self._order[seq_idx]]

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: length per data key; without loading if ``seq_lens_file`` has it
        """
        if self._seq_lens is not None:
            lens = self._seq_lens_of(self.get_tag(seq_idx))
            if all(key in lens for key in self.data_map):
                return NumbersDict({key: lens[key] for key in self.data_map})
        return super().get_seq_length(seq_idx)

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: from ``seq_lens_file``, or the default dataset
        """
        if self._seq_lens is not None:
            return self._make_get_seq_len(self.epoch or 1)(self.get_corpus_seq_idx(seq_idx))
        return self.datasets[self.default_dataset_key].get_estimated_seq_length(seq_idx)

    def get_complete_frac(self, sorted_seq_idx: int, *, allow_only_lr_suitable: bool = False) -> float | None:
        """
        :return: that of the default dataset
        """
        default = self.datasets[self.default_dataset_key]
        return default.get_complete_frac(sorted_seq_idx, allow_only_lr_suitable=allow_only_lr_suitable)

    def have_get_corpus_seq(self) -> bool:
        """
        :return: whether all datasets can
        """
        return all(dataset.have_get_corpus_seq() for dataset in self.datasets.values())

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :param corpus_seq_idx: position in the list of tags
        """
        if not self.have_get_corpus_seq():
            raise OptionalNotImplementedError(f"{self.describe()}: not all of its datasets have random access")
        seqs = {}
        for name, dataset in self.datasets.items():
            idx = int(self._get_corpus_indices(name)[corpus_seq_idx])
            if idx < 0:
                raise UserError(
                    f"{self.describe()}: {dataset.describe()} has no sequence {self._tags[name][corpus_seq_idx]!r}"
                )
            seqs[name] = dataset.get_corpus_seq(idx)
        features = {key: seqs[name].features[sub_key] for key, (name, sub_key) in self.data_map.items()}
        return DatasetSeq(corpus_seq_idx, features, seq_tag=self.get_all_tags()[corpus_seq_idx])


def _check_name(dataset: Dataset, where: str, name: str, datasets: Mapping[str, Any]) -> None:
    if name not in datasets:
        raise ConfigError(
            f"{dataset.describe()}: {where} names the dataset {name!r}, which is not in datasets."
            f"{did_you_mean(name, datasets)} There are: {', '.join(datasets)}"
        )


def _maybe_filtered(options: Any) -> bool:
    """:return: whether a dataset inside of the dataset has a filter, which does not show from outside"""
    return isinstance(options, Mapping) and any(map(_mentions_filter, options.values()))


def _mentions_filter(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "seq_list_filter_file" in value or any(map(_mentions_filter, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_mentions_filter, value))


def _read_seq_lens(filename: str, owner: str) -> dict[str, Any]:
    try:
        lens = json.loads(read_unpacked(filename, f"{owner}: seq_lens_file"))
    except ValueError as exc:
        raise ConfigError(
            f"{owner}: seq_lens_file {filename!r} must be JSON, tag -> data key -> length, but: {exc}"
        ) from exc
    first = next(iter(lens.values()), None) if isinstance(lens, dict) else lens
    if not isinstance(first, dict):
        raise ConfigError(
            f"{owner}: seq_lens_file {filename!r} must be JSON, tag -> data key -> length, but has {first!r:.60}"
        )
    return lens
