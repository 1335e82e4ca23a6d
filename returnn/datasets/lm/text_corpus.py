"""Lines of large text files, by number.

Memory: 8 bytes a line (16 beyond 4 GB); and the text itself only of packed files and of Bliss XML. Plain text stays on
disk, which the system caches.
"""

from __future__ import annotations

import array
import gzip
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.packed import DAMAGED, open_unpacked
from returnn.util.suggest import file_not_found

from ..bliss import iter_segments

_CHUNK_BYTES = 1 << 18


class TextCorpus(Sequence[bytes]):
    """The lines of some files, without line breaks."""

    def __init__(self, filenames: Sequence[str], *, skip_empty_lines: bool, max_lines: int | None = None):
        """
        :param filenames: UTF-8 text, or Bliss XML, of which the text of ``orth`` of a segment is a line. Either may be
            packed (``.gz``)
        :param skip_empty_lines: of text
        :param max_lines: of each file
        """
        self._files = [_open_file(name, skip_empty_lines, max_lines) for name in filenames]
        self._first_line = numpy.cumsum([0, *map(len, self._files)])

    def __len__(self) -> int:
        return int(self._first_line[-1])

    def _locate(self, index: int) -> tuple[_File, int]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        if len(self._files) == 1:
            return self._files[0], index
        number = int(numpy.searchsorted(self._first_line, index, side="right")) - 1
        return self._files[number], index - int(self._first_line[number])

    def __getitem__(self, index: Any) -> Any:
        file, line = self._locate(index)
        return file.read(line)

    def text(self, index: int) -> str:
        """
        :param index: of a line
        :raises UserError: it is no UTF-8
        """
        file, line = self._locate(index)
        content = file.read(line)
        try:
            return content.removesuffix(b"\r").decode("utf8")
        except UnicodeDecodeError as exc:
            raise UserError(f"{file.place(line)}: no UTF-8: {exc.reason} ({content[:80]!r})") from exc

    def place(self, index: int) -> str:
        """
        :param index: of a line
        :return: file and line number, for messages
        """
        file, line = self._locate(index)
        return file.place(line)

    @property
    def lines_per_file(self) -> list[int]:
        """
        :return: in the order of the files
        """
        return [len(file) for file in self._files]

    @property
    def total_bytes(self) -> int:
        """
        :return: of all lines, without line breaks
        """
        return sum(int(file.lens.sum(dtype="int64")) for file in self._files)

    def lens_in_bytes(self) -> numpy.ndarray:
        """
        :return: [lines]
        """
        return numpy.concatenate([file.lens for file in self._files]).astype("int64")

    def lens_in_words(self) -> numpy.ndarray:
        """
        :return: [lines], as ``len(line.split())``
        """
        return numpy.concatenate([_count(file, _count_words) for file in self._files])

    def lens_in_characters(self) -> numpy.ndarray:
        """
        :return: [lines]
        """
        return numpy.concatenate([_count(file, _count_characters) for file in self._files])


class _File:
    """One file."""

    def __init__(self, name: str, starts: numpy.ndarray, lens: numpy.ndarray, read_at: Callable[[int, int], bytes]):
        self.name = name
        self.starts = starts  # [lines] byte offsets
        self.lens = lens  # [lines] bytes
        self.read_at = read_at

    def __len__(self) -> int:
        return len(self.starts)

    def read(self, line: int) -> bytes:
        start, size = int(self.starts[line]), int(self.lens[line])
        content = self.read_at(start, size)
        if len(content) != size:
            raise UserError(f"{self.name!r} became shorter while it was in use")
        return content

    def place(self, line: int) -> str:
        """:return: for messages; the number counts empty lines too"""
        number, pos, end = 1, 0, int(self.starts[line])
        while pos < end:
            size = min(end - pos, _CHUNK_BYTES)
            number += self.read_at(pos, size).count(b"\n")
            pos += size
        return f"{self.name!r}, line {number}"

    def chunks(self) -> Iterator[tuple[int, int, int, bytes]]:
        """:return: tuples: first line, behind the last one, offset of the first byte, content of these lines"""
        line = 0
        while line < len(self):
            start = int(self.starts[line])
            end_line = max(line + 1, int(numpy.searchsorted(self.starts, start + _CHUNK_BYTES)))
            size = int(self.starts[end_line - 1]) + int(self.lens[end_line - 1]) - start
            yield line, end_line, start, self.read_at(start, size)
            line = end_line


