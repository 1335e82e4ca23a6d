"""Worker processes of datasets: fresh Python processes (spawned, not forked) that have the config of this one.

Contract: a :class:`~.worker_server.Handler` runs over there; its methods can be called, and the sequences of an epoch
come in their order, some ahead of their use.
Laws: an exception over there is raised here, with its traceback. A worker that dies is noticed at once, with its last
words; one that says nothing for ``stall_timeout`` seconds shows where it is, and ends the run. A worker ends with the
process that started it, however that ends; it may have workers of its own.
Elsewhere: the worker's side in worker_server.py, messages in seq_channel.py.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing.spawn
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import IO, Any

import returnn
from returnn.config import get_global_config
from returnn.log import log
from returnn.util import task_system
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError, UserError

from .array_ring import ArrayRing, create_memory
from .seq import DatasetSeq
from .seq_channel import ChannelClosed, Message, SeqChannel
from .worker_server import NO_EPOCH

RING_BYTES = 32 << 20
"""Of the memory for arrays on their way, in each direction. It is used as far as they need it."""

STALL_TIMEOUT_SECS = 3600.0
"""Default of the config key ``stall_timeout``."""

_last_words_lines = 20
_tell_after_secs = 60.0
_end_secs = 5.0


class WorkerError(RuntimeError):
    """A worker process failed, or is gone."""


class WorkerProcess:
    """One worker, from its start to :meth:`close` (or until nothing refers to it)."""

    def __init__(self, name: str, factory: Callable[..., Any], *args: Any, **kwargs: Any):
        """
        :param name: for messages, and of the process, which shows 15 letters of it
        :param factory: makes the handler, over there
        :param args: for ``factory``
        :param kwargs: for ``factory``
        :raises ConfigError: something cannot be sent to another process
        """
        self.name = name
        setup = _setup(name, (factory, args, kwargs))
        ours, theirs = socket.socketpair()
        memory = [create_memory(RING_BYTES) for _ in range(2)]
        root = os.path.dirname(os.path.dirname(os.path.abspath(returnn.__file__)))
        fds = (theirs.fileno(), *memory)
        code = (
            f"import sys; sys.path.insert(0, {root!r}); from returnn.datasets.worker_server import main;"
            f" main({fds[0]}, {fds[1]}, {fds[2]}, {RING_BYTES}, {os.getpid()})"
        )
        self._process = subprocess.Popen(
            [multiprocessing.spawn.get_executable(), "-c", code],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=fds,
        )
        theirs.close()
        connection = Connection(ours.detach())
        self._channel = SeqChannel(connection, *(ArrayRing(fd, RING_BYTES) for fd in memory))
        for fd in memory:
            os.close(fd)
        assert self._process.stderr is not None
        self._last_words = _LastWords(self._process.stderr)
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._process, connection)
        self._epoch_no = 0
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        self._stall_timeout = _stall_timeout()
        self._waiting_since = self._told_at = 0.0
        self._results: list[Any] = []
        self._infos: list[Any] = []
        self._seqs: collections.deque[DatasetSeq] = collections.deque()
        self._at_end = False
        self._buffer_size = 1
        self._num_on_way = 0
        self.num_inputs_needed = 0
        """so many input sequences the worker waits for, see :meth:`send_input`"""
        try:
            connection.send_bytes(setup)
        except OSError:
            raise self._died() from None

    @property
    def pid(self) -> int:
        """:return: of the process"""
        return self._process.pid

    @property
    def connection(self) -> Connection:
        """:return: readable when there is a message for :meth:`handle_message`"""
        return self._channel.connection

    def close(self) -> None:
        """Ends the process."""
        self._finalizer()

    # Calls.

    def call(self, method: str, *args: Any) -> Any:
        """
        :param method: of the handler
        :return: its result
        """
        self._send("call", NO_EPOCH, (method, args))
        while not self._results:
            self.handle_message()
        return self._results.pop()

    # Epochs.

    def start_epoch(self, *args: Any, buffer_size: int, input_buffer_size: int = 1) -> None:
        """Starts an epoch, without waiting for it. An earlier one is given up.

        :param args: for ``start_epoch`` of the handler
        :param buffer_size: so many sequences come ahead of their use
        :param input_buffer_size: the same for those that the worker gets
        """
        self.stop_epoch()
        self._buffer_size = buffer_size
        self._send("start", self._epoch_no, (input_buffer_size, *args))
        self._want(buffer_size)

    def stop_epoch(self) -> None:
        """Gives up the epoch, if there is one."""
        if self._epoch_no:
            with contextlib.suppress(ChannelClosed):  # the next call tells
                self._channel.send("stop", self._epoch_no)
        self._epoch_no += 1
        self._infos.clear()
        self._seqs.clear()
        self._at_end = False
        self._num_on_way = 0
        self.num_inputs_needed = 0

    def epoch_info(self) -> Any:
        """
        :return: what ``start_epoch`` of the handler tells
        """
        while not self._infos:
            self.handle_message()
        return self._infos[0]

    def next_seq(self) -> DatasetSeq | None:
        """
        :return: the next sequence of the epoch; None at its end
        """
        while not self.have_next:
            self.handle_message()
        return self.pop_seq()

    @property
    def have_next(self) -> bool:
        """:return: whether :meth:`pop_seq` works"""
        return bool(self._seqs) or self._at_end

    def pop_seq(self) -> DatasetSeq | None:
        """
        :return: the next sequence, which is here; None at the end of the epoch
        """
        if not self._seqs:
            return None
        seq = self._seqs.popleft()
        free = self._buffer_size - len(self._seqs) - self._num_on_way
        if 2 * free >= self._buffer_size and not self._at_end:
            self._want(free)
        return seq

    def _want(self, num_seqs: int) -> None:
        self._num_on_way += num_seqs
        self._send("want", self._epoch_no, num_seqs)

    def send_input(self, seq: DatasetSeq | None) -> None:
        """
        :param seq: for the handler, not more than ``num_inputs_needed``; None: there is no further one
        """
        if seq is None:
            self._send("inputs_over", self._epoch_no)
            return
        self.num_inputs_needed -= 1
        try:
            self._channel.send_seq("input", self._epoch_no, seq)
        except ChannelClosed:
            self._read_last_error()
            raise self._died() from None

    # Messages.

    def _send(self, kind: str, epoch_no: int, value: Any = None) -> None:
        try:
            self._channel.send(kind, epoch_no, value)
        except ChannelClosed:
            self._read_last_error()
            raise self._died() from None

    def _read_last_error(self) -> None:
        """:raises WorkerError: the worker told why it ended"""
        with contextlib.suppress(ChannelClosed, OSError):
            while self.connection.poll(0):
                self._take(self._channel.receive())

    def handle_message(self) -> None:
        """Waits for the next message, and takes it.

        :raises WorkerError: an exception over there, or there is nobody any more
        """
        self._wait()
        try:
            message = self._channel.receive()
        except ChannelClosed:
            raise self._died() from None
        self._take(message)

    def _take(self, message: Message) -> None:
        kind, epoch_no, value = message
        if epoch_no not in (NO_EPOCH, self._epoch_no):
            return
        if kind == "result":
            self._results.append(value)
        elif kind == "started":
            self._infos.append(value)
        elif kind == "seq":
            self._seqs.append(value)
            self._num_on_way -= 1
        elif kind == "end":
            self._at_end = True
        elif kind == "need_inputs":
            self.num_inputs_needed += value
        elif kind == "error":
            raise self._error(*value)

    def _error(self, type_name: str, text: str, traceback_text: str, pickled: bytes | None) -> Exception:
        """:return: what to raise here for an exception over there"""
        exc = pickle.loads(pickled) if pickled else None
        if isinstance(exc, UserError):
            exc.args = (f"{text}\n  (in {self.name})",)
            return exc
        error = WorkerError(f"{self.name} (pid {self.pid}) failed: {type_name}: {text}\n{_indented(traceback_text)}")
        error.__cause__ = exc
        return error

    def _wait(self) -> None:
        self.start_waiting()
        while not self._poll.poll(1000):
            self.check()

    def start_waiting(self) -> None:
        """From now on a message is waited for, see :meth:`check`."""
        self._waiting_since = self._told_at = time.monotonic()

    def check(self) -> None:
        """To be called about each second while a message is waited for.

        :raises WorkerError: there is nobody any more, or it takes too long
        """
        if self._process.poll() is not None and not self.connection.poll(0):
            raise self._died()
        now = time.monotonic()
        waited = now - self._waiting_since
        if waited >= self._stall_timeout:
            raise self._stalled(waited)
        if now - self._told_at >= _tell_after_secs:
            self._told_at = now
            print(f"{self.name} (pid {self.pid}): waiting since {waited:.0f} secs", file=log.v3)

    def _stalled(self, secs: float) -> WorkerError:
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)
        return WorkerError(
            f"{self.name} (pid {self.pid}) said nothing for {secs:.0f} seconds (stall_timeout). Where it is:\n"
            f"{self._last_words.text()}"
        )

    def _died(self) -> WorkerError:
        try:
            status = self._process.wait(timeout=_end_secs)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        how = f"ended with exit status {status}"
        if status < 0:
            why = " (was there enough memory?)" if status == -signal.SIGKILL else ""
            how = f"was killed by {signal.Signals(-status).name}{why}"
        self._last_words.wait()
        words = self._last_words.text()
        self.close()
        return WorkerError(f"{self.name} (pid {self.pid}) {how}. " + (f"Its last words:\n{words}" if words else ""))


def _setup(name: str, handler: tuple[Any, ...]) -> bytes:
    """:return: pickled; everything that makes the process like this one"""
    payload = {}
    for what, value in (("config", get_global_config(raise_exception=False)), ("handler", handler)):
        try:
            payload[what] = task_system.dumps(value)
        except UserError:
            raise
        except Exception as exc:  # pickling calls anything
            raise ConfigError(
                f"{name}: {'the config' if what == 'config' else 'the dataset'} cannot be sent to a worker process:"
                f" {type(exc).__name__}: {exc}"
            ) from exc
    preparation = multiprocessing.spawn.get_preparation_data(name)
    del preparation["authkey"]  # a secret
    if not any(b"__main__" in value for value in payload.values()):  # else the program is imported again
        preparation = {key: value for key, value in preparation.items() if not key.startswith("init_main_")}
    verbosity = max(i for i, shown in enumerate(log.verbose) if shown)
    return pickle.dumps(
        {
            "name": name,
            "preparation": preparation,
            "behavior_version": BehaviorVersion.get() if BehaviorVersion.is_set() else None,
            "min_behavior_version": BehaviorVersion.get(),
            "log_verbosity": verbosity,
            **payload,
        }
    )


def _stall_timeout() -> float:
    config = get_global_config(return_empty_if_none=True)
    assert config is not None
    return config.float("stall_timeout", STALL_TIMEOUT_SECS) or STALL_TIMEOUT_SECS


def _end(owner_pid: int, process: subprocess.Popen[bytes], connection: Connection) -> None:
    connection.close()  # the sign to end
    if os.getpid() != owner_pid:  # a forked child
        return
    try:
        process.wait(timeout=_end_secs)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_all(workers: Sequence[WorkerProcess]) -> None:
    """Ends all of them, at the same time."""
    threads = [threading.Thread(target=worker.close) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _LastWords:
    """Passes on what a process writes to its stderr, and keeps the end of it."""

    def __init__(self, stream: IO[bytes]):
        self._lines: collections.deque[str] = collections.deque(maxlen=_last_words_lines)
        self._thread = threading.Thread(target=self._read, args=(stream,), name="last words", daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                text = line.decode("utf8", errors="replace")
                self._lines.append(text.rstrip())
                sys.stderr.write(text)

    def wait(self) -> None:
        """Until all was read. A child of the process may still have the stream, so not for long."""
        self._thread.join(timeout=1.0)

    def text(self) -> str:
        """
        :return: last lines
        """
        return _indented("\n".join(self._lines))


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
