"""Words that mean yes or no."""

from __future__ import annotations

_words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def to_bool(text: str) -> bool:
    """
    :param text: an integer (0 is false), or true/yes/on, false/no/off in any case
    :raises ValueError: anything else
    """
    try:
        return bool(int(text))
    except ValueError:
        pass
    try:
        return _words[text.lower()]
    except KeyError:
        raise ValueError(f"to_bool cannot handle {text!r}") from None
