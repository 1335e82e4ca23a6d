"""Different sequences from several datasets, in one order.

Contract: each dataset makes its own order of the epoch first. The joint index counts those one behind the other;
orders of the joint index decide which sequences come when. Then each dataset starts the epoch again with just its
share, unless that is its own order anyway. If sizes are not known, the next dataset is chosen while reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..cached2 import CachedDataset2
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq import DatasetSeq
from ..sub_reader import known_num_seqs, known_seq_order
from .interleave import Streams, even_interleave, gumbel_interleave, shuffled_datasets
from .key_sources import HasKeySources, output_of
from .lengths import lengths_of_epoch

_stream_orders = ("default", "reverse", "reversed", "random_dataset", "interleave")


class JointDataset(HasKeySources, CachedDataset2):
    """Base class. Set ``_subs`` and ``_sub_keys`` in ``initialize``, and the key sources.

    Corpus indices count the whole corpora of the datasets, one behind the other.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._subs: list[Dataset] = []
        self._sub_keys: list[Mapping[str, str]] = []
        """own data key -> data key there; by number of the dataset"""
        self._num_seqs = 0
        self._which: numpy.ndarray | None = None
        self._make_which: Callable[[], Iterator[int]] | None = None
        self._sub_positions: numpy.ndarray | None = None
        self._stream_estimate: int | None = None
        self._lens_were_read = False
        self._fractions: numpy.ndarray | None = None
        self._next_sub: Iterator[int] = iter(())
        self._used: list[int] = []
        self._streams: Streams | None = None
        self._last_fraction = 0.0

    def _gumbel_scale(self) -> float | str | None:
        """:return: for the order "interleave": None, a scale of the noise, or "remaining" """
        return None

    # Start of an epoch.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch of all datasets."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._used = [0] * len(self._subs)
        self._num_seqs = 0
        self._which = self._make_which = self._sub_positions = self._fractions = self._streams = None
        self._stream_estimate = None
        self._lens_were_read = False
        self._next_sub = iter(())
        self._last_fraction = 0.0
        if epoch is None:
            for sub in self._subs:
                sub.init_seq_order(epoch=None)
        elif seq_list is not None or seq_order is not None:
            self._start_given(epoch, self._corpus_order(epoch, seq_list, seq_order, num_seqs=0))
        else:
            self._start_own(epoch)
        return True

    def _start_subs(self, epoch: int) -> list[int]:
        """:return: epoch of each dataset, which is started"""
        for sub in self._subs:
            sub.init_seq_order(epoch=epoch)
        return [epoch] * len(self._subs)

    def _start_own(self, epoch: int) -> None:
        sub_epochs = self._start_subs(epoch)
        sizes = [known_num_seqs(sub) for sub in self._subs]
        rule = self._ordering_rule(epoch)
        if any(size is None or size == math.inf for size in sizes):
            self._start_streams(epoch, rule)
            return
        known: list[int] = [int(size) for size in sizes if size is not None]
        seed = self._get_random_seed_for_epoch(epoch)
        starts = numpy.cumsum([0, *known])
        which = fractions = None
        if rule == "interleave" and self._gumbel_scale() is not None:
            scale = self._gumbel_scale()
            factor = None if scale == "remaining" else float(scale or 0)
            self._make_which = lambda: gumbel_interleave(known, factor, seed)
            if not self._option_about_parts():
                self._num_seqs = int(starts[-1])
                self._next_sub = self._make_which()  # one by one, since it takes a while for many sequences
                return
            which = numpy.fromiter(self._make_which(), dtype="int32")
        elif rule == "interleave":
            which, fractions = even_interleave(known)
        elif rule == "random_dataset":
            which = shuffled_datasets(known, seed)
        if which is not None:
            order: Any = numpy.empty(len(which), dtype="int64")
            for number, size in enumerate(known):
                order[which == number] = starts[number] + numpy.arange(size)
            part = self._part_of_order(order, epoch)
            if len(part) != len(order):
                fractions = None
            order = numpy.asarray(part, dtype="int64")
        else:
            order = numpy.asarray(self.get_seq_order_for_epoch(epoch, int(starts[-1]), self._get_joint_len), "int64")
        which = (numpy.searchsorted(starts, order, side="right") - 1).astype("int32")
        for number, sub_epoch in enumerate(sub_epochs):
            self._pick(number, sub_epoch, order[which == number] - starts[number])
        self._set_order(which, fractions)

    def _pick(self, number: int, epoch: int, positions: numpy.ndarray) -> None:
        """Starts the epoch of the dataset again, with sequences at these positions of its current order."""
        sub = self._subs[number]
        own_order = numpy.array_equal(positions, numpy.arange(len(positions)))
        if own_order and not self._lens_were_read:
            return
        order = self._corpus_indices_of(number)
        if order is None and own_order:
            sub.init_seq_order(epoch=epoch)
            return
        if order is None:
            raise ConfigError(
                f"{self.describe()}: {sub.describe()} cannot give its sequences in another order than its own, as"
                f" seq_ordering {self.seq_ordering!r} wants it. Possible are default, random_dataset and interleave,"
                " without partition_epoch."
            )
        sub.init_seq_order(epoch=epoch, seq_order=order[positions])

    def _corpus_indices_of(self, number: int) -> numpy.ndarray | None:
        """:return: of the current order of the dataset, None if it cannot tell"""
        sub = self._subs[number]
        order = known_seq_order(sub)
        if order is None and sub.have_corpus_seq_idx():
            order = [sub.get_corpus_seq_idx(i) for i in range(sub.num_seqs)]
        return None if order is None else numpy.asarray(order, dtype="int64")

    def _set_order(self, which: numpy.ndarray, fractions: numpy.ndarray | None = None) -> None:
        self._which = which
        self._fractions = fractions
        self._num_seqs = len(which)
        self._next_sub = iter(which.tolist())

    def _start_given(self, epoch: int, seq_order: Sequence[int]) -> None:
        """Starts an epoch of given corpus indices."""
        starts = self._corpus_starts()
        order = numpy.asarray(seq_order, dtype="int64")
        which = (numpy.searchsorted(starts, order, side="right") - 1).astype("int32")
        for number, sub in enumerate(self._subs):
            sub.init_seq_order(epoch=epoch, seq_order=order[which == number] - starts[number])
        self._set_order(which)

    def _corpus_starts(self) -> numpy.ndarray:
        return numpy.cumsum([0, *(sub.get_total_num_seqs() for sub in self._subs)])

    # Joint index.

    def _get_joint_len(self, joint_idx: int) -> float:
        if joint_idx == 0:  # orders by length ask for all of them, from the first to the last
            self._lens_were_read = True
            self._joint_lens = self._iter_joint_lens()
        return next(self._joint_lens)

    def _iter_joint_lens(self) -> Iterator[float]:
        for sub in self._subs:
            get_len = lengths_of_epoch(sub)
            for seq_idx in range(sub.num_seqs):
                yield get_len(seq_idx)

    def _all_tags_for(self, option: str) -> Sequence[str]:
        """:return: tags by joint index, since that is what is ordered here"""
        if option == "seq_list":
            return super()._all_tags_for(option)
        res: list[str] = []
        for number, sub in enumerate(self._subs):
            order = self._corpus_indices_of(number)
            try:
                tags = sub.get_all_tags()
            except NotImplementedError as exc:
                raise ConfigError(f"{self.describe()}: {option} needs all tags of {sub.describe()} in advance") from exc
            assert order is not None
            res += [tags[i] for i in order.tolist()]
        return res

    # Unknown sizes.

    def _option_about_parts(self) -> str | None:
        """:return: name of an option that is set, and takes a part of the sequences or repeats them"""
        options = ("partition_epoch", "repeat_epoch", "unique_seq_tags", "seq_list_filter_file", "_num_shards")
        return next((option for option in options if getattr(self, option) not in (1, None, False)), None)

    def _start_streams(self, epoch: int, rule: str) -> None:
        case = "that the number of sequences is not known of all datasets"
        option = self._option_about_parts()
        if option:
            raise ConfigError(
                f"{self.describe()}: {option.strip('_')} is not possible for the case {case};"
                " set it in the datasets inside"
            )
        if rule not in _stream_orders:
            raise ConfigError(
                f"{self.describe()}: The sorting method {rule!r} is not implemented for the case {case}."
                f" There are: {', '.join(_stream_orders)}"
            )
        subs = self._subs
        streams = Streams(
            len(subs),
            has_seq=lambda number, seq_idx: subs[number].is_less_than_num_seqs(seq_idx),
            estimated_size=lambda number: _finite(subs[number].estimated_num_seqs),
            complete_frac=lambda number, seq_idx: subs[number].get_complete_frac(seq_idx) or 0.0,
        )
        seed = self._get_random_seed_for_epoch(epoch)
        self._streams = streams
        self._num_seqs = None
        if any(known_num_seqs(sub) == math.inf for sub in subs):
            self._num_seqs = math.inf
        sizes = [_finite(sub.estimated_num_seqs) for sub in subs]
        self._stream_estimate = None if None in sizes else sum(n for n in sizes if n is not None)
        scale = self._gumbel_scale()
        if rule == "random_dataset":
            self._next_sub = streams.by_chance(seed)
        elif rule != "interleave":
            self._next_sub = streams.in_turn(reverse=rule != "default")
        elif scale is None:
            self._next_sub = streams.evenly()
        else:
            self._next_sub = streams.evenly_by_chance(None if scale == "remaining" else float(scale), seed)

    # Data.

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        number = next(self._next_sub, None)
        if number is None:
            return None
        sub, sub_idx = self._subs[number], self._used[number]
        self._used[number] += 1
        sub.load_seqs(sub_idx, sub_idx + 1)
        keys = self._sub_keys[number]
        features = {
            key: sub.get_data(sub_idx, keys[key]) if key in keys else self._empty(key) for key in self._key_sources
        }
        fraction = None
        if self._fractions is not None:
            fraction = float(self._fractions[seq_idx])
        elif self._streams is not None:
            fraction = self._last_fraction = min(max(self._streams.fraction(), self._last_fraction), 1.0)
        return DatasetSeq(seq_idx, features, seq_tag=sub.get_tag(sub_idx), complete_frac=fraction)

    def _empty(self, key: str) -> numpy.ndarray:
        output = output_of(*self._key_sources[key])
        ndim = 1 + len(self.get_data_shape(key))
        if isinstance(output, Mapping) and "shape" in output:
            ndim = len(output["shape"])
        shape = [0] * ndim
        if ndim > 1 and not self.is_data_sparse(key):
            shape[-1] = self.get_data_dim(key)
        dtype = self.get_data_dtype(key)
        return numpy.zeros(shape, dtype="U1" if dtype == "string" else dtype)

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch of all datasets."""
        super().finish_epoch(free_resources=free_resources)
        for sub in self._subs:
            sub.finish_epoch(free_resources=free_resources)

    # Corpus.

    def _get_which(self) -> numpy.ndarray:
        """:return: number of the dataset, by seq idx"""
        if self._which is None and self._make_which is not None:
            self._which = numpy.fromiter(self._make_which(), dtype="int32")
        if self._which is None:
            if self.epoch is None:
                return numpy.zeros(0, dtype="int32")
            raise OptionalNotImplementedError(f"{self.describe()}: the order shows while reading")
        return self._which

    def _locate(self, seq_idx: int) -> tuple[int, int]:
        """:return: number of the dataset, seq idx there"""
        which = self._get_which()
        if self._sub_positions is None:
            self._sub_positions = numpy.empty(len(which), dtype="int64")
            for number in range(len(self._subs)):
                mine = which == number
                self._sub_positions[mine] = numpy.arange(int(mine.sum()))
        return int(which[seq_idx]), int(self._sub_positions[seq_idx])

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus indices, see the class
        """
        which = self._get_which()
        res = numpy.empty(len(which), dtype="int64")
        for number, start in enumerate(self._corpus_starts()[:-1]):
            mine = which == number
            order = self._corpus_indices_of(number)
            if order is None:
                raise OptionalNotImplementedError(f"{self._subs[number].describe()} cannot tell the order of the epoch")
            res[mine] = start + order[: int(mine.sum())]
        return res  # type: ignore[return-value]  # an array is a sequence

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: whether all datasets know theirs
        """
        return self._streams is None and all(sub.have_corpus_seq_idx() for sub in self._subs)

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: position in all corpora, one behind the other
        """
        number, sub_idx = self._locate(seq_idx)
        return int(self._corpus_starts()[number]) + self._subs[number].get_corpus_seq_idx(sub_idx)

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: as the dataset says
        """
        number, sub_idx = self._locate(seq_idx)
        return self._subs[number].get_estimated_seq_length(sub_idx)

    @property
    def estimated_num_seqs(self) -> int | None:
        """
        :return: of all datasets together, None if one of them does not even have an estimate
        """
        known = known_num_seqs(self)
        return next((n for n in (known, self._stream_estimate) if n is not None), self._estimated_num_seqs)

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: of all datasets together
        """
        return sum(sub.get_total_num_seqs(fast=fast) for sub in self._subs)

    def get_all_tags(self) -> list[str]:
        """
        :return: of all datasets
        """
        return [tag for sub in self._subs for tag in sub.get_all_tags()]

    def supports_sharding(self) -> bool:
        """
        :return: True; the shards are parts of the joint order
        """
        return True

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether all datasets know lengths
        """
        return all(sub.supports_seq_order_sorting() for sub in self._subs)

    def have_get_corpus_seq(self) -> bool:
        """
        :return: whether all datasets can
        """
        return all(sub.have_get_corpus_seq() for sub in self._subs)

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        if not self.have_get_corpus_seq():
            raise OptionalNotImplementedError(f"{self.describe()}: not all of its datasets have random access")
        starts = self._corpus_starts()
        number = int(numpy.searchsorted(starts, corpus_seq_idx, side="right")) - 1
        seq = self._subs[number].get_corpus_seq(corpus_seq_idx - int(starts[number]))
        keys = self._sub_keys[number]
        features = {key: seq.features[keys[key]] if key in keys else self._empty(key) for key in self._key_sources}
        return DatasetSeq(corpus_seq_idx, features, seq_tag=seq.seq_tag)


def _finite(size: float | None) -> int | None:
    return None if size is None or size == math.inf else int(size)
