"""Text for language models."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.config import get_global_config
from returnn.log import log
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.cache_manager import cf
from returnn.util.errors import ConfigError, UserError
from returnn.util.format import hms, human_bytes_size
from returnn.util.label_file import LabelFile, ids_by_label, load_labels, read_symbol_numbers, read_text
from returnn.util.orthography import parse_orthography, parse_orthography_into_symbols

from ..cached2 import CachedDataset2
from ..dataset import OptionalNotImplementedError
from ..seq import DatasetSeq
from ..util.vocabulary import CharacterTargets, LabelError, Vocabulary
from .phones import PhoneSeqGenerator, UnknownWord
from .post_process import get_post_processor_function
from .tags import NumberedTags
from .text_corpus import TextCorpus, compact_ints


class LmDataset(CachedDataset2):
    """A line of text, or a segment of Bliss XML, is a sequence: of words, characters, units of a vocabulary, or phones.

    "data": [time] sparse. "delayed", if wanted: the same, one step later. "random0", ...: phones without meaning. All
    but "data" is input. Tags ``line-<n>``. Memory: see :mod:`.text_corpus`.
    """

    def __init__(
        self,
        corpus_file: str | Sequence[str] | Callable[[], Any],
        *,
        use_cache_manager: bool = False,
        skip_empty_lines: bool = True,
        seq_list_file: str | Sequence[str] | None = None,
        orth_vocab: Vocabulary | dict[str, Any] | None = None,
        orth_symbols_file: str | Callable[[], str] | None = None,
        orth_symbols_map_file: str | dict[str, int] | Callable[[], Any] | None = None,
        orth_replace_map_file: str | Callable[[], str] | None = None,
        orth_post_process: Any = None,
        word_based: bool = False,
        word_end_symbol: str | None = None,
        seq_end_symbol: str | None = "[END]",
        unknown_symbol: str | None = "[UNKNOWN]",
        parse_orth_opts: dict[str, Any] | None = None,
        phone_info: dict[str, Any] | None = None,
        add_random_phone_seqs: int = 0,
        auto_replace_unknown_symbol: bool = False,
        log_auto_replace_unknown_symbols: bool | int = 10,
        log_skipped_seqs: bool | int = 10,
        error_on_invalid_seq: bool = True,
        add_delayed_seq_data: bool = False,
        delayed_seq_data_start_symbol: str = "[START]",
        dtype: str | None = None,
        tag_prefix: str | None = None,
        _debug_limit_line_count: int | None = None,
        **kwargs: Any,
    ):
        """
        :param corpus_file: text or Bliss XML, either may be packed (``.gz``); or a list; or a function that returns it
        :param use_cache_manager: read a local copy
        :param skip_empty_lines: they have no number then
        :param seq_list_file: tags, one a line; a list for several corpus files
        :param orth_vocab: a vocabulary or its options, see :meth:`Vocabulary.create_vocab`; or one of the next two, or
            ``phone_info``
        :param orth_symbols_file: symbols, see :func:`~returnn.util.label_file.load_labels`
        :param orth_symbols_map_file: lines ``symbol number``, or as before, or a dict itself
        :param orth_replace_map_file: JSON, symbol -> text instead
        :param orth_post_process: applied to each line first, see :func:`get_post_processor_function`
        :param word_based: symbols are words, else characters
        :param word_end_symbol: with characters: instead of blanks, and at the end
        :param seq_end_symbol: at the end, not with ``orth_vocab``
        :param unknown_symbol: for symbols that are not there, with ``auto_replace_unknown_symbol``; None: none
        :param parse_orth_opts: for :func:`~returnn.util.orthography.parse_orthography`
        :param phone_info: options of :class:`PhoneSeqGenerator`
        :param add_random_phone_seqs: so many further keys ``random<i>``
        :param auto_replace_unknown_symbol: else, unknown symbols are an error
        :param log_auto_replace_unknown_symbols: whether, or how many
        :param log_skipped_seqs: whether, or how many
        :param error_on_invalid_seq: else, sequences with unknown symbols are left out
        :param add_delayed_seq_data: also "delayed", the start symbol and all but the last one of "data"
        :param delayed_seq_data_start_symbol: the start symbol
        :param dtype: of the data; by default, the smallest that is enough
        :param tag_prefix: of the tags, "line-" by default; then comes the number of the line, of those kept
        :param _debug_limit_line_count: of each file
        """
        super().__init__(**kwargs)
        self.corpus_file = corpus_file
        self.use_cache_manager = use_cache_manager
        self.skip_empty_lines = skip_empty_lines
        self.seq_list_file = seq_list_file
        self._orth_vocab = orth_vocab
        self.orth_symbols_file = orth_symbols_file
        self.orth_symbols_map_file = orth_symbols_map_file
        self.orth_replace_map_file = orth_replace_map_file
        self._orth_post_process = orth_post_process
        self.word_based = word_based
        self.word_end_symbol = word_end_symbol
        self.seq_end_symbol = seq_end_symbol
        self.unknown_symbol = unknown_symbol
        self._parse_orth_opts = parse_orth_opts
        self.phone_info = phone_info
        self.add_random_phone_seqs = add_random_phone_seqs
        self.auto_replace_unknown_symbol = auto_replace_unknown_symbol
        self.log_auto_replace_unknown_symbols = log_auto_replace_unknown_symbols
        self.log_skipped_seqs = log_skipped_seqs
        self.error_on_invalid_seq = error_on_invalid_seq
        self.add_delayed_seq_data = add_delayed_seq_data
        self.delayed_seq_data_start_symbol = delayed_seq_data_start_symbol
        self._dtype = dtype
        self.tag_prefix = tag_prefix
        if _debug_limit_line_count is None:
            config = get_global_config(return_empty_if_none=True)
            assert config is not None
            _debug_limit_line_count = config.int("lm_dataset_debug_limit_line_count", None)
        self._debug_limit_line_count = _debug_limit_line_count

        self.orth_vocab: Vocabulary | None = None
        self.orth_symbols: LabelFile | None = None
        self.seq_gen: PhoneSeqGenerator | None = None
        self.orth_post_process = get_post_processor_function(orth_post_process)
        labels = self._init_labels()
        self.dtype = dtype or _dtype_for(len(labels))
        self._parse_opts = self._init_parse_opts()
        self._replace = self._load_replace_map()
        self._start_id = self._id_of_start_symbol() if add_delayed_seq_data else 0
        self._random_keys = [f"random{i}" for i in range(add_random_phone_seqs)]
        if add_random_phone_seqs and self.seq_gen is None:
            raise ConfigError(f"{self.describe()}: add_random_phone_seqs needs phone_info")
        keys = ["data", *(["delayed"] if add_delayed_seq_data else [])]
        self.labels = {key: labels for key in keys}
        self.num_outputs = {key: [len(labels), 1] for key in [*keys, *self._random_keys]}
        self.num_inputs = len(labels)

        self._corpus: TextCorpus | None = None
        self._tags: Sequence[str] = ()
        self._lens: Sequence[int] | None = None
        self._order: Sequence[int] = ()
        self._next_pos = 0  # in the order
        self._kept: list[int] = []  # with error_on_invalid_seq=False: corpus seq idx by seq idx
        self._order_is_valid = True
        self._num_skipped = 0
        self._unknown_logged: set[str] = set()

    # What the symbols are.

    def _init_labels(self) -> list[str]:
        given = {
            "orth_vocab": self._orth_vocab,
            "orth_symbols_file": self.orth_symbols_file,
            "orth_symbols_map_file": self.orth_symbols_map_file,
            "phone_info": self.phone_info,
        }
        names = [name for name, value in given.items() if value]
        if not names:
            raise ConfigError(
                f"{self.describe()}: need orth_vocab or orth_symbols_file or orth_symbols_map_file or phone_info"
            )
        if self._orth_vocab and len(names) > 1:
            raise ConfigError(f"{self.describe()}: {names[0]} and {names[1]} exclude each other")
        if self.phone_info:
            self.seq_gen = PhoneSeqGenerator(**self.phone_info)
            return self.seq_gen.get_class_labels()
        if self._orth_vocab:
            vocab = self._orth_vocab
            self.orth_vocab = vocab if isinstance(vocab, Vocabulary) else Vocabulary.create_vocab(**vocab)
            return self.orth_vocab.labels
        if self.orth_symbols_file:
            self.orth_symbols = load_labels(_called(self.orth_symbols_file))
        else:
            symbols = _called(self.orth_symbols_map_file)
            if isinstance(symbols, dict):
                self.orth_symbols = ids_by_label(symbols, f"{self.describe()}: orth_symbols_map_file")
            else:
                self.orth_symbols = read_symbol_numbers(symbols)
        if self.auto_replace_unknown_symbol and self.unknown_symbol is not None:
            self._check_symbol("unknown_symbol", self.unknown_symbol)
        return self.orth_symbols.labels

    def _check_symbol(self, option: str, symbol: str) -> int:
        assert self.orth_symbols is not None
        if symbol not in self.orth_symbols.ids:
            raise ConfigError(
                f"{self.describe()}: {option} {symbol!r} is not among the {len(self.orth_symbols.labels)} symbols"
            )
        return self.orth_symbols.ids[symbol]

    def _id_of_start_symbol(self) -> int:
        symbol = self.delayed_seq_data_start_symbol
        if self.orth_symbols:
            return self._check_symbol("delayed_seq_data_start_symbol", symbol)
        if self.orth_vocab is None:
            raise ConfigError(f"{self.describe()}: add_delayed_seq_data does not work with phone_info")
        try:
            return self.orth_vocab.label_to_id(symbol)
        except LabelError as exc:
            raise ConfigError(f"{self.describe()}: delayed_seq_data_start_symbol: {exc}") from exc

    def _init_parse_opts(self) -> dict[str, Any]:
        opts: dict[str, Any] = {"word_based": self.word_based}
        postfix = [] if self.word_based or self.word_end_symbol is None else [self.word_end_symbol]
        opts["postfix"] = postfix + ([self.seq_end_symbol] if self.seq_end_symbol is not None else [])
        opts.update(self._parse_orth_opts or {})
        try:
            parse_orthography("test", **opts)
        except TypeError as exc:
            raise ConfigError(f"{self.describe()}: parse_orth_opts: {exc}") from exc
        return opts

    def _load_replace_map(self) -> dict[str, list[str]]:
        filename = _called(self.orth_replace_map_file)
        if not filename:
            return {}
        try:
            value = json.loads(read_text(filename, "orth_replace_map_file"))
        except json.JSONDecodeError as exc:
            raise ConfigError(f"orth_replace_map_file {filename!r}: no JSON: {exc}") from exc
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise ConfigError(f"orth_replace_map_file {filename!r}: expected a dict, symbol -> text")
        words = bool(self._parse_opts["word_based"])
        return {
            symbol: parse_orthography_into_symbols(text, word_based=words) if text else []
            for symbol, text in value.items()
        }

    # The text.

    def _load(self) -> TextCorpus:
        if self._corpus is None:
            files = _called(self.corpus_file)
            files = [files] if isinstance(files, str) else list(files)
            if not files:
                raise ConfigError(f"{self.describe()}: corpus_file is an empty list")
            if self.use_cache_manager:
                files = [cf(filename) for filename in files]
            for filename in files:
                print("LmDataset, loading file", filename, file=log.v4)
            start = time.monotonic()
            corpus = TextCorpus(files, skip_empty_lines=self.skip_empty_lines, max_lines=self._debug_limit_line_count)
            print(
                "  done, loaded %i sequences, %s, in %s"
                % (len(corpus), human_bytes_size(corpus.total_bytes), hms(time.monotonic() - start)),
                file=log.v4,
            )
            if not len(corpus):
                raise ConfigError(f"{self.describe()}: there is no text in {', '.join(map(repr, files))}")
            self._tags = self._load_tags(corpus)
            self._corpus = corpus
        return self._corpus

    def _load_tags(self, corpus: TextCorpus) -> Sequence[str]:
        if not self.seq_list_file:
            return NumberedTags("line-" if self.tag_prefix is None else self.tag_prefix, len(corpus))
        files = [self.seq_list_file] if isinstance(self.seq_list_file, str) else list(self.seq_list_file)
        tags = [read_text(filename, "seq_list_file").splitlines() for filename in files]
        num_lines = corpus.lines_per_file if len(files) > 1 else [len(corpus)]
        for filename, tags_here, n in zip(files, tags, num_lines, strict=False):
            if len(tags_here) != n:
                raise ConfigError(
                    f"{self.describe()}: seq_list_file {filename!r} has {len(tags_here)} tags, but there are {n} lines"
                )
        if len(files) != len(num_lines):
            raise ConfigError(
                f"{self.describe()}: {len(files)} files in seq_list_file, but {len(num_lines)} in corpus_file"
            )
        return [tag for tags_here in tags for tag in tags_here]

    def _lens_for_order(self) -> Sequence[int]:
        """:return: by corpus seq idx"""
        if self._lens is None:
            corpus = self._load()
            if not BehaviorVersion.has(Change.LM_LENGTHS_IN_SYMBOLS):
                lens = corpus.lens_in_bytes()
            elif self.orth_vocab is None:
                by_words = self._parse_opts["word_based"] or self.seq_gen
                lens = corpus.lens_in_words() if by_words else corpus.lens_in_characters()
            elif isinstance(self.orth_vocab, CharacterTargets):
                lens = corpus.lens_in_characters()
            elif type(self.orth_vocab) is Vocabulary:
                lens = corpus.lens_in_words()
            else:
                lens = corpus.lens_in_bytes()  # about as many as units of words
            self._lens = compact_ints(lens)
        return self._lens

    # Order.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. The text is opened in the first one."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._next_pos = self._num_skipped = 0
        self._kept = []
        if epoch is None and seq_list is None and seq_order is None:
            self._order, self._num_seqs = (), 0
            return True
        self._order = self._corpus_order(
            epoch,
            seq_list,
            seq_order,
            num_seqs=len(self._load()),
            get_seq_len=lambda i: self._lens_for_order()[i],
        )
        self._order_is_valid = self.error_on_invalid_seq
        self._num_seqs = len(self._order) if self._order_is_valid else None
        self._estimated_num_seqs = len(self._order)
        self._seed(self._get_random_seed_for_epoch(epoch))
        return True

    def _seed(self, seed: int) -> None:
        if self.seq_gen:
            self.seq_gen.random_seed(seed)
        if self.orth_vocab:
            self.orth_vocab.set_random_seed(seed)

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        if free_resources:
            self._corpus = self._lens = None
            self._tags = ()

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        while self._next_pos < len(self._order):
            corpus_seq_idx = int(self._order[self._next_pos])
            self._next_pos += 1
            seq = self._make_seq(corpus_seq_idx)
            if seq is not None:
                seq.seq_idx = seq_idx
                if not self._order_is_valid:
                    self._kept.append(corpus_seq_idx)
                return seq
            self._num_skipped += 1
        if self._num_skipped:
            print("LmDataset: reached end, skipped %i sequences" % self._num_skipped, file=log.v4)
        return None

    def _find_valid(self) -> None:
        """Goes over all text that is still to come, so that the order of the epoch is known."""
        if self._order_is_valid:
            return
        rest = [int(i) for i in self._order[self._next_pos :] if self._symbols_or_skip(int(i)) is not None]
        self._order = self._kept + rest
        self._next_pos = len(self._kept)
        self._order_is_valid = True
        self._num_seqs = len(self._order)

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices, without sequences that are left out
        """
        self._find_valid()
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: number of the line, of those kept
        """
        if self._order_is_valid:
            return int(self._order[seq_idx])
        self._load_up_to(seq_idx + 1)
        return self._kept[seq_idx]

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        self._load()
        seq = self._make_seq(corpus_seq_idx)
        if seq is None:
            raise UserError(f"{self.describe()}: sequence {self._tags[corpus_seq_idx]!r} has unknown symbols")
        return seq

    def get_estimated_seq_length(self, seq_idx: int) -> int:
        """
        :return: as for orders by length
        """
        return self._lens_for_order()[self.get_corpus_seq_idx(seq_idx)]

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: number of lines
        """
        if fast and self._corpus is None:
            raise OptionalNotImplementedError(f"{self.describe()} is not loaded yet")
        return len(self._load())

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._load()
        return self._tags

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: of the sequence
        """
        if self._order_is_valid and seq_idx < len(self._order):
            return self._tags[int(self._order[seq_idx])]
        return super().get_tag(seq_idx)

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: True
        """
        return True

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    # Data.

    def get_data_keys(self) -> list[str]:
        """
        :return: inputs, and "data"
        """
        return [*(["delayed"] if self.add_delayed_seq_data else []), "data", *self._random_keys]

    def get_target_list(self) -> list[str]:
        """
        :return: "data"; the other keys are inputs
        """
        return ["data"]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: the same for all
        """
        return self.dtype

    def serialize_data(self, key: str, data: numpy.ndarray) -> str:
        """
        :param data: [time]
        :return: text
        """
        return self.orth_vocab.get_seq_labels(data) if self.orth_vocab else super().serialize_data(key, data)

    def _make_seq(self, corpus_seq_idx: int) -> DatasetSeq | None:
        """:return: None: left out"""
        if (self.seq_gen or self.orth_vocab) and BehaviorVersion.has(Change.LM_RANDOM_PER_SEQ):
            seed = self._get_random_seed_for_epoch(self.epoch)
            self._seed(zlib.crc32(f"{seed} {corpus_seq_idx}".encode()))
        symbols = self._symbols_or_skip(corpus_seq_idx)
        if symbols is None:
            return None
        data = numpy.array(symbols, dtype=self.dtype)
        features = {"data": data}
        if self.add_delayed_seq_data:
            start = numpy.array([self._start_id], dtype=self.dtype)
            features["delayed"] = numpy.concatenate([start, data])[: len(data)]
        for key in self._random_keys:
            assert self.seq_gen is not None
            garbage = self.seq_gen.generate_garbage_seq(len(data))
            features[key] = self.seq_gen.seq_to_class_idxs(garbage, dtype=self.dtype)
        return DatasetSeq(corpus_seq_idx, features, seq_tag=self._tags[corpus_seq_idx])

    def _symbols_or_skip(self, corpus_seq_idx: int) -> Sequence[int] | None:
        """:return: class indices; None: it has unknown symbols, and is to be left out"""
        assert self._corpus is not None
        try:
            orth = self.orth_post_process(self._corpus.text(corpus_seq_idx))
        except UserError as exc:
            raise UserError(f"{self.describe()}: {exc}") from exc
        try:
            if self.orth_vocab:
                return self.orth_vocab.get_seq(orth)
            if self.seq_gen:
                allos = self.seq_gen.generate_seq(orth)
                return self.seq_gen.seq_to_class_idxs(allos, dtype=self.dtype)  # type: ignore[return-value]  # an array
            return self._symbols_of(orth)
        except (LabelError, UnknownWord) as exc:
            tag = self._tags[corpus_seq_idx]
            if self.error_on_invalid_seq:
                raise UserError(
                    f"{self.describe()}: invalid seq {tag!r} ({self._corpus.place(corpus_seq_idx)}): {exc}."
                    " error_on_invalid_seq=False leaves out such sequences."
                ) from exc
            if self._may_log("log_skipped_seqs"):
                print("LmDataset: skipping sequence %r: %s" % (tag, exc), file=log.v4)
            return None

    def _symbols_of(self, orth: str) -> list[int]:
        assert self.orth_symbols is not None
        symbols = parse_orthography(orth, **self._parse_opts)
        if self.word_end_symbol is not None and not self._parse_opts["word_based"]:
            symbols = [self.word_end_symbol if symbol == " " else symbol for symbol in symbols]
        if self._replace:
            symbols = [new for symbol in symbols for new in self._replace.get(symbol, (symbol,))]
        ids = self.orth_symbols.ids
        try:
            return [ids[symbol] for symbol in symbols]
        except KeyError as exc:
            if not self.auto_replace_unknown_symbol:
                raise LabelError(f"missing orth symbol {exc.args[0]!r}, of {symbols!r:.300}") from None
        self._log_unknown(symbol for symbol in symbols if symbol not in ids)
        if self.unknown_symbol is None:
            return [ids[symbol] for symbol in symbols if symbol in ids]
        unknown = ids[self.unknown_symbol]
        return [ids.get(symbol, unknown) for symbol in symbols]

    def _log_unknown(self, symbols: Any) -> None:
        if not self.log_auto_replace_unknown_symbols:
            return
        for symbol in symbols:
            if symbol not in self._unknown_logged and self._may_log("log_auto_replace_unknown_symbols"):
                self._unknown_logged.add(symbol)
                print(
                    "LmDataset: unknown orth symbol %r, adding to orth_replace_map as %r"
                    % (symbol, self.unknown_symbol),
                    file=log.v3,
                )

    def _may_log(self, option: str) -> bool:
        """:return: whether to print a message; counts down the number in the attribute"""
        left = getattr(self, option)
        if isinstance(left, bool) or left <= 0:
            return bool(left is True)
        setattr(self, option, left - 1)
        if left == 1:
            print("LmDataset: %s: this is the last message of that kind" % option, file=log.v4)
        return True


def _called(value: Any) -> Any:
    return value() if callable(value) else value


def _dtype_for(num_labels: int) -> str:
    for dtype, limit in (("int8", 1 << 7), ("uint8", 1 << 8), ("int32", 1 << 31), ("uint32", 1 << 32)):
        if num_labels <= limit:
            return dtype
    return "int64"
