"""BLEU of single sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def sentence_bleu(hypothesis: Sequence[int], reference: Sequence[int], *, max_order: int = 4) -> float:
    """
    BLEU (Papineni et al., 2002) of one sentence: geometric mean of the precisions of its n-grams, times
    exp(1 - reference length / length) where it is the shorter one.

    The k-th order that has no match counts as 1 / 2^k of a match (Chen and Cherry, 2014, smoothing 3). Orders that the
    hypothesis is too short for do not count.

    :param hypothesis: labels
    :param reference: labels
    :param max_order: longest n-grams
    :return: in [0, 1]; 0 of nothing
    """
    logs: list[float] = []
    orders_without_match = 0
    for order in range(1, min(max_order, len(hypothesis)) + 1):
        found, wanted = (
            Counter(tuple(seq[i : i + order]) for i in range(len(seq) - order + 1)) for seq in (hypothesis, reference)
        )
        matches = float((found & wanted).total())
        if not matches:
            orders_without_match += 1
            matches = 0.5**orders_without_match
        logs.append(math.log(matches / found.total()))
    if not logs:
        return 0.0
    brevity = min(1.0 - len(reference) / len(hypothesis), 0.0)
    return math.exp(brevity + sum(logs) / len(logs))
