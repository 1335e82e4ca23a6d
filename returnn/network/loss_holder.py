"""LossHolder: one loss of one layer, summed and beside its norm factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.target import get_target_value
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase
    from returnn.layers.loss import Loss


class LossHolder:
    """Value, error and norm factor of a loss: scalars, made on demand."""

    def __init__(self, *, name: str, loss: Loss, layer: LayerBase):
        """
        :param name: for the log: path of the layer in the root network
        :param loss: of the layer, not initialised yet
        :param layer: built
        """
        self.name = name
        self.loss = loss
        self.layer = layer
        self._cache: dict[str, Any] = {}
        self.init()

    def init(self) -> None:
        """Takes output and target of this step."""
        self._cache.clear()
        layer = self.layer
        target = get_target_value(layer) if self.loss.need_target else None
        self.loss.init(layer.output, layer.output_before_activation, target, layer)

    def get_layer(self) -> LayerBase:
        """
        :return: whose output is measured
        """
        return self.layer

    def get_only_on_eval(self) -> bool:
        """
        :return: whether this is not computed in training
        """
        return self.layer.only_on_eval

    def _cached(self, key: str, compute: Any) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def get_loss_value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked
        """
        return self._cached("value", self.loss.value_per_pos)

    def get_error_value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked
        """
        return self._cached("error", self.loss.error_per_pos)

    def get_loss_value(self) -> Any:
        """
        :return: raw scalar: the sum, not scaled; None: the loss only has an error
        """
        return self._cached("sum", lambda: self._sum(self.get_loss_value_per_pos()))

    get_loss_value_for_fetch = get_loss_value

    def get_error_value(self) -> Any:
        """
        :return: raw scalar: the sum; None: the loss has no error
        """
        return self._cached("error sum", lambda: self._sum(self.get_error_value_per_pos()))

    def _sum(self, per_pos: Tensor | None) -> Any:
        if per_pos is None:
            return None
        total = rf.reduce_sum(per_pos, axis=per_pos.dims) if per_pos.dims else per_pos
        if self.get_only_on_eval():
            zero = Tensor("zero", (), total.dtype, raw_tensor=total._raw_backend.convert(0, total.dtype))
            total = self.layer.network.cond_on_train(lambda: zero, lambda: total)
        return self.layer.network.check_numerics(total.raw_tensor, "loss of layer %r" % self.name)

    def get_normalized_loss_value_per_seq(self) -> Any:
        """
        :return: raw [B]: sum over a sequence / number of its frames, as :func:`get_norm_factor` counts them; None: the
            loss only has an error
        """
        return self._cached("sequences", lambda: self._mean_per_seq(self.get_loss_value_per_pos()))

    def get_normalized_error_value_per_seq(self) -> Any:
        """
        :return: raw [B]: sum over a sequence / number of its frames; None: the loss has no error
        """
        return self._cached("error sequences", lambda: self._mean_per_seq(self.get_error_value_per_pos()))

    def _mean_per_seq(self, per_pos: Tensor | None) -> Any:
        if per_pos is None:
            return None
        if not per_pos.have_batch_axis():
            raise ConfigError("loss of layer %r: no value per sequence, it has no batch axis" % self.name)
        within_seq = [dim for dim in per_pos.dims if not dim.is_batch_dim]
        total = rf.reduce_sum(per_pos, axis=within_seq) if within_seq else per_pos
        frames = self._counted_frames_dim()
        if frames is None:
            return total.raw_tensor
        if frames.is_static:
            return (total / float(frames.require_static())).raw_tensor
        assert frames.dyn_size_ext is not None
        return (total / rf.cast(rf.maximum(frames.dyn_size_ext, 1), total.dtype)).raw_tensor

    def get_loss_value_for_objective(self) -> Any:
        """
        :return: raw scalar: scaled, and normalised if the loss says so; None: not part of the objective
        """
        return self._cached("objective", self._objective)

    def _objective(self) -> Any:
        if self.loss.scale == 0:
            return None
        value = self.get_loss_value()
        if value is None:
            return None
        backend = self.layer.network.backend
        if self.loss.scale != 1:
            value = backend.binary("mul", value, float(self.loss.scale))
        if self.loss.use_normalized_loss:
            value = backend.binary("mul", value, self.get_norm_factor())
        return value

    def get_norm_factor(self) -> Any:
        """
        :return: raw float scalar, or a number: 1 / frames of the targets; without target those of the output; without
            time 1 / sequences
        """
        return self._cached("norm", self._norm_factor)

    def _norm_factor(self) -> Any:
        loss, backend = self.loss, self.layer.network.backend
        if loss.custom_norm_factor is not None:
            factor = loss.custom_norm_factor
            return factor(self=loss, output=loss.output, layer=self.layer) if callable(factor) else float(factor)
        if loss.custom_inv_norm_factor is not None:
            inverse = rf.cast(loss.custom_inv_norm_factor.output, "float32")
            return backend.unary("reciprocal", rf.reduce_sum(inverse, axis=inverse.dims).raw_tensor)
        output, frames = loss.output, self._counted_frames_dim()
        if frames is not None:
            return _inverse(backend, _number_of_frames(frames, loss.norm_dims(), backend))
        if output.have_batch_axis():
            return _inverse(backend, output.get_batch_dim())
        dynamic = [d for d in output.dims if d.is_dynamic]
        if len(dynamic) == 1:
            return _inverse(backend, _number_of_frames(dynamic[0], output, backend))
        return 1.0

    def _counted_frames_dim(self) -> Dim | None:
        """
        :return: the axis whose frames are the norm; None: sequences are
        """
        counted, output = self.loss.norm_dims(), self.loss.output
        if output.have_batch_axis() and output.have_time_axis() and counted.have_time_axis():
            return counted.get_time_dim_tag()
        return None


def _number_of_frames(dim: Any, x: Tensor, backend: Any) -> Any:
    if dim.dyn_size_ext is None:
        return backend.binary("mul", x.get_batch_dim(), x.get_dim(x.get_axis_from_dim(dim)))
    return backend.reduce(dim.dyn_size, "sum", None) if dim.dyn_size_ext.dims else dim.dyn_size


def _inverse(backend: Any, count: Any) -> Any:
    return backend.binary("truediv", 1.0, backend.cast(backend.convert(count), "float32"))
