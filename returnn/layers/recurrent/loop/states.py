"""States of layers in the loop: what they leave for the next frame besides their output."""

from __future__ import annotations

from collections.abc import Iterable

from returnn.layers.base import LayerBase
from returnn.layers.recurrent.initial import with_all_dims
from returnn.layers.recurrent.state_specs import StateSpec
from returnn.tensor import Tensor

from .carried import Carried
from .context import LoopContext
from .hypotheses import Hypotheses


class States:
    """Of all layers in the loop, and of those computed inside of one that is."""

    def __init__(self, context: LoopContext, hypotheses: Hypotheses):
        """
        :param context: of the loop
        :param hypotheses: of the loop
        """
        self._context = context
        self._hypotheses = hypotheses
        self.values: dict[tuple[LayerBase, str], Carried] = {}
        """layer, name of the state there -> state"""

    def begin_loop(self) -> None:
        """Takes the initial states."""
        in_loop = self._context.groups.in_loop
        computed_by = {layer: layer for layer in in_loop}
        computed_by.update({inner: layer for layer in in_loop for inner in layer.layers_computed_inside})
        for spec in self._context.subnet.states:
            if spec.layer in computed_by:
                self.values[spec.layer, spec.key] = Carried(self._start_of(spec, computed_by[spec.layer]))

    def carried(self) -> list[Carried]:
        """
        :return: all that is handed on
        """
        return list(self.values.values())

    def previous(self, layer: LayerBase, key: str) -> Tensor:
        """
        :return: what the layer left at the frame before
        """
        return self._hypotheses.bring(self.values[layer, key].now)

    def leave(self, layer: LayerBase, key: str, value: Tensor, *, in_each_frame: bool) -> None:
        """
        :param value: for the next frame
        :param in_each_frame: also where this one does not concern the layer
        """
        state = self.values[layer, key]
        state.next = value if in_each_frame else state.held(layer, value)

    def of_layers(self, layers: Iterable[LayerBase]) -> list[Carried]:
        """
        :param layers: in the loop, or computed inside of one that is
        :return: all that they hand on
        """
        return [state for (layer, _), state in self.values.items() if layer in layers]

    def take_left(self, states: Iterable[Carried]) -> list[Tensor]:
        """
        :param states: of this loop
        :return: for the next frame, as they were left, of the hypotheses of the layer that is computed; which is
            forgotten
        """
        res = []
        for state in states:
            dims = self._hypotheses.with_beam_of_layer(state.start.dims)
            res.append(with_all_dims(self._hypotheses.bring(state.latest), dims, self._context))
            state.next = None
        return res

    def _start_of(self, spec: StateSpec, layer: LayerBase) -> Tensor:
        """
        :param layer: computes it
        """
        dims = self._hypotheses.with_beam(layer, spec.template.dims)
        start = with_all_dims(spec.initial(), dims, self._context)
        return spec.template.like(start.raw_tensor, dims=start.dims)
