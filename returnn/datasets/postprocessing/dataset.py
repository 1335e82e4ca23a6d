"""Functions of the config over the sequences of another dataset."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait as wait_for_connections
from typing import Any

from returnn.tensor import Tensor, TensorDict
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from ..cached2 import CachedDataset2
from ..create import init_dataset
from ..data_templates import data_templates, num_outputs_of, templates_of_dataset
from ..dataset import OptionalNotImplementedError
from ..seq import DatasetSeq
from ..seq_order import SeqOrderingError
from ..sub_reader import known_num_seqs, options_without_effect, read_seq
from ..worker_process import WorkerProcess, end_all
from .apply import FunctionWorker, Randomness, UsersFunction, with_corpus_seq_idx


class PostprocessingDataset(CachedDataset2):
    """What a function makes of the sequences of another dataset.

    ``map_seq(data, *, epoch, seq_idx, rng, **kwargs)`` gets and returns a TensorDict. ``map_seq_stream(iterator, *,
    epoch, rng, **kwargs)`` gets and returns an iterator over them, so it can drop, add, join or reorder sequences.
    Entries are numpy arrays without batch axis: all data keys of the other dataset, and "complete_frac", "seq_idx",
    "seq_tag".
    """

    def __init__(
        self,
        *,
        dataset: Any,
        map_seq: Callable[..., TensorDict] | None = None,
        map_seq_stream: Callable[..., Iterator[TensorDict]] | None = None,
        map_outputs: Mapping[str, Any] | None = None,
        map_seq_stream_preserves_num_seqs: bool | None = None,
        buf_size: int = 1,
        num_workers: int = 0,
        **kwargs: Any,
    ):
        """
        :param dataset: see :func:`.create.init_dataset`
        :param map_seq: over single sequences
        :param map_seq_stream: over all of an epoch; just one of the two must be given
        :param map_outputs: data key -> options of a Tensor without batch axis, if keys or shapes are others afterwards
        :param map_seq_stream_preserves_num_seqs: whether as many sequences come out as go in. None: what the
            attribute ``preserves_num_seqs`` of the function says
        :param buf_size: sequences that each worker gets, and gives, ahead of their use
        :param num_workers: processes that run the function, by turns. 0: this one. With ``map_seq_stream`` each sees
            only its share of the sequences
        """
        super().__init__(**kwargs)
        if self.seq_ordering != "default":
            raise SeqOrderingError(
                f"{self.describe()}: seq_ordering {self.seq_ordering!r} must be set in the dataset inside, not here"
            )
        if (map_seq is None) == (map_seq_stream is None):
            raise ConfigError(f"{self.describe()}: needs either map_seq or map_seq_stream, and not both")
        for name, func in (("map_seq", map_seq), ("map_seq_stream", map_seq_stream)):
            if func is not None and not callable(func):
                raise ConfigError(f"{self.describe()}: {name} must be a function, but is {func!r}")
        for name, value, minimum in (("num_workers", num_workers, 0), ("buf_size", buf_size, 1)):
            if not isinstance(value, int) or value < minimum:
                raise ConfigError(f"{self.describe()}: {name} must be an int, at least {minimum}, but is {value!r}")
        self.map_seq = map_seq
        self.map_seq_stream = map_seq_stream
        self.map_outputs = map_outputs
        self.map_seq_stream_preserves_num_seqs = map_seq_stream_preserves_num_seqs
        self.buf_size = buf_size
        self.num_workers = num_workers
        self.dataset = dataset
        self._num_seqs = 0
        self._results: Iterator[DatasetSeq] | None = None
        self._workers: list[WorkerProcess] = []
        options_without_effect(self, ("partition_epoch", "repeat_epoch"), kwargs, where="the dataset inside")

    def initialize(self) -> None:
        """Makes the other dataset."""
        if self.num_outputs is None:
            self._sub = init_dataset(self.dataset, default_kwargs={"name": f"{self.name}_sub"}, parent_dataset=self)
            self._function = self._make_function()
            if self.map_outputs is None:
                self.num_inputs = self._sub.num_inputs
                self.num_outputs = dict(self._sub.num_outputs or {})
                self.labels = dict(self._sub.labels)
            else:
                outputs = self._function.outputs
                self.num_inputs = (outputs["data"].dim or 0) if "data" in outputs else 0
                self.num_outputs = num_outputs_of(outputs)
                self.labels = {key: x.vocab.labels for key, x in outputs.items() if x.vocab is not None}
        super().initialize()

    def _make_function(self) -> UsersFunction:
        inputs = templates_of_dataset(self._sub)
        outputs = inputs
        if self.map_outputs is not None:
            outputs = data_templates(self.map_outputs, f"{self.describe()}: map_outputs")
        return UsersFunction(self.describe(), self.map_seq, self.map_seq_stream, inputs, outputs)

    @property
    def _preserves_num_seqs(self) -> bool:
        if self.map_seq is not None:
            return True
        declared = self.map_seq_stream_preserves_num_seqs
        return bool(getattr(self.map_seq_stream, "preserves_num_seqs", False) if declared is None else declared)

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch of the other dataset."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._results = None
        self._num_seqs = 0
        self._sub.init_seq_order(epoch, seq_list=seq_list, seq_order=seq_order)
        if epoch is None:
            return True
        self._num_seqs = known_num_seqs(self._sub) if self._preserves_num_seqs else None
        self._estimated_num_seqs = self._sub.estimated_num_seqs if self._preserves_num_seqs else None
        per_seq = self.map_seq is not None and BehaviorVersion.has(Change.WORKERS_CHANGE_NOTHING)
        random = Randomness(self._get_random_seed_for_epoch(epoch), per_seq=per_seq)
        if self.num_workers:
            self._results = self._from_workers(epoch, random)
        else:
            self._results = self._function.apply(self._sub_seqs(), epoch, random)
        return True

    def _sub_seqs(self) -> Iterator[tuple[DatasetSeq, int]]:
        """:return: sequences of the other dataset, each with its corpus index"""
        seq_idx = 0
        while (seq := read_seq(self._sub, seq_idx)) is not None:
            yield seq, self._sub.get_corpus_seq_idx(seq_idx) if self._sub.have_corpus_seq_idx() else seq_idx
            seq_idx += 1

    def _from_workers(self, epoch: int, random: Randomness) -> Iterator[DatasetSeq]:
        while len(self._workers) < self.num_workers:
            name = f"PP worker {len(self._workers)} of {self.name!r}"
            self._workers.append(WorkerProcess(name, FunctionWorker, self._function))
        for i, worker in enumerate(self._workers):
            worker.start_epoch(
                epoch,
                random.of_worker(i, self.num_workers),
                buffer_size=self.buf_size,
                input_buffer_size=self.buf_size,
            )
        dealer = _Dealer(self._workers, self._sub_seqs())
        active = list(self._workers)
        turn, last_frac = 0, 0.0
        while active:
            turn %= len(active)
            dealer.wait_for(active[turn])
            seq = active[turn].pop_seq()
            if seq is None:
                del active[turn]
                continue
            assert seq.complete_frac is not None
            last_frac = seq.complete_frac = max(seq.complete_frac, last_frac)  # each worker has its own sequences
            turn += 1
            yield seq

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if self._results is None or (self._num_seqs is not None and seq_idx >= self._num_seqs):
            return None
        seq = next(self._results, None)
        if seq is None and self._num_seqs is not None:
            raise ConfigError(
                f"{self._function.what} gave only {seq_idx} of {self._num_seqs} sequences, though it preserves their"
                " number, as map_seq_stream_preserves_num_seqs or its attribute preserves_num_seqs says"
            )
        if seq is not None:
            seq.seq_idx = seq_idx
        return seq

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch, also of the other dataset."""
        super().finish_epoch(free_resources=free_resources)
        self._results = None
        for worker in self._workers:
            worker.stop_epoch()
        if free_resources:
            end_all(self._workers)
            self._workers = []
        self._sub.finish_epoch(free_resources=free_resources)

    def _only_with_map_seq(self, what: str) -> None:
        if self.map_seq is None:
            raise OptionalNotImplementedError(f"{self.describe()}: with map_seq_stream, {what} are not known")

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: that of the other dataset, with ``map_seq``
        """
        self._only_with_map_seq("corpus indices")
        return self._sub.get_current_seq_order()

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: what the other dataset says, with ``map_seq``
        """
        return self.map_seq is not None and self._sub.have_corpus_seq_idx()

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: that of the other dataset, with ``map_seq``
        """
        self._only_with_map_seq("corpus indices")
        return self._sub.get_corpus_seq_idx(seq_idx)

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: those of the other dataset, with ``map_seq``
        """
        self._only_with_map_seq("all tags")
        return self._sub.get_all_tags()

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: that of the other dataset, if the function preserves the number
        """
        if not self._preserves_num_seqs:
            raise OptionalNotImplementedError(f"{self.describe()}: map_seq_stream may change the number of sequences")
        return self._sub.get_total_num_seqs(fast=fast)

    def supports_sharding(self) -> bool:
        """
        :return: what the other dataset says
        """
        return self._sub.supports_sharding()

    def _output(self, key: str) -> Tensor | None:
        return self._function.outputs.get(key)

    def get_data_keys(self) -> list[str]:
        """
        :return: those of ``map_outputs``, or of the other dataset
        """
        return list(self._function.outputs)

    def get_target_list(self) -> list[str]:
        """
        :return: keys that are not available at inference, as ``map_outputs`` or the other dataset says
        """
        if self.map_outputs is None:
            return list(self._sub.get_target_list())
        declared = [key for key, x in self._function.outputs.items() if not x.available_for_inference]
        return declared or [key for key in self._function.outputs if key != "data"]

    def get_data_dim(self, key: str) -> int:
        """
        :return: number of features or classes
        """
        output = self._output(key)
        return super().get_data_dim(key) if output is None else output.dim or 0

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: whether the values are class indices
        """
        if self.map_outputs is None:
            return self._sub.is_data_sparse(key)
        output = self._output(key)
        return super().is_data_sparse(key) if output is None else output.sparse

    def get_data_dtype(self, key: str) -> str:
        """
        :return: that of the results
        """
        output = self._output(key)
        return super().get_data_dtype(key) if output is None else output.dtype

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: shape of a frame
        """
        output = self._output(key)
        return super().get_data_shape(key) if output is None else list(output.shape[1:])


class _Dealer:
    """Gives sequences to workers by turns, as they need them."""

    def __init__(self, workers: Sequence[WorkerProcess], seqs: Iterator[tuple[DatasetSeq, int]]):
        self._workers = workers
        self._seqs: Iterator[tuple[DatasetSeq, int]] | None = seqs
        self._waiting: list[deque[DatasetSeq]] = [deque() for _ in workers]  # one needs less than another
        self._turn = 0

    def wait_for(self, worker: WorkerProcess) -> None:
        """Until it has a result, or has none any more."""
        connections = {w.connection: w for w in self._workers}
        worker.start_waiting()
        while not worker.have_next:
            ready: Any = wait_for_connections(list(connections), timeout=1.0)
            for connection in ready:
                connections[connection].handle_message()
            if worker.connection not in ready:
                worker.check()
            self._deal()

    def _deal(self) -> None:
        for i, worker in enumerate(self._workers):
            while worker.num_inputs_needed > 0 and (self._waiting[i] or self._seqs is not None):
                if self._waiting[i]:
                    worker.send_input(self._waiting[i].popleft())
                    if self._seqs is None and not self._waiting[i]:
                        worker.send_input(None)
                else:
                    self._read()

    def _read(self) -> None:
        assert self._seqs is not None
        seq, corpus_seq_idx = next(self._seqs, (None, 0))
        if seq is not None:
            self._waiting[self._turn].append(with_corpus_seq_idx(seq, corpus_seq_idx))
            self._turn = (self._turn + 1) % len(self._workers)
            return
        self._seqs = None
        for worker, waiting in zip(self._workers, self._waiting, strict=True):
            if not waiting:
                worker.send_input(None)
