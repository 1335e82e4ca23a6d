"""Ready-made functions for :class:`~.dataset.PostprocessingDataset`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from returnn.tensor import TensorDict
from returnn.util.errors import ConfigError


class LaplaceOrdering:
    """``map_seq_stream``: orders bins of consecutive sequences by length: up, down, up, ...

    So batches have sequences of similar length, without a jump between bins. Memory: the sequences of a bin.
    """

    preserves_num_seqs = True

    def __init__(self, num_seqs_per_bin: int, length_key: str = "data"):
        """
        :param num_seqs_per_bin: the last bin can be smaller
        :param length_key: data key whose length counts
        """
        if not isinstance(num_seqs_per_bin, int) or num_seqs_per_bin < 1:
            raise ConfigError(f"LaplaceOrdering: num_seqs_per_bin must be an int, at least 1: {num_seqs_per_bin!r}")
        self.num_seqs_per_bin = num_seqs_per_bin
        self.length_key = length_key

    def __call__(self, iterator: Iterator[TensorDict], **kwargs: Any) -> Iterator[TensorDict]:
        """
        :param iterator: sequences
        :return: them in the new order. Values of complete_frac stay where they are, so that they only grow
        """
        descending = False
        while seqs := self._next_bin(iterator):
            fractions = [seq["complete_frac"] for seq in seqs]
            seqs.sort(key=self._length, reverse=False) if not descending else seqs.sort(key=lambda x: -self._length(x))
            for seq, fraction in zip(seqs, fractions, strict=True):
                seq["complete_frac"] = fraction
                yield seq
            descending = not descending

    def _next_bin(self, iterator: Iterator[TensorDict]) -> list[TensorDict]:
        return [seq for _, seq in zip(range(self.num_seqs_per_bin), iterator, strict=False)]

    def _length(self, seq: TensorDict) -> int:
        if self.length_key not in seq:
            raise ConfigError(
                f"LaplaceOrdering: length_key {self.length_key!r} is no data key; there are {sorted(seq.data)}"
            )
        return len(seq[self.length_key].raw_tensor)


class Sequential:
    """``map_seq`` or ``map_seq_stream``: ``Sequential(f, g)(x) = g(f(x))``"""

    def __init__(self, *functions: Callable[..., Any]):
        """
        :param functions: all over single sequences, or all over streams; called with the same keyword arguments
        """
        self.functions = functions

    @property
    def preserves_num_seqs(self) -> bool:
        """:return: whether all the functions do"""
        return all(getattr(func, "preserves_num_seqs", False) for func in self.functions)

    def __call__(self, x: Any, **kwargs: Any) -> Any:
        """
        :param x: a sequence, or an iterator over them
        :param kwargs: for each function
        :return: the result of the last function
        """
        for func in self.functions:
            x = func(x, **kwargs)
        return x
