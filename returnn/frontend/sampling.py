"""Draws without replacement, and how probable it was that a class is among them."""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tensor import Dim, DimError, Tensor

from .elementwise import expm1, log, maximum
from .indexing import gather, top_k
from .random import random_uniform
from .shape import require_dims, slice


def sample_without_replacement(
    weights: Tensor, *, axis: Dim, num_dim: Dim, batch_dims: Sequence[Dim] = (), state: Tensor
) -> tuple[Tensor, Tensor]:
    """
    A race: class i arrives at a random time, exponentially distributed with mean 1 / weights[i]; the first ones win.
    The same comes out if one draws from the distribution again and again, and a class that was drawn before does not
    count.

    :param weights: float, >= 0, [axis]; not normalised
    :param axis: classes
    :param num_dim: static, smaller than axis: so many classes
    :param batch_dims: static: independent draws
    :param state: int64 [3], see :mod:`.random`
    :return: classes, int32 labels of axis, [batch_dims.., num_dim]; and when the first loser arrived [batch_dims..],
        for :func:`expected_counts`
    """
    require_dims(weights, [axis], op="sample_without_replacement")
    num = num_dim.require_static()
    if num >= axis.require_static():
        raise DimError("sample_without_replacement: %i classes, but there are only %i" % (num, axis.require_static()))
    uniform = random_uniform([*batch_dims, axis], state=state, dtype=weights.dtype)
    minus_time = log(maximum(1.0 - uniform, 1e-30)) / maximum(weights, 1e-30)
    first_ones = Dim(num + 1, description="winners-and-first-loser")
    minus_times, classes, _ = top_k(minus_time, axis=axis, k_dim=first_ones)
    assert isinstance(classes, Tensor)
    winners, _ = slice(classes, axis=first_ones, end=num, out_dim=num_dim)
    return winners, -gather(minus_times, indices=num, axis=first_ones)


def expected_counts(weights: Tensor, time: Tensor) -> Tensor:
    """
    :param weights: of any classes, as :func:`sample_without_replacement` had them
    :param time: from there
    :return: probability that the class is among those that arrive earlier
    """
    return -expm1(-(weights * time))
