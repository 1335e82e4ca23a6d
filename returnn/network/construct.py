"""Builds layers in the order of their dependencies.

A layer names what it depends on only while its options are resolved. So that is tried; if a layer it asks for is not there
yet, the attempt is given up, that layer comes first, and then it is tried again. The work stands on a list, not on the Python
stack: long chains of layers are no problem, and a circle is seen at once. Sub-networks are networks of their own on the same
list, so that each of their layers is built only when something needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.options import check_options
from returnn.layers.registry import UnknownLayerClass, get_layer_class
from returnn.log import log
from returnn.util.errors import ConfigError, UserError

from .errors import NetworkConstructionDependencyLoopException, NetworkLayerException

if TYPE_CHECKING:
    from .network import Network


class LayerMissing(Exception):
    """Another layer has to be built first."""

    def __init__(self, network: Network, name: str):
        """
        :param network: that the layer is in
        :param name: in that network
        """
        super().__init__(name)
        self.network = network
        self.name = name


def build(network: Network, name: str) -> LayerBase:
    """
    :param network:
    :param name: of a layer in its dict
    :return: built, with all that it depends on
    :raises NetworkLayerException: what is wrong with which layer
    """
    work = [(network, name)]
    while work:
        net, current = work[-1]
        if current in net.layers:
            work.pop()
            continue
        try:
            net.add_layer(current, _construct(net, current))
            work.pop()
        except LayerMissing as missing:
            item = (missing.network, missing.name)
            if item in work:
                raise _loop_error(work, item) from None
            work.append(item)
    return network.layers[name]


def _loop_error(work: list[tuple[Network, str]], item: tuple[Network, str]) -> Exception:
    net, name = item
    lines = ["%r: Error: There is a dependency loop on layer %r." % (net, name)]
    lines.append("Construction stack (most recent first):")
    lines += ["  " + n.name_prefix + x for n, x in reversed(work)]
    return NetworkConstructionDependencyLoopException(
        "\n".join(lines), layer_name=name, network=net, net_dict=net.layers_desc
    )


def _construct(net: Network, name: str) -> LayerBase:
    opts = dict(net.layers_desc[name])
    where = 'network["%s"]' % (net.name_prefix + name)
    cls: type[LayerBase] | None = None
    try:
        cls = _layer_class_of(opts)
        opts.update(_network=net, _name=name)
        cls.transform_config_dict(opts, net, net.get_layer_or_missing)
        opts.pop("_network"), opts.pop("_name")
        check_options(cls, opts, where=where)
        return _create(net, name, cls, opts)
    except LayerMissing:
        raise
    except NetworkLayerException:
        raise
    except UserError as exc:
        message = str(exc)
        if not message.startswith(where):
            message = "%s (class %r): %s" % (where, cls.layer_class if cls else opts.get("class"), message)
        raise NetworkLayerException(message, layer_name=name, network=net, net_dict=net.layers_desc) from exc
    except Exception:
        _print_failure(net, name, cls, opts)
        raise


def _layer_class_of(opts: dict[str, Any]) -> type[LayerBase]:
    if "class" not in opts:
        raise ConfigError('option "class" is missing')
    name = opts.pop("class")
    if isinstance(name, type) and issubclass(name, LayerBase):
        return name
    try:
        return get_layer_class(name)
    except UnknownLayerClass:
        opts["class"] = name
        raise


def _create(net: Network, name: str, cls: type[LayerBase], opts: dict[str, Any]) -> LayerBase:
    kwargs = dict(opts, name=name, network=net)
    output = cls.get_out_data_from_opts(**kwargs)
    net.log_layer(name, output)
    layer = cls(**kwargs, output=output)
    layer.post_init()
    if layer.register_as_extern_data:
        net.register_extern_data(layer.register_as_extern_data, layer.output)
    return layer


def _print_failure(net: Network, name: str, cls: type[LayerBase] | None, opts: dict[str, Any]) -> None:
    class_name = cls.__name__ if cls else opts.get("class")
    print("Exception creating layer %s%r of class %s with opts:" % (net.name_prefix_for_log, name, class_name), file=log.v1)
    for key, value in sorted(opts.items()):
        text = repr(value)
        print("  %s: %s" % (key, text if len(text) < 200 else text[:200] + "..."), file=log.v1)


def construct_all(network: Network, net_dict: dict[str, Any]) -> None:
    """
    :param network: gets the layers
    :param net_dict: layer dict. Built are the output layers, those with a loss, and what these depend on.
    """
    network.layers_desc = {name: desc for name, desc in net_dict.items() if not name.startswith("#")}
    for name, desc in sorted(network.layers_desc.items()):
        if not isinstance(desc, dict):
            raise NetworkLayerException('network["%s"] must be a dict, but is %r' % (name, desc), layer_name=name)
    _check_classes(network)
    roots = [name for name in sorted(network.layers_desc) if _allowed(network, name)]
    for name in roots:
        if network.layers_desc[name].get("register_as_extern_data"):
            build(network, name)
    for name in roots:
        if _is_root(network, name):
            build(network, name)
    _complete_subnetworks(network)


def _check_classes(network: Network) -> None:
    """All unknown classes at once, before anything is built."""
    problems = []
    for name, desc in sorted(network.layers_desc.items()):
        try:
            _layer_class_of(dict(desc))
        except ConfigError as exc:
            problems.append('network["%s"]: %s' % (network.name_prefix + name, exc))
    if problems:
        raise NetworkLayerException("\n".join(problems), network=network, net_dict=network.layers_desc)


def _allowed(network: Network, name: str) -> bool:
    desc = network.layers_desc[name]
    if desc.get("only_on_search") and not network.search_flag:
        return False
    return not (desc.get("only_on_eval") and not network.eval_flag)


def _is_root(network: Network, name: str) -> bool:
    desc = network.layers_desc[name]
    return name == "output" or name.endswith(":output") or bool(desc.get("loss")) or bool(desc.get("is_output_layer"))


def _complete_subnetworks(network: Network) -> None:
    """Sub-networks of which some layer was built: their losses and outputs count too."""
    done: set[str] = set()
    while True:
        open_names = sorted(set(network.subnets) - done)
        if not open_names:
            return
        for name in open_names:
            done.add(name)
            build(network, name)
            subnet = network.subnets[name]
            for inner in sorted(subnet.layers_desc):
                if _allowed(subnet, inner) and _is_root(subnet, inner):
                    build(subnet, inner)
            _complete_subnetworks(subnet)
