"""Finds layers by the names that configs use: ``NAME``, ``SUB/NAME``, ``base:NAME``, ``data``, ``data:KEY``.

Layers for data are made here, at the first look. Any other layer is either built, or reported as missing: the caller
builds it and tries again, see :mod:`.construct`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.registry import get_layer_class
from returnn.layers.reuse_params import UnbuiltLayer
from returnn.layers.source import DataNotAvailableLayer, SourceLayer
from returnn.layers.subnetwork import SubnetworkInputLayer
from returnn.util.errors import ConfigError

from .errors import LayerMissing, LayerNotFound, layer_not_found_text

if TYPE_CHECKING:
    from .network import Network


def find_layer(net: Network, name: str) -> LayerBase:
    """
    :param net: where the name stands
    :param name: as in ``from``
    :return: built
    :raises LayerMissing: it has to be built first
    :raises LayerNotFound: there is no such one
    """
    if name.startswith("base:"):
        if net.parent_net is None:
            raise layer_not_found(net, name, "there is no network around this one")
        return net.parent_net.get_layer_or_missing(name[len("base:") :])
    if name in net.layers:
        return net.layers[name]
    if name in net.layers_desc:
        raise LayerMissing(net, name)
    if name == "data" or name.startswith("data:"):
        return _data_layer(net, name)
    if "/" in name:
        outer, inner = name.split("/", 1)
        return _sub_layer(net, outer, inner, name)
    raise layer_not_found(net, name)


def layer_not_found(net: Network, name: str, why: str = "") -> LayerNotFound:
    """
    :return: error with the nearest names, or all of them
    """
    text = layer_not_found_text(name, repr(net), net.layers_desc, why)
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
    desc = net.layers_desc[name]
    layer_class = get_layer_class(desc["class"])
    assert layer_class is not None
    layer = object.__new__(layer_class)
    layer.name, layer.network, layer.name_scope = name, net, desc.get("name_scope")
    return UnbuiltLayer(name, layer.scope)


def _sub_layer(net: Network, outer: str, inner: str, name: str) -> LayerBase:
    desc = net.layers_desc.get(outer)
    if desc is not None and desc.get("class") == "subnetwork" and isinstance(desc.get("subnetwork"), dict):
        return net.subnet(outer).get_layer_or_missing(inner)
    layer = net.get_layer_or_missing(outer).get_sub_layer(inner)
    if layer is None:
        raise layer_not_found(net, name, "layer %r has no such part" % outer)
    return layer


def _data_layer(net: Network, name: str) -> LayerBase:
    if net.parent_net is not None:
        layer = _subnet_data(net, net.parent_net, name)
        return net.parent_net.get_layer_or_missing(name) if layer is None else layer
    key = name[len("data:") :] if name.startswith("data:") else None
    opts: dict[str, Any] = {"name": name, "network": net, "data_key": key}
    output = SourceLayer.get_out_data_from_opts(**opts)
    has_value = output.available_for_inference or net.eval_flag
    net.layers[name] = (SourceLayer if has_value else DataNotAvailableLayer)(**opts, output=output)
    return net.layers[name]


def _subnet_data(net: Network, outside: Network, name: str) -> LayerBase | None:
    """sources of the layer outside; None: the name means data of the network outside"""
    desc = outside.layers_desc[net.name]
    names = desc.get("from", "data")
    names = [n for n in ([names] if isinstance(names, str) else names) if n != "none"]
    if desc.get("concat_sources", True):
        if name != "data":
            return None
    else:
        by_name = {"data:%i" % i: n for i, n in enumerate(names)} | {"data:" + n: n for n in names}
        if names:
            by_name["data"] = names[0]
        if name not in by_name:
            return None
        names = [by_name[name]]
    if not names:
        raise ConfigError('"data" is used in the subnetwork %r, but its "from" is empty' % net.name_prefix)
    sources = [outside.get_layer_or_missing(n) for n in names]
    opts: dict[str, Any] = {
        k: desc[k] for k in ("dropout", "dropout_noise_shape", "dropout_axis", "dropout_on_forward") if k in desc
    }
    opts.update(name=name, network=net, sources=sources)
    layer = SubnetworkInputLayer(**opts, output=SubnetworkInputLayer.get_out_data_from_opts(**opts))
    net.layers[name] = layer
    return layer
