"""The target of a layer: a data key, or the output of a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.tensor import Dim, DimKind, Tensor

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .base import LayerBase


def resolve_target_layers(d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
    """
    Finds layers that are targets, in place: ``_target_layers`` by the text in the config.

    :param d: options of a layer
    """
    names = d.get("target")
    found = {}
    for name in [names] if isinstance(names, str) else names or []:
        if name.startswith("layer:"):
            found[name] = get_layer(name[len("layer:") :])
        elif network.has_layer(name) and network.eval_flag:
            found[name] = get_layer(name)
    if found:
        d["_target_layers"] = found


def get_target_value(layer: LayerBase, target: str | None = None) -> Tensor:
    """
    :param layer:
    :param target: as in its config; its first one by default, else the default target of the network
    :return: value, or template within a template run
    """
    if target is None:
        target = layer.target[0] if isinstance(layer.target, (list, tuple)) else layer.target
    target = target or layer.network.extern_data.default_target
    target_layers = getattr(layer, "_target_layers", {})
    if target in target_layers:
        return target_layers[target].output
    return layer.network.get_extern_data(target, mark_data_key_as_used=not layer._is_template)


def out_dim_from_target(layer: LayerBase) -> Dim | None:
    """
    :return: what a layer with this target has to output; for ctc one more, the blank; None without target
    """
    has_loss = layer.loss is not None or layer.network.loss_name_of(layer) is not None
    if not layer.target and not has_loss:
        return None
    dim = get_target_value(layer).feature_dim_or_sparse_dim
    if dim is not None and layer.network.loss_name_of(layer) == "ctc":
        return layer.make_dim("out", dim.dimension + 1, kind=DimKind.Feature)
    return dim
