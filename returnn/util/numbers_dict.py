"""Lengths and limits, a number for each data key."""

from __future__ import annotations

import operator
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping
from typing import Any, Union

Number = int | float
NumbersLike = Union["NumbersDict", Mapping[str, Number], int, float, None]


class NumbersDict:
    """Dict key -> number, plus an optional broadcast :attr:`value` for all keys that are not in it.

    Arithmetic works elementwise on the union of the keys; a missing operand counts 0 for + and -, 1 for \\*, / and //.
    A plain number as operand is spread over the keys of the other side, and over its value only if that has one.
    """

    __slots__ = ("dict", "value")
    __hash__ = None  # type: ignore[assignment]  # it can change

    def __init__(self, numbers: NumbersLike = None, value: Number | None = None):
        """
        :param numbers: a number is the broadcast value; a dict or NumbersDict is copied; None is empty
        :param value: broadcast value, if not given by ``numbers``
        """
        self.value = value
        if type(numbers) is dict:  # by far the most frequent
            self.dict: dict[str, Number] = numbers.copy()
            return
        self.dict = {}
        if isinstance(numbers, NumbersDict):
            self.dict.update(numbers.dict)
            self.value = numbers.value if value is None else value
        elif isinstance(numbers, Mapping):
            self.dict.update(numbers)
        elif numbers is not None:
            if not hasattr(numbers, "__add__") or isinstance(numbers, (str, list, tuple)):
                raise TypeError(f"NumbersDict: expected a number, a dict of numbers or None, got {numbers!r}")
            self.value = numbers

    # As a dict.

    def __getitem__(self, key: str) -> Number:
        """
        :raises KeyError: neither the key nor a broadcast value is there
        """
        try:
            return self.dict[key]
        except KeyError:
            if self.value is None:
                raise
            return self.value

    def __setitem__(self, key: str, number: Number) -> None:
        self.dict[key] = number

    def __delitem__(self, key: str) -> None:
        del self.dict[key]

    def __contains__(self, key: str) -> bool:
        return key in self.dict

    def __iter__(self) -> Any:
        raise TypeError("NumbersDict: iterate over keys(), values() or items(); it is not clear which are meant")

    def get(self, key: str, default: Any = None) -> Any:
        """
        :return: the number of the key, else the broadcast value, else ``default``
        """
        number = self.dict.get(key, self.value)
        return default if number is None else number

    def pop(self, key: str, *default: Any) -> Any:
        """Removes the key (never the broadcast value) and returns its number."""
        return self.dict.pop(key, *default)

    def keys(self) -> KeysView[str]:
        """
        :return: the keys, without the broadcast value
        """
        return self.dict.keys()

    def values(self) -> list[Number]:
        """
        :return: all numbers, the broadcast value last, if there is one
        """
        return list(self.dict.values()) + ([] if self.value is None else [self.value])

    def items(self) -> ItemsView[str, Number]:
        """
        :return: pairs (key, number), without the broadcast value
        """
        return self.dict.items()

    def has_value_for(self, key: str) -> bool:
        """
        :return: whether ``self[key]`` is defined
        """
        return self.value is not None or key in self.dict

    def has_values(self) -> bool:
        """
        :return: whether there is any number at all
        """
        return bool(self.dict) or self.value is not None

    def copy(self) -> NumbersDict:
        """
        :return: an independent copy
        """
        return NumbersDict(self)

    def copy_like(self, other: NumbersDict) -> NumbersDict:
        """
        :return: our numbers, for the keys of ``other``; a broadcast value if both have one
        """
        res = NumbersDict({key: self[key] for key in other.dict})
        if other.value is not None:
            res.value = self.value
        return res

    @classmethod
    def constant_like(cls, number: Number, numbers_dict: NumbersDict) -> NumbersDict:
        """
        :return: ``number`` wherever ``numbers_dict`` has one
        """
        return cls(dict.fromkeys(numbers_dict.dict, number), None if numbers_dict.value is None else number)

    # Arithmetic.

    def __add__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.add, self, other, 0)

    __radd__ = __add__

    def __sub__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.sub, self, other, 0)

    def __rsub__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.sub, other, self, 0)

    def __mul__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.mul, self, other, 1)

    __rmul__ = __mul__

    def __truediv__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.truediv, self, other, 1)

    def __rtruediv__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.truediv, other, self, 1)

    def __floordiv__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.floordiv, self, other, 1)

    def __rfloordiv__(self, other: NumbersLike) -> NumbersDict:
        return _elementwise(operator.floordiv, other, self, 1)

    def __neg__(self) -> NumbersDict:
        return NumbersDict({k: -v for k, v in self.dict.items()}, None if self.value is None else -self.value)

    def __bool__(self) -> bool:
        return any(self.values())

    # Comparison.

    def __eq__(self, other: object) -> bool:
        """
        :return: whether all entries that both define are equal
        """
        if not isinstance(other, (NumbersDict, Mapping)) and not hasattr(other, "__add__"):
            return NotImplemented
        if isinstance(other, (str, list, tuple)):
            return NotImplemented
        other_numbers = NumbersDict(other)  # type: ignore[arg-type]  # checked just above
        pairs = [(self.get(k), other_numbers.get(k)) for k in self.dict.keys() | other_numbers.dict.keys()]
        pairs.append((self.value, other_numbers.value))
        return all(a == b for a, b in pairs if a is not None and b is not None)

    def any_compare(self, other: NumbersLike, compare: Callable[[Number, Number], bool]) -> bool:
        """
        :param other: what it does not define is not compared
        :param compare: called with our number and the one of ``other``
        :return: whether it holds for any of our keys, or for the two broadcast values
        """
        other = NumbersDict(other)
        pairs = [(number, other.get(key)) for key, number in self.dict.items()]
        pairs.append((self.value, other.value))  # type: ignore[arg-type]  # None is left out below
        return any(compare(a, b) for a, b in pairs if a is not None and b is not None)

    def max_value(self) -> Number:
        """
        :return: the largest of all numbers
        """
        return max(self.values())

    def min_value(self) -> Number:
        """
        :return: the smallest of all numbers
        """
        return min(self.values())

    @classmethod
    def max(cls, items: Iterable[NumbersLike]) -> NumbersDict:
        """
        :return: elementwise; what one of the items does not define is taken from the others
        """
        return _reduce(max, items)

    @classmethod
    def min(cls, items: Iterable[NumbersLike]) -> NumbersDict:
        """
        :return: elementwise; what one of the items does not define is taken from the others
        """
        return _reduce(min, items)

    def __repr__(self) -> str:
        args = [repr(self.dict)] if self.dict or self.value is None else []
        if self.value is not None:
            args.append(f"value={self.value!r}" if args else repr(self.value))
        return f"NumbersDict({', '.join(args)})"


