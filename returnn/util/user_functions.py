"""Calls of functions that a config gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .errors import ConfigError


def call_with_spare_kwarg(func: Callable[..., Any], *, what: str, **kwargs: Any) -> Any:
    """Calls ``func(**kwargs)``, with one more keyword argument of a random name (its value is None).

    So a function without ``**kwargs`` fails today, and not when this framework starts to pass more to it.

    :param what: names the function in the message, for example ``dataset "train": the function given as chunking``
    :raises ConfigError: it does not accept further keyword arguments
    """
    spare = "__accept_further_kwargs_" + os.urandom(4).hex()
    try:
        return func(**kwargs, **{spare: None})
    except TypeError as exc:
        if spare not in str(exc):
            raise
        args = ", ".join([*kwargs, "**kwargs"])
        raise ConfigError(f"{what} must accept further keyword arguments: def f({args})") from exc
