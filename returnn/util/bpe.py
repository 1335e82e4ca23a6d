"""Words as units of several characters: byte-pair encoding by merges, and all or random splits into given labels.

``StandardBytePairEncoder`` applies the merges of a codes file, as Sennrich et al., Neural Machine Translation of Rare
Words with Subword Units, 2016. ``SamplingBytePairEncoder`` needs labels only: it searches a split in a tree of them.

    python -m returnn.util.bpe --vocab LABELS [--all] [--breadth-prob 0.5] < words
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from returnn.util.errors import UserError
from returnn.util.label_file import load_labels, read_text

_END_OF_WORD = "</w>"
_MAX_CACHED_WORDS = 1_000_000


class StandardBytePairEncoder:
    """Merges characters in the order of a codes file.

    The file has an optional first line ``#version: 0.1`` or ``#version: 0.2``, then ``left right`` per line, the most
    important merge first. In version 0.1, the default, the end of a word is a symbol of its own; in 0.2 it is a part
    of the last character.
    """

    def __init__(self, bpe_codes_file: str, labels: Collection[str] | None = None):
        """
        :param bpe_codes_file: see above; may be packed (``.gz``)
        :param labels: a unit that is not among them is split again, as far as it was merged. None: all are allowed
        """
        version, merges = _read_codes(bpe_codes_file)
        self._end_is_glued = version == "0.2"
        self._ranks: dict[tuple[str, str], int] = {}
        for pair in merges:
            self._ranks.setdefault(pair, len(self._ranks))
        self._parts: dict[str, tuple[str, str]] = {}
        for left, right in self._ranks:
            self._parts.setdefault(left + right, (left, right))
        self._labels = frozenset(labels) if labels is not None else None
        self._cache: dict[str, list[str]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    def segment_sentence(self, sentence: str) -> list[str]:
        """
        :param sentence: words with white space between. A word ``$name`` stays whole, and so does what stands between
            the words ``{`` and ``}`` behind it
        :return: units; those that are not the last of a word end with ``@@``
        """
        units: list[str] = []
        after_name = inside = False
        for word in sentence.split():
            inside = inside and not word.startswith("}")
            if inside:
                units.append(word)
            elif word.startswith("$") or (after_name and word == "{"):
                units.append(word)
                inside = word == "{"
            else:
                units += self.segment_word(word)
            after_name = word.startswith("$")
        return units

    def segment_word(self, word: str) -> list[str]:
        """
        :param word: without white space
        :return: units; all but the last one end with ``@@``
        """
        units = self._cache.get(word)
        if units is None:
            if len(self._cache) >= _MAX_CACHED_WORDS:
                self._cache.clear()
            units = self._cache[word] = self._segment_word(word)
        return units

    def _segment_word(self, word: str) -> list[str]:
        symbols = self._merge([*word[:-1], word[-1] + _END_OF_WORD] if self._end_is_glued else [*word, _END_OF_WORD])
        if symbols[-1] == _END_OF_WORD:
            del symbols[-1]
        else:
            symbols[-1] = symbols[-1].removesuffix(_END_OF_WORD)
        if self._labels is not None:
            symbols = [unit for symbol in symbols[:-1] for unit in self._split(symbol, False)] + self._split(
                symbols[-1], True
            )
        return [symbol + "@@" for symbol in symbols[:-1]] + symbols[-1:]

    def _merge(self, symbols: list[str]) -> list[str]:
        ranks, never = self._ranks, len(self._ranks)
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:], strict=False), key=lambda pair: ranks.get(pair, never))
            if best not in ranks:
                break
            merged: list[str] = []
            i = 0
            while i < len(symbols):
                if symbols[i] == best[0] and i + 1 < len(symbols) and symbols[i + 1] == best[1]:
                    merged.append(best[0] + best[1])
                    i += 2
                else:
                    merged.append(symbols[i])
                    i += 1
            symbols = merged
        return symbols

    def _split(self, symbol: str, is_last: bool) -> list[str]:
        """:return: ``symbol``, or parts of it, as far as merges can be undone"""
        assert self._labels is not None
        if (symbol if is_last else symbol + "@@") in self._labels:
            return [symbol]
        parts = self._parts.get(symbol + _END_OF_WORD if is_last else symbol)
        if parts is None:
            return [symbol]
        left, right = parts
        right = right.removesuffix(_END_OF_WORD) if is_last else right
        if not right:  # the end of a word was merged on its own
            parts = self._parts.get(left)
            if parts is None:
                return [symbol]
            left, right = parts
        return self._split(left, False) + self._split(right, is_last)


def _read_codes(filename: str) -> tuple[str, list[tuple[str, str]]]:
    """:return: version; merges"""
    lines = read_text(filename, "BPE codes file").split("\n")
    version = "0.1"
    first = 0
    if lines[0].startswith("#version:"):
        version = lines[0].partition(":")[2].strip()
        first = 1
        if version not in ("0.1", "0.2"):
            raise NotImplementedError(f"BPE codes file {filename!r}: version {version!r} is not supported, 0.2 is")
    merges = []
    for i, line in enumerate(lines[first:], first + 1):
        pair = line.split()
        if len(pair) >= 2:
            merges.append((pair[0], pair[1]))
        elif pair:
            raise UserError(f"BPE codes file {filename!r}, line {i}: expected two symbols, got {line!r}")
    return version, merges


@dataclass(frozen=True)
class BpeOpts:
    """How labels show what place in a word they have."""

    label_postfix_merge_symbol: str | None = None
    """at the end of those that are not the last of a word, as ``@@``. None: any can be the last, or not"""
    word_prefix_symbol: str | None = None
    """put before each word"""


class PrefixTree:
    """A tree of labels by characters."""

    def __init__(self, *, prefix: str = "", opts: BpeOpts):
        """
        :param prefix: characters from the root to this node
        :param opts: the same for the whole tree
        """
        self.prefix = prefix
        self.opts = opts
        self.arcs: dict[str, PrefixTree] = {}
        self.finished = False
        """a label that can be the last of a word ends here"""
        self.bpe_finished = False
        """a label that need not be the last of a word ends here"""

    def add(self, postfix: str) -> PrefixTree:
        """
        :param postfix: label, from this node on
        :return: the node where it ends
        """
        merge_symbol = self.opts.label_postfix_merge_symbol
        text = postfix
        goes_on = merge_symbol is not None and postfix.endswith(merge_symbol)
        if goes_on and merge_symbol:
            text = postfix[: -len(merge_symbol)]
        node = self
        for char in text:
            if char not in node.arcs:
                node.arcs[char] = PrefixTree(prefix=node.prefix + char, opts=self.opts)
            node = node.arcs[char]
        if merge_symbol is None:
            node.finished = node.bpe_finished = True
        elif goes_on:
            node.bpe_finished = True
        else:
            node.finished = True
        return node

    def label_that_goes_on(self) -> str:
        """
        :return: the label that ends here, within a word
        """
        return self.prefix + (self.opts.label_postfix_merge_symbol or "")


_Hyp = tuple[list[str], PrefixTree]
"""Labels so far; the node of the one that has begun."""


def _expand(hyp: _Hyp, root: PrefixTree, char: str) -> list[_Hyp]:
    """:return: hypotheses with ``char`` in addition: in a new label, in the same one"""
    labels, node = hyp
    res: list[_Hyp] = []
    if node.bpe_finished and char in root.arcs:
        res.append(([*labels, node.label_that_goes_on()], root.arcs[char]))
    if char in node.arcs:
        res.append((labels, node.arcs[char]))
    return res


class CharSyncSearch:
    """All splits of a word."""

    def __init__(self, bpe: PrefixTree, word: str, word_pos: int = 0):
        """
        :param bpe: the labels
        :param word: without white space
        :param word_pos: where to start
        """
        self.bpe = bpe
        self.word = (bpe.opts.word_prefix_symbol or "") + word
        self.word_pos = word_pos

    def search(self) -> list[list[str]]:
        """
        :return: the splits, those with short labels first
        """
        hyps: list[_Hyp] = [([], self.bpe)]
        for char in self.word[self.word_pos :]:
            hyps = [new for hyp in hyps for new in _expand(hyp, self.bpe, char)]
        return [[*labels, node.prefix] for labels, node in hyps if node.finished]


class DepthFirstSearch:
    """One split of a word: labels as long as possible, or random ones."""

    def __init__(self, bpe: PrefixTree, word: str, sampler: Callable[[], bool] | None = None):
        """
        :param bpe: the labels
        :param word: without white space
        :param sampler: called once for each character that is tried: whether to rather end a label than to extend it
        """
        self.bpe = bpe
        self.word = (bpe.opts.word_prefix_symbol or "") + word
        self.sampler = sampler

    def search(self) -> list[str] | None:
        """
        :return: labels, or None if there is no split
        """
        stack: list[tuple[int, _Hyp]] = [(0, ([], self.bpe))]
        while stack:
            pos, hyp = stack.pop()
            if pos == len(self.word):
                if hyp[1].finished:
                    return [*hyp[0], hyp[1].prefix]
                continue
            more = _expand(hyp, self.bpe, self.word[pos])
            if self.sampler is not None and self.sampler():
                more.reverse()
            stack += [(pos + 1, new) for new in more]
        return None


class SamplingBytePairEncoder:
    """Splits words into labels, at random."""

    def __init__(
        self,
        *,
        labels: Iterable[str],
        breadth_prob: float,
        rnd: numpy.random.RandomState,
        unknown_label: str | None = None,
        opts: BpeOpts,
    ):
        """
        :param labels: all there are
        :param breadth_prob: 0: labels as long as possible; 1: as short as possible
        :param rnd: of which each character that is tried takes a number
        :param unknown_label: for words without a split. None: they are an error
        :param opts: of the labels
        """
        self.breadth_prob = breadth_prob
        self.rnd = rnd
        self.unknown_label = unknown_label
        self._tree = PrefixTree(opts=opts)
        for label in labels:
            if label and label != unknown_label:
                self._tree.add(label)

    def get_bpe_split_for_word(self, word: str) -> list[str] | None:
        """
        :param word: without white space
        :return: labels, or None if there is no split
        """
        return DepthFirstSearch(
            self._tree, word, sampler=lambda: self.rnd.random_sample() <= self.breadth_prob
        ).search()

    def segment_sentence(self, sentence: str) -> list[str]:
        """
        :param sentence: words with white space between
        :return: labels
        :raises UserError: there is no split, and no unknown label
        """
        labels: list[str] = []
        for word in sentence.split():
            split = self.get_bpe_split_for_word(word)
            if split is None:
                if self.unknown_label is None:
                    raise UserError(f"no BPE-split for word {word!r}, and there is no unknown label")
                split = [self.unknown_label]
            labels += split
        return labels


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Splits each word of the input, a line of text each.")
    parser.add_argument("--vocab", required=True, help="labels: a Python dict, or one a line")
    parser.add_argument("--unk", help="label for words without a split")
    parser.add_argument("--input", help="text file, or text; default: standard input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="all splits, not only one")
    parser.add_argument("--breadth-prob", type=float, default=0.0, help="0: long labels, 1: short ones")
    args = parser.parse_args(argv)
    labels = load_labels(args.vocab).labels
    opts = BpeOpts(label_postfix_merge_symbol="@@")
    rnd = numpy.random.RandomState(args.seed)
    encoder = SamplingBytePairEncoder(
        labels=labels, breadth_prob=args.breadth_prob, rnd=rnd, unknown_label=args.unk, opts=opts
    )
    tree = PrefixTree(opts=opts)
    for label in labels:
        if label and label != args.unk:
            tree.add(label)
    with open(args.input, encoding="utf8") if args.input else sys.stdin as lines:
        for line in lines:
            if args.all:
                for word in line.split():
                    for split in CharSyncSearch(tree, word).search():
                        print(" ".join(split))
            else:
                print(" ".join(encoder.segment_sentence(line)))


if __name__ == "__main__":
    main()
