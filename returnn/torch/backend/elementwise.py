"""Functions of one or two arguments, comparisons and reductions by the names that :class:`Backend` has for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

Unary = Callable[[torch.Tensor], torch.Tensor]
Binary = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Reduction = Callable[[torch.Tensor, tuple[int, ...], bool], torch.Tensor]
"""value, axes (at least one), whether they stay as axes of size 1"""


def selu(x: torch.Tensor) -> torch.Tensor:
    """At 0 its slope is that of the right side, as TensorFlow has it."""
    return torch.where(x < 0, functional.selu(x), x * 1.0507009873554805)


UNARY: dict[str, Unary] = {
    "abs": torch.abs,
    "angle": torch.angle,
    "real": torch.real,
    "imag": torch.imag,
    "conj": torch.conj_physical,
    "neg": torch.neg,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "square": torch.square,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "log_sigmoid": functional.logsigmoid,
    "relu": torch.relu,
    "elu": functional.elu,
    "selu": selu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "softplus": functional.softplus,
    "sign": torch.sign,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "round": torch.round,
    "logical_not": torch.logical_not,
}


def truediv(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Of integers as Python and TensorFlow have it: float64."""
    if not a.is_floating_point() and not a.is_complex():
        a, b = a.double(), b.double()
    return torch.true_divide(a, b)


def maximum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where both are equal, all of the gradient goes to the first, as TensorFlow has it."""
    if a.requires_grad or b.requires_grad:
        return torch.where((a >= b) | a.isnan(), a, b)
    return torch.maximum(a, b)


def minimum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Like :func:`maximum`."""
    if a.requires_grad or b.requires_grad:
        return torch.where((a <= b) | a.isnan(), a, b)
    return torch.minimum(a, b)


BINARY: dict[str, Binary] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "truediv": truediv,
    "floordiv": torch.floor_divide,
    "mod": torch.remainder,
    "pow": torch.pow,
    "maximum": maximum,
    "minimum": minimum,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "squared_difference": lambda a, b: torch.square(a - b),
    "logaddexp": torch.logaddexp,
    "complex": torch.complex,
}
COMPARE: dict[str, Binary] = {
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
}


def _sum(x: torch.Tensor, axes: tuple[int, ...], keep_dims: bool) -> torch.Tensor:
    return torch.sum(x, axes, keepdim=keep_dims, dtype=x.dtype)  # small integers would become int64


def _mean(x: torch.Tensor, axes: tuple[int, ...], keep_dims: bool) -> torch.Tensor:
    if x.is_floating_point():
        return torch.mean(x, axes, keepdim=keep_dims)
    return _sum(x, axes, keep_dims) // max(math.prod(x.shape[i] for i in axes), 1)


def _prod(x: torch.Tensor, axes: tuple[int, ...], keep_dims: bool) -> torch.Tensor:
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim=keep_dims, dtype=x.dtype)
    return x


def _never_empty(x: torch.Tensor, axes: tuple[int, ...], *, highest: bool) -> torch.Tensor:
    """
    :return: x; with one number where there is none: the lowest of the dtype, or highest
    """
    if all(x.shape[i] for i in axes):
        return x
    value: Any = math.inf if highest else -math.inf
    if not x.is_floating_point():
        value = torch.iinfo(x.dtype).max if highest else torch.iinfo(x.dtype).min
    return x.new_full([max(n, 1) if i in axes else n for i, n in enumerate(x.shape)], value)


REDUCE: dict[str, Reduction] = {
    "sum": _sum,
    "mean": _mean,
    "max": lambda x, axes, keep: torch.amax(_never_empty(x, axes, highest=False), axes, keepdim=keep),
    "min": lambda x, axes, keep: torch.amin(_never_empty(x, axes, highest=True), axes, keepdim=keep),
    "prod": _prod,
    "any": lambda x, axes, keep: torch.any(x, axes, keepdim=keep),
    "all": lambda x, axes, keep: torch.all(x, axes, keepdim=keep),
    "logsumexp": lambda x, axes, keep: torch.logsumexp(x, axes, keepdim=keep),
}
