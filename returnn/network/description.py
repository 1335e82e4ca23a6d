"""What the log says about a network that was built."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .network import Network


def describe(net: Network, name: str) -> list[str]:
    """
    :param net: built
    :param name: headline
    :return: lines: data, layers, parameters
    """
    lines = ["%s layer topology:" % name]
    lines.append("  extern data: %s" % net.extern_data.get_data_description())
    lines.append("  used data keys: %s" % sorted(net.used_data_keys))
    lines.append("  layers:")
    for path, layer in net.all_layers():
        dim = layer.output.dim
        lines.append("    layer %s %r #: %s" % (layer.layer_class, path, "unknown" if dim is None else dim))
    if not net.layers:
        lines.append("    (no layers)")
    lines.append("net params #: %i" % net.get_num_params())
    lines.append("net trainable params: %s" % net.get_trainable_params())
    return lines
