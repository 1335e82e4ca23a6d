"""Arrays as text, for people who watch values go by."""

from __future__ import annotations

from typing import Any

import numpy


def array_text(array: Any, *, summarize: int) -> str:
    """
    :param array: numpy array
    :param summarize: if it has more entries, show so many at each end of each axis
    :return: as numpy prints it; begins on a new line if there is more than one
    """
    text = numpy.array2string(numpy.asarray(array), edgeitems=summarize, threshold=summarize)
    return "\n" + text if "\n" in text else text