def _open_file(name: str, skip_empty_lines: bool, max_lines: int | None) -> _File:
    if not os.path.exists(name):
        raise ConfigError(file_not_found("text file", name))
    with open(name, "rb") as f:
        packed = f.read(2) == b"\x1f\x8b" if name.endswith(".gz") else False
    if name.endswith(".gz") and not packed and os.path.getsize(name):
        raise UserError(f"{name!r}: not packed by gzip")
    if _is_xml(name):
        return _bliss_file(name, max_lines)
    if packed:
        content = memoryview(_unpack(name))
        blocks = (content[pos : pos + _CHUNK_BYTES] for pos in range(0, len(content), _CHUNK_BYTES))
        starts, lens = _index(blocks, len(content), skip_empty_lines, max_lines)
        return _File(name, starts, lens, lambda start, size: bytes(content[start : start + size]))
    reader = _Reader(name)
    starts, lens = _index(reader.blocks(), os.path.getsize(name), skip_empty_lines, max_lines)
    return _File(name, starts, lens, reader.read_at)


class _Reader:
    """Reads parts of a file. Unlike with mapped memory, a file that is cut meanwhile does not end the process."""

    def __init__(self, name: str):
        self._fd = os.open(name, os.O_RDONLY)
        weakref.finalize(self, os.close, self._fd)

    def read_at(self, start: int, size: int) -> bytes:
        return os.pread(self._fd, size, start) if size else b""

    def blocks(self) -> Iterator[bytes]:
        pos = 0
        while block := os.pread(self._fd, _CHUNK_BYTES, pos):
            yield block
            pos += len(block)


def _unpack(name: str) -> bytearray:
    try:
        with open(name, "rb") as raw, gzip.open(raw, "rb") as f:
            raw.seek(-4, os.SEEK_END)
            size = int.from_bytes(raw.read(4), "little")  # of the last part of the file, mostly the only one
            raw.seek(0)
            content = bytearray(min(size, 1100 * os.path.getsize(name)))  # if it is damaged, not any size
            pos = 0
            while True:
                if pos == len(content):
                    block = f.read(_CHUNK_BYTES)
                    content += block
                    num_bytes = len(block)
                else:
                    with memoryview(content) as view:
                        num_bytes = f.readinto(view[pos : pos + _CHUNK_BYTES])
                if not num_bytes:
                    break
                pos += num_bytes
    except DAMAGED as exc:
        raise UserError(f"{name!r}: damaged or not packed by gzip: {exc}") from exc
    del content[pos:]
    return content


