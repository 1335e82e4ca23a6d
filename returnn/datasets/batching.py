"""From the sequences of an epoch to batches: which frames of which sequences go together. It never touches the values.

Contract: (sequence index, start, end per key) in, as ``Dataset.iterate_seqs`` gives them, and limits; batches out.
Recurrent: every sequence, or chunk of one, is a slice of its own. Else all are laid end to end in one slice.
Laws: the order of the sequences stays; every frame that no limit drops is in exactly one batch.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from returnn.log import log
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import UserError
from returnn.util.numbers_dict import NumbersDict, NumbersLike

from .chunking import default_data_key

if TYPE_CHECKING:
    from .dataset import Dataset


class BatchSeqCopyPart:
    """Frames ``seq_start_frame`` to ``seq_end_frame`` (exclusive) of a sequence stand in the slice ``batch_slice`` of
    the batch, from its frame ``batch_frame_offset`` on; each per data key. Frames outside of the sequence are padding.
    """

    __slots__ = ("seq_idx", "seq_start_frame", "seq_end_frame", "batch_slice", "batch_frame_offset")

    def __init__(
        self,
        seq_idx: int,
        seq_start_frame: NumbersLike,
        seq_end_frame: NumbersLike,
        batch_slice: int,
        batch_frame_offset: NumbersLike,
    ):
        self.seq_idx = seq_idx
        self.seq_start_frame = _as_numbers(seq_start_frame)
        self.seq_end_frame = _as_numbers(seq_end_frame)
        self.batch_slice = batch_slice
        self.batch_frame_offset = _as_numbers(batch_frame_offset)

    @property
    def frame_length(self) -> NumbersDict:
        """
        :return: number of frames per key
        """
        return self.seq_end_frame - self.seq_start_frame

    def __repr__(self) -> str:
        args = (self.seq_idx, self.seq_start_frame, self.seq_end_frame, self.batch_slice)
        return "<BatchSeqCopyPart seq %i, frames %r to %r, slice %i>" % args


def _as_numbers(numbers: NumbersLike) -> NumbersDict:
    return numbers if isinstance(numbers, NumbersDict) else NumbersDict(numbers)


class Batch:
    """What goes into one step."""

    def __init__(self) -> None:
        self.num_slices = 0
        self._parts: list[BatchSeqCopyPart] = []
        self._max_num_frames = NumbersDict(0)
        self._new_slices: list[tuple[int, _Frames | None, _Frames]] = []
        """What is not yet in the two above: sequence index, start (None: 0), length. For most batches nobody asks for
        these before their turn comes, and with a million sequences it matters."""

    @classmethod
    def of_slices(cls, slices: list[tuple[int, _Frames | None, _Frames]]) -> Batch:
        """
        :param slices: sequence index, start frames (None: all 0), length, per key
        """
        batch = cls()
        batch._new_slices = slices
        batch.num_slices = len(slices)
        return batch

    def _add_new_slices(self) -> None:
        first = self.num_slices - len(self._new_slices)
        longest = self._max_num_frames.dict
        zeros = NumbersDict()  # nobody changes it, so one serves all
        for i, (seq_idx, start, lens) in enumerate(self._new_slices, first):
            if lens.keys() != zeros.dict.keys():
                zeros = NumbersDict(dict.fromkeys(lens, 0))
            if start is None:
                part = BatchSeqCopyPart(seq_idx, zeros, NumbersDict(lens), i, zeros)
            else:
                end = NumbersDict({key: start[key] + n for key, n in lens.items()})
                part = BatchSeqCopyPart(seq_idx, NumbersDict(start), end, i, zeros)
            self._parts.append(part)
            for key, n in lens.items():
                if n > longest.get(key, 0):
                    longest[key] = n
        self._new_slices = []

    @property
    def seqs(self) -> list[BatchSeqCopyPart]:
        """
        :return: what the batch consists of
        """
        if self._new_slices:
            self._add_new_slices()
        return self._parts

    @property
    def max_num_frames_per_slice(self) -> NumbersDict:
        """
        :return: frames of the longest slice per key
        """
        if self._new_slices:
            self._add_new_slices()
        return self._max_num_frames

    def try_sequence_as_slice(self, length: NumbersLike) -> tuple[NumbersDict, int]:
        """
        :param length: frames per key of one more sequence
        :return: frames of the longest slice per key, and number of slices, if it were added
        """
        return NumbersDict.max([self.max_num_frames_per_slice, length]), self.num_slices + 1

    def add_sequence_as_slice(self, seq_idx: int, seq_start_frame: NumbersLike, length: NumbersLike) -> None:
        """Adds frames of a sequence as one more slice."""
        start, length = _as_numbers(seq_start_frame), _as_numbers(length)
        self._new_slices.append((seq_idx, {key: start[key] for key in length.keys()}, dict(length.items())))
        self.num_slices += 1

    def add_frames(
        self, seq_idx: int, seq_start_frame: NumbersLike, length: NumbersLike, frame_dim_corresponds: bool = True
    ) -> None:
        """Adds frames of a sequence behind those that are in the single slice of the batch.

        :param frame_dim_corresponds: the frames of all keys belong together, so all of them start at the same offset
        """
        length, start = NumbersDict(length), NumbersDict(seq_start_frame)
        parts, offset = self.seqs, self.max_num_frames_per_slice.copy()
        if frame_dim_corresponds:
            offset = NumbersDict(dict.fromkeys(length.keys(), offset.max_value()), offset.max_value())
        self.num_slices = 1
        parts.append(BatchSeqCopyPart(seq_idx, start, start + length, 0, offset.copy_like(length)))
        self._max_num_frames = NumbersDict.max([self._max_num_frames, offset + length])

    def init_with_one_full_sequence(self, seq_idx: int, dataset: Dataset) -> None:
        """Makes this the batch of one whole sequence, with its context frames."""
        assert not self.num_slices
        start, end = dataset.get_start_end_frames_full_seq(seq_idx)
        self.add_sequence_as_slice(seq_idx, start, end - start)

    @property
    def start_seq(self) -> int | None:
        """
        :return: the smallest sequence index, None if the batch is empty
        """
        return min(self._seq_indices(), default=None)

    @property
    def end_seq(self) -> int | None:
        """
        :return: one more than the largest sequence index, None if the batch is empty
        """
        return max(self._seq_indices()) + 1 if self.num_slices else None

    def _seq_indices(self) -> list[int]:
        return [part.seq_idx for part in self._parts] + [seq_idx for seq_idx, _, _ in self._new_slices]

    def get_num_seqs(self) -> int:
        """
        :return: size of the range of sequence indices
        """
        return self.end_seq - self.start_seq if self.num_slices else 0  # type: ignore[operator]  # both are set then

    def get_all_slices_num_frames(self) -> NumbersDict:
        """
        :return: frames of the padded batch per key
        """
        return self.max_num_frames_per_slice * self.num_slices

    def get_total_num_frames(self) -> NumbersDict:
        """
        :return: frames per key without padding
        """
        return sum((part.frame_length for part in self.seqs), NumbersDict())

    def __repr__(self) -> str:
        return f"<Batch start_seq:{self.start_seq}, len(seqs):{len(self._parts) + len(self._new_slices)}>"


@dataclass
class SeqCounts:
    """What became of the sequences (chunks) of an epoch so far, and of their frames."""

    taken: int = 0
    """those that are in a batch"""
    zero_len: int = 0
    """left out: no frame in the default data key ("data", if used)"""
    too_long: int = 0
    """left out by max_seq_length"""
    too_short: int = 0
    """left out by min_seq_length"""
    dropped: int = 0
    """left out by chance, see seq_drop"""
    above_batch_size: int = 0
    """of those taken: longer than batch_size, so alone in a batch"""
    key: str | None = None
    """the data key whose frames are counted here, without context: the default one; None: before the first sequence"""
    taken_frames: int = 0
    too_long_frames: int = 0
    too_short_frames: int = 0
    dropped_frames: int = 0
    cut_seqs: int | None = None
    """sequences that were cut into chunks; None: there is no chunking"""
    not_in_chunks: int = 0
    """sequences with frames that are in none of their chunks"""
    not_in_chunks_frames: int = 0

    def __str__(self) -> str:
        chunks = "" if self.cut_seqs is None else f" chunks of {self.cut_seqs} sequences"
        parts = [
            (self.zero_len, "of length zero"),
            (self.too_long, "longer than max_seq_length"),
            (self.too_short, "shorter than min_seq_length"),
            (self.dropped, "left out by seq_drop"),
            (self.above_batch_size, "longer than batch_size, alone in a batch"),
        ]
        return ", ".join([f"{self.taken}{chunks} taken", *(f"{n} {what}" for n, what in parts if n)])

    def frames_text(self) -> str:
        """
        :return: the same for frames; empty before the first sequence
        """
        if self.key is None:
            return ""
        parts = [
            (self.too_long_frames, "in those longer than max_seq_length"),
            (self.too_short_frames, "in those shorter than min_seq_length"),
            (self.dropped_frames, "left out by seq_drop"),
            (self.not_in_chunks_frames, f"of {self.not_in_chunks} sequences in no chunk"),
        ]
        return ", ".join([f"{self.taken_frames} of {self.key!r} taken", *(f"{n} {what}" for n, what in parts if n)])


@dataclass(frozen=True)
class BatchLimits:
    """Limits of batches and sequences. What is not in a NumbersDict has no limit."""

    batch_size: NumbersDict
    packed_batch_size: NumbersDict
    max_pad_size: NumbersDict
    max_seq_length: NumbersDict
    min_seq_length: NumbersDict
    max_seqs: float
    max_total_num_seqs: float
    seq_drop: float

    @classmethod
    def from_options(
        cls,
        *,
        batch_size: NumbersLike,
        max_seqs: int | None = -1,
        max_seq_length: NumbersLike = math.inf,
        max_pad_size: NumbersLike = None,
        min_seq_length: NumbersLike = 0,
        seq_drop: float = 0.0,
        max_total_num_seqs: int = -1,
        packed_batch_size: NumbersLike = None,
    ) -> BatchLimits:
        """
        :param batch_size: frames of a padded batch: longest sequence times number of sequences; each number here for
            all data keys, or per key. None is possible with ``packed_batch_size``
        :param max_seqs: sequences of a batch. -1, 0, None: any number
        :param max_seq_length: longer sequences are left out. 0, None: no limit. -k: as {"classes": k}
        :param max_pad_size: padding frames of a batch. None: any number
        :param min_seq_length: shorter sequences are left out
        :param seq_drop: probability to leave out a sequence
        :param max_total_num_seqs: stop when more than this were taken (so there is one more than this). -1: never
        :param packed_batch_size: frames of a batch without padding. None: any number
        :raises UserError: no batch size, or one that is not positive
        """
        sizes = [NumbersDict(batch_size), NumbersDict(packed_batch_size)]
        given = [size for size in sizes if size.has_values()]
        if not given or any(size.min_value() <= 0 for size in given):
            raise UserError(
                f"batch_size must be set and be greater than 0, for each data key, but is {batch_size!r}"
                + (f", packed_batch_size is {packed_batch_size!r}" if packed_batch_size is not None else "")
            )
        if isinstance(max_seq_length, (int, float)) and max_seq_length < 0:
            max_seq_length = {"classes": -max_seq_length}
        return cls(
            batch_size=sizes[0],
            packed_batch_size=sizes[1],
            max_pad_size=NumbersDict(max_pad_size),
            max_seq_length=_zero_as_no_limit(NumbersDict(max_seq_length)),
            min_seq_length=NumbersDict(min_seq_length),
            max_seqs=max_seqs if max_seqs and max_seqs > 0 else math.inf,
            max_total_num_seqs=max_total_num_seqs if max_total_num_seqs >= 0 else math.inf,
            seq_drop=seq_drop,
        )


def _zero_as_no_limit(limit: NumbersDict) -> NumbersDict:
    return NumbersDict({key: n or math.inf for key, n in limit.items()}, limit.value or math.inf)


_Frames = dict[str, Any]
SeqFrames = tuple[int, _Frames | None, _Frames]
"""Sequence index, start frame (None: 0) and number of frames per key."""


def iterate_batches(
    dataset: Dataset,
    seqs: Iterable[SeqFrames],
    *,
    recurrent_net: bool,
    limits: BatchLimits,
    used_data_keys: Collection[str] | None,
    counts: SeqCounts,
) -> Iterator[Batch]:
    """
    :param dataset: in an epoch
    :param seqs: its sequences or chunks
    :param recurrent_net: whether sequences stay apart, one per slice
    :param limits: those given as one number hold for the used data keys; before behaviour version 31 for every key of
        the lengths
    :param used_data_keys: None: all
    :param counts: updated as we go
    """
    if recurrent_net and (dataset.chunk_size or dataset.custom_chunking_func):
        seqs = _count_frames_not_in_chunks(dataset, seqs, counts)
    seqs = _wanted(dataset, seqs, recurrent_net, limits, used_data_keys, counts)
    if recurrent_net:
        return _slices(seqs, _LimitKeys(used_data_keys), limits, counts)
    return _one_slice(seqs, limits)


def _count_frames_not_in_chunks(dataset: Dataset, seqs: Iterable[SeqFrames], counts: SeqCounts) -> Iterator[SeqFrames]:
    """What min_chunk_size, a step larger than the chunks, or a function of the user leaves out."""
    last_seq_idx, key = -1, ""
    covered = num_frames = 0
    counts.cut_seqs = 0

    def finish_seq(num_missing: int) -> None:
        if num_missing > 0:
            counts.not_in_chunks += 1
            counts.not_in_chunks_frames += num_missing

    num_missing = 0
    for seq in seqs:
        seq_idx, starts, lens = seq
        if seq_idx != last_seq_idx:
            finish_seq(num_missing + num_frames - covered)
            last_seq_idx, num_missing, covered = seq_idx, 0, 0
            counts.cut_seqs += 1
            moving = [k for k in lens if dataset.chunk_step.get(k, 0) != 0] if dataset.chunk_size else []
            key = default_data_key(moving or lens)
            num_frames = int(dataset.get_seq_length(seq_idx)[key])
        start = starts[key] if starts else 0
        num_missing += max(start - covered, 0)
        covered = max(covered, start + lens[key])
        yield seq
    finish_seq(num_missing + num_frames - covered)


class _LimitKeys:
    """For which data keys a limit holds."""

    def __init__(self, used_data_keys: Collection[str] | None):
        self.used = used_data_keys
        self._only_used = bool(used_data_keys) and BehaviorVersion.has(Change.LENGTH_LIMITS_OF_USED_KEYS)

    def pairs(self, keys: Collection[str], limit: NumbersDict) -> list[tuple[str, float]]:
        """
        :param keys: of the lengths
        :return: key, limit
        """
        res = []
        for key in keys:
            number = limit.dict.get(key)
            if number is None and not (self._only_used and key not in self.used):  # type: ignore[operator]  # not None
                number = limit.value
            if number is not None and number != math.inf:
                res.append((key, number))
        return res


def _wanted(
    dataset: Dataset,
    seqs: Iterable[SeqFrames],
    recurrent_net: bool,
    limits: BatchLimits,
    used_data_keys: Collection[str] | None,
    counts: SeqCounts,
) -> Iterator[SeqFrames]:
    """:return: what goes into batches, with context frames. Without empty sequences; of a recurrent network also
    without those that are too long, too short, or left out by chance
    """
    limit_keys = _LimitKeys(used_data_keys)
    draw = dataset.rnd_seq_drop.random
    context = _Context(dataset)
    has_context = bool(context)
    told_about: set[str] = set()
    keys: Any = None
    max_pairs: list[tuple[str, float]] = []
    min_pairs: list[tuple[str, float]] = []
    key0 = ""
    for seq_idx, start, lens in seqs:
        if counts.taken > limits.max_total_num_seqs:
            break
        if lens.keys() != keys:
            if not lens:
                raise UserError(f"{dataset!r}: sequence {seq_idx} ({dataset.get_tag(seq_idx)!r}) has no data at all")
            keys = set(lens)
            used = keys & set(used_data_keys) if used_data_keys else keys
            counts.key = key0 = default_data_key(used or keys)
            max_pairs = limit_keys.pairs(lens, limits.max_seq_length)
            min_pairs = [(key, limit) for key, limit in limit_keys.pairs(lens, limits.min_seq_length) if limit > 0]
        num_frames = lens[key0]
        if not num_frames:
            draw()  # as for every other sequence, so that those behind see the same numbers
            counts.zero_len += 1
            continue
        if has_context:
            start, lens = context.add(start, lens)
        if recurrent_net:
            key = _key_above(lens, max_pairs) if max_pairs else None
            if key is not None:
                counts.too_long += 1
                counts.too_long_frames += num_frames
            elif min_pairs:
                key = _key_below(lens, min_pairs)
                if key is not None:
                    counts.too_short += 1
                    counts.too_short_frames += num_frames
            if key is not None:
                if used_data_keys and key not in used_data_keys and key not in told_about:
                    told_about.add(key)
                    _tell_about_unused(dataset, key)
                continue
            if draw() < limits.seq_drop:
                counts.dropped += 1
                counts.dropped_frames += num_frames
                continue
        counts.taken += 1
        counts.taken_frames += num_frames
        yield seq_idx, start, lens


def _tell_about_unused(dataset: Dataset, key: str) -> None:
    print(
        f"{dataset!r}: note: sequences are left out because of the length of data key {key!r}, which the network does"
        " not use. Give max_seq_length and min_seq_length per data key to avoid that.",
        file=log.v3,
    )


class _Context:
    """Frames to the left and to the right of each sequence (chunk)."""

    def __init__(self, dataset: Dataset):
        left, right = dataset.ctx_left, dataset.ctx_right
        self._keys = left.dict.keys() | right.dict.keys() if left or right else set()
        self._left = {key: left.get(key, 0) for key in self._keys}
        self._right = {key: right.get(key, 0) for key in self._keys}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, start: _Frames | None, lens: _Frames) -> tuple[_Frames, _Frames]:
        """
        :return: start and number of frames, with the context
        """
        start = dict.fromkeys(lens, 0) if start is None else dict(start)
        lens = dict(lens)
        for key in self._keys:
            if key in lens:
                start[key] -= self._left[key]
                lens[key] += self._left[key] + self._right[key]
        return start, lens


def _key_above(lens: _Frames, limits: Iterable[tuple[str, float]]) -> str | None:
    """:return: a key whose length is larger than its limit"""
    for key, limit in limits:
        if lens[key] > limit:
            return key
    return None


def _key_below(lens: _Frames, limits: Iterable[tuple[str, float]]) -> str | None:
    """:return: a key whose length is smaller than its limit"""
    for key, limit in limits:
        if lens[key] < limit:
            return key
    return None


def _slices(
    seqs: Iterable[SeqFrames], limit_keys: _LimitKeys, limits: BatchLimits, counts: SeqCounts
) -> Iterator[Batch]:
    """:return: batches where every sequence is a slice

    Each line of the loop runs for each of maybe millions of sequences.
    """
    max_seqs = limits.max_seqs
    keys: Any = None
    size_pairs: list[tuple[str, float]] = []
    packed_pairs: list[tuple[str, float]] = []
    pad_pairs: list[tuple[str, float]] = []
    slices: list[SeqFrames] = []
    longest: _Frames = {}
    sums: _Frames = {}
    num = 0
    for seq in seqs:
        lens = seq[2]
        if lens.keys() != keys:
            keys = set(lens)
            size_pairs = limit_keys.pairs(lens, limits.batch_size)
            packed_pairs = limit_keys.pairs(lens, limits.packed_batch_size)
            pad_pairs = limit_keys.pairs(lens, limits.max_pad_size)
            longest = {key: longest.get(key, 0) for key in lens}
            sums = {key: sums.get(key, 0) for key in lens}
        num += 1
        is_full = num > max_seqs
        for key, limit in size_pairs:
            n, m = lens[key], longest[key]
            if (n if n > m else m) * num > limit:
                is_full = True
                break
        if not is_full and (packed_pairs or pad_pairs):
            new_sums = {key: sums[key] + n for key, n in lens.items()}
            padding = {key: max(longest[key], lens[key]) * num - new_sums[key] for key, _ in pad_pairs}
            is_full = _key_above(new_sums, packed_pairs) is not None or _key_above(padding, pad_pairs) is not None
        if is_full:
            if _key_above(lens, size_pairs) is not None:
                counts.above_batch_size += 1
                args = (NumbersDict(lens), limits.batch_size)
                print("warning: sequence length (%r) larger than limit (%r)" % args, file=log.v4)
            if slices:
                yield Batch.of_slices(slices)
                slices, num = [], 1
                longest, sums = dict.fromkeys(lens, 0), dict.fromkeys(lens, 0)
        slices.append(seq)
        for key, n in lens.items():
            if n > longest[key]:
                longest[key] = n
        if packed_pairs or pad_pairs:
            sums = {key: sums[key] + n for key, n in lens.items()}
    if slices:
        yield Batch.of_slices(slices)


def _one_slice(seqs: Iterable[SeqFrames], limits: BatchLimits) -> Iterator[Batch]:
    """:return: batches with one slice, sequences end to end, cut where a batch is full"""
    if not limits.batch_size.has_values():
        raise UserError("batch_size must be set (packed_batch_size alone is not enough for a non-recurrent network)")
    batch = Batch()
    for seq_idx, seq_start, lens in seqs:
        start = dict.fromkeys(lens, 0) if seq_start is None else seq_start
        while True:
            offset = batch.max_num_frames_per_slice.max_value()
            part = {key: min(n, limits.batch_size.get(key, math.inf) - offset) for key, n in lens.items()}
            batch.add_frames(seq_idx, start, part)
            start = {key: n + part[key] for key, n in start.items()}
            lens = {key: n - part[key] for key, n in lens.items()}
            full = batch.max_num_frames_per_slice.any_compare(limits.batch_size, lambda a, b: a >= b)
            if full or batch.get_num_seqs() > limits.max_seqs:
                yield batch
                batch = Batch()
            if not any(lens.values()):
                break
    if batch.num_slices:
        yield batch


class BatchSetGenerator:
    """The batches of an epoch, with a look ahead. One consumer, one thread at a time."""

    def __init__(
        self,
        dataset: Dataset,
        make_batches: Callable[[SeqCounts], Iterator[Batch]],
        *,
        shuffle_batches: bool = False,
    ):
        """
        :param dataset: in an epoch
        :param make_batches: starts over with the current epoch of the dataset; updates the counts it is given
        :param shuffle_batches: random order of the batches, a function of the epoch. Only for datasets that can load
            the sequences of an epoch in any order.
        """
        self.dataset = dataset
        self._make_batches = make_batches
        self._shuffle = shuffle_batches and dataset.seqs_in_any_order
        if shuffle_batches and not self._shuffle:
            print(f"{dataset!r}: shuffle_batches has no effect, sequences must be read in their order", file=log.v3)
        self.reset()

    def reset(self) -> None:
        """Starts over, with the current epoch of the dataset."""
        self.counts = SeqCounts()
        self._ahead: deque[Batch] = deque()
        self._num_advanced = 0
        self._last_seq_idx: int | None = None
        self._batches = self._make_batches(self.counts)
        self._num_batches: int | None = None
        if self._shuffle:
            batches = list(self._batches)
            random.Random(1234 * 1000003 + (self.dataset.epoch or 1)).shuffle(batches)
            self._batches = iter(batches)
            self._num_batches = len(batches)

    @property
    def num_zero_len_seqs_skipped(self) -> int:
        """
        :return: sequences without any frame that were left out so far
        """
        return self.counts.zero_len

    def has_more(self) -> bool:
        """
        :return: whether there is a next batch
        """
        return bool(self.peek_next_n(1))

    def peek_next_n(self, n: int) -> list[Batch]:
        """
        :return: the next n batches, fewer at the end
        """
        self._ahead.extend(itertools.islice(self._batches, max(n - len(self._ahead), 0)))
        return list(itertools.islice(self._ahead, n))

    def advance(self, n: int) -> None:
        """
        Goes on by n batches, which must be there.
        """
        batches = self.peek_next_n(n)
        assert len(batches) == n, f"advance({n}), but there are only {len(batches)} more batches"
        for batch in batches:
            self._ahead.popleft()
            self._last_seq_idx = batch.end_seq - 1  # type: ignore[operator]  # batches are not empty
        self._num_advanced += n

    def get_current_batch_idx(self) -> int:
        """
        :return: how many batches were taken
        """
        return self._num_advanced

    def completed_frac(self) -> float:
        """
        :return: which part of the epoch is over, in [0, 1]
        """
        if self._num_batches is not None:
            return self._num_advanced / max(self._num_batches, 1)
        if self._last_seq_idx is None:
            return 0.0
        return self.dataset.get_complete_frac(self._last_seq_idx) or 0.0


def shapes_for_batches(
    batches: Sequence[Batch],
    *,
    data_keys: Collection[str],
    dataset: Dataset | None = None,
    extern_data: Any,
    enforce_min_len1: bool = False,
) -> dict[str, list[int]] | None:
    """
    :param batches: that are put together into one array
    :param data_keys: which of ``extern_data.data`` are wanted
    :param dataset: gives sizes of further axes where ``extern_data`` has none
    :param extern_data: ``extern_data.data[key].shape`` is the shape without batch, None where dynamic
    :param enforce_min_len1: the time axis has at least one frame
    :return: key -> [slices, frames, ...]. None if there are no slices.
    """
    num_slices = sum(batch.num_slices for batch in batches)
    if not num_slices:
        return None
    frames = NumbersDict.max([batch.max_num_frames_per_slice for batch in batches])
    res: dict[str, list[int]] = {}
    for key in data_keys:
        shape: list[int | None] = list(extern_data.data[key].shape)
        if shape and shape[0] is None:
            shape[0] = max(int(frames[key]), 1) if enforce_min_len1 else int(frames[key])
        if None in shape and dataset is not None:
            known: list[Any] = [None, *dataset.get_data_shape(key)]
            shape = [n if n is not None or i >= len(known) else known[i] for i, n in enumerate(shape)]
        if None in shape:
            raise UserError(f"extern_data {key!r}: only the first axis can be dynamic here, but the shape is {shape}")
        res[key] = [num_slices, *(n for n in shape if n is not None)]
    return res
