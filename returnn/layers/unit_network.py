"""A layer inside of another one that stands in its place: with its name, so its parameters, and its surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.util.errors import ConfigError

from .base import LayerBase
from .subnetwork import Subnetwork

if TYPE_CHECKING:
    from returnn.network.network import Network


class UnitNetwork(Subnetwork):
    """The network that such a layer is in, alone. Names in its options mean what they mean outside."""

    has_scope = False

    def __init__(self, parent_net: Network, name: str, opts: dict[str, Any], *, unit: dict[str, Any], key: str):
        """
        :param parent_net: network that the layer around is in
        :param name: of both layers
        :param opts: of the layer around
        :param unit: options of the layer inside
        :param key: different for each network inside of the layer around
        """
        super().__init__(parent_net, name, opts)
        self.key = key
        self._unit = dict(unit)
        if opts.get("name_scope") is not None:
            self._unit.setdefault("name_scope", opts["name_scope"])

    @property
    def net_dict(self) -> dict[str, Any]:
        return {self.name: self._unit}

    @property
    def unit_layer(self) -> LayerBase:
        """
        The layer inside, built.

        :raises LayerMissing: it has to be built first; whoever builds layers of ``parent_net`` does so
        """
        return self.get_layer(self.name)

    def data_layer(self, name: str) -> LayerBase | None:
        return None

    def outer_layer(self, name: str) -> LayerBase | None:
        return self.parent_net.get_layer_or_missing(name)


def unit_options(value: Any, option: str) -> dict[str, Any]:
    """
    :param value: of an option that describes a layer: its dict; or a name, for a copy of that layer
    :param option: for the message
    :return: options of the layer
    """
    if isinstance(value, str):
        return {"class": "copy", "from": value}
    if not isinstance(value, dict):
        raise ConfigError('option "%s" must be a layer dict, but is %r' % (option, value))
    return value
