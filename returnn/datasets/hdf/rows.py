"""Reading rows of a dataset of an HDF file, many small pieces in any order, about as fast as the memory of the machine.

Where numbers stand in the file as they are in memory (not compressed, whole rows behind each other, at once or in
chunks), the bytes are read directly from their place in the file. Else h5py reads them, and reads ahead while rows
are asked for in their order.
Law: the result is ``dataset[start:end]``, and belongs to the caller.
"""

from __future__ import annotations

import bisect
import os
from typing import Any

import h5py
import numpy

_read_ahead_bytes = 2**21
_read_ahead_rows_of_text = 1000
_max_num_chunks = 200_000
"""To know where a chunk is takes some microseconds and 70 bytes."""


class RowReader:
    """Of one dataset, while its file is open."""

    def __init__(self, dataset: h5py.Dataset):
        """
        :param dataset: [rows, ...]
        """
        self._dataset = dataset
        self._num_rows = int(dataset.shape[0])
        self._frame_shape = dataset.shape[1:]
        self._dtype = dataset.dtype
        self._row_bytes = self._dtype.itemsize * int(numpy.prod(self._frame_shape, dtype=int))
        self._pieces = _pieces_in_file(dataset)
        self._fd: int | None = None if self._pieces is None else dataset.file.id.get_vfd_handle()
        self._block_start = 0
        self._block: numpy.ndarray | None = None
        self._last_end = -1

    def read(self, start: int, end: int) -> numpy.ndarray:
        """
        :param start: first row
        :param end: exclusive; not behind the end
        :return: [end - start, ...]
        :raises OSError: the file is damaged there
        """
        if self._pieces is not None:
            return self._read_directly(start, end)
        return self._read_by_h5py(start, end)

    def _read_directly(self, start: int, end: int) -> numpy.ndarray:
        res = numpy.empty((end - start, *self._frame_shape), self._dtype)
        if not res.size:
            return res
        assert self._pieces is not None and self._fd is not None
        first_rows, offsets = self._pieces
        i = bisect.bisect_right(first_rows, start) - 1
        offset = offsets[i] + (start - first_rows[i]) * self._row_bytes
        if end <= first_rows[i + 1] and os.preadv(self._fd, [res.data], offset) == res.nbytes:
            return res
        flat = res.reshape(-1).view("uint8")
        row, first_byte = start, 0
        while row < end:
            piece_end = min(end, first_rows[i + 1])
            last_byte = first_byte + (piece_end - row) * self._row_bytes
            self._fill(flat[first_byte:last_byte], offsets[i] + (row - first_rows[i]) * self._row_bytes)
            row, first_byte = piece_end, last_byte
            i += 1
        return res

    def _fill(self, part: numpy.ndarray, offset: int) -> None:
        """Fills ``part`` with the bytes at ``offset`` of the file."""
        assert self._fd is not None
        while len(part):
            num = os.preadv(self._fd, [part.data], offset)
            if num <= 0:
                raise OSError(f"the file ends before byte {offset + len(part)}")
            part = part[num:]
            offset += num

    def _read_by_h5py(self, start: int, end: int) -> numpy.ndarray:
        block = self._block
        if block is not None and self._block_start <= start and end <= self._block_start + len(block):
            self._last_end = end
            return block[start - self._block_start : end - self._block_start].copy()
        in_order = start == self._last_end
        self._last_end = end
        if not in_order:
            return self._dataset[start:end]
        if self._dtype.kind == "O":
            num = _read_ahead_rows_of_text
        else:
            num = _read_ahead_bytes // max(self._row_bytes, 1)
        if end - start >= num:
            return self._dataset[start:end]
        self._block = self._dataset[start : min(start + num, self._num_rows)]
        self._block_start = start
        return self._block[: end - start].copy()


_Pieces = tuple[list[int], list[int]]
"""Of rows that are behind each other in the file: first row of each piece, and the number of rows; place in the file in
bytes."""


def _pieces_in_file(dataset: h5py.Dataset) -> _Pieces | None:
    """
    :return: None: the rows must be read by h5py
    """
    if dataset.dtype.kind not in "iuf" or dataset.ndim < 1 or 0 in dataset.shape or dataset.is_virtual:
        return None
    if dataset.file.driver != "sec2" or dataset.file.userblock_size or dataset.external:
        return None
    if not dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype)):
        return None
    options = dataset.id.get_create_plist()
    if options.get_layout() == h5py.h5d.CONTIGUOUS:
        offset = dataset.id.get_offset()
        return None if offset is None else ([0, dataset.shape[0]], [offset])
    if options.get_layout() != h5py.h5d.CHUNKED or options.get_nfilters():
        return None
    return _chunks_in_file(dataset)


def _chunks_in_file(dataset: h5py.Dataset) -> _Pieces | None:
    """:return: see above; chunks that follow each other are one piece"""
    rows_per_chunk, *frame = dataset.chunks
    num_chunks = -(-dataset.shape[0] // rows_per_chunk)
    if tuple(frame) != dataset.shape[1:] or num_chunks > _max_num_chunks or not hasattr(dataset.id, "chunk_iter"):
        return None
    offsets = numpy.full(num_chunks, -1, dtype="int64")

    def add(info: Any) -> None:
        if info.chunk_offset[0] // rows_per_chunk < num_chunks:
            offsets[info.chunk_offset[0] // rows_per_chunk] = info.byte_offset

    dataset.id.chunk_iter(add)
    if (offsets < 0).any():
        return None  # some were never written, and hold the fill value
    chunk_bytes = rows_per_chunk * dataset.dtype.itemsize * int(numpy.prod(dataset.shape[1:], dtype=int))
    starts = numpy.flatnonzero(numpy.diff(offsets, prepend=-1) != chunk_bytes)
    return [*(starts * rows_per_chunk).tolist(), dataset.shape[0]], offsets[starts].tolist()
