"""Builds layers in the order of their dependencies.

A layer names what it depends on only while its options are resolved. So that is tried; if a layer it asks for is not
there yet, the attempt is given up, that layer comes first, and then it is tried again. The work stands on a list, not
on the Python stack: long chains of layers are no problem, and a circle is seen at once. Sub-networks are networks of
their own on the same list, so that each of their layers is built only when something needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.options import UnknownLayerOption, check_options
from returnn.layers.out_type import check_output
from returnn.layers.source import DataNotAvailableLayer
from returnn.log import log
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError, UserError

from .check import check_net_dict, is_allowed, is_root, layer_class_of, report_problems
from .errors import (
    LayerMissing,
    LayerNotFound,
    LayerOptionError,
    NetworkConstructionDependencyLoopException,
    NetworkLayerException,
)

if TYPE_CHECKING:
    from .network import Network


_Item = tuple["Network", str]


class _Work:
    """A layer, in front of it what it waits for, and so on: the last one is built next."""

    def __init__(self, item: _Item):
        self._items = [item]
        self._all = {item}
        self._only_params = [False]

    def __bool__(self) -> bool:
        return bool(self._items)

    def last(self) -> _Item:
        return self._items[-1]

    def pop(self) -> _Item:
        self._only_params.pop()
        item = self._items.pop()
        self._all.discard(item)
        return item

    def push(self, missing: LayerMissing) -> None:
        """
        :raises NetworkConstructionDependencyLoopException: it is on the list already, and there is no way out
        """
        if missing.item in self._all:
            self._break_circle(missing)
            return
        self._items.append(missing.item)
        self._all.add(missing.item)
        self._only_params.append(missing.only_params)

    def _break_circle(self, missing: LayerMissing) -> None:
        """Parameters do not need the layer that has them: another one may make them, under the right name."""
        net, name = self.last()
        if missing.only_params:
            net.unbuilt_owners.add((name, *missing.item))
            return
        start = self._items.index(missing.item)
        for place in range(len(self._items) - 1, start, -1):
            if self._only_params[place]:
                net, name = self._items[place - 1]
                net.unbuilt_owners.add((name, *self._items[place]))
                while len(self._items) > place:
                    self.pop()
                return
        raise self._loop_error(*missing.item)

    def _loop_error(self, net: Network, name: str) -> Exception:
        lines = ["%r: Error: There is a dependency loop on layer %r." % (net, name)]
        lines.append("Construction stack (most recent first):")
        lines += ["  " + n.name_prefix + x for n, x in reversed(self._items)]
        return NetworkConstructionDependencyLoopException(
            "\n".join(lines), layer_name=name, network=net, net_dict=net.layers_desc
        )


def build(network: Network, name: str) -> LayerBase:
    """
    :param network: gets the layer
    :param name: of a layer in its dict
    :return: built, with all that it depends on
    :raises NetworkLayerException: what is wrong with which layer
    """
    work = _Work((network, name))
    while work:
        net, current = work.last()
        if current in net.layers:
            work.pop()
            continue
        try:
            net.add_layer(current, _construct(net, current))
            work.pop()
        except LayerMissing as missing:
            work.push(missing)
    return network.layers[name]


def _construct(net: Network, name: str) -> LayerBase:
    opts = dict(net.layers_desc[name])
    where = _place(net, name)
    cls: type[LayerBase] | None = None
    about: dict[str, Any] = {"layer_name": name, "network": net, "net_dict": net.layers_desc}
    try:
        cls = layer_class_of(opts)
        del opts["class"]
        opts.update(_network=net, _name=name)
        cls.transform_config_dict(opts, net, net.get_layer_or_missing)
        opts.pop("_network"), opts.pop("_name")
        check_options(cls, opts, where=where)
        return _create(net, name, cls, opts)
    except LayerMissing:
        raise
    except UnknownLayerOption as exc:
        raise LayerOptionError(str(exc), **about) from exc
    except LayerNotFound as exc:
        raise LayerNotFound(
            "%s\n  It is needed by %s (class %r)." % (exc, where, cls and cls.layer_class), **about
        ) from exc
    except NetworkLayerException:
        raise
    except UserError as exc:
        class_name = cls.layer_class if cls else opts.get("class")
        message = "%s%s: %s" % (where, " (class %r)" % class_name if class_name else "", exc)
        error = LayerOptionError if isinstance(exc, TypeError) else NetworkLayerException
        raise error(message, **about) from exc
    except Exception:
        _print_failure(net, name, cls, opts)
        raise


def _place(net: Network, name: str) -> str:
    return 'network["%s"]' % (net.name_prefix + name)


def _create(net: Network, name: str, cls: type[LayerBase], opts: dict[str, Any]) -> LayerBase:
    kwargs = dict(opts, name=name, network=net)
    output = cls.get_out_data_from_opts(**kwargs)
    check_output(output, n_out=opts.get("n_out"), out_dim=opts.get("out_dim"), out_shape=opts.get("out_shape"))
    net.log_layer(name, output)
    if not output.available_for_inference and not net.eval_flag:
        return DataNotAvailableLayer(name=name, network=net, output=output, sources=opts.get("sources", ()))
    layer = cls(**kwargs, output=output)
    _check_value(layer, output.copy_template())
    finish(layer)
    return layer


def finish(layer: LayerBase) -> None:
    """
    What comes behind the computation of an output.

    :param layer: its output is there
    """
    layer.post_init()
    layer.network.finish_layer(layer)
    if layer.register_as_extern_data:
        layer.network.register_extern_data(layer.register_as_extern_data, layer.output)


def _check_value(layer: LayerBase, template: Tensor) -> None:
    """What the classes of users do may not be what they said."""
    output = layer.output
    if not layer.network.computes_at_construction:
        if type(layer).compute is LayerBase.compute and not type(layer).layer_class.startswith(":"):
            raise ConfigError(
                "%s computes in __init__, which works for TensorFlow graphs only: on backend %r a layer has compute()"
                % (type(layer).__name__, layer.network.backend.name)
            )
    elif output.raw_tensor is None:
        raise ConfigError("%s.__init__ must set self.output.placeholder" % type(layer).__name__)
    if (output.time_dim_axis, output.feature_dim_axis) != (template.time_dim_axis, template.feature_dim_axis):
        raise ConfigError(
            "%s.__init__ gave the output %s, but its get_out_data_from_opts said %s"
            % (type(layer).__name__, output.short_repr(), template.short_repr())
        )


def _print_failure(net: Network, name: str, cls: type[LayerBase] | None, opts: dict[str, Any]) -> None:
    class_name = cls.__name__ if cls else opts.get("class")
    print(
        "Exception creating layer %s%r of class %s with opts:" % (net.name_prefix_for_log, name, class_name),
        file=log.v1,
    )
    for key, value in sorted(opts.items()):
        text = repr(value)
        print("  %s: %s" % (key, text if len(text) < 200 else text[:200] + "..."), file=log.v1)


def construct_all(network: Network, net_dict: dict[str, Any]) -> None:
    """
    :param network: gets the layers
    :param net_dict: layer dict. Built are the output layers, those with a loss, and what these depend on.
    """
    problems = check_net_dict(
        net_dict,
        network.extern_data.data,
        default_input=network.extern_data.default_input,
        default_target=network.extern_data.default_target,
        evaluation=network.eval_flag,
        search=network.search_flag,
        network_text=network.text_of_inner,
    )
    report_problems(problems, network=network)
    network.layers_desc = {name: desc for name, desc in net_dict.items() if not name.startswith("#")}
    roots = [name for name in sorted(network.layers_desc) if _allowed(network, name)]
    for name in roots:
        if network.layers_desc[name].get("register_as_extern_data"):
            build(network, name)
    for name in roots:
        if is_root(name, network.layers_desc[name]):
            build(network, name)
    _complete_subnetworks(network)


def _allowed(network: Network, name: str) -> bool:
    return is_allowed(network.layers_desc[name], evaluation=network.eval_flag, search=network.search_flag)


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
                if _allowed(subnet, inner) and is_root(inner, subnet.layers_desc[inner]):
                    build(subnet, inner)
            _complete_subnetworks(subnet)
