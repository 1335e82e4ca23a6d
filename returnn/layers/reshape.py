"""Layers that add, drop, order, repeat and reshape axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError

from .axes import batch_major
from .concat_input import ConcatInputLayer
from .features import default_feature_again, default_feature_axis
from .registry import layer_class
from .shape import MergeDimsLayer

if TYPE_CHECKING:
    from .base import LayerBase


@layer_class("expand_dims")
class ExpandDimsLayer(ConcatInputLayer):
    """A new axis, along which the content is repeated: y[.., i, ..] = x[..].

    Output: the axes of the input and the new one.
    """

    axis: Any = None
    """where; must be given. "F": behind the feature axis, else last: it is the feature axis then. "T" or "spatial": in
    front of the last axis (of labels: last); it is the time axis if there was none. Or a number: its place in the
    result, batch first"""
    dim: int | Dim = 1
    """size of the new axis"""

    def compute(self, x: Tensor) -> Tensor:
        place = self.axis.lower() if isinstance(self.axis, str) else self.axis
        kind = DimKind.Spatial
        if isinstance(place, int):
            x = batch_major(x)
            number = place if place >= 0 else place + x.batch_ndim + 1
            if not 0 <= number <= x.batch_ndim:
                raise ConfigError("axis %i is no place among those of %s" % (place, x.short_repr()))
        elif place in ("f", "feature"):
            if x.sparse:
                raise ConfigError("labels have no feature axis: %s" % x.short_repr())
            kind = DimKind.Feature
            number = x.batch_ndim if x.feature_dim_axis is None else x.feature_dim_axis + 1
        elif place in ("t", "time", "spatial"):
            number = x.batch_ndim if x.sparse else max(x.batch_ndim - 1, 0)
        else:
            raise ConfigError('axis must be "F", "T", "spatial" or a number, but is %r' % (self.axis,))
        dim = self._new_dim(kind)
        y = x.copy_add_dim_by_tag(dim, unbroadcast=dim.dimension != 1, axis=number)
        y = default_feature_again(y, before=x)
        if place in ("t", "time", "spatial") and y.time_dim_axis is None and y.feature_dim_axis != number:
            y.time_dim_axis = number
        return y

    def _new_dim(self, kind: DimKind) -> Dim:
        if isinstance(self.dim, Dim):
            return self.dim
        if not isinstance(self.dim, int) or self.dim < 0:
            raise ConfigError("dim must be a size >= 0, or a Dim, but is %r" % (self.dim,))
        return self.make_dim("expanded", self.dim, kind=kind)


@layer_class("squeeze")
class SqueezeLayer(ConcatInputLayer):
    """Drops axes of size 1."""

    axis: Any = None
    """axis description, or several; "auto": all static axes of size 1. Must be given"""
    enforce_batch_dim_axis: int | None = None
    """move batch there first"""
    allow_no_op: bool = False
    """accepted, but not needed: where there is no such axis, the output is the input"""

    def compute(self, x: Tensor) -> Tensor:
        if "axis" not in self.kwargs:
            raise ConfigError('option "axis" is missing')
        if self.enforce_batch_dim_axis is not None and x.have_batch_axis():
            x = x.copy_with_batch_dim_axis(self.enforce_batch_dim_axis)
        if self.axis == "auto":
            axes = [i for i, d in enumerate(x.dims) if d.dimension == 1]
        else:
            axes = x.get_axes_from_description(self.axis, allow_int=False)
        for axis in axes:
            if x.dims[axis].dimension != 1:
                raise ConfigError("axis %s of %s is not of size 1" % (x.dims[axis], x.short_repr()))
        y = x.copy_squeeze_axes(axes)
        if x.feature_dim_axis in axes:
            y.feature_dim_axis = default_feature_axis(y)
        return default_feature_again(y, before=x)


@layer_class("swap_axes")
class SwapAxesLayer(ConcatInputLayer):
    """Exchanges two axes. The time axis stays what it was; the feature axis is the last static one, if it was so
    before, as configs rely on."""

    axis1: Any = None
    """axis description; must be given"""
    axis2: Any = None
    """another axis; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        if self.axis1 is None or self.axis2 is None:
            raise ConfigError('options "axis1" and "axis2" are needed')
        axes = [x.get_axis_from_description(axis, allow_int=False) for axis in (self.axis1, self.axis2)]
        if axes[0] == axes[1]:
            raise ConfigError("axis1 %r and axis2 %r are the same axis: %s" % (self.axis1, self.axis2, x.dims[axes[0]]))
        return default_feature_again(x.copy_swap_axes(*axes), before=x)


