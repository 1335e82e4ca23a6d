"""From batches of a dataset to what a session is fed with.

One thread reads the dataset and pads arrays ahead of the training steps, into a queue bounded in batches and in bytes.
Whatever the thread raises is raised again, with its traceback, where the next batch is asked for; a pass over the data
never ends early without an error, and nobody waits for a thread that is no more.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.datasets.cached2 import CachedDataset2
from returnn.engine.batch import Batch, BatchSeqCopyPart, BatchSetGenerator
from returnn.log import log
from returnn.tf.compat import tf, v1
from returnn.tf.exception_help import short_repr
from returnn.util.errors import ConfigError, UserError

META_KEYS = ("seq_idx", "seq_tag")
"""Extern data keys that the provider fills by itself, one entry a sequence."""

_LIVENESS_INTERVAL_SECONDS = 1.0
_JOIN_TIMEOUT_SECONDS = 60.0
_JOIN_TIMEOUT_SECONDS_IN_HURRY = 5.0
_MAX_QUEUE_BYTES = 2**30


@dataclass
class _ReadyBatch:
    """One batch as arrays."""

    arrays: dict[str, Any]
    """Data key, ``<key>_seq_lens``, ``seq_idx``, ``seq_tag`` -> array or list of str, batch axis first."""
    meta: dict[str, Any]
    num_bytes: int = field(init=False)

    def __post_init__(self):
        self.num_bytes = sum(getattr(value, "nbytes", 64 * len(value)) for value in self.arrays.values())


@dataclass(frozen=True)
class _Input:
    """One key of ``extern_data``. Looked up once, since lengths belong to a graph, which other threads do not see."""

    key: str
    placeholder: tf.Tensor
    sizes: tf.Tensor | None
    """Lengths ``(batch,)``; None: no dynamic axis."""
    dtype: Any
    """Of the arrays; ``object`` for text."""
    frame_shape: tuple[int | None, ...]
    """Without batch and dynamic axis. None: as the data."""
    num_labels: int | None
    """None: not sparse, or any label is good."""

    @classmethod
    def of(cls, extern_data: Any, key: str) -> _Input:
        data = extern_data.data[key]
        if data.batch_dim_axis != 0 or list(data.size_placeholder) not in ([], [0]):
            raise ConfigError(
                f"extern_data[{key!r}] = {data}: the first axis must be the batch, at most the one behind it dynamic."
            )
        sizes = data.size_placeholder.get(0)
        return cls(
            key=key,
            placeholder=data.placeholder,
            sizes=sizes,
            dtype=object if data.dtype == "string" else data.dtype,
            frame_shape=tuple(data.shape if sizes is None else data.shape[1:]),
            num_labels=data.dim if data.sparse and data.dtype != "string" else None,
        )

    @property
    def dtype_name(self) -> str:
        return "string" if self.dtype is object else self.dtype


class _BatchQueue:
    """Hands batches from one producer to one consumer, in order."""

    def __init__(self, *, max_batches: int, max_bytes: int):
        self._max_batches = max_batches
        self._max_bytes = max_bytes
        self._batches: deque[_ReadyBatch] = deque()
        self._num_bytes = 0
        self._changed = threading.Condition()
        self._stopped = False
        self._error: BaseException | None = None
        self._ended = False

    @property
    def reached_end(self) -> bool:
        """The producer came to its normal end, and everything was taken."""
        return self._ended and self._error is None and not self._batches

    def put(self, batch: _ReadyBatch) -> bool:
        """
        Waits for room. An empty queue takes any batch.

        :return: whether to go on; False once the consumer has stopped
        """
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._has_room_for(batch))
            if self._stopped:
                return False
            self._batches.append(batch)
            self._num_bytes += batch.num_bytes
            self._changed.notify_all()
            return True

    def _has_room_for(self, batch: _ReadyBatch) -> bool:
        if not self._batches:
            return True
        return len(self._batches) < self._max_batches and self._num_bytes + batch.num_bytes <= self._max_bytes

    def end(self, error: BaseException | None) -> None:
        """The producer's last word."""
        with self._changed:
            self._ended = True
            self._error = error
            self._changed.notify_all()

    def stop(self) -> None:
        """The consumer's last word."""
        with self._changed:
            self._stopped = True
            self._batches.clear()
            self._num_bytes = 0
            self._changed.notify_all()

    def wait_for_batch(self, producer: threading.Thread) -> bool:
        """
        :return: True: there is a batch. False: there is none and none will come
        :raises BaseException: what the producer raised, after the batches before it are taken
        """
        with self._changed:
            while not self._batches:
                if self._error is not None:
                    raise self._error
                if self._ended or self._stopped:
                    return False
                if not producer.is_alive():
                    raise RuntimeError("%s died without a word." % producer.name)
                self._changed.wait(_LIVENESS_INTERVAL_SECONDS)
            return True

    def take(self) -> _ReadyBatch:
        """
        :return: the next one; :func:`wait_for_batch` has said that it is there
        """
        with self._changed:
            batch = self._batches.popleft()
            self._num_bytes -= batch.num_bytes
            self._changed.notify_all()
            return batch


