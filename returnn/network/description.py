"""What the log says about a network that was built."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase

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
    lines += [_layer_line(path, layer) for path, layer in net.all_layers()]
    if not net.layers:
        lines.append("    (no layers)")
    for prefix, extra_net in sorted(net.extra_nets.items()):
        lines.append("  '%s(%s)' layers:" % (net.name_for_log, prefix))
        lines += [_layer_line(name, layer) for name, layer in sorted(extra_net.layers.items())]
    lines += _param_table(net)
    lines.append("net params #: %i" % net.get_num_params())
    lines.append("net trainable params: %s" % net.get_trainable_params())
    return lines


def _layer_line(path: str, layer: LayerBase) -> str:
    dim = layer.output.dim
    return "    layer %s %r #: %s" % (layer.layer_class, path, "unknown" if dim is None else dim)


def _param_table(net: Network) -> list[str]:
    """
    :return: name, shape, number of entries of each parameter, and which of them the updater leaves alone
    """
    rows = net.param_store.rows()
    if not rows:
        return []
    all_trainable = net.get_root_network().all_trainable
    cells = [(row.name, "x".join(map(str, row.shape)) or "scalar", str(row.size)) for row in rows]
    widths = [max(len(cell[i]) for cell in cells) for i in range(3)]
    lines = ["  params:"]
    for row, (name, shape, size) in zip(rows, cells, strict=True):
        line = "    %-*s  %*s  %*s" % (widths[0], name, widths[1], shape, widths[2], size)
        lines.append(line if row.trainable and all_trainable else line + "  fixed")
    return lines
