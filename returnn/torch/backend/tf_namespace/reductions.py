"""Functions that reduce, accumulate or sort along axes, with the names and arguments of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..elementwise import REDUCE
from ..values import ints, operands, to_tensor, torch_dtype


def axes_of(x: torch.Tensor, axis: Any) -> tuple[int, ...]:
    """:return: numbers >= 0; all of them for None"""
    return tuple(range(x.ndim)) if axis is None else tuple(i % x.ndim for i in ints(axis))


def _reduction(mode: str) -> Callable[..., torch.Tensor]:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> torch.Tensor:
        x = to_tensor(input_tensor)
        axes = axes_of(x, reduction_indices if axis is None else axis)
        return REDUCE[mode](x, axes, bool(keepdims or keep_dims)) if axes else x

    return reduce


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> torch.Tensor:
    x = to_tensor(input_tensor)
    return torch.var(x, axes_of(x, axis), correction=0, keepdim=keepdims)


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> torch.Tensor:
    return torch.sqrt(reduce_variance(input_tensor, axis, keepdims))


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = torch.int64, name: Any = None
) -> torch.Tensor:
    x = (to_tensor(input) != 0).to(torch_dtype(dtype))
    return REDUCE["sum"](x, axes_of(x, axis), keepdims)


def _arg(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def arg_reduce(
        input: Any, axis: Any = None, output_type: Any = torch.int64, name: Any = None, dimension: Any = None
    ) -> torch.Tensor:
        axis = dimension if axis is None else axis
        return function(to_tensor(input), int(axis or 0)).to(torch_dtype(output_type))

    return arg_reduce


def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: Any = None) -> torch.Tensor:
    x, axis = to_tensor(x), int(axis)
    total = torch.cumsum(torch.flip(x, [axis]) if reverse else x, axis, dtype=x.dtype)
    total = torch.flip(total, [axis]) if reverse else total
    return total - x if exclusive else total


def cumprod(x: Any, axis: int = 0, name: Any = None) -> torch.Tensor:
    x = to_tensor(x)
    return torch.cumprod(x, int(axis), dtype=x.dtype)


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: Any = None) -> torch.Tensor:
    return torch.sort(to_tensor(values), dim=axis, descending=direction == "DESCENDING").values


def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: Any = None
) -> torch.Tensor:
    """int32; of equal ones the first comes first"""
    return torch.argsort(to_tensor(values), dim=axis, descending=direction == "DESCENDING", stable=True).int()


def tensordot(a: Any, b: Any, axes: Any, name: Any = None) -> torch.Tensor:
    a, b = operands(a, b)
    if isinstance(axes, int):
        return torch.tensordot(a, b, dims=axes)
    return torch.tensordot(a, b, dims=(ints(axes[0]), ints(axes[1])))


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: Any = None,
) -> torch.Tensor:
    a, b = operands(a, b)
    a = a.transpose(-1, -2) if transpose_a or adjoint_a else a
    b = b.transpose(-1, -2) if transpose_b or adjoint_b else b
    return torch.matmul(a, b)


def einsum(equation: str, *inputs: Any, name: Any = None) -> torch.Tensor:
    return torch.einsum(equation, *operands(*inputs))


FUNCTIONS: dict[str, Any] = {
    **{"reduce_" + mode: _reduction(mode) for mode in REDUCE},
    "reduce_variance": reduce_variance,
    "reduce_std": reduce_std,
    "count_nonzero": count_nonzero,
    "argmax": _arg(torch.argmax),
    "argmin": _arg(torch.argmin),
    "arg_max": _arg(torch.argmax),
    "cumsum": cumsum,
    "cumprod": cumprod,
    "sort": sort,
    "argsort": argsort,
    "matmul": matmul,
    "tensordot": tensordot,
    "einsum": einsum,
}
"""of ``tf``; what ``tf.math`` has of them is there too"""
