"""TensorBoard event files: the scalars of each step, written from values that were fetched anyway.

There are no summary ops in the graph, and a writer is made when it has something to write.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping

from returnn.config import Config
from returnn.log import log
from returnn.tf.compat import tf, v1

_process_start_time = time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime())


class EventLogs:
    """The event files of one engine, a folder a dataset (and epoch, when not training)."""

    def __init__(self, config: Config):
        """
        :param config: option ``tf_log_dir``; None: no event files. Default: the folder of the model, or of the log file
        """
        self._base_dir = _base_dir(config)
        self._dry_run = config.bool("dry_run", False)
        self._train_log: EventLog | None = None

    def start_pass(self, dataset_name: str, *, epoch: int, train: bool, graph: tf.Graph) -> EventLog:
        """
        :param dataset_name: names the folder
        :param epoch: part of the name, except in training
        :param train: one folder for all epochs, with the graph
        :param graph: of the network
        :return: where the scalars of this pass go
        """
        name = dataset_name if train else "%s-%i" % (dataset_name, epoch)
        folder = None
        if self._base_dir is not None:
            suffix = "%s%s" % (_process_start_time, "-dryrun" if self._dry_run else "")
            folder = os.path.join(self._base_dir, "%s-%s" % (name, suffix))
        if not train:
            return EventLog(folder)
        if self._train_log is None:
            self._train_log = EventLog(folder, graph=graph)
        return self._train_log

    def close(self) -> None:
        """Closes the file of the training."""
        if self._train_log is not None:
            self._train_log.close()
            self._train_log = None


class EventLog:
    """One event file. If it cannot be written, the log says so once and the run goes on without."""

    def __init__(self, folder: str | None, *, graph: tf.Graph | None = None):
        """
        :param folder: None: nothing is written
        :param graph: is stored in the file
        """
        self._folder = folder
        self._graph = graph
        self._writer: v1.summary.FileWriter | None = None

    def add(self, values: Mapping[str, float], *, step: int) -> None:
        """
        :param values: tag -> value
        :param step: global
        """
        if self._folder is None or not values:
            return
        summary = v1.Summary(value=[v1.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        with self._without_on_errors():
            if self._writer is None:
                os.makedirs(self._folder, exist_ok=True)
                self._writer = v1.summary.FileWriter(self._folder, graph=self._graph)
                print("TF: log_dir: %s" % self._folder, file=log.v5)
            self._writer.add_summary(summary, step)

    def flush(self) -> None:
        """Brings all to the disk."""
        with self._without_on_errors():
            if self._writer is not None:
                self._writer.flush()

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


def _base_dir(config: Config) -> str | None:
    if config.has("tf_log_dir"):
        return config.value("tf_log_dir", None)
    if config.value("model", ""):
        return os.path.dirname(config.value("model", "")) or "."
    return os.path.dirname(log.filename) or "." if log.filename else None
