"""Docstrings are written for readers of the code first. In them, stars and bars mean themselves; they are no markup."""

from __future__ import annotations

import re
from typing import Any

_literal_or_char = re.compile(r"(``.+?``|:[\w:]+:`[^`]*`)|([*|])")


def escape_markup(line: str) -> str:
    """
    :param line: of a docstring
    :return: with a backslash before each star and bar outside of literals and roles
    """
    return _literal_or_char.sub(lambda match: match[1] or "\\" + match[2], line)


def _escape_docstring(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = [escape_markup(line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _escape_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
