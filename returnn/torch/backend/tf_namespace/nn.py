"""``tf.nn``: activations, losses and what goes with them, with the names and arguments of TensorFlow."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn import functional

from ..elementwise import UNARY
from ..indexing import gather
from ..values import ints, operands, to_tensor
from . import elementwise
from .random import uniform
from .reductions import axes_of


class TopK(NamedTuple):
    """Of :func:`top_k`."""

    values: torch.Tensor
    indices: torch.Tensor
    """int32"""


def leaky_relu(features: Any, alpha: float = 0.2, name: Any = None) -> torch.Tensor:
    return functional.leaky_relu(to_tensor(features), alpha)


def gelu(features: Any, approximate: bool = False, name: Any = None) -> torch.Tensor:
    return functional.gelu(to_tensor(features), approximate="tanh" if approximate else "none")


def swish(features: Any, beta: float = 1.0, name: Any = None) -> torch.Tensor:
    x = to_tensor(features)
    return x * torch.sigmoid(x * beta)


def softmax(logits: Any, axis: Any = None, name: Any = None, dim: Any = None) -> torch.Tensor:
    axis = dim if axis is None else axis
    return torch.softmax(to_tensor(logits), -1 if axis is None else int(axis))


def log_softmax(logits: Any, axis: Any = None, name: Any = None, dim: Any = None) -> torch.Tensor:
    axis = dim if axis is None else axis
    return torch.log_softmax(to_tensor(logits), -1 if axis is None else int(axis))


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: Any = None) -> TopK:
    """of equal ones the first comes first"""
    values, indices = torch.sort(to_tensor(input), dim=-1, descending=True, stable=True)
    return TopK(values[..., : int(k)], indices[..., : int(k)].int())


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: Any = None, dim: Any = None) -> torch.Tensor:
    """x / sqrt(max(sum of squares, epsilon))"""
    x = to_tensor(x)
    squares = torch.sum(torch.square(x), axes_of(x, dim if axis is None else axis), keepdim=True)
    return x * torch.rsqrt(torch.clamp(squares, min=epsilon))


def l2_loss(t: Any, name: Any = None) -> torch.Tensor:
    """sum of squares / 2"""
    return torch.sum(torch.square(to_tensor(t))) / 2


def moments(
    x: Any, axes: Any, shift: Any = None, name: Any = None, keep_dims: Any = None, keepdims: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """mean, variance"""
    x = to_tensor(x)
    variance, mean = torch.var_mean(x, axes_of(x, axes), correction=0, keepdim=bool(keepdims or keep_dims))
    return mean, variance


def bias_add(value: Any, bias: Any, data_format: Any = None, name: Any = None) -> torch.Tensor:
    x, b = operands(value, bias)
    if data_format is not None and str(data_format).startswith("NC"):
        b = b.reshape([-1] + [1] * (x.ndim - 2))
    return x + b


def embedding_lookup(params: Any, ids: Any, name: Any = None) -> torch.Tensor:
    return gather(to_tensor(params), to_tensor(ids), axis=0)


def in_top_k(targets: Any, predictions: Any, k: int, name: Any = None) -> torch.Tensor:
    """predictions [B, C], targets [B]: whether fewer than k classes are better"""
    x, labels = operands(to_tensor(predictions), to_tensor(targets).long())
    return (x > torch.gather(x, 1, labels[:, None])).sum(1) < k


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: Any = None) -> torch.Tensor:
    x, classes = operands(logits, labels)
    return -torch.gather(torch.log_softmax(x, -1), -1, classes.long().unsqueeze(-1)).squeeze(-1)


def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: Any = None) -> torch.Tensor:
    x, targets = operands(logits, labels)
    return -torch.sum(targets * torch.log_softmax(x, axis), axis)


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, name: Any = None) -> torch.Tensor:
    x, targets = operands(logits, labels)
    return functional.binary_cross_entropy_with_logits(x, targets, reduction="none")


def dropout(
    x: Any,
    rate: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: Any = None,
    keep_prob: Any = None,
) -> torch.Tensor:
    """
    :param rate: to drop: each entry is 0 with this probability, the others are divided by 1 - rate
    :param noise_shape: 1: all share the noise along this axis
    :param keep_prob: 1 - rate, in its place
    """
    x = to_tensor(x)
    keep = 1.0 - rate if keep_prob is None else keep_prob
    noise = uniform(x.shape if noise_shape is None else ints(noise_shape), seed=seed)
    return x * torch.floor(noise + keep).to(x.dtype) / keep


FUNCTIONS: dict[str, Any] = {
    **{
        name: elementwise.FUNCTIONS.get(name) or elementwise.unary(UNARY[name])
        for name in "relu elu selu softplus sigmoid tanh".split()
    },
    "relu6": lambda features, name=None: functional.relu6(to_tensor(features)),
    "softsign": lambda features, name=None: functional.softsign(to_tensor(features)),
    "leaky_relu": leaky_relu,
    "gelu": gelu,
    "swish": swish,
    "silu": swish,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "top_k": top_k,
    "l2_normalize": l2_normalize,
    "l2_loss": l2_loss,
    "moments": moments,
    "bias_add": bias_add,
    "embedding_lookup": embedding_lookup,
    "in_top_k": in_top_k,
    "sparse_softmax_cross_entropy_with_logits": sparse_softmax_cross_entropy_with_logits,
    "softmax_cross_entropy_with_logits": softmax_cross_entropy_with_logits,
    "softmax_cross_entropy_with_logits_v2": softmax_cross_entropy_with_logits,
    "sigmoid_cross_entropy_with_logits": sigmoid_cross_entropy_with_logits,
    "dropout": dropout,
}
"""of ``tf.nn``"""
MATH: dict[str, Any] = {
    name: FUNCTIONS[name]
    for name in "softmax log_softmax softsign softplus top_k in_top_k l2_normalize sigmoid".split()
}
"""those that ``tf.math`` has too"""
