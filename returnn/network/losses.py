"""Losses of layers: from their options to loss objects, and to holders of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.layers.loss import Loss, get_loss_class, loss_option_names
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .errors import NetworkLayerException
from .loss_holder import LossHolder

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase

    from .network import Network


class UnknownLossOption(ConfigError, TypeError):
    """The loss has no such option."""


def make_loss(network: Network, d: dict[str, Any], get_layer: Callable[[str], LayerBase]) -> None:
    """
    Puts a loss object into the options of a layer, in place. ``_loss_name`` stays where losses are not built: it
    decides the output dim.

    :param network: that the layer is in
    :param d: options of the layer
    :param get_layer: for options that are layers
    """
    name = d.pop("loss", None)
    opts = d.pop("loss_opts", None)
    scale = d.pop("loss_scale", None)
    only_non_search = d.pop("loss_only_on_non_search", None)
    if not name:
        for key, value in [("loss_opts", opts), ("loss_scale", scale)]:
            if value is not None:
                raise ConfigError("loss not defined, do not set %s" % key)
        return
    if not isinstance(name, str):
        raise ConfigError("loss must be a name, but is %r" % (name,))
    if opts is not None and not isinstance(opts, dict):
        raise ConfigError("loss_opts must be a dict, but is %r" % (opts,))
    d["_loss_name"] = name
    loss_class = get_loss_class(name)
    opts = dict(opts or {})
    _check_options(loss_class, opts)
    if scale is not None and opts.setdefault("scale", scale) != scale:
        raise ConfigError("loss_scale is %r, but loss_opts has scale %r" % (scale, opts["scale"]))
    if not network.eval_flag or (only_non_search and network.search_flag):
        return
    if isinstance(opts.get("custom_inv_norm_factor"), str):
        opts["custom_inv_norm_factor"] = get_layer(opts["custom_inv_norm_factor"])
    d["loss"] = loss_class(base_network=network, **opts)


def _check_options(loss_class: type[Loss], opts: dict[str, Any]) -> None:
    known = loss_option_names(loss_class)
    unknown = sorted(key for key in opts if key not in known)
    if unknown:
        text = 'loss_opts: option "%s" is unknown to loss "%s".%s'
        lines = [text % (key, loss_class.class_name, did_you_mean(key, known)) for key in unknown]
        raise UnknownLossOption("\n".join([*lines, "  Its options: %s" % ", ".join(known)]))


def make_holders(network: Network) -> list[LossHolder]:
    """
    :param network: root, built
    :return: of all losses, sorted by name
    :raises NetworkLayerException: all that does not fit, at once
    """
    holders, problems, first = [], [], None
    for path, layer in network.all_layers():
        if isinstance(layer.loss, Loss):
            try:
                holders.append(LossHolder(name=path, loss=layer.loss, layer=layer))
            except ConfigError as exc:
                problems.append('network["%s"] (loss %r): %s' % (path, layer.loss.class_name, exc))
                first = first or exc
    if problems:
        raise NetworkLayerException("\n".join(problems), network=network, net_dict=network.layers_desc) from first
    return holders
