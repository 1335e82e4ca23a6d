"""Layers without input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.util.errors import ConfigError

from .base import LayerBase
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("constant")
class ConstantLayer(LayerBase):
    """A constant: number, bool or array, everywhere the same."""

    value: Any = 0.0
    """number, bool, or array"""
    dtype: str | None = None
    """default: bool, int32 or float32 by the value; that of an array"""
    shape: Sequence[int | Dim] | None = None
    """of the output, without batch, filled with the value; default: shape of the value"""
    with_batch_dim: bool = False
    """one for each sequence"""
    sparse_dim: Dim | int | None = None
    """the value is a label of this dim"""
    feature_dim: Dim | None = None
    """which dim of shape is the feature dim"""

    shape_deps: Sequence[LayerBase] | Sequence[str] | str = ()
    """layers that are built first, as they define dims of shape"""

    _default_source = None

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        super().transform_config_dict(d, network, get_layer)
        names = d.get("shape_deps") or []
        d["shape_deps"] = [get_layer(name) for name in ([names] if isinstance(names, str) else names)]

    def _inputs(self) -> list[Tensor]:
        if self.sources:
            raise ConfigError('a constant layer has no source: drop "from"')
        return []

    def compute(self) -> Tensor:
        dtype = self.dtype or _dtype_of(self.value)
        value = numpy.asarray(self.value)
        sizes = value.shape if self.shape is None else self.shape
        dims = [d if isinstance(d, Dim) else self._dim(i, d, len(sizes)) for i, d in enumerate(sizes)]
        if value.ndim and tuple(d.dimension for d in dims) != value.shape:
            raise ConfigError("the value has shape %s, but the option shape is %r" % (value.shape, self.shape))
        sparse_dim = self.sparse_dim
        if isinstance(sparse_dim, int):
            sparse_dim = self.make_dim("sparse", sparse_dim, kind=DimKind.Feature)
        feature = None if sparse_dim else self.feature_dim or next((d for d in dims if d.is_feature_dim), None)
        all_dims = [batch_dim] * self.with_batch_dim + dims
        raw = None
        if self.has_values:
            raw = self._raw_value(value, dtype, dims)
        return Tensor(self.name, all_dims, dtype, sparse_dim=sparse_dim, feature_dim=feature, raw_tensor=raw)

    def _dim(self, i: int, size: int, number: int) -> Dim:
        return self.make_dim("dim%i" % i, size, kind=DimKind.Feature if i == number - 1 else DimKind.Spatial)

    def _raw_value(self, value: numpy.ndarray, dtype: str, dims: list[Dim]) -> Any:
        backend = self.network.backend
        batch = [self.network.get_data_batch_dim()] if self.with_batch_dim else []
        sizes = batch + [d.get_dim_value() for d in dims]
        if not value.ndim and sizes:
            return backend.full(sizes, value.item(), dtype)
        raw = backend.convert(value.astype(dtype), dtype)
        if not batch:
            return raw
        return backend.broadcast_to(backend.expand_dims(raw, 0), sizes)


def _dtype_of(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        return value.dtype.name
    kind = numpy.asarray(value).dtype.kind
    return {"b": "bool", "i": "int32"}.get(kind, "float32")
