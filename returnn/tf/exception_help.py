"""What was fed when a step failed: the first thing one wants to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

import numpy

from returnn.tf.compat import tf


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


def tf_error_text(exc: tf.errors.OpError) -> str:
    """
    :return: TensorFlow's message and the op, without the traces of where the op was made
    """
    text = exc.message.partition("\n\nOriginal stack trace")[0]
    return text.rpartition("\nNode: ")[2].strip()
