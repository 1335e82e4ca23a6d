"""TensorBoard event files: the scalars of each step, written from values that were fetched anyway.

There are no summary ops in the graph, but for images, and a file is made when there is something to write. It is
written by whoever adds to it, not by a thread: a full disk costs the events, never the training. Beside the events of a
training stands what the run was: a few lines, and a copy of its config.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from returnn._version import __version__
from returnn.config import Config
from returnn.log import log
from returnn.tf.compat import tf, v1

_EVENT_FILE_VERSION = "brain.Event:2"
"""First record of each event file."""

_FLUSH_INTERVAL_SECONDS = 120.0

_file_numbers = itertools.count()
"""Part of the names: a folder may get two files in one second."""

_process_start_time = time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime())


class EventLogs:
    """The event files of one engine, a folder a dataset (and epoch, when not training)."""

    def __init__(self, config: Config):
        """
        :param config: option ``tf_log_dir``; None: no event files. Default: the folder of the model, or of the log file
        """
        self._config = config
        self._base_dir = _base_dir(config)
        self._has_run_info = False
        self._dry_run = config.bool("dry_run", False)
        self._train_log: EventLog | None = None

    def start_pass(
        self, dataset_name: str, *, epoch: int, train: bool, graph: tf.Graph, search: bool = False
    ) -> EventLog:
        """
        :param dataset_name: names the folder
        :param epoch: part of the name, except in training
        :param train: one folder for all epochs, with the graph
        :param search: the network searches; part of the name
        :param graph: of the network
        :return: where the scalars of this pass go
        """
        name = dataset_name if train else "%s-%i" % (dataset_name, epoch)
        folder = None
        if self._base_dir is not None:
            name += "-search" if search else ""
            suffix = "%s%s" % (_process_start_time, "-dryrun" if self._dry_run else "")
            folder = os.path.join(self._base_dir, "%s-%s" % (name, suffix))
        if not train:
            return EventLog(folder, on_open=None if self._has_run_info else self._write_run_info)
        if self._train_log is None:
            self._train_log = EventLog(folder, graph=graph, on_open=self._write_run_info)
        return self._train_log

    def _write_run_info(self, folder: str) -> None:
        self._has_run_info = True
        write_run_info(folder, self._config)

    def close(self) -> None:
        """Closes the file of the training."""
        if self._train_log is not None:
            self._train_log.close()
            self._train_log = None


class EventLog:
    """One event file. If it cannot be written, the log says so once and the run goes on without."""

    def __init__(
        self, folder: str | None, *, graph: tf.Graph | None = None, on_open: Callable[[str], None] | None = None
    ):
        """
        :param folder: None: nothing is written
        :param graph: is stored in the file
        :param on_open: called with the folder, once it is there
        """
        self._folder = folder
        self._graph = graph
        self._on_open = on_open
        self._writer: tf.io.TFRecordWriter | None = None
        self._last_flush = time.monotonic()

    def add(self, values: Mapping[str, float], *, step: int, serialized: Sequence[bytes] = ()) -> None:
        """
        :param values: tag -> value
        :param step: global
        :param serialized: further summaries, as summary ops give them: images
        """
        if self._folder is None or not (values or serialized):
            return
        summary = v1.Summary(value=[v1.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        for text in serialized:
            summary.MergeFromString(text)
        with self._without_on_errors():
            if self._writer is None:
                os.makedirs(self._folder, exist_ok=True)
                if self._on_open is not None:
                    self._on_open(self._folder)
                self._open(self._folder)
                print("TF: log_dir: %s" % self._folder, file=log.v5)
            self._write(summary=summary, step=step)
            if time.monotonic() - self._last_flush > _FLUSH_INTERVAL_SECONDS:
                self._flush()

    def _open(self, folder: str) -> None:
        name = "events.out.tfevents.%010d.%s.%i.%i" % (
            *(time.time(), socket.gethostname(), os.getpid()),
            next(_file_numbers),
        )
        self._writer = tf.io.TFRecordWriter(os.path.join(folder, name))
        self._write(file_version=_EVENT_FILE_VERSION)
        if self._graph is not None:
            self._write(graph_def=self._graph.as_graph_def(add_shapes=True).SerializeToString())

    def _write(self, **fields: Any) -> None:
        """
        :param fields: of the event
        """
        self._writer.write(v1.Event(wall_time=time.time(), **fields).SerializeToString())

    def flush(self) -> None:
        """Brings all to the disk."""
        with self._without_on_errors():
            if self._writer is not None:
                self._flush()

    def _flush(self) -> None:
        self._writer.flush()
        self._last_flush = time.monotonic()

    def close(self) -> None:
        """Ends the file."""
        with self._without_on_errors():
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    @contextlib.contextmanager
    def _without_on_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, tf.errors.OpError) as exc:
            log.print_warning("Cannot write TensorBoard events to %r, so there will be none: %s" % (self._folder, exc))
            self._folder = self._writer = None


def write_run_info(folder: str, config: Config) -> None:
    """
    Writes ``returnn.<start>.<host>.<pid>.log``, and copies of the config files with the same lines as comments.

    :param folder: exists
    :param config: of the run
    """
    host, pid = socket.gethostname(), os.getpid()
    lines = [
        "Returnn log file:",
        "Time: %s" % time.strftime("%Y-%m-%d %H:%M:%S"),
        "Call: %s" % sys.argv,
        "Path: %s" % os.getcwd(),
        "Hostname: %s" % host,
        "PID: %i" % pid,
        "Returnn: %s" % __version__,
        "TensorFlow: %s" % tf.__version__,
        "Config files: %s" % config.files,
    ]
    name = "returnn.%s.%s.%i.log" % (_process_start_time, host, pid)
    with open(os.path.join(folder, name), "w", encoding="utf8") as f:
        f.writelines(line + "\n" for line in lines)
    comments = "".join("# %s\n" % line for line in lines)
    for path in filter(os.path.isfile, config.files):
        with open(path, "rb") as f:
            text = f.read()
        with open(os.path.join(folder, os.path.basename(path)), "wb") as f:
            f.write(text.rstrip(b"\n") + b"\n\n" + comments.encode("utf8"))


def _base_dir(config: Config) -> str | None:
    if config.has("tf_log_dir"):
        return config.value("tf_log_dir", None)
    if config.value("model", ""):
        return os.path.dirname(config.value("model", "")) or "."
    return os.path.dirname(log.filename) or "." if log.filename else None
