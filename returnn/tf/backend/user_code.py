"""The names that TensorFlow code in configs may use, and functions by name.

Many configs were written for TensorFlow 1. Their ``tf`` is the module of today, with what TensorFlow 2 dropped taken
from ``tf.compat.v1``.
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


class TFNamespace:
    """``tf`` with a fallback to ``tf.compat.v1``. Reductions are those of v1, which know ``keep_dims`` too."""

    def __getattr__(self, name: str) -> Any:
        for module in (v1,) if name.startswith("reduce_") else (tf, v1, tf.math):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError("neither tensorflow nor tensorflow.compat.v1 has %r" % name)


tf_namespace = TFNamespace()


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
        "tf": tf_namespace,
        "tf_compat": sys.modules["returnn.tf.compat"],
        "numpy": numpy,
        "os": os,
        "sys": sys,
        "typing": typing,
        "contextlib": contextlib,
    }
