"""Tensor: a value whose axes are :class:`~returnn.tensor.dim.Dim` objects. Its old name is ``Data``.

A tensor without a raw value is a template. Constructor arguments of old configs (``shape``, ``batch_dim_axis``, ...)
are translated into dims once, in :mod:`.legacy_args`. The methods stand by topic: :mod:`.tensor_base` (what it is,
axes, text),
:mod:`.tensor_copies` (other layouts, templates), :mod:`.tensor_sequences` (lengths, masks, access to the value),
:mod:`.tensor_flatten` (several axes as one), :mod:`.tensor_common` (templates from several tensors, checks).
"""

from __future__ import annotations

from .tensor_base import NotSpecified
from .tensor_common import TensorCommon


class Tensor(TensorCommon):
    """Name, dims, dtype, which dims are time and feature, and a raw value or none."""


__all__ = ["NotSpecified", "Tensor"]
