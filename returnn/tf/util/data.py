"""The old home of tensors and dims."""

from returnn.tensor import Dim, FeatureDim, SpatialDim, batch_dim, single_step_dim
from returnn.tensor import Dim as DimensionTag
from returnn.tensor import Tensor as Data
from returnn.tensor.beam import SearchBeam
from returnn.tensor.out_shape import ImplicitDynSizeDim, ImplicitSparseDim, OptionalDim, VerifyOutShapeException

__all__ = [
    "Data",
    "Dim",
    "DimensionTag",
    "FeatureDim",
    "ImplicitDynSizeDim",
    "ImplicitSparseDim",
    "OptionalDim",
    "SearchBeam",
    "SpatialDim",
    "VerifyOutShapeException",
    "batch_dim",
    "single_step_dim",
]
