"""``tf.random``. Without a state: the numbers are a function of the random seed of the config, the global step, and how
many calls came before in this step; or of the seed of the call and the step."""

from __future__ import annotations

import math
from typing import Any

import torch

from returnn.frontend.run_ctx import FRAMES_PER_STEP, get_run_ctx

from .. import random
from ..values import ints, operands, to_tensor, torch_dtype


def _seed_and_step(seed: int | None) -> dict[str, int]:
    ctx = get_run_ctx()
    number = ctx.count_draw()
    own = ctx.seed_for("tf.random %i" % number) if seed is None else int(seed)
    return {"seed": own, "step": int(ctx.step if ctx.frame is None else ctx.step * FRAMES_PER_STEP + int(ctx.frame))}


def _in_range(u: torch.Tensor, minval: Any, maxval: Any, dtype: Any) -> torch.Tensor:
    """:return: u, which is uniform in [0, 1), in [minval, maxval)"""
    dtype = torch_dtype(dtype)
    if not dtype.is_floating_point:
        if maxval is None:
            raise ValueError("tf.random.uniform: integers need maxval")
        low, high = operands(minval, maxval)
        width = (high - low).to(u.device)
        return low.to(u.device, dtype) + torch.floor(u.double() * width).to(dtype)
    high = 1.0 if maxval is None else maxval
    if isinstance(minval, (int, float)) and isinstance(high, (int, float)):
        return (u * (high - minval) + minval).to(dtype)
    low, high, u = operands(minval, high, u)
    return (u * (high - low) + low).to(dtype)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = torch.float32,
    seed: int | None = None,
    name: Any = None,
) -> torch.Tensor:
    """In [minval, maxval); maxval 1 by default, but for integers."""
    return _in_range(random.stateless_uniform(ints(shape), **_seed_and_step(seed)), minval, maxval, dtype)


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = torch.float32,
    seed: int | None = None,
    name: Any = None,
) -> torch.Tensor:
    return (random.stateless_normal(ints(shape), **_seed_and_step(seed)) * stddev + mean).to(torch_dtype(dtype))


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = torch.float32,
    seed: int | None = None,
    name: Any = None,
) -> torch.Tensor:
    """Cut at two standard deviations."""
    u = random.stateless_uniform(ints(shape), **_seed_and_step(seed))
    half = math.erf(2 / math.sqrt(2))  # probability to be within two standard deviations
    values = torch.erfinv((2 * u - 1) * half) * math.sqrt(2)
    return (torch.clamp(values, -2, 2) * stddev + mean).to(torch_dtype(dtype))


def shuffle(value: Any, seed: int | None = None, name: Any = None) -> torch.Tensor:
    """along the first axis"""
    x = to_tensor(value)
    return x[torch.argsort(uniform([len(x)], seed=seed)).to(x.device)]


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = torch.float32, name: Any = None
) -> torch.Tensor:
    """seed: two integers; nothing else counts"""
    first, second = ints(seed)
    return _in_range(random.stateless_uniform(ints(shape), seed=first, step=second), minval, maxval, dtype)


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = torch.float32, name: Any = None
) -> torch.Tensor:
    """seed: two integers; nothing else counts"""
    first, second = ints(seed)
    return (random.stateless_normal(ints(shape), seed=first, step=second) * stddev + mean).to(torch_dtype(dtype))


FUNCTIONS: dict[str, Any] = {
    "uniform": uniform,
    "normal": normal,
    "truncated_normal": truncated_normal,
    "shuffle": shuffle,
    "stateless_uniform": stateless_uniform,
    "stateless_normal": stateless_normal,
}
"""of ``tf.random``"""
OLD_NAMES: dict[str, Any] = {
    "random_uniform": uniform,
    "random_normal": normal,
    "truncated_normal": truncated_normal,
    "random_shuffle": shuffle,
}
"""of ``tf`` version 1"""
