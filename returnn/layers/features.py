"""The feature and the time axis: of an input that must have one; by default, as old configs mean it."""

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


def default_feature_axis(x: Tensor) -> int | None:
    """
    :return: which axis is the features of dense data where nothing says so: of all but batch and time the last static
        one, else the last one
    """
    free = [i for i, d in enumerate(x.dims) if not d.is_batch_dim and i != x.time_dim_axis]
    static = [i for i in free if x.dims[i].is_static]
    return next(reversed(static or free), None)


def default_feature_again(y: Tensor, *, before: Tensor) -> Tensor:
    """
    In old configs, most feature axes are those at the default place: where axes change, the one which is there then.

    :param y: the same values as ``before``, with other axes; its feature axis may change
    :param before: the input of a layer
    :return: y
    """
    if not y.sparse and before.feature_dim_axis == default_feature_axis(before):
        y.feature_dim_axis = default_feature_axis(y)
    return y


def with_markers_by_kind(x: Tensor) -> Tensor:
    """
    :param x: not sparse
    :return: the same; time is its first dynamic axis, feature the last one that was a feature axis, else the last
        static one, else the last one that is not time
    """
    markers = Tensor(x.name, dim_tags=x.dims, dtype=x.dtype)
    x = x.copy()
    x.time_dim_axis, x.feature_dim_axis = markers.time_dim_axis, markers.feature_dim_axis
    return x


def time_dim_of(x: Tensor, what: str = "the input") -> Dim:
    """
    :param x: should have a time axis
    :param what: for the message
    :raises ConfigError: it has none
    """
    if x.time_dim is None:
        raise ConfigError("%s has no time axis: %s" % (what, x.short_repr()))
    return x.time_dim
