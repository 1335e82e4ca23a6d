"""Finds layers by the names that configs use: ``NAME``, ``SUB/NAME``, ``base:NAME``, ``data``, ``data:KEY``,
``extra:NAME``.

Layers for data are made here, at the first look. Any other layer is either built, or reported as missing: the caller
builds it and tries again, see :mod:`.construct`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.missing import LayerMissing
from returnn.layers.reuse_params import UnbuiltLayer
from returnn.layers.source import DataNotAvailableLayer, SourceLayer

from .check import layer_class_of
from .errors import LayerNotFound, layer_not_found_text
from .extra_nets import split_extra_prefix

if TYPE_CHECKING:
    from .network import Network


class GetLayer:
    """A function from names to layers of a network: ``get_layer`` of ``transform_config_dict``."""

    def __init__(self, network: Network):
        """
        :param network: where the names stand
        """
        self.network = network

    def __call__(self, name: str) -> LayerBase:
        """
        :param name: as in ``from``
        :return: built
        :raises LayerMissing: it has to be built first
        :raises LayerNotFound: there is no such one
        """
        return find_layer(self.network, name)


def find_layer(net: Network, name: str) -> LayerBase:
    """
    :param net: where the name stands
    :param name: as in ``from``
    :return: built
    :raises LayerMissing: it has to be built first
    :raises LayerNotFound: there is no such one
    """
    if net.extra_parent_net is not None and not _is_of_extra_net(net, name):
        return find_layer(net.extra_parent_net, name)
    return _find_own_layer(net, name)


def _is_of_extra_net(net: Network, name: str) -> bool:
    """
    :return: whether the name, of what a layer of this extra net depends on, is that of another one in it
    """
    return name in net.layers_desc or name.split("/", 1)[0] in net.layers_desc


def _find_own_layer(net: Network, name: str) -> LayerBase:
    if name.startswith("base:"):
        layer = _outer_layer(net, name)
        if layer is not None:
            return layer
        if net.parent_net is None:
            raise layer_not_found(net, name, "there is no network around this one")
        return find_layer(net.parent_net, name[len("base:") :])
    if name in net.layers:
        layer = net.layers[name]
        check_is_seen(net, layer)
        return layer
    prefix, rest = split_extra_prefix(name)
    if prefix is not None:
        return _find_own_layer(net.extra_net(prefix), rest)
    if name == ":i" or name.startswith("prev:"):
        return _layer_of_loop(net, name)
    if net.has_layer(name):
        raise LayerMissing(net, name)
    if name == "data" or name.startswith("data:"):
        return _data_layer(net, name)
    layer = _outer_layer(net, name)
    if layer is not None:
        return layer
    if "/" in name:
        outer, inner = name.split("/", 1)
        return _sub_layer(net, outer, inner, name)
    raise layer_not_found(net, name)


def check_is_seen(net: Network, layer: LayerBase) -> None:
    """
    :param net: where its name stands
    :param layer: of another network
    :raises ConfigError: it has a value only within a loop that the name stands outside of
    """
    if layer.network is net:
        return
    loop, within = layer.network.loop, net.loop
    while loop is not None and loop is not within:
        loop.check_is_seen_outside(layer)
        if loop.rec_layer is None:
            return
        layer, loop = loop.rec_layer, loop.parent_net.loop


def _layer_of_loop(net: Network, name: str) -> LayerBase:
    if net.inside is None:
        raise layer_not_found(net, name, "it is there only within the unit of a recurrent layer")
    layer = net.inside.loop_layer(net, name)
    if layer is not None:
        return layer
    loop = net.loop
    if loop is None:
        raise layer_not_found(net, name, "it is there only within the unit of a recurrent layer")
    layer = net.inside.outer_layer(name)
    if layer is not None:
        return layer
    if name == ":i" and net.parent_net is not None:
        return find_layer(net.parent_net, name)
    return loop.layer_before(net, name[len("prev:") :])


def layer_not_found(net: Network, name: str, why: str = "") -> LayerNotFound:
    """
    :return: error with the nearest names, or all of them
    """
    known = set(net.layers_desc)
    if net.extra_parent_net is not None:
        known.update(net.extra_parent_net.layers_desc)
    text = layer_not_found_text(name, repr(net), known, why)
    return LayerNotFound(text, layer_name=name, network=net, net_dict=net.layers_desc)


def find_param_owner(net: Network, name: str, *, for_layer: str) -> LayerBase | UnbuiltLayer:
    """
    :param net: where the name stands
    :param name: of a layer that has parameters
    :param for_layer: which takes them
    :return: the layer; or what stands for it, where it depends on ``for_layer``
    :raises LayerMissing: it has to be built first
    """
    try:
        return net.get_layer_or_missing(name)
    except LayerMissing as missing:
        if (for_layer, missing.network, missing.name) in net.unbuilt_owners:
            return _unbuilt_layer(missing.network, missing.name)
        missing.only_params = True
        raise


def _unbuilt_layer(net: Network, name: str) -> UnbuiltLayer:
    desc = net.desc_of_layer(name)
    layer = object.__new__(layer_class_of(desc))
    layer.name, layer.network, layer.name_scope = name, net, desc.get("name_scope")
    return UnbuiltLayer(name, layer.scope)


def _sub_layer(net: Network, outer: str, inner: str, name: str) -> LayerBase:
    if net.has_layer(outer):
        desc = net.desc_of_layer(outer)
        inside = layer_class_of(desc).cls_get_sub_network(outer, net, desc)
        if inside is not None:
            if desc.get("encapsulate"):
                _find_own_layer(net, outer)
            return inside.get_layer(inner)
    layer = _find_own_layer(net, outer).get_sub_layer(inner)
    if layer is None:
        raise layer_not_found(net, name, "layer %r has no such part" % outer)
    return layer


def _outer_layer(net: Network, name: str) -> LayerBase | None:
    return net.inside.outer_layer(name) if net.inside is not None and net.extra_parent_net is None else None


def _data_layer(net: Network, name: str) -> LayerBase:
    if net.extra_parent_net is not None:
        return find_layer(net.extra_parent_net, name)
    if net.parent_net is not None:
        layer = net.inside.data_layer(name) if net.inside is not None else None
        if layer is None:
            return find_layer(net.parent_net, name)
        net.layers[name] = layer
        return layer
    key = name[len("data:") :] if name.startswith("data:") else None
    opts: dict[str, Any] = {"name": name, "network": net, "data_key": key}
    output = SourceLayer.get_out_data_from_opts(**opts)
    has_value = output.available_for_inference or net.eval_flag
    layer = net.layers[name] = (SourceLayer if has_value else DataNotAvailableLayer)(**opts, output=output)
    net.finish_layer(layer)
    return layer
