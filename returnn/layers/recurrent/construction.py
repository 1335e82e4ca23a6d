"""Builds the layers of a recurrent unit that are needed, and finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from returnn.layers.base import LayerBase
from returnn.layers.source import InternalLayer
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .subnet import RecSubnet


def build_roots(subnet: RecSubnet, net: Network) -> None:
    """
    :param subnet: the unit
    :param net: the network inside, or that for types: there, the layers that something outside or the loop needs are
        built, and all that these depend on, at the frame before too
    :raises LayerMissing: a layer outside has to be built first
    """
    for name in sorted(_roots(subnet)):
        net.build_layer(name)
    net.build_roots(only_own=True)
    done: set[tuple[Network, str]] = set()
    while True:
        new = [x for x in _used_before(subnet, net) if x not in done]
        if not new:
            return
        for inner, name in new:
            done.add((inner, name))
            inner.build_layer(name) if inner.has_layer(name) else inner.get_layer_or_missing(name)


def layers_inside(subnet: RecSubnet) -> list[LayerBase]:
    """
    :param subnet: its layers are built
    :return: also those that stand for what the unit sees of the loop
    """
    seen_only = [
        layer
        for net in _with_inner_networks(subnet.net)
        for layer in net.layers.values()
        if isinstance(layer, InternalLayer) and layer.network is net
    ]
    return [*subnet.net.inner_steps.layers, *seen_only]


def layers_read_outside(subnet: RecSubnet) -> list[LayerBase]:
    """
    :param subnet: its layers are built
    :return: layers outside that those inside compute with
    """
    read = [x for layer in layers_inside(subnet) for x in layer.get_dep_layers()]
    read += [previous.initial for previous in subnet.layers_before if previous.initial is not None]
    return [x for x in dict.fromkeys(read) if not _is_inside(x, subnet)]


def _roots(subnet: RecSubnet) -> set[str]:
    roots = {"output"}
    if not subnet.length_is_known:
        if "end" not in subnet.net_dict:
            raise ConfigError(
                'nothing says how long the loop is: no source, target or axis. Then the unit needs a layer "end" '
                "(bool), and the layer the option max_seq_len"
            )
        roots.add("end")
    for name, desc in subnet.net_dict.items():
        if not name.startswith("#") and isinstance(desc, dict) and desc.get("need_last"):
            roots.add(name)
    return roots


def _used_before(subnet: RecSubnet, net: Network) -> list[tuple[Network, str]]:
    """network and name of the layers whose frame before was asked for so far"""
    if net.only_types:
        return [(inner, name) for inner in _with_inner_networks(net) for name in sorted(inner.types_to_guess)]
    return [(previous.network, previous.of_name) for previous in subnet.layers_before]


def _with_inner_networks(net: Network) -> list[Network]:
    return [net] + [x for inner in net.subnets.values() for x in _with_inner_networks(inner)]


def _is_inside(layer: LayerBase, subnet: RecSubnet) -> bool:
    loop = layer.network.loop
    while loop is not None and loop is not subnet:
        loop = loop.parent_net.loop
    return loop is subnet
