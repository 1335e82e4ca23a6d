"""MultiProcDataset gives what the dataset alone gives."""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import psutil
import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets import init_dataset
from returnn.datasets.basic import Dataset
from returnn.datasets.cached2 import CachedDataset2
from returnn.datasets.seq import DatasetSeq
from returnn.datasets.worker_process import WorkerError
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError

from .reading import iterate, read_epoch, tags

_data = [{"data": numpy.arange(n * 3, dtype="float32").reshape(n, 3)} for n in (5, 3, 9, 1, 7, 3, 8, 2, 6, 4)]
_static = {"class": "StaticDataset", "data": _data, "seq_ordering": "laplace:3", "partition_epoch": 2}
_task = {"class": "Task12AXDataset", "num_seqs": 11, "seq_ordering": "random", "repeat_epoch": 2}


class Stream(CachedDataset2):
    """Does not know its number of sequences, nor their order. Sharding: each shard takes its turns."""

    def __init__(self, size: int = 10, bad_seq: int = -1, **kwargs: Any):
        super().__init__(**kwargs)
        self.size, self.bad_seq = size, bad_seq
        self.num_outputs = {"data": (100, 1)}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        i = seq_idx * self._num_shards + self._shard_index
        if i >= self.size:
            return None
        if i == self.bad_seq:
            raise OSError("the disk is broken")
        return DatasetSeq(seq_idx, numpy.full(i + 1, i, dtype="int32"), seq_tag=f"stream-{i}")

    def supports_sharding(self) -> bool:
        return True


@pytest.fixture
def make() -> Iterator[Any]:
    """Makes datasets, whose processes end with the test."""
    made: list[Dataset] = []

    def func(sub: Any, num_workers: int = 2, buffer_size: int = 2, **kwargs: Any) -> Dataset:
        opts = {"class": "MultiProcDataset", "name": "train", "dataset": sub, "num_workers": num_workers}
        made.append(init_dataset({**opts, "buffer_size": buffer_size, **kwargs}))
        return made[-1]

    yield func
    for dataset in made:
        dataset.finish_epoch(free_resources=True)


@pytest.mark.parametrize("sub", [_static, _task], ids=["static", "task"])
@pytest.mark.parametrize("num_workers", [1, 4])
def test_same_as_the_dataset_alone(make: Any, sub: dict[str, Any], num_workers: int) -> None:
    alone, dataset = init_dataset(sub), make(sub, num_workers)
    for epoch in (1, 2, 3):
        assert read_epoch(dataset, epoch) == read_epoch(alone, epoch)
    dataset.init_seq_order(2)
    alone.init_seq_order(2)
    assert list(dataset.get_current_seq_order()) == list(alone.get_current_seq_order())
    assert [dataset.get_corpus_seq_idx(i) for i in range(5)] == [alone.get_corpus_seq_idx(i) for i in range(5)]
    assert dataset.get_data_keys() == alone.get_data_keys()
    assert dataset.get_all_tags() == alone.get_all_tags()
    assert dataset.get_total_num_seqs() == alone.get_total_num_seqs()
    assert dataset.num_outputs == alone.num_outputs
    assert dataset.supports_seq_order_sorting() == alone.supports_seq_order_sorting()


def test_epoch_can_be_left_and_resources_freed(make: Any) -> None:
    alone, dataset = init_dataset(_static), make(_static)
    for _ in range(3):
        dataset.init_seq_order(1)
        dataset.load_seqs(0, 2)
    workers = [psutil.Process(worker.pid) for worker in dataset._workers]
    assert workers
    dataset.finish_epoch(free_resources=True)
    assert not psutil.wait_procs(workers, timeout=10)[1]
    assert read_epoch(dataset, 2) == read_epoch(alone, 2)


def test_no_epoch_means_no_sequences(make: Any) -> None:
    dataset = make(_static)
    dataset.init_seq_order()
    assert dataset.num_seqs == 0 and list(dataset.get_current_seq_order()) == []


def test_follower(make: Any) -> None:
    dataset = make(_static)
    assert tags(read_epoch(dataset, 1, seq_list=["seq-4", "seq-1", "seq-9"])) == ["seq-4", "seq-1", "seq-9"]
    assert tags(read_epoch(dataset, 1, seq_order=[7, 7, 0])) == ["seq-7", "seq-7", "seq-0"]


def test_common_options_are_defaults_of_the_dataset(make: Any) -> None:
    dataset = make({"class": "StaticDataset", "data": _data}, seq_ordering="reverse", partition_epoch=5)
    assert tags(read_epoch(dataset, 1)) == ["seq-9", "seq-8"]
    dataset = make({"class": "StaticDataset", "data": _data, "seq_ordering": "sorted"}, seq_ordering="reverse")
    assert tags(read_epoch(dataset, 1))[0] == "seq-3"


@pytest.mark.parametrize("size", [10, 11])
def test_dedicated_with_unknown_length(make: Any, size: int) -> None:
    """Shard 0 has 0, 2, 4, ..., shard 1 has 1, 3, 5, ..."""
    dataset = make({"class": Stream, "size": size}, sharding_method="dedicated")
    assert tags(read_epoch(dataset, 1)) == [f"stream-{i}" for i in range(size)]
    dataset.init_seq_order(1)
    fractions = []
    for i in range(size):
        dataset.load_seqs(i, i + 1)
        fractions.append(dataset.get_complete_frac(i))
    assert fractions == sorted(fractions)


