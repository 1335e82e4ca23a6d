"""Networks of very old configs: a list of layers, each on top of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.util.errors import ConfigError


def net_dict_from_list(layers: Sequence[dict[str, Any]], *, default_target: str) -> dict[str, dict[str, Any]]:
    """
    :param layers: options of each, without names. ``from`` is the layer before by default, for the first one the data
    :param default_target: ``target`` of the last one, if it has none
    :return: layer dict: ``layer0``, ``layer1``, .., and ``output``, the last one
    """
    if not layers:
        raise ConfigError("network is an empty list: it needs layers")
    net_dict: dict[str, dict[str, Any]] = {}
    before = "data"
    for i, opts in enumerate(layers):
        if not isinstance(opts, dict):
            raise ConfigError("network[%i] must be a dict of options, but is %r" % (i, opts))
        name = "layer%i" % i if i < len(layers) - 1 else "output"
        net_dict[name] = {"from": before, **opts}
        before = name
    net_dict["output"].setdefault("target", default_target)
    return net_dict
