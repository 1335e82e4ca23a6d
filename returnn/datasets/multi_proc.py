"""A dataset that is read by several processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .cached2 import CachedDataset2
from .create import extend_dataset_dict_from_parent_dataset
from .dataset import OptionalNotImplementedError
from .seq import DatasetSeq
from .sub_kinds import HasSubKinds
from .sub_reader import SubReader
from .worker_process import WorkerProcess, end_all

_options_of_sub = (
    "seq_ordering",
    "partition_epoch",
    "repeat_epoch",
    "fixed_random_seed",
    "random_seed_offset",
    "unique_seq_tags",
    "seq_list_filter_file",
    "seq_order_seq_lens_file",
    "window",
    "shuffle_frames_of_nseqs",
    "estimated_num_seqs",
)
_sharding_methods = ("seq_order", "dedicated")


class MultiProcDataset(HasSubKinds, CachedDataset2):
    """Keys, tags, order and content of another dataset, which several worker processes read ahead.

    Sequence i comes from worker ``i % num_workers``. Memory: the other dataset in each worker, and up to 2 * 32 MiB a
    worker for arrays on their way.
    """

    def __init__(
        self,
        dataset: Any,
        num_workers: int,
        buffer_size: int,
        sharding_method: str = "seq_order",
        **kwargs: Any,
    ):
        """
        :param dataset: see :func:`.create.init_dataset`. The common options here about order, seeds and filters are
            its defaults
        :param num_workers: processes
        :param buffer_size: sequences that each of them reads ahead
        :param sharding_method: "seq_order": the first worker makes the order of the epoch, each reads its share.
            "dedicated": each worker orders and reads its own shard; for datasets that cannot tell their order
        """
        super().__init__(**kwargs)
        for name, value in (("num_workers", num_workers), ("buffer_size", buffer_size)):
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{self.describe()}: {name} must be an int, at least 1, but is {value!r}")
        if sharding_method not in _sharding_methods:
            raise ConfigError(
                f"{self.describe()}: sharding_method must be one of {', '.join(_sharding_methods)},"
                f" but is {sharding_method!r}"
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.buffer_size = buffer_size
        self.sharding_method = sharding_method
        self._sub_defaults = {key: kwargs[key] for key in _options_of_sub if kwargs.get(key) is not None}
        self._workers: list[WorkerProcess] = []
        self._about: dict[str, Any] = {}
        self._active: list[WorkerProcess] = []
        self._next_worker = 0
        self._order: Sequence[int] | None = None
        self._num_seqs = 0
        self._last_complete_frac = 0.0

    @property
    def _dedicated(self) -> bool:
        return self.sharding_method == "dedicated"

    def initialize(self) -> None:
        """Starts the first worker, which knows the data keys."""
        if not self._about:
            self._about = self._get_worker().call("describe")
            self.set_sub_kinds(self._about["kinds"])
        super().initialize()

    def _start_worker(self, index: int) -> WorkerProcess:
        options, defaults, extra = self.dataset, dict(self._sub_defaults), {}
        shared = extend_dataset_dict_from_parent_dataset({}, self)
        if self._dedicated:
            extra["_num_shards"] = self._num_shards * self.num_workers
            extra["_shard_index"] = self._shard_index * self.num_workers + index
        name = f"MPD worker {index} of {self.name!r}"
        return WorkerProcess(name, SubReader, options, {"name": f"{self.name}_sub", **shared, **defaults}, extra)

    def _get_worker(self) -> WorkerProcess:
        """:return: the first one, with the others only when there is an epoch"""
        if not self._workers:
            self._workers.append(self._start_worker(0))
        return self._workers[0]

    def _ask(self, method: str, *args: Any) -> Any:
        result = self._get_worker().call("ask", method, *args)
        if not result:
            raise OptionalNotImplementedError(f"{self.describe()}: {self._about['describe']} has no {method}")
        return result[0]

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch, and the workers if they are not there."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._num_seqs = 0
        self._active = []
        self._order = None
        if epoch is None:
            return True
        self._get_worker()
        while len(self._workers) < self.num_workers:
            self._workers.append(self._start_worker(len(self._workers)))
        for worker in self._workers:
            worker.stop_epoch()
        if self._dedicated:
            self._start_dedicated(epoch, seq_list, seq_order)
        else:
            self._start_shares_of_order(epoch, seq_list, seq_order)
        self._active = list(self._workers)
        self._next_worker = 0
        self._last_complete_frac = 0.0
        return True

    def _start_shares_of_order(
        self, epoch: int, seq_list: Sequence[str] | None, seq_order: Sequence[int] | None
    ) -> None:
        order = self._get_worker().call("seq_order", epoch, seq_list, seq_order)
        if order is None:
            raise ConfigError(
                f"{self.describe()}: {self._about['describe']} cannot tell the order of its sequences, which"
                ' sharding_method="seq_order" needs. Use sharding_method="dedicated".'
            )
        self._order = order
        self._num_seqs = len(order)
        for i, worker in enumerate(self._workers):
            worker.start_epoch(epoch, None, order[i :: self.num_workers], buffer_size=self.buffer_size)

    def _start_dedicated(self, epoch: int, seq_list: Sequence[str] | None, seq_order: Sequence[int] | None) -> None:
        for i, worker in enumerate(self._workers):
            shares = [None if x is None else x[i :: self.num_workers] for x in (seq_list, seq_order)]
            worker.start_epoch(epoch, *shares, buffer_size=self.buffer_size)
        infos = [worker.epoch_info() for worker in self._workers]
        nums = [info["num_seqs"] for info in infos]
        self._num_seqs = None if None in nums else sum(nums)
        if self._num_seqs is None:
            estimated = [info["estimated_num_seqs"] for info in infos]
            self._estimated_num_seqs = None if None in estimated else sum(estimated)
        orders = [info["seq_order"] for info in infos]
        if seq_order is not None:
            self._order = seq_order
        else:
            self._order = None if any(order is None for order in orders) else _interleaved(orders)

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        while self._active:
            self._next_worker %= len(self._active)
            seq = self._active[self._next_worker].next_seq()
            if seq is None:
                del self._active[self._next_worker]
                continue
            self._next_worker += 1
            seq.seq_idx = seq_idx
            if BehaviorVersion.has(Change.WORKERS_CHANGE_NOTHING) and self._num_seqs is not None:
                seq.complete_frac = None  # so that it is what the number of sequences says
            elif seq.complete_frac is not None:
                self._last_complete_frac = seq.complete_frac = max(self._last_complete_frac, seq.complete_frac)
            return seq
        return None

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch; with ``free_resources`` also the workers."""
        super().finish_epoch(free_resources=free_resources)
        self._active = []
        if free_resources:
            end_all(self._workers)
            self._workers = []
        for worker in self._workers:
            worker.stop_epoch()

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices, if the other dataset can tell
        """
        if self._order is None and self.epoch is not None:
            raise OptionalNotImplementedError(f"{self.describe()} cannot tell the order of the epoch")
        return [] if self._order is None else self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: whether the other dataset knows
        """
        return bool(self._about["have_corpus_seq_idx"])

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: position in the corpus of the other dataset
        """
        return int(self.get_current_seq_order()[seq_idx])

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: those of the other dataset
        """
        return self._ask("get_all_tags")

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: that of the other dataset
        """
        return self._ask("get_total_num_seqs")

    def get_num_timesteps(self) -> Any:
        """
        :return: that of the other dataset
        """
        return self._ask("get_num_timesteps")

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: what the other dataset says
        """
        return bool(self._about["supports_seq_order_sorting"])

    def supports_sharding(self) -> bool:
        """
        :return: what the other dataset says
        """
        return bool(self._about["supports_sharding"])


def _interleaved(orders: Sequence[Sequence[int]]) -> Sequence[int]:
    """:return: one of each by turns, as long as there are any"""
    res: list[int] = []
    for i in range(max(len(order) for order in orders)):
        res.extend(int(order[i]) for order in orders if i < len(order))
    return numpy.array(res, dtype="int64")  # type: ignore[return-value]
