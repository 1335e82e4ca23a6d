"""Losses and errors of the steps of one pass, and what they come to.

A step's value is its sum over frames times the norm factor of the loss (normally 1 / number of frames).
The value of the pass is sum(sums) / sum(1 / norm factors), so each frame counts the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy

_SCORE_PREFIX = "cost:"
_ERROR_PREFIX = "error:"
_NORM_FACTOR_PREFIX = "loss_norm_factor:"


class ScoreAccumulator:
    """Adds up in double precision, whatever the precision of the steps."""

    def __init__(self, *, with_exp_loss: bool = False):
        """
        :param with_exp_loss: for each ``cost:<l>`` also ``cost:<l>:exp``, the exp of its value
        """
        self._with_exp_loss = with_exp_loss
        self._sums: dict[str, float] = {}
        self._inv_norms: dict[str, float] = {}

    def add(self, fetched: Mapping[str, Any]) -> dict[str, Any]:
        """
        :param fetched: of one step, with the keys ``cost:<l>``, ``error:<l>``, ``loss_norm_factor:<l>``
        :return: the same costs and errors, each times its norm factor, in the precision of the step
        """
        step_values: dict[str, Any] = {}
        for key, value in fetched.items():
            if not key.startswith((_SCORE_PREFIX, _ERROR_PREFIX)):
                continue
            norm_factor = fetched[_NORM_FACTOR_PREFIX + key.partition(":")[2]]
            self._sums[key] = self._sums.get(key, 0.0) + float(value)
            self._inv_norms[key] = self._inv_norms.get(key, 0.0) + 1 / float(norm_factor)
            step_values[key] = numpy.float32(value) * numpy.float32(norm_factor)
            if self._with_exp_loss and key.startswith(_SCORE_PREFIX):
                with numpy.errstate(over="ignore"):  # inf is the right answer
                    step_values[key + ":exp"] = numpy.exp(step_values[key])
        return step_values

    @property
    def score(self) -> dict[str, float]:
        """``cost:<l>`` -> value of the pass so far."""
        score = self._values(_SCORE_PREFIX)
        if self._with_exp_loss:
            score.update({key + ":exp": _exp(value) for key, value in list(score.items())})
        return score

    @property
    def error(self) -> dict[str, float]:
        """``error:<l>`` -> value of the pass so far."""
        return self._values(_ERROR_PREFIX)

    def _values(self, prefix: str) -> dict[str, float]:
        return {
            key: _divide(self._sums[key], self._inv_norms[key]) for key in sorted(self._sums) if key.startswith(prefix)
        }


def _divide(a: float, b: float) -> float:
    return a / b if b else math.nan


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def format_score(score: Mapping[str, float]) -> str:
    """
    :param score: as :attr:`ScoreAccumulator.score`
    :return: a single value alone; several by name: ``output 0.5 output:exp 1.6`` gives ``output 0.5 exp 1.6``
    """
    if not score:
        return "None"
    if len(score) == 1:
        return str(float(next(iter(score.values()))))
    return " ".join("%s %s" % (key.split(":", 2)[-1], float(score[key])) for key in sorted(score))


class Stats:
    """Mean, spread and range of a number over the steps of a pass."""

    def __init__(self):
        self._values_sum: Any = 0.0
        self._squares_sum: Any = 0.0
        self.num = 0
        self.min: Any = math.inf
        self.max: Any = -math.inf

    def add(self, value: Any) -> None:
        """
        :param value: a number or an array
        """
        value = numpy.asarray(value, dtype="float64")
        self._values_sum = self._values_sum + value
        self._squares_sum = self._squares_sum + value**2
        self.num += 1
        self.min = numpy.minimum(self.min, value)
        self.max = numpy.maximum(self.max, value)

    @property
    def mean(self) -> Any:
        """Over all that was added."""
        return self._values_sum / self.num

    @property
    def std_dev(self) -> Any:
        """Over all that was added."""
        return numpy.sqrt(numpy.maximum(self._squares_sum / self.num - self.mean**2, 0))
