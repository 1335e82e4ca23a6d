"""Files that are packed by gzip, if their name ends in ``.gz``."""

from __future__ import annotations

import gzip
import zlib
from typing import BinaryIO, cast

from .errors import ConfigError
from .suggest import file_not_found

DAMAGED = (EOFError, OSError, zlib.error)
"""what reading raises if a file is cut short, or is not packed though its name says so"""


def open_unpacked(filename: str) -> BinaryIO:
    """
    :return: for reading; may raise :data:`DAMAGED` then
    """
    return cast(BinaryIO, gzip.open(filename, "rb")) if filename.endswith(".gz") else open(filename, "rb")


def read_unpacked(filename: str, what: str) -> bytes:
    """
    :param filename: of a file that fits into memory
    :param what: it is, for messages
    :raises ConfigError: it is not there, or damaged
    """
    try:
        with open_unpacked(filename) as f:
            return f.read()
    except FileNotFoundError:
        raise ConfigError(file_not_found(what, filename)) from None
    except DAMAGED as exc:
        packed = "damaged or not packed by gzip" if filename.endswith(".gz") else "cannot be read"
        raise ConfigError(f"{what} {filename!r}: {packed}: {exc}") from exc
