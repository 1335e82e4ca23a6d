"""Functions from text to text, by name: lower case, numbers as words, and the like."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

TextFunc = Callable[[str], str]

_white_space = re.compile(r"\s+")
_special = re.compile(r"(?:(?<=\s)|^)(\[\S*\]\S*|<\S*>\S*)")
_abbreviations = {
    "mrs": "misses",
    "mr": "mister",
    "dr": "doctor",
    "st": "saint",
    "co": "company",
    "jr": "junior",
    "maj": "major",
    "gen": "general",
    "drs": "doctors",
    "rev": "reverend",
    "lt": "lieutenant",
    "hon": "honorable",
    "sgt": "sergeant",
    "capt": "captain",
    "esq": "esquire",
    "ltd": "limited",
    "col": "colonel",
    "ft": "fort",
    "ms": "miss",
}
_abbreviation = re.compile(r"\b(%s)\." % "|".join(sorted(_abbreviations, key=len, reverse=True)), re.IGNORECASE)


def lowercase(text: str) -> str:
    """
    :return: in lower case
    """
    return text.lower()


def lowercase_keep_special(text: str) -> str:
    """
    :return: in lower case, but for words that begin ``[...]`` or ``<...>``
    """
    return "".join(part if i % 2 else part.lower() for i, part in enumerate(_special.split(text)))


def collapse_whitespace(text: str) -> str:
    """
    :return: with single blanks between words
    """
    return _white_space.sub(" ", text).strip()


def convert_to_ascii(text: str) -> str:
    """
    :return: transliterated, needs the package ``unidecode``
    """
    return _package("unidecode").unidecode(text)


def expand_abbreviations(text: str) -> str:
    """
    :return: with English abbreviations as ``Mr.`` written out
    """
    return _abbreviation.sub(lambda match: _abbreviations[match[1].lower()], text)


def normalize_numbers(text: str) -> str:
    """
    :return: with English words for numbers, needs the package ``inflect``
    """
    inflect = _inflect()
    text = re.sub(r"[0-9][0-9,]+[0-9]", lambda match: match[0].replace(",", ""), text)
    text = re.sub(r"£([0-9,]*[0-9]+)", r"\1 pounds", text)
    text = re.sub(r"\$([0-9.,]*[0-9]+)", _dollars, text)
    text = re.sub(r"([0-9]+\.[0-9]+)", lambda match: match[0].replace(".", " point "), text)
    text = re.sub(r"[0-9]+(st|nd|rd|th)", lambda match: inflect.number_to_words(match[0]), text)
    return re.sub(r"[0-9]+", _number, text)


def _dollars(match: re.Match[str]) -> str:
    dollars, _, cents = match[1].partition(".")
    amounts = [
        f"{n} {unit if int(n) == 1 else unit + 's'}"
        for n, unit in ((dollars.replace(",", ""), "dollar"), (cents, "cent"))
        if n.isdecimal() and int(n)
    ]
    return ", ".join(amounts) or "zero dollars"


def _number(match: re.Match[str]) -> str:
    inflect, n = _inflect(), int(match[0])
    if 1000 < n < 3000 and n != 2000:  # read as a year
        if 2000 < n < 2010:
            return "two thousand " + inflect.number_to_words(n % 100)
        if n % 100 == 0:
            return inflect.number_to_words(n // 100) + " hundred"
        return inflect.number_to_words(n, andword="", zero="oh", group=2).replace(", ", " ")
    return inflect.number_to_words(n, andword="")


def basic_cleaners(text: str) -> str:
    """
    :return: in lower case, with single blanks
    """
    return collapse_whitespace(lowercase(text))


def transliteration_cleaners(text: str) -> str:
    """
    :return: the same, transliterated to ASCII
    """
    return basic_cleaners(convert_to_ascii(text))


def english_cleaners(text: str) -> str:
    """
    :return: the same, with numbers and abbreviations written out
    """
    return collapse_whitespace(expand_abbreviations(normalize_numbers(lowercase(convert_to_ascii(text)))))


def english_cleaners_keep_special(text: str) -> str:
    """
    :return: the same, with words ``[...]`` and ``<...>`` as they are
    """
    text = lowercase_keep_special(convert_to_ascii(text))
    return collapse_whitespace(expand_abbreviations(normalize_numbers(text)))


def get_remove_chars(chars: str) -> TextFunc:
    """
    :param chars: become blanks
    """
    table = dict.fromkeys(map(ord, chars), " ")
    return lambda text: collapse_whitespace(text.translate(table))


def get_replace(old: str, new: str) -> TextFunc:
    """
    :param old: becomes ``new``
    :param new: instead
    """
    return lambda text: text.replace(old, new)


POST_PROCESSORS: dict[str, TextFunc] = {
    func.__name__: func
    for func in (
        lowercase,
        lowercase_keep_special,
        collapse_whitespace,
        convert_to_ascii,
        expand_abbreviations,
        normalize_numbers,
        basic_cleaners,
        transliteration_cleaners,
        english_cleaners,
        english_cleaners_keep_special,
    )
}


def get_post_processor_function(opts: Any) -> TextFunc:
    """
    :param opts: None: nothing is done; a function, which is called once with "test"; a name of
        :data:`POST_PROCESSORS`; an expression over those, ``get_remove_chars`` and ``get_replace``; or a list
    """
    if not opts:
        return _identity
    if isinstance(opts, str):
        return _checked(_by_text(opts), opts)
    if callable(opts):
        return _checked(opts, opts)
    if isinstance(opts, (list, tuple)):
        funcs = [get_post_processor_function(item) for item in opts]
        return lambda text: _apply(funcs, text)
    raise ConfigError(f"post-processing of text: expected a name, function or list, got {opts!r}")


def _identity(text: str) -> str:
    return text


def _apply(funcs: list[TextFunc], text: str) -> str:
    for func in funcs:
        text = func(text)
    return text


def _by_text(text: str) -> Any:
    namespace = {**POST_PROCESSORS, "get_remove_chars": get_remove_chars, "get_replace": get_replace}
    if "(" not in text and "," not in text and not text.startswith("lambda"):
        if text not in POST_PROCESSORS:
            raise ConfigError(
                f"post-processing of text: there is no function {text!r}.{did_you_mean(text, namespace)}"
                f" There are: {', '.join(namespace)}."
            )
        return POST_PROCESSORS[text]
    try:
        value = eval(text, namespace)
    except Exception as exc:  # users' code
        raise ConfigError(f"post-processing of text: cannot evaluate {text!r}: {type(exc).__name__}: {exc}") from exc
    return get_post_processor_function(value) if isinstance(value, (list, tuple)) else value


def _checked(func: Any, opts: Any) -> TextFunc:
    try:
        result = func("test")
    except ConfigError:
        raise
    except Exception as exc:  # users' code
        raise ConfigError(f"post-processing of text: {opts!r} fails: {type(exc).__name__}: {exc}") from exc
    if not isinstance(result, str):
        raise ConfigError(f"post-processing of text: {opts!r} does not seem as a valid function str->str")
    return func


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        raise ConfigError(
            f"post-processing of text needs the package {name!r}: pip install {name}, or returnn[text]"
        ) from exc


_inflect_engine: Any = None


def _inflect() -> Any:
    global _inflect_engine  # it takes a while to make
    if _inflect_engine is None:
        _inflect_engine = _package("inflect").engine()
    return _inflect_engine
