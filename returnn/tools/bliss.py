"""Commands that write lists of the segments of Bliss corpora: lengths, texts, names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from returnn.datasets.bliss import Segment, iter_segments
from returnn.datasets.seq_lists import load_seq_tags
from returnn.tools.common import open_output, run_command, write_dict


def _segments(args: argparse.Namespace) -> Iterator[Segment]:
    allowed = load_seq_tags(args.subset_segment_file) if args.subset_segment_file else None
    for filename in args.bliss_filename:
        for segment in iter_segments(filename):
            if allowed is None or segment.name in allowed:
                yield segment


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("bliss_filename", nargs="+", help="Bliss corpora (XML), may be packed (.gz)")
    parser.add_argument("--subset_segment_file", help="only these segments, a name a line")
    parser.add_argument("--output", help="file; default: standard output")
    return parser


def main_seq_lens(argv: Sequence[str] | None = None) -> None:
    """Command line: lengths of the segments."""
    parser = _parser("Writes a Python dict: name of the segment -> length in hundredths of a second.")
    args = parser.parse_args(argv)

    def command() -> None:
        lens = [(segment.name, round(100 * segment.duration)) for segment in _segments(args)]
        with open_output(args.output) as out:
            write_dict(out, lens)

    run_command(command)


def main_text(argv: Sequence[str] | None = None) -> None:
    """Command line: texts of the segments."""
    args = _parser("Writes the text of each segment, a line each.").parse_args(argv)

    def command() -> None:
        with open_output(args.output) as out:
            for segment in _segments(args):
                out.write((segment.orth or "") + "\n")

    run_command(command)


def main_names(argv: Sequence[str] | None = None) -> None:
    """Command line: names of the segments."""
    parser = _parser(
        "Writes the name of each segment, a line each; or lists of names, as ConcatSeqsDataset reads them."
    )
    parser.add_argument(
        "--merge_segs_up_to_time", type=float, metavar="SECS", help="join neighbours up to this time: a;b"
    )
    args = parser.parse_args(argv)

    def command() -> None:
        with open_output(args.output) as out:
            for names in merged_names(_segments(args), args.merge_segs_up_to_time):
                out.write(";".join(names) + "\n")

    run_command(command)


def merged_names(segments: Iterator[Segment], max_secs: float | None) -> Iterator[list[str]]:
    """
    :param max_secs: neighbours are joined up to this time together; a longer one stays alone. None: none are
    :return: names of those that belong together
    """
    names: list[str] = []
    secs = 0.0
    for segment in segments:
        duration = 0.0 if max_secs is None else segment.duration
        if names and (max_secs is None or secs + duration > max_secs):
            yield names
            names, secs = [], 0.0
        names.append(segment.name)
        secs += duration
    if names:
        yield names
