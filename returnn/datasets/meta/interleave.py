"""Which of several datasets gives the next sequence.

Contract: sizes, known or estimated, in; numbers of datasets out, one for each sequence. What is drawn by chance comes
from ``numpy.random.RandomState(seed)``. The orders of known sizes are arrays; the others are generators, which ask
whether a dataset has a further sequence only when they come to it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

import numpy


def shuffled_datasets(sizes: Sequence[int], seed: int) -> numpy.ndarray:
    """
    :param sizes: sequences of each dataset
    :return: each number as often as there are sequences
    """
    which = [number for number, size in enumerate(sizes) for _ in range(size)]
    random.Random(seed).shuffle(which)
    return numpy.array(which, dtype="int32")


def even_interleave(sizes: Sequence[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    :param sizes: sequences of each dataset
    :return: numbers of datasets, such that all of them advance alike; which part of its dataset is used then
    """
    which = numpy.repeat(numpy.arange(len(sizes), dtype="int32"), sizes)
    fractions = numpy.concatenate([numpy.arange(1, n + 1) / max(n, 1) for n in sizes])
    order = numpy.lexsort((which, fractions))
    return which[order], fractions[order]


def gumbel_interleave(sizes: Sequence[int], scale: float | None, seed: int) -> Iterator[int]:
    """
    :param sizes: sequences of each dataset
    :param scale: of the noise, 1: the next dataset is drawn with the probability of its number of remaining sequences.
        None: it becomes less with the epoch
    """
    rng = numpy.random.RandomState(seed)
    total = numpy.array(sizes, dtype="float64")
    used = numpy.zeros_like(total)
    for _ in range(int(total.sum())):
        (rest,) = numpy.nonzero(used < total)
        noise = rng.gumbel(size=len(rest))
        factor = scale if scale is not None else 1.0 - ((used[rest] + 1) / total[rest]).max()
        scores = numpy.log(total[rest] - used[rest]) + factor * noise
        number = int(rest[scores.argmax()])
        used[number] += 1
        yield number


class Streams:
    """Sequences of datasets of unknown size that were not used yet."""

    def __init__(
        self,
        number: int,
        has_seq: Callable[[int, int], bool],
        estimated_size: Callable[[int], float | None],
        complete_frac: Callable[[int, int], float],
    ):
        """
        :param number: of datasets
        :param has_seq: (dataset, sequence): whether it is there
        :param estimated_size: dataset -> number of its sequences, None if unknown
        :param complete_frac: (dataset, sequence): which part of the dataset is used with that
        """
        self.used = [0] * number
        self._rest = list(range(number))
        self._has_seq = has_seq
        self._estimated_size = estimated_size
        self._complete_frac = complete_frac

    def _take(self, number: int) -> bool:
        if self._has_seq(number, self.used[number]):
            self.used[number] += 1
            return True
        self._rest.remove(number)
        return False

    def _remaining(self, number: int) -> float:
        size = self._estimated_size(number)
        return 1.0 if size is None else max(size - self.used[number], 1.0)

    def in_turn(self, *, reverse: bool = False) -> Iterator[int]:
        """
        :return: one behind the other
        """
        for number in sorted(self._rest, reverse=reverse):
            while self._take(number):
                yield number

    def by_chance(self, seed: int) -> Iterator[int]:
        """
        :return: drawn by the numbers of sequences that remain; those without an estimate count as one
        """
        rng = numpy.random.RandomState(seed)
        while self._rest:
            weights = numpy.array([self._remaining(number) for number in self._rest])
            number = self._rest[int(rng.choice(len(weights), p=weights / weights.sum()))]
            if self._take(number):
                yield number

    def evenly(self) -> Iterator[int]:
        """
        :return: the one of which the smallest part is used
        """
        while self._rest:
            number = min(self._rest, key=lambda i: (self._complete_frac(i, self.used[i]), i))
            if self._take(number):
                yield number

    def evenly_by_chance(self, scale: float | None, seed: int) -> Iterator[int]:
        """
        :return: as :func:`gumbel_interleave`, with estimates
        """
        rng = numpy.random.RandomState(seed)
        while self._rest:
            noise = rng.gumbel(size=len(self._rest))
            factor = scale
            if factor is None:
                factor = 1.0 - max(self._complete_frac(i, self.used[i]) for i in self._rest)
            scores = [math.log(self._remaining(i)) + factor * x for i, x in zip(self._rest, noise, strict=True)]
            number = self._rest[int(numpy.argmax(scores))]
            if self._take(number):
                yield number

    def fraction(self) -> float:
        """
        :return: which part of all is used
        """
        sizes = [self._estimated_size(i) for i in range(len(self.used))]
        weights = [1.0 if None in sizes else float(n or 0) for n in sizes]
        parts = [
            (1.0 if i not in self._rest else self._complete_frac(i, n - 1)) if n else float(i not in self._rest)
            for i, n in enumerate(self.used)
        ]
        return sum(w * p for w, p in zip(weights, parts, strict=True)) / max(sum(weights), 1e-10)
