"""Files about sequences: lists of tags, and lengths by tag. Read once a process, as long as the file stays the same."""

from __future__ import annotations

import ast
import functools
import os
import pickle
from typing import Any

from returnn.util.errors import UserError
from returnn.util.packed import read_unpacked


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


def load_seq_list(filename: str) -> list[str] | dict[str, list[str]]:
    """
    :param filename: one tag a line, or pickled (``.pkl``, or recognized by its content); either may be packed (``.gz``)
    :return: tags in their order; a pickled file can have several lists, by name
    """
    _stamp(filename, "list of sequence tags")
    content = read_unpacked(filename, "list of sequence tags")
    if not filename.removesuffix(".gz").endswith(".pkl") and not content.startswith(b"\x80"):
        return content.decode("utf8").splitlines()
    value = _unpickled(filename, content)
    lists = value if isinstance(value, dict) else {"": value}
    for tags in lists.values():
        if not isinstance(tags, (list, tuple)) or not all(isinstance(tag, str) for tag in tags):
            raise UserError(
                f"{filename}: expected a pickled list of sequence tags, or a dict of them by name of the dataset,"
                f" got {tags!r:.100}"
            )
    return {name: list(tags) for name, tags in lists.items()} if isinstance(value, dict) else list(value)


def _stamp(filename: str, what: str) -> tuple[int, int]:
    """:return: what changes with the content of the file"""
    try:
        stat = os.stat(filename)
    except OSError as exc:
        raise UserError(f"Cannot read {filename!r} ({what}): {exc.strerror}") from exc
    return stat.st_mtime_ns, stat.st_size


@functools.lru_cache(maxsize=16)
def _load_seq_tags(filename: str, stamp: tuple[int, int]) -> frozenset[str]:
    content = read_unpacked(filename, "list of sequence tags")
    if not filename.removesuffix(".gz").endswith(".pkl"):
        return frozenset(content.decode("utf8").splitlines())
    tags = _unpickled(filename, content)
    if not all(isinstance(tag, str) for tag in tags):
        raise UserError(f"{filename}: expected a pickled list of sequence tags, each a str, got {tags!r:.100}")
    return frozenset(tags)


@functools.lru_cache(maxsize=16)
def _load_seq_lens(filename: str, stamp: tuple[int, int]) -> dict[str, float]:
    text = read_unpacked(filename, "dict of sequence lengths").decode("utf8")
    try:
        lens = ast.literal_eval(text)
    except (SyntaxError, ValueError) as exc:
        raise UserError(f"{filename}: expected a Python dict, tag -> length, but: {exc}") from exc
    if not isinstance(lens, dict) or not all(isinstance(n, (int, float)) for n in lens.values()):
        raise UserError(f"{filename}: expected a Python dict, tag -> length (a number), got {text[:100]!r}")
    return lens


def _unpickled(filename: str, content: bytes) -> Any:
    try:
        return pickle.loads(content)
    except Exception as exc:  # a damaged pickle can raise about anything
        raise UserError(f"{filename}: expected a pickled list of sequence tags, but: {exc}") from exc
