"""Texts by tag, as search writes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.packed import read_unpacked

from .cached2 import CachedDataset2
from .seq import DatasetSeq
from .util.vocabulary import Vocabulary

_string = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_entry = re.compile(rf"""\s*({_string})\s*:\s*({_string}|\[(?:[^'"\[\]]|{_string})*\])\s*(,\s*\}}?|\}})""", re.DOTALL)
_infinite = re.compile(r"(?<![\w'\"])(inf|nan)(?![\w'\"])")
_formats = ("list_with_scores", "single")


class TextDictDataset(CachedDataset2):
    """A Python dict, tag -> text ("single"), or tag -> list of (score, text) ("list_with_scores").

    Key "data": labels of the text, or of that with the highest score. For lists also "data_flat": the labels of all
    texts, one behind the other; "data_seq_lens": their lengths; "scores". Tags: the keys of the dict. Memory: the file
    as text, and about 150 bytes a sequence.
    """

    def __init__(self, *, filename: str, item_format: str = "list_with_scores", vocab: Any, **kwargs: Any):
        """
        :param filename: may be packed (``.gz``)
        :param item_format: "list_with_scores", "single"
        :param vocab: a Vocabulary, or options of one
        """
        super().__init__(**kwargs)
        if item_format not in _formats:
            raise ConfigError(
                f"{self.describe()}: item_format must be one of {', '.join(_formats)}, but is {item_format!r}"
            )
        self.filename = filename
        self.item_format = item_format
        self.vocab = vocab
        self._vocab = vocab if isinstance(vocab, Vocabulary) else Vocabulary.create_vocab(**vocab)
        dim = len(self._vocab.labels)
        self.num_inputs = dim
        self.num_outputs = {"data": (dim, 1)}
        self.labels = {"data": self._vocab.labels}
        if self._with_scores:
            self.num_outputs.update(data_flat=(dim, 1), data_seq_lens=(1, 1), scores=(1, 1))
            self.labels["data_flat"] = self._vocab.labels
        self._text: str | None = None
        self._tags: list[str] = []
        self._ranges = numpy.zeros((0, 2), dtype="int64")
        self._order: Sequence[int] = []
        self._num_seqs = 0

    @property
    def _with_scores(self) -> bool:
        return self.item_format == "list_with_scores"

    def initialize(self) -> None:
        """Reads the file."""
        if self._text is None:
            self._text = self._read()
            self._find_entries(self._text)
        super().initialize()

    def _read(self) -> str:
        try:
            return read_unpacked(self.filename, f"{self.describe()}: file").decode("utf8")
        except UnicodeDecodeError as exc:
            raise UserError(f"{self.describe()}: cannot read {self.filename}: {exc}") from exc

    def _find_entries(self, text: str) -> None:
        start = re.match(r"\s*\{\s*(\})?", text)
        if start is None:
            raise UserError(f"{self.describe()}: {self.filename} must be a Python dict {{tag: ...}}: {text[:50]!r}")
        pos, at_end = start.end(), bool(start[1])
        ranges: list[tuple[int, int]] = []
        while not at_end:
            entry = _entry.match(text, pos)
            if entry is None:
                line = text.count("\n", 0, pos) + 1
                expected = "'tag': [(score, 'text'), ...]" if self._with_scores else "'tag': 'text'"
                raise UserError(
                    f"{self.describe()}: {self.filename}, line {line}: expected {expected},"
                    f" got {text[pos : pos + 50].strip()!r}"
                )
            self._tags.append(_parse_string(entry[1]))
            ranges.append(entry.span(2))
            pos, at_end = entry.end(), entry[3].endswith("}")
        self._ranges = numpy.array(ranges, dtype="int64").reshape(-1, 2)

    def _entry_value(self, corpus_seq_idx: int) -> list[tuple[float, str]]:
        """:return: (score, text) of each; a single text has no score"""
        assert self._text is not None
        start, end = self._ranges[corpus_seq_idx]
        source = self._text[start:end]
        if not self._with_scores and not source.startswith("["):
            return [(0.0, _parse_string(source))]
        try:
            value = [] if not self._with_scores else ast.literal_eval(_infinite.sub("1e999", source))
            if value and all(isinstance(text, str) and isinstance(score, (int, float)) for score, text in value):
                return value
        except (ValueError, SyntaxError, TypeError):
            pass
        raise UserError(
            f"{self.describe()}: {self.filename}: the value of {self._tags[corpus_seq_idx]!r} does not go with"
            f" item_format {self.item_format!r}: {source:.100}"
        )

    def _num_characters(self, corpus_seq_idx: int) -> int:
        return sum(len(text) for _, text in self._entry_value(corpus_seq_idx))

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. Orders by length use the number of characters, of all texts of a list together."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._order = self._corpus_order(
            epoch, seq_list, seq_order, num_seqs=len(self._tags), get_seq_len=self._num_characters
        )
        self._num_seqs = len(self._order)
        return True

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        seq = self.get_corpus_seq(int(self._order[seq_idx]))
        seq.seq_idx = seq_idx
        return seq

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        tag = self._tags[corpus_seq_idx]
        items = self._entry_value(corpus_seq_idx)
        labels = [numpy.array(self._labels_of(text, tag), dtype="int32") for _, text in items]
        scores = numpy.array([score for score, _ in items], dtype="float32")
        features = {"data": labels[max(range(len(items)), key=lambda i: items[i][0])]}
        if self._with_scores:
            features["data_flat"] = numpy.concatenate(labels)
            features["data_seq_lens"] = numpy.array([len(x) for x in labels], dtype="int32")
            features["scores"] = scores
        return DatasetSeq(corpus_seq_idx, features, seq_tag=tag)

    def _labels_of(self, text: str, tag: str) -> list[int]:
        try:
            return self._vocab.get_seq(text)
        except UserError as exc:
            raise UserError(f"{self.describe()}: sequence {tag!r}: {exc}") from exc

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices
        """
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: position in the file
        """
        return int(self._order[seq_idx])

    def get_estimated_seq_length(self, seq_idx: int) -> int:
        """
        :return: number of characters, of all texts of a list together
        """
        return self._num_characters(int(self._order[seq_idx]))

    def get_all_tags(self) -> list[str]:
        """
        :return: in the order of the file
        """
        return self._tags

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: of the file
        """
        return len(self._tags)

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

    def get_data_keys(self) -> list[str]:
        """
        :return: see the class
        """
        return list(self.num_outputs or ())

    def get_target_list(self) -> list[str]:
        """
        :return: all but "data"
        """
        return [key for key in self.get_data_keys() if key != "data"]

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: whether they are labels
        """
        return key in self.labels

    def get_data_dtype(self, key: str) -> str:
        """
        :return: int32, of scores float32
        """
        return "float32" if key == "scores" else "int32"


def _parse_string(source: str) -> str:
    """
    :param source: Python code of a string
    """
    return ast.literal_eval(source) if "\\" in source or "\n" in source else source[1:-1]
