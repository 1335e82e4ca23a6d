"""The axis that a loop runs over: of its input, of the target, what a layer inside declares, or one of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from returnn.layers.axes import axis_of
from returnn.layers.concat_input import get_concat_sources_data_template
from returnn.tensor import Dim, DimKind, Tensor, single_step_dim
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .subnet import RecSubnet


def find_loop_dim(subnet: RecSubnet) -> Dim | None:
    """
    :param subnet: with the loop
    :return: None: it does one step
    :raises LayerMissing: a layer outside has to be built first
    """
    axis = subnet.opts.get("axis")
    sources = subnet.sources()
    if axis is single_step_dim:
        return None
    joined = get_concat_sources_data_template(sources) if sources else None
    if isinstance(axis, Dim):
        return axis
    if axis is not None:
        if joined is None:
            raise ConfigError('axis %r: the layer has no source; "axis" must be a Dim here' % (axis,))
        return joined.get_dim_tag_from_description(axis)
    if joined is not None and "end" not in subnet.net_dict:
        return joined.time_dim
    if subnet.opts.get("size_target"):
        return _time_of(subnet, subnet.opts["size_target"], "size_target")
    target = subnet.opts.get("target")
    target = target[0] if isinstance(target, (list, tuple)) else target
    if target and subnet.parent_net.eval_flag and _has_frames_of_target(subnet):
        return _time_of(subnet, target, "target")
    return _declared_loop_dim(subnet) or dim_of_unknown_length(subnet)


def dim_of_unknown_length(subnet: RecSubnet) -> Dim:
    """
    :param subnet: with the loop
    :return: always the same one: the axis of a loop that ends by itself
    """
    return subnet.parent_net.dim_of_layer(subnet.name, "dyn-time", None, DimKind.Spatial)


def _has_frames_of_target(subnet: RecSubnet) -> bool:
    """whether there are as many: also in a search, where it is needed frame by frame, or trained"""
    if not subnet.is_searching or subnet.parent_net.train_flag is not False:
        return True
    choices = [d for d in subnet.net_dict.values() if isinstance(d, dict) and d.get("class") == "choice"]
    return any(d.get("cheating") or d.get("search") is False for d in choices)


def _time_of(subnet: RecSubnet, key: str, option: str) -> Dim:
    name = key[len("layer:") :] if key.startswith("layer:") else "data:" + key
    output = subnet.parent_net.get_layer_or_missing(name).output
    if output.time_dim is None:
        raise ConfigError("%s %r gives the length of the loop, but %s has no time axis" % (option, key, output))
    return output.time_dim


def _declared_loop_dim(subnet: RecSubnet) -> Dim | None:
    """
    :return: the axis that a layer inside, of class ``rec_unstack``, declares
    """
    for _, desc in sorted(subnet.net_dict.items()):
        if not isinstance(desc, dict) or desc.get("class") != "rec_unstack" or not desc.get("declare_rec_time"):
            continue
        axis, source = desc.get("axis"), desc.get("from")
        if isinstance(axis, Dim):
            return axis
        source = source[0] if isinstance(source, (list, tuple)) and len(source) == 1 else source
        if axis is None or not isinstance(source, str):
            raise ConfigError('declare_rec_time needs "axis", and one source')
        return axis_of(_output_outside(subnet, source), axis)
    return None


def _output_outside(subnet: RecSubnet, name: str) -> Tensor:
    """
    :param name: ``base:NAME``, as a layer inside says it
    :raises LayerMissing: that layer has to be built first
    """
    if not name.startswith("base:"):
        raise ConfigError("declare_rec_time needs a layer outside, base:NAME, as source, but that is %r" % name)
    return subnet.parent_net.get_layer_or_missing(name[len("base:") :]).output
