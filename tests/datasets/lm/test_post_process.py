"""Functions from text to text. More of them are in the data case vocab_texts."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from returnn.datasets.lm import get_post_processor_function
from returnn.util.errors import ConfigError
from returnn.util.orthography import parse_orthography


def test_kinds() -> None:
    """Nothing, a function, a name, an expression, a list."""
    for opts, expected in [
        (None, "A  b"),
        (str.swapcase, "a  B"),
        ("lowercase", "a  b"),
        ("get_replace('A', 'c')", "c  b"),
        (["lowercase", "get_remove_chars('b')", str.upper], "A"),
        ("lowercase, get_replace('a', 'x')", "x  b"),
    ]:
        assert get_post_processor_function(opts)("A  b") == expected


def test_numbers_as_words() -> None:
    pytest.importorskip("inflect")
    pytest.importorskip("unidecode")
    func = get_post_processor_function("english_cleaners")
    assert func("Dr.  Müller has 21 of 1,000 cats") == "doctor muller has twenty-one of one thousand cats"
    assert func("the 2nd, $3.50") == "the second, three dollars, fifty cents"
    keep = get_post_processor_function("english_cleaners_keep_special")
    assert keep("[Noise] Mr. X, in 1998") == "[Noise] mister x, in nineteen ninety-eight"


@pytest.mark.parametrize(
    ["opts", "message"],
    [
        ("lowercas", "there is no function 'lowercas'. Did you mean \"lowercase\""),
        ("get_replace(1)", "cannot evaluate 'get_replace(1)': TypeError"),
        (len, "does not seem as a valid function str->str"),
        (int, "fails: ValueError"),
        (3, "expected a name, function or list, got 3"),
    ],
)
def test_errors(opts: Any, message: str) -> None:
    with pytest.raises(ConfigError) as info:
        get_post_processor_function(opts)
    assert message in str(info.value)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, not at the first text."""
    monkeypatch.setitem(sys.modules, "unidecode", None)
    with pytest.raises(ConfigError, match=r"needs the package 'unidecode': pip install unidecode, or returnn\[text\]"):
        get_post_processor_function("convert_to_ascii")


def test_orthography() -> None:
    """Brackets hold one symbol; in text of words, what follows them belongs to it."""
    assert parse_orthography("hello [Hes] there ", word_based=True) == ["hello", "[HES]", "there", "[END]"]
    assert parse_orthography("a (b)  {c} x[Y]z", word_based=True) == ["a", "b", "c", "x", "[Y]z", "[END]"]
    assert parse_orthography("a [b [c]]d", postfix=()) == ["a", " ", "[B [C]]", "d"]