def test_dedicated_with_known_order(make: Any) -> None:
    """Shards are contiguous: 0..4 and 5..9."""
    sub = {"class": "StaticDataset", "data": _data}
    dataset = make(sub, sharding_method="dedicated")
    expected = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    assert tags(read_epoch(dataset, 1)) == [f"seq-{i}" for i in expected]
    dataset.init_seq_order(1)
    assert list(dataset.get_current_seq_order()) == expected and dataset.num_seqs == 10
    assert tags(read_epoch(dataset, 1, seq_list=["seq-3", "seq-2", "seq-1"])) == ["seq-3", "seq-2", "seq-1"]


def test_order_that_is_not_known_needs_dedicated(make: Any) -> None:
    dataset = make({"class": Stream})
    with pytest.raises(
        ConfigError, match="Stream 'train_sub' cannot tell the order .* Use sharding_method=\"dedicated\""
    ):
        dataset.init_seq_order(1)


@pytest.mark.parametrize("version", [0, 31])
def test_complete_frac(make: Any, version: int) -> None:
    """Old: that of the worker, 3 and 2 sequences. New: that of the dataset."""
    BehaviorVersion._reset(version)
    try:
        dataset = make({**_static, "seq_ordering": "default"})
        dataset.init_seq_order(1)
        fractions = []
        for i in range(5):
            dataset.load_seqs(i, i + 1)
            fractions.append(dataset.get_complete_frac(i))
    finally:
        BehaviorVersion._reset()
    assert fractions == ([1 / 3, 1 / 2, 2 / 3, 1.0, 1.0] if version == 0 else [0.2, 0.4, 0.6, 0.8, 1.0])


def test_error_in_a_worker(make: Any) -> None:
    dataset = make({"class": Stream, "bad_seq": 3}, sharding_method="dedicated")
    with pytest.raises(WorkerError, match="MPD worker 1 of 'train' .* failed: OSError: the disk is broken") as info:
        read_epoch(dataset, 1)
    assert "in _collect_single_seq" in str(info.value)


def test_killed_worker(make: Any) -> None:
    dataset = make({"class": "Task12AXDataset", "num_seqs": 10_000})
    dataset.init_seq_order(1)
    dataset.load_seqs(0, 1)
    worker = dataset._workers[1]
    start = time.monotonic()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=rf"MPD worker 1 of 'train' \(pid {worker.pid}\) was killed by SIGKILL"):
        list(iterate(dataset))
    assert time.monotonic() - start < 30


def test_copy_has_its_own_workers(make: Any) -> None:
    dataset = make(_static)
    dataset.init_seq_order(1)
    copied = copy.deepcopy(dataset)
    try:
        assert read_epoch(copied, 2) == read_epoch(init_dataset(_static), 2)
        assert len(list(iterate(dataset))) == 5  # the epoch goes on
    finally:
        copied.finish_epoch(free_resources=True)


def test_functions_of_a_config(make: Any, tmp_path: Path) -> None:
    """A class, a function and a lambda of the config, in a worker that has workers: as without."""
    path = tmp_path / "my.config"
    path.write_text(
        "#!rnn.py\n"
        "import numpy\n"
        "from returnn.datasets.map import MapDatasetBase\n"
        "shift = 100\n"
        "class Numbers(MapDatasetBase):\n"
        "    def __init__(self):\n"
        "        super().__init__(data_types={'data': {'dim': 1000, 'sparse': True}})\n"
        "    def __len__(self): return 7\n"
        "    def __getitem__(self, i): return {'data': numpy.arange(i, dtype='int32')}\n"
        "def add_shift(data, **kwargs):\n"
        "    data.data['data'].raw_tensor = data.data['data'].raw_tensor + shift\n"
        "    return data\n"
        "numbers = {'class': 'MapDatasetWrapper', 'map_dataset': Numbers, 'seq_ordering': 'reverse'}\n"
        "by_name = {'class': 'PostprocessingDataset', 'dataset': numbers, 'map_seq': add_shift, 'num_workers': 1}\n"
        "by_lambda = {**by_name, 'map_seq': lambda data, **kwargs: add_shift(data, **kwargs)}\n"
    )
    config = Config()
    config.load_file(str(path))
    with global_config_ctx(config):
        for name in ("by_name", "by_lambda"):
            seqs = read_epoch(make(config.typed_dict[name]), 1)
            assert [seq.data["data"] for seq in seqs] == [list(range(100, 100 + i)) for i in range(6, -1, -1)]


def _read_in_daemon(queue: Any) -> None:
    opts = {"class": "MultiProcDataset", "dataset": _static, "num_workers": 2, "buffer_size": 2}
    dataset = init_dataset(opts)
    queue.put(tags(read_epoch(dataset, 1)))


def test_in_a_daemonic_process() -> None:
    """Those of a data loader are; they may have no children that multiprocessing knows."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_read_in_daemon, args=(queue,), daemon=True)
    process.start()
    assert queue.get() == tags(read_epoch(init_dataset(_static), 1))
    process.join(timeout=20)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    ["opts", "message"],
    [
        ({"num_workers": 0}, "MultiProcDataset 'train': num_workers must be an int, at least 1, but is 0"),
        ({"buffer_size": "3"}, "MultiProcDataset 'train': buffer_size must be an int, at least 1, but is '3'"),
        ({"sharding_method": "seq"}, "sharding_method must be one of seq_order, dedicated, but is 'seq'"),
    ],
)
def test_bad_options(make: Any, opts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(_static, **opts)


def test_bad_option_of_the_dataset_inside(make: Any) -> None:
    with pytest.raises(Exception, match=r"has no option \"seq_orderin\".(.*\n)*.*\(in MPD worker 0 of 'train'\)$"):
        make({**_static, "seq_orderin": "random"})
