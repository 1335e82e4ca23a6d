"""The feature axis of a layer's input, where there has to be one."""

from __future__ import annotations

from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError


def feature_dim_of(x: Tensor) -> Dim:
    """
    :raises ConfigError: there is no feature axis
    """
    if x.feature_dim is None:
        raise ConfigError("%s has no feature axis" % x.short_repr())
    return x.feature_dim


def static_feature_dim_of(x: Tensor) -> Dim:
    """
    :return: features, or what the labels are of
    :raises ConfigError: there is none, or its size is not static
    """
    dim = x.feature_dim_or_sparse_dim
    if dim is None or dim.dimension is None:
        raise ConfigError("the input %s has no static feature dim" % x.short_repr())
    return dim
