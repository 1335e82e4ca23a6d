"""Collects the characters of the texts of a corpus, sorted."""

from __future__ import annotations

import argparse
import string
from collections.abc import Sequence

from returnn.tools.common import open_output, run_command
from returnn.tools.orths import add_input_arguments, iter_orths


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_input_arguments(parser)
    parser.add_argument("--max_seq_orth_length", type=int, help="leave out longer texts")
    parser.add_argument("--add_numbers", action="store_true", help="add 0 to 9")
    parser.add_argument("--add_lower_alphabet", action="store_true", help="add a to z")
    parser.add_argument("--add_upper_alphabet", action="store_true", help="add A to Z")
    parser.add_argument("--remove_symbols", default="", help="leave out these characters")
    parser.add_argument("--output", help="file, a character a line; default: standard output")
    args = parser.parse_args(argv)
    run_command(lambda: collect(args))


def collect(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    symbols: set[str] = set()
    for orth in iter_orths(args):
        if args.max_seq_orth_length is None or len(orth) <= args.max_seq_orth_length:
            symbols.update(orth)
    if args.add_numbers:
        symbols.update(string.digits)
    if args.add_lower_alphabet:
        symbols.update(string.ascii_lowercase)
    if args.add_upper_alphabet:
        symbols.update(string.ascii_uppercase)
    with open_output(args.output) as out:
        for symbol in sorted(symbols.difference(args.remove_symbols)):
            out.write(symbol + "\n")


if __name__ == "__main__":
    main()
