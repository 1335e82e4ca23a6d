"""Templates from several tensors or from a constant, and the check of ``out_shape``. Part of
:class:`~.tensor.Tensor`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.util.behavior_version import BehaviorVersion, Change

from .dim import Dim, DimError, DimKind, batch_dim
from .out_shape import OutShapeDim, verify_out_shape
from .tensor_flatten import TensorFlatten

if TYPE_CHECKING:
    from typing_extensions import Self


class TensorCommon(TensorFlatten):
    """Class methods that make templates, and checks."""

    @classmethod
    def get_common_data(
        cls,
        sources: Sequence[Self],
        ignore_feature_dim: bool = False,
        allow_broadcast_all_sources: bool = False,
        name: str | None = None,
    ) -> Self | None:
        """
        :param sources: at least one
        :param ignore_feature_dim: features of other sources are taken for that of the first largest one
        :param allow_broadcast_all_sources: else one source must have all axes, from behaviour version 4 on
        :param name: of the result
        :return: template like the first source that has most axes, with those which only others have; None without
            sources
        """
        if not sources:
            return None
        largest = max(sources, key=lambda x: x.batch_ndim)
        res = largest.copy_template(name)
        for x in sources:
            for axis, dim in enumerate(x.dims):
                if ignore_feature_dim and axis == x.feature_dim_axis and res.have_feature_axis():
                    continue
                if res.dims.count(dim) >= x.dims[: axis + 1].count(dim):
                    continue
                new_axis = res._default_new_axis(dim)
                res = res.copy_add_dim_by_tag(dim, unbroadcast=True, axis=new_axis)
                if dim.is_feature_dim and not res.sparse:
                    res.feature_dim_axis = new_axis
        BehaviorVersion.require(
            allow_broadcast_all_sources or res.batch_ndim == largest.batch_ndim,
            "All of %s need more axes to become %r. Allow it explicitly, for instance by out_shape."
            % (list(sources), res),
            Change.NO_BROADCAST_OF_ALL_SOURCES,
        )
        return res

    @classmethod
    def template_from_constant(
        cls,
        x: Any,
        name: str,
        dtype: str | None = None,
        shape: Sequence[Dim | int] | None = None,
        with_batch_dim: bool = False,
        sparse_dim: Dim | None = None,
        feature_dim: Dim | None = None,
    ) -> Self:
        """
        :param x: number or numpy array
        :param name: of the template
        :param dtype: that of x by default; float32 and int32 for numbers
        :param shape: dims or sizes; those of x by default
        :param with_batch_dim: with a batch axis in front
        :param sparse_dim: x are labels of this dim
        :param feature_dim: one of shape; by default the last axis that comes as a size, if x is dense
        :return: template
        """
        if dtype is None:
            dtype = str(x.dtype) if isinstance(x, (numpy.ndarray, numpy.generic)) else _dtype_of_number(name, x)
        dims: list[Dim] = []
        sizes = list(numpy.shape(x) if shape is None else shape)
        for i, size in enumerate(sizes):
            if isinstance(size, Dim):
                dims.append(size)
                continue
            is_feature = i == len(sizes) - 1 and sparse_dim is None and feature_dim is None
            kind = DimKind.Feature if is_feature else DimKind.Spatial
            dims.append(Dim(size, description="%s:static:%i" % (name, i), kind=kind, auto_generated=True))
            if is_feature:
                feature_dim = dims[-1]
        if with_batch_dim and batch_dim not in dims:
            dims.insert(0, batch_dim)
        return cls(name, dims, dtype, sparse_dim=sparse_dim, feature_dim=feature_dim)

    def verify_out_shape(self, out_shape: Collection[OutShapeDim], allow_missing_implicit_dims: bool = False) -> None:
        """
        :param out_shape: all dims, in any order, see :mod:`.out_shape`
        :param allow_missing_implicit_dims: dims that are no axes need not be listed
        :raises VerifyOutShapeException: the sets differ
        """
        verify_out_shape(self, out_shape, allow_missing_implicit_dims=allow_missing_implicit_dims)


def _dtype_of_number(name: str, x: Any) -> str:
    for python_type, dtype in ((bool, "bool"), (int, "int32"), (float, "float32"), (str, "string")):
        if isinstance(x, python_type):
            return dtype
    raise DimError("%s: a constant must be a number or a numpy array, but is %r" % (name, x))
