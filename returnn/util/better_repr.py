"""A ``repr`` for files that people and programs read: stable, one item a line where it gets long, plain numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy

_max_inline_dict_len = 40


def better_repr(o: Any) -> str:
    """
    :param o: numbers, strings, and lists, tuples, sets, dicts of them; anything else is left to ``repr``
    :return: an expression. Dicts are sorted by key, and have an item a line if their items are 40 characters or more;
        lists and sets always have an item a line. ``float('nan')``, ``float('inf')`` can be evaluated,
        numpy scalars become plain numbers.
    """
    if isinstance(o, numpy.generic):
        o = o.item()
    if isinstance(o, float):
        return repr(o) if math.isfinite(o) else f"float('{o}')"
    if type(o) is list:
        return "[\n%s]" % _lines(map(better_repr, o))
    if type(o) is tuple:
        return "(%s)" % ("%s," if len(o) == 1 else "%s") % ", ".join(map(better_repr, o))
    if type(o) is set:
        return "{\n%s}" % _lines(map(better_repr, _sorted(o))) if o else "set()"
    if isinstance(o, dict):
        items = [f"{better_repr(k)}: {better_repr(o[k])}" for k in _sorted(o)]
        if sum(map(len, items)) >= _max_inline_dict_len:
            return "{\n%s}" % _lines(items)
        return "{%s}" % ", ".join(items)
    return repr(o)


def _lines(items: Iterable[str]) -> str:
    return "".join(item + ",\n" for item in items)


def _sorted(keys: Iterable[Any]) -> list[Any]:
    keys = list(keys)
    try:
        return sorted(keys)
    except TypeError:  # of several types
        return sorted(keys, key=lambda k: (type(k).__name__, repr(k)))
