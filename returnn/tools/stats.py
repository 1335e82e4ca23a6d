"""Mean, standard deviation, smallest and largest values, of data that come piece by piece."""

from __future__ import annotations

from typing import Any

import numpy


class Stats:
    """Over the first axis of all pieces together. Memory: four frames."""

    def __init__(self) -> None:
        self.num = 0
        self.mean: Any = 0.0
        self._sum_sq_diff: Any = 0.0
        self.min: Any = numpy.inf
        self.max: Any = -numpy.inf

    def add(self, values: numpy.ndarray) -> None:
        """
        :param values: [n, ...]
        """
        n = len(values)
        if not n:
            return
        values = values.astype("float64")
        mean = values.mean(axis=0)
        diff = mean - self.mean
        total = self.num + n
        self._sum_sq_diff = (
            self._sum_sq_diff + ((values - mean) ** 2).sum(axis=0) + diff**2 * (self.num * n / total)
        )  # of two parts; plain sums of squares would lose digits
        self.mean = self.mean + diff * (n / total)
        self.num = total
        self.min = numpy.minimum(self.min, values.min(axis=0))
        self.max = numpy.maximum(self.max, values.max(axis=0))

    @property
    def std_dev(self) -> Any:
        """
        :return: of the population
        """
        return numpy.sqrt(self._sum_sq_diff / max(self.num, 1))
