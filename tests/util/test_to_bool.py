"""Words that mean yes or no."""

from __future__ import annotations

import pytest

from returnn.util.to_bool import to_bool


@pytest.mark.parametrize(("text", "value"), [("1", True), ("0", False), ("-2", True), ("On", True), ("no", False)])
def test_words(text: str, value: bool) -> None:
    assert to_bool(text) is value


@pytest.mark.parametrize("text", ["", "abc", "1.5"])
def test_other_words(text: str) -> None:
    with pytest.raises(ValueError, match=f"^to_bool cannot handle '{text}'$"):
        to_bool(text)
