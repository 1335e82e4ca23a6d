"""What can be wrong with a layer dict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean


class NetworkLayerException(ConfigError):
    """About a layer: which one, in which network."""

    def __init__(self, message: str, *, layer_name: str | None = None, network: Any = None, net_dict: Any = None):
        """
        :param message: all that a user sees
        :param layer_name: in its network
        :param network: that the layer is in; the root network, if nothing was built yet
        :param net_dict: that the layer is in
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


def layer_not_found_text(name: str, network: str, known: Iterable[str], why: str = "") -> str:
    """
    :param name: as in ``from``
    :param network: what to call it
    :param known: its layers
    :param why: what the reason is, where it is not a wrong name
    :return: message with the nearest names, or all of them
    """
    known = sorted(known)
    near = "" if name in known else did_you_mean(name, known)
    text = "layer %r not found in %s%s.%s" % (name, network, ": " + why if why else "", near)
    return text if near or name in known or len(known) > 30 else text + " Layers: %s" % ", ".join(known)


class CannotHandleUndefinedSourcesException(Exception):
    """Never raised; the name is there for code that catches it."""