def _elementwise(op: Callable[[Any, Any], Any], a: NumbersLike, b: NumbersLike, neutral: Number) -> NumbersDict:
    a, b = _spread(a, b), _spread(b, a)
    res = NumbersDict({k: op(a.get(k, neutral), b.get(k, neutral)) for k in {**a.dict, **b.dict}})
    if a.value is not None or b.value is not None:
        res.value = op(neutral if a.value is None else a.value, neutral if b.value is None else b.value)
    return res


def _spread(numbers: NumbersLike, other: NumbersLike) -> NumbersDict:
    """:return: as NumbersDict; a plain number gets the structure of ``other``"""
    if numbers is None or isinstance(numbers, (NumbersDict, Mapping)) or not isinstance(other, NumbersDict):
        return NumbersDict(numbers)
    return NumbersDict.constant_like(numbers, other)


def _reduce(func: Callable[[Iterable[Number]], Number], items: Iterable[NumbersLike]) -> NumbersDict:
    parts = [NumbersDict(item) for item in items]
    res = NumbersDict()
    for key in dict.fromkeys(k for part in parts for k in part.dict):
        res.dict[key] = func(part[key] for part in parts if part.has_value_for(key))
    values = [part.value for part in parts if part.value is not None]
    if values:
        res.value = func(values)
    return res
