"""Worker processes: errors, deaths, silence, ends; arrays through shared memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import psutil
import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets import array_ring
from returnn.datasets.seq import DatasetSeq
from returnn.datasets.worker_process import RING_BYTES, WorkerError, WorkerProcess
from returnn.datasets.worker_server import Handler
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError


class Numbers(Handler):
    """For tests: says what it is told to."""

    def start_epoch(
        self, inputs: Iterator[DatasetSeq], num_seqs: int, how: str = "", num_values: int = 1
    ) -> tuple[Any, Iterator[DatasetSeq]]:
        return {"num_seqs": num_seqs}, self._seqs(num_seqs, how, num_values)

    def _seqs(self, num_seqs: int, how: str, num_values: int) -> Iterator[DatasetSeq]:
        for i in range(num_seqs):
            if how and i == 2:
                print(f"now comes: {how}", file=sys.stderr, flush=True)
                getattr(self, how)()
            yield DatasetSeq(i, numpy.arange(i, i + num_values), seq_tag=f"number-{i}")

    def double_inputs(self, inputs: Iterator[DatasetSeq]) -> Iterator[DatasetSeq]:
        for seq in inputs:
            yield DatasetSeq(seq.seq_idx, seq.features["data"] * 2)

    def fail(self) -> None:
        raise ValueError("no such number")

    def fail_by_config(self) -> None:
        raise ConfigError("option x is wrong")

    def end(self) -> None:
        os._exit(3)

    def exit(self) -> None:
        sys.exit("some code calls exit")

    def crash(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def sleep(self) -> None:
        time.sleep(1000)

    def add(self, a: int, b: int) -> int:
        return a + b

    def state(self) -> tuple[Any, ...]:
        with open("/proc/self/comm") as f:
            name = f.read().strip()
        return name, BehaviorVersion.get(), BehaviorVersion.is_set()


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    worker = WorkerProcess("NUM worker 1", Numbers)
    yield worker
    worker.close()


def _values(worker: WorkerProcess) -> list[int]:
    res = []
    while (seq := worker.next_seq()) is not None:
        assert seq.seq_tag == f"number-{len(res)}"
        res.append(int(seq.features["data"][0]))
    return res


def test_calls_and_epochs(worker: WorkerProcess) -> None:
    """An epoch that is given up does not disturb the next one; a call does not disturb an epoch."""
    assert worker.call("add", 2, 3) == 5
    worker.start_epoch(10_000, buffer_size=7)
    assert worker.epoch_info() == {"num_seqs": 10_000}
    assert [worker.next_seq().seq_idx for _ in range(20)] == list(range(20))  # type: ignore[union-attr]
    worker.start_epoch(5, buffer_size=2)
    assert worker.next_seq().seq_idx == 0  # type: ignore[union-attr]
    assert worker.call("add", 4, 5) == 9
    assert [worker.next_seq().seq_idx for _ in range(4)] == [1, 2, 3, 4]  # type: ignore[union-attr]
    assert worker.next_seq() is None
    assert worker.next_seq() is None


def test_process_is_like_this_one() -> None:
    BehaviorVersion._reset()
    try:
        BehaviorVersion.set(21)
        worker = WorkerProcess("a name of more letters", Numbers)
        assert worker.call("state") == ("a name of more ", 21, True) or worker.call("state")[0] == "a name of more"
        worker.close()
    finally:
        BehaviorVersion._reset()


@pytest.mark.parametrize("num_values", [1, 1000, 300_000, RING_BYTES // 8 * 2])
def test_arrays_arrive_as_they_were(worker: WorkerProcess, num_values: int) -> None:
    """From within the message (8 bytes), through shared memory, and by the socket where they are larger than that."""
    num_seqs = 40 if num_values < RING_BYTES // 8 else 3  # the memory is used several times
    worker.start_epoch(num_seqs, "", num_values, buffer_size=20)
    for i in range(num_seqs):
        seq = worker.next_seq()
        assert seq is not None
        numpy.testing.assert_array_equal(seq.features["data"], numpy.arange(i, i + num_values))
        assert seq.features["data"].flags.writeable
    assert worker.next_seq() is None


def test_error_comes_with_its_traceback_and_the_worker_goes_on(worker: WorkerProcess) -> None:
    worker.start_epoch(5, "fail", buffer_size=5)
    with pytest.raises(WorkerError, match=r"NUM worker 1 \(pid \d+\) failed: ValueError: no such number\n") as info:
        _values(worker)
    assert "test_worker_process.py" in str(info.value) and "in fail" in str(info.value)
    assert isinstance(info.value.__cause__, ValueError)
    worker.start_epoch(3, buffer_size=1)
    assert _values(worker) == [0, 1, 2]


def test_users_error_stays_one(worker: WorkerProcess) -> None:
    worker.start_epoch(5, "fail_by_config", buffer_size=5)
    with pytest.raises(ConfigError, match=r"^option x is wrong\n  \(in NUM worker 1\)$"):
        _values(worker)


def test_error_at_the_start() -> None:
    worker = WorkerProcess("NUM worker", Numbers, "this is one too many")
    with pytest.raises(WorkerError, match="TypeError: Numbers.. takes no arguments"):
        worker.call("add", 2, 3)
    worker.close()


@pytest.mark.parametrize(
    ["how", "message"],
    [
        ("end", r"ended with exit status 3. Its last words:\n  now comes: end"),
        ("crash", r"was killed by SIGSEGV. Its last words:\n(.*\n)*.*in crash\n"),
        ("exit", r"failed: SystemExit: some code calls exit"),
    ],
)
def test_worker_that_ends_is_noticed_at_once(worker: WorkerProcess, how: str, message: str) -> None:
    start = time.monotonic()
    worker.start_epoch(5, how, buffer_size=5)
    with pytest.raises(WorkerError, match=r"NUM worker 1 \(pid \d+\) " + message):
        _values(worker)
    assert time.monotonic() - start < 20


def test_killed_worker_is_noticed_at_once_with_its_last_words(worker: WorkerProcess) -> None:
    worker.start_epoch(5, "sleep", buffer_size=5)
    assert [worker.next_seq().seq_idx for _ in range(2)] == [0, 1]  # type: ignore[union-attr]
    time.sleep(0.2)
    start = time.monotonic()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"was killed by SIGKILL \(.*memory.*\). Its last words:\n  now comes: sleep"):
        worker.next_seq()
    assert time.monotonic() - start < 10
    with pytest.raises(WorkerError, match="was killed by SIGKILL"):  # also the next time
        worker.call("add", 1, 2)


def test_worker_that_says_nothing_shows_where_it_is() -> None:
    with global_config_ctx(Config({"stall_timeout": 2.0})):
        worker = WorkerProcess("NUM worker 1", Numbers)
        worker.start_epoch(5, "sleep", buffer_size=5)
        with pytest.raises(WorkerError, match=r"said nothing for \d+ seconds \(stall_timeout\)") as info:
            _values(worker)
        assert "in sleep" in str(info.value)
        start = time.monotonic()
        worker.close()
        assert time.monotonic() - start < 10


def test_what_cannot_be_sent_is_told() -> None:
    with (
        open(os.devnull) as file,
        pytest.raises(ConfigError, match="^NUM worker: the dataset cannot be sent to a work"),
    ):
        WorkerProcess("NUM worker", Numbers, file)


_nested_program = """
import os, sys, time
from returnn.datasets import init_dataset
def main():
    sub = {"class": "Task12AXDataset", "num_seqs": 1000}
    inner = {"class": "MultiProcDataset", "dataset": sub, "num_workers": 1, "buffer_size": 2}
    outer = {"class": "MultiProcDataset", "dataset": inner, "num_workers": 1, "buffer_size": 2}
    dataset = init_dataset(outer)
    dataset.init_seq_order(1)
    dataset.load_seqs(0, 1)
    print("ready", flush=True)
    sys.stdin.read()
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "SIGINT", "normal"])
def test_workers_and_their_workers_end_with_the_program(end: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_nested_program)
    root = Path(__file__).parent.parent.parent
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py")],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None and process.stdout is not None
    with process, process.stdout, process.stdin:
        assert process.stdout.readline() == b"ready\n"
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) == 2
        if end == "normal":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, end))
        process.wait(timeout=20)
        gone, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive


