"""The worker's side of :mod:`.worker_process`: answers calls, sends the sequences of an epoch ahead of their use."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import multiprocessing.spawn
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from returnn.log import log
from returnn.util import task_system
from returnn.util.behavior_version import BehaviorVersion

from .array_ring import ArrayRing
from .seq import DatasetSeq
from .seq_channel import ChannelClosed, Message, SeqChannel

NO_EPOCH = -1
"""In messages that belong to no epoch."""

_end_by_itself_secs = 1.0


class AbandonedEpoch(BaseException):
    """Raised inside of an epoch that nobody wants any more. No Exception, so that users' code lets it pass."""


class Handler:
    """What a worker does. Its methods can be called, and it gives the sequences of an epoch."""

    def start_epoch(self, inputs: Iterator[DatasetSeq], *args: Any) -> tuple[Any, Iterator[DatasetSeq]]:
        """
        :param inputs: sequences that come from the parent process, if this handler works on those
        :param args: from the parent process
        :return: anything that the parent process should know about the epoch; its sequences
        """
        raise NotImplementedError


def main(connection_fd: int, fd_in: int, fd_out: int, ring_size: int, parent_pid: int) -> None:
    """
    Runs the worker until the other end of the connection is closed.

    :param connection_fd: socket to the parent process
    :param fd_in: memory with arrays from there
    :param fd_out: memory with arrays to there
    :param ring_size: bytes of each
    :param parent_pid: the worker ends with this process
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # the parent asks for it when nothing comes any more
    channel = SeqChannel(Connection(connection_fd), ArrayRing(fd_out, ring_size), ArrayRing(fd_in, ring_size))
    server = _Server(channel)
    setup = pickle.loads(channel.connection.recv_bytes())
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as f:  # what `ps` and `top` show
        f.write(setup["name"][:15])
    threading.Thread(target=server.receive_forever, args=(parent_pid,), name="receiver", daemon=True).start()
    try:
        server.handler = _prepare(setup)
    except BaseException as exc:
        server.send_error(exc, NO_EPOCH)
        while server.next_command()[0] != "exit":  # until then the parent reads what happened
            pass
        return
    with contextlib.suppress(ChannelClosed):
        server.run()


def _prepare(setup: dict[str, Any]) -> Handler:
    """:return: the handler; this process is as the parent was before"""
    multiprocessing.spawn.prepare(setup["preparation"])
    BehaviorVersion.set(setup["behavior_version"])
    BehaviorVersion.set_min_behavior_version(setup["min_behavior_version"])
    log.initialize(verbosity=setup["log_verbosity"])
    task_system.loads(setup["config"])  # sets it as the global one
    factory, args, kwargs = task_system.loads(setup["handler"])
    return factory(*args, **kwargs)


class _Server:
    def __init__(self, channel: SeqChannel):
        self._channel = channel
        self.handler: Handler = Handler()
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._put_back: list[Message] = []

    def receive_forever(self, parent_pid: int) -> None:
        """Of the receiving thread. Ends the process with the parent."""
        with contextlib.suppress(ChannelClosed, OSError):
            while os.getppid() == parent_pid:
                if self._channel.connection.poll(1.0):
                    self._messages.put(self._channel.receive())
        self._messages.put(("exit", NO_EPOCH, None))
        time.sleep(_end_by_itself_secs)
        os._exit(1)

    def next_command(self) -> Message:
        """
        :return: the next message; waits for it
        """
        return self._put_back.pop() if self._put_back else self._messages.get()

    def have_command(self) -> bool:
        """
        :return: whether :meth:`next_command` need not wait
        """
        return bool(self._put_back) or not self._messages.empty()

    def run(self) -> None:
        """Until the parent says so."""
        while True:
            message = self.next_command()
            kind, epoch_no, args = message
            if kind == "exit":
                return
            if kind == "call":
                self._call(*args)
            elif kind == "start":
                try:
                    _Epoch(self, self._channel, epoch_no).run(args)
                except AbandonedEpoch:
                    pass
                except BaseException as exc:
                    self.send_error(exc, epoch_no)
            # the rest belongs to an epoch that is over

    def _call(self, method: str, args: tuple[Any, ...]) -> None:
        try:
            result = getattr(self.handler, method)(*args)
        except BaseException as exc:
            self.send_error(exc, NO_EPOCH)
        else:
            self._channel.send("result", NO_EPOCH, result)

    def take_command_in_epoch(self, epoch: _Epoch) -> None:
        """Handles one message. :raises AbandonedEpoch: it is not about this epoch"""
        message = self.next_command()
        kind, epoch_no, value = message
        if kind == "call":
            self._call(*value)
        elif epoch_no == epoch.epoch_no and kind != "start":
            epoch.take(kind, value)
        else:
            self._put_back.append(message)
            raise AbandonedEpoch

    def send_error(self, exc: BaseException, epoch_no: int) -> None:
        """Tells the parent what happened."""
        text = "".join(traceback.format_exception(exc)).rstrip()
        try:
            pickled = pickle.dumps(exc)
            pickle.loads(pickled)
        except Exception:
            pickled = None
        sys.stdout.flush()
        self._channel.send("error", epoch_no, (type(exc).__name__, str(exc), text, pickled))


class _Epoch:
    """One epoch, as long as its sequences are wanted."""

    def __init__(self, server: _Server, channel: SeqChannel, epoch_no: int):
        self._server = server
        self._channel = channel
        self.epoch_no = epoch_no
        self._num_wanted = 0
        self._inputs: deque[DatasetSeq] = deque()
        self._input_buffer_size = 1
        self._num_inputs_coming = 0
        self._inputs_over = False

    def take(self, kind: str, value: Any) -> None:
        """
        :param kind: of a message about this epoch
        """
        if kind == "want":
            self._num_wanted += value
        elif kind == "input":
            self._inputs.append(value)
            self._num_inputs_coming -= 1
        elif kind == "inputs_over":
            self._inputs_over = True
        else:
            raise AbandonedEpoch  # "stop"

    def run(self, args: tuple[Any, ...]) -> None:
        """Sends the sequences, as many as wanted."""
        input_buffer_size, *handler_args = args
        self._input_buffer_size = input_buffer_size
        info, seqs = self._server.handler.start_epoch(self._iterate_inputs(), *handler_args)
        self._channel.send("started", self.epoch_no, info)
        while True:
            while not self._num_wanted or self._server.have_command():
                self._server.take_command_in_epoch(self)
            seq = next(seqs, None)
            if seq is None:
                self._channel.send("end", self.epoch_no)
                return
            self._num_wanted -= 1
            self._channel.send_seq("seq", self.epoch_no, seq, wait=self._take_commands)

    def _take_commands(self) -> None:
        while self._server.have_command():
            self._server.take_command_in_epoch(self)

    def _iterate_inputs(self) -> Iterator[DatasetSeq]:
        while True:
            free = self._input_buffer_size - len(self._inputs) - self._num_inputs_coming
            if not self._inputs_over and free > 0 and 2 * free >= self._input_buffer_size:
                self._num_inputs_coming += free
                self._channel.send("need_inputs", self.epoch_no, free)
            while not self._inputs and not self._inputs_over:
                self._server.take_command_in_epoch(self)
            if not self._inputs:
                return
            yield self._inputs.popleft()
