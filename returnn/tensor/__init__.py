"""Tensors whose axes are named by :class:`Dim` objects, never by numbers."""

from . import numpy_backend as _numpy_backend  # noqa: F401 - registers itself
from .dim import Dim, DimError, DimKind, FeatureDim, SpatialDim, batch_dim, single_step_dim
from .out_shape import VerifyOutShapeException
from .tensor import Tensor
from .tensor_dict import TensorDict

__all__ = [
    "Dim",
    "DimError",
    "DimKind",
    "FeatureDim",
    "SpatialDim",
    "Tensor",
    "TensorDict",
    "VerifyOutShapeException",
    "batch_dim",
    "single_step_dim",
]
