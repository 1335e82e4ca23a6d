"""LossHolder: one loss of one layer, summed and beside its norm factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.beam_border import beam_of, merge_beam
from returnn.layers.target import get_target_value
from returnn.tensor import Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase
    from returnn.layers.loss import Loss

    from .network import Network


class LossHolder:
    """Value, error and norm factor of a loss: scalars, made on demand."""

    layer: LayerBase

    def __init__(
        self,
        *,
        name: str,
        loss: Loss,
        layer: LayerBase | None = None,
        layer_output: Tensor | None = None,
        reduce_func: Callable[[Any], Any] | None = None,
        loss_value: Any = None,
        error_value: Any = None,
        norm_factor: Any = None,
        only_on_eval: bool | None = None,
        network: Network | None = None,
    ):
        """
        :param name: for the log: path of the layer in the root network
        :param loss: of the layer, not initialised yet
        :param layer: built; else :func:`init` gets it
        :param layer_output: what is measured, if it is not the output of the layer
        :param reduce_func: raw value per frame or sequence, padding not masked -> raw scalar; by default the sum of all
            that is not padding
        :param loss_value: raw scalar, instead of that of the loss
        :param error_value: raw scalar, instead of that of the loss
        :param norm_factor: raw scalar, instead of that of the loss
        :param only_on_eval: not computed in training; by default as the layer has it
        :param network: that of the layer by default
        """
        self.name = name
        self.loss = loss
        self._layer_output = layer_output
        self._reduce_func = reduce_func
        self._only_on_eval = only_on_eval
        self._network = network
        given = {"sum": loss_value, "error sum": error_value, "norm": norm_factor}
        self._given = {key: value for key, value in given.items() if value is not None}
        self._cache: dict[str, Any] = {}
        if layer is not None:
            self.init(layer)

    def init(self, layer: LayerBase | None = None) -> None:
        """
        Takes output and target of this step.

        :param layer: the one from before by default
        """
        if layer is not None:
            self.layer = layer
        layer = self.layer
        self.drop_values()
        loss = self.loss
        has_target = loss.need_target or (loss.uses_given_target and layer.target)
        target = get_target_value(layer) if has_target else None
        output = layer.output if self._layer_output is None else self._layer_output
        if target is not None and output.unmerged is not None:  # the same for each hypothesis
            target = merge_beam(target, beam_of(output.unmerged))
        self.loss.init(output, layer.output_before_activation, target, layer)

    def drop_values(self) -> None:
        """Forgets what it has computed."""
        self._cache = dict(self._given)

    @property
    def network(self) -> Network:
        """that computes the loss"""
        return self._network or self.layer.network

    def get_layer(self) -> LayerBase:
        """
        :return: whose output is measured
        """
        return self.layer

    def get_only_on_eval(self) -> bool:
        """
        :return: whether this is not computed in training
        """
        return self.layer.only_on_eval if self._only_on_eval is None else self._only_on_eval

    def _cached(self, key: str, compute: Any) -> Any:
        if key not in self._cache:
            with self.network.ops_of_layer(self.layer.name):
                self._cache[key] = compute()
        return self._cache[key]

    def get_loss_value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked
        """
        return self._cached("value", self.loss.get_value_per_pos)

    def get_error_value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked
        """
        return self._cached("error", self.loss.get_error_per_pos)

    def get_loss_value(self) -> Any:
        """
        :return: raw scalar: the sum, not scaled; None: the loss only has an error
        """
        return self._cached("sum", self._value)

    def _value(self) -> Any:
        if self.loss.has_raw_value and self._reduce_func is None:
            return self._in_eval(self.loss.get_value())
        return self._in_eval(self._sum(self.get_loss_value_per_pos()))

    get_loss_value_for_fetch = get_loss_value

    def get_error_value(self) -> Any:
        """
        :return: raw scalar: the sum; None: the loss has no error
        """
        return self._cached("error sum", self._error)

    def _error(self) -> Any:
        if self.loss.has_raw_error and self._reduce_func is None:
            return self._in_eval(self.loss.get_error())
        return self._in_eval(self._sum(self.get_error_value_per_pos()))

    def _sum(self, per_pos: Tensor | None) -> Any:
        if per_pos is None:
            return None
        if self._reduce_func is not None:
            return self._reduce_func(per_pos.raw_tensor)
        return (rf.reduce_sum(per_pos, axis=per_pos.dims) if per_pos.dims else per_pos).raw_tensor

    def _in_eval(self, total: Any) -> Any:
        """
        :param total: raw scalar, or None
        :return: 0 in training, if the loss is for evaluation only
        """
        if total is None:
            return None
        if self.get_only_on_eval():
            backend = backend_of_raw(total)
            zero = backend.convert(0, backend.dtype_name(total))
            total = self.network.cond_on_train(lambda: zero, lambda: total)
        return self.network.check_numerics(total, "loss of layer %r" % self.name)

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
        frames = self.loss.frames_dim()
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
        backend = self.network.backend
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
        return self._cached("norm", lambda: self.loss.loss_norm_factor)
