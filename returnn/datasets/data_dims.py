"""Short forms of ``num_outputs``, and frames side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy


def convert_data_dims(data_dims: Any) -> dict[str, Any]:
    """
    :param data_dims: number of classes; or data key -> dim, (dim, ndim), or options
    :return: data key -> (dim, ndim), or options. Where there was only a dim: "data" is dense, all else sparse.
    """
    if not isinstance(data_dims, Mapping):
        return {"classes": (int(data_dims), 1)}
    res: dict[str, Any] = {}
    for key, value in data_dims.items():
        if isinstance(value, (list, tuple)):
            res[key] = tuple(value)
        elif isinstance(value, Mapping):
            res[key] = dict(value)
        else:
            res[key] = (int(value), 2 if key == "data" else 1)
    return res


def sliding_window(data: numpy.ndarray, size: int) -> numpy.ndarray:
    """
    :param data: [time, dim]
    :param size: odd number of frames
    :return: [time, size * dim], for each frame those around it, oldest first, zeros outside
    """
    if size == 1:
        return data
    padded = numpy.pad(data, [(size // 2, size // 2)] + [(0, 0)] * (data.ndim - 1))
    return numpy.concatenate([padded[i : i + len(data)] for i in range(size)], axis=-1)
