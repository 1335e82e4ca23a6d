"""More generated tasks: copying with a delay, XML, number bases, plain copying."""

from __future__ import annotations

from typing import Any

import numpy

from returnn.util.errors import ConfigError

from ..seq import DatasetSeq
from .base import GeneratingDataset


class _CharTaskDataset(GeneratingDataset):
    """Input and target characters, both over ``_input_classes``.

    "data": [T, number of characters] float32, one-hot; "classes": [T] int64.
    """

    _getnewargs_exclude_attrs = {"input_dim", "output_dim"}

    def __init__(self, **kwargs: Any):
        num_classes = len(self._input_classes or "")
        super().__init__(input_dim=num_classes, output_dim=num_classes, **kwargs)

    def _make_seq(self, seq_idx: int, text: str, output: str) -> DatasetSeq:
        classes = self._input_classes
        assert classes is not None and len(text) == len(output)
        one_hot = numpy.eye(len(classes), dtype="float32")[[classes.index(c) for c in text]]
        return DatasetSeq(seq_idx, one_hot, targets=numpy.array([classes.index(c) for c in output], dtype="int64"))


class TaskEpisodicCopyDataset(_CharTaskDataset):
    """Remember some digits, wait over 1 to 99 blanks, repeat them when dots start.

    "data": [T, 10] float32, one-hot over ``" .01234567"``; "classes": [T] int64, over the same.
    """

    _input_classes = _output_classes = " .01234567"

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        num_digits = self.random.randint(1, 10)
        digits = "".join(self.random.choice(list("01234567")) for _ in range(num_digits))
        num_blanks = self.random.randint(1, 100)
        text = digits + " " * num_blanks + "." * (num_digits + 2)
        output = " " * (num_digits + num_blanks + 1) + digits + "."
        return self._make_seq(seq_idx, text, output)


class TaskXmlModelingDataset(_CharTaskDataset):
    """Predict the next character of nested XML tags, where it can be known.

    "data": [T, 12] float32, one-hot over ``" <>/abcdefgh"``; "classes": [T] int64, over the same, blank: not known.
    """

    _input_classes = _output_classes = " <>/abcdefgh"

    def __init__(self, limit_stack_depth: int = 4, **kwargs: Any):
        """
        :param limit_stack_depth: how deep tags are nested at most
        """
        super().__init__(**kwargs)
        self.limit_stack_depth = limit_stack_depth

    def _generate_text(self) -> str:
        text = " "
        stack: list[str] = []
        while True:
            if not stack or (len(stack) < self.limit_stack_depth and self.random.rand() > 0.6):
                num_letters = self.random.randint(1, 10)
                tag = "".join(self.random.choice(list("abcdefgh")) for _ in range(num_letters))
                stack.append(tag)
                text += f"<{tag}>"
            else:
                text += f"</{stack.pop()}>"
            if not stack and self.random.rand() > 0.2:
                return text

    @staticmethod
    def _predictable(text: str) -> str:
        """:return: for each character the one behind it, or a blank where that cannot be known"""
        output = ""
        stack: list[str] = []
        tag = rest = ""
        closing = False
        for c in text:
            if c in " >":
                if c == ">" and not closing:
                    stack.append(tag)
                closing, tag = False, ""
                output += "<"
            elif c == "<":
                output += " "
            elif c == "/":
                closing, rest = True, stack.pop() + ">"
                output += rest[0]
            elif closing:
                rest = rest[1:]
                output += rest[0]
            else:
                tag += c
                output += " "
        return output

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        text = self._generate_text()
        return self._make_seq(seq_idx, text, self._predictable(text))


class TaskNumberBaseConvertDataset(GeneratingDataset):
    """A number in one base as input, in another as target.

    "data": [number of digits] int64 over ``input_base`` digits; "classes": int64 over ``output_base`` digits, without
    leading zeros.
    """

    _getnewargs_exclude_attrs = {"input_dim", "output_dim"}

    def __init__(
        self,
        input_base: int = 8,
        output_base: int = 2,
        min_input_seq_len: int = 1,
        max_input_seq_len: int = 8,
        **kwargs: Any,
    ):
        """
        :param input_base: 2 to 10
        :param output_base: 2 to 10
        :param min_input_seq_len: number of digits
        :param max_input_seq_len: number of digits, inclusive
        """
        super().__init__(
            input_dim=input_base, output_dim={"data": (input_base, 1), "classes": (output_base, 1)}, **kwargs
        )
        for base in (input_base, output_base):
            if not 2 <= base <= 10:
                raise ConfigError(f"{self.describe()}: a base must be 2 to 10, but is {base}")
        self.input_base = input_base
        self.output_base = output_base
        self.min_input_seq_len = min_input_seq_len
        self.max_input_seq_len = max_input_seq_len
        self._input_classes = [str(i) for i in range(input_base)]
        self._output_classes = [str(i) for i in range(output_base)]
        self.labels = {"data": self._input_classes, "classes": self._output_classes}

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        num_digits = self.random.randint(self.min_input_seq_len, self.max_input_seq_len + 1)
        digits = [int(self.random.randint(0, self.input_base)) for _ in range(num_digits)]
        number = 0
        for digit in digits:
            number = number * self.input_base + digit
        output = [number % self.output_base]
        while number >= self.output_base:
            number //= self.output_base
            output.insert(0, number % self.output_base)
        return DatasetSeq(seq_idx, numpy.array(digits, "int64"), targets=numpy.array(output, "int64"))


class CopyTaskDataset(GeneratingDataset):
    """Random symbols, as input and as target. "data", "classes": [T] int8 (uint8 for more than 128 symbols)."""

    _getnewargs_exclude_attrs = {"input_dim", "output_dim"}

    def __init__(
        self,
        nsymbols: int,
        minlen: int = 0,
        maxlen: int = 0,
        minlen_epoch_factor: float = 0,
        maxlen_epoch_factor: float = 0,
        **kwargs: Any,
    ):
        """
        :param nsymbols: up to 256
        :param minlen: smallest length
        :param maxlen: largest length, inclusive
        :param minlen_epoch_factor: the smallest length grows by this with each epoch
        :param maxlen_epoch_factor: the largest length grows by this with each epoch
        """
        super().__init__(input_dim=nsymbols, output_dim={"data": (nsymbols, 1), "classes": (nsymbols, 1)}, **kwargs)
        if not 0 < nsymbols <= 256:
            raise ConfigError(f"{self.describe()}: nsymbols must be 1 to 256, but is {nsymbols}")
        self.nsymbols = nsymbols
        self.minlen, self.maxlen = minlen, maxlen
        self.minlen_epoch_factor, self.maxlen_epoch_factor = minlen_epoch_factor, maxlen_epoch_factor

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        """
        :param seq_idx: corpus seq idx
        """
        epoch = self.epoch or 1
        low = int(self.minlen + self.minlen_epoch_factor * epoch)
        high = int(self.maxlen + self.maxlen_epoch_factor * epoch)
        if not 0 <= low <= high:
            raise ConfigError(f"{self.describe()}: lengths of epoch {epoch} would be {low} to {high}")
        seq_len = self.random.randint(low, high + 1)
        symbols = [self.random.randint(0, self.nsymbols) for _ in range(seq_len)]
        values = numpy.array(symbols, dtype="int8" if self.nsymbols <= 128 else "uint8")
        return DatasetSeq(seq_idx, values, targets=values.copy())
