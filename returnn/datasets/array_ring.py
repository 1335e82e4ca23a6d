"""Arrays from one process to another through memory that both see.

Contract: one writer, one reader, a message pipe beside it. The writer copies an array into the ring and sends the
place in a message; the reader copies it out and thereby frees it. Positions only grow, the place of one is its rest of
the division by the size. The reader's position stands in the first bytes of the memory, where the writer looks it up.
The memory has no name, so nothing is left behind however the processes end.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy

_HEADER_BYTES = 64
_ALIGN = 64

MIN_ARRAY_BYTES = 4096
"""Smaller arrays are as fast within the message."""


class ArrayRing:
    """One end of it; which one is a matter of the methods that are called."""

    def __init__(self, fd: int, size: int):
        """
        :param fd: of the shared memory, from :func:`create_memory`; stays that of the caller
        :param size: bytes for arrays
        """
        self.size = size
        self._memory = mmap.mmap(fd, _HEADER_BYTES + size)
        self._bytes = numpy.frombuffer(self._memory, dtype="uint8")[_HEADER_BYTES:]
        self._freed = numpy.frombuffer(self._memory, dtype="int64", count=1)
        self._end = 0

    def try_put(self, array: numpy.ndarray) -> tuple[Any, ...] | None:
        """
        :param array: of a plain dtype
        :return: the place, for :meth:`take`; None: no space now
        """
        size = -(-array.nbytes // _ALIGN) * _ALIGN
        start = self._end
        if start % self.size + size > self.size:  # an array is in one piece
            start += self.size - start % self.size
        if start + size - int(self._freed[0]) > self.size:
            return None
        offset = start % self.size
        target = self._bytes[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
        numpy.copyto(target, array)
        self._end = start + size
        return start, array.dtype.str, array.shape, self._end

    def num_free(self) -> int:
        """
        :return: bytes that the reader has given back, or that were never used
        """
        return self.size - (self._end - int(self._freed[0]))

    def take(self, place: tuple[Any, ...]) -> numpy.ndarray:
        """
        :param place: of an array; places must be taken in their order
        :return: a copy
        """
        start, dtype_str, shape, end = place
        dtype = numpy.dtype(dtype_str)
        num_bytes = dtype.itemsize * int(numpy.prod(shape, dtype="int64"))
        offset = start % self.size
        array = self._bytes[offset : offset + num_bytes].view(dtype).reshape(shape).copy()
        self._freed[0] = end
        return array


def create_memory(size: int) -> int:
    """
    :param size: bytes for arrays
    :return: file descriptor. Memory is used as far as it was written to.
    """
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("returnn-arrays")
    else:
        fd, name = tempfile.mkstemp(prefix="returnn-arrays-")
        os.unlink(name)
    os.ftruncate(fd, _HEADER_BYTES + size)
    return fd


def bytes_needed(arrays: Sequence[numpy.ndarray]) -> int:
    """
    :return: free bytes with which all of them fit for sure: they, and the rest behind the end of the memory, which is
        smaller than the largest of them
    """
    sizes = [-(-array.nbytes // _ALIGN) * _ALIGN for array in arrays]
    return sum(sizes) + max(sizes, default=0)


def suits(array: Any) -> bool:
    """
    :return: whether it is an array that is better sent through the ring
    """
    return isinstance(array, numpy.ndarray) and array.nbytes >= MIN_ARRAY_BYTES and array.dtype.kind in "biufcSU"
