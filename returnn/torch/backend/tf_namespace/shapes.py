"""Functions on axes, and such that make tensors, with the names and arguments of TensorFlow."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .. import indexing
from ..padding import reverse_sequence as _reverse_sequence
from ..padding import sequence_mask as _sequence_mask
from ..values import current_device, ints, operands, to_tensor, torch_dtype

# ---- shapes


def shape(input: Any, name: Any = None, out_type: Any = torch.int32) -> torch.Tensor:
    """on the host"""
    return torch.tensor(to_tensor(input).shape, dtype=torch_dtype(out_type))


def size(input: Any, name: Any = None, out_type: Any = torch.int32) -> torch.Tensor:
    return torch.tensor(to_tensor(input).numel(), dtype=torch_dtype(out_type))


def rank(input: Any, name: Any = None) -> torch.Tensor:
    return torch.tensor(to_tensor(input).ndim, dtype=torch.int32)


def reshape(tensor: Any, shape: Any, name: Any = None) -> torch.Tensor:
    return torch.reshape(to_tensor(tensor), ints(shape))


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: Any = None) -> torch.Tensor:
    x = to_tensor(a)
    return torch.permute(x, ints(perm) if perm is not None else list(range(x.ndim))[::-1])


def expand_dims(input: Any, axis: Any = None, name: Any = None, dim: Any = None) -> torch.Tensor:
    return torch.unsqueeze(to_tensor(input), int(dim if axis is None else axis))


def squeeze(input: Any, axis: Any = None, name: Any = None, squeeze_dims: Any = None) -> torch.Tensor:
    x = to_tensor(input)
    axis = squeeze_dims if axis is None else axis
    if axis is None:
        return torch.squeeze(x)
    axes = [i % x.ndim for i in ints(axis)]
    if any(x.shape[i] != 1 for i in axes):
        raise ValueError("tf.squeeze: axes %s of shape %s are not all of size 1" % (axes, list(x.shape)))
    return x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def broadcast_to(input: Any, shape: Any, name: Any = None) -> torch.Tensor:
    return torch.broadcast_to(to_tensor(input), ints(shape))


def tile(input: Any, multiples: Any, name: Any = None) -> torch.Tensor:
    return torch.tile(to_tensor(input), ints(multiples))


def repeat(input: Any, repeats: Any, axis: Any = None, name: Any = None) -> torch.Tensor:
    x = to_tensor(input)
    repeats = repeats if isinstance(repeats, int) else to_tensor(repeats).to(x.device)
    return torch.repeat_interleave(x, repeats, dim=None if axis is None else int(axis))


# ---- parts


def concat(values: Any, axis: Any, name: Any = None) -> torch.Tensor:
    return torch.cat(operands(*values), int(axis))


def stack(values: Any, axis: int = 0, name: Any = None) -> torch.Tensor:
    tensors = operands(*values)
    device = next((x.device for x in tensors if x.device.type != "cpu"), tensors[0].device)
    return torch.stack([x.to(device) for x in tensors], axis)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: Any = None) -> list[torch.Tensor]:
    return list(torch.unbind(to_tensor(value), axis))


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: Any = None) -> list[torch.Tensor]:
    x, axis = to_tensor(value), int(axis)
    sizes = to_tensor(num_or_size_splits)
    if sizes.ndim:
        lengths = ints(sizes)
        rest = x.shape[axis] - sum(n for n in lengths if n >= 0)
        return list(torch.split(x, [rest if n < 0 else n for n in lengths], axis))
    count = int(sizes)
    if x.shape[axis] % count:
        raise ValueError("tf.split: axis %i of shape %s is not divisible by %i" % (axis, list(x.shape), count))
    return list(torch.split(x, x.shape[axis] // count, axis)) if x.shape[axis] else [x] * count


def slice_(input_: Any, begin: Any, size: Any, name: Any = None) -> torch.Tensor:
    x = to_tensor(input_)
    for axis, (start, length) in enumerate(zip(ints(begin), ints(size), strict=True)):
        x = x.narrow(axis, start, x.shape[axis] - start if length == -1 else length)
    return x


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: Any = None) -> torch.Tensor:
    pairs = [(int(before), int(behind)) for before, behind in to_tensor(paddings).tolist()]
    value = constant_values.item() if isinstance(constant_values, torch.Tensor) else constant_values
    return indexing.pad(to_tensor(tensor), pairs, mode=mode.lower(), value=value)


def reverse(tensor: Any, axis: Any, name: Any = None) -> torch.Tensor:
    return torch.flip(to_tensor(tensor), ints(axis))


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: Any = None,
    seq_dim: Any = None,
    batch_dim: Any = None,
) -> torch.Tensor:
    x = to_tensor(input)
    axis = seq_dim if seq_axis is None else seq_axis
    batch = (batch_dim if batch_axis is None else batch_axis) or 0
    return _reverse_sequence(x, to_tensor(seq_lengths), axis=axis % x.ndim, batch_axis=batch % x.ndim)


def roll(input: Any, shift: Any, axis: Any, name: Any = None) -> torch.Tensor:
    return torch.roll(to_tensor(input), ints(shift), ints(axis))


# ---- selection


def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0, name: Any = None
) -> torch.Tensor:
    x, places = to_tensor(params), to_tensor(indices)
    batch_dims %= places.ndim + 1
    axis = batch_dims if axis is None else int(axis) % x.ndim
    return indexing.gather(x, places, axis=axis, batch_dims=batch_dims)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: Any = None) -> torch.Tensor:
    x, places = operands(params, indices)
    index = list(places.long().unbind(-1))
    for axis in reversed(range(batch_dims)):
        sizes = [1] * index[0].ndim
        sizes[axis] = x.shape[axis]
        index.insert(0, torch.arange(x.shape[axis], device=x.device).reshape(sizes))
    return x[tuple(index)]


def scatter_nd(indices: Any, updates: Any, shape: Any, name: Any = None) -> torch.Tensor:
    places, values = operands(indices, updates)
    zeros = torch.zeros(ints(shape), dtype=values.dtype, device=values.device)
    return zeros.index_put(places.long().unbind(-1), values, accumulate=True)


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: Any = None) -> torch.Tensor:
    x = to_tensor(tensor)
    return x[(slice(None),) * int(axis or 0) + (to_tensor(mask, torch.bool).to(x.device),)]


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: Any = None,
) -> torch.Tensor:
    values = [1 if on_value is None else on_value, 0 if off_value is None else off_value]
    if dtype is None:
        given = next((v for v in (on_value, off_value) if v is not None), 1.0)
        dtype = to_tensor(given).dtype
    is_on = torch.movedim(
        indexing.one_hot(to_tensor(indices), int(depth), torch.bool), -1, -1 if axis is None else axis
    )
    return torch.where(is_on, *(to_tensor(v, dtype) for v in values))


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = torch.bool, name: Any = None) -> torch.Tensor:
    """lengths [..]: [.., maxlen]"""
    lens = to_tensor(lengths)
    if maxlen is None:
        maxlen = lens.max() if lens.numel() else 0
    mask = _sequence_mask(lens.reshape(-1), int(maxlen), device=current_device())
    return mask.reshape(*lens.shape, int(maxlen)).to(torch_dtype(dtype))


# ---- making tensors


def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None, **_: Any) -> torch.Tensor:
    x = to_tensor(value, dtype)
    return x if shape is None else x.expand(ints(shape)) if x.numel() == 1 else x.reshape(ints(shape))


def convert_to_tensor(value: Any, dtype: Any = None, name: Any = None, **_: Any) -> torch.Tensor:
    return to_tensor(value, dtype)


def zeros(shape: Any, dtype: Any = torch.float32, name: Any = None) -> torch.Tensor:
    return torch.zeros(ints(shape), dtype=torch_dtype(dtype), device=current_device())


def ones(shape: Any, dtype: Any = torch.float32, name: Any = None) -> torch.Tensor:
    return torch.ones(ints(shape), dtype=torch_dtype(dtype), device=current_device())


def zeros_like(input: Any, dtype: Any = None, name: Any = None, optimize: bool = True) -> torch.Tensor:
    return torch.zeros_like(to_tensor(input), dtype=None if dtype is None else torch_dtype(dtype))


def ones_like(input: Any, dtype: Any = None, name: Any = None, optimize: bool = True) -> torch.Tensor:
    return torch.ones_like(to_tensor(input), dtype=None if dtype is None else torch_dtype(dtype))


def fill(dims: Any, value: Any, name: Any = None) -> torch.Tensor:
    return to_tensor(value).to(current_device()).expand(ints(dims))


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None) -> torch.Tensor:
    """int32 for integers of Python"""
    start, limit = (0, start) if limit is None else (start, limit)
    bounds = [to_tensor(x) for x in (start, limit, delta)]
    dtypes = [x.dtype for x in bounds]
    dtype = functools.reduce(torch.promote_types, dtypes) if dtype is None else torch_dtype(dtype)
    return torch.arange(*[x.item() for x in bounds], dtype=dtype, device=current_device())


def linspace(start: Any, stop: Any, num: Any, name: Any = None) -> torch.Tensor:
    first, last = (to_tensor(x, torch.float32) for x in (start, stop))
    return torch.linspace(first.item(), last.item(), int(num), device=current_device())


def eye(
    num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = torch.float32, name: Any = None
) -> torch.Tensor:
    columns = num_rows if num_columns is None else num_columns
    matrix = torch.eye(int(num_rows), int(columns), dtype=torch_dtype(dtype), device=current_device())
    return matrix if batch_shape is None else matrix.expand(*ints(batch_shape), *matrix.shape)


def meshgrid(*args: Any, indexing: str = "xy") -> list[torch.Tensor]:
    return list(torch.meshgrid(*operands(*args), indexing=indexing))


# ---- matrices


def band_part(input: Any, num_lower: Any, num_upper: Any, name: Any = None) -> torch.Tensor:
    """zeros outside of so many diagonals below and above the main one; negative: all"""
    x = to_tensor(input)
    below = x.shape[-2] if int(num_lower) < 0 else int(num_lower)
    above = x.shape[-1] if int(num_upper) < 0 else int(num_upper)
    return torch.tril(torch.triu(x, -below), above)


def diag_part(input: Any, name: Any = None) -> torch.Tensor:
    return torch.diagonal(to_tensor(input), dim1=-2, dim2=-1)


def matrix_transpose(a: Any, name: Any = None) -> torch.Tensor:
    return to_tensor(a).transpose(-1, -2)


FUNCTIONS: dict[str, Any] = {
    function.__name__.rstrip("_"): function
    for function in (
        shape,
        size,
        rank,
        reshape,
        transpose,
        expand_dims,
        squeeze,
        broadcast_to,
        tile,
        repeat,
        concat,
        stack,
        unstack,
        split,
        slice_,
        pad,
        reverse,
        reverse_sequence,
        roll,
        gather,
        gather_nd,
        scatter_nd,
        boolean_mask,
        one_hot,
        sequence_mask,
        constant,
        convert_to_tensor,
        zeros,
        ones,
        zeros_like,
        ones_like,
        fill,
        range_,
        linspace,
        eye,
        meshgrid,
    )
}
"""of ``tf``"""
LINALG: dict[str, Any] = {
    "band_part": band_part,
    "diag_part": diag_part,
    "matrix_transpose": matrix_transpose,
    "eye": eye,
}
"""of ``tf.linalg``"""
