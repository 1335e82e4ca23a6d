"""The text file of an archive of utterances."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from returnn.datasets.audio.index import iter_entries
from returnn.util.errors import UserError

entries = st.lists(
    st.dictionaries(
        st.text(max_size=5),
        st.text(max_size=9)
        | st.none()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.booleans(),
        max_size=4,
    ),
    max_size=4,
)


@given(entries)
def test_python_and_json_lists_are_read_as_they_were_written(values: list[dict[str, Any]]) -> None:
    assert list(iter_entries(repr(values), "x")) == values
    assert list(iter_entries(json.dumps(values), "x")) == values
    assert list(iter_entries(json.dumps(values, ensure_ascii=False, indent=1), "x")) == values
    if values:
        assert list(iter_entries("\n".join(map(json.dumps, values)), "x")) == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", []),
        ("\ufeff[\n{'a': 'it\\'s {b}', \"c\": 1.5,},\n]\n", [{"a": "it's {b}", "c": 1.5}]),
        ("[{'a': {'b': 1}}, {'c': -2e-1}]", [{"a": {"b": 1}}, {"c": -0.2}]),
        ('[{"a": null, "b": {"x": true}}]', [{"a": None, "b": {"x": True}}]),
        ('{"a": {"b": 1}}\n\n{"c": 2}\n', [{"a": {"b": 1}}, {"c": 2}]),
        ("[{u'x': 'a' 'b', 'y': (1, 2)}]", [{"x": "ab", "y": (1, 2)}]),
    ],
)
def test_forms(text: str, expected: list[Any]) -> None:
    assert list(iter_entries(text, "x")) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^x, line 1: expected a list of dicts"),
        ("\n(1)", r"^x, line 2: expected a list of dicts, at '\(1\)'"),
        ("[{'a': 1},\n{'b': 2}", r"^x, line 2: no ',' or '\]' behind an entry; maybe the file is truncated"),
        ("[{'a': 1},\n", r"^x, line 2: the list has no end; maybe the file is truncated"),
        ("[{'a': 1},\n{'b': 'c", r"^x, line 2: not a literal: .*, at \"\{'b': 'c\""),
        ("[{'a': foo}]", r"^x, line 1: not a literal: "),
        ("[{'a': 1.2.3}]", r"^x, line 1: '1.2.3' is no number"),
        ("[{'a'}]", r"^x, line 1: expected a dict, at"),
        ("[1, 2]", r"^x, line 1: expected a dict, not 1"),
    ],
)
def test_mistakes_have_a_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(iter_entries(text, "x"))
