"""Times and sizes as people read them."""

from __future__ import annotations

import pytest

from returnn.util.format import hms, hms_fraction, human_bytes_size, human_size, parse_size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00:00"), (61.9, "0:01:01"), (3600, "1:00:00"), (360000, "100:00:00"), (-3, "-0:00:03")],
)
def test_hms(seconds: float, text: str) -> None:
    assert hms(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.5, "0:00:00.5000"), (61.25, "0:01:01.2500"), (1, "0:00:01.0000")])
def test_hms_fraction(seconds: float, text: str) -> None:
    assert hms_fraction(seconds) == text


@pytest.mark.parametrize(("n", "text"), [(0, "0"), (799, "799"), (820, "0.8K"), (5800, "5.8K"), (10**15, "1000.0T")])
def test_human_size(n: int, text: str) -> None:
    assert human_size(n) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0B"), (819, "819B"), (820, "0.8KB"), (5800, "5.7KB"), (8191, "8.0KB"), (2**30, "1.0GB")]
)
def test_human_bytes_size(n: int, text: str) -> None:
    """The next unit is taken above 0.8 of it: 0.8 * 1024 = 819.2."""
    assert human_bytes_size(n) == text


@pytest.mark.parametrize(("text", "n"), [("2G", 2 << 30), ("500M", 500 << 20), ("1.5k", 1536), ("7", 7), (7, 7)])
def test_parse_size(text: str | int, n: int) -> None:
    assert parse_size(text) == n


@pytest.mark.parametrize("text", ["", "G", "1T", "many"])
def test_parse_size_of_something_else(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)
