"""Layers that copy their input, apply a function to each element, or give its axes another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .activations import OutputWithActivation, get_activation
from .axes import batch_major
from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .base import LayerBase


@layer_class("copy", "dropout")
class CopyLayer(ConcatInputLayer):
    """The sources, joined on the feature axis, with dropout if asked for."""

    extra_deps: list[LayerBase] | str | list[str] | None = None
    """layers that are built first, though their output is not used"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        super().transform_config_dict(d, network, get_layer)
        names = d.get("extra_deps") or []
        d["extra_deps"] = [get_layer(name) for name in ([names] if isinstance(names, str) else names)]

    def compute(self, x: Tensor) -> Tensor:
        if len(self.sources) == 1 and not self.dropout and not self._is_template:
            # a loss on the copy may use what the source knows
            self.output_before_activation = self.sources[0].output_before_activation
            self.output_loss = self.sources[0].output_loss
        return x


@layer_class("activation")
class ActivationLayer(ConcatInputLayer):
    """A function of each element; softmax and its like work on the feature axis, which then is the last one."""

    activation: str | None = None
    """name or expression of the function; must be given"""
    opts: dict[str, Any] | None = None
    """further arguments of the function"""

    def compute(self, x: Tensor) -> Tensor:
        if "activation" not in self.kwargs:
            raise ConfigError('option "activation" is missing')
        if self.activation and "softmax" in self.activation:
            if self.opts:
                raise ConfigError("activation %r takes no opts" % self.activation)
            x = x.copy_with_feature_last()
        function = get_activation(self.activation, backend=self.network.backend, config=self.network.get_config())
        if function is None:
            return x
        self.output_before_activation = OutputWithActivation(x, self.activation)
        before = self.sources[0].output_before_activation
        if before is not None and len(self.sources) == 1 and not self.dropout and not self._is_template:
            undone = before.followed_by(self.activation)
            if undone is not None:
                return undone
        return function(x, axis=x.feature_dim, **(self.opts or {}))


@layer_class("merge_dims")
class MergeDimsLayer(ConcatInputLayer):
    """Several axes become one, row-major. With the feature axis among them it is the new feature axis; with the batch
    axis it is the new batch axis, padding included.
    """

    axes: Any = None
    """axis descriptions; must be given"""
    keep_order: bool | None = None
    """merge in the order of ``axes``, which must be a list then; else in the order of the input. Default: False, True
    from behaviour version 6 on"""

    def compute(self, x: Tensor) -> Tensor:
        if self.axes is None:
            raise ConfigError('option "axes" is missing')
        keep_order = self.keep_order
        if keep_order is None:
            keep_order = BehaviorVersion.has(Change.MERGE_DIMS_KEEPS_ORDER)
        axes = x.get_axes_from_description(self.axes, allow_int=False)
        if not keep_order:
            axes = sorted(axes)
        elif not isinstance(self.axes, (list, tuple)):
            raise ConfigError("keep_order needs axes as a list, but they are %r" % (self.axes,))
        if len(axes) <= 1:
            if axes and self.out_dim is not None:
                self.out_dim.declare_same_as(x.dims[axes[0]])
            return x
        place = x.feature_dim_axis if x.feature_dim_axis in axes else min(axes)
        place -= sum(a < place for a in axes)
        dims = [x.dims[a] for a in axes]
        y, out_dim = rf.merge_dims(x, dims=dims)
        if not out_dim.is_batch_dim and any(d.is_dynamic for d in dims):
            self.recurrent = True  # frames of one sequence become features, or one longer sequence
        feature = x.feature_dim_axis in axes
        if self.out_dim is not None and not out_dim.is_batch_dim:
            self.out_dim.declare_same_as(out_dim)
            y, out_dim = rf.replace_dim(y, in_dim=out_dim, out_dim=self.out_dim), self.out_dim
        elif not out_dim.is_batch_dim:
            kind = DimKind.Feature if feature else DimKind.Spatial
            if out_dim.is_static and out_dim.kind is not kind:
                named = self.make_dim("merged", out_dim.dimension, kind=kind)
                y, out_dim = rf.replace_dim(y, in_dim=out_dim, out_dim=named), named
        y = y.copy_move_axis(y.get_axis_from_dim(out_dim), place)
        if feature and not out_dim.is_batch_dim:
            y.feature_dim_axis = place
            if y.time_dim_axis == place:
                y.time_dim_axis = None
        return y


