"""Texts as arrays."""

from __future__ import annotations

import numpy


def str_to_numpy_array(s: str) -> numpy.ndarray:
    """
    :param s: for example a transcription
    :return: [], fixed-width string dtype
    """
    return numpy.array(s)
