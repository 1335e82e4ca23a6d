"""Strings in little memory."""

from __future__ import annotations

import pytest

from returnn.datasets.util.string_list import StringList


def test_it_is_a_sequence_of_what_was_put_in() -> None:
    strings = ["", "a", "wörld", "\U0001f600", "\udc80"]
    values = StringList(strings)
    assert list(values) == strings and len(values) == 5
    assert values[-1] == "\udc80" and values[1:3] == ["a", "wörld"]
    assert values == strings and values != strings[:4]
    assert values.get_bytes(2) == "wörld".encode()
    with pytest.raises(IndexError, match=r"no string 5 of 5"):
        values[5]
