"""Noise that is added in training."""

from __future__ import annotations

from returnn.tensor import DimError, Tensor
from returnn.tensor.backend import backend_of_raw

from .run_ctx import get_run_ctx


def add_normal_noise(x: Tensor, stddev: float, *, name: str) -> Tensor:
    """
    y = x + stddev * N with N normally distributed, of mean 0 and variance 1, another one for each entry.

    The noise is a function of (random seed, name, global step), see :mod:`.run_ctx`.

    :param x: float, any dims
    :param stddev: > 0
    :param name: who draws, for instance the full name of a parameter
    :return: x when not training
    """
    if not stddev > 0:
        raise DimError("add_normal_noise: stddev must be > 0, but is %r" % stddev)
    ctx = get_run_ctx()
    if x.raw_tensor is None or ctx.train_flag is False:
        return x
    backend = backend_of_raw(x.raw_tensor)

    def noisy() -> object:
        shape = [backend.size_of_axis(x.raw_tensor, axis) for axis in range(x.batch_ndim)]
        noise = backend.stateless_normal(shape, seed=ctx.seed_for(name), step=ctx.step)
        return backend.binary("add", x.raw_tensor, backend.cast(backend.binary("mul", noise, stddev), x.dtype))

    if ctx.train_flag is True:
        return x.like(noisy())
    return x.like(backend.cond(ctx.train_flag, noisy, lambda: x.raw_tensor))
