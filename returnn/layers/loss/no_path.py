"""Counts the sequences that have more labels than their frames can hold, and tells of them once in a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, Tensor

if TYPE_CHECKING:
    from .base import Loss

_MAX_TAGS = 10
"""so many are named"""


class SequencesWithoutPath:
    """Those of the steps of a pass over a dataset, of one loss. At the end of the pass there is a warning."""

    def __init__(self, loss: Loss):
        self._loss = loss
        self._num_seqs = self._num_bad = 0
        self._tags: list[str] = []
        self._is_registered = False

    def counted(self, value: Tensor, labels: Tensor, labels_dim: Dim, *, label_loop: bool) -> Tensor:
        """
        :param value: of the loss, [batch]
        :param labels: [batch, labels_dim]
        :param labels_dim: with the numbers of labels
        :param label_loop: equal neighbours need a frame in between
        :return: value; the sequences are counted in the steps that compute it
        """
        network, output = self._loss.base_network, self._loss.output
        if not self._is_registered:
            self._is_registered = True
            network.register_run_finished_callback(self.warn)
        labels = labels.copy_as_batch_major()
        lengths = [rf.lengths_along(x, d) for x, d in ((labels, labels_dim), (output, output.get_time_dim_tag()))]
        raws = [labels.raw_tensor, *(network.backend.convert(getattr(x, "raw_tensor", x)) for x in lengths)]

        def count(labels: numpy.ndarray, num_labels: numpy.ndarray, num_frames: numpy.ndarray) -> None:
            bad = _needed_frames(labels, num_labels, label_loop=label_loop) > num_frames
            self._num_seqs += len(bad)
            if bad.any():
                self._add(bad)

        return value.like(network.observe(count, raws, value.raw_tensor))

    def _add(self, bad: numpy.ndarray) -> None:
        rows = numpy.flatnonzero(bad).tolist()
        self._num_bad += len(rows)
        tags = self._loss.base_network.get_seq_tags_of_step()
        if tags is None or len(tags) != len(bad):
            tags = ["number %i of its batch" % i for i in range(len(bad))]
        self._tags += [str(tags[row]) for row in rows[: _MAX_TAGS - len(self._tags)]]

    def warn(self) -> None:
        """Tells what was counted since the last call, if there was any."""
        loss, num_bad, num_seqs, tags = self._loss, self._num_bad, self._num_seqs, self._tags
        self._num_seqs, self._num_bad, self._tags = 0, 0, []
        if not num_bad:
            return
        opts: dict[str, Any] = loss.base_network.get_run_opts()
        place = "%s, epoch %s: " % (opts["dataset_name"], opts["epoch"]) if "dataset_name" in opts else ""
        more = ", ..." if num_bad > len(tags) else ""
        text = (
            "%sloss %s of layer %s: %i of %i sequences have more labels than their frames can hold. Their loss is 0: %s"
        )
        which = ", ".join(tags) + more
        log.print_warning(text % (place, loss.class_name, loss._layer_name(), num_bad, num_seqs, which))


def _needed_frames(labels: numpy.ndarray, num_labels: numpy.ndarray, *, label_loop: bool) -> numpy.ndarray:
    """
    :param labels: [batch, label]
    :param num_labels: [batch], or a number
    :return: [batch]: one frame for each label, with ``label_loop`` one more between equal neighbours
    """
    num_labels = numpy.broadcast_to(num_labels, labels.shape[:1])
    if not label_loop or labels.shape[1] < 2:
        return num_labels
    inside = numpy.arange(1, labels.shape[1]) < num_labels[:, None]
    return num_labels + numpy.sum((labels[:, 1:] == labels[:, :-1]) & inside, axis=1)
