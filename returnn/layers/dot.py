"""Products of two layers, summed over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.hidden_dims import is_hidden
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .axes import same_size
from .base import LayerBase
from .features import with_markers_by_kind
from .registry import layer_class

_OLD_DEFAULTS = {"red1": -1, "red2": -2, "var1": -2, "var2": -1}


@layer_class("dot")
class DotLayer(LayerBase):
    """Sum over the reduced axes of a * b, for two sources a and b.

    Each other axis belongs to one of the two (var1, var2), or to both (shared). Output: shared axes in the order of a,
    then var1, then var2. Frames behind a sequence's end count as zero where they are summed over.
    Where the reduced axis is the dim of the labels of a source, that source selects: out = b[a].
    """

    red1: Any = None
    """axes of a to sum over: description, Dim, or list of these. Default before behaviour version 3: -1; None or "" or
    []: none"""
    red2: Any = None
    """axes of b, as many, in the same order. Default before behaviour version 3: -2"""
    reduce: Any = None
    """instead of ``red1`` and ``red2``, if both have the same description"""
    var1: Any = "auto"
    """axes that only a has; "auto": those that b does not have. Default before behaviour version 3: -2"""
    var2: Any = "auto"
    """axes that only b has; "auto" for both or none. Default before behaviour version 3: -1"""
    add_var2_if_empty: bool | None = None
    """if ``var2`` is none, not "auto": a new last axis of size 1. Default: True; from behaviour version 3 on it is not
    allowed"""
    use_mask: bool = True
    """frames behind a sequence's end count as zero"""
    debug: bool = False
    """print the shapes in each step"""

    def compute(self, *sources: Tensor) -> Tensor:
        if len(sources) != 2:
            raise ConfigError('"from" must list two layers, but has %i' % len(sources))
        a, b = sources
        spec1, spec2 = self._reduced()
        for one, other, spec, swap in ((a, b, spec1, False), (b, a, spec2, True)):
            if one.sparse_dim is not None and isinstance(spec, Dim) and spec == one.sparse_dim and spec in other.dims:
                return self._selected(one, other, spec, labels_last=swap)
        for x, layer in zip(sources, self.sources, strict=True):
            if x.sparse:
                raise ConfigError("%s has labels, and their dim is not what is reduced: %s" % (layer.name, x))
        red1, red2 = self._axes(a, spec1, "red1"), self._axes(b, spec2, "red2")
        self._check_reduced(a, b, red1, red2)
        var1, var2, shared = self._other_axes(a, b, red1, red2)
        y = self._product(a, b, list(zip(red1, red2, strict=True)), var1, var2, shared)
        if self._adds_axis() and not var2:
            y = rf.expand_dim(y, self.make_dim("dummy-var2", 1))
        if any(a.dims[i].is_dynamic for i in red1):
            self.recurrent = True
        y = with_markers_by_kind(y)
        return self._with_shapes_printed(a, b, y) if self.debug else y

    # ---- options

    def _option(self, key: str) -> Any:
        if key in self.kwargs or BehaviorVersion.has(Change.DOT_WITHOUT_INT_AXES):
            return getattr(self, key)
        return "auto" if key.startswith("var") and self.reduce is not None else _OLD_DEFAULTS[key]

    def _reduced(self) -> tuple[Any, Any]:
        if self.reduce is not None:
            if "red1" in self.kwargs or "red2" in self.kwargs:
                raise ConfigError('"reduce" stands for both "red1" and "red2": give either that or these')
            return self.reduce, self.reduce
        for key in ("red1", "red2"):
            message = 'dot: "%s" must be given.' % key
            BehaviorVersion.require(key in self.kwargs, message, Change.DOT_WITHOUT_INT_AXES)
        return self._option("red1"), self._option("red2")

    def _axes(self, x: Tensor, spec: Any, option: str) -> list[int]:
        specs = spec if isinstance(spec, (list, tuple)) else [spec]
        if any(isinstance(s, int) for s in specs):
            message = "dot: axes must be descriptions or Dims, not numbers."
            BehaviorVersion.require(False, message, Change.DOT_WITHOUT_INT_AXES)
        try:
            return x.get_axes_from_description(spec)
        except DimError as exc:
            text = "" if option in self.kwargs or "reduce" in self.kwargs else " (that is the default)"
            raise ConfigError("%s=%r%s: %s" % (option, spec, text, exc)) from exc

    def _adds_axis(self) -> bool:
        if self.add_var2_if_empty:
            message = "dot: add_var2_if_empty is not allowed."
            BehaviorVersion.require(False, message, Change.DOT_WITHOUT_INT_AXES)
        if "auto" in (self._option("var1"), self._option("var2")) or BehaviorVersion.has(Change.DOT_WITHOUT_INT_AXES):
            return False
        return self.add_var2_if_empty is not False

    # ---- which axes belong together

    def _check_reduced(self, a: Tensor, b: Tensor, red1: Sequence[int], red2: Sequence[int]) -> None:
        texts = self._described(a, red1, 0), self._described(b, red2, 1)
        if len(red1) != len(red2):
            raise ConfigError("as many axes of both sources must be reduced, but they are %s, and %s" % texts)
        if not all(same_size(a.dims[i], b.dims[j]) for i, j in zip(red1, red2, strict=True)):
            raise ConfigError("the reduced axes do not fit: %s, and %s" % texts)

    def _described(self, x: Tensor, axes: Sequence[int], source: int) -> str:
        dims = ", ".join(x.dims[i].short_repr() for i in axes)
        return "%s of %s %s" % (dims or "none", self.sources[source].name, x.short_repr())

    def _other_axes(
        self, a: Tensor, b: Tensor, red1: Sequence[int], red2: Sequence[int]
    ) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """
        :return: var1, var2, and pairs of axes that are shared
        """
        specs = self._option("var1"), self._option("var2")
        rest1 = [i for i, d in enumerate(a.dims) if i not in red1 and not is_hidden(d)]
        rest2 = [i for i, d in enumerate(b.dims) if i not in red2 and not is_hidden(d)]
        if "auto" in specs:
            if specs != ("auto", "auto"):
                raise ConfigError('var1 and var2 must both be "auto", or none of them: they are %r and %r' % specs)
            strict = BehaviorVersion.has(Change.DOT_STRICT_DIMS)
            shared = _pairs(a, b, rest1, rest2, strict=strict)
            var1 = [i for i in rest1 if i not in [pair[0] for pair in shared]]
            return var1, [j for j in rest2 if j not in [pair[1] for pair in shared]], shared
        var1, var2 = self._axes(a, specs[0], "var1"), self._axes(b, specs[1], "var2")
        for n, (x, var, red) in enumerate(((a, var1, red1), (b, var2, red2))):
            both = [i for i in var if i in red]
            if both:
                text = "red%i and var%i both have the axis %s" % (n + 1, n + 1, self._described(x, both, n))
                raise ConfigError(text + self._about_defaults())
        shared = _pairs(a, b, [i for i in rest1 if i not in var1], [j for j in rest2 if j not in var2], strict=False)
        left1 = [i for i in rest1 if i not in var1 and i not in [pair[0] for pair in shared]]
        left2 = [j for j in rest2 if j not in var2 and j not in [pair[1] for pair in shared]]
        if left1 or left2:
            texts = self._described(a, left1, 0), self._described(b, left2, 1), self._about_defaults()
            raise ConfigError(
                "all axes that are in neither red nor var must be in both sources, but these have no partner: %s, and "
                "%s%s" % texts
            )
        return var1, var2, shared

    def _about_defaults(self) -> str:
        missing = [key for key in _OLD_DEFAULTS if key not in self.kwargs and not key.startswith("red")]
        if not missing or BehaviorVersion.has(Change.DOT_WITHOUT_INT_AXES):
            return ""
        return '. Set %s (the default is a number, %s), for instance to "auto"' % (
            " and ".join(missing),
            ", ".join(str(_OLD_DEFAULTS[key]) for key in missing),
        )

    # ---- values

    def _product(
        self,
        a: Tensor,
        b: Tensor,
        reduced: Sequence[tuple[int, int]],
        var1: Sequence[int],
        var2: Sequence[int],
        shared: Sequence[tuple[int, int]],
    ) -> Tensor:
        partner = {j: i for i, j in [*reduced, *shared]}
        dims_a, dims_b = list(a.dims), list(b.dims)
        for j in range(b.batch_ndim):
            if j in partner:
                dims_b[j] = dims_a[partner[j]]
            while j not in partner and not is_hidden(dims_b[j]) and dims_b[j] in [*dims_a, *dims_b[:j]]:
                dims_b[j] = dims_b[j].twin()  # the output has this size twice
        zero = [
            a.dims[i] in self.sources[0]._zero_padded_dims or b.dims[j] in self.sources[1]._zero_padded_dims
            for i, j in reduced
            if a.dims[i].is_dynamic
        ]
        order = list(dict.fromkeys(d for d in dims_a + dims_b if is_hidden(d)))
        order += [dims_a[i] for i, _ in shared] + [dims_a[i] for i in var1] + [dims_b[j] for j in var2]
        return rf.matmul(
            a,
            b.like(b.raw_tensor, dims=dims_b, feature_dim=None, time_dim=None),
            reduce=[dims_a[i] for i, _ in reduced],
            use_mask=self.use_mask and not all(zero),
            dim_order=order,
        )

    def _selected(self, labels: Tensor, table: Tensor, dim: Dim, *, labels_last: bool) -> Tensor:
        """:return: rows of the table"""
        y = rf.gather(table, indices=labels, axis=dim)
        own = [d for d in table.dims if d not in labels.dims and d != dim]
        shared = [d for d in table.dims if d in labels.dims]
        rest = [d for d in labels.dims if d not in shared]
        y = y.copy_transpose([*shared, *own, *rest] if labels_last else [*shared, *rest, *own])
        y.time_dim_axis = None if labels.time_dim is None else y.get_axis_from_dim(labels.time_dim)
        return y

    def _with_shapes_printed(self, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
        if y.raw_tensor is None:
            return y
        name = self.get_absolute_name()

        def show(*values: Any) -> None:
            print("dot %s: %s" % (name, " x ".join(str(list(x.shape)) for x in values)))

        return y.like(self.network.observe(show, [a.raw_tensor, b.raw_tensor], y.raw_tensor))


def _pairs(
    a: Tensor, b: Tensor, axes_a: Sequence[int], axes_b: Sequence[int], *, strict: bool
) -> list[tuple[int, int]]:
    """
    :return: axes that are the same: of equal dims, and then, unless strict, those of equal sizes
    """
    found: dict[int, int] = {}
    for fits in [Dim.__eq__] + ([] if strict else [same_size]):
        for i in axes_a:
            free = [j for j in axes_b if j not in found.values() and fits(a.dims[i], b.dims[j])]
            if i not in found and free:
                found[i] = free[0]
    return sorted(found.items())
