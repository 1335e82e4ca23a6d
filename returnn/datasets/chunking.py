"""Cutting sequences into chunks of frames, with several data keys in step; and context around them.

Contract: lengths per key and the options in; pairs (start, end) per key out, ends exclusive.
Law: with step = size and no smallest size, the chunks of a key cover each of its frames once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from returnn.util.errors import ConfigError, UserError
from returnn.util.numbers_dict import NumbersDict

Frames = dict[str, int]
"""Data key -> number of frames, or frame index."""


def parse_chunking(chunking: Any) -> tuple[NumbersDict, NumbersDict, Callable[..., Any] | None]:
    """
    :param chunking: None, 0, "0": off. Size, or "size:step", or (size, step); size and step are int, or dict per key.
        Step None or 0: the size. Or a function that chunks.
    :return: size (all 0 if off), step, function
    """
    if callable(chunking):
        return NumbersDict(0), NumbersDict(0), chunking
    try:
        size, step = _split_chunking(chunking)
        size, step = _to_numbers(size), _to_numbers(step)
    except (TypeError, ValueError) as exc:
        raise _invalid_chunking(chunking, str(exc)) from exc
    if any(n < 0 for n in size.values() + step.values()):
        raise _invalid_chunking(chunking, "sizes and steps must not be negative")
    if not step:
        if step.dict and size:
            raise _invalid_chunking(chunking, "the step of some key must be positive")
        step = size.copy()
    if size.dict.keys() != step.dict.keys():
        raise _invalid_chunking(
            chunking, f"sizes are for the keys {sorted(size.dict)}, but steps for {sorted(step.dict)}"
        )
    return size, step, None


def _split_chunking(chunking: Any) -> tuple[Any, Any]:
    if isinstance(chunking, str):
        size, _, step = chunking.partition(":")
        return size, step or None
    if isinstance(chunking, (tuple, list)):
        if len(chunking) != 2:
            raise ValueError(f"expected two entries, got {len(chunking)}")
        return chunking[0], chunking[1]
    return chunking, None


def _to_numbers(value: Any) -> NumbersDict:
    if value is None:
        return NumbersDict(0)
    if isinstance(value, NumbersDict):
        return value.copy()
    if isinstance(value, Mapping):
        return NumbersDict({key: int(n or 0) for key, n in value.items()})
    return NumbersDict(int(value))


def _invalid_chunking(chunking: Any, why: str) -> UserError:
    return UserError(
        f"invalid chunking {chunking!r}: {why}."
        ' Valid are for example 50, "50:25", (50, 25), {"data": 50}, ({"data": 50}, {"data": 25}), a function, 0 (off).'
    )


def parse_context_window(context_window: Any) -> tuple[NumbersDict, NumbersDict]:
    """
    :param context_window: None: no context. Frames in total: int (key "data") or dict per key. Or a pair of dicts:
        frames to the left, frames to the right.
    :return: frames to the left, frames to the right. An even window has one frame more to the right.
    """
    if context_window is None:
        return NumbersDict(), NumbersDict()
    try:
        if isinstance(context_window, (tuple, list)):
            left, right = context_window
            return _to_numbers(left), _to_numbers(right)
        if not isinstance(context_window, (NumbersDict, Mapping)):
            context_window = {"data": int(context_window)}
        total = _to_numbers(context_window)
    except (TypeError, ValueError) as exc:
        raise UserError(f"invalid context_window {context_window!r}: {exc}") from exc
    total = NumbersDict({key: max(n, 1) for key, n in total.items()})  # 0 is off, as 1
    left = NumbersDict({key: (n - 1) // 2 for key, n in total.items()})
    return left, NumbersDict({key: n - 1 - left[key] for key, n in total.items()})


def vary_chunking(
    size: NumbersDict, step: NumbersDict, keys: list[str], factor: float
) -> tuple[NumbersDict, NumbersDict]:
    """Makes chunks shorter by a factor. Keys whose size is a multiple of the size of the key with the smallest step
    keep that ratio exactly, so that they stay in step.

    :param keys: data keys that are used
    :param factor: in (0, 1]
    """

    def scaled(n: float) -> int:
        return max(int(n * factor), 1) if n else 0

    new_size = NumbersDict({key: scaled(size.get(key, 0)) for key in keys})
    new_step = NumbersDict({key: scaled(step.get(key, 0)) for key in keys})
    moving = [key for key in keys if step.get(key, 0) > 0]
    if not moving:
        return new_size, new_step
    base = min(moving, key=lambda key: step[key])
    for key in moving:
        ratio, rest = divmod(size[key], size[base]) if size[base] else (0, 1)
        if rest == 0:
            new_size[key], new_step[key] = ratio * new_size[base], ratio * new_step[base]
    return new_size, new_step


def chunks_of_seq(
    lens: Frames,
    size: NumbersDict,
    step: NumbersDict,
    min_size: NumbersDict,
    describe: Callable[[], str],
) -> Iterator[tuple[Frames, Frames]]:
    """
    :param lens: length per data key
    :param size: frames per chunk
    :param step: frames from the start of one chunk to the start of the next. 0: this key does not move
    :param min_size: no further chunk where so many frames, or less, are left
    :param describe: names the sequence, for messages
    :return: pairs start, end. The first chunk is always there, even if it is too small or empty.

    A key of length 0 or 1 (say, a speaker label) goes whole into each chunk.
    """
    key0 = _default_key(lens, step, describe)
    if lens[key0] == 0:
        yield dict.fromkeys(lens, 0), dict(lens)
        return
    moving = [key for key in lens if key == key0 or (lens[key] > 1 and step.get(key) != 0)]
    for key in moving:
        if not size.has_value_for(key):
            raise UserError(f"chunking has no entry for the data key {key!r} of {describe()}, only for {size!r}")
    _check_in_step(key0, moving, lens, step, min_size, describe)
    fixed_end = {key: min(n, size.get(key) or n) if n > 1 else n for key, n in lens.items() if key not in moving}
    start = dict.fromkeys(lens, 0)
    opts = [(key, int(size[key]), int(step[key]), lens[key] - min_size.get(key, 0)) for key in moving]
    while True:
        end = dict(fixed_end)
        for key, key_size, _, _ in opts:
            n, key_end = lens[key], start[key] + key_size
            end[key] = key_end if key_end < n else n
        yield start, end
        start = dict(start)
        for key, _, key_step, _ in opts:
            start[key] += key_step
        if start[key0] >= lens[key0]:
            break
        if any([start[key] >= last for key, _, _, last in opts]):
            break


def _default_key(lens: Frames, step: NumbersDict, describe: Callable[[], str]) -> str:
    key = default_data_key(lens)
    if step.get(key, 0) > 0:
        return key
    for key in sorted(lens):
        if step.get(key, 0) > 0:
            return key
    raise UserError(
        f"chunking needs a positive step for some used data key of {describe()};"
        f" used are {sorted(lens)}, steps {step!r}"
    )


def default_data_key(keys: Any) -> str:
    """
    :param keys: collection of data keys, not empty
    :return: "data" if there, else the first in alphabetical order
    """
    return "data" if "data" in keys else min(keys)


def _check_in_step(
    key0: str,
    moving: list[str],
    lens: Frames,
    step: NumbersDict,
    min_size: NumbersDict,
    describe: Callable[[], str],
) -> None:
    """:raises UserError: the chunks of the keys would not correspond to each other"""
    for key in moving:
        if step[key] == step[key0]:
            if lens[key] == lens[key0]:
                continue
            raise UserError(
                f"Chunking with multiple data-keys of different length: {lens} in {describe()}."
                " Give sizes and steps per key: chunking=({key: size}, {key: step}),"
                " or use only keys of equal length."
            )
        num = {k: (lens[k] - int(min_size.get(k, 0) or 1)) // int(step[k]) + 1 for k in (key0, key)}
        if num[key] != num[key0]:
            raise ConfigError(
                f"Chunking: different numbers of chunks {num} in {describe()},"
                f" from lengths { {k: lens[k] for k in num} }, steps { {k: step[k] for k in num} },"
                f" min_chunk_size {min_size!r}."
            )
