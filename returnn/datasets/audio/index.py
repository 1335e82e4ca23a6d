"""The text file that says what is in an archive of utterances: a Python or JSON list of dicts, or a JSON dict a line.

Millions of entries are read in the order of the file, one by one; what is simple is not given to Python's parser.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from returnn.util.errors import UserError

_string = r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
_flat_dict = re.compile(rf"""\s*(\{{[^{{}}'"]*(?:(?:{_string})[^{{}}'"]*)*\}})\s*([,\]])?""", re.DOTALL)
_value = rf"{_string}|-?[0-9][0-9.eE+-]*|None|null"
_item = re.compile(rf"\s*({_string})\s*:\s*({_value})\s*(,|\}})\s*", re.DOTALL)


def iter_entries(text: str, where: str) -> Iterator[dict[str, Any]]:
    """
    :param text: content of the file
    :param where: names the file, for messages
    :raises UserError: an entry is no dict of plain values; with its line
    """
    pos = _start(text, where)
    is_list = text[pos - 1] == "[" if pos else False
    like_last: re.Pattern[str] | None = None
    keys: list[str] = []
    while True:
        match = like_last.match(text, pos) if like_last is not None else None
        if match is not None:
            start = match.start(1)
            yield {
                key: _parse_value(value, text, start, where) for key, value in zip(keys, match.groups(), strict=True)
            }
            pos = match.end()
            continue
        pos = _skip_space(text, pos)
        if pos >= len(text) and is_list:
            raise _error(where, text, pos, "the list has no end; maybe the file is truncated")
        if pos >= len(text) or (is_list and text[pos] == "]"):
            return
        match = _flat_dict.match(text, pos)
        if match is None:
            yield from _parse_the_rest(text, pos, where)
            return
        entry = _parse_dict(text, match.start(1), match.end(1), where)
        yield entry
        keys = list(entry)
        like_last = _same_keys(text[match.start(1) : match.end(1)], keys) if is_list and match[2] == "," else None
        pos = match.end()
        if match[2] == "]":
            return
        if is_list and match[2] != ",":
            raise _error(where, text, pos, "no ',' or ']' behind an entry; maybe the file is truncated")


def _same_keys(literal: str, keys: list[str]) -> re.Pattern[str] | None:
    """:return: matches an entry of a list with these keys, and all its values at once; most entries are alike"""
    values = [rf"\s*{re.escape(key)}\s*:\s*({_value})" for key, _, _ in _item.findall(literal, 1)]
    return (
        re.compile(r"\s*\{" + r"\s*,".join(values) + r"\s*\}\s*,", re.DOTALL) if len(values) == len(keys) > 0 else None
    )


_space = re.compile(r"\s*")


def _skip_space(text: str, pos: int) -> int:
    match = _space.match(text, pos)
    assert match is not None
    return match.end()


def _start(text: str, where: str) -> int:
    """:return: where the first entry starts"""
    pos = _skip_space(text, 1 if text.startswith("\ufeff") else 0)
    if text.startswith("[", pos):
        return pos + 1
    if text.startswith("{", pos):
        return pos
    raise _error(where, text, pos, "expected a list of dicts")


def _parse_dict(text: str, start: int, end: int, where: str) -> dict[str, Any]:
    result = {}
    pos = start + 1
    while pos < end:
        match = _item.match(text, pos, end)
        if match is None:
            return _parse_any(text, start, end, where)
        key, value, _ = match.groups()
        result[_parse_value(key, text, start, where)] = _parse_value(value, text, start, where)
        pos = match.end()
    return result


def _parse_value(literal: str, text: str, start: int, where: str) -> Any:
    if literal[0] not in "'\"":
        return _parse_number(literal, text, start, where)
    if "\\" not in literal and "\n" not in literal:
        return literal[1:-1]
    return _parse_literal(literal, text, start, where)


def _parse_number(literal: str, text: str, start: int, where: str) -> float | int | None:
    if literal in ("None", "null"):
        return None
    try:
        return float(literal) if "." in literal or "e" in literal or "E" in literal else int(literal)
    except ValueError:
        raise _error(where, text, start, f"{literal!r} is no number") from None


def _parse_any(text: str, start: int, end: int, where: str) -> dict[str, Any]:
    value = _parse_literal(text[start:end], text, start, where)
    if not isinstance(value, dict):
        raise _error(where, text, start, "expected a dict")
    return value


def _parse_literal(literal: str, text: str, start: int, where: str) -> Any:
    if literal.startswith(('"', "{", "[")):
        try:
            return json.loads(literal)  # differs from Python for \\/ and for characters of two \\u
        except ValueError:
            pass
    try:
        return ast.literal_eval(literal)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise _error(where, text, start, f"not a literal: {exc}") from exc


def _parse_the_rest(text: str, pos: int, where: str) -> Iterator[dict[str, Any]]:
    """Entries with further dicts inside."""
    rest = text[pos:].rstrip()
    if rest.endswith("]"):
        value = _parse_literal("[" + rest, text, pos, where)
        yield from (_checked(entry, where, text, pos) for entry in value)
        return
    for line in rest.splitlines():
        if line.strip():
            yield _checked(_parse_literal(line.strip(), text, pos, where), where, text, pos)
        pos += len(line) + 1


def _checked(entry: Any, where: str, text: str, pos: int) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise _error(where, text, pos, f"expected a dict, not {entry!r:.60}")
    return entry


def _error(where: str, text: str, pos: int, what: str) -> UserError:
    line = text.count("\n", 0, pos) + 1
    rest = text[pos : pos + 60]
    place = f"at {rest!r}" if rest else f"behind {text[max(0, pos - 60) : pos]!r}"
    return UserError(f"{where}, line {line}: {what}, {place}")
