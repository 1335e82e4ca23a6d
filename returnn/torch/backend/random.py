"""Random numbers that are a function of a seed and a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .values import current_device

_MASK = 2**64 - 1


def stateless_uniform(shape: Sequence[int], *, seed: int, step: int) -> torch.Tensor:
    """
    :param seed: 31 bits
    :param step: any int
    :return: float32 [shape], in [0, 1), on the current device; each kind of device gives numbers of its own
    """
    return torch.rand(list(shape), generator=_generator(seed, step), device=current_device())


def stateless_normal(shape: Sequence[int], *, seed: int, step: int) -> torch.Tensor:
    """
    Arguments as those of :func:`stateless_uniform`.

    :return: float32 [shape], of mean 0 and variance 1
    """
    return torch.randn(list(shape), generator=_generator(seed, step), device=current_device())


def _generator(seed: int, step: int) -> torch.Generator:
    generator = torch.Generator(current_device())
    generator.manual_seed(mixed(seed, step))
    return generator


def mixed(seed: int, step: int) -> int:
    """
    :return: 32 bits, for generators that take no more. Numbers close to each other give seeds far apart (the finishing
        steps of splitmix64, twice).
    """
    x = 0
    for value in (seed, step):
        x = (x + value + 0x9E3779B97F4A7C15) & _MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        x ^= x >> 31
    return x >> 32


def random_from_state(
    state: torch.Tensor, shape: Sequence[int], *, distribution: str, dtype: torch.dtype, low: Any, high: Any
) -> torch.Tensor:
    """
    :param state: int64 [3]
    :param distribution: uniform: in [0, 1), or of integers in [low, high); normal; truncated_normal: cut at +-2
    :param low: int, or scalar
    :param high: int, or scalar
    :return: on the device of the state
    """
    generator = torch.Generator(state.device)
    counter, high_word, key = state.tolist()
    generator.manual_seed(mixed(mixed(key, high_word), counter))
    opts: dict[str, Any] = {"generator": generator, "dtype": dtype, "device": state.device}
    if not dtype.is_floating_point:
        return torch.randint(int(low), int(high), list(shape), **opts)
    if distribution == "uniform":
        return torch.rand(list(shape), **opts)
    if distribution == "normal":
        return torch.randn(list(shape), **opts)
    values = torch.empty(list(shape), dtype=dtype, device=state.device)
    return torch.nn.init.trunc_normal_(values, generator=generator)
