"""The repr that goes into files."""

from __future__ import annotations

import math

import numpy
import pytest

from returnn.util.better_repr import better_repr


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({2: 1, 1: 2}, "{1: 2, 2: 1}"),
        ({}, "{}"),
        ([], "[\n]"),
        ([1, "a"], "[\n1,\n'a',\n]"),
        ((), "()"),
        ((1,), "(1,)"),
        ((0.5, math.nan), "(0.5, float('nan'))"),
        (math.inf, "float('inf')"),
        (-math.inf, "float('-inf')"),
        (numpy.float32(0.5), "0.5"),
        (numpy.float64("nan"), "float('nan')"),
        (numpy.int64(3), "3"),
        ({3, 1}, "{\n1,\n3,\n}"),
        (set(), "set()"),
        (None, "None"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert better_repr(value) == text


def test_dict_has_an_item_a_line_from_forty_characters_on() -> None:
    """`'a': 'x..x'` with n letters x has 5 + n + 2 characters."""
    assert better_repr({"a": "x" * 32}) == "{'a': '%s'}" % ("x" * 32)
    assert better_repr({"a": "x" * 33}) == "{\n'a': '%s',\n}" % ("x" * 33)


def test_keys_of_several_types_have_an_order_too() -> None:
    assert better_repr({"a": 1, 2: 3, "b": 4}) == "{2: 3, 'a': 1, 'b': 4}"


def test_result_can_be_evaluated() -> None:
    value = {"score": [1.5, 2, {"x": ("y",) * 10}], "long key " * 5: {1, 2}}
    assert eval(better_repr(value)) == value
