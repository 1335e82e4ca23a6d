"""Layers that put several sources into one tensor, or one into several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import default_feature_again
from .parts import LayerWithParts
from .registry import layer_class
from .unify import common_layout, unify

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("concat")
class ConcatLayer(LayerBase):
    """The sources one behind the other: ``from`` is a list of pairs, layer and axis description.

    Output: the axes of the first source that has most; lengths add up. From behaviour version 31 on sequences are
    joined; before, arrays are: the padding of a source stays in front of the next one.
    """

    allow_broadcast: bool = False
    """a source may lack an axis; its content is repeated along it then"""

    _axes: Sequence[Any]

    @classmethod
    def _source_names(cls, d: dict[str, Any], network: Network) -> list[str]:
        pairs = d.pop("from", None)
        if not isinstance(pairs, (list, tuple)) or not pairs or not all(_is_pair(pair) for pair in pairs):
            raise ConfigError(
                'option "from" must be a list of pairs (layer name, axis), for instance [("a", "T"), ("b", "T")],'
                " but is %r" % (pairs,)
            )
        d["_axes"] = [axis for _, axis in pairs]
        return [name for name, _ in pairs]

    def compute(self, *sources: Tensor) -> Tensor:
        joined = Dim(None, description="joined", special=True)  # so that no other axis is taken for it
        marked = []
        dims = []
        for x, axis in zip(sources, self._axes, strict=True):
            dim = x.dims[x.get_axis_from_description(axis, allow_int=False)]
            if dim.is_batch_dim:
                raise ConfigError("sources cannot be joined along the batch axis: %s" % x.short_repr())
            dims.append(dim)
            marked.append(rf.replace_dim(x, in_dim=dim, out_dim=joined))
        if any(dim.is_dynamic for dim in dims):
            self.recurrent = True
        pairs = []
        for x, dim in zip(unify(marked), dims, strict=True):
            pairs.append((rf.replace_dim(x, in_dim=joined, out_dim=dim), dim))
        y, _ = rf.concat(
            *pairs,
            allow_broadcast=self.allow_broadcast,
            out_dim=self.out_dim,
            handle_dynamic_dims=BehaviorVersion.has(Change.CONCAT_OF_SEQUENCES),
        )
        return y


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)


@layer_class("stack")
class StackLayer(LayerBase):
    """The sources along a new axis: y[.., i, ..] = source i.

    Output: the axes of all sources, and the new one behind the last spatial axis, else in front of the feature axis.
    """

    axis: int | None = None
    """place of the new axis in the output"""
    out_spatial_dim: Dim | None = None
    """the new axis"""

    def compute(self, *sources: Tensor) -> Tensor:
        if not sources:
            raise ConfigError('the layer needs a source: "from" is empty')
        new = self.out_spatial_dim or self.make_dim("stack", len(sources), kind=DimKind.Spatial)
        xs = unify(sources)
        layout = common_layout(xs)
        axis = self.axis
        if axis is not None:
            if not isinstance(axis, int) or not -layout.batch_ndim <= axis + 1 <= layout.batch_ndim + 1:
                raise ConfigError("axis must be a place among those of %s, but is %r" % (layout.short_repr(), axis))
            axis %= layout.batch_ndim + 1
        template = layout.copy_add_dim_by_tag(new, unbroadcast=True, axis=axis)
        y, _ = rf.stack(xs, out_dim=new, dim_order=template.dims)
        y.time_dim_axis, y.feature_dim_axis = template.time_dim_axis, template.feature_dim_axis
        return default_feature_again(y, before=layout)


@layer_class("split")
class SplitLayer(LayerWithParts, ConcatInputLayer):
    """Cuts an axis into parts: ``NAME/0``, ``NAME/1``, .. The output of the layer itself is its input."""

    axis: Any = "F"
    """axis description; static"""
    num_splits: int | None = None
    """so many parts of equal size"""
    size_splits: Sequence[int] | None = None
    """or the sizes of the parts"""
    out_dims: Sequence[Dim] | None = None
    """or Dims"""

    def compute(self, x: Tensor) -> Tensor:
        axis = x.dims[x.get_axis_from_description(self.axis, allow_int=False)]
        if axis.dimension is None:
            raise ConfigError("only a static axis can be split, but %r is %s" % (self.axis, axis))
        parts = rf.split(x, axis=axis, out_dims=self._dims_of_parts(axis, axis.dimension))
        self.parts = {str(i): part for i, part in enumerate(parts)}
        return x

    def _dims_of_parts(self, axis: Dim, size: int) -> list[Dim]:
        given = [name for name in ("num_splits", "size_splits", "out_dims") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigError(
                "give one of the options num_splits, size_splits, out_dims; there is %s"
                % (" and ".join(given) or "none")
            )
        sizes: list[Any]
        if self.out_dims is not None:
            sizes = [d.dimension for d in self.out_dims]
        elif self.size_splits is not None:
            sizes = list(self.size_splits)
        elif not isinstance(self.num_splits, int) or self.num_splits < 1 or size % self.num_splits:
            raise ConfigError("num_splits %r does not divide %s" % (self.num_splits, axis))
        else:
            sizes = [size // self.num_splits] * self.num_splits
        if not all(isinstance(n, int) and n >= 0 for n in sizes) or sum(sizes) != size:
            raise ConfigError("the sizes %r of the parts do not add up to that of %s" % (sizes, axis))
        if self.out_dims is not None:
            return list(self.out_dims)
        return [self.make_dim("split%i" % i, n, kind=axis.kind) for i, n in enumerate(sizes)]