@layer_class("transpose")
class TransposeLayer(ConcatInputLayer):
    """Orders the axes anew. Time and feature axis stay what they were."""

    perm: dict[Any, Any] | Sequence[Any] | None = None
    """axis description -> that of the axis which shall be there; axes that are not named keep their order. Or all axes,
    in the order wanted. Must be given"""

    def compute(self, x: Tensor) -> Tensor:
        if isinstance(self.perm, dict):
            return x.copy_transpose(self._order_of_dict(x, self.perm))
        if not isinstance(self.perm, (list, tuple)):
            raise ConfigError("perm must be a dict or a list of axes, but is %r" % (self.perm,))
        order = [x.get_axis_from_description(axis, allow_int=False) for axis in self.perm]
        if sorted(order) != list(range(x.batch_ndim)):
            raise ConfigError("perm %r must name each axis once: %s" % (self.perm, x.short_repr()))
        return x.copy_transpose(order)

    def _order_of_dict(self, x: Tensor, perm: dict[Any, Any]) -> list[int]:
        places: dict[int, int] = {}
        for target, source in perm.items():
            place, axis = (x.get_axis_from_description(a, allow_int=False) for a in (target, source))
            if place in places or axis in places.values():
                raise ConfigError("perm %r names an axis twice: %s" % (perm, x.short_repr()))
            places[place] = axis
        rest = [axis for axis in range(x.batch_ndim) if axis not in places.values()]
        return [places[place] if place in places else rest.pop(0) for place in range(x.batch_ndim)]


@layer_class("tile")
class TileLayer(ConcatInputLayer):
    """Repeats static axes as a whole: with 2, a b c becomes a b c a b c."""

    multiples: dict[Any, int] | None = None
    """axis description -> how often; must be given"""
    out_dims: dict[Any, Dim] | None = None
    """axis description, as in ``multiples`` -> Dim of the result"""

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.multiples, dict):
            raise ConfigError("multiples must be a dict, axis -> how often, but is %r" % (self.multiples,))
        out_dims = dict(self.out_dims or {})
        for description, number in self.multiples.items():
            if not isinstance(number, int) or number < 1:
                raise ConfigError("multiples[%r] must be an integer > 0, but is %r" % (description, number))
            axis = x.dims[x.get_axis_from_description(description, allow_int=False)]
            if axis.dimension is None:
                raise ConfigError("only static axes can be repeated, but %r is %s" % (description, axis))
            out_dim = out_dims.pop(description, None)
            if number > 1:
                x, _ = rf.concat(*[(x, axis)] * number, out_dim=out_dim)
            elif out_dim is not None:
                x = rf.replace_dim(x, in_dim=axis, out_dim=out_dim)
        if out_dims:
            raise ConfigError("out_dims has %r, but multiples has no such axis" % next(iter(out_dims)))
        return x


@layer_class("reshape")
class ReshapeLayer(ConcatInputLayer):
    """Some axes, taken together row-major, become others of the same total size.

    Output: ``out_dims`` where the first of ``in_dims`` was. Where these were time or features, the first dynamic axis
    is time, the last static one features.
    """

    in_dims: Sequence[Any] | None = None
    """Dims of the input (or axis descriptions), the first one outermost; must be given"""
    out_dims: Sequence[Dim] | None = None
    """Dims, the first one outermost; must be given"""
    extra_deps: Sequence[LayerBase] | LayerBase = ()
    """layers that are built first, as they define the lengths of dims"""
    _layer_options = ("extra_deps",)

    def compute(self, x: Tensor) -> Tensor:
        if not self.in_dims or not self.out_dims:
            raise ConfigError('options "in_dims" and "out_dims" are needed')
        for dim in self.out_dims:
            if not isinstance(dim, Dim):
                raise ConfigError("out_dims must be Dims, but has %r" % (dim,))
        in_dims = [x.dims[x.get_axis_from_description(axis, allow_int=False)] for axis in self.in_dims]
        if any(d.is_dynamic for d in in_dims):
            self.recurrent = True
        y = rf.reshape(x, in_dims, list(self.out_dims))
        if x.time_dim is None or x.time_dim in in_dims:
            y.time_dim_axis = next((i for i, d in enumerate(y.dims) if d.is_dynamic), None)
        if x.feature_dim in in_dims:
            y.feature_dim_axis = default_feature_axis(y)
        return default_feature_again(y, before=x)


@layer_class("combine_dims")
class CombineDimsLayer(MergeDimsLayer):
    """Several axes become one, row-major in the order of ``axes``: class merge_dims with ``keep_order``."""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        if "keep_order" in d:
            raise ConfigError('a combine_dims layer has no option "keep_order": use class "merge_dims"')
        d["keep_order"] = True
        super().transform_config_dict(d, network, get_layer)
