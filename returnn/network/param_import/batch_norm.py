"""Batch normalisation has three versions of names and shapes; see :mod:`returnn.layers.batch_norm`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy

_wanted = re.compile(r"(?P<scope>(?:.*/)?batch_norm/)(?:[^/]*_)?(?P<kind>mean|variance|beta|gamma)")


def batch_norm_param(
    name: str, shape: tuple[int, ...], values: Mapping[str, numpy.ndarray]
) -> tuple[numpy.ndarray, tuple[str, ...]] | None:
    """
    :param name: of the model, for instance "enc/batch_norm/v2_mean"
    :param shape: that it needs
    :param values: of the file
    :return: value, and the name in the file; None: there is none, or there are several
    """
    match = _wanted.fullmatch(name)
    if not match:
        return None
    found = []
    for other in values:
        other_match = _wanted.fullmatch(other)
        if other_match and other_match.groups() == match.groups():
            found.append(other)
    if len(found) != 1 or values[found[0]].size != numpy.prod(shape, dtype=int):
        return None
    return values[found[0]].reshape(shape), (found[0],)
