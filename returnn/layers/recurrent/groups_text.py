"""Says which layers of a recurrent unit are computed before, in and behind the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from returnn.layers.base import LayerBase
from returnn.layers.source import InternalLayer
from returnn.layers.subnetwork import SubnetworkInputLayer

from .loop_layers import RecStepInfoLayer

if TYPE_CHECKING:
    from .subnet import RecSubnet


def groups_text(subnet: RecSubnet) -> list[str]:
    """
    :param subnet: its groups are known
    :return: lines: each group as it is reached from the outputs
    """
    net, groups = subnet.parent_net, subnet.groups
    train = net.train_flag if isinstance(net.train_flag, bool) else getattr(net.train_flag, "name", "train_flag")
    by_step = [
        layer.name
        for layer in dict.fromkeys(x for layer in groups.in_loop for x in layer.get_dep_layers())
        if isinstance(layer, RecStepInfoLayer)
    ]
    used = {layer.name for layer in groups.layers() if layer.network is subnet.net}
    parts = {
        "Input layers moved out of loop": _names(groups.before, subnet),
        "Output layers moved out of loop": _names(groups.behind[::-1], subnet),
        "Layers in loop": _names(groups.in_loop[::-1], subnet) + by_step,
        "Unused layers": sorted(name for name in subnet.net.layers_desc if name not in used),
    }
    name = net.name_prefix + subnet.name
    lines = ["Rec layer %r (search %s, train %r) sub net:" % (name, subnet.is_searching, train)]
    for text, names in parts.items():
        lines += ["  %s: (#: %i)" % (text, len(names)), *("    " + name for name in names or ["None"])]
    return lines


def _names(layers: list[LayerBase], subnet: RecSubnet) -> list[str]:
    implicit = (SubnetworkInputLayer, InternalLayer)
    seen = [x for x in layers if not isinstance(x, implicit) and x.network.masking is None]
    return [layer.get_absolute_name()[len(subnet.net.name_prefix) :] for layer in seen]
