"""Nearest valid names, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_names(name: str, valid: Iterable[str], *, max_names: int = 3) -> list[str]:
    """
    :param name: what the user wrote
    :param valid: the names there are
    :param max_names: how many to return at most
    :return: the valid names that look most like it, best first; maybe none
    """
    by_lower = {v.lower(): v for v in sorted(valid)}
    return [by_lower[v] for v in difflib.get_close_matches(name.lower(), sorted(by_lower), n=max_names, cutoff=0.6)]


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """
    :return: ' Did you mean "a" or "b"?', with a leading blank, or "" if nothing is near
    """
    names = nearest_names(name, valid)
    return " Did you mean %s?" % " or ".join('"%s"' % n for n in names) if names else ""
