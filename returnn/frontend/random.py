"""Random numbers: a function of a state, int64 [3].

A state is made from a seed, or from who draws and the global train step, or it is a parameter that counts what was
drawn from it. Other numbers on each backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from returnn.tensor import Dim, DimError, DimKind, Tensor
from returnn.tensor.backend import Backend, Raw, Size, template_backend

from .elementwise import combine
from .run_ctx import get_run_ctx

STATE_DIM = Dim(3, description="random-state", kind=DimKind.Feature)
"""of a state: counter, second word of it, key"""
_NUMBERS_OF_FRAME = 2**32
"""counters between those of frames"""
DISTRIBUTIONS = ("uniform", "normal", "truncated_normal")
Number = float | int | Tensor


def random_state(raw: Raw) -> Tensor:
    """
    :param raw: int64 [3], or None: no value
    """
    return Tensor("random_state", [STATE_DIM], "int64", feature_dim=STATE_DIM, raw_tensor=raw)


def random_state_words(seed: int | Sequence[int]) -> numpy.ndarray:
    """
    :param seed: a number, or all three of a state
    :return: int64 [3]
    :raises DimError: more or fewer numbers
    """
    words = numpy.array([seed, 0, 0] if isinstance(seed, int) else list(seed), "int64")
    if words.shape != (3,):
        raise DimError("random state: a seed is one number or three, but is %r" % (seed,))
    return words


def random_state_from_seed(seed: int | Sequence[int], *, backend: Backend) -> Tensor:
    """
    :param seed: see :func:`random_state_words`
    :param backend: that computes; the template backend: no value
    """
    return random_state(backend.convert(random_state_words(seed), "int64"))


def random_state_of_step(name: str, *, backend: Backend, frame: Tensor | None = None) -> Tensor:
    """
    :param name: who draws, for instance the absolute name of a layer
    :param backend: that computes; the template backend: no value
    :param frame: int scalar, of a loop within the step: another state for each; by default the frame that is computed
    :return: another one for each (random seed, name, global step), see :mod:`.run_ctx`
    """
    if backend is template_backend:
        return random_state(None)
    ctx = get_run_ctx()
    step = backend.cast(backend.convert(ctx.step), "int64")
    start, key = backend.convert(0, "int64"), backend.convert(ctx.seed_for(name), "int64")
    raw_frame = ctx.frame if frame is None else frame.raw_tensor
    if raw_frame is not None:
        start = backend.binary("mul", backend.cast(raw_frame, "int64"), _NUMBERS_OF_FRAME)
    return random_state(backend.stack([start, step, key], 0))


def random(
    dims: Sequence[Dim],
    *,
    distribution: str,
    state: Tensor,
    mean: Number | None = None,
    stddev: Number | None = None,
    bound: Number | None = None,
    minval: Number | None = None,
    maxval: Number | None = None,
    dtype: str = "float32",
    sparse_dim: Dim | None = None,
    feature_dim: Dim | None = None,
    sizes: Sequence[Size] | None = None,
) -> Tensor:
    """
    Uniform in [minval, maxval), or in [mean - bound, mean + bound), or with mean and stddev; normal with mean and
    stddev, truncated at two standard deviations or not.

    :param dims: of the result
    :param distribution: uniform, normal, truncated_normal
    :param state: int64 [3]
    :param mean: number, or tensor whose dims are among dims; default 0
    :param stddev: likewise; default 1 for normal ones
    :param bound: likewise; of uniform ones, half of the range. Instead of stddev
    :param minval: likewise; default 0, with maxval
    :param maxval: likewise; not reached
    :param dtype: of the result. Integers: only uniform, with maxval
    :param sparse_dim: of integers, which are labels then
    :param feature_dim: one of dims
    :param sizes: of dims, ints or raw scalars; what is known of the dims by default
    :return: no value, if state has none
    :raises DimError: arguments that do not go together
    """
    dims = tuple(dims)
    template = Tensor("random", dims, dtype, sparse_dim=sparse_dim, feature_dim=feature_dim)
    is_integer = numpy.dtype(dtype).kind in "iu"
    _check(distribution, is_integer, mean=mean, stddev=stddev, bound=bound, minval=minval, maxval=maxval)

    def draw(**bounds: Raw) -> Tensor:
        if state.raw_tensor is None:
            return template
        shape = [d.get_dim_value() for d in dims] if sizes is None else list(sizes)
        raw = state._raw_backend.random_from_state(
            state.raw_tensor, shape, distribution=distribution, dtype=dtype, **bounds
        )
        return template.like(raw)

    if is_integer:
        return draw(low=_scalar(0 if minval is None else minval, "minval"), high=_scalar(maxval, "maxval"))
    y = draw()
    if distribution != "uniform":
        return _plus(_times(y, 1 if stddev is None else stddev), 0 if mean is None else mean)
    if maxval is not None:
        minval = 0 if minval is None else minval
        return _plus(_times(y, maxval - minval), minval)
    if bound is None:
        assert stddev is not None
        bound = stddev * 3.0**0.5
    low = bound * -1.0 if mean is None else mean - bound
    return _plus(_times(y, bound * 2.0), low)


def random_uniform(
    dims: Sequence[Dim], *, state: Tensor, minval: Number = 0, maxval: Number = 1, dtype: str = "float32", **kwargs: Any
) -> Tensor:
    """
    :param maxval: not reached
    :return: see :func:`random`
    """
    return random(dims, distribution="uniform", state=state, minval=minval, maxval=maxval, dtype=dtype, **kwargs)


def random_normal(dims: Sequence[Dim], *, state: Tensor, **kwargs: Any) -> Tensor:
    """
    :return: see :func:`random`
    """
    return random(dims, distribution="normal", state=state, **kwargs)


def random_truncated_normal(dims: Sequence[Dim], *, state: Tensor, **kwargs: Any) -> Tensor:
    """
    :return: see :func:`random`
    """
    return random(dims, distribution="truncated_normal", state=state, **kwargs)


def _check(distribution: str, is_integer: bool, **args: Number | None) -> None:
    given = {name for name, value in args.items() if value is not None}
    if distribution not in DISTRIBUTIONS:
        raise DimError("random: distribution must be one of %s, but is %r" % (", ".join(DISTRIBUTIONS), distribution))
    if distribution != "uniform":
        sets: list[set[str]] = [set()]
        optional = {"mean", "stddev"}
    else:
        sets, optional = [{"maxval"}, {"stddev"}, {"bound"}], {"minval"} if "maxval" in given else {"mean"}
    if is_integer:
        if distribution != "uniform":
            raise DimError("random: distribution %r gives no integers" % distribution)
        sets, optional = [{"maxval"}], {"minval"}
    if given - optional not in sets:
        wanted = " or ".join(sorted(", ".join(x) for x in sets)) if sets != [set()] else "nothing"
        raise DimError(
            "random: %s%s needs %s and takes %s, but got %s"
            % (
                distribution,
                " integers" if is_integer else "",
                wanted,
                ", ".join(sorted(optional)),
                ", ".join(sorted(given)) or "nothing",
            )
        )


def _scalar(x: Any, name: str) -> Raw:
    if not isinstance(x, Tensor):
        return x
    if x.dims:
        raise DimError("random: %s must be a scalar, but has the dims %s" % (name, list(x.dims)))
    return x.raw_tensor


def _times(x: Tensor, factor: Number) -> Tensor:
    return x if _is_number(factor, 1) else combine(x, "mul", factor).copy_transpose(x.dims)


def _plus(x: Tensor, summand: Number) -> Tensor:
    return x if _is_number(summand, 0) else combine(x, "add", summand).copy_transpose(x.dims)


def _is_number(x: Number, value: float) -> bool:
    return not isinstance(x, Tensor) and x == value