@layer_class("split_dims")
class SplitDimsLayer(ConcatInputLayer):
    """One axis becomes several, row-major: new[i, j] = old[i * len(j) + j].

    Of a split feature axis, the last new one is the feature axis (of Dims the last feature Dim, if there is one). Of a
    split time axis, the dynamic one is time.
    """

    axis: Any = None
    """axis description; must be given"""
    dims: Sequence[int | Dim] | None = None
    """sizes of the new axes, at most one -1: what is left; or Dims. Must be given"""
    pad_to_multiples: bool | None = None
    """fill up at the end, so that the sizes divide; default: where the axis is dynamic"""
    pad_value: float | int = 0
    """with this"""

    def compute(self, x: Tensor) -> Tensor:
        if self.axis is None or self.dims is None:
            raise ConfigError('options "axis" and "dims" are needed')
        x = batch_major(x) if isinstance(self.axis, int) else x
        number = x.get_axis_from_description(self.axis, allow_int=False)
        axis = x.dims[number]
        if axis.is_dynamic:
            self.recurrent = True
        if axis.is_batch_dim and any(d.need_masking for d in x.dims):
            raise ConfigError("the batch axis cannot be split: lengths belong to it in %s" % x.short_repr())
        dims = self._new_dims(axis, list(self.dims), is_feature=number == x.feature_dim_axis)
        y = rf.split_dims(
            x,
            axis=axis,
            dims=dims,
            pad_to_multiples=self.pad_to_multiples,
            pad_value=self.pad_value,
            use_mask=BehaviorVersion.has(Change.WINDOW_AND_SPLIT_MASK),
        )
        if number == x.feature_dim_axis:
            last = len(dims) - 1
            y.feature_dim_axis = number + max((i for i, d in enumerate(dims) if d.is_feature_dim), default=last)
        if number == x.time_dim_axis:
            y.time_dim_axis = number + next((i for i, d in enumerate(dims) if d.is_dynamic), 0)
        return y

    def _new_dims(self, axis: Dim, given: list[int | Dim], *, is_feature: bool) -> list[Dim]:
        sizes = [d.dimension if isinstance(d, Dim) else d for d in given]
        open_places = [i for i, n in enumerate(sizes) if n in (-1, None)]
        factor = 1
        for n in sizes:
            if n is not None and not isinstance(n, int):
                raise ConfigError("dims must be ints or Dims, but are %r" % (given,))
            factor *= n if n not in (-1, None) else 1
        if len(open_places) > 1:
            raise ConfigError("dims has more than one -1: %r" % (given,))
        if axis.is_dynamic and not open_places:
            raise ConfigError("axis %s is dynamic: one of dims must be -1, but they are %r" % (axis, given))
        size = axis.dimension
        if size is not None and self.pad_to_multiples:
            size += max(-size % factor if open_places else factor - size, 0)
        if size is not None and (size % factor if open_places else size != factor):
            why = "%i is not %s%i" % (size, "a multiple of " if open_places else "", factor)
            raise ConfigError("axis %s cannot be split into %r: %s" % (axis, tuple(given), why))
        res = []
        for i, dim in enumerate(given):
            last = is_feature and i == len(sizes) - 1
            if i in open_places:
                res.append(self._rest_dim(axis, factor, i, dim, last))
            elif isinstance(dim, Dim):
                res.append(dim)
            else:
                res.append(self.make_dim("split%i" % i, dim, kind=DimKind.Feature if last else DimKind.Spatial))
        return res

    def _rest_dim(self, axis: Dim, factor: int, place: int, given: int | Dim, last: bool) -> Dim:
        if axis.dimension is not None:
            size = -(-axis.dimension // factor)
            if factor == 1 and (axis.kind is DimKind.Feature) == last:
                rest = axis
            else:
                rest = self.make_dim("split%i" % place, size, kind=DimKind.Feature if last else DimKind.Spatial)
        else:
            rest = axis if factor == 1 or axis.is_batch_dim else axis.ceildiv_right(factor)
        if isinstance(given, Dim):
            given.declare_same_as(rest)
        return rest
