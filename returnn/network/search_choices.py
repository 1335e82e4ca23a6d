"""Which choices of a beam search the output of a layer stands for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase


def latest_choices(layers: Iterable[LayerBase]) -> LayerBase | None:
    """
    :param layers: built
    :return: of these layers and those they depend on, the one that chose last; None: nobody chose, or it is decided
    :raises ConfigError: several chose, and none of them after all the others
    """
    found = _nearest_choices(layers)
    if len(found) <= 1:
        return next(iter(found), None)
    before = {layer: _all_before(layer) for layer in found}
    for layer in found:
        if all(other is layer or other in before[layer] for other in found):
            return layer
    lines = ["Search choices cannot be compared. None of these layers chose after all the others:"]
    lines += ["  %r, after: %s" % (layer, _names(before[layer])) for layer in found]
    raise ConfigError("\n".join(lines))


def _nearest_choices(layers: Iterable[LayerBase]) -> list[LayerBase]:
    """
    :return: those that chose; what is behind them is not looked at
    """
    found, todo = [], list(layers)
    seen = set(todo)
    while todo:
        layer = todo.pop()
        if layer.search_choices is not None:
            if not layer.search_choices.is_decided:
                found.append(layer)
            continue
        new = [other for other in layer.get_dep_layers() if other not in seen]
        seen.update(new)
        todo += new
    return found


def _all_before(layer: LayerBase) -> set[LayerBase]:
    before: set[LayerBase] = set()
    todo = [layer]
    while todo:
        new = [other for other in _nearest_choices(todo.pop().get_dep_layers()) if other not in before]
        before.update(new)
        todo += new
    return before


def _names(layers: Iterable[LayerBase]) -> str:
    return ", ".join(sorted(layer.get_absolute_name() for layer in layers)) or "none"
