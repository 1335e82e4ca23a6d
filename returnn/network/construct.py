"""Builds layers in the order of their dependencies.

A layer names what it depends on only while its options are resolved. So that is tried; if a layer it asks for is not
there yet, the attempt is given up, that layer comes first, and then it is tried again. The work stands on a list, not
on the Python stack: long chains of layers are no problem, and a circle is seen at once. Sub-networks are networks of
their own on the same list, so that each of their layers is built only when something needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.beam_border import with_beam_of_sources
from returnn.layers.missing import LayerMissing
from returnn.layers.options import UnknownLayerOption, check_options, drop_fork_options
from returnn.layers.out_type import check_output
from returnn.layers.recurrent.user_layers import UserLayerInLoop
from returnn.layers.source import DataNotAvailableLayer, GuessedLayer, UnknownLayer, UnknownType
from returnn.log import log
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError, UserError
from returnn.util.user_functions import failure_in_users_code

from .check import check_net_dict, is_allowed, is_root, layer_class_of, report_problems
from .errors import (
    LayerNotFound,
    LayerOptionError,
    NetworkConstructionDependencyLoopException,
    NetworkLayerException,
)
from .lookup import GetLayer

if TYPE_CHECKING:
    from .network import Network


_Item = tuple["Network", str]


class _Work:
    """A layer, in front of it what it waits for, and so on: the last one is built next."""

    def __init__(self, item: _Item):
        self._items = [item]
        self._all = {item}
        self._reasons: list[LayerMissing | None] = [None]

    def __bool__(self) -> bool:
        return bool(self._items)

    def last(self) -> _Item:
        return self._items[-1]

    def pop(self) -> _Item:
        self._reasons.pop()
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
        self._reasons.append(missing)

    def _break_circle(self, missing: LayerMissing) -> None:
        """
        Parameters do not need the layer that has them: another one may make them, under the right name. Nor does the
        output of the frame before need that of this frame.
        """
        if _can_do_without(self.last(), missing):
            return
        start = self._items.index(missing.item)
        for place in range(len(self._items) - 1, start, -1):
            reason = self._reasons[place]
            if reason is not None and _can_do_without(self._items[place - 1], reason):
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


def _can_do_without(item: _Item, missing: LayerMissing) -> bool:
    """
    :param item: needs what is missing
    :return: whether it can be built before that; then it is noted
    """
    net, name = item
    if missing.only_params:
        net.unbuilt_owners.add((name, *missing.item))
    elif missing.only_type:
        missing.network.types_to_guess.add(missing.name)
    return missing.only_params or missing.only_type


def build(network: Network, name: str) -> LayerBase:
    """
    :param network: gets the layer
    :param name: of a layer in its dict
    :return: built, with all that it depends on
    :raises NetworkLayerException: what is wrong with which layer
    :raises LayerMissing: of a network around this one: whoever builds layers there has to build that one first
    """
    work = _Work((network, name))
    while work:
        net, current = work.last()
        if current in net.layers:
            work.pop()
            continue
        try:
            net.add_layer(current, construct_type(net, current) if net.only_types else construct_layer(net, current))
            work.pop()
        except LayerMissing as missing:
            if not _is_within(missing.network, network):
                raise
            work.push(missing)
    return network.layers[name]


def _is_within(net: Network, outer: Network) -> bool:
    home: Network | None = outer.get_home()
    while net is not home:
        if net.outer_net is None:
            return False
        net = net.outer_net
    return True


def construct_type(net: Network, name: str) -> LayerBase:
    """
    Builds a layer only to know the template of its output, while what it depends on may not be known yet.

    :param net: that it will be in, ``only_types``
    :param name: in its dict
    :return: the layer; or :class:`UnknownLayer`
    """
    unknown: list[str] = []
    find = GetLayer(net)

    def get_layer(layer_name: str) -> LayerBase:
        layer = find(layer_name)
        if layer.is_unknown:
            unknown.append(layer_name)
        return layer

    try:
        return construct_layer(net, name, get_layer=get_layer)
    except LayerMissing:
        raise
    except UnknownType as exc:
        return _unknown_layer(net, name, exc)
    except Exception as exc:
        if not unknown:
            raise
        return _unknown_layer(net, name, exc)


def _unknown_layer(net: Network, name: str, reason: Exception) -> LayerBase:
    guess = net.require_loop().types.get(net.name_prefix + name)
    if guess is None:
        return UnknownLayer(name=name, network=net, reason=reason)
    return GuessedLayer(name=name, network=net, output=guess.copy_template())


def construct_layer(
    net: Network,
    name: str,
    *,
    get_layer: Callable[[str], LayerBase] | None = None,
    add_layer: Callable[..., LayerBase] | None = None,
) -> LayerBase:
    """
    Builds one layer.

    :param net: that it will be in; it is not added there yet
    :param name: in its dict
    :param get_layer: gives the layers that it depends on; by default those that are built
    :param add_layer: ``f(name, layer_class, **options)`` makes the layer; by default its class does
    :raises LayerMissing: another layer has to be built first
    :raises NetworkLayerException: what is wrong with it
    """
    opts = dict(net.desc_of_layer(name))
    where = _place(net, name)
    cls: type[LayerBase] | None = None
    about: dict[str, Any] = {"layer_name": name, "network": net, "net_dict": net.layers_desc}
    try:
        cls = layer_class_of(opts)
        del opts["class"]
        opts.update(_network=net, _name=name)
        cls.transform_config_dict(opts, net, get_layer or GetLayer(net))
        drop_fork_options(cls.layer_class or "", opts)
        check_options(cls, opts, where=where)
        return _create(net, name, cls, opts) if add_layer is None else add_layer(name, cls, **opts)
    except LayerMissing:
        raise
    except UnknownLayerOption as exc:
        raise LayerOptionError(str(exc), **about) from exc
    except LayerNotFound as exc:
        raise LayerNotFound(
            "%s\n  It is needed by %s (class %r)." % (exc, where, cls and cls.layer_class), **about
        ) from exc
    except (NetworkLayerException, UnknownType):
        raise
    except UserError as exc:
        class_name = cls.layer_class if cls else opts.get("class")
        message = "%s%s: %s" % (where, " (class %r)" % class_name if class_name else "", exc)
        error = LayerOptionError if isinstance(exc, TypeError) else NetworkLayerException
        raise error(message, **about) from exc
    except Exception as exc:
        failure = _wrong_call(opts, exc) or failure_in_users_code(exc)
        if failure is None and net.only_types:
            raise
        if failure is None:
            _print_failure(net, name, cls, opts)
            raise
        raise NetworkLayerException("%s (class %r): %s" % (where, cls and cls.layer_class, failure), **about) from exc


def _wrong_call(opts: dict[str, Any], exc: Exception) -> str | None:
    """If a function among the options was not to be called like this. Python's message begins with its name."""
    for key, value in opts.items():
        if isinstance(value, FunctionType) and isinstance(exc, TypeError):
            if str(exc).startswith(value.__qualname__ + "() "):
                return 'the function given as "%s" does not accept the arguments that it gets: %s' % (key, exc)
    return None


