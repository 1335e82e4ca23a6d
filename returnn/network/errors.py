"""What can be wrong with a layer dict."""

from __future__ import annotations

from typing import Any

from returnn.util.errors import ConfigError


class NetworkLayerException(ConfigError):
    """About a layer: which one, in which network."""

    def __init__(self, message: str, *, layer_name: str | None = None, network: Any = None, net_dict: Any = None):
        """
        :param message:
        :param layer_name: in its network
        :param network:
        :param net_dict: of that network
        """
        super().__init__(message)
        self.layer_name = layer_name
        self.network = network
        self.net_dict = net_dict


class NetworkConstructionDependencyLoopException(NetworkLayerException):
    """Layers depend on each other in a circle."""


class LayerOptionError(NetworkLayerException, TypeError):
    """A layer or its loss has no option of that name."""


class LayerNotFound(NetworkLayerException):
    """No layer of that name."""


class CannotHandleUndefinedSourcesException(Exception):
    """Never raised; the name is there for code that catches it."""
