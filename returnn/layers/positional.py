"""Encodings of positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import is_hidden, visible_dims
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .features import feature_dim_of, time_dim_of
from .history import means_frames_of_loop, number_of_frame, set_length_of_history
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("positional_encoding")
class PositionalEncodingLayer(ConcatInputLayer):
    """Sine and cosine of the position of each frame; Vaswani et al., 2017.

    n = n_out // 2 channels sin(p r_i), then n channels cos(p r_i), r_i = 10000^(-i / (n - 1)), i < n (1 for n = 1); a
    last channel 0 if n_out is odd. p is the number of the frame, from 0; of an input without time axis within a loop,
    that of the frame of the loop.
    Output: axes of the input, n_out in place of its features.
    """

    iterates_itself = True

    axis: Any = None
    """axis whose frames are counted; time by default"""
    add_to_input: bool = False
    """add it to the input; n_out is the feature dim of that"""
    constant: int = -1
    """>= 0: this position for all frames"""
    offset: LayerBase | str | None = None
    """int layer, for instance [batch]: added to the positions"""

    _layer_options = ("offset",)

    @classmethod
    def _source_names(cls, d: dict[str, Any], network: Network) -> list[str]:
        if network.loop is not None:
            d.setdefault("from", ":i")
        return super()._source_names(d, network)

    def compute(self, x: Tensor) -> Tensor:
        out_dim = self._feature_dim(x)
        rest = [d for d in x.dims if d != x.feature_dim]
        position = self._position(x)
        if isinstance(self.offset, LayerBase):
            position = rf.combine(position, "add", self._checked_offset(rest))
        encoding = rf.sinusoidal_encoding(position, feat_dim=out_dim)
        if self.add_to_input:
            return rf.combine(x, "add", encoding)
        dims = [*rest, out_dim] if x.feature_dim is None else [out_dim if d == x.feature_dim else d for d in x.dims]
        template = x.like(None, dims=dims, dtype="float32", sparse_dim=None, feature_dim=out_dim)
        template = self.with_hidden_dims(template, encoding.dims)
        return self._repeated(encoding, template, x)

    def _position(self, x: Tensor) -> Tensor:
        """int32, [axis] or scalar"""
        if self.constant >= 0:
            raw = None if x.raw_tensor is None else self.network.backend.convert(self.constant, "int32")
            return Tensor("position", (), "int32", raw_tensor=raw)
        if means_frames_of_loop(self, x, self.axis):
            return number_of_frame(self)
        axis = time_dim_of(x) if self.axis is None else x.get_dim_tag_from_description(self.axis)
        if axis == x.feature_dim:
            raise ConfigError("axis %r is the feature axis of %s" % (self.axis, x.short_repr()))
        position = rf.range_over_dim(axis, of=x)
        return position.like(position.raw_tensor, sparse_dim=None)

    def _feature_dim(self, x: Tensor) -> Dim:
        if not self.add_to_input:
            out_dim = self.required_out_dim()
            return x.feature_dim if x.feature_dim is not None and x.dim == out_dim.dimension else out_dim
        if x.dtype != "float32":
            raise ConfigError("add_to_input: the input must be float32, but is %s" % x.short_repr())
        return feature_dim_of(x)

    def _checked_offset(self, dims: list[Dim]) -> Tensor:
        assert isinstance(self.offset, LayerBase)
        offset = self._output_of(self.offset)
        if "int" not in offset.dtype or any(d not in dims for d in visible_dims(offset.dims)):
            text = "offset must be int, with no other axes than the input, but layer %r is %s"
            raise ConfigError(text % (self.offset.name, offset.short_repr()))
        return rf.cast(offset.like(offset.raw_tensor, sparse_dim=None), "int32")

    def _repeated(self, encoding: Tensor, template: Tensor, x: Tensor) -> Tensor:
        """:return: encoding, repeated over the axes that it does not have"""
        if x.raw_tensor is None:
            return template
        backend = self.network.backend

        def size(dim: Dim) -> Any:
            if dim.dimension is not None:
                return dim.dimension
            owner = x if dim in x.dims else encoding
            return backend.size_of_axis(owner.raw_tensor, owner.get_axis_from_dim(dim))

        sizes = [size(d) for d in template.dims]
        return template.like(backend.broadcast_to(encoding.copy_compatible_to_dims_raw(template.dims), sizes))


@layer_class("relative_positional_encoding")
class RelativePositionalEncodingLayer(ConcatInputLayer):
    """A vector for each distance of two frames; Shaw et al., 2018.

    out[q, k] = M[cut(k - q, clipping) + clipping], where cut leaves it in [-clipping, clipping]. For ``key_shift`` of
    self_attention. Output [time, time, n_out], without batch. Of an input without time axis within a loop
    [1, frames so far, n_out], q is the frame of the loop.
    Parameters: ``encoding_matrix`` M [2 clipping + 1, n_out], if not ``fixed``.
    """

    iterates_itself = True

    clipping: int = 16
    """distances from here on are one"""
    fixed: bool = False
    """no parameters: row i of M is the encoding of position i, see positional_encoding"""
    forward_weights_init: Any = "glorot_uniform"
    """initial values of M"""
    query_spatial_dim: Dim | None = None
    """of q; the time axis of the input by default"""
    key_value_spatial_dim: Dim | None = None
    """of k; the same axis as for q by default"""
    query_offset: LayerBase | str | int | None = None
    """int, or int layer without axes: number of the first q"""

    _layer_options = ("query_offset",)

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.clipping, int) or self.clipping < 1:
            raise ConfigError("clipping must be an integer > 0, but is %r" % (self.clipping,))
        of_frame = self.query_spatial_dim is None and means_frames_of_loop(self, x)
        positions = self._positions_of_frame() if of_frame else self._positions(x)
        out_dim = self.required_out_dim()
        rows = self.make_dim("distances", 2 * self.clipping + 1)
        if self.fixed:
            table = rf.sinusoidal_positional_encoding(spatial_dim=rows, feat_dim=out_dim)
        else:
            table = self.param("encoding_matrix", [rows, out_dim], init=self.forward_weights_init)
        y = rf.gather(table, indices=positions, axis=rows)
        if of_frame:
            y = rf.expand_dim(y, self.make_dim("query", 1))
            y = y.copy_transpose([y.dims[-1], *y.dims[:-1]])
        y.feature_dim = out_dim
        y.time_dim_axis = next((i for i, d in enumerate(y.dims) if d.is_dynamic and not is_hidden(d)), None)
        return y

    def _positions(self, x: Tensor) -> Tensor:
        query = self.query_spatial_dim or time_dim_of(x)
        key = self.key_value_spatial_dim or query
        key = query.twin() if key == query else key
        return rf.relative_positions(
            query_spatial_dim=query,
            key_value_spatial_dim=key,
            clipping=self.clipping,
            query_offset=self._offset(),
            of=x,
        )

    def _positions_of_frame(self) -> Tensor:
        """[frames so far], of one frame of the loop; moved out of it with the axis of the loop besides"""
        number = number_of_frame(self)
        key = self.key_value_spatial_dim or self.make_dim("history", None)
        set_length_of_history(key, number)
        if number.raw_tensor is None:
            return Tensor("positions", [key], "int32")
        keys = rf.range_over_dim(key)
        keys = keys.like(keys.raw_tensor, sparse_dim=None)
        offset = self._offset()
        if not isinstance(offset, int) or offset:
            number = rf.combine(number, "add", offset)
        return rf.relative_positions_of_frame(number, keys, clipping=self.clipping)

    def _offset(self) -> Tensor | int:
        if self.query_offset is None:
            return 0
        if not isinstance(self.query_offset, LayerBase):
            if not isinstance(self.query_offset, int):
                raise ConfigError("query_offset must be an int or a layer, but is %r" % (self.query_offset,))
            return self.query_offset
        x = self._output_of(self.query_offset)
        if "int" not in x.dtype or visible_dims(x.dims):
            raise ConfigError("query_offset must be an int without axes, but is %s" % x.short_repr())
        return rf.cast(x, "int32")
