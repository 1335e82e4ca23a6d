"""The target of a layer: a data key, or the output of a layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .base import LayerBase


def resolve_target_layers(d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
    """
    Finds layers that are targets, in place: ``_target_layers`` by the text in the config. Without losses, a target only
    matters where it decides the output dim.

    :param d: options of a layer
    """
    names = d.get("target")
    found = {}
    if not network.eval_flag and (d.get("n_out") is not None or d.get("out_dim") is not None):
        return
    for name in [names] if isinstance(names, str) else names or []:
        if name.startswith("layer:"):
            found[name] = get_layer(name[len("layer:") :])
        elif name != d["_name"] and network.has_layer(name):
            found[name] = get_layer(name)
    if found:
        d["_target_layers"] = found
        return
    loss_class = d.get("_loss_class")
    if network.eval_flag and loss_class is not None and loss_class.need_target:
        key = _first(names) or network.extern_data.default_target
        name = "data:%s" % key
        if key in network.extern_data.data and not network.has_layer(name):
            get_layer(name)  # so that users find the target among the layers


def _first(target: Any) -> str | None:
    """of the option, a name or several"""
    if isinstance(target, (list, tuple)):
        return target[0] if target else None
    return target


def target_not_found_text(target: str, data_keys: Iterable[str], *, is_default: bool) -> str:
    """
    :param target: neither a layer nor a data key
    :param data_keys: that there are
    :param is_default: the layer has no target, so that it is the one of the network
    :return: message with the nearest names, and all of them
    """
    keys = sorted(data_keys)
    which = "%r (the default)" % target if is_default else "%r" % target
    text = "target %s is neither a layer nor a data key.%s Data keys: %s"
    return text % (which, did_you_mean(target, keys), ", ".join(keys))


def get_target_value(layer: LayerBase, target: str | None = None, *, only_dim: bool = False) -> Tensor:
    """
    :param layer: which has that target
    :param target: as in its config; its first one by default, else the default target of the network
    :param only_dim: the value is not needed, so that nobody has to feed it
    :return: value, or template within a template run
    """
    if target is None:
        target = _first(layer.target)
    target = target or layer.network.extern_data.default_target
    target_layers = getattr(layer, "_target_layers", {})
    if target in target_layers:
        return target_layers[target].output
    data = layer.network.extern_data.data
    if target not in data:
        raise ConfigError(target_not_found_text(target, data, is_default=not layer.target))
    return layer.network.get_extern_data(target, mark_data_key_as_used=not (only_dim or layer._is_template))


def out_dim_from_target(layer: LayerBase) -> Dim | None:
    """
    :return: what a layer with this target, or with this loss, has to output; None without target
    """
    loss_class = layer.loss_class
    if not layer.target and not (loss_class and loss_class.need_target):
        return None
    dim = get_target_value(layer, only_dim=True).feature_dim_or_sparse_dim
    return dim if dim is None or loss_class is None else loss_class.get_auto_output_layer_dim(dim)
