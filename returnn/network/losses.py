"""Losses of layers: from their options to loss objects, and to holders of their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from returnn.layers.loss import check_loss_options, get_loss_class, loss_from_options
from returnn.util.errors import ConfigError

from .errors import NetworkLayerException
from .extra_nets import without_extra_prefixes
from .loss_holder import LossHolder

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase

    from .network import Network


def make_loss(network: Network, d: dict[str, Any], get_layer: Callable[[str], LayerBase]) -> None:
    """
    Puts a loss object into the options of a layer, in place. ``_loss_class`` stays where losses are not built: it
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
    loss_class = get_loss_class(name)
    if opts is not None and not isinstance(opts, dict):
        raise ConfigError("loss_opts must be a dict, but is %r" % (opts,))
    d["_loss_class"] = loss_class
    opts = dict(opts or {})
    check_loss_options(loss_class, opts)
    if scale is not None and opts.setdefault("scale", scale) != scale:
        raise ConfigError("loss_scale is %r, but loss_opts has scale %r" % (scale, opts["scale"]))
    if not network.eval_flag or (network.search_flag and (only_non_search or _only_searches_in_loop(network))):
        return
    d["loss"] = loss_from_options(loss_class, opts, network, get_layer)
    default_target = loss_class.get_default_target(network.extern_data)
    if not d.get("target") and default_target not in (None, network.get_default_target()):
        d["target"] = default_target


def _only_searches_in_loop(network: Network) -> bool:
    """:return: frames of hypotheses have no frames of a target to be compared with; in a training they may have"""
    return network.train_flag is False and network.loop is not None


def make_holders(network: Network) -> list[LossHolder]:
    """
    :param network: root, built
    :return: of all losses, sorted by name
    :raises NetworkLayerException: all that does not fit, at once
    """
    holders, problems, first = [], [], None
    for path, layer in network.all_layers():
        try:
            for holder in layer.get_losses(**{**layer.kwargs, **_arguments_of_get_losses(layer)}):
                _set_path(holder, path, layer)
                holders.append(holder)
        except ConfigError as exc:
            problems.append('network["%s"] (loss %r): %s' % (path, getattr(layer.loss, "class_name", None), exc))
            first = first or exc
    if problems:
        raise NetworkLayerException("\n".join(problems), network=network, net_dict=network.layers_desc) from first
    names = Counter(without_extra_prefixes(holder.name) for holder in holders)
    for holder in holders:
        plain = without_extra_prefixes(holder.name)
        if names[plain] == 1:
            holder.name = plain
    return sorted(holders, key=lambda holder: holder.name)


def describe_objective(holders: Sequence[LossHolder]) -> list[str]:
    """
    :param holders: of all losses
    :return: lines for the log: how each loss enters what is minimised
    """
    return ["losses, as they are minimised:", *("  %s: %s" % (h.name, _in_objective(h)) for h in holders)]


def _in_objective(holder: LossHolder) -> str:
    loss = holder.loss
    kind = getattr(loss, "class_name", None) or type(loss).__name__
    if holder.get_loss_value_for_objective() is None:
        return "%s, not minimised, only reported" % kind
    if holder.get_only_on_eval():
        return "%s, not minimised, only in evaluation" % kind
    has_frames = loss.frames_dim() is not None
    mode = "sum over %s" % ("frames" if has_frames and not loss.recurrent else "sequences")
    if loss.use_normalized_loss:
        has_own_norm = loss.custom_norm_factor is not None or loss.custom_inv_norm_factor is not None
        number = "number of frames" if has_frames else "number of sequences"
        mode += ", times its own norm factor" if has_own_norm else ", divided by the %s" % number
    return "%s, scale %s, %s" % (kind, loss.scale, mode)


def _arguments_of_get_losses(layer: LayerBase) -> dict[str, Any]:
    output = layer.output
    return {"name": layer.name, "network": layer.network, "output": output, "loss": layer.loss, "layer": layer}


def _set_path(holder: LossHolder, path: str, layer: LayerBase) -> None:
    """A layer knows only its own name."""
    if holder.name == layer.name or holder.name.startswith(layer.name + "/"):
        holder.name = path + holder.name[len(layer.name) :]
