"""Writes the text of the sequences of a dataset: a Python dict, tag -> text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from returnn.log import log
from returnn.tools.common import (
    SOURCE_HELP,
    check_key,
    init_config,
    iterate_seqs,
    open_dataset,
    open_output,
    run_command,
    text_of,
    write_dict,
)
from returnn.util.errors import ConfigError


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", help="config file; then --dataset is a key in it, default train")
    parser.add_argument("--dataset", help=SOURCE_HELP)
    parser.add_argument("--epoch", type=int, default=1)
    parser.add_argument("--startseq", type=int, default=0, help="first sequence; default 0")
    parser.add_argument("--endseq", type=int, default=-1, help="last sequence, inclusive; default -1: all")
    parser.add_argument("--key", default="raw", help="of the text; default: raw")
    parser.add_argument("--verbosity", type=int, default=4, help="0..5; default 4")
    parser.add_argument("--out", required=True, help="file; .gz: packed")
    args = parser.parse_args(argv)
    run_command(lambda: dump(args))


def dump(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    if not (args.config or args.dataset):
        raise ConfigError("set --config or --dataset")
    config = init_config(args.config, verbosity=args.verbosity)
    dataset = open_dataset(args.config or args.dataset, config, args.dataset if args.config else None)
    dataset.init_seq_order(args.epoch)
    try:
        check_key(dataset, args.key)
        items = [
            (dataset.get_tag(i), text_of(dataset, i, args.key))
            for i in iterate_seqs(dataset, args.startseq, args.endseq)
        ]
    finally:
        dataset.finish_epoch(free_resources=True)
    with open_output(args.out) as out:
        write_dict(out, items)
    print("Wrote %i sequences to %s" % (len(items), args.out), file=log.v2)


if __name__ == "__main__":
    main()
