"""Writes a dataset to an HDF file, which HDFDataset reads."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from returnn.datasets.hdf import HDFDatasetWriter
from returnn.log import log
from returnn.tools.common import SOURCE_HELP, init_config, open_dataset, run_command


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help=SOURCE_HELP + ". Of a config: its train")
    parser.add_argument("hdf_filename", help="must not exist")
    parser.add_argument("--start_seq", type=int, default=0, help="first sequence; default 0")
    parser.add_argument("--end_seq", type=float, default=math.inf, help="last sequence, inclusive; default: all")
    parser.add_argument("--epoch", type=int, default=1)
    parser.add_argument("--verbosity", type=int, default=4, help="0..5; default 4")
    args = parser.parse_args(argv)
    run_command(lambda: dump(args))


def dump(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    config = init_config(args.source, verbosity=args.verbosity)
    dataset = open_dataset(args.source, config)
    print("Dataset:", dataset.len_info(), file=log.v3)
    writer = HDFDatasetWriter(args.hdf_filename)
    try:
        writer.dump_from_dataset(dataset, epoch=args.epoch, start_seq=args.start_seq, end_seq=args.end_seq)
        writer.close()
    except BaseException:
        writer.discard()
        raise
    finally:
        dataset.finish_epoch(free_resources=True)


if __name__ == "__main__":
    main()
