"""What happens to a parameter whose old value has another shape: the copy modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

COPY_MODES = ("reset", "ifpossible", "subset")

AxesSplit = Sequence[Sequence[int]]
"""For each axis the sizes of the parts that it is joined of: the gates of an LSTM, the inputs of a layer."""


def check_copy_mode(mode: str | None) -> None:
    """
    :raises ConfigError: unknown
    """
    if mode not in (None, *COPY_MODES):
        raise ConfigError(
            "unknown copy mode %r.%s Modes: None, %s"
            % (mode, did_you_mean(str(mode), COPY_MODES), ", ".join(COPY_MODES))
        )


def copy_param(
    old: numpy.ndarray,
    new: numpy.ndarray,
    *,
    mode: str | None,
    name: str,
    old_split: AxesSplit | None = None,
    new_split: AxesSplit | None = None,
) -> numpy.ndarray:
    """
    :param old: value to copy
    :param new: value that the parameter has: what stays where nothing is copied
    :param mode: None: the shapes must be equal; reset: no copy; ifpossible: copy if they are; subset: copy the corner
        that both have, part by part where the parts are known
    :param name: for the message
    :param old_split: parts of the axes of ``old``
    :param new_split: parts of the axes of ``new``, as many
    :return: in the shape of ``new``
    :raises ConfigError: unknown mode, or other shapes with mode None
    """
    check_copy_mode(mode)
    if mode == "reset":
        return new
    if old.shape == new.shape:
        return old
    if mode == "ifpossible" or (mode == "subset" and old.ndim != new.ndim):
        return new
    if mode is None:
        raise ConfigError("parameter %r has the shape %s, but its new value %s" % (name, new.shape, old.shape))
    result = new.copy()
    if not _same_parts(old_split, new_split):
        old_split, new_split = [[n] for n in old.shape], [[n] for n in new.shape]
    assert old_split is not None and new_split is not None
    index_pairs = [list(_common_parts(a, b)) for a, b in zip(old_split, new_split, strict=True)]
    for choice in numpy.ndindex(*[len(pairs) for pairs in index_pairs]):
        pairs = [index_pairs[axis][i] for axis, i in enumerate(choice)]
        result[tuple(there for _, there in pairs)] = old[tuple(here for here, _ in pairs)]
    return result


def _same_parts(a: AxesSplit | None, b: AxesSplit | None) -> bool:
    return a is not None and b is not None and [len(parts) for parts in a] == [len(parts) for parts in b]


def _common_parts(old: Sequence[int], new: Sequence[int]) -> list[tuple[slice, slice]]:
    """of each part the beginning that both have: (place in old, place in new)"""
    pairs, old_start, new_start = [], 0, 0
    for old_size, new_size in zip(old, new, strict=True):
        size = min(old_size, new_size)
        pairs.append((slice(old_start, old_start + size), slice(new_start, new_start + size)))
        old_start, new_start = old_start + old_size, new_start + new_size
    return pairs
