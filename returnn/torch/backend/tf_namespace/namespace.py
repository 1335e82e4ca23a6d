"""A module-like object whose names are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean


class UnknownFunction(ConfigError, AttributeError):
    """Code of the user needs a function that is not there."""


class Namespace:
    """Attributes are the given names; others raise :class:`UnknownFunction`."""

    def __init__(self, name: str, content: Mapping[str, Any]):
        """
        :param name: for messages
        :param content: name -> function, type, or further namespace
        """
        self.__name__ = name
        self.__dict__.update(content)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = [key for key in self.__dict__ if not key.startswith("_")]
        raise UnknownFunction(
            "%s.%s is not among the functions of TensorFlow that can be used on PyTorch.%s"
            % (self.__name__, name, did_you_mean(name, known))
        )

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__)

    def __repr__(self) -> str:
        return "<%s on PyTorch>" % self.__name__
