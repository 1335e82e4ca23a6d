"""Losses of users that compute with raw values: of all real frames, one sequence behind the other.

Such a loss overrides ``get_value`` and maybe ``get_error``; both return a raw scalar, by passing what they have for
each frame (or sequence) through ``self.reduce_func``. That is the sum, and may be replaced by a function that leaves it
as it is. What they find here is computed when they first ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor
from returnn.tensor.backend import Raw, backend_of_raw

if TYPE_CHECKING:
    from returnn.layers.activations import OutputWithActivation


class RawProtocol:
    """Base of :class:`.base.Loss`."""

    recurrent: bool
    output: Tensor
    """of the layer, features last"""
    target: Any = None
    """a Tensor; None: without target"""
    output_with_activation: OutputWithActivation | None = None

    def __init__(self, *, use_flatten_frames: bool):
        """
        :param use_flatten_frames: frames without padding
        """
        self.use_flatten_frames = use_flatten_frames
        self.reduce_func: Callable[[Raw], Raw] = self._sum_of_frames
        self._cache: dict[str, Any] = {}

    def _forget(self) -> None:
        """Output and target are new."""
        self._cache = {}

    def _cached(self, key: str, compute: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    # ---- what a loss of a user overrides

    def get_value(self) -> Raw | None:
        """
        :return: raw scalar, the sum over all frames or sequences; None: only an error
        """
        value = self.value_per_pos()  # type: ignore[attr-defined]
        return None if value is None else self.reduce_func(self._flat(value))

    def get_error(self) -> Raw | None:
        """
        :return: raw scalar, the sum over all frames or sequences; None: no error
        """
        error = self.error_per_pos()  # type: ignore[attr-defined]
        return None if error is None else self.reduce_func(self._flat(error))

    @property
    def has_raw_value(self) -> bool:
        """whether ``get_value`` is what the class defines, not ``value_per_pos``"""
        return self._defines("get_value", "value_per_pos")

    @property
    def has_raw_error(self) -> bool:
        """whether ``get_error`` is what the class defines, not ``error_per_pos``"""
        return self._defines("get_error", "error_per_pos")

    def _defines(self, raw: str, per_pos: str) -> bool:
        own = next(cls for cls in type(self).__mro__ if raw in vars(cls) or per_pos in vars(cls))
        return own is not RawProtocol and raw in vars(own)

    # ---- what it finds

    @property
    def output_flat(self) -> Raw | None:
        """raw [frames, dim]; labels: [frames]. None where the output is softmax: see ``output_before_softmax_flat``"""
        if self._is_softmax():
            return None
        return self._cached("output", lambda: self._flat(self.output))

    @property
    def output_before_softmax_flat(self) -> Raw | None:
        """raw [frames, dim], logits; None where the output is not softmax"""
        known = self.output_with_activation
        if known is None or not self._is_softmax():
            return None
        return self._cached("logits", lambda: self._flat(known.x))

    def _is_softmax(self) -> bool:
        known = self.output_with_activation
        return known is not None and known.is_softmax()

    @property
    def target_flat(self) -> Raw | None:
        """raw [frames, dim]; labels: [frames]. None: without target"""
        if self.target is None:
            return None
        return self._cached("target", lambda: self._flat(self.target))

    @property
    def output_seq_lens(self) -> Raw | None:
        """raw int32 [batch]; None: no time axis"""
        return _seq_lens(self.output)

    @property
    def target_seq_lens(self) -> Raw | None:
        """raw int32 [batch]; None: no time axis, or no target"""
        return None if self.target is None else _seq_lens(self.target)

    # ---- all frames as one axis, and back

    def _flat(self, x: Tensor) -> Raw:
        """
        :param x: with or without time axis
        :return: raw [frames, ..], features last; without time axis [batch, ..]
        """
        x = x.copy_with_feature_last()
        if not _has_frames(x):
            return x.raw_tensor
        x = x.copy_as_batch_major().copy_with_time_dim_axis(1)
        if self.use_flatten_frames:
            return x.get_placeholder_time_flattened()
        return _merge_first_two(x.raw_tensor)

    def _sum_of_frames(self, x: Raw) -> Raw:
        """
        :param x: raw value of each frame (padding counts as zero) or sequence
        :return: raw scalar
        """
        backend = backend_of_raw(x)
        if not self.use_flatten_frames and not self.recurrent and _has_frames(self.output):
            mask = _merge_first_two(self._mask())
            for _ in range(len(backend.static_shape(x)) - 1):
                mask = backend.expand_dims(mask, len(backend.static_shape(mask)))
            x = backend.where(mask, x, backend.convert(0, backend.dtype_name(x)))
        return backend.reduce(x, "sum", None)

    def _per_pos(self, function: Callable[[], Raw | None]) -> Tensor | None:
        """
        :param function: ``get_value`` or ``get_error``
        :return: what it has before ``reduce_func``: [batch, time], or [batch]
        """
        output = self.output
        dims = [d for d in output.dims if d.is_batch_dim]
        per_frame = not self.recurrent and _has_frames(output)
        if per_frame:
            dims.append(output.get_time_dim_tag())
        if output.raw_tensor is None:  # code of users wants values
            return Tensor("per_pos", dims, "float32")
        reduce_func, self.reduce_func = self.reduce_func, lambda x: x
        try:
            raw = function()
        finally:
            self.reduce_func = reduce_func
        if raw is None:
            return None
        backend = backend_of_raw(raw)
        if per_frame:
            mask = self._mask()
            if self.use_flatten_frames:
                raw = backend.boolean_scatter(raw, mask)
            else:
                raw = backend.reshape(raw, [backend.size_of_axis(mask, 0), backend.size_of_axis(mask, 1)])
        return Tensor("per_pos", dims, backend.dtype_name(raw), raw_tensor=raw)

    def _mask(self) -> Raw:
        """:return: bool [batch, time]"""
        return self.output.copy_as_batch_major().copy_with_time_dim_axis(1).get_sequence_mask()


def _has_frames(x: Tensor) -> bool:
    return x.have_batch_axis() and x.have_time_axis()


def _seq_lens(x: Tensor) -> Raw | None:
    return x.get_sequence_lengths() if _has_frames(x) else None


def _merge_first_two(x: Raw) -> Raw:
    backend = backend_of_raw(x)
    sizes = [backend.size_of_axis(x, i) for i in range(len(backend.static_shape(x)))]
    return backend.reshape(x, [-1, *sizes[2:]])
