"""Files about sequences: lists of tags, and lengths by tag. Read once a process, as long as the file stays the same."""

from __future__ import annotations

import ast
import functools
import gzip
import os
import pickle

from returnn.util.errors import UserError


def load_seq_tags(filename: str) -> frozenset[str]:
    """
    :param filename: one tag a line, or a pickled list (``.pkl``); either may be packed (``.gz``)
    """
    return _load_seq_tags(filename, _stamp(filename, "list of sequence tags"))


def load_seq_lens(filename: str) -> dict[str, float]:
    """
    :param filename: a Python dict, tag -> number; may be packed (``.gz``)
    """
    return _load_seq_lens(filename, _stamp(filename, "dict of sequence lengths"))


def _stamp(filename: str, what: str) -> tuple[int, int]:
    """:return: what changes with the content of the file"""
    try:
        stat = os.stat(filename)
    except OSError as exc:
        raise UserError(f"Cannot read {filename!r} ({what}): {exc.strerror}") from exc
    return stat.st_mtime_ns, stat.st_size


@functools.lru_cache(maxsize=16)
def _load_seq_tags(filename: str, stamp: tuple[int, int]) -> frozenset[str]:
    content = _read(filename)
    if not filename.removesuffix(".gz").endswith(".pkl"):
        return frozenset(content.decode("utf8").splitlines())
    try:
        tags = pickle.loads(content)
    except Exception as exc:  # a damaged pickle can raise about anything
        raise UserError(f"{filename}: expected a pickled list of sequence tags, but: {exc}") from exc
    if not all(isinstance(tag, str) for tag in tags):
        raise UserError(f"{filename}: expected a pickled list of sequence tags, each a str, got {tags!r:.100}")
    return frozenset(tags)


@functools.lru_cache(maxsize=16)
def _load_seq_lens(filename: str, stamp: tuple[int, int]) -> dict[str, float]:
    text = _read(filename).decode("utf8")
    try:
        lens = ast.literal_eval(text)
    except (SyntaxError, ValueError) as exc:
        raise UserError(f"{filename}: expected a Python dict, tag -> length, but: {exc}") from exc
    if not isinstance(lens, dict) or not all(isinstance(n, (int, float)) for n in lens.values()):
        raise UserError(f"{filename}: expected a Python dict, tag -> length (a number), got {text[:100]!r}")
    return lens


def _read(filename: str) -> bytes:
    with open(filename, "rb") as f:
        content = f.read()
    if not filename.endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError) as exc:
        raise UserError(f"{filename}: damaged or not packed by gzip: {exc}") from exc
