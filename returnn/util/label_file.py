"""Files of labels: what number each of them has."""

from __future__ import annotations

import ast
import functools
import io
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from returnn.util.errors import ConfigError
from returnn.util.packed import read_unpacked
from returnn.util.suggest import file_not_found


@dataclass(frozen=True)
class LabelFile:
    """Not to be changed: it is shared by all who read that file."""

    labels: list[str]
    """by number; of several labels with one number, the lexically last"""
    ids: dict[str, int]
    """label -> number"""


def load_labels(filename: str) -> LabelFile:
    """
    :param filename: ``.pkl`` of a dict, label -> number; or UTF-8 text: such a dict, or one label a line. Either may be
        packed (``.gz``). Read once a process, as long as the file stays the same
    :raises ConfigError: it cannot be read; or the numbers are not 0, 1, 2, ...
    """
    try:
        stat = os.stat(filename)
    except FileNotFoundError:
        raise ConfigError(file_not_found("vocabulary file", filename)) from None
    return _load(os.path.abspath(filename), filename, (stat.st_mtime_ns, stat.st_size))


def ids_by_label(mapping: Mapping[str, int], source: str) -> LabelFile:
    """
    :param mapping: label -> number
    :param source: where it is from, for messages
    :raises ConfigError: the numbers are not 0, 1, 2, ...
    """
    for label, number in mapping.items():
        if not isinstance(label, str) or not isinstance(number, int) or isinstance(number, bool):
            raise ConfigError(f"{source}: expected text labels and int numbers, but there is {label!r}: {number!r}")
    by_number = {number: label for label, number in sorted(mapping.items())}
    if not by_number:
        raise ConfigError(f"{source}: there are no labels")
    missing = sorted(set(range(max(by_number) + 1)) - by_number.keys())
    if min(by_number) < 0 or missing:
        raise ConfigError(
            f"{source}: not all indices used? The numbers must be 0, 1, .., {len(by_number) - 1}; min label idx"
            f" {min(by_number)}, max label idx {max(by_number)}, {len(missing)} unused, for example {missing[:5]}"
        )
    return LabelFile([by_number[i] for i in range(len(by_number))], dict(mapping))


def read_text(filename: str, what: str) -> str:
    """
    :param filename: UTF-8; may be packed (``.gz``)
    :param what: it is, for messages
    :raises ConfigError: there is no such file; or it is something else
    """
    content = read_unpacked(filename, what)
    try:
        text = content.decode("utf8")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{what} {filename!r}, line {line}: no UTF-8: {exc.reason}") from exc
    return text.removeprefix("\ufeff")


def read_dict(filename: str, what: str) -> dict[Any, Any]:
    """
    :param filename: a Python dict; may be packed (``.gz``)
    :param what: it is, for messages
    """
    return _parse_dict(read_text(filename, what), f"{what} {filename!r}")


def _parse_dict(text: str, source: str) -> dict[Any, Any]:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError) as exc:
        raise ConfigError(f"{source}: expected a Python dict, but: {exc}") from exc
    if not isinstance(value, dict):
        raise ConfigError(f"{source}: expected a Python dict, got {text[:100]!r}")
    return value


def read_pickled_dict(filename: str, what: str) -> dict[Any, Any]:
    """
    :param filename: a pickled dict; may be packed (``.gz``)
    :param what: it is, for messages
    """
    content = read_unpacked(filename, what)
    try:
        value = pickle.loads(content)
    except Exception as exc:  # a damaged pickle can raise about anything
        raise ConfigError(f"{what} {filename!r}: expected a pickled dict, label -> number, but: {exc}") from exc
    if not isinstance(value, dict):
        raise ConfigError(f"{what} {filename!r}: expected a pickled dict, label -> number, got {value!r:.100}")
    return value


@functools.lru_cache(maxsize=32)
def _load(_path: str, filename: str, _stamp: tuple[int, int]) -> LabelFile:
    what = "vocabulary file"
    source = f"{what} {filename!r}"
    if filename.removesuffix(".gz").endswith(".pkl"):
        return ids_by_label(read_pickled_dict(filename, what), source)
    text = read_text(filename, what)
    if text.startswith("{"):
        return ids_by_label(_parse_dict(text, source), source)
    labels = io.StringIO(text, newline=None).read().split("\n")
    if labels[-1] == "":
        del labels[-1]
    if not labels:
        raise ConfigError(f"{source} is empty")
    return LabelFile(labels, {label: i for i, label in enumerate(labels)})


def read_symbol_numbers(filename: str) -> LabelFile:
    """
    :param filename: lines ``symbol number``; or as :func:`load_labels`, but not labels alone
    """
    what = "symbol map file"
    if filename.removesuffix(".gz").endswith(".pkl"):
        return ids_by_label(read_pickled_dict(filename, what), f"{what} {filename!r}")
    text = read_text(filename, what)
    if text.startswith("{"):
        return ids_by_label(_parse_dict(text, f"{what} {filename!r}"), f"{what} {filename!r}")
    numbers: dict[str, int] = {}
    for i, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        symbol, blank, number = line.rpartition(" ")
        if not blank or not number.isdecimal():
            raise ConfigError(f"{what} {filename!r}, line {i}: expected 'symbol number', got {line!r}")
        if numbers.get(symbol, int(number)) != int(number):
            raise ConfigError(
                f"{what} {filename!r}, line {i}: symbol {symbol!r} has two numbers, {numbers[symbol]} and {number}"
            )
        numbers[symbol] = int(number)
    return ids_by_label(numbers, f"{what} {filename!r}")
