"""Puts the sequences of a dataset into batches, as the config says, and tells how much of these is padding."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.datasets.batching import BatchSetGenerator
from returnn.engine.limits import number_or_per_key
from returnn.log import log
from returnn.tools.common import add_source_arguments, check_key, init_config, open_dataset, run_command
from returnn.util.errors import ConfigError, UserError
from returnn.util.numbers_dict import NumbersDict


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_source_arguments(parser)
    parser.set_defaults(verbosity=5)
    parser.add_argument("--epoch", type=int, default=1)
    parser.add_argument("--endseq", type=int, default=-1, help="last sequence, inclusive; default -1: all")
    parser.add_argument("--key", default="data", help="of the lengths shown per batch; default: data")
    args = parser.parse_args(argv)
    run_command(lambda: analyze(args))


def analyze(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    config = init_config(args.source, verbosity=args.verbosity)
    dataset = open_dataset(args.source, config, args.dataset)
    print("Dataset:", dataset.len_info(), file=log.v2)
    dataset.init_seq_order(args.epoch)
    try:
        check_key(dataset, args.key)
        _analyze_batches(dataset, make_batches(dataset, config), key=args.key, end_seq=args.endseq)
    finally:
        dataset.finish_epoch(free_resources=True)


def make_batches(dataset: Dataset, config: Config) -> BatchSetGenerator:
    """
    :param dataset: in an epoch
    :param config: its limits hold, as in training
    """
    batch_size = number_or_per_key(config, "batch_size", None, positive=True)
    max_seqs = config.int("max_seqs", -1)
    if batch_size is None:
        if max_seqs is None or max_seqs <= 0:
            raise ConfigError("the config has neither batch_size nor max_seqs, so there are no batches")
        batch_size = math.inf
    return dataset.generate_batches(
        recurrent_net=True,
        batch_size=batch_size,
        max_seqs=max_seqs,
        max_seq_length=number_or_per_key(config, "max_seq_length", math.inf),
        min_seq_length=number_or_per_key(config, "min_seq_length", 0),
        max_pad_size=number_or_per_key(config, "max_pad_size", None),
        seq_drop=config.float("seq_drop", 0.0),
        used_data_keys=set(dataset.get_data_keys()),
    )


def _analyze_batches(dataset: Dataset, batches: BatchSetGenerator, *, key: str, end_seq: int) -> None:
    num_batches = num_seqs = 0
    used = NumbersDict()
    total = NumbersDict()
    while batches.has_more():
        (batch,) = batches.peek_next_n(1)
        batches.advance(1)
        assert batch.start_seq is not None and batch.end_seq is not None  # not empty
        if 0 <= end_seq < batch.start_seq:
            break
        dataset.load_seqs(batch.start_seq, batch.end_seq)
        lens = [int(part.frame_length.get(key, 0)) for part in batch.seqs]
        print("batch %i, %i seqs, %r lengths: %s" % (num_batches, batch.num_slices, key, lens), file=log.v5)
        num_batches += 1
        num_seqs += batch.num_slices
        used += batch.get_total_num_frames()
        total += batch.get_all_slices_num_frames()
    if not num_batches:
        raise UserError(f"{dataset.describe()}: there are no batches. Sequences: {batches.counts}")
    print("Done.", file=log.v3)
    print("Num batches:", num_batches, file=log.v1)
    print("Num seqs:", num_seqs, file=log.v1)
    print("Batches per seq: %.4f" % (num_batches / num_seqs), file=log.v1)
    for data_key, n in sorted(used.items()):
        frac = n / total[data_key] if total[data_key] else 1.0
        print("Fraction used frames %r: %.4f (%i of %i)" % (data_key, frac, n, total[data_key]), file=log.v1)
    print("Sequences:", batches.counts, file=log.v2)
    print("Frames:", batches.counts.frames_text(), file=log.v2)


if __name__ == "__main__":
    main()
