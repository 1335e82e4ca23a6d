"""NumbersDict: a number for each data key."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from returnn.util.numbers_dict import NumbersDict

numbers = st.dictionaries(st.sampled_from(["data", "classes", "x"]), st.integers(-9, 9))


def test_minus_broadcast_value() -> None:
    """10 - 7 = 3, 5 - 7 = -2, and the value that one side misses counts 0: 0 - 7 = -7."""
    res = NumbersDict({"data": 10, "classes": 5}) - NumbersDict(7)
    assert (res.dict, res.value) == ({"data": 3, "classes": -2}, -7)


def test_plain_number_has_no_value_of_its_own() -> None:
    """A plain 7 is spread over the keys; a value appears only where the other side has one."""
    assert (NumbersDict({"data": 10}) - 7).value is None
    res = 1 - NumbersDict({"data": 10}, 4)
    assert (res.dict, res.value) == ({"data": -9}, -3)


@pytest.mark.parametrize(
    "op,expected",
    [
        (operator.add, {"a": 8, "b": 3, "c": 4}),
        (operator.sub, {"a": 4, "b": 3, "c": -4}),
        (operator.mul, {"a": 12, "b": 3, "c": 4}),
        (operator.truediv, {"a": 3.0, "b": 3.0, "c": 0.25}),
        (operator.floordiv, {"a": 3, "b": 3, "c": 0}),
    ],
)
def test_missing_operand_is_neutral(op, expected) -> None:
    """a: 6 and 2; b: only 3 on the left; c: only 4 on the right."""
    assert op(NumbersDict({"a": 6, "b": 3}), NumbersDict({"a": 2, "c": 4})).dict == expected


def test_equal_where_both_are_defined() -> None:
    """Keys and values that one side misses are ignored."""
    assert NumbersDict({"a": 5, "b": 5}) == 5
    assert NumbersDict({"a": 5}) == {"a": 5, "b": 7}
    assert NumbersDict({"a": 5}) != {"a": 6}
    assert NumbersDict({"a": 5}, 3) != NumbersDict(5)
    assert NumbersDict() == NumbersDict({"a": 1})
    assert NumbersDict({"a": 5}) != "a"


def test_reading() -> None:
    """What is not a key falls back to the value, or is a KeyError."""
    with_value, without = NumbersDict({"a": 1}, 2), NumbersDict({"a": 1})
    assert (with_value["b"], with_value.get("b"), without.get("b"), without.get("b", 3)) == (2, 2, None, 3)
    with pytest.raises(KeyError):
        without["b"]
    assert "b" not in with_value and with_value.has_value_for("b") and not without.has_value_for("b")
    assert with_value.values() == [1, 2] and list(with_value.keys()) == ["a"]
    assert (with_value.max_value(), with_value.min_value()) == (2, 1)
    assert without.pop("a") == 1 and not without.has_values() and NumbersDict(0).has_values()
    assert NumbersDict({"a": 0, "b": 1}) and not NumbersDict({"a": 0}, 0)


def test_iterating_is_refused() -> None:
    """Keys, or values? So it says what to do instead."""
    with pytest.raises(TypeError, match="iterate over keys"):
        list(NumbersDict({"a": 1}))


def test_max_and_min_ignore_what_is_missing() -> None:
    """a: 1, 3 -> 3 and 1. b: only 2, but against the value 5 of the last -> 5 and 2."""
    items = [{"a": 1}, {"a": 3, "b": 2}, NumbersDict({"a": 2}, 5)]
    assert (NumbersDict.max(items).dict, NumbersDict.max(items).value) == ({"a": 3, "b": 5}, 5)
    assert (NumbersDict.min(items).dict, NumbersDict.min(items).value) == ({"a": 1, "b": 2}, 5)


def test_any_compare() -> None:
    """Our keys against the other's numbers or value; value against value; what is missing is not compared."""
    lens = NumbersDict({"data": 5, "classes": 3})
    assert lens.any_compare(NumbersDict(4), operator.gt)
    assert not lens.any_compare({"classes": 3, "other": 0}, operator.gt)
    assert NumbersDict(5).any_compare(4, operator.gt)


def test_copies_are_independent() -> None:
    """copy_like and constant_like take the keys of the other."""
    a = NumbersDict({"a": 1}, 2)
    b = a.copy()
    b["a"] = 9
    assert a["a"] == 1
    assert a.copy_like(NumbersDict({"a": 0, "z": 0})).dict == {"a": 1, "z": 2}
    assert a.copy_like(NumbersDict({"a": 0})).value is None
    assert (NumbersDict.constant_like(7, a).dict, NumbersDict.constant_like(7, a).value) == ({"a": 7}, 7)
    assert repr(a) == "NumbersDict({'a': 1}, value=2)" and repr(NumbersDict(3)) == "NumbersDict(3)"


@given(numbers, numbers)
def test_minus_undoes_plus(a: dict[str, int], b: dict[str, int]) -> None:
    """(a + b) - b = a, with 0 for keys of b alone."""
    res = (NumbersDict(a) + NumbersDict(b)) - NumbersDict(b)
    assert res.dict == {key: a.get(key, 0) for key in {**a, **b}}
