"""Edit distances of a sequence that grows label by label, to all beginnings of another one."""

from __future__ import annotations

from returnn.tensor import Dim, Tensor

from .elementwise import cast, compare, logical_and, minimum, where
from .indexing import gather, scatter
from .packing import places_along, range_over_dim
from .reduce import reduce_min
from .sequences import pad
from .shape import replace_dim

_LARGE = 2**30


def next_edit_distances(before: Tensor, *, labels: Tensor, targets: Tensor, target_dim: Dim, row_dim: Dim) -> Tensor:
    """
    The next row of the table of Levenshtein distances.

    row[j] is the distance of the labels so far from the first j targets: the least of before[j] + 1, row[j - 1] + 1,
    and before[j - 1] plus 1, if the label is not target j. Without the second, all of them are known at once; with it
    they are a running minimum: row[j] = min over k <= j of without[k] + j - k.

    :param before: int32 [.., row_dim]: distances without the label; of no labels 0, 1, 2, ..
    :param labels: int [..]
    :param targets: int [batch, target_dim]
    :param target_dim: of the targets
    :param row_dim: target_dim + 1
    :return: int32 [.., row_dim]
    """
    substituted = _without_last(before, target_dim, row_dim) + cast(compare(targets, "!=", labels), "int32")
    substituted, _ = pad(substituted, axes=target_dim, padding=[(1, 0)], out_dims=row_dim, value=_LARGE)
    without = minimum(before + 1, substituted)
    other_dim = Dim(row_dim.dimension, description="row")
    if row_dim.dyn_size_ext is not None:
        other_dim.dyn_size_ext = row_dim.dyn_size_ext
    places = places_along(row_dim, before)
    other_places = replace_dim(places, in_dim=row_dim, out_dim=other_dim)
    from_there = replace_dim(without, in_dim=row_dim, out_dim=other_dim) + (places - other_places)
    is_before = compare(other_places, "<=", places)
    return reduce_min(where(is_before, from_there, _LARGE), axis=other_dim, use_mask=False)


def completion_distances(
    before: Tensor, *, targets: Tensor, target_dim: Dim, row_dim: Dim, label_dim: Dim, blank_index: int | None = None
) -> Tensor:
    """
    For each label, the least distance of the labels so far and this one from any beginning of the targets. That is the
    least distance without it, if it goes on from there as the targets do, else 1 more.

    :param before: int32 [.., row_dim]: see :func:`next_edit_distances`
    :param targets: int [batch, target_dim]
    :param target_dim: of the targets
    :param row_dim: target_dim + 1
    :param label_dim: all labels
    :param blank_index: a label that does not count
    :return: int32 [.., label_dim]
    """
    least = reduce_min(before, axis=row_dim)
    is_best = cast(compare(_without_last(before, target_dim, row_dim), "==", least), "int32")
    hits = scatter(is_best, indices=targets, indices_dim=target_dim, out_dim=label_dim)
    is_wrong = compare(hits, "==", 0)
    if blank_index is not None:
        labels = range_over_dim(label_dim)
        is_wrong = logical_and(is_wrong, compare(labels.like(labels.raw_tensor, sparse_dim=None), "!=", blank_index))
    return least + cast(is_wrong, "int32")


def _without_last(row: Tensor, target_dim: Dim, row_dim: Dim) -> Tensor:
    """:return: [.., target_dim]"""
    return gather(row, indices=places_along(target_dim, row), axis=row_dim)
