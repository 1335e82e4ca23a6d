"""The segments of Bliss corpora: names, times, texts. Commands that write lists of these."""

from __future__ import annotations

import argparse
import xml.etree.ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from returnn.datasets.seq_lists import load_seq_tags
from returnn.tools.common import open_output, run_command, write_dict
from returnn.util.errors import UserError
from returnn.util.packed import DAMAGED, open_unpacked
from returnn.util.suggest import file_not_found


@dataclass(frozen=True)
class Segment:
    """A segment of a recording."""

    name: str
    """``corpus/recording/segment``"""
    start: float
    """in seconds"""
    end: float
    """in seconds; can be infinite: the end of the recording"""
    orth: str
    """text, with single blanks"""
    recording: str = ""
    """name of the recording"""
    audio: str = ""
    """file of the recording, as the corpus names it"""
    speaker: str | None = None
    """name"""

    @property
    def duration(self) -> float:
        """
        :raises UserError: it is not known
        """
        if self.end == float("inf"):
            raise UserError(f"segment {self.name!r} has no end time, so its length is not known")
        return self.end - self.start


def iter_segments(filename: str) -> Iterator[Segment]:
    """
    :param filename: Bliss XML, may be packed (``.gz``)
    :raises UserError: it is none
    """
    try:
        with open_unpacked(filename) as f:
            yield from _iter_segments(f, filename)
    except FileNotFoundError:
        raise UserError(file_not_found("Bliss corpus", filename)) from None
    except (xml.etree.ElementTree.ParseError, *DAMAGED) as exc:
        raise UserError(f"{filename!r}: no Bliss XML: {exc}") from exc


def _iter_segments(file: Any, filename: str) -> Iterator[Segment]:
    parents: list[xml.etree.ElementTree.Element] = []
    num_segments = 0
    for event, elem in xml.etree.ElementTree.iterparse(file, events=("start", "end")):
        if event == "start":
            if elem.tag == "recording":
                num_segments = 0
            if not parents and elem.tag != "corpus":
                raise UserError(f"{filename!r}: no Bliss corpus, its root element is {elem.tag!r}")
            parents.append(elem)
            continue
        parents.pop()
        if elem.tag == "segment":
            num_segments += 1
            names = [p.get("name") for p in parents if p.tag in ("corpus", "subcorpus", "recording")]
            names.append(elem.get("name") or str(num_segments))
            orth, speaker = elem.find("orth"), elem.find("speaker")
            recording = next((p for p in reversed(parents) if p.tag == "recording"), elem)
            yield Segment(
                name="/".join(name for name in names if name),
                start=float(elem.get("start", 0)),
                end=float(elem.get("end", "inf")),
                orth="" if orth is None else " ".join("".join(orth.itertext()).split()),
                recording=recording.get("name", ""),
                audio=recording.get("audio", ""),
                speaker=None if speaker is None else speaker.get("name"),
            )
        if elem.tag in ("segment", "recording") and parents:
            parents[-1].remove(elem)  # else all of the corpus would stay in memory


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
                out.write(segment.orth + "\n")

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
