"""Registries of things that are imported when they are needed: names of the form ``"module:attribute"``."""

from __future__ import annotations

import importlib
from typing import Any


def import_name(name: str) -> Any:
    """
    :param name: ``"package.module:attribute"``
    :return: the attribute
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
