"""Constructor arguments of old configs (``shape``, ``dim``, ``sparse``, ``batch_dim_axis``, ...), translated into dims
once.

Axes in ``shape`` do not count the batch; ``*_dim_axis`` do. What is not given follows from the rest: time is the first
dynamic axis, feature the last static one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from returnn.util.suggest import did_you_mean

from . import axes as axis_specs
from .dim import Dim, DimError, DimKind, batch_dim


class _NotSpecified:
    """The argument was not given; None would mean: no such axis."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "<NotSpecified>"


NotSpecified: Any = _NotSpecified()


@dataclass
class ResolvedArgs:
    """What a Tensor needs."""

    dims: tuple[Dim, ...]
    dtype: str
    sparse_dim: Dim | None
    time_dim_axis: int | None
    feature_dim_axis: int | None


def resolve(
    name: str,
    *,
    shape: Sequence[int | None] = NotSpecified,
    dim: int | None = NotSpecified,
    sparse: bool | None = None,
    dtype: str | None = None,
    sparse_dim: Dim | int | None = None,
    feature_dim: Dim | None = None,
    batch_dim_axis: int | None = NotSpecified,
    time_dim_axis: int | None = NotSpecified,
    feature_dim_axis: int | None = NotSpecified,
    dim_tags: Sequence[Dim] | None = None,
    same_dim_tags_as: dict[Any, Dim] | None = None,
    vocab: Any = None,
    placeholders: bool = False,
    **unknown: Any,
) -> ResolvedArgs:
    """
    :param name: of the tensor; becomes part of the names of automatic dims
    :param placeholders: values will come from outside: named like that
    :return: dims and the rest
    :raises DimError: arguments contradict each other, or are unknown
    """
    check_no_more_arguments(name, unknown)
    if dim is NotSpecified and vocab is not None:
        dim = vocab.num_labels
    if sparse is None:
        sparse = vocab is not None or sparse_dim is not None
    if sparse and sparse_dim is None:
        if dim is NotSpecified:
            raise DimError("Tensor %r: sparse data needs dim, the number of classes" % name)
        sparse_dim = Dim(dim, description=name + ":sparse-dim", kind=DimKind.Feature, vocab=vocab, auto_generated=True)
    sparse_dim = sparse_dim_of(name, sparse_dim)
    dtype = dtype or ("int32" if sparse else "float32")
    dims: list[Any]
    if dim_tags is not None:
        dims = list(dim_tags)
    else:
        if dim is NotSpecified and shape is NotSpecified:
            raise DimError("Tensor %r: give shape, or dim, or dims" % name)
        sizes = _sizes_with_batch(name, shape, dim, sparse, batch_dim_axis, time_dim_axis, feature_dim_axis)
        dims = [batch_dim if size == "B" else None for size in sizes]
    if feature_dim is not None and feature_dim_axis is NotSpecified and feature_dim in dims:
        feature_dim_axis = dims.index(feature_dim)
    rank = len(dims)
    is_batch = [d is not None and d.is_batch_dim for d in dims]
    dynamic = [
        not b and (d.dimension if d else sizes[i]) is None for i, (b, d) in enumerate(zip(is_batch, dims, strict=True))
    ]
    kinds = [None if d is None else d.kind for d in dims]
    time_axis = _resolve_axis(name, "time_dim_axis", time_dim_axis, rank)
    if time_axis is NotSpecified:
        explicit_feature = (
            feature_dim_axis % rank if feature_dim_axis is not NotSpecified and feature_dim_axis is not None else None
        )
        if shape is NotSpecified and dim_tags is None:
            time_axis = next((i for i in range(rank) if not is_batch[i] and i != explicit_feature), None)
        else:
            free = [i for i in range(rank) if dynamic[i] and i != explicit_feature]
            spatial = [i for i in free if kinds[i] is not DimKind.Feature]
            time_axis = next(iter(spatial or free), None)
    feature_axis = _resolve_axis(name, "feature_dim_axis", feature_dim_axis, rank)
    if feature_axis is NotSpecified:
        feature_axis = None if sparse else _default_feature_axis(dims, is_batch, dynamic, time_axis)
    if sparse and feature_axis is not None:
        raise DimError("Tensor %r: sparse data has no feature axis" % name)
    if time_axis is not None and time_axis == feature_axis:
        raise DimError("Tensor %r: axis %i cannot be time and feature at once" % (name, time_axis))
    if dim_tags is None:
        _make_dims(name, dims, sizes, time_axis, feature_axis, placeholders)
    feature = dims[feature_axis] if feature_axis is not None else None
    if feature is not None and dim is not NotSpecified and dim is not None and feature.dimension not in (None, dim):
        raise DimError(
            "Tensor %r: dim is %i, but the feature axis of shape has size %i" % (name, dim, feature.dimension)
        )
    if vocab is not None and feature is not None:
        feature.vocab = vocab
    res = ResolvedArgs(tuple(dims), dtype, sparse_dim, time_axis, feature_axis)
    if same_dim_tags_as:
        _apply_same_dim_tags(name, res, same_dim_tags_as)
    return res