class FeedDictDataProvider:
    """Feeds the placeholders of ``extern_data`` with the batches of a dataset, one after the other."""

    def __init__(
        self,
        *,
        dataset: Dataset,
        batches: BatchSetGenerator,
        extern_data: Any,
        data_keys: Iterable[str] | None = None,
        enforce_min_len1: bool = False,
        capacity: int = 10,
        batch_slice: slice | None = None,
    ):
        """
        :param dataset: its epoch has been started
        :param batches: of this dataset, at its start
        :param extern_data: ``ExternData`` of the network
        :param data_keys: those to load. Default: all of ``extern_data``
        :param enforce_min_len1: a batch without any frame gets one of zeros
        :param capacity: at most so many batches are loaded ahead
        :param batch_slice: use batch i (from 0) only if i >= start and (i - start) % step == 0, skip others unloaded
        """
        self.dataset = dataset
        self.batches = batches
        self.extern_data = extern_data
        if data_keys is None:
            data_keys = extern_data.data.keys()
        self.data_keys = sorted(set(data_keys).difference(META_KEYS))
        self._inputs = {
            key: _Input.of(extern_data, key) for key in (*self.data_keys, *META_KEYS) if key in extern_data.data
        }
        self.enforce_min_len1 = enforce_min_len1
        self._batch_slice = batch_slice or slice(0, None, 1)
        self._num_batches_seen = 0
        self._capacity = capacity
        self._queue: _BatchQueue | None = None
        self._thread: threading.Thread | None = None
        self._reached_end = False
        self._complete_frac: float | None = None
        self.wait_secs = 0.0
        """Time in which somebody waited here for the next batch."""

    def start_threads(self, session: v1.Session | None = None) -> None:
        """
        Starts to load batches.

        :param session: not needed; users' scripts give it
        """
        assert self._thread is None, "already started"
        self._queue = _BatchQueue(max_batches=self._capacity, max_bytes=_MAX_QUEUE_BYTES)
        self._thread = threading.Thread(target=self._thread_main, name="DataProvider thread", daemon=True)
        self._thread.start()

    def stop_threads(self, *, in_hurry: bool = False) -> None:
        """
        Ends the thread, and the epoch of the dataset.

        :param in_hurry: somebody waits for the end of the program: a batch that is just loading gets only some seconds
        """
        if self._thread is not None:
            self._reached_end = self.have_reached_end()
            self._queue.stop()
            self._thread.join(_JOIN_TIMEOUT_SECONDS_IN_HURRY if in_hurry else _JOIN_TIMEOUT_SECONDS)
            if self._thread.is_alive():
                log.print_warning(
                    "The dataset still loads a batch and does not answer. Going on without waiting for it."
                )
                return
            self._thread = None
            self._queue = None
        self.dataset.finish_epoch()

    def have_more_data(self, session: v1.Session | None = None) -> bool:
        """
        Waits for the next batch.

        :return: True: the next :func:`get_feed_dict` gives one. False: all were given
        :raises BaseException: what went wrong in the thread
        """
        assert self._thread is not None, "start_threads() was not called"
        start = time.monotonic()
        try:
            return self._queue.wait_for_batch(self._thread)
        finally:
            self.wait_secs += time.monotonic() - start

    def get_feed_dict(self, single_threaded: bool = False) -> tuple[dict[Any, Any], dict[str, Any]]:
        """
        :param single_threaded: read the dataset here and now; for use without :func:`start_threads`
        :return: placeholder -> value, for ``Session.run``; and the meta info ``seq_idx``, ``seq_tag`` (lists),
            ``complete_frac`` (of the epoch, this batch included, in (0,1], or None if unknown)
        """
        if single_threaded:
            assert self._thread is None, "the dataset belongs to the thread"
            batch = self._read_next_batch()
            assert batch is not None, "no batch is left"
        else:
            batch = self._queue.take()
        self._complete_frac = batch.meta["complete_frac"]
        return self._feed_dict(batch.arrays), batch.meta

    def get_complete_frac(self) -> float | None:
        """
        :return: part of the epoch up to the batch given last, in (0,1]; None before the first, or if unknown
        """
        return self._complete_frac

    def have_reached_end(self) -> bool:
        """
        :return: all batches were given. False while there are some, or after an error
        """
        return self._queue.reached_end if self._queue is not None else self._reached_end

    def _thread_main(self) -> None:
        error: BaseException | None = None
        try:
            while True:
                batch = self._read_next_batch()
                if batch is None or not self._queue.put(batch):
                    break
        except BaseException as exc:  # handed to the consumer
            error = exc
            print("Exception in DataProvider thread: %s" % short_repr(exc), file=log.v1)
        finally:
            self._queue.end(error)

    def _read_next_batch(self) -> _ReadyBatch | None:
        """
        :return: None at the end
        """
        while self.batches.has_more():
            (batch,) = self.batches.peek_next_n(1)
            offset = self._num_batches_seen - (self._batch_slice.start or 0)
            self._num_batches_seen += 1
            ready = None
            if offset >= 0 and offset % (self._batch_slice.step or 1) == 0:
                with self.dataset.lock or contextlib.nullcontext():
                    self.dataset.load_seqs(batch.start_seq, batch.end_seq)
                    ready = self._copy_batch(batch)
            self.batches.advance(1)
            if ready is not None:
                ready.meta["complete_frac"] = self.batches.completed_frac() or None
                return ready
        self._reached_end = True
        return None

    def _copy_batch(self, batch: Batch) -> _ReadyBatch:
        arrays: dict[str, Any] = {}
        for key in self.data_keys:
            arrays.update(self._copy_key(batch, key))
        slices = {part.batch_slice: part.seq_idx for part in reversed(batch.seqs)}  # the first sequence of each slice
        seq_idx = [slices[i] for i in range(batch.num_slices)]
        arrays["seq_idx"] = numpy.array(seq_idx, dtype="int32")
        arrays["seq_tag"] = [self.dataset.get_tag(i) for i in seq_idx]
        return _ReadyBatch(arrays, meta={"seq_idx": seq_idx, "seq_tag": arrays["seq_tag"]})

    def _copy_key(self, batch: Batch, key: str) -> dict[str, Any]:
        """
        :return: ``key`` -> array ``(batch, [time,] ...)``; with a time axis also ``<key>_seq_lens`` int32 ``(batch,)``
        """
        spec = self._inputs[key]
        if spec.sizes is None:
            values = [self._whole_value(part.seq_idx, spec) for part in batch.seqs]
            arrays = {key: numpy.stack(values)}
        else:
            arrays = self._copy_frames(batch, spec)
        if spec.num_labels is not None:
            self._check_labels(batch, spec, arrays[key])
        if spec.dtype is object:
            arrays[key] = arrays[key].tolist()
        return arrays

    def _copy_frames(self, batch: Batch, spec: _Input) -> dict[str, numpy.ndarray]:
        seq_lens = numpy.zeros(batch.num_slices, dtype="int32")
        key = spec.key
        for part in batch.seqs:
            end = part.batch_frame_offset[key] + part.seq_end_frame[key] - part.seq_start_frame[key]
            seq_lens[part.batch_slice] = max(seq_lens[part.batch_slice], end)
        if self.enforce_min_len1:
            seq_lens = numpy.maximum(seq_lens, 1)
        frame_shape = spec.frame_shape
        if None in frame_shape:
            actual = self.dataset.get_data(batch.seqs[0].seq_idx, key).shape[1:]
            frame_shape = tuple(a if d is None else d for a, d in zip(actual, frame_shape, strict=True))
        padding = "" if spec.dtype is object else 0
        array = numpy.full((batch.num_slices, int(seq_lens.max()), *frame_shape), padding, dtype=spec.dtype)
        for part in batch.seqs:
            if part.seq_end_frame[key] > part.seq_start_frame[key]:
                self._copy_part(array, part, spec)
        return {key: array, key + "_seq_lens": seq_lens}

    def _copy_part(self, array: numpy.ndarray, part: BatchSeqCopyPart, spec: _Input) -> None:
        """Copies frames ``seq_start_frame`` to ``seq_end_frame``; those outside the sequence stay zero."""
        key = spec.key
        start, end = int(part.seq_start_frame[key]), int(part.seq_end_frame[key])
        offset = int(part.batch_frame_offset[key]) + max(-start, 0)
        start = max(start, 0)
        values = self.dataset.get_data_slice(part.seq_idx, key, start, end)
        if values.shape[1:] != array.shape[2:] or not _can_hold(array.dtype, values.dtype):
            raise self._other_data_error(
                part.seq_idx, spec, array.shape[2:], values.shape[1:], values.dtype, of="frame"
            )
        seq_len = self.dataset.get_seq_length(part.seq_idx)
        expected = max(min(end, int(seq_len[key])) - start, 0)
        if values.shape[0] != expected:
            raise Exception(
                "got shape[0]: %i, expected: %i, start/end: %r/%r, seq_idx: %i, seq len: %r"
                % (values.shape[0], expected, start, end, part.seq_idx, seq_len)
            )
        array[part.batch_slice, offset : offset + expected] = values

    def _whole_value(self, seq_idx: int, spec: _Input) -> numpy.ndarray:
        """
        :return: one sequence of a key without dynamic axis
        """
        value = numpy.asarray(self.dataset.get_data(seq_idx, spec.key))
        if value.shape == (1, *spec.frame_shape):  # one frame
            value = value[0]
        fits = len(value.shape) == len(spec.frame_shape) and all(
            d in (None, a) for a, d in zip(value.shape, spec.frame_shape, strict=True)
        )
        if not fits or not _can_hold(numpy.dtype(spec.dtype), value.dtype):
            raise self._other_data_error(seq_idx, spec, spec.frame_shape, value.shape, value.dtype, of="sequence")
        return value.astype(spec.dtype)

    def _other_data_error(
        self, seq_idx: int, spec: _Input, expected: tuple, shape: tuple[int, ...], dtype: numpy.dtype, *, of: str
    ) -> UserError:
        return UserError(
            f"extern_data[{spec.key!r}] says that a {of} has shape {tuple(expected)} and dtype {spec.dtype_name}, "
            f"but in sequence {self.dataset.get_tag(seq_idx)!r} of {self.dataset.describe()} it has "
            f"shape {shape} and dtype {dtype}. Correct extern_data, or the dataset."
        )

    def _check_labels(self, batch: Batch, spec: _Input, array: numpy.ndarray) -> None:
        """Padding is 0, so one look at the whole array is enough; only on a find the sequence is searched."""
        dim = spec.num_labels
        if array.size == 0 or (array.min() >= 0 and array.max() < dim):
            return
        row, *frame = numpy.argwhere((array < 0) | (array >= dim))[0].tolist()
        label, place = array[(row, *frame)], ""
        parts = [part for part in batch.seqs if part.batch_slice == row]
        if spec.sizes is not None:  # several sequences may share a row
            parts = [part for part in parts if part.batch_frame_offset[spec.key] <= frame[0]]
            offset = int(parts[-1].seq_start_frame[spec.key]) - int(parts[-1].batch_frame_offset[spec.key])
            place = " in frame %i" % (frame[0] + offset)
        raise UserError(
            f"Label out of range: data key {spec.key!r} of sequence {self.dataset.get_tag(parts[-1].seq_idx)!r} of "
            f"{self.dataset.describe()} has label {label}{place}, but extern_data[{spec.key!r}] has dim {dim}, "
            f"so labels are 0 to {dim - 1}. Correct the data, or the dim."
        )

    def _feed_dict(self, arrays: dict[str, Any]) -> dict[tf.Tensor, Any]:
        feed: dict[tf.Tensor, Any] = {}
        for key, spec in self._inputs.items():
            feed[spec.placeholder] = arrays[key]
            if spec.sizes is None:
                continue
            seq_lens = feed.setdefault(spec.sizes, arrays[key + "_seq_lens"])
            if not numpy.array_equal(seq_lens, arrays[key + "_seq_lens"]):
                raise UserError(
                    f"extern_data says that {key!r} has the time axis of another key, but the lengths in the batch of "
                    f"{arrays['seq_tag']} differ: {arrays[key + '_seq_lens'].tolist()} and {seq_lens.tolist()}."
                )
        batch_dim = self.extern_data.batch_dim_placeholder
        if isinstance(batch_dim, int):
            if len(arrays["seq_idx"]) != batch_dim:
                raise UserError(f"The batch dim is fixed to {batch_dim}, but a batch has {len(arrays['seq_idx'])}.")
        elif batch_dim is not None:
            feed[batch_dim] = len(arrays["seq_idx"])
        return feed


