"""What a layer inside of a loop over frames has besides its output: values that it hands on to the next frame.

Layers of users override these methods, and call those of their base class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .base import LayerBase


class RecProtocol:
    """Part of :class:`~returnn.layers.base.LayerBase`."""

    network: Any
    rec_vars_outputs: dict[str, Any]
    """name -> raw value for the next frame, as :func:`get_rec_initial_extra_outputs` names them"""
    chooses = False
    """hypotheses of a search"""
    asks_for_sources = False
    """in a search, it asks which hypotheses of before those of a frame go on from"""
    iterates_itself = False
    """a layer with a state, see :func:`previous`, that can also be computed for all frames of the loop at once: where
    its input has the axis :func:`loop_dim_of`"""
    counts_frames = False
    """its output depends on the number of the frame"""
    stays_in_loop = False
    """it cannot be computed for all frames of a loop at once"""
    _rec_previous_layer: LayerBase | None = None
    """this layer at the frame before: its ``rec_vars_outputs`` are there"""

    # ---- built-in layers

    def loop_dim_of(self, x: Tensor) -> Any:
        """
        :param x: an input
        :return: the axis of the loop around this layer, if x has it: the layer is computed for all frames at once
        """
        loop = self.network.loop
        if loop is None or loop.run is None or loop.run.is_in_loop:
            return None
        dim = self.dim_of_frames
        return dim if dim in x.dims else None

    @property
    def dim_of_frames(self) -> Any:
        """the axis of the loop around this layer; if only some frames concern it, their axis. None: there is no loop"""
        loop, masking = self.network.loop, self.network.masking
        if loop is None:
            return None
        return loop.loop_dim if masking is None else masking.out_dim

    @property
    def is_stepping(self) -> bool:
        """whether the layer is computed for one frame of a loop around it, or built for it"""
        loop = self.network.loop
        return loop is not None and loop.is_frame_by_frame()

    def previous(self, key: str, template: Tensor, initial: Callable[[], Tensor]) -> Tensor:
        """
        In a loop, what the layer left at the frame before.

        :param key: different for each state of the layer
        :param template: of the state, without the dims of a beam
        :param initial: gives the value before the first frame; its dims are those of ``template``, or fewer
        :return: template at construction
        """
        masking = self.network.masking
        if masking is not None:
            template = masking.with_dims_of_mask(template)
        return self.network.loop.previous(self, key, template, initial)

    def leave(self, key: str, value: Tensor, *, in_each_frame: bool = False) -> None:
        """
        In a loop, the state for the next frame.

        :param key: see :func:`previous`
        :param value: dims as there
        :param in_each_frame: also where the frame does not concern the layer: else the state stays as it was there
        """
        self.network.loop.leave(self, key, value, in_each_frame=in_each_frame)

    def output_before_first_frame(self) -> Tensor | None:
        """
        :return: in a loop, where ``initial_output`` is not given; None: zeros
        """
        return None

    @property
    def layer_of_state(self) -> Any:
        """the layer whose state ``get_last_hidden_state`` gives"""
        return self

    def get_state_of_frame_before(self, key: Any) -> Tensor | None:
        """
        :param key: as in ``get_last_hidden_state``
        :return: in a loop, the state behind the frame before; None: the layer has none
        """
        return None

    @property
    def layers_computed_inside(self) -> Sequence[LayerBase]:
        """those that this layer computes itself"""
        return ()

    @property
    def group_in_loop(self) -> Any:
        """in a loop: layers of the same group are all in it, or none of them is. None: this layer is alone"""
        return self.network.masking

    @property
    def layer_of_initial_output(self) -> Any:
        """the layer whose option ``initial_output`` counts, at the frame before the first one"""
        return self

    # ---- layers of users

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
