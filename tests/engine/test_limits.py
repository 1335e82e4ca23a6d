"""Numbers or dicts of numbers: whole ones, and nothing is cut in silence."""

from __future__ import annotations

import math
from typing import Any

import pytest

from returnn.config import Config
from returnn.engine.limits import number_or_per_key
from returnn.util.errors import ConfigError
from returnn.util.numbers_dict import NumbersDict


@pytest.mark.parametrize(
    ["value", "expected"],
    [
        *[(500, 500), (500.0, 500), ("500", 500), ("1e3", 1000), (-3, -3), (None, 7), ("", 7)],
        *[(math.inf, math.inf), ("inf", math.inf)],
        ({"data": 5.0, "classes": math.inf}, NumbersDict({"data": 5, "classes": math.inf})),
        (NumbersDict({"data": 5}, 3), NumbersDict({"data": 5}, 3)),
    ],
)
def test_good_values(value: Any, expected: Any) -> None:
    """As numbers or text; the default 7 where there is nothing."""
    result = number_or_per_key(Config({"batch_size": value}), "batch_size", 7)
    assert result == expected and type(result) is type(expected)


@pytest.mark.parametrize("value", [500.7, "500.7", math.nan, "many", True, [500], {"data": 1.5}, {"data": "x"}])
def test_bad_values(value: Any) -> None:
    """The message has the option and its value."""
    with pytest.raises(ConfigError, match=r"^batch_size = .*: must be a (whole )?number"):
        number_or_per_key(Config({"batch_size": value}), "batch_size", 1)


@pytest.mark.parametrize("value", [0, -1, {"data": 5, "classes": 0}, -math.inf])
def test_positive(value: Any) -> None:
    """Only where it is asked for."""
    config = Config({"batch_size": value})
    number_or_per_key(config, "batch_size", 1)
    with pytest.raises(ConfigError, match=r"^batch_size = .*: must be greater than 0\.$"):
        number_or_per_key(config, "batch_size", 1, positive=True)
