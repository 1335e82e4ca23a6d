"""The 12AX task: react to X or Y, depending on two things seen before. A standard test of memory in recurrent nets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..seq import DatasetSeq
from .base import GeneratingDataset


class Task12AXDataset(GeneratingDataset):
    """ "data": [T, 9] float32, one-hot over ``123ABCXYZ``; "classes": [T] int32 over ``LR``. T is 10 to 99.

    The answer is "R" for an X which completes 1-A-X, and for a Y which completes 2-B-Y, else "L".
    What counts is the last 1 or 2, and the last A or B since the last X or Y.
    """

    _input_classes = "123ABCXYZ"
    _output_classes = "LR"
    _getnewargs_exclude_attrs = {"input_dim", "output_dim"}

    def __init__(self, **kwargs: Any):
        super().__init__(input_dim=len(self._input_classes), output_dim=len(self._output_classes), **kwargs)

    def get_random_seq_len(self) -> int:
        """
        :return: length of a sequence
        """
        return self.random.randint(10, 100)

    def generate_input_seq(self, seq_len: int) -> list[int]:
        """
        :return: indices of ``_input_classes``, of this length
        """
        symbols = list(self._input_classes)
        seq = self.random.choice(["", "1", "2"])
        while len(seq) < seq_len:
            if self.random.uniform() < 0.5:
                seq += self.random.choice(["1", "2"])
            if self.random.uniform() < 0.9:
                seq += self.random.choice(["AX", "BY"])
            while self.random.uniform() < 0.5:
                seq += self.random.choice(symbols)
        return [self._input_classes.index(c) for c in seq[:seq_len]]

    def make_output_seq(self, input_seq: Sequence[int]) -> list[int]:
        """
        :param input_seq: indices of ``_input_classes``
        :return: indices of ``_output_classes``, of the same length
        """
        digit = letter = ""
        output = ""
        for i in input_seq:
            c = self._input_classes[i]
            output += "R" if digit + letter + c in ("1AX", "2BY") else "L"
            if c in "12":
                digit = c
            elif c in "AB":
                letter = c
            elif c in "XY":
                letter = ""
        return [self._output_classes.index(c) for c in output]

    def estimate_output_class_priors(self, num_trials: int, seq_len: int = 10) -> list[float]:
        """
        :param num_trials: number of random sequences
        :param seq_len: of each
        :return: relative frequency of each output class
        """
        count = numpy.zeros(len(self._output_classes))
        for _ in range(num_trials):
            output = self.make_output_seq(self.generate_input_seq(seq_len))
            count += numpy.bincount(output, minlength=len(count))
        return [float(x) for x in count / (num_trials * seq_len)]

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        input_seq = self.generate_input_seq(self.get_random_seq_len())
        return DatasetSeq(
            seq_idx,
            features=numpy.eye(len(self._input_classes), dtype="float32")[input_seq],
            targets=numpy.array(self.make_output_seq(input_seq), dtype="int32"),
        )
