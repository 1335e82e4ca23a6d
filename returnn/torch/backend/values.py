"""Numbers, lists and arrays as torch tensors, and where these live.

Values stay on the device on which they are. Numbers, small constants, and the lengths of sequences if whoever makes
them puts them there, are on the host: then nothing waits for a device. Where both meet, the operand on the host moves.
What is made without inputs is made on the current device.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
import torch

_current_device = torch.device("cpu")


def current_device() -> torch.device:
    """
    :return: of what is made without inputs
    """
    return _current_device


@contextlib.contextmanager
def on_device(device: torch.device | str) -> Iterator[torch.device]:
    """
    :param device: the current one inside
    """
    global _current_device
    before, _current_device = _current_device, torch.device(device)
    try:
        yield _current_device
    finally:
        _current_device = before


def torch_dtype(dtype: Any) -> torch.dtype:
    """
    :param dtype: of PyTorch or numpy, or its name
    :raises TypeError: PyTorch has none such
    """
    if isinstance(dtype, torch.dtype):
        return dtype
    return _dtype_by_name(dtype)


@functools.cache
def _dtype_by_name(dtype: Any) -> torch.dtype:
    found = getattr(torch, dtype if isinstance(dtype, str) else numpy.dtype(dtype).name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError("PyTorch has no dtype %r" % dtype)
    return found


def to_tensor(value: Any, dtype: Any = None) -> torch.Tensor:
    """
    :param value: number, (nested) list of numbers and tensors, numpy array, or tensor
    :param dtype: by default that of a tensor or array; int32, float32 or bool for Python's numbers, as TensorFlow has
        it
    :return: do not write into it; on the host, but for a tensor, which stays where it is
    """
    if isinstance(value, torch.Tensor):
        return value if dtype is None else value.to(torch_dtype(dtype))
    wanted = None if dtype is None else torch_dtype(dtype)
    if isinstance(value, (bool, int, float)) and (value or math.copysign(1, value) > 0):  # 0.0 == -0.0
        return _number(value, wanted)
    if isinstance(value, (list, tuple)) and any(isinstance(x, (torch.Tensor, list, tuple)) for x in value):
        parts = [to_tensor(x, dtype) for x in value]
        return torch.stack([x.to(parts[0].device) for x in parts])
    if isinstance(value, numpy.ndarray):
        value = value.copy()  # some arrays cannot be written, and PyTorch warns of these
    raw = torch.as_tensor(value, dtype=wanted)
    return raw.int() if wanted is None and raw.dtype == torch.int64 and not hasattr(value, "dtype") else raw


@functools.lru_cache(maxsize=4096, typed=True)
def _number(value: bool | int | float, dtype: torch.dtype | None) -> torch.Tensor:
    """Scalars occur again and again, and making one takes longer than most small operations."""
    if dtype is None and type(value) is int:
        dtype = torch.int32
    with torch.inference_mode(False):  # else training could not use it later
        return torch.tensor(value, dtype=dtype)


def operands(*values: Any) -> Sequence[torch.Tensor]:
    """
    :param values: at least one tensor, or numbers only
    :return: tensors on one device (but for scalars, which may be anywhere); numbers take the dtype of the tensors
    """
    for x in values:
        if not isinstance(x, torch.Tensor):
            values = _with_tensors(values)
            break
    device = values[0].device
    for x in values:
        if x.device != device:
            device = next((x.device for x in values if x.device.type != "cpu"), device)
            return [x.to(device, non_blocking=True) if x.ndim else x for x in values]
    return values


def _with_tensors(values: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
    dtype = next((x.dtype for x in values if isinstance(x, torch.Tensor)), None)
    if dtype is not None and not dtype.is_floating_point and any(map(_is_float, values)):
        dtype = None
    return tuple(x if isinstance(x, torch.Tensor) else to_tensor(x, dtype) for x in values)


def _is_float(value: Any) -> bool:
    return isinstance(value, (float, numpy.floating))


def ints(shape: Any) -> list[int]:
    """
    :param shape: numbers, scalar tensors, or one tensor of them
    """
    if isinstance(shape, torch.Tensor):
        return [int(n) for n in shape.reshape(-1).tolist()]
    if isinstance(shape, Sequence):
        return [int(n) for n in shape]
    return [int(shape)]
