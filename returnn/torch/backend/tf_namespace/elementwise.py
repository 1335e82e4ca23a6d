"""Functions of single elements, with the names and arguments of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..elementwise import BINARY, COMPARE, UNARY
from ..values import operands, to_tensor, torch_dtype


def unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x, name=None: function(to_tensor(x))


def binary(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x, y, name=None: function(*operands(x, y))


def cast(x: Any, dtype: Any, name: str | None = None) -> torch.Tensor:
    return to_tensor(x).to(torch_dtype(dtype))


def to(dtype: torch.dtype) -> Callable[..., torch.Tensor]:
    """:return: ``tf.to_float`` and the like"""
    return lambda x, name=None: to_tensor(x).to(dtype)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> torch.Tensor:
    """Without x and y: the places, int64 [number of true entries, rank of condition]."""
    condition = to_tensor(condition)
    if x is None and y is None:
        return torch.nonzero(condition)
    return torch.where(*operands(condition, *operands(x, y)))


def add_n(inputs: Any, name: str | None = None) -> torch.Tensor:
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    return total


def div(x: Any, y: Any, name: str | None = None) -> torch.Tensor:
    """As Python 2 divides: integers are rounded down."""
    a, b = operands(x, y)
    return torch.div(a, b) if a.is_floating_point() else torch.floor_divide(a, b)


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> torch.Tensor:
    """0 where y is 0."""
    a, b = operands(x, y)
    is_zero = b == 0
    return torch.where(is_zero, 0.0, a / torch.where(is_zero, 1.0, b))


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> torch.Tensor:
    x = to_tensor(t)
    if any(isinstance(bound, torch.Tensor) for bound in (clip_value_min, clip_value_max)):
        return BINARY["minimum"](*operands(BINARY["maximum"](*operands(x, clip_value_min)), clip_value_max))
    return torch.clamp(x, clip_value_min, clip_value_max)


def identity(input: Any, name: str | None = None) -> torch.Tensor:
    return to_tensor(input)


def stop_gradient(input: Any, name: str | None = None) -> torch.Tensor:
    return to_tensor(input).detach()


_SAME_NAMES = (
    "abs exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tanh sigmoid log_sigmoid sign ceil floor round "
    "logical_not"
).split()
_OTHER_NAMES = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "truediv": "truediv",
    "floordiv": "floordiv",
    "mod": "mod",
    "floormod": "mod",
    "pow": "pow",
    "maximum": "maximum",
    "minimum": "minimum",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "squared_difference": "squared_difference",
}
FUNCTIONS: dict[str, Any] = {
    **{name: unary(UNARY[name]) for name in _SAME_NAMES},
    **{name: binary(BINARY[key]) for name, key in _OTHER_NAMES.items()},
    **{name: binary(function) for name, function in COMPARE.items()},
    "negative": unary(torch.neg),
    "tan": unary(torch.tan),
    "atan": unary(torch.atan),
    "acos": unary(torch.acos),
    "asin": unary(torch.asin),
    "sinh": unary(torch.sinh),
    "cosh": unary(torch.cosh),
    "erf": unary(torch.erf),
    "lgamma": unary(torch.lgamma),
    "is_nan": unary(torch.isnan),
    "is_inf": unary(torch.isinf),
    "is_finite": unary(torch.isfinite),
    "logical_xor": binary(torch.logical_xor),
    "atan2": binary(torch.atan2),
    "add_n": add_n,
    "div": div,
    "divide_no_nan": divide_no_nan,
    "clip_by_value": clip_by_value,
    "cast": cast,
    "to_float": to(torch.float32),
    "to_double": to(torch.float64),
    "to_int32": to(torch.int32),
    "to_int64": to(torch.int64),
    "where": where,
    "identity": identity,
    "stop_gradient": stop_gradient,
}
"""of ``tf`` and of ``tf.math``"""
MATH: dict[str, Any] = {"softplus": unary(UNARY["softplus"])}
"""of ``tf.math`` alone"""