def check_extern_data(extern_data: Any, dataset: Dataset, used_data_keys: Collection[str]) -> None:
    """
    Compares what the network expects with what a dataset says that it delivers.

    :param extern_data: ``ExternData`` of the network
    :param dataset: initialized. Before its first epoch, some know all but keys and dtypes, so these are not compared
    :param used_data_keys: only these are compared
    :raises ConfigError: lists all that differs
    """
    problems = []
    delivered = set(dataset.get_data_keys())
    waits_for_first_seq = dataset.epoch is None and type(dataset).get_data_keys is CachedDataset2.get_data_keys
    for key in sorted(set(used_data_keys).difference(META_KEYS)):
        data = extern_data.data[key]
        if key not in delivered:
            if waits_for_first_seq:
                continue
            problems.append(f"key {key!r} missing. The dataset has: {', '.join(sorted(delivered))}")
            continue
        pairs: dict[str, tuple[Any, Any]] = {}
        if not waits_for_first_seq:
            pairs["dtype"] = (data.dtype, dataset.get_data_dtype(key))
        if data.dim is not None:
            pairs["sparse"] = (bool(data.sparse), bool(dataset.is_data_sparse(key)))
            pairs["dim"] = (data.dim, dataset.get_data_dim(key) or data.dim)  # 0: the dataset does not know
        shape = list(data.shape[1:] if data.size_placeholder else data.shape)
        pairs["shape"] = (shape, list(dataset.get_data_shape(key)))
        for what, (expected, actual) in pairs.items():
            if not _agree(what, expected, actual):
                problems.append(
                    f"key {key!r} {what} mismatch. The network expects {expected!r}, the dataset delivers {actual!r}"
                )
    if problems:
        lines = [f"extern_data does not match {dataset.describe()}:", *(f"  {problem}" for problem in problems)]
        lines.append("Correct extern_data (or num_inputs, num_outputs), or the options of the dataset.")
        raise ConfigError("\n".join(lines))


def _agree(what: str, expected: Any, actual: Any) -> bool:
    if what == "dtype":
        return expected == actual or (
            "string" not in (expected, actual) and _can_hold(numpy.dtype(expected), numpy.dtype(actual))
        )
    if what == "shape":  # None: anything
        return len(expected) == len(actual) and all(
            e == a or None in (e, a) for e, a in zip(expected, actual, strict=True)
        )
    return expected == actual


def _can_hold(dtype: numpy.dtype, other: numpy.dtype) -> bool:
    """
    :return: whether values of the dtype ``other`` may be put into an array of ``dtype``: numbers, but no fractions into
        integers; text into text
    """
    if dtype.kind == "O":
        return other.kind in "OUS"
    return other.kind in "biuf" and not (other.kind == "f" and dtype.kind != "f")