def test_ring_gives_memory_back_in_order() -> None:
    """Of 1024 bytes, two arrays of 400 fit, aligned to 448 each; a third one when the first was taken."""
    fd = array_ring.create_memory(1024)
    writer, reader = array_ring.ArrayRing(fd, 1024), array_ring.ArrayRing(fd, 1024)
    os.close(fd)
    arrays = [numpy.full((10, 10), i, dtype="float32") for i in range(3)]
    places = [writer.try_put(array) for array in arrays]
    assert places[0] is not None and places[1] is not None and places[2] is None
    numpy.testing.assert_array_equal(reader.take(places[0]), arrays[0])
    assert writer.num_free() == 1024 - 448
    third = writer.try_put(arrays[2])
    assert third is not None
    numpy.testing.assert_array_equal(reader.take(places[1]), arrays[1])
    numpy.testing.assert_array_equal(reader.take(third), arrays[2])
    assert writer.num_free() == 1024


def test_ring_keeps_dtypes() -> None:
    fd = array_ring.create_memory(1 << 16)
    writer, reader = array_ring.ArrayRing(fd, 1 << 16), array_ring.ArrayRing(fd, 1 << 16)
    os.close(fd)
    for array in (
        numpy.arange(6000, dtype="int16").reshape(2, 3000)[:, ::2],
        numpy.array(["a", "bcd"] * 1000),
        numpy.ones(5000, dtype="bool"),
        numpy.zeros((0, 5), dtype="float64"),
    ):
        place = writer.try_put(array)
        assert place is not None
        copy = reader.take(place)
        assert copy.dtype == array.dtype
        numpy.testing.assert_array_equal(copy, array)
    assert not array_ring.suits(numpy.array(["a" * 5000], dtype=object))
