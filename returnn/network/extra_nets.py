"""Extra nets: some layers once more, under other flags, with the same parameters.

``P:NAME`` with a prefix P, ``extra`` or ``extra.search`` or ``extra.anything``, is a layer of the extra net P of a
network. It is built from the entry ``P:NAME`` of the layer dict, else from the entry ``NAME``. What it depends on is
``P:OTHER`` if there is such an entry, else ``OTHER`` of the network itself. A prefix with ``.search`` in it searches;
the other flags are those of the network.

The prefix is no part of the names of parameters. So two layers of one name have the same ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .network import Network

_PREFIX = r"(extra(?:\.[A-Za-z0-9_.()]+)?):"
_at_start = re.compile(_PREFIX)
_anywhere = re.compile(r"(?:(?<=/)|^)" + _PREFIX)


def split_extra_prefix(name: str) -> tuple[str | None, str]:
    """
    :param name: of a layer, as configs have it
    :return: prefix without ":", and what is behind it; None: there is no prefix
    """
    found = _at_start.match(name) if name.startswith("extra") else None
    return (found.group(1), name[found.end() :]) if found else (None, name)


def without_extra_prefixes(path: str) -> str:
    """
    :param path: of a layer, from the root network on
    :return: without prefixes of extra nets
    """
    return _anywhere.sub("", path) if "extra" in path else path


def searches(prefix: str) -> bool:
    """
    :param prefix: of an extra net
    :return: whether it has the search flag
    """
    return ".search" in prefix


def entries_of_extra_net(net_dict: dict[str, Any], prefix: str) -> dict[str, Any]:
    """
    :param net_dict: of the network
    :param prefix: of one of its extra nets
    :return: entries for this prefix, by name without it
    """
    start = prefix + ":"
    return {name[len(start) :]: desc for name, desc in net_dict.items() if name.startswith(start)}


def home_of(net: Network, name: str) -> tuple[Network, str]:
    """
    :param net: whose dict has the entry
    :param name: of the entry
    :return: network that the layer will be in, and its name there
    """
    prefix, rest = split_extra_prefix(name)
    return (net, name) if prefix is None else (net.extra_net(prefix), rest)
