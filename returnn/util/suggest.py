"""Nearest valid names, for error messages."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable


def nearest_names(name: str, valid: Iterable[str], *, max_names: int = 3) -> list[str]:
    """
    :param name: what the user wrote
    :param valid: the names there are
    :param max_names: how many to return at most
    :return: the valid names that look most like it, best first, without those that are far behind the best; maybe none
    """
    by_lower = {v.lower(): v for v in sorted(valid)}
    near = difflib.get_close_matches(name.lower(), sorted(by_lower), n=max_names, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, v, name.lower()).ratio() for v in near]
    return [by_lower[v] for v, ratio in zip(near, ratios, strict=True) if ratio >= 0.7 * ratios[0]]


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """
    :return: ' Did you mean "a" or "b"?', with a leading blank, or "" if nothing is near
    """
    names = nearest_names(name, valid)
    return " Did you mean %s?" % " or ".join('"%s"' % n for n in names) if names else ""


def file_not_found(what: str, path: str) -> str:
    """
    :param what: "config file"
    :param path: where there is none
    :return: the message, with the nearest names in that folder
    """
    message = f"{what} not found: {path!r}"
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return message + f". There is no folder {folder!r} (current folder: {os.getcwd()})."
    names = os.listdir(folder) if os.access(folder, os.R_OK) else []
    return message + f" (current folder: {os.getcwd()})." + did_you_mean(os.path.basename(path), names)
