"""The same values with another meaning of their axes and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError

from .activations import OutputWithActivation
from .features import default_feature_again, default_feature_axis
from .registry import layer_class
from .shape import CopyLayer

if TYPE_CHECKING:
    from .base import LayerBase


@layer_class("reinterpret_data")
class ReinterpretDataLayer(CopyLayer):
    """The same values; the options say, in this order, what their axes and labels mean."""

    enforce_batch_major: bool = False
    """move batch to the front"""
    enforce_time_major: bool = False
    """move time to the front"""
    switch_axes: str | Sequence[str] | None = None
    """two of "t", "f", for instance "tf": the one is the other then"""
    set_axes: Mapping[str, Any] | None = None
    """"T" or "F" -> axis description: that is the time or feature axis; None: there is none. A number needs
    ``enforce_batch_major`` or ``enforce_time_major``"""
    size_base: LayerBase | None = None
    """layer: the dynamic axes, in their order, are those of its output"""
    set_dim_tags: Mapping[Any, Dim] | None = None
    """axis description -> Dim"""
    set_sparse: bool | None = None
    """whether the values are labels"""
    set_sparse_dim: int | Dim | None = None
    """what the labels are of: number of classes, or Dim; None: not known"""
    increase_sparse_dim: int = 0
    """so many classes more"""
    batch_dim_base: LayerBase | None = None
    """layer: the batch axis is that of its output"""
    _layer_options = ("size_base", "batch_dim_base")

    def compute(self, x: Tensor) -> Tensor:
        x = self._in_order(super().compute(x).copy())
        y = self._reinterpreted(x.copy())
        before = self.output_before_activation
        if before is not None and all(dim in x.dims for dim in before.x.dims):
            self.output_before_activation = OutputWithActivation(_with_meaning(before.x, x, y), before.activation)
        return y

    def _reinterpreted(self, y: Tensor) -> Tensor:
        if self.switch_axes:
            self._switch_axes(y)
        for which, axis in sorted((self.set_axes or {}).items()):
            self._set_axis(y, str(which), axis)
        if self.size_base is not None:
            y = self._with_dims_of(y, self._output_of(self.size_base))
        for axis, dim in (self.set_dim_tags or {}).items():
            y = self._with_dim(y, y.get_axis_from_description(axis), dim)
        if self.batch_dim_base is not None:
            y = self._with_batch_of(y, self._output_of(self.batch_dim_base))
        return self._with_labels(y)

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output  # the options may say that there is no time axis

    def _in_order(self, x: Tensor) -> Tensor:
        if self.enforce_batch_major and self.enforce_time_major:
            raise ConfigError("enforce_batch_major and enforce_time_major exclude each other")
        if self.enforce_batch_major:
            return x.copy_as_batch_major()
        return x.copy_as_time_major() if self.enforce_time_major else x

    # ---- time and feature axis

    def _switch_axes(self, y: Tensor) -> None:
        letters = [str(letter).lower() for letter in self.switch_axes or ()]
        if sorted(letters) != ["f", "t"]:
            batch = " The batch axis cannot be another one; to move it, use class swap_axes." if "b" in letters else ""
            raise ConfigError('switch_axes must be "tf", but is %r.%s' % (self.switch_axes, batch))
        y.time_dim_axis, y.feature_dim_axis = y.feature_dim_axis, y.time_dim_axis

    def _set_axis(self, y: Tensor, which: str, axis: Any) -> None:
        if isinstance(axis, int) and not (self.enforce_batch_major or self.enforce_time_major):
            raise ConfigError(
                "set_axes: %r: number %i counts axes in some order: set enforce_batch_major" % (which, axis)
            )
        number = None if axis is None else y.get_axis_from_description(axis)
        if which.lower() in ("t", "time"):
            before = y.copy_template()
            y.time_dim_axis = number
            default_feature_again(y, before=before)
        elif which.lower() in ("f", "feature"):
            if number is not None and y.dims[number].is_batch_dim:
                raise ConfigError("set_axes: the batch axis cannot be the feature axis of %s" % y.short_repr())
            y.feature_dim_axis = number
        elif which.lower() not in ("b", "batch"):
            raise ConfigError('set_axes: keys are "T" and "F", but one is %r' % which)
        elif number != y.batch_dim_axis:
            raise ConfigError("set_axes: the batch axis of %s cannot be another one" % y.short_repr())

    # ---- dims

    def _with_dims_of(self, y: Tensor, base: Tensor) -> Tensor:
        axes = [i for i, d in enumerate(y.dims) if d.is_dynamic]
        dims = [d for d in base.dims if d.is_dynamic]
        if axes and len(axes) != len(dims):
            raise ConfigError("size_base: %s has not as many dynamic axes as %s" % (base.short_repr(), y.short_repr()))
        for axis, dim in zip(axes, dims, strict=False):
            y = _with_dim_at(y, axis, dim)
        return y

    def _with_dim(self, y: Tensor, axis: int, dim: Dim) -> Tensor:
        old = y.dims[axis]
        if not isinstance(dim, Dim):
            raise ConfigError("set_dim_tags must have Dims as values, but one is %r" % (dim,))
        if None not in (old.dimension, dim.dimension) and old.dimension != dim.dimension:
            raise ConfigError("set_dim_tags: %s cannot be %s" % (old, dim))
        if dim.is_dynamic and dim.dyn_size is None:
            lens = old.dyn_size_ext
            dim.dyn_size_ext = Tensor("lens", old.size_dims or (), "int32") if lens is None else lens
        return _with_dim_at(y, axis, dim)

    def _with_batch_of(self, y: Tensor, base: Tensor) -> Tensor:
        if y.batch_dim_axis is None or base.batch_dim_axis is None:
            raise ConfigError("batch_dim_base: no batch axis in %s, or in %s" % (y.short_repr(), base.short_repr()))
        return _with_dim_at(y, y.batch_dim_axis, base.dims[base.batch_dim_axis])

    # ---- labels

    def _with_labels(self, y: Tensor) -> Tensor:
        wanted = y.sparse if self.set_sparse is None else self.set_sparse
        sets_dim = "set_sparse_dim" in self.kwargs
        if not wanted:
            if (sets_dim and self.set_sparse_dim is not None) or self.increase_sparse_dim:
                raise ConfigError(
                    "set_sparse_dim and increase_sparse_dim are for labels, but %s is dense: set set_sparse"
                    % y.short_repr()
                )
            if not y.sparse:
                return y
            y = y.like(y.raw_tensor, sparse_dim=None)
            y.feature_dim_axis = default_feature_axis(y)
            return y
        dim: Dim | int | None = self.set_sparse_dim if sets_dim else y.sparse_dim
        if self.increase_sparse_dim:
            size = dim.dimension if isinstance(dim, Dim) else dim
            if size is None:
                raise ConfigError("increase_sparse_dim: it is not known how many classes there are")
            dim = size + self.increase_sparse_dim
        if not isinstance(dim, Dim):
            dim = self.make_dim("sparse", dim, kind=DimKind.Feature)
        return y.like(y.raw_tensor, sparse_dim=dim, feature_dim=None)


def _with_meaning(before: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """
    :param before: has the dims of x
    :param x: what a layer got
    :param y: what it made of it, its axes in the same order
    :return: before, with the dims and markers of y
    """
    axes = [x.get_axis_from_dim(dim) for dim in before.dims]
    res = before.copy_template_new_dim_tags([y.dims[i] for i in axes])
    res.time_dim_axis, res.feature_dim_axis = (
        axes.index(i) if i in axes else None for i in (y.time_dim_axis, y.feature_dim_axis)
    )
    res.raw_tensor = before.raw_tensor
    return res


def _with_dim_at(y: Tensor, axis: int, dim: Dim) -> Tensor:
    dims = list(y.dims)
    dims[axis] = dim
    res = y.copy_template_new_dim_tags(dims, keep_special_axes=True)
    res.raw_tensor = y.raw_tensor
    return res