def _place(net: Network, name: str) -> str:
    return 'network["%s"]' % (net.name_prefix + name)


def _create(net: Network, name: str, cls: type[LayerBase], opts: dict[str, Any]) -> LayerBase:
    kwargs = dict(opts, name=name, network=net)
    if net.only_types:
        return _create_type(cls, kwargs)
    output = cls.get_out_data_from_opts(**kwargs)
    check_output(output, n_out=opts.get("n_out"), out_dim=opts.get("out_dim"), out_shape=opts.get("out_shape"))
    net.log_layer(name, output)
    if not output.available_for_inference and not net.eval_flag:
        sources = opts.get("sources", ())
        return DataNotAvailableLayer(name=name, network=net, output=output, sources=sources, _stands_for=(cls, kwargs))
    with net.ops_of_layer(name), net.building_ctx():
        if _computes_in_init(cls) and net.loop is not None and net.get_root_network().computes_at_construction:
            layer: LayerBase = UserLayerInLoop(
                **_seen_outside(kwargs), user_class=cls, user_kwargs=kwargs, output=output
            )
        else:
            layer = cls(**kwargs, output=output)
        _check_value(layer, output.copy_template())
        finish(layer)
    return layer


def _create_type(cls: type[LayerBase], kwargs: dict[str, Any]) -> LayerBase:
    """
    What is not known yet adds nothing to what a layer is. If it cannot do without, it is like what is known.
    """
    sources = [source for source in kwargs["sources"] if not source.is_unknown]
    kwargs["sources"] = sources or kwargs["sources"]
    options = {key: kwargs[key] for key in cls._layer_options if isinstance(kwargs.get(key), LayerBase)}
    unknown = [key for key, layer in options.items() if layer.is_unknown]
    if unknown:
        without = {key: value for key, value in kwargs.items() if key not in unknown}
        try:
            return _layer_of_type(cls, without)
        except ConfigError:
            known = [layer for layer in [*options.values(), *sources] if not layer.is_unknown]
            known.sort(key=lambda layer: layer.output.dtype == "bool")  # rather not a condition
            kwargs.update(dict.fromkeys(unknown, known[0]) if known else {})
    return _layer_of_type(cls, kwargs)


