"""Edit distances of labels that are chosen frame by frame, to the targets."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.registry import layer_class
from returnn.layers.target import get_target_value
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError

from .initial import with_all_dims


class _DistanceLayer(LayerBase):
    """What both have in common: a target, as a whole sequence, and a label that does not count."""

    blank_idx: int | None = None
    """a label that counts as none"""

    def used_layers(self) -> list[LayerBase]:
        return [*super().used_layers(), *getattr(self, "_target_layers", {}).values()]

    def _targets(self) -> tuple[Tensor, Dim, Dim]:
        """
        :return: labels [batch, time]; their time dim; that of rows of the table, one more
        """
        if not self.target:
            raise ConfigError('option "target" is missing: labels [batch, time]')
        targets = get_target_value(self)
        time = targets.time_dim
        if not targets.sparse or time is None or targets.batch_ndim != 2 or not targets.have_batch_axis():
            raise ConfigError("target %r must be labels [batch, time], but is %s" % (self.target, targets.short_repr()))
        return (targets if self.has_values else targets.copy_template()), time, time + 1


@layer_class("edit_distance_table")
class EditDistanceTableLayer(_DistanceLayer):
    """In a recurrent unit: Levenshtein distances of the labels up to this frame from the first 0, 1, .. N labels of the
    target: int32 [batch, N + 1], a row of the table that computes the distance of two sequences.

    ``prev:`` of the layer is 0, 1, .. N at the first frame. Behind the end of a sequence, the row stays as it is.
    """

    debug: bool = False
    """has no effect"""

    def compute(self, *sources: Tensor) -> Tensor:
        labels = self._only_source(sources)
        if not labels.sparse:
            raise ConfigError("the source must be labels, but is %s" % labels.short_repr())
        targets, target_dim, row_dim = self._targets()
        if not self.is_stepping:
            raise ConfigError("the layer gets one label at a time: it works only within the unit of a recurrent layer")
        dims = [*(d for d in targets.dims if d.is_batch_dim), row_dim]
        template = Tensor("row", dims, "int32", feature_dim=row_dim)
        before = self.previous("row", template, lambda: _labels_of(row_dim))
        row = rf.next_edit_distances(
            before, labels=_plain(labels), targets=_plain(targets), target_dim=target_dim, row_dim=row_dim
        )
        if self.has_values:
            row = self._kept(row, before, labels)
        order = [d for d in dims if d in row.dims]
        row = row.copy_transpose([*order[:-1], *(d for d in row.dims if d not in dims), row_dim])
        row.feature_dim = row_dim
        self.leave("row", row)
        return row

    def _kept(self, row: Tensor, before: Tensor, labels: Tensor) -> Tensor:
        run = self.network.require_loop().run
        assert run is not None
        ended = run.ended_before()
        if ended is not None:
            row = rf.where(ended, before, row)
        if self.blank_idx is not None:
            row = rf.where(rf.compare(_plain(labels), "==", self.blank_idx), before, row)
        return row

    @classmethod
    def get_rec_initial_output(
        cls, *, batch_dim: Any, name: str, output: Tensor, rec_layer: Any, initial_output: Any = None, **kwargs: Any
    ) -> Any:
        row_dim = output.feature_dim
        assert row_dim is not None
        return with_all_dims(_labels_of(row_dim), output.dims, kwargs["network"].require_loop().run).raw_tensor


def _labels_of(dim: Dim) -> Tensor:
    return _plain(rf.range_over_dim(dim))


def _plain(x: Tensor) -> Tensor:
    return x.like(x.raw_tensor, sparse_dim=None, dtype="int32") if x.dtype == "int32" else rf.cast(x, "int32")


@layer_class("optimal_completions")
class OptimalCompletionsLayer(_DistanceLayer):
    """For each label, the least number of mistakes with it as next one: the least distance in the next row of the table
    of the layer edit_distance_table. Int32 [batch, labels].

    Source: the row before, for instance ``prev:table``.
    """

    debug: bool = False
    """has no effect"""

    def compute(self, *sources: Tensor) -> Tensor:
        before = self._only_source(sources)
        targets, target_dim, row_dim = self._targets()
        if row_dim not in before.dims:
            raise ConfigError(
                "the source must be a row of a layer edit_distance_table with the same target, [batch, %s], but is %s"
                % (row_dim, before.short_repr())
            )
        label_dim = self._labels(targets)
        distances = rf.completion_distances(
            before,
            targets=_plain(targets),
            target_dim=target_dim,
            row_dim=row_dim,
            label_dim=label_dim,
            blank_index=self.blank_idx,
        )
        res = distances.copy_transpose([label_dim if d == row_dim else d for d in before.dims])
        res.feature_dim, res.time_dim_axis = label_dim, None
        return res

    def _labels(self, targets: Tensor) -> Dim:
        dim = targets.sparse_dim
        assert dim is not None
        size = dim.require_static()
        if self.blank_idx is None or self.blank_idx < size:
            return dim
        if self.blank_idx != size:
            raise ConfigError(
                "blank_idx must be at most %i, the label behind those of the target, but is %r" % (size, self.blank_idx)
            )
        return self.make_dim("labels", size + 1, kind=DimKind.Feature)
