"""What happens to a gradient between the backward pass and the optimizer.

The options of one parameter are a :class:`GradientOptions`: those of the config, overridden by ``updater_opts`` of its
layer.
A gradient is dense, or ``IndexedSlices`` (rows of an embedding), which stays sparse wherever the result is the same.
The steps of :class:`GradientProcessor` run in the order of its code; global norms are those of the raw gradients.
"""

from __future__ import annotations

import dataclasses
import numbers
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from returnn.config import Config
from returnn.tf.compat import tf
from returnn.util.errors import UserError

Gradient: TypeAlias = tf.Tensor | tf.IndexedSlices


@dataclasses.dataclass(frozen=True, kw_only=True)
class GradientOptions:
    """How the gradient of a parameter is treated. Names: those of the config and of ``updater_opts``. 0 = off."""

    accum_grad_multiple_step: int = 0
    """Sum the gradients of so many steps, then update once. 0 and 1: update in each step."""
    gradient_noise: float = 0.0
    """Add truncated normal noise, this is sigma; cut at 2 sigma."""
    gradient_clip: float = 0.0
    """Clip each component to plus/minus this."""
    gradient_clip_norm: float = 0.0
    """Scale each tensor down to this L2 norm."""
    gradient_clip_avg_norm: float = 0.0
    """Scale each tensor down to this L2 norm per element."""
    gradient_clip_global_norm: float = 0.0
    """Scale all down by min(1, this / norm of all)."""
    global_norm_tag: str | None = None
    """The global norm is that of the parameters with this tag (``updater_opts["tags"]``). None: of all."""
    gradient_clip_global_norm_tag: str | None = None
    """The same, only for ``gradient_clip_global_norm``. None: as ``global_norm_tag``."""
    gradient_nan_inf_filter: bool = False
    """Replace nan and inf by 0."""
    grad_norm_to_clip_to_zero: float = 0.0
    """Replace the whole gradient by 0 where the global norm is above this, or not finite."""

    @classmethod
    def from_config(cls, config: Config) -> GradientOptions:
        """
        :raises UserError: a value of wrong type, or negative
        """
        readers: dict[type, Callable[[str, Any], Any]] = {bool: config.bool, int: config.int, float: config.float}
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            value = readers.get(type(field.default), config.opt_typed_value)(field.name, field.default)
            values[field.name] = field.default if value is None else _checked(field, value, where="config")
        return cls(**values)

    def override(self, opts: Mapping[str, Any], *, where: str) -> GradientOptions:
        """
        :param opts: some of the fields
        :param where: for error messages
        :raises UserError: a value of wrong type, or negative
        """
        fields = {field.name: field for field in dataclasses.fields(self)}
        values = {name: _checked(fields[name], value, where=where) for name, value in opts.items()}
        return dataclasses.replace(self, **values)

    @classmethod
    def names(cls) -> list[str]:
        """
        :return: of all options
        """
        return [field.name for field in dataclasses.fields(cls)]


def _checked(field: dataclasses.Field, value: Any, *, where: str) -> Any:
    default: Any = field.default
    if default is None:
        expected, good = "a tag (str) or None", value is None or isinstance(value, str)
    elif isinstance(default, bool):
        expected, good = "True or False", value in (True, False)
    elif isinstance(default, int):
        expected, good = "an int >= 0", isinstance(value, numbers.Integral) and int(value) >= 0
    else:
        expected, good = "a number >= 0 (0 is off)", isinstance(value, numbers.Real) and float(value) >= 0
    if not good:
        raise UserError(f"{where}: {field.name} = {value!r} is not possible. It must be {expected}.")
    return value if default is None else type(default)(value)


def parts(grad: Gradient) -> list[tf.Tensor]:
    """
    :return: the tensors a gradient consists of
    """
    return [grad.values, grad.indices] if isinstance(grad, tf.IndexedSlices) else [grad]


def deduplicate(grad: Gradient) -> Gradient:
    """
    :return: sparse gradient where each row occurs once, duplicates summed; a dense one as it is
    """
    if not isinstance(grad, tf.IndexedSlices):
        return grad
    rows, positions = tf.unique(grad.indices)
    values = tf.math.unsorted_segment_sum(grad.values, positions, tf.size(rows))
    return tf.IndexedSlices(values, rows, grad.dense_shape)


def to_dense(grad: Gradient, var: tf.Variable) -> tf.Tensor:
    """
    :param grad: of ``var``
    :param var: gives the number of rows
    :return: of the shape of ``var``
    """
    if not isinstance(grad, tf.IndexedSlices):
        return grad
    dense = tf.math.unsorted_segment_sum(grad.values, grad.indices, var.shape[0])
    dense.set_shape(var.shape)
    return dense


