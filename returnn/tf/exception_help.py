"""What was fed when a step failed: the first thing one wants to know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy

from returnn.tf.compat import tf
from returnn.util.errors import UserError

_lengths_error = re.compile(
    r"assertion failed: \[(?P<what>[^\]]*: the lengths of [^\]]* are not those of [^\]]*)\]"
    r".* \[x \(.*?\) = \] (?P<x>\[[^\]]*\]) \[y \(.*?\) = \] (?P<y>\[[^\]]*\])",
)


def print_step_info(meta: Mapping[str, Any] | None, feed_dict: Mapping[Any, Any] | None, *, file: TextIO) -> None:
    """
    :param meta: of the step, as the data provider gives it
    :param feed_dict: of the step
    :param file: to print to
    """
    print("Step meta information:", file=file)
    print(" ", dict(meta or {}), file=file)
    print("Feed dict:", file=file)
    for tensor, value in sorted((feed_dict or {}).items(), key=lambda item: item[0].name):
        print("  %s: %s" % (tensor.name, describe_value(value)), file=file)


def describe_value(value: Any) -> str:
    """
    :return: shape, dtype and a glance at the values
    """
    if isinstance(value, bool | str):
        return repr(value)
    array = numpy.asarray(value)
    text = "shape %r, dtype %s" % (array.shape, array.dtype)
    if array.size == 0:
        return text + ", EMPTY"
    if array.dtype.kind not in "iuf":
        return text
    values = array.astype("float64")
    text += ", min/max %s/%s, mean/stddev %s/%s" % (array.min(), array.max(), values.mean(), values.std())
    return text + (", %s" % numpy.array2string(array, threshold=20) if array.ndim <= 1 else "")


def short_repr(exc: BaseException, *, max_len: int = 100) -> str:
    """
    :return: ``repr``; of a mistake of the user only the start, as the whole text is what the program ends with
    """
    if not isinstance(exc, UserError):
        return repr(exc)
    first_line, _, more = str(exc).partition("\n")
    if len(first_line) > max_len or more:
        first_line = first_line[:max_len] + "..."
    return "%s(%r)" % (type(exc).__name__, first_line)


def error_of_lengths(exc: tf.errors.InvalidArgumentError, seq_tags: Sequence[str]) -> UserError | None:
    """
    :param exc: of a step
    :param seq_tags: of its sequences
    :return: if the network found lengths that should be the same but are not: what they are. Else None
    """
    found = _lengths_error.search(exc.message)
    if found is None:
        return None
    lines = [f"{found['what'][:1].upper()}{found['what'][1:]}.", f"Sequences: {', '.join(seq_tags)}"]
    lines += [f"Lengths: {found['x']}", f"of the output: {found['y']}"]
    lines.append("Correct the data, or the layers that change the length of the output.")
    return UserError("\n".join(lines))


def tf_error_text(exc: tf.errors.OpError) -> str:
    """
    :return: TensorFlow's message and the op, without the traces of where the op was made
    """
    text = exc.message.partition("\n\nOriginal stack trace")[0]
    return text.rpartition("\nNode: ")[2].strip()
