"""Allophone states: a phone in its context, at the border of a word or not, and a state of its model."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

_INITIAL, _FINAL = 1, 2
_CLASSIC_STATE_STEP = 1 << 26


class AllophoneState:
    """Text form: ``b{a+c}@i@f.1``: phone b between a and c, first and last of its word, state 1; ``#``: no context."""

    def __init__(self, id: str | None = None, state: int | None = None):
        """
        :param id: the phone
        :param state: of its model
        """
        self.id = id
        self.state = state
        self.context_history: tuple[str, ...] = ()
        """phones before, the nearest one last"""
        self.context_future: tuple[str, ...] = ()
        """phones behind, the nearest one first"""
        self.boundary = 0
        """1: first of a word; 2: last; 3: both"""

    def format(self) -> str:
        """
        :return: text form
        """
        before = "-".join(self.context_history) or "#"
        behind = "-".join(self.context_future) or "#"
        flags = ("@i" if self.boundary & _INITIAL else "") + ("@f" if self.boundary & _FINAL else "")
        return f"{self.id}{{{before}+{behind}}}{flags}" + ("" if self.state is None else f".{self.state}")

    def __repr__(self) -> str:
        return self.format()

    def _key(self) -> tuple[Any, ...]:
        return self.id, self.context_history, self.context_future, self.boundary, self.state

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, AllophoneState) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def copy(self) -> AllophoneState:
        """
        :return: of its own
        """
        return copy.copy(self)

    def mark_initial(self) -> None:
        """The first of a word."""
        self.boundary |= _INITIAL

    def mark_final(self) -> None:
        """The last of a word."""
        self.boundary |= _FINAL

    def phoneme(self, ctx_offset: int, out_of_context_id: str | None = None) -> str | None:
        """
        :param ctx_offset: 0: the phone itself; -1: the one before; ...
        :param out_of_context_id: where there is no context
        """
        if ctx_offset == 0:
            return self.id
        if ctx_offset > 0:
            return self.context_future[ctx_offset - 1] if ctx_offset <= len(self.context_future) else out_of_context_id
        return self.context_history[ctx_offset] if -ctx_offset <= len(self.context_history) else out_of_context_id

    def set_phoneme(self, ctx_offset: int, phone_id: str) -> None:
        """
        :param ctx_offset: as in :meth:`phoneme`; at most one beyond the context so far
        :param phone_id: the phone
        """
        if ctx_offset == 0:
            self.id = phone_id
            return
        context = list(self.context_future if ctx_offset > 0 else self.context_history[::-1])  # nearest first
        pos = abs(ctx_offset) - 1
        assert pos <= len(context), f"{self}: there is no context up to offset {ctx_offset}"
        context[pos : pos + 1] = [phone_id]
        if ctx_offset > 0:
            self.context_future = tuple(context)
        else:
            self.context_history = tuple(context[::-1])

    def phone_idx(self, ctx_offset: int, phone_idxs: Mapping[str, int]) -> int:
        """
        :param ctx_offset: as in :meth:`phoneme`
        :param phone_idxs: phone -> number
        :return: 0: no phone there; else its number + 1
        """
        phone = self.phoneme(ctx_offset)
        return 0 if phone is None else phone_idxs[phone] + 1

    def index(self, phone_idxs: Mapping[str, int], num_states: int = 3, context_length: int = 1) -> int:
        """
        :param phone_idxs: phone -> number
        :param num_states: of a model
        :param context_length: phones to each side
        :return: number of this state
        """
        base = max(phone_idxs.values()) + 2
        number = 0
        for offset in _offsets(context_length):
            number = number * base + self.phone_idx(offset, phone_idxs)
        assert 0 <= (self.state or 0) < num_states
        return (number * num_states + (self.state or 0)) * 4 + self.boundary

    @classmethod
    def from_index(
        cls, index: int, phone_ids: Mapping[int, str], num_states: int = 3, context_length: int = 1
    ) -> AllophoneState:
        """
        :param index: of :meth:`index`
        :param phone_ids: number -> phone
        :param num_states: of a model
        :param context_length: phones to each side
        """
        base = max(phone_ids) + 2
        res = cls()
        index, res.boundary = divmod(index, 4)
        index, res.state = divmod(index, num_states)
        digits = []
        for _ in _offsets(context_length):
            index, digit = divmod(index, base)
            digits.append(digit)
        for offset, digit in zip(_offsets(context_length), reversed(digits), strict=True):
            if digit:
                res.set_phoneme(offset, phone_ids[digit - 1])
        return res

    @classmethod
    def from_classic_index(
        cls, index: int, allophones: Sequence[AllophoneState], max_states: int = 6
    ) -> AllophoneState:
        """
        :param index: of an alignment: number of the allophone, plus the state times 2**26
        :param allophones: by number
        :param max_states: there is no further one
        """
        state, number = divmod(index, _CLASSIC_STATE_STEP)
        if state >= max_states or number >= len(allophones):
            raise IndexError(f"no allophone state {index}: state {state}, allophone {number} of {len(allophones)}")
        res = allophones[number].copy()
        res.state = state
        return res


def _offsets(context_length: int) -> list[int]:
    """:return: 0, -1, 1, -2, 2, ..."""
    return [0, *(offset for i in range(1, context_length + 1) for offset in (-i, i))]
