"""Many files, of which each part of an epoch reads some, in a process in the background."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy

from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.file_cache import CachedFile
from returnn.util.suggest import file_not_found
from returnn.util.user_functions import failures_in_users_code

from .cached2 import CachedDataset2
from .config_defaults import distributed_rank_and_size
from .file_bins import cut_by_size
from .seq import DatasetSeq
from .seq_order import SeqOrderingError
from .sub_kinds import HasSubKinds
from .sub_reader import SubReader, options_without_effect
from .worker_process import WorkerProcess, end_all

FileTree = Any
"""A file name, or a tuple, list or dict of trees: files that stay together."""

_num_stat_threads = 16


class DistributeFilesDataset(HasSubKinds, CachedDataset2):
    """Each part of an epoch is a dataset over a share of the files, as equal in size as may be.

    Keys, tags and order within a part are those of that dataset. Memory: that dataset, in one process for the running
    part and one for each part that is loaded ahead.
    """

    def __init__(
        self,
        *,
        files: Sequence[FileTree] | str | os.PathLike[str] | Callable[[], Sequence[FileTree]],
        get_sub_epoch_dataset: Callable[[list[FileTree]], dict[str, Any]],
        preload_next_n_sub_epochs: int = 1,
        buffer_size: int = 1,
        distrib_shard_files: bool = False,
        sharding_fix: bool | None = None,
        **kwargs: Any,
    ):
        """
        :param files: names, or tuples, lists, dicts of names that stay together; or a function that gives them; or the
            name of a file with them: ``.txt`` (one a line, ``#`` comments), ``.json``, ``.py`` (a Python literal)
        :param get_sub_epoch_dataset: files -> options of the dataset that reads them. They must say how that is
            ordered; its epoch is the number of the full pass over all files
        :param preload_next_n_sub_epochs: so many further parts are prepared ahead
        :param buffer_size: sequences that are read ahead
        :param distrib_shard_files: each process of a distributed training reads its own files
        :param sharding_fix: only True is possible: what has its own files is not sharded again
        """
        given_seed_offset = kwargs.get("random_seed_offset")
        super().__init__(**kwargs)
        if sharding_fix not in (None, True):
            raise ConfigError(f"{self.describe()}: sharding_fix={sharding_fix!r} would lose sequences; leave it out")
        for name, value, minimum in (
            ("preload_next_n_sub_epochs", preload_next_n_sub_epochs, 0),
            ("buffer_size", buffer_size, 1),
        ):
            if not isinstance(value, int) or value < minimum:
                raise ConfigError(f"{self.describe()}: {name} must be an int, at least {minimum}, but is {value!r}")
        if self.seq_ordering not in ("default", "random"):
            raise SeqOrderingError(
                f"{self.describe()}: seq_ordering must be default or random, but is {self.seq_ordering!r}. It is about"
                " files; that of sequences is set in get_sub_epoch_dataset"
            )
        options_without_effect(self, ("repeat_epoch",), {**kwargs, "partition_epoch": None}, where="the sub dataset")
        self.files = files
        self.get_sub_epoch_dataset = get_sub_epoch_dataset
        self.preload_next_n_sub_epochs = preload_next_n_sub_epochs
        self.buffer_size = buffer_size
        self.distrib_shard_files = distrib_shard_files
        self.sharding_fix = sharding_fix
        self._files: list[FileTree] = []
        self._sizes: list[int] | None = None
        self._shares_of_full_epoch: tuple[int, list[list[FileTree]]] | None = None
        rank, size = distributed_rank_and_size() if distrib_shard_files else (0, 1)
        self._file_shard = rank * self._num_shards + self._shard_index
        self._num_file_shards = size * self._num_shards
        # All processes must agree on the order of the files.
        self._file_seed_offset = self.random_seed_offset if size == 1 or given_seed_offset is not None else 0
        self._workers: dict[int, WorkerProcess] = {}
        self._started_ahead: set[int] = set()
        self._num_seqs = 0
        self._current: WorkerProcess | None = None

    def initialize(self) -> None:
        """Reads the list of files, and learns the data keys from the first of them."""
        if self.num_outputs is None:
            self._files = self._load_files()
            parts = self._num_file_shards * self.partition_epoch
            if len(self._files) < parts:
                raise ConfigError(
                    f"{self.describe()}: there are {len(self._files)} files for {parts} parts (partition_epoch"
                    f" {self.partition_epoch}, {self._num_file_shards} shards); each part needs one"
                )
            worker = self._start_worker("first file", self._files[:1])
            try:
                self.set_sub_kinds(worker.call("describe")["kinds"])
            finally:
                worker.close()
        super().initialize()

    def _load_files(self) -> list[FileTree]:
        files = self.files
        if callable(files):
            with failures_in_users_code(f"{self.describe()}: files"):
                files = files()
        if isinstance(files, (str, os.PathLike)):
            files = _read_file_list(os.fspath(files), f"{self.describe()}: files")
        if not isinstance(files, (list, tuple)):
            raise ConfigError(f"{self.describe()}: files must be a list, but is {files!r:.200}")
        return list(files)

    # Shares of files.

    def _order_of_files(self, epoch: int) -> list[int]:
        files = list(range(len(self._files)))
        if self.seq_ordering == "random":
            seed = self._get_random_seed_for_epoch(epoch)
            if self.fixed_random_seed is None:
                seed += self._file_seed_offset - self.random_seed_offset
            numpy.random.RandomState(seed).shuffle(files)
        return files

    def _full_epoch(self, epoch: int) -> int:
        return (epoch - 1) // self.partition_epoch + 1

    def files_of_epoch(self, epoch: int) -> list[FileTree]:
        """
        :param epoch: starts at 1
        :return: those that this process reads
        """
        full_epoch = self._full_epoch(epoch)
        if self._shares_of_full_epoch is None or self._shares_of_full_epoch[0] != full_epoch:
            order = self._order_of_files(epoch)
            sizes = self._file_sizes()
            bins = cut_by_size([sizes[i] for i in order], self._num_file_shards * self.partition_epoch)
            shares = [[self._files[order[i]] for i in b] for b in bins]
            self._shares_of_full_epoch = full_epoch, shares
        part = self.partition_epoch * self._file_shard + (epoch - 1) % self.partition_epoch
        return self._shares_of_full_epoch[1][part]

    def _file_sizes(self) -> list[int]:
        if self._sizes is None:
            with ThreadPoolExecutor(_num_stat_threads) as pool:  # a network disk can take a millisecond for each
                self._sizes = list(pool.map(self._size, self._files))
        return self._sizes

    def _size(self, tree: FileTree) -> int:
        try:
            return sum(os.path.getsize(name) for name in _names(tree))
        except FileNotFoundError as exc:
            raise ConfigError(f"{self.describe()}: {file_not_found('file', str(exc.filename))}") from None
        except (OSError, TypeError) as exc:
            raise ConfigError(f"{self.describe()}: files: {exc}") from exc

    # Parts.

    def _start_worker(self, what: str, files: list[FileTree]) -> WorkerProcess:
        with failures_in_users_code(f"{self.describe()}: get_sub_epoch_dataset"):
            options = self.get_sub_epoch_dataset(files)
        self._check_sub_options(options)
        defaults = {"name": f"{self.name}_sub", "random_seed_offset": self.random_seed_offset}
        return WorkerProcess(f"DF {what} of {self.name!r}", SubReader, options, defaults, {})

    def _check_sub_options(self, options: Any) -> None:
        where = f"{self.describe()}: get_sub_epoch_dataset"
        if not isinstance(options, dict):
            raise ConfigError(f"{where} must return a dict of options, but returned {options!r:.200}")
        inner: Any = options
        while isinstance(inner, dict):
            if inner.get("partition_epoch") not in (None, 1):
                raise SeqOrderingError(
                    f"{where}: partition_epoch must be 1 there, but is {inner['partition_epoch']}:"
                    " other parts of these files would never be read"
                )
            inner = inner.get("dataset")
        if not _has_any_key(options, ("seq_ordering", "seq_order_control_dataset", "map_seq_stream")):
            raise SeqOrderingError(
                f'{where} must say how sequences are ordered, for example "seq_ordering": "random". Without that each'
                " epoch would read them in the order of the files."
            )

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch, and loads parts ahead."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._num_seqs = 0
        self._current = None
        if seq_list is not None or seq_order is not None:
            raise UserError(f"{self.describe()} cannot read sequences in a given order: it knows files, not sequences")
        if epoch is None:
            return True
        epochs = range(epoch, epoch + 1 + self.preload_next_n_sub_epochs)
        end_all([self._workers.pop(old) for old in list(self._workers) if old not in epochs])
        for e in epochs:
            if e not in self._workers:
                files = self.files_of_epoch(e)
                print(f"{self.describe()}: using files for epoch {e}: {files}", file=log.v4)
                self._workers[e] = self._start_worker(f"epoch {e}", files)
                self._start_epoch(e)
                self._started_ahead.add(e)
        if epoch not in self._started_ahead:
            self._start_epoch(epoch)
        self._started_ahead.discard(epoch)
        self._current = self._workers[epoch]
        info = self._current.epoch_info()
        self._num_seqs = info["num_seqs"]
        self._estimated_num_seqs = info["estimated_num_seqs"]
        return True

    def _start_epoch(self, epoch: int) -> None:
        self._workers[epoch].start_epoch(self._full_epoch(epoch), buffer_size=self.buffer_size)

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if self._current is None:
            return None
        seq = self._current.next_seq()
        if seq is not None:
            seq.seq_idx = seq_idx
        return seq

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch; with ``free_resources`` also all processes."""
        super().finish_epoch(free_resources=free_resources)
        if self._current is not None:
            self._current.stop_epoch()
        self._current = None
        if free_resources:
            end_all(list(self._workers.values()))
            self._workers = {}
            self._started_ahead = set()

    def supports_sharding(self) -> bool:
        """
        :return: True: shards have their own files
        """
        return True


def _names(tree: FileTree) -> Iterator[str]:
    if isinstance(tree, (str, os.PathLike)):
        yield os.fspath(tree)
    elif isinstance(tree, CachedFile):
        yield tree.filename
    elif isinstance(tree, (list, tuple)):
        for sub in tree:
            yield from _names(sub)
    elif isinstance(tree, dict):
        for sub in tree.values():
            yield from _names(sub)
    else:
        raise TypeError(f"expected a file name, or a tuple, list or dict of them, got {tree!r}")


def _has_any_key(options: Any, keys: Sequence[str]) -> bool:
    """:return: whether there is one of the keys, at any depth"""
    if isinstance(options, dict):
        return any(options.get(key) is not None for key in keys) or _has_any_key(list(options.values()), keys)
    return isinstance(options, (list, tuple)) and any(_has_any_key(x, keys) for x in options)


def _read_file_list(filename: str, what: str) -> list[FileTree]:
    try:
        with open(filename, encoding="utf8") as f:
            text = f.read()
    except FileNotFoundError:
        raise ConfigError(f"{what}: {file_not_found('list of files', filename)}") from None
    try:
        if filename.endswith(".txt"):
            lines = (line.strip() for line in text.splitlines())
            return [line for line in lines if line and not line.startswith("#")]
        if filename.endswith(".json"):
            return json.loads(text)
        if filename.endswith(".py"):
            return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError) as exc:
        raise ConfigError(f"{what}: {filename}: expected a list of files, but: {exc}") from exc
    raise ConfigError(f"{what}: {filename!r} must be a .txt, .json or .py file, or a list")
