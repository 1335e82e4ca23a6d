"""BLEU of single sentences, by hand."""

from __future__ import annotations

import math

import pytest

from returnn.util.bleu import sentence_bleu


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 1, 1], [1, 1, 1], 1.0),  # too short for order 4, which does not count
        ([5], [5], 1.0),
        # orders 1 to 4: 6/6, 4/5, 2/4, 1/3; 6 labels of 7: brevity exp(1 - 7/6)
        ([1, 2, 3, 4, 1, 2], [1, 2, 3, 4, 0, 1, 2], (4 / 5 * 2 / 4 * 1 / 3) ** 0.25 * math.exp(1 - 7 / 6)),
        # 3 labels of 4 with 1 match: 1/3; no pairs: 1/2 of one among 2; no triples: 1/4 of one; brevity exp(1 - 4/3)
        ([1, 5, 6], [1, 2, 3, 4], (1 / 3 * 1 / 4 * 1 / 4) ** (1 / 3) * math.exp(1 - 4 / 3)),
        # a label counts as often as the reference has it: 1/2; no pair: 1/2
        ([1, 1], [1, 2], (1 / 2 * 1 / 2) ** 0.5),
        ([], [1, 2], 0.0),
        ([], [], 0.0),
    ],
)
def test_sentence_bleu(hypothesis: list[int], reference: list[int], expected: float) -> None:
    assert sentence_bleu(hypothesis, reference) == pytest.approx(expected)