def _index(
    blocks: Iterable[Any], total_bytes: int, skip_empty: bool, max_lines: int | None
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """:return: start and length of each line in bytes"""
    dtype = "uint32" if total_bytes < 1 << 32 else "uint64"
    all_starts, all_lens = (array.array(numpy.dtype(dtype).char) for _ in range(2))  # they grow in place
    pos = line_start = 0  # line_start: of the line that goes on behind the blocks so far
    for block in blocks:
        breaks = numpy.flatnonzero(numpy.frombuffer(block, dtype="uint8") == 10) + pos
        pos += len(block)
        if not len(breaks):
            continue
        starts = numpy.concatenate([[line_start], breaks[:-1] + 1])
        lens = breaks - starts
        line_start = int(breaks[-1]) + 1
        if skip_empty and not lens.all():
            starts, lens = starts[lens > 0], lens[lens > 0]
        all_starts.frombytes(starts.astype(dtype).tobytes())
        all_lens.frombytes(lens.astype(dtype).tobytes())
        if max_lines is not None and len(all_starts) >= max_lines:
            break
    if line_start < pos:  # no line break at the end
        all_starts.append(line_start)
        all_lens.append(pos - line_start)
    return numpy.frombuffer(all_starts, dtype)[:max_lines], numpy.frombuffer(all_lens, dtype)[:max_lines]


# Bliss XML.


def _is_xml(name: str) -> bool:
    if name.removesuffix(".gz").endswith(".xml"):
        return True
    with open_unpacked(name) as f:
        try:
            return f.read(5) == b"<?xml"
        except DAMAGED as exc:
            raise UserError(f"{name!r}: damaged or not packed by gzip: {exc}") from exc


def iter_bliss_orths(filename: str) -> Iterator[str]:
    """
    :param filename: Bliss XML, may be packed (``.gz``)
    :return: text of each segment that has one, with single blanks
    """
    return (segment.orth for segment in iter_segments(filename) if segment.orth is not None)


def _bliss_file(name: str, max_lines: int | None) -> _File:
    content = bytearray()
    lens: list[int] = []
    for text in iter_bliss_orths(name):
        if max_lines is not None and len(lens) >= max_lines:
            break
        line = text.encode("utf8")
        lens.append(len(line))
        content += line + b"\n"
    starts = numpy.cumsum([0, *(n + 1 for n in lens)])[:-1]
    return _BlissFile(name, starts, numpy.array(lens, dtype="uint32"), lambda i, n: bytes(content[i : i + n]))


class _BlissFile(_File):
    def place(self, line: int) -> str:
        """:return: for messages"""
        return f"{self.name!r}, segment {line + 1}"


# Lengths.


def compact_ints(values: numpy.ndarray) -> array.array[int]:
    """
    :param values: [n], not negative, below 4 billion
    :return: the same, 4 bytes each; single ones are got as fast as of a list
    """
    return array.array("I", values.astype("uint32").tobytes())


def _count(file: _File, counts_of_bytes: Callable[[numpy.ndarray], numpy.ndarray]) -> numpy.ndarray:
    """:return: [lines], sums over the bytes of a line"""
    res = numpy.zeros(len(file), dtype="int64")
    for first, end, offset, content in file.chunks():
        counts = counts_of_bytes(numpy.frombuffer(content, dtype="uint8"))
        sums = numpy.concatenate([[0], numpy.cumsum(counts, dtype="int32")])
        starts = file.starts[first:end].astype("int64") - offset
        res[first:end] = sums[starts + file.lens[first:end]] - sums[starts]
        if counts_of_bytes is _count_words:
            _mend_words(file, content, first, starts, res)
    return res


_is_space = numpy.zeros(256, dtype=bool)
_is_space[[*range(9, 14), *range(28, 33)]] = True


def _count_words(content: numpy.ndarray) -> numpy.ndarray:
    space = _is_space[content]
    return ~space & numpy.concatenate([[True], space[:-1]])  # first letters


def _count_characters(content: numpy.ndarray) -> numpy.ndarray:
    return (content & 0xC0) != 0x80  # all but the continuation bytes of UTF-8


_starts_of_wide_spaces = (b"\xc2\x85", b"\xc2\xa0", b"\xe1\x9a\x80", b"\xe2\x80", b"\xe2\x81\x9f", b"\xe3\x80\x80")


def _mend_words(file: _File, content: bytes, first: int, starts: numpy.ndarray, res: numpy.ndarray) -> None:
    """Counts again where there can be white space that is not ASCII."""
    lines: set[int] = set()
    for pattern in _starts_of_wide_spaces:
        pos = content.find(pattern)
        while pos >= 0:
            line = int(numpy.searchsorted(starts, pos, side="right")) - 1
            lines.add(line)
            pos = content.find(pattern, pos + len(pattern))
    for line in lines:
        start = int(starts[line])
        text = content[start : start + int(file.lens[first + line])]
        res[first + line] = len(text.decode("utf8", errors="replace").split())


# Old functions.


def iter_corpus(
    filename: str,
    callback: Callable[[Any], None],
    *,
    skip_empty_lines: bool = True,
    decode: bool = True,
) -> None:
    """Goes over all lines, without white space at their ends.

    :param filename: see :class:`TextCorpus`
    :param callback: gets each line
    :param skip_empty_lines: of text
    :param decode: str, else bytes
    """
    corpus = TextCorpus([filename], skip_empty_lines=skip_empty_lines)
    bliss = isinstance(corpus._files[0], _BlissFile)
    for i in range(len(corpus)):
        line: Any = (corpus.text(i) if decode else corpus[i]).strip()
        if line or bliss or not skip_empty_lines:
            callback(line)


def read_corpus(
    filename: str, *, skip_empty_lines: bool = True, decode: bool = True, out_list: list[Any] | None = None
) -> list[Any]:
    """
    :param filename: see :class:`TextCorpus`
    :param skip_empty_lines: of text
    :param decode: str, else bytes
    :param out_list: to append to
    :return: lines, without white space at their ends
    """
    res: list[Any] = [] if out_list is None else out_list
    iter_corpus(filename, res.append, skip_empty_lines=skip_empty_lines, decode=decode)
    return res
