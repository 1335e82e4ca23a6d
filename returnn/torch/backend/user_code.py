"""Functions by name, and the names that TensorFlow code in configs may use.

Such code runs here on :mod:`.tf_namespace`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import typing
from collections.abc import Callable
from typing import Any

import numpy

from . import tf_helpers
from .tf_namespace import Namespace, tf, tf_v1

HELPERS = {
    name: value
    for name, value in vars(tf_helpers).items()
    if getattr(value, "__module__", None) == tf_helpers.__name__ or name in ("Data", "Dim", "DimensionTag")
}
"""of ``TFUtil``"""


def find_function(name: str) -> Callable[..., Any] | None:
    """
    :param name: of an activation or a binary function, as configs have it
    :return: the first of tf.nn.NAME, tf.NAME, tf.math.NAME
    """
    for namespace in (tf.nn, tf, tf.math):
        function = vars(namespace).get(name)
        if callable(function) and not isinstance(function, type):
            return function
    return None


def eval_globals() -> dict[str, Any]:
    """
    :return: names for expressions in configs
    """
    return {
        **HELPERS,
        "tf": tf,
        "tf_compat": Namespace("tf_compat", {"tf": tf, "v1": tf_v1}),
        "numpy": numpy,
        "os": os,
        "sys": sys,
        "typing": typing,
        "contextlib": contextlib,
    }
