"""Code of users that was written for TensorFlow 1 runs on the TensorFlow of today.

Hundreds of configs say ``tf.log``, ``tf.to_float`` or ``keep_dims=True``, in functions and in texts to be evaluated. So
the module ``tensorflow`` itself, which they import, gets the names that TensorFlow 2 dropped, from ``tf.compat.v1``,
and the renamed arguments of its functions. Each is noted once in the log, with the modern form.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import tensorflow as tf

from returnn.log import log

_v1 = tf.compat.v1

_MODERN_FORMS = {
    "to_float": "tf.cast(x, tf.float32)",
    "to_double": "tf.cast(x, tf.float64)",
    "to_int32": "tf.cast(x, tf.int32)",
    "to_int64": "tf.cast(x, tf.int64)",
    "Print": "tf.print",
    "div": "tf.math.divide",
    "mod": "tf.math.floormod",
    "py_func": "tf.numpy_function",
    "check_numerics": "tf.debugging.check_numerics",
    "log_softmax": "tf.nn.log_softmax",
}
"""where a name alone does not tell it"""

_MODULES_OF_MODERN_NAMES = ("math", "nn", "random", "linalg", "debugging", "strings", "io", "sparse", "image", "signal")

_REDUCTION = {"keep_dims": "keepdims", "reduction_indices": "axis"}
_RENAMED_ARGUMENTS: dict[str, dict[str, str]] = {
    **{
        "%sreduce_%s" % (module, kind): _REDUCTION
        for module in ("", "math.")
        for kind in ("all", "any", "logsumexp", "max", "mean", "min", "prod", "sum")
    },
    "argmax": {"dimension": "axis"},
    "argmin": {"dimension": "axis"},
    "math.argmax": {"dimension": "axis"},
    "math.argmin": {"dimension": "axis"},
    "math.count_nonzero": {**_REDUCTION, "input_tensor": "input"},
    "cond": {"fn1": "true_fn", "fn2": "false_fn"},
    "convert_to_tensor": {"preferred_dtype": "dtype_hint"},
    "expand_dims": {"dim": "axis"},
    "norm": {"keep_dims": "keepdims"},
    "ones_like": {"tensor": "input"},
    "zeros_like": {"tensor": "input"},
    "reverse_sequence": {"seq_dim": "seq_axis", "batch_dim": "batch_axis"},
    "squeeze": {"squeeze_dims": "axis"},
    "nn.avg_pool": {"value": "input"},
    "nn.max_pool": {"value": "input"},
    "nn.conv1d": {"value": "input"},
    "nn.conv2d": {"filter": "filters"},
    "nn.conv3d": {"filter": "filters"},
    "nn.convolution": {"filter": "filters", "dilation_rate": "dilations"},
    "nn.softmax": {"dim": "axis"},
    "nn.log_softmax": {"dim": "axis"},
    "nn.moments": {"keep_dims": "keepdims"},
    "nn.softmax_cross_entropy_with_logits": {"dim": "axis"},
    "nn.weighted_cross_entropy_with_logits": {"targets": "labels"},
}
"""function below ``tf`` -> name of an argument in TensorFlow 1 -> its name today"""

_noted: set[str] = set()


def install() -> None:
    """Adds the names and arguments to the module ``tensorflow``; what it has itself stays as it is."""
    for path in ("nn", "train", "image", "random", "losses", "summary", ""):
        new, old = (getattr(module, path, None) if path else module for module in (tf, _v1))
        if isinstance(new, ModuleType) and isinstance(old, ModuleType) and "__getattr__" not in vars(new):
            new.__getattr__ = _fallback(path, old)  # type: ignore[method-assign]
    for path, renamed in _RENAMED_ARGUMENTS.items():
        module, name = _split(path)
        setattr(module, name, _with_old_arguments(getattr(module, name), path, renamed))
    tf.nn.dropout = _dropout(tf.nn.dropout)


def _split(path: str) -> tuple[Any, str]:
    module, _, name = path.rpartition(".")
    return (getattr(tf, module) if module else tf), name


def _fallback(path: str, old_module: ModuleType) -> Callable[[str], Any]:
    prefix = "tf.%s." % path if path else "tf."

    def __getattr__(name: str) -> Any:
        if not name.startswith("__") and hasattr(old_module, name):
            if not _is_library(sys._getframe(1).f_code.co_filename):
                _note(prefix + name, "today: %s" % _modern_form(path, name))
            return getattr(old_module, name)
        hint = " (gone with TensorFlow 1)" if name == "contrib" else ""
        raise AttributeError("module 'tensorflow%s' has no attribute %r%s" % (path and "." + path, name, hint))

    return __getattr__


def _is_library(filename: str) -> bool:
    """Libraries look for old names to find out the version, not to use them."""
    return "site-packages" in filename or "dist-packages" in filename


def _modern_form(path: str, name: str) -> str:
    if not path:
        if name in _MODERN_FORMS:
            return _MODERN_FORMS[name]
        if name.startswith("random_") and hasattr(tf.random, name[len("random_") :]):
            return "tf.random." + name[len("random_") :]
        for module in _MODULES_OF_MODERN_NAMES:
            if name in vars(getattr(tf, module)):
                return "tf.%s.%s" % (module, name)
    return "tf.compat.v1." + (path + "." if path else "") + name


def _with_old_arguments(function: Callable[..., Any], path: str, renamed: dict[str, str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = [old for old in renamed if old in kwargs]
        if found:
            text = "tf.%s(%s)" % (path, ", ".join(old + "=.." for old in found))
            _note(text, "today: %s" % ", ".join(renamed[old] + "=.." for old in found))
            kwargs.update({renamed[old]: kwargs.pop(old) for old in found})
        return function(*args, **kwargs)

    return call


def _dropout(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def dropout(x: Any, *args: Any, **kwargs: Any) -> Any:
        if "keep_prob" in kwargs:
            _note("tf.nn.dropout(keep_prob=..)", "today: rate=1 - keep_prob")
            kwargs["rate"] = 1 - kwargs.pop("keep_prob")
        elif args and "tf.nn.dropout" not in _noted and not _is_library(sys._getframe(1).f_code.co_filename):
            _noted.add("tf.nn.dropout")
            log.print_warning(
                "tf.nn.dropout(x, %s): the number is the probability to drop (rate) today; in TensorFlow 1 it was that"
                " to keep (keep_prob). It is taken as rate. Write rate=.. or keep_prob=.. to be clear." % (args[0],)
            )
        return function(x, *args, **kwargs)

    return dropout


def _note(what: str, text: str) -> None:
    if what not in _noted:
        _noted.add(what)
        print("Note: %s is of TensorFlow 1; %s" % (what, text), file=log.v3)
