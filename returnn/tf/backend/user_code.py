"""The names that TensorFlow code in configs may use, and functions by name.

Names of TensorFlow 1 among them are in :mod:`returnn.tf.tf1_names`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import typing
from collections.abc import Callable
from typing import Any

import numpy

from returnn.tf.compat import tf, v1
from returnn.tf.util import basic as helpers


def find_function(name: str) -> Callable[..., Any] | None:
    """
    :param name: of an activation or a binary function, as configs have it
    :return: the first of tf.nn.NAME, tf.NAME, tf.math.NAME, tf.compat.v1.NAME
    """
    for module in (tf.nn, tf, tf.math, v1):
        function = getattr(module, name, None)
        if callable(function):
            return function
    return None


def eval_globals() -> dict[str, Any]:
    """
    :return: names for expressions in configs
    """
    return {
        **{name: getattr(helpers, name) for name in helpers.__all__},
        "tf": tf,
        "tf_compat": sys.modules["returnn.tf.compat"],
        "numpy": numpy,
        "os": os,
        "sys": sys,
        "typing": typing,
        "contextlib": contextlib,
    }
