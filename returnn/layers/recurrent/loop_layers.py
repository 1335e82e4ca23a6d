"""What layers in a loop see of the loop: the frame of an input, the frame before, its number. Made implicitly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.beam_border import template_without_beam
from returnn.layers.registry import layer_class
from returnn.layers.source import InternalLayer, UnknownType
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

from .state_keys import state_of_key

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class(":rec-frame")
class RecFrameLayer(InternalLayer):
    """The frame of an input, where the input has the axis of the loop; else the input itself."""

    full: LayerBase
    """the input"""

    def __init__(self, *, name: str, network: Network, full: LayerBase, loop_dim: Dim | None, what: str):
        """
        :param name: as layers inside say it
        :param network: that is computed frame by frame
        :param full: the input
        :param loop_dim: of the loop; None: it does one step
        :param what: for messages
        """
        x = template_without_beam(full.output)
        self.own_loop_dim = _loop_dim_of(x, loop_dim, what)
        """the axis of the input that the loop runs over, where it has another name there"""
        self.is_sliced = self.own_loop_dim is not None
        super().__init__(name=name, network=network, output=self._template(x), full=full)

    def _template(self, x: Tensor) -> Tensor:
        res = x.copy_template()
        if self.own_loop_dim is not None:
            res = x.copy_template_excluding_axis(x.get_axis_from_dim(self.own_loop_dim))
        res.name = self.output_name_of(x)
        return res

    @staticmethod
    def output_name_of(x: Tensor) -> str:
        """
        :return: for the frame of x
        """
        return "%s_frame" % x.name

    def get_dep_layers(self) -> list[LayerBase]:
        return [self.full]

    def used_layers(self) -> list[LayerBase]:
        return [self.full]

    @property
    def origin(self) -> LayerBase:
        return self if self.is_sliced else self.full.origin


def _loop_dim_of(x: Tensor, loop_dim: Dim | None, what: str) -> Dim | None:
    if loop_dim is None or loop_dim in x.dims:
        return loop_dim
    if x.time_dim is not None and x.time_dim.is_dynamic:
        return x.time_dim
    if x.time_dim is not None and x.time_dim.dimension == loop_dim.dimension:
        return x.time_dim
    if x.time_dim is not None:
        raise ConfigError(
            "%s is read frame by frame, but %s has not the axis %s of the loop" % (what, x.short_repr(), loop_dim)
        )
    return None


@layer_class(":rec-previous")
class RecPreviousLayer(InternalLayer):
    """The output of a layer at the frame before; at the first frame its initial output."""

    of_name: str
    """name of that layer, in the network of this one"""
    initial: LayerBase | None = None
    """whose output is that before the first frame, where a layer is"""

    def __init__(self, *, name: str, network: Network, output: Tensor, of_name: str):
        """
        :param name: as layers inside say it
        :param network: that the other layer is in
        :param output: template of the other layer
        :param of_name: of the other layer
        """
        super().__init__(name=name, network=network, output=output, of_name=of_name)

    @property
    def of_layer(self) -> LayerBase:
        """the other layer"""
        return self.network.layers[self.of_name]

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        """
        :raises UnknownType: the other layer is not there yet
        """
        layer = self.network.layers.get(self.of_name)
        if layer is None:
            loop = self.network.require_loop()
            loop.keep_in_loop_later(self)
            states = loop.state_templates(self.network.name_prefix + self.of_name)
            if states:
                return state_of_key(self.of_name, states, key)
            raise UnknownType("the state of layer %r is not known" % self.of_name)
        return self.network.require_loop().state_before(layer, key)

    def get_dep_layers(self) -> list[LayerBase]:
        layer = self.network.layers.get(self.of_name)
        return [] if layer is None else [layer]


@layer_class(":i")
class RecStepInfoLayer(InternalLayer):
    """Number of the frame, from 0."""

    def __init__(self, *, name: str, network: Network):
        """
        :param name: as layers inside say it
        :param network: that is computed frame by frame
        """
        super().__init__(name=name, network=network, output=Tensor(name, [], "int32"))
