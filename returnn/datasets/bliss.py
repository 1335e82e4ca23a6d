"""The segments of Bliss corpora: names, times, texts."""

from __future__ import annotations

import xml.etree.ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
    orth: str | None
    """text, with single blanks; None: it has none"""
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
                orth=None if orth is None else " ".join("".join(orth.itertext()).split()),
                recording=recording.get("name", ""),
                audio=recording.get("audio", ""),
                speaker=None if speaker is None else speaker.get("name"),
            )
        if elem.tag in ("segment", "recording") and parents:
            parents[-1].remove(elem)  # else all of the corpus would stay in memory
