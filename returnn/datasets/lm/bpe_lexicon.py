"""A Bliss lexicon in which the units of a BPE vocabulary are the phonemes: of each word, all splits into units."""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from returnn.util.bpe import BpeOpts, CharSyncSearch, PrefixTree
from returnn.util.errors import ConfigError, UserError
from returnn.util.label_file import load_labels


def lexicon_lines(
    units: Iterable[str], words: Iterable[str], *, unknown: str | None = None, lower_case: bool = False
) -> Iterator[str]:
    """
    :param units: those within a word with ``@@`` at the end
    :param words: of the lexicon
    :param unknown: unit for words without a split; without it, they have no pronunciation
    :param lower_case: split the words in lower case
    :return: lines of XML
    """
    tree = PrefixTree(opts=BpeOpts(label_postfix_merge_symbol="@@"))
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<lexicon>"
    yield "  <phoneme-inventory>"
    for unit in units:
        if unit and unit != unknown:
            tree.add(unit)
        yield f"    <phoneme><symbol>{escape(unit)}</symbol><variation>context</variation></phoneme>"
    yield "  </phoneme-inventory>"
    for word in words:
        splits = CharSyncSearch(tree, word.lower() if lower_case else word).search()
        if not splits and unknown is not None:
            splits = [[unknown]]
        yield "  <lemma>"
        yield f"    <orth>{escape(word)}</orth>"
        for split in splits:
            yield f"    <phon>{escape(' '.join(split))}</phon>"
        yield "  </lemma>"
    yield "</lexicon>"


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bpe_vocab", required=True, help="units: a Python dict, or one a line")
    parser.add_argument("--word_vocab", required=True, help="words: a Python dict, or one a line")
    parser.add_argument("--unk", help="unit for words without a split")
    parser.add_argument("--skip_special", action="store_true", help="leave out words [...] and <...>")
    parser.add_argument("--lower_case", action="store_true", help="split words in lower case")
    parser.add_argument("--output", help="lexicon, may be packed (.gz); default: standard output")
    args = parser.parse_args(argv)
    try:
        units = load_labels(args.bpe_vocab).labels
        words = list(load_labels(args.word_vocab).ids)
        if args.unk is not None and args.unk not in units:
            raise ConfigError(f"--unk {args.unk!r} is not in {args.bpe_vocab!r}")
    except UserError as exc:
        sys.exit(f"Error: {exc}")
    if args.skip_special:
        words = [word for word in words if (word[:1], word[-1:]) not in {("[", "]"), ("<", ">")}]
    text = "".join(line + "\n" for line in lexicon_lines(units, words, unknown=args.unk, lower_case=args.lower_case))
    if not args.output:
        sys.stdout.write(text)
    else:
        opener = gzip.open if args.output.endswith(".gz") else open
        with opener(args.output, "wt", encoding="utf8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
