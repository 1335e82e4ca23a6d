"""Gradients as values, and values that have another gradient than their own."""

from __future__ import annotations

from returnn.tensor import DimError, Tensor
from returnn.tensor.backend import backend_of_all, backend_of_raw, template_backend

from .elementwise import raw_on
from .masking import dims_to_mask, mask_padding
from .reduce import reduce_sum
from .shape import raw_shape, require_dims


def watched(x: Tensor) -> Tensor:
    """
    :param x: float
    :return: the same value; of what is computed from this one, :func:`gradient` knows how it depends on it
    """
    return x.like(backend_of_raw(x.raw_tensor).watched(x.raw_tensor))


def gradient(y: Tensor, x: Tensor) -> Tensor:
    """
    dy / dx. Not on numpy, which has no gradients.

    :param y: scalar
    :param x: float, :func:`watched`
    :return: dims of x
    :raises DimError: y is no scalar, or does not depend on x
    """
    if y.dims:
        raise DimError("gradient: y must be a scalar, but has the dims %s" % (list(y.dims),))
    backend = backend_of_all([x, y])
    if backend is template_backend:
        return x.like(None)
    raw = backend.gradient(y.raw_tensor, x.raw_tensor)
    if raw is None:
        raise DimError("gradient: %s does not depend on %s, or not in a way that has a gradient" % (y.name, x.name))
    return x.like(raw)


def synthetic_gradient(x: Tensor, *, synthetic: Tensor, scale: float = 1.0, use_mask: bool = True) -> Tensor:
    """
    A value that passes another gradient on than the true one, g. ``synthetic`` learns to predict g: it gets the
    gradient of scale * mean of (synthetic - g)^2 over all entries.

    :param x: float
    :param synthetic: dims of x
    :param scale: number
    :param use_mask: what stands behind a sequence's end is zero in ``synthetic``, and does not count
    :return: x
    """
    require_dims(synthetic, x.dims, op="synthetic_gradient")
    backend = backend_of_all([x, synthetic])
    if backend is template_backend:
        return x.like(None)
    masked = dims_to_mask(x, x.dims) if use_mask else []
    synthetic = mask_padding(synthetic.copy_transpose(x.dims), masked, 0.0)
    ones = x.like(backend.full(raw_shape(x), 1.0, x.dtype))
    count = reduce_sum(ones, axis=x.dims, use_mask=use_mask).raw_tensor
    weight = backend.binary("truediv", backend.convert(2.0 * scale, x.dtype), count)
    return x.like(backend.synthetic_gradient(raw_on(x, backend), raw_on(synthetic, backend), weight))
