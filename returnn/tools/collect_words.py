"""Collects the words of the texts of a corpus, sorted; or those that a lexicon does not have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from returnn.datasets.lm import Lexicon
from returnn.tools.common import open_output, run_command
from returnn.tools.orths import add_input_arguments, iter_orths


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_input_arguments(parser)
    parser.add_argument("--lexicon", help="Bliss lexicon: only the words that are missing there")
    parser.add_argument("--output", help="file, a word a line; default: standard output")
    args = parser.parse_args(argv)
    run_command(lambda: collect(args))


def collect(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    words: set[str] = set()
    for orth in iter_orths(args):
        words.update(orth.split())
    if args.lexicon:
        words.difference_update(Lexicon(args.lexicon).lemmas)
    with open_output(args.output) as out:
        for word in sorted(words):
            out.write(word + "\n")


if __name__ == "__main__":
    main()
