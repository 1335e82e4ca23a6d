"""Class indices as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy


def are_bytes(labels: Sequence[str]) -> bool:
    """
    :return: whether they are the 256 byte values, in order: UTF-8 text
    """
    return len(labels) == 256 and all(label == chr(i) for i, label in enumerate(labels))


def are_characters(labels: Sequence[str]) -> bool:
    """
    :return: whether texts of them have no blanks between: less than 1000 single characters
    """
    return len(labels) < 1000 and all(len(label) == 1 for label in labels)


def serialize_labels(labels: Sequence[str], indices: numpy.ndarray) -> str:
    """
    :param labels: by class index; see the functions above. Else, they are words
    :param indices: [time]
    """
    indices = numpy.asarray(indices).reshape(-1)
    if are_bytes(labels):
        return bytes(indices.tolist()).decode("utf8", errors="replace")
    sep = "" if are_characters(labels) else " "
    return sep.join(labels[i] for i in indices.tolist())
