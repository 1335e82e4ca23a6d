"""What a tensor is: name, dims, dtype, markers, value; its axes, its text. Part of :class:`~.tensor.Tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import axes, legacy_args
from .backend import Backend, backend_of_raw
from .dim import Dim, DimError
from .size_placeholder import SizePlaceholder

if TYPE_CHECKING:
    from typing_extensions import Self

NotSpecified = legacy_args.NotSpecified


class TensorBase:
    """Name, dims, dtype, which dims are time and feature, and a raw value or none."""

    def __init__(
        self,
        name: str | None = None,
        dims: Sequence[Dim] | None = None,
        dtype: str | None = None,
        *,
        sparse_dim: Dim | int | None = None,
        feature_dim: Dim | None = None,
        feature_dim_axis: int | None = NotSpecified,
        time_dim_axis: int | None = NotSpecified,
        raw_tensor: Any = None,
        available_for_inference: bool = True,
        beam: Any = None,
        **legacy: Any,
    ):
        """
        :param name: for people; a key of the data, or that of a layer
        :param dims: with them, ``dtype`` is needed too, and no axis is time or feature by default. Without them, the
            arguments of old configs count: ``shape, dim, sparse, batch_dim_axis, time_dim_axis, feature_dim_axis,
            dim_tags, same_dim_tags_as, vocab, size_placeholder, placeholder``.
        :param dtype: as numpy names it, or "string"
        :param sparse_dim: the values are labels of this dim
        :param feature_dim: one of dims
        :param feature_dim_axis: the same as a number
        :param time_dim_axis: counted with batch; None: no time axis
        :param raw_tensor: value; its axes are in the order of dims
        :param available_for_inference: False for targets
        :param beam: :class:`SearchBeam` in the batch dim, or None
        :raises DimError: arguments that do not fit
        """
        self.name = name or "unnamed"
        self.available_for_inference = available_for_inference
        self.beam = beam
        self.unmerged: Any = None
        """where the batch stands for batch and beam: the tensor with both of them"""
        self.batch = legacy.pop("batch", None)
        self.control_flow_ctx = legacy.pop("control_flow_ctx", None)
        placeholder, sizes = legacy.pop("placeholder", None), legacy.pop("size_placeholder", None)
        self._auto_create_placeholders = legacy.pop("auto_create_placeholders", False)
        legacy.pop("version", None)
        if dims is None:
            resolved = legacy_args.resolve(
                self.name,
                dtype=dtype,
                sparse_dim=sparse_dim,
                feature_dim=feature_dim,
                feature_dim_axis=feature_dim_axis,
                time_dim_axis=time_dim_axis,
                placeholders=self._auto_create_placeholders,
                **legacy,
            )
            self._dims, self.dtype, self.sparse_dim = resolved.dims, resolved.dtype, resolved.sparse_dim
            self._feature_dim_axis, self._time_dim_axis = resolved.feature_dim_axis, resolved.time_dim_axis
        else:
            legacy_args.check_no_more_arguments(self.name, legacy)
            if dtype is None:
                raise DimError("Tensor %r: dtype is needed together with dims" % self.name)
            self._dims, self.dtype = tuple(dims), dtype
            self.sparse_dim = legacy_args.sparse_dim_of(self.name, sparse_dim)
            self._time_dim_axis = None if time_dim_axis is NotSpecified else time_dim_axis
            if feature_dim is not None:
                feature_dim_axis = self.get_axis_from_dim(feature_dim)
            self._feature_dim_axis = None if feature_dim_axis is NotSpecified else feature_dim_axis
            if self._feature_dim_axis is not None:
                self._feature_dim_axis %= len(self._dims)
        self._raw_tensor: Any = None
        if raw_tensor is None:
            raw_tensor = placeholder
        if raw_tensor is not None:
            self.raw_tensor = raw_tensor
        if sizes:
            for axis, size in dict(sizes).items():
                self.size_placeholder[axis] = size

    # ---- value

    @property
    def raw_tensor(self) -> Any:
        """value of some backend, its axes in the order of ``dims``; None: this is a template"""
        return self._raw_tensor

    @raw_tensor.setter
    def raw_tensor(self, raw: Any) -> None:
        if raw is not None:
            backend = backend_of_raw(raw)
            shape = backend.static_shape(raw)
            expected = tuple(d.dimension for d in self._dims)
            if len(shape) != len(expected) or any(
                a is not None and b is not None and a != b for a, b in zip(shape, expected, strict=True)
            ):
                raise DimError("%r: a value of shape %s does not fit" % (self, list(shape)))
            dtype = backend.dtype_name(raw)
            if dtype != self.dtype:
                raise DimError("%r: a value of dtype %s does not fit" % (self, dtype))
        self._raw_tensor = raw

    placeholder = raw_tensor

    @property
    def _raw_backend(self) -> Backend:
        """the backend whose value this is"""
        return backend_of_raw(self._raw_tensor)

    @property
    def size_placeholder(self) -> SizePlaceholder:
        """lengths of the dynamic axes: dict-like, axis without batch -> raw [batch]"""
        return SizePlaceholder(self)

    @size_placeholder.setter
    def size_placeholder(self, sizes: Any) -> None:
        for axis, size in dict(sizes).items():
            self.size_placeholder[axis] = size

    # ---- dims

    @property
    def dims(self) -> tuple[Dim, ...]:
        """in the order of the axes of the raw value"""
        return self._dims

    dim_tags = dims

    @property
    def feature_dim_axis(self) -> int | None:
        """counted with batch"""
        return self._feature_dim_axis

    @feature_dim_axis.setter
    def feature_dim_axis(self, axis: int | None) -> None:
        self._feature_dim_axis = axis if axis is None else axis % len(self._dims)

    @property
    def time_dim_axis(self) -> int | None:
        """counted with batch"""
        return self._time_dim_axis

    @time_dim_axis.setter
    def time_dim_axis(self, axis: int | None) -> None:
        self._time_dim_axis = axis if axis is None else axis % len(self._dims)

    @property
    def time_dim_axis_excluding_batch(self) -> int | None:
        """counted without batch"""
        return None if self._time_dim_axis is None else self.get_batch_axis_excluding_batch(self._time_dim_axis)

    @property
    def batch_dim_axis(self) -> int | None:
        """the axis of a batch dim"""
        return next((i for i, d in enumerate(self._dims) if d.is_batch_dim), None)

    @property
    def feature_dim(self) -> Dim | None:
        """the dim at ``feature_dim_axis``"""
        return None if self._feature_dim_axis is None else self._dims[self._feature_dim_axis]

    @feature_dim.setter
    def feature_dim(self, dim: Dim | None) -> None:
        self._feature_dim_axis = None if dim is None else self.get_axis_from_dim(dim)

    @property
    def time_dim(self) -> Dim | None:
        """the dim at ``time_dim_axis``"""
        return None if self._time_dim_axis is None else self._dims[self._time_dim_axis]

    @property
    def feature_dim_or_sparse_dim(self) -> Dim | None:
        """what the values are about: features, or labels"""
        return self.sparse_dim or self.feature_dim

    @property
    def dim(self) -> int | None:
        """number of features, or of classes"""
        dim = self.feature_dim_or_sparse_dim
        return None if dim is None else dim.dimension

    @property
    def sparse(self) -> bool:
        """whether the values are labels"""
        return self.sparse_dim is not None

    @sparse.setter
    def sparse(self, sparse: bool) -> None:
        if not sparse:
            self.sparse_dim = None
        elif self.sparse_dim is None:
            raise DimError("%r: set sparse_dim instead of sparse" % self)

    @property
    def vocab(self) -> Any:
        """of the sparse dim, else of the feature dim"""
        dim = self.feature_dim_or_sparse_dim
        return None if dim is None else dim.vocab

    @property
    def batch_shape(self) -> tuple[int | None, ...]:
        """static sizes; None: batch, or dynamic"""
        return tuple(None if d.is_batch_dim else d.dimension for d in self._dims)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """like ``batch_shape``, without batch"""
        return tuple(d.dimension for d in self._dims if not d.is_batch_dim)

    @property
    def shape_dense(self) -> tuple[int | None, ...]:
        """like ``shape``; for labels with the number of classes as last axis"""
        return self.shape + ((self.dim,) if self.sparse else ())

    @property
    def batch_shape_dense(self) -> tuple[int | None, ...]:
        """like ``batch_shape``; for labels with the number of classes as last axis"""
        return self.batch_shape + ((self.dim,) if self.sparse else ())

    @property
    def ndim(self) -> int:
        """number of axes without batch"""
        return len(self.shape)

    @property
    def ndim_dense(self) -> int:
        """like ``ndim``, one more for labels"""
        return len(self.shape_dense)

    @property
    def batch_ndim(self) -> int:
        """number of axes"""
        return len(self._dims)

    @property
    def batch_ndim_dense(self) -> int:
        """like ``batch_ndim``, one more for labels"""
        return len(self.batch_shape_dense)

    @property
    def is_batch_major(self) -> bool:
        """batch is the first axis"""
        return self.batch_dim_axis == 0

    @property
    def is_time_major(self) -> bool:
        """time is the first axis"""
        return self._time_dim_axis == 0

    @property
    def is_batch_feature_major(self) -> bool:
        """batch, then feature"""
        return self.batch_dim_axis == 0 and self._feature_dim_axis == 1

    def have_batch_axis(self) -> bool:
        """:return: whether there is one"""
        return self.batch_dim_axis is not None

    def have_time_axis(self) -> bool:
        """:return: whether there is one"""
        return self._time_dim_axis is not None

    def have_feature_axis(self) -> bool:
        """:return: whether there is one"""
        return self._feature_dim_axis is not None

    def have_dim_tag(self, dim: Dim) -> bool:
        """:return: whether it is one of the dims"""
        return dim in self._dims

    # ---- axes by description

    def get_axes_from_description(self, axes_desc: Any, allow_int: bool = True) -> list[int]:
        """
        :param axes_desc: see :mod:`.axes`
        :param allow_int: whether numbers are fine
        :return: axes, counted with batch
        """
        return axes.axes_from_description(self, axes_desc, allow_int=allow_int)

    def get_axis_from_description(self, axis: Any, allow_int: bool = True) -> int:
        """
        :return: the one axis, counted with batch
        :raises DimError: none, or several
        """
        return axes.axis_from_description(self, axis, allow_int=allow_int)

    def get_dim_tag_from_description(self, axis: Any) -> Dim:
        """
        :return: its dim
        """
        return self._dims[self.get_axis_from_description(axis)]

    def get_axis_from_dim(self, dim: Dim) -> int:
        """
        :return: axis of the dim; of the highest match_priority if it is there twice
        :raises DimError: it is not there
        """
        found = [i for i, d in enumerate(self._dims) if d == dim]
        if not found:
            raise DimError("%r has no dim %s" % (self, dim))
        if dim.match_priority:
            found = [i for i in found if self._dims[i] is dim] or found
        return max(found, key=lambda i: (self._dims[i].match_priority, self._dims[i] is dim, -i))

    def get_batch_axis(self, axis: int) -> int:
        """
        :param axis: counted without batch
        :return: counted with batch
        """
        batch_axis = self.batch_dim_axis
        if axis < 0:
            axis += self.ndim
        return axis if batch_axis is None or axis < batch_axis else axis + 1

    def get_batch_axis_excluding_batch(self, axis: int) -> int | None:
        """
        :param axis: counted with batch
        :return: counted without batch; None for the batch axis
        """
        batch_axis = self.batch_dim_axis
        if axis < 0:
            axis += self.batch_ndim
        if batch_axis is None or axis < batch_axis:
            return axis
        return None if axis == batch_axis else axis - 1

    # ---- operators

    if TYPE_CHECKING:  # returnn.frontend.operators installs them

        def _operator(self, other: Any) -> Self: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operator
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _operator
        __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = _operator

        def __neg__(self) -> Self: ...

        def __invert__(self) -> Self: ...

    # ---- text

    def __repr__(self) -> str:
        texts = []
        for axis, dim in enumerate(self._dims):
            marks = []
            if dim.is_batch_dim:
                marks.append("B" if self.beam is None else "B&%r" % self.beam)
            if axis == self._time_dim_axis:
                marks.append("T")
            if axis == self._feature_dim_axis:
                marks.append("F")
            if not dim.is_batch_dim:
                marks.append(dim.short_repr())
            texts.append("|".join(marks))
        keys = []
        if self.dtype != "float32" or self.sparse:
            keys.append("dtype=%r" % self.dtype)
        if self.sparse_dim is not None:
            keys.append("sparse_dim=%r" % self.sparse_dim)
        if not self.available_for_inference:
            keys.append("available_for_inference=False")
        if self.beam is not None:
            keys.append("beam=%r" % self.beam)
        return "Tensor{%s}" % ", ".join(["%r" % self.name, "[%s]" % ",".join(texts)] + keys)

    def short_repr(self) -> str:
        """
        :return: axes and dtype, as the log shows a layer's output
        """
        text = repr(self).split(", ", 1)[1]
        text = text[text.index("[") : _closing_bracket(text) + 1]
        text += " " + self.dtype
        return text + (" sparse_dim=%r" % self.sparse_dim if self.sparse else "")


def _closing_bracket(text: str) -> int:
    depth = 0
    for i, char in enumerate(text):
        depth += {"[": 1, "]": -1}.get(char, 0)
        if char == "]" and depth == 0:
            return i
    raise AssertionError("no closing bracket in %r" % text)
