"""``out_shape`` of configs: which dims a result must have, checked as a set, with marks for what is not an axis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from returnn.util.errors import UserError

from .dim import Dim

if TYPE_CHECKING:
    from .tensor_base import TensorBase


class VerifyOutShapeException(UserError):
    """The dims are not those that the config asked for."""


@dataclass(frozen=True)
class _MarkedDim:
    tag: Dim

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.tag)


class ImplicitSparseDim(_MarkedDim):
    """The values are labels of this dim."""


class ImplicitDynSizeDim(_MarkedDim):
    """Some axis has lengths that depend on this dim, which is not an axis itself."""


class OptionalDim(_MarkedDim):
    """May be there or not."""


OutShapeDim = Dim | ImplicitSparseDim | ImplicitDynSizeDim | OptionalDim


def implicit_dims(x: TensorBase) -> set[OutShapeDim]:
    """
    :return: marks of the dims that the tensor depends on, without having them as axes
    """
    res: set[OutShapeDim] = set()
    if x.sparse_dim is not None:
        res.add(ImplicitSparseDim(x.sparse_dim))
    for dim in x.dims:
        res.update(ImplicitDynSizeDim(d) for d in dim.size_dims or () if d not in x.dims)
    return res


def verify_out_shape(
    x: TensorBase, out_shape: Collection[OutShapeDim], *, allow_missing_implicit_dims: bool = False
) -> None:
    """
    :param x: has the dims to verify
    :param out_shape: all its dims, in any order; marks for implicit dims
    :param allow_missing_implicit_dims: these need not be listed
    :raises VerifyOutShapeException: the sets differ
    """
    implicit = implicit_dims(x)
    remaining: list[OutShapeDim] = [*x.dims, *sorted(implicit, key=repr)]
    dims = "Actual dims: %r\nExpected out_shape: %r" % (set(remaining), set(out_shape))
    for wanted in out_shape:
        found: OutShapeDim = wanted.tag if isinstance(wanted, OptionalDim) else wanted
        if found in remaining:
            remaining.remove(found)
        elif not isinstance(wanted, OptionalDim):
            what = "Dim %r not in self" if isinstance(wanted, Dim) else "%r is not an implicit dim in self"
            raise VerifyOutShapeException("%r verify_out_shape:\n%s\n%s" % (x, dims, what % (wanted,)))
    missing = [d for d in remaining if not (allow_missing_implicit_dims and d in implicit)]
    if missing:
        listed = ", ".join(repr(d if isinstance(d, Dim) else d.tag) for d in missing)
        raise VerifyOutShapeException("%r verify_out_shape missing dims:\n%s\nMissing dims: %s" % (x, dims, listed))
