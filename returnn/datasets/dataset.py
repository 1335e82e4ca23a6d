"""The dataset protocol.

Life: construct -> ``initialize()`` once -> per epoch ``init_seq_order(epoch)``; then, with growing indices,
``is_less_than_num_seqs(i)``, ``load_seqs(start, end)``, ``get_seq_length(i)``, ``get_data(i, key)``, ``get_tag(i)``;
``finish_epoch()``.

"seq idx" is a position in the current epoch, "corpus seq idx" a position in the whole, unsorted corpus.
Elsewhere: orders in seq_order.py, chunks in chunking.py, batches in batching.py, creation from a config in create.py.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy

from returnn.config import Config
from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.numbers_dict import NumbersDict, NumbersLike
from returnn.util.user_functions import call_with_spare_kwarg

from . import seq_order as _seq_order
from .batching import BatchLimits, BatchSetGenerator, SeqFrames, iterate_batches
from .chunking import Frames, chunks_of_seq, parse_chunking, parse_context_window, vary_chunking
from .config_defaults import default_kwargs_eval, default_random_seed_offset, update_kwargs_from_config
from .data_kinds import DataKinds
from .pickling import constructor_arguments
from .seq import DatasetSeq
from .seq_lists import load_seq_lens, load_seq_tags


class OptionalNotImplementedError(NotImplementedError):
    """A dataset need not be able to do this."""


class Dataset(DataKinds):
    """Base class of all datasets. See the module for the protocol."""

    seqs_in_any_order = False
    """Whether the sequences of an epoch can be loaded in any order, again and again."""

    sorted_needs_lengths = True
    """Whether "sorted" and "sorted_reverse" are an error for a dataset without lengths; else they mean "default"."""

    def __init__(
        self,
        name: str | None = None,
        *,
        seq_ordering: str | Callable[..., str] = "default",
        partition_epoch: int | None = None,
        repeat_epoch: int | None = None,
        fixed_random_seed: int | None = None,
        random_seed_offset: int | None = None,
        unique_seq_tags: bool = False,
        seq_list_filter_file: str | None = None,
        seq_order_seq_lens_file: str | None = None,
        chunking: Any = None,
        min_chunk_size: NumbersLike = 0,
        chunking_variance: float = 0.0,
        context_window: Any = None,
        window: int = 1,
        shuffle_frames_of_nseqs: int = 0,
        estimated_num_seqs: int | None = None,
        _num_shards: int = 1,
        _shard_index: int = 0,
    ):
        """
        :param name: for messages
        :param seq_ordering: see :mod:`.seq_order`; or a function ``(epoch, **kwargs) -> str``
        :param partition_epoch: so many epochs are one full pass over the data
        :param repeat_epoch: the sequences of an epoch come so many times; not together with ``partition_epoch``
        :param fixed_random_seed: the same order in each epoch
        :param random_seed_offset: added to the seed. None: 0, or by rank where training is distributed
        :param unique_seq_tags: keep only the first sequence of each tag
        :param seq_list_filter_file: keep only sequences whose tag is in this file, see :mod:`.seq_lists`
        :param seq_order_seq_lens_file: tag -> length for the order, see :mod:`.seq_lists`
        :param chunking: see :func:`.chunking.parse_chunking`
        :param min_chunk_size: no further chunk where only so many frames are left; int, or dict per key
        :param chunking_variance: chunks of a sequence are shorter by a random factor in (1 - this, 1]
        :param context_window: see :func:`.chunking.parse_context_window`
        :param window: frames side by side in dense "data"; an even number counts as the next odd one
        :param shuffle_frames_of_nseqs: shuffle the frames of so many sequences
        :param estimated_num_seqs: only for the display of progress
        :param _num_shards: number of parts of an epoch that are read by different processes
        :param _shard_index: which of them this is
        """
        super().__init__()
        self.name = name or f"dataset_id{id(self)}"
        self.lock: contextlib.AbstractContextManager[Any] | None = None  # an RLock, set by an engine
        self.epoch: int | None = None
        self.rnd_seq_drop = random.Random(1)
        self.seq_ordering = seq_ordering
        self.partition_epoch = partition_epoch or 1
        self.repeat_epoch = repeat_epoch or 1
        if self.partition_epoch > 1 and self.repeat_epoch > 1:
            raise ConfigError(f"{self.describe()}: partition_epoch and repeat_epoch exclude each other")
        self.fixed_random_seed = fixed_random_seed
        self.random_seed_offset = default_random_seed_offset() if random_seed_offset is None else random_seed_offset
        self.unique_seq_tags = unique_seq_tags
        self.seq_list_filter_file = seq_list_filter_file
        self.seq_order_seq_lens_file = seq_order_seq_lens_file
        self.chunking = chunking
        self.min_chunk_size = NumbersDict(min_chunk_size)
        self.chunking_variance = float(chunking_variance)
        self.context_window = context_window
        self.window = window | 1
        self.shuffle_frames_of_nseqs = shuffle_frames_of_nseqs
        self._estimated_num_seqs = estimated_num_seqs
        if not 0 <= _shard_index < _num_shards:
            raise ConfigError(f"{self.describe()}: there is no shard {_shard_index} of {_num_shards}")
        self._num_shards = _num_shards
        self._shard_index = _shard_index
        self._initialized = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} epoch={self.epoch}>"

    def describe(self) -> str:
        """
        :return: class and name, for messages
        """
        return f"{type(self).__name__} {self.name!r}"

    # Copies.

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), constructor_arguments(self), self._initialized, self.epoch)

    # Options that are kept in parsed form.

    @property
    def chunking(self) -> Any:
        """
        :return: what ``chunking`` stands for: a function, or (size, step)
        """
        return self.custom_chunking_func or (self.chunk_size, self.chunk_step)

    @chunking.setter
    def chunking(self, chunking: Any) -> None:
        self.chunk_size, self.chunk_step, self.custom_chunking_func = parse_chunking(chunking)

    @property
    def context_window(self) -> Any:
        """
        :return: (frames to the left, frames to the right)
        """
        return self.ctx_left, self.ctx_right

    @context_window.setter
    def context_window(self, context_window: Any) -> None:
        self.ctx_left, self.ctx_right = parse_context_window(context_window)

    @staticmethod
    def kwargs_update_from_config(config: Config, kwargs: dict[str, Any]) -> None:
        """Sets what is missing or None in ``kwargs`` to what the config has for all its datasets, in place."""
        update_kwargs_from_config(config, kwargs)

    @staticmethod
    def get_default_kwargs_eval(config: Config) -> dict[str, Any]:
        """
        :return: defaults of the datasets "dev" and "eval": sorted, normally not chunked
        """
        return default_kwargs_eval(config)

    @classmethod
    def from_config(cls, config: Config, **kwargs: Any) -> Dataset:
        """
        :return: an instance (not yet initialized) with ``kwargs``, and what the config has for all its datasets
        """
        update_kwargs_from_config(config, kwargs)
        return cls(**kwargs)

    # Life.

    def initialize(self) -> None:
        """Makes the dataset ready. The first ``init_seq_order`` with an epoch may still load a lot."""
        if self.num_outputs is None:
            raise ConfigError(
                f"{self.describe()}: num_outputs is not set. Set it in the constructor: data key -> (dim, ndim),"
                ' as {"data": (40, 2), "classes": (10, 1)}; ndim counts the time axis.'
            )
        self._initialized = True
        self.init_seq_order()

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. To override: call this one first.

        :param epoch: starts at 1. None: no sequences, only prepare
        :param seq_list: tags in the wanted order, instead of ``seq_ordering``
        :param seq_order: corpus seq indices in the wanted order, instead of ``seq_ordering``
        :return: whether the order changed; True is always safe
        """
        self.epoch = epoch
        self.rnd_seq_drop = random.Random(self._get_random_seed_for_epoch(epoch))
        if self._num_shards > 1 and not self.supports_sharding():
            raise ConfigError(f"{self.describe()} does not support sharding ({self._num_shards} shards are wanted)")
        return False

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch.

        :param free_resources: also drop caches, close files, end processes; a later epoch gets them again
        """
        self.epoch = None

    # Order.

    def _get_random_seed_for_epoch(self, epoch: int | None, num_epochs_fixed: int = 1) -> int:
        if self.fixed_random_seed is not None:
            return self.fixed_random_seed
        return _seq_order.epoch_seed(
            epoch,
            partition_epoch=self.partition_epoch,
            keep_for_n_epochs=num_epochs_fixed,
            offset=self.random_seed_offset,
        )

    def get_seq_order_for_epoch(
        self, epoch: int | None, num_seqs: int, get_seq_len: Callable[[int], float] | None = None
    ) -> Sequence[int]:
        """
        :param epoch: None: no sequences
        :param num_seqs: of the corpus
        :param get_seq_len: corpus seq idx -> length; needed by orders by length
        :return: corpus seq indices of this epoch and shard
        """
        if epoch is None:
            return []
        rule = self._ordering_rule(epoch)
        if self.seq_order_seq_lens_file:
            get_seq_len = self._get_seq_len_from_file(self.seq_order_seq_lens_file)
        if get_seq_len is None and not self.sorted_needs_lengths and rule in ("sorted", "sorted_reverse"):
            rule = "default"
        order = _seq_order.order_by_rule(
            rule,
            num_seqs=num_seqs,
            seed=lambda n: self._get_random_seed_for_epoch(epoch, num_epochs_fixed=n),
            get_seq_len=get_seq_len,
            owner=self.describe(),
        )
        return self._part_of_order(order, epoch)

    def _ordering_rule(self, epoch: int) -> str:
        """:return: ``seq_ordering``, of this epoch"""
        rule = self.seq_ordering
        return _seq_order.call_ordering_function(rule, epoch, self.describe()) if callable(rule) else rule

    def _part_of_order(self, order: Sequence[int], epoch: int) -> Sequence[int]:
        """:return: what of the ordered corpus belongs to this epoch and shard"""
        if self.unique_seq_tags:
            order = _seq_order.first_of_each_tag(order, self._all_tags_for("unique_seq_tags"))
        order = _seq_order.part_of_epoch(
            order,
            epoch,
            partition_epoch=self.partition_epoch,
            num_shards=self._num_shards,
            shard_index=self._shard_index,
        )
        order = _seq_order.repeat(order, self.repeat_epoch)
        if self.seq_list_filter_file:
            order = self._only_tags_in_file(order, self.seq_list_filter_file)
        return order

    def _only_tags_in_file(self, order: Sequence[int], filename: str) -> Sequence[int]:
        tags, allowed = self._all_tags_for("seq_list_filter_file"), load_seq_tags(filename)
        res = _seq_order.only_tags(order, tags, allowed)
        if not len(res):
            raise ConfigError(
                f"{self.describe()}: seq_list_filter_file {filename!r} leaves no sequence of epoch {self.epoch}."
                f" Tags there (example): {min(allowed, default=None)!r};"
                f" tags of the dataset: {[tags[i] for i in order[:3]]}"
            )
        return res

    def _get_seq_len_from_file(self, filename: str) -> Callable[[int], float]:
        tags, lens = self._all_tags_for("seq_order_seq_lens_file"), load_seq_lens(filename)

        def get_seq_len(corpus_seq_idx: int) -> float:
            try:
                return lens[tags[corpus_seq_idx]]
            except KeyError:
                raise UserError(
                    f"{self.describe()}: seq_order_seq_lens_file {filename!r} has no length for the sequence"
                    f" {tags[corpus_seq_idx]!r}, but for example for {next(iter(lens), None)!r}"
                ) from None

        return get_seq_len

    def _all_tags_for(self, option: str) -> Sequence[str]:
        try:
            return self.get_all_tags()
        except NotImplementedError as exc:
            raise UserError(
                f"{self.describe()}: the option {option} needs all tags in advance, which this dataset cannot give"
            ) from exc

    def _corpus_order(
        self,
        epoch: int | None,
        seq_list: Sequence[str] | None,
        seq_order: Sequence[int] | None,
        *,
        num_seqs: int,
        get_seq_len: Callable[[int], float] | None = None,
    ) -> Sequence[int]:
        """:return: what ``init_seq_order`` with these arguments asks for"""
        if seq_order is not None:
            return seq_order
        if seq_list is None:
            return self.get_seq_order_for_epoch(epoch, num_seqs, get_seq_len)
        index = {tag: i for i, tag in enumerate(self._all_tags_for("seq_list"))}
        unknown = [tag for tag in seq_list if tag not in index]
        if unknown:
            raise UserError(
                f"{self.describe()}: {len(unknown)} of {len(seq_list)} wanted sequences are not there,"
                f" for example {unknown[0]!r}; there is for example {next(iter(index), None)!r}"
            )
        return [index[tag] for tag in seq_list]

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices of the epoch, which was started
        """
        raise OptionalNotImplementedError(f"{self.describe()} cannot tell the order of the epoch")

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: whether :meth:`get_corpus_seq_idx` works
        """
        return False

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: position in the whole corpus
        """
        if self.seq_ordering == "default" and self.partition_epoch == 1 and self._num_shards == 1:
            return seq_idx
        raise OptionalNotImplementedError(f"{self.describe()} cannot tell corpus indices")

    def have_get_corpus_seq(self) -> bool:
        """
        :return: whether :meth:`get_corpus_seq` works
        """
        return False

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence, also without an epoch
        """
        raise OptionalNotImplementedError(f"{self.describe()} has no random access")

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether ``seq_ordering`` can be sorted by length
        """
        return False

    def supports_sharding(self) -> bool:
        """
        :return: whether ``_num_shards`` can be more than 1
        """
        return False

    # Number of sequences, progress.

    @property
    def num_seqs(self) -> int:
        """
        :return: number of sequences of this epoch
        :raises NotImplementedError: not known (yet)
        """
        raise NotImplementedError(f"{self.describe()} does not know its number of sequences")

    @property
    def estimated_num_seqs(self) -> int | None:
        """
        :return: number of sequences of this epoch, about; None if unknown
        """
        try:
            return self.num_seqs
        except NotImplementedError:
            return self._estimated_num_seqs

    def is_less_than_num_seqs(self, n: int) -> bool:
        """
        :return: whether the epoch has a sequence n; it may have to be loaded to know
        """
        return n < self.num_seqs

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :param fast: rather raise an exception than load
        :return: number of sequences of the whole corpus
        """
        raise OptionalNotImplementedError(f"{self.describe()} does not know its total number of sequences")

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: tags of the whole corpus, by corpus seq idx
        """
        raise OptionalNotImplementedError(f"{self.describe()} does not know all its tags")

    def have_seqs(self) -> bool:
        """
        :return: whether there is any sequence
        """
        try:
            return self.get_total_num_seqs() > 0
        except NotImplementedError:
            return self.is_less_than_num_seqs(0)

    def get_num_timesteps(self) -> int | NumbersDict:
        """
        :return: frames of the whole corpus, maybe per data key
        """
        raise OptionalNotImplementedError(f"{self.describe()} does not know its number of frames")

    def len_info(self, *, fast: bool = False) -> str:
        """
        :param fast: rather say unknown than load
        :return: size of the corpus, for people
        """
        sizes = []
        for get_size in (lambda: self.get_total_num_seqs(fast=fast), self.get_num_timesteps):
            try:
                size: Any = get_size()
            except NotImplementedError:
                size = "unknown"
            sizes.append("unknown" if size == math.inf else size)
        return "{}, sequences: {}, frames: {}".format(type(self).__name__, *sizes)

    def get_complete_frac(self, sorted_seq_idx: int, *, allow_only_lr_suitable: bool = False) -> float | None:
        """
        :param sorted_seq_idx: seq idx, which was just used
        :param allow_only_lr_suitable: only an exact value, else None
        :return: which part of the epoch is over, in (0, 1]; it only grows
        """
        try:
            num_seqs: float | None = self.num_seqs
        except NotImplementedError:
            num_seqs = None
        if num_seqs == math.inf:
            num_seqs = None
        if allow_only_lr_suitable:
            return None if num_seqs is None else self.generic_complete_frac(sorted_seq_idx, num_seqs)
        return self.generic_complete_frac(sorted_seq_idx, num_seqs or self.estimated_num_seqs)

    @classmethod
    def generic_complete_frac(cls, seq_idx: int, num_seqs: float | None) -> float:
        """
        :param seq_idx: which was just used
        :param num_seqs: None or infinite: unknown
        """
        if num_seqs and num_seqs != math.inf:
            return min((seq_idx + 1) / num_seqs, 1.0)
        return max(1e-10, 0.99 * (1.0 - 1.0 / (math.sqrt(seq_idx) / 100.0 + 1.0)))

    # Data.

    def load_seqs(self, start: int, end: int) -> None:
        """Loads sequences, so that their data can be got.

        :param start: seq idx, never smaller than before in this epoch
        :param end: exclusive
        """
        assert 0 <= start <= end, f"{self.describe()}: load_seqs({start}, {end})"
        if self.shuffle_frames_of_nseqs:
            raise ConfigError(
                f"{self.describe()} does not support shuffle_frames_of_nseqs; HDFDataset with cache_byte_size does"
            )
        if not self.is_cached(start, end):
            self._load_seqs(start, end)

    def _load_seqs(self, start: int, end: int) -> None:
        """To override."""
        raise NotImplementedError(f"{type(self).__name__} does not override _load_seqs")

    def is_cached(self, start: int, end: int) -> bool:
        """
        :return: whether the sequences are loaded
        """
        return start == end

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: length per data key. May be called before the sequence is loaded.
        """
        raise NotImplementedError(f"{type(self).__name__} does not override get_seq_length")

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: one number to sort by, without loading
        """
        raise OptionalNotImplementedError(f"{self.describe()} does not know lengths in advance")

    def get_data(self, seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: [time, ...] of a loaded sequence
        """
        cls = type(self)
        if key == "data" and cls.get_input_data is not Dataset.get_input_data:
            return self.get_input_data(seq_idx)
        if key != "data" and cls.get_targets is not Dataset.get_targets:
            return self.get_targets(key, seq_idx)
        raise NotImplementedError(f"{cls.__name__} does not override get_data")

    def get_input_data(self, sorted_seq_idx: int) -> numpy.ndarray:
        """Old form of :meth:`get_data` for the key "data"."""
        return self.get_data(sorted_seq_idx, "data")

    def get_targets(self, target: str, sorted_seq_idx: int) -> numpy.ndarray:
        """Old form of :meth:`get_data` for the other keys."""
        return self.get_data(sorted_seq_idx, target)

    def get_data_slice(self, seq_idx: int, key: str, start_frame: int, end_frame: int) -> numpy.ndarray:
        """
        :return: [end_frame - start_frame, ...] of a loaded sequence
        """
        return self.get_data(seq_idx, key)[start_frame:end_frame]

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: name of the sequence
        """
        return f"seq-{seq_idx}"

    def get_times(self, seq_idx: int) -> numpy.ndarray:
        """
        :return: [time, ...], time stamps of the frames
        """
        raise OptionalNotImplementedError(f"{self.describe()} has no time stamps")

    # Chunks and batches.

    def get_start_end_frames_full_seq(self, seq_idx: int) -> tuple[NumbersDict, NumbersDict]:
        """
        :return: start and end frame per key of the whole sequence, with context frames
        """
        end = self.get_seq_length(seq_idx)
        start = NumbersDict.constant_like(0, end)
        for key in end.keys():
            start[key] -= self.ctx_left.get(key, 0)
            end[key] += self.ctx_right.get(key, 0)
        return start, end

    def iterate_seqs(
        self, recurrent_net: bool = True, used_data_keys: Collection[str] | None = None
    ) -> Iterator[tuple[int, NumbersDict, NumbersDict]]:
        """
        :param recurrent_net: else there is no chunking
        :param used_data_keys: chunks are cut only for these keys. None: all
        :return: triples: seq idx, start frame per key, end frame per key (exclusive). A sequence gives several if
            it is chunked.
        """
        if self.custom_chunking_func:
            yield from call_with_spare_kwarg(
                self.custom_chunking_func,
                what=f"{self.describe()}: the function given as chunking",
                dataset=self,
                seq_idx_start=0,
                recurrent_net=recurrent_net,
                used_data_keys=used_data_keys,
            )
            return
        size, step = NumbersDict(self.chunk_size), NumbersDict(self.chunk_step)  # they can be assigned as they like
        if size and not recurrent_net:
            args = tuple(n.dict or n.value for n in (size, step))
            print("Non-recurrent network, chunk size %s:%s ignored" % args, file=log.v4)
            size = NumbersDict(0)
        seq_idx = 0
        while self.is_less_than_num_seqs(seq_idx):
            length = self.get_seq_length(seq_idx)
            if size:
                for start, end in self._chunks(seq_idx, length, size, step, used_data_keys):
                    yield seq_idx, NumbersDict(start), NumbersDict(end)
            else:
                yield seq_idx, NumbersDict.constant_like(0, length), length
            seq_idx += 1

    def _iterate_frames(self, recurrent_net: bool, used_data_keys: Collection[str] | None) -> Iterator[SeqFrames]:
        """:return: as :meth:`iterate_seqs`, which is a bit slow for millions of sequences"""
        size, step = NumbersDict(self.chunk_size), NumbersDict(self.chunk_step)
        is_chunked = bool(size)
        is_ignored = is_chunked and not recurrent_net
        if self.custom_chunking_func or is_ignored or type(self).iterate_seqs is not Dataset.iterate_seqs:
            for seq_idx, first, last in self.iterate_seqs(recurrent_net=recurrent_net, used_data_keys=used_data_keys):
                start = {key: first[key] for key in last.keys()}
                yield seq_idx, start, {key: n - start[key] for key, n in last.items()}
            return
        seq_idx = 0
        while self.is_less_than_num_seqs(seq_idx):
            length = self.get_seq_length(seq_idx)
            if is_chunked:
                for begin, end in self._chunks(seq_idx, length, size, step, used_data_keys):
                    yield seq_idx, begin, {key: n - begin[key] for key, n in end.items()}
            else:
                yield seq_idx, None, length.dict
            seq_idx += 1

    def _chunks(
        self,
        seq_idx: int,
        length: NumbersDict,
        size: NumbersDict,
        step: NumbersDict,
        used_data_keys: Collection[str] | None,
    ) -> Iterator[tuple[Frames, Frames]]:
        lens = {key: int(n) for key, n in length.items() if used_data_keys is None or key in used_data_keys}
        if not lens:
            raise UserError(
                f"{self.describe()}: none of the used data keys {sorted(used_data_keys or ())} is there,"
                f" only {sorted(length.keys())}"
            )
        if used_data_keys is not None and self.chunking_variance > 0:
            factor = 1.0 - self.rnd_seq_drop.random() * self.chunking_variance
            size, step = vary_chunking(size, step, sorted(lens), factor)
        return chunks_of_seq(
            lens,
            size,
            step,
            self.min_chunk_size,
            describe=lambda: f"sequence {self.get_tag(seq_idx)!r} of {self.describe()}",
        )

    def _batch_runs(self, frames: Iterator[SeqFrames]) -> Iterator[Iterator[SeqFrames]]:
        """:return: parts of ``frames``, such that no batch has sequences of two parts"""
        yield frames

    def generate_batches(
        self,
        recurrent_net: bool = True,
        batch_size: NumbersLike = None,
        max_seqs: int | None = -1,
        max_seq_length: NumbersLike = math.inf,
        max_pad_size: NumbersLike = None,
        min_seq_length: NumbersLike = 0,
        pruning: float = 0.0,
        seq_drop: float = 0.0,
        max_total_num_seqs: int = -1,
        used_data_keys: Collection[str] | None = None,
        packed_batch_size: NumbersLike = None,
        shuffle_batches: bool = False,
    ) -> BatchSetGenerator:
        """
        :param recurrent_net: sequences stay apart, else they are laid end to end
        :param pruning: only 0 is possible
        :param used_data_keys: keys that the network uses. None: all
        :param shuffle_batches: random order of batches, for datasets with random access
        :return: the batches of the current epoch. For the other arguments see :meth:`BatchLimits.from_options`.
        """
        if pruning:
            raise ConfigError(f"{self.describe()}: pruning of sequences is not supported (pruning={pruning!r})")
        limits = BatchLimits.from_options(
            batch_size=batch_size,
            max_seqs=max_seqs,
            max_seq_length=max_seq_length,
            max_pad_size=max_pad_size,
            min_seq_length=min_seq_length,
            seq_drop=seq_drop,
            max_total_num_seqs=max_total_num_seqs,
            packed_batch_size=packed_batch_size,
        )
        return BatchSetGenerator(
            self,
            lambda counts: itertools.chain.from_iterable(
                iterate_batches(
                    self,
                    frames,
                    recurrent_net=recurrent_net,
                    limits=limits,
                    used_data_keys=used_data_keys,
                    counts=counts,
                )
                for frames in self._batch_runs(self._iterate_frames(recurrent_net, used_data_keys))
            ),
            shuffle_batches=shuffle_batches,
        )


def _rebuild(cls: type[Dataset], kwargs: dict[str, Any], initialized: bool, epoch: int | None) -> Dataset:
    """:return: the copy of a dataset, without a started epoch"""
    dataset = cls(**kwargs)
    if initialized:
        dataset.initialize()
    dataset.epoch = epoch
    return dataset