def global_norm(grads: Iterable[Gradient]) -> tf.Tensor:
    """
    :return: float32 scalar, L2 norm of all components of all gradients. Sparse ones enter by their stored rows.
    """
    halves = [tf.cast(tf.nn.l2_loss(parts(grad)[0]), tf.float32) for grad in grads]  # l2_loss = sum(x^2) / 2
    return tf.sqrt(2.0 * tf.add_n(halves))


def make_noise_seeds(names: Sequence[str], *, random_seed: int, step: tf.Tensor) -> dict[str, tf.Tensor]:
    """
    :param names: of parameters
    :param random_seed: of the config
    :param step: int64 scalar
    :return: parameter name -> int64 [2]: a function of (random_seed, name, step) and of nothing else, so that a resumed
        run draws the noise of an unbroken one
    """
    if not names:
        return {}
    hashes = [zlib.crc32(f"gradient_noise {random_seed} {name}".encode()) for name in names]
    pairs = tf.stack([tf.constant(hashes, tf.int64), tf.fill([len(names)], step)], axis=1)
    return dict(zip(names, tf.unstack(pairs), strict=True))


class GradientProcessor:
    """Noise and clipping, for gradients of one control-flow context: a constant is made once and shared."""

    def __init__(self, *, norm_of_tag: Callable[[str | None], tf.Tensor], noise_seeds: Mapping[str, tf.Tensor]):
        """
        :param norm_of_tag: tag or None (all parameters) -> global norm of the raw gradients
        :param noise_seeds: of :func:`make_noise_seeds`, for those with noise
        """
        self._norm_of_tag = norm_of_tag
        self._noise_seeds = noise_seeds
        self._cache: dict[tuple, tf.Tensor] = {}

    def __call__(self, grad: Gradient, var: tf.Variable, opts: GradientOptions) -> Gradient:
        """
        :param grad: raw, or summed over some steps; sparse ones with unique rows
        :param var: whose gradient it is
        :param opts: of this ``var``
        :return: sparse if ``grad`` was and there is no noise
        """
        if opts.gradient_noise:
            grad = self._add_noise(to_dense(grad, var), var, opts.gradient_noise)
        if isinstance(grad, tf.IndexedSlices):
            return tf.IndexedSlices(self._clip(grad.values, var, opts), grad.indices, grad.dense_shape)
        return self._clip(grad, var, opts)

    def _add_noise(self, grad: tf.Tensor, var: tf.Variable, sigma: float) -> tf.Tensor:
        noise = tf.raw_ops.StatelessTruncatedNormal(
            shape=var.shape.as_list(), seed=self._noise_seeds[var.op.name], dtype=grad.dtype
        )
        return grad + noise * self._const(sigma, grad.dtype)

    def _clip(self, x: tf.Tensor, var: tf.Variable, opts: GradientOptions) -> tf.Tensor:
        if opts.gradient_clip:
            low, high = (self._const(value, x.dtype) for value in (-opts.gradient_clip, opts.gradient_clip))
            x = tf.raw_ops.ClipByValue(t=x, clip_value_min=low, clip_value_max=high)
        if opts.gradient_clip_norm:
            x = self._clip_norm(x, opts.gradient_clip_norm)
        if opts.gradient_clip_avg_norm:
            x = self._clip_norm(x, opts.gradient_clip_avg_norm * var.shape.num_elements())
        if opts.gradient_clip_global_norm:
            tag = opts.gradient_clip_global_norm_tag or opts.global_norm_tag
            x = x * self._global_scale(opts.gradient_clip_global_norm, tag, x.dtype)
        if opts.gradient_nan_inf_filter:
            x = tf.where(tf.math.is_finite(x), x, self._const(0.0, x.dtype))
        if opts.grad_norm_to_clip_to_zero:
            keep = self._cached(
                ("keep", opts.grad_norm_to_clip_to_zero, opts.global_norm_tag),
                # False for nan
                lambda: self._norm_of_tag(opts.global_norm_tag) <= opts.grad_norm_to_clip_to_zero,
            )
            x = tf.where(keep, x, self._const(0.0, x.dtype))
        return x

    def _clip_norm(self, x: tf.Tensor, max_norm: float) -> tf.Tensor:
        norm = tf.sqrt(tf.nn.l2_loss(x) * self._const(2.0, x.dtype))
        limit = self._const(max_norm, x.dtype)
        return x * (limit / tf.maximum(norm, limit))

    def _global_scale(self, max_norm: float, tag: str | None, dtype: tf.DType) -> tf.Tensor:
        scale = self._cached(
            ("scale", max_norm, tag), lambda: tf.minimum(1.0, tf.constant(max_norm) / self._norm_of_tag(tag))
        )
        return self._cached(("scale", max_norm, tag, dtype), lambda: tf.cast(scale, dtype))

    def _const(self, value: float, dtype: tf.DType) -> tf.Tensor:
        return self._cached(("const", value, dtype), lambda: tf.constant(value, dtype))

    def _cached(self, key: tuple, make: Callable[[], tf.Tensor]) -> tf.Tensor:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]
