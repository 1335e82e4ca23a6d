"""The parts of a recurrent state, and what options call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError


def state_of_key(layer_name: str, states: Mapping[str, Tensor], key: Any) -> Tensor:
    """
    :param layer_name: for messages
    :param states: name -> part of the state of that layer
    :param key: "*": all parts joined, c then h; name or number of a part; None: the only one
    :return: that part
    """
    names = in_state_order(tuple(states))
    if key == "*":
        parts = [states[name] for name in names]
        return parts[0] if len(parts) == 1 else rf.concat_features(*parts)
    if isinstance(key, int) and 0 <= key < len(names):
        return states[names[key]]
    if key in states:
        return states[key]
    if key is None and len(names) == 1:
        return states[names[0]]
    raise ConfigError("layer %r has no state %r. Its states: %s" % (layer_name, key, ", ".join(names)))


def in_state_order(names: Sequence[str]) -> list[str]:
    """
    :return: as numbers count them: c, h
    """
    return sorted(names)
