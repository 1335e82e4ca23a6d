"""Vocabularies of characters, and of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.util.label_file import LabelFile

from .vocab_base import Vocabulary


class CharacterTargets(Vocabulary):
    """A label a character, the blank included."""

    def __init__(
        self,
        vocab_file: str | None,
        seq_postfix: Sequence[int | str] | None = None,
        unknown_label: str | int | None = "@",
        labels: Sequence[str] | Callable[[], Sequence[str]] | None = None,
        **kwargs: Any,
    ):
        """
        :param vocab_file: see :class:`Vocabulary`, and so for the rest
        """
        super().__init__(
            vocab_file=vocab_file, seq_postfix=seq_postfix, unknown_label=unknown_label, labels=labels, **kwargs
        )

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: text
        :return: numbers, with those of ``seq_postfix``
        """
        return self.get_seq_indices(list(sentence)) + self.seq_postfix

    def get_seq_labels(self, seq: Sequence[int] | numpy.ndarray) -> str:
        """
        :param seq: [time]
        :return: text
        """
        return "".join(self._texts(seq))


class Utf8ByteTargets(Vocabulary):
    """The 256 bytes of UTF-8 text."""

    def __init__(self, seq_postfix: Sequence[int | str] | None = None, **kwargs: Any):
        """
        :param seq_postfix: see :class:`Vocabulary`, and so for the rest
        """
        super().__init__(
            vocab_file=None, seq_postfix=seq_postfix, **{"unknown_label": None, "labels": _byte_labels, **kwargs}
        )

    def _load_labels(self, vocab_file: str | None, labels: Any) -> LabelFile:
        return super()._load_labels(None, _byte_labels)

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: text
        :return: its bytes, with ``seq_postfix``
        """
        return list(sentence.encode("utf8")) + self.seq_postfix

    def get_seq_labels(self, seq: Sequence[int] | numpy.ndarray) -> str:
        """
        :param seq: [time]; what is no UTF-8 shows as such
        :return: text
        """
        return bytes(numpy.asarray(seq).reshape(-1).tolist()).decode("utf8", errors="replace")


def _byte_labels() -> list[str]:
    return [chr(i) for i in range(256)]
