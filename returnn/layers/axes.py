"""Axes of layers, as options name them; their order; which of them are the same size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .base import LayerBase


def axis_of(x: Tensor, spec: Any, *, option: str = "axis", batch: bool = False) -> Dim:
    """
    :param x: input of a layer
    :param spec: axis description
    :param option: where it stands
    :param batch: whether the batch axis is fine
    :return: its dim
    :raises ConfigError: no description, not exactly one axis, or the batch axis
    """
    if spec is None:
        raise ConfigError('option "%s" is missing' % option)
    dim = x.get_dim_tag_from_description(spec)
    if dim.is_batch_dim and not batch:
        raise ConfigError("%s %r must not be the batch axis: %s" % (option, spec, x.short_repr()))
    return dim


def axes_of(x: Tensor, spec: Any) -> list[int]:
    """
    :param x: input of a layer
    :param spec: axis description, or several
    :return: the axes, at least one
    :raises ConfigError: there is none
    """
    axes = x.get_axes_from_description(spec)
    if not axes:
        raise ConfigError("axes %r: there is none of that kind in %s" % (spec, x.short_repr()))
    return axes


def batch_major(x: Tensor) -> Tensor:
    """
    :return: batch moved to the front, if there is one
    """
    return x.copy_as_batch_major() if x.have_batch_axis() else x


def axis_behind_batch(x: Tensor, axis: Dim) -> list[Dim]:
    """
    :return: the dims of x, first the batch, then axis
    """
    batch = [d for d in x.dims if d.is_batch_dim]
    return [*batch, axis, *(d for d in x.dims if d not in batch and d != axis)]


def dims_of_shape(layer: LayerBase, shape: Sequence[int | Dim] | None, *, labels: bool = False) -> list[Dim]:
    """
    :param layer: makes dims for sizes
    :param shape: its option
    :param labels: what has that shape has no features; else the last axis is the features
    :return: a dim for each axis
    :raises ConfigError: the option is missing, or has anything else than sizes > 0 and Dims
    """
    if shape is None:
        raise ConfigError('option "shape" is missing')
    dims = []
    for i, size in enumerate(shape):
        if isinstance(size, int) and size > 0:
            is_feature = i == len(shape) - 1 and not labels
            size = layer.make_dim("dim%i" % i, size, kind=DimKind.Feature if is_feature else DimKind.Spatial)
        if not isinstance(size, Dim):
            raise ConfigError("shape must be sizes > 0, or Dims, but is %r" % (shape,))
        dims.append(size)
    return dims


def same_size(a: Dim, b: Dim) -> bool:
    """
    :return: whether products may sum over both at once: equal dims, or of equal static size, or the lengths of one are
        not known
    """
    if (a.twin_of or a) == (b.twin_of or b):
        return True
    if a.is_batch_dim or b.is_batch_dim:
        return False
    if a.is_static or b.is_static:
        return a.dimension == b.dimension
    return not (a.is_dim_known() and b.is_dim_known()) and None in (a.size_dims, b.size_dims)
