"""Options that are one number, or a number for each data key: ``batch_size``, ``max_seq_length``, ..."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from returnn.config import Config
from returnn.util.errors import ConfigError
from returnn.util.numbers_dict import Number, NumbersDict


def number_or_per_key(config: Config, key: str, default: Any, *, positive: bool = False) -> Number | NumbersDict | Any:
    """
    :param config: has the option, or not
    :param key: name of the option
    :param default: if it is not set, or None
    :param positive: 0 and less are errors
    :return: an int, or inf, or a NumbersDict of these
    :raises ConfigError: anything else
    """
    value = config.opt_typed_value(key)
    if value is None or value == "":
        return default
    if isinstance(value, NumbersDict):
        numbers = {data_key: _checked(key, n, value, positive=positive) for data_key, n in value.items()}
        rest = value.value
        return NumbersDict(numbers, None if rest is None else _checked(key, rest, value, positive=positive))
    if isinstance(value, Mapping):
        return NumbersDict({data_key: _checked(key, n, value, positive=positive) for data_key, n in value.items()})
    return _checked(key, value, value, positive=positive)


def _checked(key: str, number: Any, value: Any, *, positive: bool) -> Number:
    """
    :param number: to check, maybe as text
    :param value: of the option, for messages
    """
    try:
        if isinstance(number, bool) or not isinstance(number, str) and not hasattr(number, "__float__"):
            raise ValueError
        as_float = float(number)
    except ValueError:
        raise ConfigError(f"{key} = {value!r}: must be a number, or a dict of numbers by data key.") from None
    if not math.isinf(as_float) and not as_float.is_integer():  # nan is not either
        raise ConfigError(f"{key} = {value!r}: must be a whole number (or inf: no limit).")
    if positive and as_float <= 0:
        raise ConfigError(f"{key} = {value!r}: must be greater than 0.")
    return as_float if math.isinf(as_float) else int(as_float)
