"""How whoever builds layers learns that another one comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from returnn.network.network import Network


class LayerMissing(Exception):
    """Not an error: another layer has to be built first."""

    def __init__(self, network: Network, name: str):
        """
        :param network: that the layer is in
        :param name: in that network
        """
        super().__init__(name)
        self.network = network
        self.name = name
        self.only_params = False
        """its parameters are needed, not its output"""
        self.only_type = False
        """its output template is needed, for the frame behind; so a circle is no mistake"""

    @property
    def item(self) -> tuple[Network, str]:
        """as it stands on the list of work"""
        return self.network, self.name
