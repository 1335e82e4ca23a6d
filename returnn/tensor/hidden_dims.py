"""Dims that layers do not see.

A layer within a loop over frames is written for one frame of one hypothesis. It may be computed for all frames at
once, or for a beam of hypotheses: its inputs then have the dim of the frames, or that of the beam, besides those it was
written for. Operations of :mod:`returnn.frontend` take such a dim as one more independent axis. Axis descriptions do
not see it, so they mean what they mean in the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dim import Dim

_hidden: list[tuple[Dim, ...]] = []


@contextmanager
def hidden_dims_ctx(dims: Sequence[Dim]) -> Iterator[None]:
    """
    :param dims: not seen inside, besides those that are hidden already
    """
    _hidden.append((*hidden_dims(), *dims))
    try:
        yield
    finally:
        _hidden.pop()


@contextmanager
def all_dims_visible_ctx() -> Iterator[None]:
    """Inside, no dim is hidden: of a network around the loop."""
    _hidden.append(())
    try:
        yield
    finally:
        _hidden.pop()


def hidden_dims() -> tuple[Dim, ...]:
    """
    :return: those of :func:`hidden_dims_ctx`, from outside in
    """
    return _hidden[-1] if _hidden else ()


def is_hidden(dim: Dim) -> bool:
    """
    :return: whether descriptions do not see it: a beam always, others within :func:`hidden_dims_ctx`
    """
    return dim.is_beam_dim or (bool(_hidden) and dim in _hidden[-1])


def visible_dims(dims: Sequence[Dim]) -> list[Dim]:
    """
    :return: those that are not hidden
    """
    return [d for d in dims if not is_hidden(d)]
