"""Shows the sequences of a dataset; or writes them, or statistics of them."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import better_exchook
import numpy

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.datasets.create import evaluate_options
from returnn.engine.limits import number_or_per_key
from returnn.log import log
from returnn.tools.common import (
    add_source_arguments,
    check_key,
    init_config,
    iterate_seqs,
    open_dataset,
    open_output,
    run_command,
    write_dict,
)
from returnn.tools.stats import Stats
from returnn.util.errors import ConfigError, UserError
from returnn.util.format import hms, hms_fraction
from returnn.util.numbers_dict import NumbersDict

TYPES = ("stdout", "numpy", "print_tag", "dump_tag", "print_shape", "dump_seq_len", "plot", "interactive", "null")


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_source_arguments(parser)
    parser.add_argument("--epoch", type=int, default=1)
    parser.add_argument("--startseq", type=int, default=0, help="first sequence; default 0")
    parser.add_argument(
        "--endseq", type=int, help="last sequence, inclusive; -1: all. Default: 10, or all of --seqtags"
    )
    parser.add_argument("--seqtags", help="only these sequences: tags, comma-separated")
    parser.add_argument("--get_num_seqs", action="store_true", help="show the number of sequences, nothing else")
    parser.add_argument("--type", choices=TYPES, default="stdout", help="default: stdout")
    parser.add_argument("--key", default="data", help="of the data that is not a target; default: data")
    parser.add_argument("--stats", action="store_true", help="of the frames: mean, standard deviation")
    parser.add_argument("--dump_stats", metavar="PREFIX", help="write them to PREFIX.mean.txt, PREFIX.std_dev.txt, ...")
    parser.add_argument("--dump_prefix", default="/tmp/returnn.dump-dataset.", help="of files; default: %(default)s")
    parser.add_argument("--dump_postfix", default=".txt.gz", help="of arrays; default: %(default)s")
    parser.add_argument("--stdout_limit", type=int, help="show arrays with more numbers than this only in part")
    parser.add_argument("--stdout_as_bytes", action="store_true", help="show the data as bytes")
    for name in ("max", "min"):
        parser.add_argument(
            f"--{name}_seq_length", help="skip others; number, dict by data key, or 'config': as in the config"
        )
    args = parser.parse_args(argv)
    run_command(lambda: dump(args))


def dump(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    config = init_config(args.source, verbosity=args.verbosity)
    print("Returnn dump-dataset starting up.", file=log.v3)
    dataset = open_dataset(args.source, config, args.dataset)
    print("Dataset:", file=log.v2)
    print("  input:", dataset.num_inputs, "x", dataset.window, file=log.v2)
    print("  output:", dataset.num_outputs, file=log.v2)
    print(" ", dataset.len_info(), file=log.v2)
    print("Epoch: %i" % args.epoch, file=log.v3)
    seq_list = args.seqtags.split(",") if args.seqtags else None
    dataset.init_seq_order(args.epoch, seq_list=seq_list)
    try:
        if args.get_num_seqs:
            _print_num_seqs(dataset)
        else:
            _Dumper(dataset, config, args).run()
    finally:
        dataset.finish_epoch(free_resources=True)


def _print_num_seqs(dataset: Dataset) -> None:
    try:
        num_seqs = dataset.num_seqs
    except NotImplementedError:
        num_seqs = sum(1 for _ in iterate_seqs(dataset))
    print("Num seqs:", num_seqs, file=log.v1)


class _Dumper:
    """One pass over the sequences."""

    def __init__(self, dataset: Dataset, config: Config, args: argparse.Namespace):
        self.dataset = dataset
        self.args = args
        self.key = args.key
        self.end = args.endseq if args.endseq is not None else (-1 if args.seqtags else 10)
        self.keys = dataset.get_data_keys()
        self.targets = [key for key in dataset.get_target_list() if key in self.keys and key != self.key]
        self.max_len = _limit("max_seq_length", args.max_seq_length, config)
        self.min_len = _limit("min_seq_length", args.min_seq_length, config)
        self.lens: dict[str, list[int]] = {}
        self.tags: list[str] = []
        self.stats = Stats()
        self.start_time = time.monotonic()
        if args.type == "plot":
            _import_pyplot()
        if args.type in ("stdout", "numpy", "plot", "interactive") or args.stats or args.dump_stats:
            check_key(dataset, self.key)

    def run(self) -> None:
        """Says what there is, and does each sequence."""
        dataset, args = self.dataset, self.args
        print("Dataset keys:", self.keys, file=log.v3)
        print("Dataset target keys:", dataset.get_target_list(), file=log.v3)
        labels = {key: len(labels) for key, labels in dataset.labels.items()}
        print("Dataset labels:", ", ".join(f"{k!r}: {n} labels" for k, n in labels.items()) or "None", file=log.v3)
        if args.type == "stdout":
            print("Dump to stdout", file=log.v3)
        elif args.type in ("numpy", "dump_tag", "dump_seq_len"):
            print(f"Dump files: {args.dump_prefix!r}*{args.dump_postfix!r}", file=log.v3)
        do_seq: Callable[[int, str], None] = getattr(self, "_do_" + args.type)
        next_seq = args.startseq
        for seq_idx in iterate_seqs(dataset, args.startseq, self.end):
            next_seq = seq_idx + 1
            length = dataset.get_seq_length(seq_idx)
            if not self._is_wanted(length):
                continue
            for key, n in length.items():
                self.lens.setdefault(key, []).append(int(n))
            self.tags.append(dataset.get_tag(seq_idx))
            if args.stats or args.dump_stats:
                self.stats.add(dataset.get_data(seq_idx, self.key))
            do_seq(seq_idx, self._progress(seq_idx))
        print(
            "Done. Total time %s. More seqs which we did not dumped: %s"
            % (hms_fraction(time.monotonic() - self.start_time), dataset.is_less_than_num_seqs(next_seq)),
            file=log.v2,
        )
        self._finish()

    def _is_wanted(self, length: NumbersDict) -> bool:
        for key, n in length.items():
            if n > self.max_len.get(key, n) or n < self.min_len.get(key, n):
                return False
        return True

    def _progress(self, seq_idx: int) -> str:
        """:return: "seq 0/3 (33.33%) (0:00:12)": the last is how long it will still take, about"""
        dataset = self.dataset
        try:
            num: Any = dataset.num_seqs
        except NotImplementedError:
            num = dataset.estimated_num_seqs
            num = "?" if num is None else f"~{num}"
        frac = dataset.get_complete_frac(seq_idx) or 1e-10
        if self.end >= 0:
            done, todo = seq_idx + 1 - self.args.startseq, self.end + 1 - self.args.startseq
            frac_of_ours = max(done / todo, frac)
        else:
            frac_of_ours = frac
        remaining = (time.monotonic() - self.start_time) * (1 / frac_of_ours - 1)
        return "seq %i/%s (%.2f%%) (%s)" % (seq_idx, num, 100 * frac, hms(remaining))

    # What is done with a sequence.

    def _do_null(self, seq_idx: int, progress: str) -> None:
        pass

    def _do_stdout(self, seq_idx: int, progress: str) -> None:
        print(progress, "tag:", self.tags[-1], file=log.v1)
        print(progress, f"{self.key}:", self._show(seq_idx, self.key), file=log.v1)
        for key in self.targets:
            print("seq %i target %r: %s" % (seq_idx, key, self._show(seq_idx, key)), file=log.v1)

    def _show(self, seq_idx: int, key: str) -> str:
        data = numpy.asarray(self.dataset.get_data(seq_idx, key))
        if self.args.stdout_as_bytes and data.dtype.kind in "iu":
            return repr(data.astype("uint8").tobytes())
        limit = self.args.stdout_limit
        text = numpy.array2string(data, threshold=data.size + 1 if limit is None else limit)
        if self.dataset.can_serialize_data(key) and self.dataset.is_data_sparse(key):
            text += f" ({self.dataset.serialize_data(key, data)!r})"
        return text

    def _do_print_tag(self, seq_idx: int, progress: str) -> None:
        print(progress, "tag:", self.tags[-1], file=log.v1)

    def _do_print_shape(self, seq_idx: int, progress: str) -> None:
        print(progress, "tag:", self.tags[-1], file=log.v1)
        for key in self.keys:
            what = f"target {key!r}" if key in self.targets else key
            shape = numpy.shape(self.dataset.get_data(seq_idx, key))
            print("seq %i %s shape: %s" % (seq_idx, what, shape), file=log.v1)

    def _do_dump_tag(self, seq_idx: int, progress: str) -> None:
        print(progress, "tag:", self.tags[-1], file=log.v5)

    _do_dump_seq_len = _do_dump_tag

    def _do_numpy(self, seq_idx: int, progress: str) -> None:
        prefix, postfix = f"{self.args.dump_prefix}{seq_idx}", self.args.dump_postfix
        for name, key in [("data", self.key), *((f"targets.{key}", key) for key in self.targets)]:
            data = numpy.asarray(self.dataset.get_data(seq_idx, key))
            if data.dtype.kind not in "iufb" or data.ndim > 2:
                raise ConfigError(
                    f"data key {key!r} cannot be written as a table: dtype {data.dtype}, shape {data.shape}"
                )
            numpy.savetxt(f"{prefix}.{name}{postfix}", data)

    def _do_plot(self, seq_idx: int, progress: str) -> None:
        pyplot = _import_pyplot()
        data = numpy.asarray(self.dataset.get_data(seq_idx, self.key))
        figure, axes = pyplot.subplots()
        if data.ndim > 1:
            axes.imshow(data.reshape(len(data), -1).T, aspect="auto", origin="lower")
        else:
            axes.plot(data)
        axes.set_title(f"{self.tags[-1]}, {self.key}")
        pyplot.show()
        pyplot.close(figure)

    def _do_interactive(self, seq_idx: int, progress: str) -> None:
        print(progress, "tag:", self.tags[-1], file=log.v1)
        log.flush()
        data = {key: self.dataset.get_data(seq_idx, key) for key in self.keys}
        names = {"dataset": self.dataset, "seq_idx": seq_idx, "data": data}
        better_exchook.debug_shell(user_ns=names, user_global_ns=names)

    # The end.

    def _finish(self) -> None:
        args = self.args
        for key, lens in self.lens.items():
            values = numpy.array(lens)
            print(f"Seq-length {key!r} Stats:", file=log.v1)
            print("  %i seqs" % len(values), file=log.v1)
            print("  Mean: %s" % values.mean(), file=log.v1)
            print("  Std dev: %s" % values.std(), file=log.v1)
            print("  Min/max: %i / %i" % (values.min(), values.max()), file=log.v1)
        if args.stats:
            self._print_stats()
        if args.dump_stats:
            self._dump_stats(args.dump_stats)
        if args.type == "dump_tag":
            with open_output(args.dump_prefix + "seq-tags.txt") as out:
                for tag in self.tags:
                    out.write(tag + "\n")
            print("Wrote", args.dump_prefix + "seq-tags.txt", file=log.v3)
        if args.type == "dump_seq_len":
            lens = self._lens_of_key()
            with open_output(args.dump_prefix + "seq-lens.txt") as out:
                write_dict(out, list(zip(self.tags, lens, strict=True)))
            print("Wrote", args.dump_prefix + "seq-lens.txt", file=log.v3)

    def _lens_of_key(self) -> list[int]:
        if self.tags and self.key not in self.lens:
            raise ConfigError(f"there are no lengths of {self.key!r}, but of {', '.join(self.lens)}. Set --key")
        return self.lens.get(self.key, [])

    def _print_stats(self) -> None:
        stats = self.stats
        print(f"Data {self.key!r} Stats:", file=log.v1)
        print("  %i seqs, %i frames" % (len(self.tags), stats.num), file=log.v1)
        for name, value in self._named_stats():
            print("  %s: %s" % (name, numpy.asarray(value)), file=log.v1)

    def _named_stats(self) -> list[tuple[str, Any]]:
        if not self.stats.num:
            raise UserError(f"there are no frames of {self.key!r}, so there are no statistics")
        stats = self.stats
        return [("mean", stats.mean), ("std_dev", stats.std_dev), ("min", stats.min), ("max", stats.max)]

    def _dump_stats(self, prefix: str) -> None:
        stats = self._named_stats()
        if not os.path.isdir(os.path.dirname(os.path.abspath(prefix))):
            raise UserError(f"--dump_stats: the folder of {prefix!r} does not exist")
        for name, value in stats:
            numpy.savetxt(f"{prefix}.{name}.txt", numpy.atleast_1d(value))
        with open_output(prefix + ".info.txt") as out:
            write_dict(out, [("num_seqs", len(self.tags)), ("total_data_len", self.stats.num)])
        print(f"Wrote {prefix}.mean.txt, .std_dev.txt, .min.txt, .max.txt, .info.txt", file=log.v3)


def _limit(name: str, value: str | None, config: Config) -> NumbersDict:
    """:return: for data keys; empty: none"""
    if value is None:
        return NumbersDict()
    if value != "config":
        config = Config({name: evaluate_options(value, config) if value.startswith("{") else value})
    return NumbersDict(number_or_per_key(config, name, None))


def _import_pyplot() -> Any:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  # heavy, and seldom needed
    except ImportError as exc:
        raise UserError("--type plot needs the package matplotlib: pip install matplotlib") from exc
    return pyplot


if __name__ == "__main__":
    main()
