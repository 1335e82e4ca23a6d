"""Class indices as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy


def serialize_labels(labels: Sequence[str], indices: numpy.ndarray) -> str:
    """
    :param labels: by class index. 256 of them, which are the byte values in order: UTF-8 text. Less than 1000 single
        characters: no blanks between. Else words.
    :param indices: [time]
    """
    indices = numpy.asarray(indices).reshape(-1)
    if len(labels) == 256 and all(label == chr(i) for i, label in enumerate(labels)):
        return bytes(indices.tolist()).decode("utf8", errors="replace")
    sep = "" if len(labels) < 1000 and all(len(label) == 1 for label in labels) else " "
    return sep.join(labels[i] for i in indices.tolist())
