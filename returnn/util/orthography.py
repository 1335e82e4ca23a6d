"""Transcriptions as lists of symbols: characters or words, and special symbols in square brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_space = re.compile(r"\s+")


def parse_orthography(
    orthography: str,
    prefix: Iterable[str] = (),
    postfix: Iterable[str] = ("[END]",),
    remove_chars: str = "(){}",
    collapse_spaces: bool = True,
    final_strip: bool = True,
    **kwargs: Any,
) -> list[str]:
    """
    :param orthography: for example ``"hello [noise] there"``
    :param prefix: symbols before all others
    :param postfix: symbols behind all others
    :param remove_chars: characters that are left out
    :param collapse_spaces: white space counts as one blank
    :param final_strip: no white space at both ends
    :param kwargs: for :func:`parse_orthography_into_symbols`
    """
    if remove_chars:
        orthography = orthography.translate(dict.fromkeys(map(ord, remove_chars)))
    if collapse_spaces:
        orthography = _space.sub(" ", orthography)
    if final_strip:
        orthography = orthography.strip()
    return [*prefix, *parse_orthography_into_symbols(orthography, **kwargs), *postfix]


def parse_orthography_into_symbols(
    orthography: str,
    upper_case_special: bool = True,
    word_based: bool = False,
    square_brackets_for_specials: bool = True,
) -> list[str]:
    """
    :param orthography: for example ``"hello [noise] there"``
    :param upper_case_special: write special symbols like that
    :param word_based: words, else characters
    :param square_brackets_for_specials: ``[...]`` is one symbol; brackets can be nested. Of words, what follows such a
        symbol without a blank belongs to it: ``x[Y]z`` is ``x`` and ``[Y]z``
    """
    split = str.split if word_based else list
    if not square_brackets_for_specials or "[" not in orthography:
        return split(orthography)
    symbols: list[str] = []
    pos = 0
    while pos < len(orthography):
        start = orthography.find("[", pos)
        if start < 0:
            start = len(orthography)
        symbols += split(orthography[pos:start])
        if start == len(orthography):
            break
        pos = _end_of_special(orthography, start)
        special = orthography[start:pos].upper() if upper_case_special else orthography[start:pos]
        if word_based:
            match = re.compile(r"[^\s\[]*").match(orthography, pos)
            assert match is not None  # can be empty
            special += match[0]
            pos = match.end()
        symbols.append(special)
    return symbols


def _end_of_special(text: str, start: int) -> int:
    """:return: position behind the bracket that closes the one at ``start``, or the end"""
    depth = 0
    for match in re.compile(r"[\[\]]").finditer(text, start):
        depth += 1 if match[0] == "[" else -1
        if depth == 0:
            return match.end()
    return len(text)
