"""A layer that is a network itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("subnetwork")
class SubnetworkLayer(ConcatInputLayer):
    """A layer dict with an ``output`` layer. Inside, ``data`` are the sources, and ``base:NAME`` is a layer outside.

    Its layers are built on demand, as ``NAME/inner``: whoever needs only one of them does not need the output.
    """

    recurrent = True

    subnetwork: dict[str, Any] | None = None
    """layer dict; must be given"""
    _inner_output: LayerBase
    concat_sources: bool = True
    """inside, ``data`` are the sources joined on the feature axis; False: ``data:0``, .. and ``data:NAME``, and
    ``data`` is the first"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        name = d["_name"]
        if not isinstance(d.get("subnetwork"), dict):
            raise ConfigError('option "subnetwork" must be a layer dict')
        if "output" not in d["subnetwork"]:
            raise ConfigError('the subnetwork has no layer "output"')
        d["_inner_output"] = get_layer(name + "/output")
        super().transform_config_dict(d, network, get_layer)

    def _set_opts(self, **kwargs: Any) -> None:
        LayerBase._set_opts(self, **kwargs)  # the input is made once, by the network inside
        self.subnet = self._inner_output.network

    def _read_sources(self) -> None:
        pass

    @property
    def params(self) -> dict[str, Any]:
        """variables of all layers inside, by their names in the scope of this layer"""
        inner = sorted(self.subnet.layers.items())
        return {
            "%s/%s" % (path, name): var
            for path, layer in inner
            if "/" not in path
            for name, var in layer.params.items()
        }

    def _inputs(self) -> list[Tensor]:
        return []

    def compute(self) -> Tensor:
        inner = self._inner_output
        if self._is_template:
            return inner.output.copy_template()
        self.output_before_activation = inner.output_before_activation
        self.output_loss = inner.output_loss
        return inner.output

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        return self.subnet.layers.get(layer_name)

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        return self._inner_output.get_last_hidden_state(key)


@layer_class(":subnetwork-input")
class SubnetworkInputLayer(ConcatInputLayer):
    """``data`` inside of a subnetwork: the sources of the layer outside, joined, with its dropout. Made implicitly."""

    def compute(self, x: Tensor) -> Tensor:
        if len(self.sources) == 1 and not self.dropout and not self._is_template:
            self.output_before_activation = self.sources[0].output_before_activation
            self.output_loss = self.sources[0].output_loss
        return x

    @property
    def origin(self) -> LayerBase:
        if len(self.sources) == 1 and not self.dropout:
            return self.sources[0].origin
        return self
