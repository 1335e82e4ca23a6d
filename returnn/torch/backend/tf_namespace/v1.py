"""Where functions of TensorFlow 1 differ from those of the same name in version 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..values import to_tensor
from . import control, elementwise, nn, shapes


def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> torch.Tensor:
    """A condition with one axis selects along the first axis of x and y."""
    mask = to_tensor(condition)
    rank = 0 if x is None else to_tensor(x).ndim
    if mask.ndim == 1 and rank > 1:
        mask = mask.reshape([-1] + [1] * (rank - 1))
    return elementwise.where(mask, x, y)


def argmax(
    input: Any, axis: Any = None, name: Any = None, dimension: Any = None, output_type: Any = torch.int64
) -> Any:
    """Order of arguments of version 1."""
    axis = dimension if axis is None else axis
    return torch.argmax(to_tensor(input), int(axis or 0)).to(output_type)


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, *_: Any, **__: Any) -> Any:
    """A single value is not in a list."""
    values = control.while_loop(cond, body, loop_vars)
    return values[0] if len(values) == 1 else values


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: Any = None,
    rate: Any = None,
) -> torch.Tensor:
    """See :func:`.nn.dropout`; the second argument is the probability to keep an entry."""
    return nn.dropout(x, rate, noise_shape, seed, keep_prob=keep_prob)


def in_top_k(predictions: Any, targets: Any, k: int, name: Any = None) -> torch.Tensor:
    """Order of arguments of version 1."""
    return nn.in_top_k(targets, predictions, k)


DROPPED: dict[str, Any] = {
    "matrix_band_part": shapes.band_part,
    "matrix_transpose": shapes.matrix_transpose,
    "matrix_diag_part": shapes.diag_part,
}
"""names that version 2 has no more"""
FUNCTIONS: dict[str, Any] = {**DROPPED, "where": where, "argmax": argmax, "while_loop": while_loop}
"""of ``tf.compat.v1``"""
NN: dict[str, Any] = {"dropout": dropout, "in_top_k": in_top_k}
"""of ``tf.compat.v1.nn``"""
