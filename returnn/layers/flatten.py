"""Layers that make batch and time one axis, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

from .axes import batch_major
from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from .base import LayerBase


@layer_class("flatten_batch")
class FlattenBatchLayer(ConcatInputLayer):
    """Batch and another axis as one: the real frames of all sequences, without padding.

    Output: that is the batch axis, in front. A layer ``unflatten_batch`` undoes it.
    """

    axis: Any = "T"
    """axis description"""
    batch_major: bool = True
    """sequence by sequence; False: all first frames, all second ones, .."""

    def compute(self, x: Tensor) -> Tensor:
        axis = x.dims[x.get_axis_from_description(self.axis, allow_int=False)]
        if x.batch_dim_axis is None or axis.is_batch_dim:
            raise ConfigError("a batch axis and another one are needed: axis %r of %s" % (self.axis, x.short_repr()))
        batch = x.dims[x.batch_dim_axis]
        dims = [batch, axis] if self.batch_major else [axis, batch]
        return rf.pack_padded(x, dims=dims, out_dim=axis.packed_batch(dims))[0]


@layer_class("unflatten_batch")
class UnflattenBatchLayer(ConcatInputLayer):
    """Undoes ``flatten_batch``: the batch axis becomes batch and time again, in front; zeros behind the ends of the
    sequences. Between the two may stand any layers that keep the batch axis."""

    def compute(self, x: Tensor) -> Tensor:
        batch = None if x.batch_dim_axis is None else x.dims[x.batch_dim_axis]
        if batch is None or batch.packed_dims is None:
            raise ConfigError("the batch of %s does not come from a flatten_batch layer" % x.short_repr())
        return rf.pad_packed(x, in_dim=batch, dims=batch.packed_dims)


@layer_class("unflatten_nd")
class UnflattenNdLayer(ConcatInputLayer):
    """Images, flattened row-major, as images again: the time axis becomes several, of other sizes for each sequence::

        y[b, i, j] = x[b, i * sizes[b, 1] + j]

    Output: batch, the new axes, the rest.
    """

    sizes: LayerBase | None = None
    """layer: int [batch, number of axes], for each sequence the sizes; their product is its length. Must be given"""
    num_axes: int | None = None
    """how many; must be given"""
    in_dim: Any = None
    """axis description: what becomes these; default: "T" """
    _axis: Any = "T"
    out_dims: Sequence[Dim] | None = None
    """the new axes"""
    declare_same_sizes_as: Mapping[int, LayerBase] | None = None
    """number of a new axis -> layer, whose time axis it is"""
    _layer_options = ("sizes",)

    recurrent = True

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        d["_axis"] = d.pop("in_dim", "T")
        super().transform_config_dict(d, network, get_layer)
        bases = d.get("declare_same_sizes_as") or {}
        d["declare_same_sizes_as"] = {
            i: get_layer(layer) if isinstance(layer, str) else layer for i, layer in bases.items()
        }

    def used_layers(self) -> list[LayerBase]:
        bases: list[Any] = list((self.declare_same_sizes_as or {}).values())
        return super().used_layers() + bases

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.num_axes, int):
            raise ConfigError('option "num_axes" is missing')
        sizes = self._output_of_option("sizes")
        which = [d for d in sizes.dims if not d.is_batch_dim]
        if "int" not in sizes.dtype or [d.dimension for d in which] != [self.num_axes]:
            raise ConfigError("sizes must be integers [batch, %i], but are %s" % (self.num_axes, sizes.short_repr()))
        sizes = rf.cast(sizes.like(sizes.raw_tensor, sparse_dim=None), "int32")
        x = batch_major(x)
        axis = x.dims[x.get_axis_from_description(self._axis, allow_int=False)]
        dims = [self._new_dim(i) for i in range(self.num_axes)]
        return rf.unflatten_nd(x, axis=axis, sizes=rf.unstack(sizes, axis=which[0]), out_dims=dims)

    def _new_dim(self, number: int) -> Dim:
        base = (self.declare_same_sizes_as or {}).get(number)
        if base is not None:
            return self._output_of(base).get_time_dim_tag()
        if self.out_dims is not None:
            if len(self.out_dims) != self.num_axes:
                raise ConfigError("out_dims must be %s Dims, but are %r" % (self.num_axes, self.out_dims))
            return self.out_dims[number]
        return self.make_dim("axis%i" % number, None)


@layer_class("split_batch_time")
class SplitBatchTimeLayer(ConcatInputLayer):
    """The batch axis, of size batch * time, becomes batch and time of another layer: y[b, t] = x[b * T + t]."""

    base: LayerBase | None = None
    """layer: batch and time are those of its output; must be given"""
    _layer_options = ("base",)

    def compute(self, x: Tensor) -> Tensor:
        base = self._output_of_option("base")
        if base.batch_dim_axis is None or base.time_dim is None or x.batch_dim_axis is None:
            raise ConfigError("batch and time of %s are to become axes of %s" % (base.short_repr(), x.short_repr()))
        if base.time_dim in x.dims:
            raise ConfigError("%s has the time axis of %s already" % (x.short_repr(), base.short_repr()))
        x = x.copy_as_batch_major()
        y = rf.reshape(x, [x.dims[0]], [base.dims[base.batch_dim_axis], base.time_dim])
        y.time_dim_axis = 1
        return y
