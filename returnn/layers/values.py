"""Layers that pass their input on: as another dtype, or after something else was computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from .base import LayerBase

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


def checked_dtype(dtype: str) -> str:
    """
    :param dtype: option of a layer
    :return: the same
    :raises ConfigError: no dtype of numbers
    """
    if dtype not in DTYPES:
        near = did_you_mean(str(dtype), DTYPES)
        raise ConfigError("unknown dtype %r.%s Dtypes: %s" % (dtype, near, ", ".join(DTYPES)))
    return dtype


@layer_class("cast")
class CastLayer(ConcatInputLayer):
    """The input as another dtype. Labels as floats are plain numbers."""

    dtype: str | None = None
    """for instance "float32"; must be given"""

    def compute(self, x: Tensor) -> Tensor:
        if self.dtype is None:
            raise ConfigError('option "dtype" is missing')
        dtype = checked_dtype(self.dtype)
        y = rf.cast(x, dtype)
        stay_labels = x.sparse and "float" not in dtype and "complex" not in dtype
        return y.like(y.raw_tensor, sparse_dim=x.sparse_dim) if stay_labels else y


@layer_class("identity")
class IdentityLayer(ConcatInputLayer):
    """The input, once the layers of ``control_dependencies`` are computed."""

    control_dependencies: Sequence[LayerBase] | LayerBase = ()
    """layers that are computed first"""
    _layer_options = ("control_dependencies",)

    def compute(self, x: Tensor) -> Tensor:
        named: Any = self.control_dependencies
        layers = named if isinstance(named, (list, tuple)) else [named]
        return rf.identity_after(x, [self._output_of(layer) for layer in layers])
