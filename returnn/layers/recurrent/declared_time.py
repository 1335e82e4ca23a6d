"""The axis of a loop, where a layer of its unit says it: ``rec_unstack`` with ``declare_rec_time``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from returnn.layers.axes import axis_of
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError


def declared_loop_dim(net_dict: dict[str, Any], get_output: Callable[[str], Tensor]) -> Dim | None:
    """
    :param net_dict: the unit of a recurrent layer
    :param get_output: name, as a layer inside says it -> output of a layer outside
    :return: the axis that a layer of class ``rec_unstack`` declares
    """
    for _, desc in sorted(net_dict.items()):
        if not isinstance(desc, dict) or desc.get("class") != "rec_unstack" or not desc.get("declare_rec_time"):
            continue
        axis, source = desc.get("axis"), desc.get("from")
        if isinstance(axis, Dim):
            return axis
        source = source[0] if isinstance(source, (list, tuple)) and len(source) == 1 else source
        if axis is None or not isinstance(source, str):
            raise ConfigError('declare_rec_time needs "axis", and one source')
        return axis_of(get_output(source), axis)
    return None