def _layer_of_type(cls: type[LayerBase], kwargs: dict[str, Any]) -> LayerBase:
    output = cls.get_out_data_from_opts(**kwargs)
    check_output(output, **{key: kwargs.get(key) for key in ("n_out", "out_dim", "out_shape")})
    if cls.compute is not LayerBase.compute:
        return cls(**kwargs, output=output)
    layer = object.__new__(cls)  # a class of a user that computes in __init__
    layer._is_template = True
    opts = {key: value for key, value in kwargs.items() if key not in ("name", "network", "sources")}
    layer._set_opts(name=kwargs["name"], network=kwargs["network"], sources=kwargs["sources"], opts=opts)
    layer.output = output
    return layer


def finish(layer: LayerBase) -> None:
    """
    What comes behind the computation of an output.

    :param layer: its output is there
    """
    layer.post_init(layer.kwargs)
    layer.network.finish_layer(layer)
    if layer.network.loop is None and type(layer).compute is LayerBase.compute:
        with_beam_of_sources(layer.output, [source.output for source in layer.sources])
    if layer.needs_gradient:
        layer.output.raw_tensor = rf.watched(layer.output).raw_tensor
    if layer.register_as_extern_data:
        layer.network.register_extern_data(layer.register_as_extern_data, layer.output)


def _computes_in_init(cls: type[LayerBase]) -> bool:
    """a class of a user"""
    return cls.compute is LayerBase.compute and not (cls.layer_class or "").startswith(":")


def _seen_outside(kwargs: dict[str, Any]) -> dict[str, Any]:
    """options that the network reads"""
    own = {key: value for key, value in kwargs.items() if hasattr(LayerBase, key)}
    return {**own, **{key: kwargs[key] for key in ("name", "network", "sources")}}


def _check_value(layer: LayerBase, template: Tensor) -> None:
    """What the classes of users do may not be what they said."""
    output = layer.output
    if not layer.network.computes_at_construction:
        if _computes_in_init(type(layer)):
            if layer.network.get_root_network().computes_at_construction:
                where = "outside of class cond only: inside"
            else:
                where = "for TensorFlow graphs only: on backend %r" % layer.network.backend.name
            raise ConfigError(
                "%s computes in __init__, which works %s a layer has compute()" % (type(layer).__name__, where)
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
        "Exception creating layer %s/%r of class %s with opts:" % (net.name_for_log, name, class_name),
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
    network.set_layers_desc(net_dict)
    for name, desc in _allowed(network):
        if desc.get("register_as_extern_data"):
            network.build_layer(name)
    build_roots(network)
    _tell_what_was_not_built(network)


def _allowed(network: Network) -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, desc)
        for name, desc in sorted(network.layers_desc.items())
        if is_allowed(desc, evaluation=network.eval_flag, search=network.search_flag)
    ]


def build_roots(network: Network, *, only_own: bool = False) -> None:
    """
    :param network: gets its outputs and losses
    :param only_own: not those of the networks inside that it needs
    """
    _build_roots(network)
    if not only_own:
        _complete_subnetworks(network)


def _build_roots(network: Network) -> None:
    for name, desc in _allowed(network):
        if is_root(name, desc):
            network.build_layer(name)


def _complete_subnetworks(network: Network) -> None:
    """Sub-networks of which some layer was built: their losses and outputs count too."""
    done: set[str] = set()
    while True:
        open_keys = sorted(set(network.subnets) - done)
        if not open_keys:
            return
        for key in open_keys:
            done.add(key)
            subnet = network.subnets[key]
            if subnet.inside is not None and subnet.inside.is_hidden:
                continue
            build(network, subnet.name)
            if subnet.inside is not None and subnet.inside.is_complete:
                continue
            _build_roots(subnet)
            _complete_subnetworks(subnet)


_MAX_NAMES_IN_LOG = 20


def _tell_what_was_not_built(network: Network) -> None:
    """Often that is as it should be. If it is not, a name is wrong somewhere."""
    names = [name for name, _ in _allowed(network) if name not in network.layers]
    if names:
        more = " and %i more" % (len(names) - _MAX_NAMES_IN_LOG) if len(names) > _MAX_NAMES_IN_LOG else ""
        text = ", ".join(names[:_MAX_NAMES_IN_LOG])
        print("layers that are not built, as nothing needs them: %s%s" % (text, more), file=log.v3)