def check_no_more_arguments(name: str, unknown: dict[str, Any]) -> None:
    """
    :raises DimError: naming the first one that is left
    """
    for key in unknown:
        known = ["name", "dims", "dtype", "sparse_dim", "feature_dim", "feature_dim_axis", "time_dim_axis"]
        known += ["shape", "dim", "sparse", "batch_dim_axis", "dim_tags", "same_dim_tags_as", "vocab"]
        known += ["available_for_inference", "raw_tensor", "placeholder", "size_placeholder"]
        raise DimError("Tensor %r: unknown argument %r.%s" % (name, key, did_you_mean(key, known)))


def sparse_dim_of(name: str, sparse_dim: Dim | int | None) -> Dim | None:
    """
    :param sparse_dim: a number of classes is fine too
    :return: a dim
    """
    if isinstance(sparse_dim, int):
        return Dim(sparse_dim, description=name + ":sparse-dim", kind=DimKind.Feature, auto_generated=True)
    return sparse_dim


def _resolve_axis(name: str, key: str, axis: int | None, rank: int) -> Any:
    if axis is NotSpecified or axis is None:
        return axis
    if not -rank <= axis < rank:
        raise DimError("Tensor %r: %s is %i, but there are %i axes" % (name, key, axis, rank))
    return axis % rank


def _sizes_with_batch(
    name: str,
    shape: Any,
    dim: Any,
    sparse: bool,
    batch_dim_axis: Any,
    time_dim_axis: Any,
    feature_dim_axis: Any,
) -> list[Any]:
    """
    :return: per axis its size, None for dynamic ones, "B" for batch
    """
    batch_axis = 0 if batch_dim_axis is NotSpecified else batch_dim_axis
    if shape is not NotSpecified:
        sizes = list(shape)
        if batch_axis is not None:
            rank = len(sizes) + 1
            sizes.insert(batch_axis if batch_axis >= 0 else batch_axis + rank, "B")
        return sizes
    rank = (batch_axis is not None) + (time_dim_axis is not None) + (not sparse)
    sizes = [NotSpecified] * rank
    explicit = [("batch_dim_axis", batch_axis, "B"), ("time_dim_axis", time_dim_axis, None)]
    if not sparse:
        explicit.append(("feature_dim_axis", feature_dim_axis, dim))
    for key, axis, size in explicit:
        axis = _resolve_axis(name, key, axis, rank)
        if axis is NotSpecified or axis is None:
            continue
        if sizes[axis] is not NotSpecified:
            raise DimError("Tensor %r: two of batch, time and feature are on axis %i" % (name, axis))
        sizes[axis] = size
    if time_dim_axis is NotSpecified:
        sizes[sizes.index(NotSpecified)] = None
    return [dim if size is NotSpecified else size for size in sizes]


def _default_feature_axis(
    dims: list[Any], is_batch: list[bool], dynamic: list[bool], time_axis: int | None
) -> int | None:
    marked = [i for i, d in enumerate(dims) if d is not None and d.is_feature_dim]
    if marked:
        return marked[-1]
    free = [i for i in range(len(dims)) if not is_batch[i] and i != time_axis]
    static = [i for i in free if not dynamic[i]]
    return next(reversed(static or free), None)


def _make_dims(
    name: str, dims: list[Any], sizes: list[Any], time_axis: int | None, feature_axis: int | None, placeholders: bool
) -> None:
    """Fills in the dims that were given by size only."""
    spatial_count = 0
    for axis, size in enumerate(sizes):
        if dims[axis] is not None:
            continue
        kind = DimKind.Spatial
        if axis == feature_axis:
            description, kind = "feature:" + name, DimKind.Feature
        else:
            where = (
                "static%i:%s" % (size, name)
                if size is not None
                else ("var:extern_data:" if placeholders else "var-unk:") + name
            )
            description = "time:" + where if axis == time_axis else "spatial%i:%s" % (spatial_count, where)
            spatial_count += 1
        size_dims = (batch_dim,) if size is None and batch_dim in dims and kind is DimKind.Spatial else None
        dims[axis] = Dim(size, description=description, kind=kind, auto_generated=True, size_dims=size_dims)


def _apply_same_dim_tags(name: str, res: ResolvedArgs, same: dict[Any, Dim]) -> None:
    dims = list(res.dims)
    for spec, dim in same.items():
        if not isinstance(dim, Dim):
            raise DimError("Tensor %r: same_dim_tags_as[%r] must be a Dim, but is %r" % (name, spec, dim))
        axis = axis_specs.axis_from_description(res, spec, name=name)
        dims[axis].declare_same_as(dim)
        dims[axis] = dim
    res.dims = tuple(dims)
