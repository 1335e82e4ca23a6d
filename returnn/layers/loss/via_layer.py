"""A loss whose value and gradient come from another layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Tensor, batch_dim

from .base import Loss, option_error

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase


class ViaLayerLoss(Loss):
    """The value is the loss that another layer has found, ``fast_bw`` for instance. The gradient is output - alignment,
    or what that layer says. Error: that of frames, if the layer has a target.
    """

    class_name = "via_layer"
    recurrent = True
    need_target = False
    uses_given_target = True
    _layer_options = (*Loss._layer_options, "align_layer", "error_signal_layer")

    def __init__(
        self,
        base_network: Any,
        *,
        error_signal_layer: LayerBase | None = None,
        align_layer: LayerBase | None = None,
        loss_wrt_to_act_in: bool | str = False,
        **common: Any,
    ):
        """
        :param base_network: in which the layer is
        :param error_signal_layer: its output is the gradient
        :param align_layer: its output is a soft alignment, the gradient is output - alignment. One of the two must be
            given
        :param loss_wrt_to_act_in: the gradient is for the input of the last function of the layer, not for its output.
            A name says which function that must be, for instance "softmax"
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        if (error_signal_layer is None) == (align_layer is None):
            raise option_error(self, "needs either align_layer or error_signal_layer")
        self.error_signal_layer = error_signal_layer
        self.align_layer = align_layer
        self.loss_wrt_to_act_in = loss_wrt_to_act_in

    def _check_init(self) -> None:
        known, wanted = self.output_with_activation, self.loss_wrt_to_act_in
        if isinstance(wanted, str) and (known is None or known.activation != wanted):
            found = known.activation if known is not None else None
            raise option_error(self, "loss_wrt_to_act_in is %r, but the activation of the layer is %r", wanted, found)

    @property
    def _source(self) -> LayerBase:
        source = self.align_layer or self.error_signal_layer
        assert source is not None
        return source

    def value_per_pos(self) -> Tensor:
        output, source = self.output, self._source
        loss = source.output_loss
        if loss is None and output.raw_tensor is not None:
            raise option_error(self, "layer %r (class %r) comes with no loss", source.name, source.layer_class)
        x = output
        if self.loss_wrt_to_act_in and self.output_with_activation is not None:
            x = self.output_with_activation.x
        signal = self._like_output(source.output)
        if self.align_layer is not None:
            signal = output - signal
        # zero, with this gradient
        term = rf.stop_gradient(signal) * (x - rf.stop_gradient(x))
        term = rf.reduce_sum(term, axis=[d for d in term.dims if not d.is_batch_dim])
        return Tensor("loss", (batch_dim,), "float32", raw_tensor=loss) + term

    def _like_output(self, x: Tensor) -> Tensor:
        """
        :return: x with the dims of the output
        """
        pairs = [(x.feature_dim, feature_dim_of(self.output))]
        if x.have_time_axis() and self.output.have_time_axis():
            pairs.append((x.get_time_dim_tag(), self.output.get_time_dim_tag()))
        for dim, own in pairs:
            if dim is not None and dim != own:
                x = rf.replace_dim(x, in_dim=dim, out_dim=own)
        return x
