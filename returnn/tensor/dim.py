"""Dim: the identity of an axis.

Contract: two axes are the same iff their dims are equal; sizes are a property of a dim, values of dynamic sizes stand
in the
:mod:`~returnn.tensor.run_table`. Arithmetic on dims gives derived dims, kept in a canonical form
(:mod:`~returnn.tensor.dim_math`), so equal expressions are equal dims. ``declare_same_as`` joins two dims for good.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from returnn.log import log
from returnn.util.errors import ConfigError

from . import dim_math
from .run_table import current_table

if TYPE_CHECKING:
    from .tensor import Tensor


class DimError(ConfigError, ValueError):
    """Dims that do not fit. The message names the dims wanted and those present."""


class DimKind(enum.Enum):
    """What an axis is for. Users know it as ``Dim.Types``."""

    Batch = "batch"
    Spatial = "spatial"
    Time = "spatial"  # the old name, an alias
    Feature = "feature"


_BATCH = DimKind.Batch  # looking it up in the enum takes as long as all else in a comparison of dims


class Dim:
    """An axis: static size, dynamic size (lengths, usually one per sequence), or derived from other dims."""

    Types = DimKind
    packed_dims: tuple[Dim, ...] | None = None
    """of what a batch dim is made, see :func:`packed_batch`; None: of sequences"""
    is_beam_dim = False
    """the hypotheses of a search: see :mod:`.hidden_dims`"""

    def __init__(
        self,
        dimension: Any = None,
        *,
        name: str | None = None,
        description: str | None = None,
        kind: DimKind | None = None,
        vocab: Any = None,
        dyn_size_ext: Tensor | None = None,
        dyn_size: Any = None,
        match_priority: int = 0,
        auto_generated: bool = False,
        undefined: bool = False,
        special: bool = False,
        size_dims: tuple[Dim, ...] | None = None,
        expr: dim_math.Expr | None = None,
    ):
        """
        :param dimension: static size; None: dynamic; or the lengths, an int :class:`Tensor`, usually [batch]
        :param name: for people. ``description`` is the same thing.
        :param kind: spatial by default
        :param vocab: labels of the classes that this dim counts; gives the size where ``dimension`` is None
        :param dyn_size_ext: lengths, like ``dimension`` as a tensor
        :param dyn_size: raw lengths [batch]
        :param match_priority: where a dim occurs twice, the axis with the highest one is meant
        :param auto_generated: made by the framework: equal to another such dim of the same description, kind and size
        :param undefined: nothing is known yet; the first dim it is declared the same as tells
        :param special: equal only to itself
        :param size_dims: which dims the lengths have, if they are not known yet
        :param expr: how it derives from other dims; only :mod:`dim_math` passes it
        """
        if dimension is None and vocab is not None:
            dimension = vocab.num_labels
        self.description = name or description or ("static" if isinstance(dimension, int) else "dynamic")
        self.kind = kind or DimKind.Spatial
        self.match_priority = match_priority
        self.auto_generated = auto_generated
        self.undefined = undefined
        self.special = special
        self.expr = expr
        self._vocab = vocab
        self._size: int | None = None
        self._size_dims = size_dims
        self._same_as: Dim | None = None
        self._members: list[Dim] = [self]
        self._derived: dict[Hashable, Dim] = {}
        if dimension is not None and not hasattr(dimension, "dims"):
            if int(dimension) != dimension or (dimension < 0 and not expr):  # -a is fine as an operand
                raise DimError(
                    "Dim %r: size must be an integer >= 0 or None, but is %r" % (self.description, dimension)
                )
            self._size = int(dimension)
        elif dimension is not None:
            dyn_size_ext = dimension
        if dyn_size_ext is not None:
            self.dyn_size_ext = dyn_size_ext
        elif dyn_size is not None:
            self.dyn_size = dyn_size

    # ---- what it is

    @property
    def name(self) -> str:
        """for people; the same as ``description``"""
        return self.description

    @property
    def dimension(self) -> int | None:
        """static size, or None"""
        return self.get_same_base()._size

    size = dimension
    capacity = dimension

    @property
    def vocab(self) -> Any:
        """labels of the classes, or None"""
        return next((d._vocab for d in self.get_same_base()._members if d._vocab is not None), None)

    @vocab.setter
    def vocab(self, vocab: Any) -> None:
        self._vocab = vocab

    @property
    def same_as(self) -> Dim | None:
        """the dim which this one was declared the same as, or None"""
        return self._same_as

    @property
    def derived_from_tag(self) -> Dim | None:
        """the first dim that this one was derived from, or None"""
        return dim_math.first_operand(self.expr) if self.expr else None

    @property
    def is_static(self) -> bool:
        """whether the size is known without data"""
        return self.dimension is not None

    @property
    def is_dynamic(self) -> bool:
        """whether the size depends on the data. Not for the batch dim."""
        return self.dimension is None and not self.is_batch_dim

    @property
    def is_batch_dim(self) -> bool:
        """kind"""
        return self.kind is _BATCH

    @property
    def is_spatial_dim(self) -> bool:
        """kind"""
        return self.kind is DimKind.Spatial

    @property
    def is_feature_dim(self) -> bool:
        """kind"""
        return self.kind is DimKind.Feature

    @property
    def need_masking(self) -> bool:
        """whether sequences differ in length along it, so that some frames are padding"""
        return self.is_dynamic and self.size_dims != ()

    def require_static(self) -> int:
        """
        :return: the static size
        :raises DimError: it is dynamic
        """
        if self.dimension is None:
            raise DimError("%s must have a static size" % self)
        return self.dimension

    def is_dim_known(self) -> bool:
        """
        :return: whether the size is static, or lengths are there
        """
        return self.is_static or self.is_batch_dim or self.dyn_size_ext is not None

    def get_same_base(self) -> Dim:
        """
        :return: the one dim that stands for all that were declared the same
        """
        dim = self
        while dim._same_as is not None:
            dim = dim._same_as
        return dim

    # ---- sizes

    @property
    def size_dims(self) -> tuple[Dim, ...] | None:
        """the dims of the lengths, usually (batch,); () for one length for all; None: not known"""
        if self.is_static:
            return ()
        base = self.get_same_base()
        for dim in base._members:
            if dim._size_dims is not None:
                return dim._size_dims
        size = current_table().get_size(self._table_keys())
        if size is not None:
            return size.dims
        if base.expr:
            return dim_math.size_dims(base.expr)
        return None

    def declare_size_dims(self, dims: tuple[Dim, ...]) -> None:
        """
        :param dims: which dims the lengths will have, where that is not known yet
        """
        if self.size_dims is None:
            self.get_same_base()._size_dims = dims

    def in_merged_batch(self, dims: Sequence[Dim], *, packed: bool = False) -> Dim:
        """
        :param dims: that are merged into one batch axis, the batch dim and others
        :param packed: without their padding
        :return: a dim of the same lengths, but those of each entry of the merged batch: always the same object. The
            caller sets its lengths.
        """
        derived = self.get_same_base()._derived
        key = ("in packed batch" if packed else "in merged batch", *dims)
        if key not in derived:
            derived[key] = Dim(None, description=self.description, kind=self.kind, size_dims=(batch_dim,))
        return derived[key]

    def packed_batch(self, dims: Sequence[Dim]) -> Dim:
        """
        :param dims: the batch dim and this one, in the order in which they are packed
        :return: a batch dim of their real entries, without padding: always the same object. Its ``packed_dims`` are
            these.
        """
        derived = self.get_same_base()._derived
        key = ("packed batch", *dims)
        if key not in derived:
            derived[key] = Dim(None, description="packed", kind=DimKind.Batch)
            derived[key].packed_dims = tuple(dims)
        return derived[key]

    def _table_keys(self) -> list[Hashable]:
        return ["batch"] if self.is_batch_dim else [id(d) for d in self.get_same_base()._members]

    @property
    def dyn_size_ext(self) -> Tensor | None:
        """lengths of the current graph or step, int32, usually [batch]; for the batch dim its size; None: not known"""
        base = self.get_same_base()
        size = current_table().get_size(self._table_keys())
        if size is None and base.expr and base.is_dynamic:
            size = dim_math.evaluate(base.expr)
            if size is not None and size.raw_tensor is not None:
                self.dyn_size_ext = size
        return size

    @dyn_size_ext.setter
    def dyn_size_ext(self, size: Tensor) -> None:
        base = self.get_same_base()
        base._size_dims = size.dims
        table = current_table()
        table.sizes[base._table_keys()[0]] = size
        table.cache[("keep-alive", id(base))] = base  # the keys are ids: the dim must live as long as the table
        if size.raw_tensor is not None:
            table.cache.setdefault(("dim-of-size", id(size.raw_tensor)), (self, size.raw_tensor))

    @property
    def dyn_size(self) -> Any:
        """raw lengths of the current graph or step, [batch], or None"""
        size = self.dyn_size_ext
        return None if size is None else size.raw_tensor

    @dyn_size.setter
    def dyn_size(self, raw: Any) -> None:
        from .tensor import Tensor  # noqa: PLC0415 - the lengths of a dim are a Tensor, the axes of a Tensor are dims

        ndim = len(raw.shape)
        if ndim > 1:
            raise DimError(
                "Dim %r: raw lengths must be a scalar or [batch], but have %i axes" % (self.description, ndim)
            )
        self.dyn_size_ext = Tensor(self.description + ":size", (batch_dim,) * ndim, "int32", raw_tensor=raw)

    def get_dim_value(self) -> Any:
        """
        :return: the size of an axis of this dim: int, or a raw scalar: the longest length
        """
        if self.is_static:
            return self.dimension
        size = self.dyn_size_ext
        if size is None or size.raw_tensor is None:
            raise DimError("The size of %s is not known here." % self)
        if not size.dims:
            return size.raw_tensor
        backend = size._raw_backend

        def longest() -> tuple[Any, Tensor]:
            value = backend.reduce(size.raw_tensor, "max", None)
            return backend.binary("maximum", value, 0), size  # without any sequence it is 0

        return current_table().cached(("max", id(size)), longest)[0]

    def get_mask(self) -> Tensor:
        """
        :return: bool [dims of the lengths.., self]: which frames are real
        """
        from .mask import dim_mask  # noqa: PLC0415 - a mask is a Tensor, see ``dyn_size``

        return dim_mask(self)

    def set_tag_on_size_tensor(self, raw: Any) -> Any:
        """
        Says that these raw lengths are those of this dim.

        :param raw: [batch]
        :return: the same
        """
        if self.dyn_size_ext is None:
            self.dyn_size = raw
        current_table().cache[("dim-of-size", id(raw))] = (self, raw)
        return raw

    @classmethod
    def get_tag_from_size_tensor(cls, raw: Any) -> Dim | None:
        """
        :param raw: lengths
        :return: the dim whose lengths these are, if :func:`set_tag_on_size_tensor` or the framework said so
        """
        found = current_table().find(("dim-of-size", id(raw)))
        return found[0] if found else None

    # ---- identity

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Dim):
            return NotImplemented
        if self.special or other.special:
            return False
        if self.kind is _BATCH and other.kind is _BATCH:
            return True
        # most comparisons in a step are of two dims that nobody declared the same as another: be quick about them
        a = self if self._same_as is None else self.get_same_base()
        b = other if other._same_as is None else other.get_same_base()
        if a is b:
            return True
        if a.kind is not b.kind or a._size != b._size:
            return False
        if a.expr or b.expr:
            return bool(a.expr and b.expr and a.expr == b.expr)
        return a.auto_generated and b.auto_generated and a.description == b.description

    def __hash__(self) -> int:
        if self.special:
            return id(self)
        if self.is_batch_dim:
            return hash(DimKind.Batch)
        base = self.get_same_base()
        if base.expr:
            return hash(base.expr)
        if base.auto_generated:
            return hash((base.kind.value, base._size, base.description))
        return id(base)

    def is_equal(
        self,
        other: Dim,
        *,
        ignore_feature_dim: bool = False,
        allow_same_feature_dim: bool = False,
        allow_same_spatial_dim: bool = False,
        treat_feature_as_spatial: bool = False,
        broadcast_matches: bool = False,
        unknown_spatial_matches: bool = False,
        undefined_matches: bool = False,
        derived_matches: bool = False,
    ) -> bool:
        """
        Equality with the allowances of old configs.

        :param other: the dim to compare with
        :param ignore_feature_dim: two feature dims match, whatever their sizes
        :param allow_same_feature_dim: two feature dims of the same static size match
        :param allow_same_spatial_dim: two spatial dims of the same static size match
        :param treat_feature_as_spatial: kinds feature and spatial are one
        :param broadcast_matches: an automatic dim of size 1 matches all
        :param unknown_spatial_matches: two dynamic spatial dims match if the lengths of one are not known
        :param undefined_matches: an undefined dim matches all
        :param derived_matches: a dim matches what derives from it
        """
        if self == other:
            return True
        if self.special or other.special:
            return False
        if undefined_matches and (self.undefined or other.undefined):
            return True
        if broadcast_matches and any(d.auto_generated and d.dimension == 1 for d in (self, other)):
            return True
        if derived_matches and (self.derived_from_tag == other or other.derived_from_tag == self):
            return True
        kinds = {d.kind for d in (self, other)}
        if treat_feature_as_spatial and DimKind.Feature in kinds:
            kinds = kinds - {DimKind.Feature} | {DimKind.Spatial}
        if len(kinds) != 1:
            return False
        same_size = self.is_static and self.dimension == other.dimension
        if kinds == {DimKind.Feature}:
            return ignore_feature_dim or (allow_same_feature_dim and same_size)
        if kinds == {DimKind.Spatial}:
            if self.is_dynamic and other.is_dynamic:
                return unknown_spatial_matches and not (self.is_dim_known() and other.is_dim_known())
            return allow_same_spatial_dim and same_size
        return False

    def declare_same_as(self, other: Dim) -> None:
        """
        From now on both are one. The base is that of ``other``, except where only this one is known or derived.

        :raises DimError: both have static sizes, and these differ; nothing is changed then
        """
        a, b = self.get_same_base(), other.get_same_base()
        if a is b:
            return
        if a._size is not None and b._size is not None and a._size != b._size:
            raise DimError("declare_same_as: %s and %s have different sizes" % (self, other))
        _warn_about_different_lengths(a, b)
        if (b.undefined and not a.undefined) or (a.expr and not b.expr):
            a, b = b, a
        if b.expr and dim_math.depends_on(b.expr, a) and not (a.expr and dim_math.depends_on(a.expr, b)):
            a, b = b, a
        if b._size is None:
            b._size = a._size
        if b._size_dims is None:
            b._size_dims = a._size_dims
        b.undefined = b.undefined and a.undefined
        a._same_as = b
        b._members.extend(a._members)
        for key, derived in a._derived.items():
            b._derived.setdefault(derived.expr or key, derived)

    def copy(
        self,
        *,
        same_as_self: bool = True,
        description: str | None = None,
        kind: DimKind | None = None,
        match_priority: int | None = None,
    ) -> Dim:
        """
        :param same_as_self: the copy is declared the same as this one
        :param description: of the copy; that of this one by default
        :param kind: the same
        :param match_priority: the same
        :return: a new dim
        """
        dim = Dim(
            self.dimension,
            description=description or self.description,
            kind=kind or self.kind,
            vocab=self.vocab,
            match_priority=self.match_priority if match_priority is None else match_priority,
            size_dims=None if self.is_static else self.size_dims,
        )
        if same_as_self:
            dim.declare_same_as(self)
        return dim

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: Any) -> Dim:
        return self  # an identity cannot be doubled

    def __reduce__(self) -> Any:
        if self is batch_dim:
            return "batch_dim"
        if self is single_step_dim:
            return "single_step_dim"
        return _unpickle_dim, (self.dimension, self.description, self.kind, self.vocab, self.auto_generated)

    # ---- arithmetic

    def __add__(self, other: Dim | int) -> Dim:
        return dim_math.add(self, other)

    def __radd__(self, other: int) -> Dim:
        return dim_math.add(other, self)

    def __sub__(self, other: Dim | int) -> Dim:
        return self.sub_right(other)

    def __mul__(self, other: Dim | int) -> Dim:
        return dim_math.mul(self, other)

    def __rmul__(self, other: int) -> Dim:
        return dim_math.mul(other, self)

    def __neg__(self) -> Dim:
        return dim_math.mul(-1, self)

    def __floordiv__(self, other: Dim | int) -> Dim:
        return dim_math.div(self, other)

    def __truediv__(self, other: Dim | int) -> Dim:
        return dim_math.div(self, other)

    def sub_right(self, other: Dim | int) -> Dim:
        """self - other, taken off the right end"""
        return dim_math.add(self, dim_math.mul(-1, other))

    def sub_left(self, other: Dim | int) -> Dim:
        """-other + self, taken off the left end"""
        return dim_math.add(dim_math.mul(-1, other), self)

    def div_right(self, other: Dim | int) -> Dim:
        """self / other, rounded down; other was the last factor"""
        return dim_math.div(self, other)

    def div_left(self, other: Dim | int) -> Dim:
        """like ``div_right``; other was the first factor"""
        return dim_math.div(self, other, left=True)

    def ceildiv_right(self, other: Dim | int) -> Dim:
        """self / other, rounded up"""
        return dim_math.div(self, other, ceil=True)

    def ceildiv_left(self, other: Dim | int) -> Dim:
        """self / other, rounded up; other was the first factor"""
        return dim_math.div(self, other, ceil=True, left=True)

    def twin(self) -> Dim:
        """
        :return: the dim for the second axis where a tensor would have this one twice (queries and keys of
            self-attention): of the same size, but not equal. Always the same object
        """
        return dim_math.twin(self)

    @property
    def twin_of(self) -> Dim | None:
        """the dim whose :func:`twin` this is, or None"""
        expr = self.get_same_base().expr
        return dim_math.first_operand(expr) if expr is not None and expr.op == "twin" else None

    # ---- text

    def short_repr(self) -> str:
        """
        :return: as in the axes of a Tensor: kind, description, size
        """
        if self.is_batch_dim:
            return "B"
        prefix = "F" if self.is_feature_dim else ""
        if self.dimension is not None:
            size = "(%i)" % self.dimension
        elif self.undefined and self.size_dims is None:
            size = "!"
        else:
            dims = self.size_dims
            size = "[?]" if dims is None else "[%s]" % ",".join(d.short_repr() for d in dims)
        return "%s%r%s" % (prefix, self.description, size)

    def __repr__(self) -> str:
        return "Dim{%s}" % self.short_repr()


def are_identical(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """
    :return: whether both are the same objects in the same order. Quicker than to compare dims, and often enough to know
    """
    return len(a) == len(b) and all(map(operator.is_, a, b))


def _warn_about_different_lengths(a: Dim, b: Dim) -> None:
    if a.expr or b.expr or not (a.is_dynamic and b.is_dynamic):
        return
    raw_a, raw_b = a.dyn_size, b.dyn_size
    if raw_a is not None and raw_b is not None and raw_a is not raw_b:
        text = "Warning: assuming dim tags are same with different size placeholders: %r vs %r"
        print(text % (raw_a, raw_b), file=log.v3)


def _unpickle_dim(dimension: int | None, description: str, kind: DimKind, vocab: Any, auto_generated: bool) -> Dim:
    return Dim(dimension, description=description, kind=kind, vocab=vocab, auto_generated=auto_generated)


def SpatialDim(description: str, dimension: int | None = None, **kwargs: Any) -> Dim:
    """
    :return: a dim of kind spatial
    """
    return Dim(dimension, description=description, kind=DimKind.Spatial, **kwargs)


def FeatureDim(description: str, dimension: int | None = None, **kwargs: Any) -> Dim:
    """
    :return: a dim of kind feature
    """
    return Dim(dimension, description=description, kind=DimKind.Feature, **kwargs)


batch_dim = Dim(description="batch", kind=DimKind.Batch)
single_step_dim = Dim(1, description="single-step", special=True)
