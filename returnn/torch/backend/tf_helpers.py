"""The helpers of ``TFUtil`` that configs import, on torch tensors. Contracts: ``returnn/tf/util/``."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from returnn.frontend.run_ctx import get_run_ctx
from returnn.tensor import Dim, DimError, Tensor

from .gradient import clip_with_identity_gradient
from .tf_namespace import tf
from .values import ints, operands, to_tensor

Data, DimensionTag = Tensor, Dim


# ---- shapes


def get_shape(x: Any) -> list[int]:
    """:return: sizes"""
    return list(to_tensor(x).shape)


def get_shape_dim(x: Any, axis: int, name: str = "shape_dim") -> int:
    """:return: size"""
    return to_tensor(x).shape[axis]


def swapaxes(x: Any, axis1: int, axis2: int) -> torch.Tensor:
    """:return: x with these two axes exchanged"""
    return torch.swapaxes(to_tensor(x), axis1, axis2)


def move_axis(x: Any, old_axis: int, new_axis: int) -> torch.Tensor:
    """:return: x with that axis in another place; the others keep their order"""
    return torch.movedim(to_tensor(x), old_axis, new_axis)


def expand_dims_unbroadcast(x: Any, axis: int, dim: Any) -> torch.Tensor:
    """:return: x with a new axis of this size, repeated along it"""
    x = torch.unsqueeze(to_tensor(x), axis)
    sizes = [-1] * x.ndim
    sizes[axis] = int(dim)
    return x.expand(sizes)


def tile_transposed(x: Any, axis: int, multiples: Any) -> torch.Tensor:
    """:return: [.., size * multiples, ..], the repetitions of an entry next to each other"""
    return torch.repeat_interleave(to_tensor(x), int(multiples), dim=axis)


def dot(a: Any, b: Any, transpose_b: bool = False) -> torch.Tensor:
    """:return: sum over the last axis of a and the first of b, or with ``transpose_b`` the last one"""
    a, b = operands(a, b)
    return torch.tensordot(a, b, dims=([-1], [-1 if transpose_b else 0]))


def check_input_dim(x: Any, axis: int, dim: Any) -> torch.Tensor:
    """
    :return: x
    :raises DimError: the axis has another size
    """
    x = to_tensor(x)
    if x.shape[axis] != int(dim):
        raise DimError("check_input_dim: axis %i of shape %s must have size %i" % (axis, list(x.shape), int(dim)))
    return x


def check_shape_equal(x: Any, y: Any) -> torch.Tensor:
    """
    :return: x
    :raises DimError: y has another shape
    """
    x, y = to_tensor(x), to_tensor(y)
    if x.shape != y.shape:
        raise DimError("check_shape_equal: %s and %s are different" % (list(x.shape), list(y.shape)))
    return x


# ---- masks and selection


def where_bc(condition: Any, x: Any, y: Any, name: str = "where_bc") -> torch.Tensor:
    """:return: x where true, else y; of the highest rank of the three, the others get axes of size 1 at the end"""
    args = operands(to_tensor(condition, torch.bool), *operands(x, y))
    rank = max(a.ndim for a in args)
    return torch.where(*[a.reshape(a.shape + (1,) * (rank - a.ndim)) if a.ndim else a for a in args])


def nd_indices(indices: Any, batch_axis: int = 0, indices_batch_major: bool | None = None) -> torch.Tensor:
    """:return: shape of indices + [2]: pairs for ``tf.gather_nd``, (batch, index), or (index, batch)"""
    indices = to_tensor(indices)
    if indices_batch_major is None:
        indices_batch_major = batch_axis == 0
    batch = torch.arange(indices.shape[batch_axis], dtype=indices.dtype, device=indices.device)
    sizes = [1] * indices.ndim
    sizes[batch_axis] = -1
    pairs = [batch.reshape(sizes).expand(indices.shape), indices]
    return torch.stack(pairs if indices_batch_major else pairs[::-1], -1)


def sequence_mask(lengths: Any, name: str | None = None, **kwargs: Any) -> torch.Tensor:
    """:return: bool [B, T]; kwargs: maxlen, dtype"""
    mask: torch.Tensor = tf.sequence_mask(lengths, **kwargs)
    return mask


def sequence_mask_time_major(lengths: Any, **kwargs: Any) -> torch.Tensor:
    """:return: bool [T, B]"""
    return sequence_mask(lengths, **kwargs).T


def flatten_with_seq_len_mask(
    x: Any,
    seq_lens: Any,
    batch_dim_axis: int | None = None,
    time_dim_axis: int | None = None,
    time_major: bool | None = None,
) -> torch.Tensor:
    """:return: [sum of lengths, ..]: the real frames, one sequence after the other"""
    if time_major is not None:
        time_dim_axis, batch_dim_axis = (0, 1) if time_major else (1, 0)
    if batch_dim_axis is None or time_dim_axis is None:
        raise TypeError("flatten_with_seq_len_mask needs batch_dim_axis and time_dim_axis, or time_major")
    x = torch.movedim(to_tensor(x), (batch_dim_axis, time_dim_axis), (0, 1))
    return x[sequence_mask(seq_lens, maxlen=x.shape[1]).to(x.device)]


def matrix_triangular(shape: Any, dtype: Any = torch.float32, lower: bool = False, upper: bool = False) -> torch.Tensor:
    """:return: [.., rows, columns], ones on the diagonal and below (lower) or above it (upper), else zeros"""
    if lower == upper:
        raise TypeError("matrix_triangular: give either lower or upper")
    ones = tf.ones(shape, dtype)
    return torch.tril(ones) if lower else torch.triu(ones)


def filter_ended_scores(x: Any, end_flags: Any, score_zero: float = 0.0, score_rem: float = -1.0e30) -> torch.Tensor:
    """:return: scores [B, labels]; where ended, ``score_zero`` for label 0 and ``score_rem`` for the others"""
    x = to_tensor(x)
    ended = torch.full_like(x[:1], score_rem)
    ended[:, 0] = score_zero
    return where_bc(end_flags, ended, x)


# ---- element-wise


def safe_log(x: Any, eps: float = 1e-20, use_fake_grad: bool = True) -> torch.Tensor:
    """
    Unlike on TensorFlow, it does not see whether x is a softmax or the like, whose logarithm is known exactly. The
    activation of this name does.

    :return: log(max(x, eps)); where x < eps, the gradient is 1 / eps, or 0 without ``use_fake_grad``
    """
    x = to_tensor(x)
    clipped = clip_with_identity_gradient(x, eps, None) if use_fake_grad else torch.clamp(x, min=eps)
    return torch.log(clipped)


def safe_exp(x: Any, eps: float = 1e-20) -> torch.Tensor:
    """:return: exp(x) in [eps, 1 / eps]; its gradient is itself"""
    return torch.exp(clip_with_identity_gradient(to_tensor(x), math.log(eps), -math.log(eps)))


def to_int32_64(x: Any) -> torch.Tensor:
    """:return: int32 or int64: what it is, else int32"""
    x = to_tensor(x)
    return x if x.dtype in (torch.int32, torch.int64) else x.int()


def dropout(
    x: Any,
    keep_prob: Any,
    noise_shape: Sequence[Any] | None = None,
    seed: int | None = None,
    name: str | None = None,
    cond_on_train: bool = False,
    apply_correction_factor: bool = True,
) -> torch.Tensor:
    """:return: x, each entry zero with probability 1 - keep_prob. Another draw in each global step."""
    x, keep = to_tensor(x), float(keep_prob)
    if not 0 < keep <= 1:
        raise ValueError("dropout: keep_prob must be in (0, 1], but is %r" % keep_prob)
    if keep == 1 or (cond_on_train and not get_run_ctx().train_flag):
        return x
    shape = (
        x.shape if noise_shape is None else [s if n is None else n for n, s in zip(noise_shape, x.shape, strict=True)]
    )
    mask = torch.floor(tf.random.uniform(ints(shape), seed=seed) + keep).to(x.dtype)
    return x * (mask / keep if apply_correction_factor else mask)


# ---- control


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None) -> Any:
    """Only one of the two is called."""
    return true_fn() if bool(pred) else false_fn()


@contextlib.contextmanager
def reuse_name_scope(name: str, absolute: bool | None = None, **kwargs: Any) -> Iterator[None]:
    """Nothing has a scope here."""
    yield


def py_print(
    pass_through_value: Any,
    print_args: Sequence[Any],
    message: str | None = None,
    summarize: int | None = None,
    first_n: int | None = None,
    name: str = "py_print",
) -> Any:
    """Prints, in each step, whatever ``first_n`` is: no graph keeps count."""
    return tf.Print(pass_through_value, print_args, message, first_n, summarize)
