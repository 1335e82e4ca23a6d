"""What a layer inside of a loop over frames has besides its output: values that it hands on to the next frame.

Layers of users override these methods, and call those of their base class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .base import LayerBase


class RecProtocol:
    """Part of :class:`~returnn.layers.base.LayerBase`."""

    rec_vars_outputs: dict[str, Any]
    """name -> raw value for the next frame, as :func:`get_rec_initial_extra_outputs` names them"""
    _rec_previous_layer: LayerBase | None = None
    """this layer at the frame before: its ``rec_vars_outputs`` are there"""

    @classmethod
    def get_rec_initial_output(
        cls, *, batch_dim: Any, name: str, output: Tensor, rec_layer: Any, initial_output: Any = None, **kwargs: Any
    ) -> Any:
        """
        The output of the frame before the first one.

        :param batch_dim: raw scalar: number of sequences, with a beam times its size
        :param name: of the layer
        :param output: template of a frame; its axes besides batch are static
        :param rec_layer: layer with the loop
        :param initial_output: option: None or "zeros", "ones", or a number
        :return: raw value, axes as in ``output``
        :raises ConfigError: labels need ``initial_output``; or it is none of these
        """
        if initial_output is None and output.sparse:
            raise ConfigError(
                "layer %r: you must explicitly provide an initial output value for sparse data %s"
                % (name, output.short_repr())
            )
        value = {None: 0, "zeros": 0, "ones": 1}.get(initial_output, initial_output)
        if not isinstance(value, (int, float)):
            raise ConfigError('layer %r: initial_output must be a number, "zeros" or "ones": %r' % (name, value))
        shape = [batch_dim if dim.is_batch_dim else dim.require_static() for dim in output.dims]
        return rec_layer.network.backend.full(shape, value, output.dtype)

    @classmethod
    def get_rec_initial_extra_outputs(cls, *, batch_dim: Any, rec_layer: Any, **kwargs: Any) -> dict[str, Any]:
        """
        :param batch_dim: raw scalar: number of sequences, with a beam times its size
        :param rec_layer: layer with the loop
        :param kwargs: options of the layer
        :return: name -> raw value (or nested ones) before the first frame, batch first; {}: none
        """
        return {}

    @classmethod
    def get_rec_initial_extra_outputs_shape_invariants(cls, *, rec_layer: Any, **kwargs: Any) -> dict[str, Any]:
        """
        :param rec_layer: layer with the loop
        :param kwargs: options of the layer
        :return: name -> shape, for what changes its shape in the loop
        """
        return {}

    def post_process_final_rec_vars_outputs(self, rec_vars_outputs: dict[str, Any], seq_len: Any) -> dict[str, Any]:
        """
        :param rec_vars_outputs: behind the last frame
        :param seq_len: raw [batch]: lengths
        :return: what :func:`get_last_hidden_state` is made of
        """
        return rec_vars_outputs

    def get_hidden_state(self) -> Sequence[Any] | Any | None:
        """
        :return: raw state behind the last frame, in whatever form the layer has it; None: it has none
        """
        return None
