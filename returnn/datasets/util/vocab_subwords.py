"""Vocabularies of parts of words."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.bpe import BpeOpts, SamplingBytePairEncoder, StandardBytePairEncoder
from returnn.util.errors import ConfigError
from returnn.util.suggest import file_not_found

from .vocab_base import Vocabulary

_not_given: Any = object()


class BytePairEncoding(Vocabulary):
    """Words by merges of characters, see :class:`~returnn.util.bpe.StandardBytePairEncoder`."""

    def __init__(
        self, vocab_file: str | None, bpe_file: str, seq_postfix: Sequence[int | str] | None = None, **kwargs: Any
    ):
        """
        :param vocab_file: the units, those within a word with ``@@`` at the end
        :param bpe_file: the merges
        :param seq_postfix: see :class:`Vocabulary`, and so for the rest
        """
        super().__init__(vocab_file=vocab_file, seq_postfix=seq_postfix, **kwargs)
        self.bpe_file = bpe_file
        try:
            stat = os.stat(bpe_file)
        except FileNotFoundError:
            raise ConfigError(f"{self.describe()}: {file_not_found('bpe_file', bpe_file)}") from None
        # All vocabularies of the same files share the words that were split already.
        self.bpe = _encoder(bpe_file, (stat.st_mtime_ns, stat.st_size), frozenset(self._vocab))

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: words with white space between
        :return: numbers, with those of ``seq_postfix``
        """
        return self.get_seq_indices(self.bpe.segment_sentence(sentence)) + self.seq_postfix


@functools.lru_cache(maxsize=8)
def _encoder(bpe_file: str, _stamp: tuple[int, int], labels: frozenset[str]) -> StandardBytePairEncoder:
    return StandardBytePairEncoder(bpe_file, labels)


class SamplingBytePairEncoding(Vocabulary):
    """Words by random splits into labels, see :class:`~returnn.util.bpe.SamplingBytePairEncoder`."""

    def __init__(
        self,
        vocab_file: str | None,
        breadth_prob: float,
        seq_postfix: Sequence[int | str] | None = None,
        label_postfix_merge_symbol: str | None = _not_given,
        word_prefix_symbol: str | None = None,
        **kwargs: Any,
    ):
        """
        :param vocab_file: the units
        :param breadth_prob: 0: labels as long as possible; 1: as short as possible
        :param seq_postfix: see :class:`Vocabulary`, and so for the rest
        :param label_postfix_merge_symbol: at the end of units that are not the last of a word. By default ``@@``, or
            None with ``word_prefix_symbol``
        :param word_prefix_symbol: put before each word
        """
        super().__init__(vocab_file=vocab_file, seq_postfix=seq_postfix, **kwargs)
        self.breadth_prob = breadth_prob
        if label_postfix_merge_symbol is _not_given:
            label_postfix_merge_symbol = "@@" if word_prefix_symbol is None else None
        self.rnd = numpy.random.RandomState(0)
        self.bpe = SamplingBytePairEncoder(
            labels=self._labels,
            breadth_prob=breadth_prob,
            rnd=self.rnd,
            unknown_label=self.unknown_label,
            opts=BpeOpts(label_postfix_merge_symbol=label_postfix_merge_symbol, word_prefix_symbol=word_prefix_symbol),
        )

    def set_random_seed(self, seed: int) -> None:
        """
        :param seed: of an epoch
        """
        self.rnd.seed(seed)

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: words with white space between
        :return: numbers, with those of ``seq_postfix``
        """
        return self.get_seq_indices(self.bpe.segment_sentence(sentence)) + self.seq_postfix
