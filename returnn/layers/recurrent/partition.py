"""Which layers of a recurrent unit need not be computed frame by frame.

What depends on nothing in the loop is computed before it, for all frames at once; what nothing in the loop depends on
is computed behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase

from .beams import Beams
from .loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer

if TYPE_CHECKING:
    from .subnet import RecSubnet


@dataclass
class Partition:
    """All layers of a unit that are computed, each group in the order in which it is computed."""

    before: list[LayerBase] = field(default_factory=list)
    in_loop: list[LayerBase] = field(default_factory=list)
    behind: list[LayerBase] = field(default_factory=list)
    beams: Beams | None = None
    """None: no layer in the loop chooses"""
    uses: dict[LayerBase, list[LayerBase]] = field(default_factory=dict)
    """layer -> layers of the unit that it needs at the same frame"""
    uses_before: dict[LayerBase, list[LayerBase]] = field(default_factory=dict)
    """layer -> layers of the unit whose frame before it needs"""

    def layers_with_frames(self) -> set[LayerBase]:
        """
        :return: whose outputs have a value for each frame; those of others are the same in all frames
        """
        found = set(self.in_loop)
        for layer in (*self.before, *self.behind):
            if _reads_frames(layer, found):
                found.add(layer)
        return found


def partition(subnet: RecSubnet) -> Partition:
    """
    :param subnet: its layers are built
    :return: the groups
    """
    layers = [x for x in subnet.net.inner_steps.layers if not isinstance(x, _SEEN_ONLY)]
    res = Partition()
    for layer in layers:
        res.uses[layer], res.uses_before[layer] = _dependencies(layer, set(layers))
    in_loop = list(layers)
    if subnet.moves_layers_out:
        _Mover(subnet, res, in_loop).move_all()
    else:
        for layer in list(in_loop):
            if layer.name == ":source":
                in_loop.remove(layer)
                res.before.append(layer)
    res.in_loop = in_loop
    choices = [layer for layer in in_loop if layer.chooses]
    res.beams = Beams(choices, res) if choices else None
    return res


_SEEN_ONLY = (RecFrameLayer, RecPreviousLayer, RecStepInfoLayer)


def _reads_frames(layer: LayerBase, found: set[LayerBase]) -> bool:
    """
    :param layer: of the unit
    :param found: layers of the unit that have a value for each frame
    :return: whether it depends on something that differs from frame to frame
    """
    if layer.counts_frames:
        return True
    for x in layer.get_dep_layers():
        if x in found or (isinstance(x, RecFrameLayer) and x.full in found):
            return True
        if x.network.loop is layer.network.loop:
            if isinstance(x, (RecPreviousLayer, RecStepInfoLayer)) or (isinstance(x, RecFrameLayer) and x.is_sliced):
                return True
    return False


def _not_for_all_frames(subnet: RecSubnet, layers: list[LayerBase]) -> set[LayerBase]:
    """
    :param layers: of the unit, each behind those that it depends on
    :return: those with a state whose input is the same in all frames, so that it has no axis to iterate over; and loops
        within the loop whose input is not
    """
    found: set[LayerBase] = set()
    changing: set[LayerBase] = set()
    for layer in layers:
        if _reads_frames(layer, changing):
            changing.add(layer)
            if any(net.loop is not subnet for net in layer.get_sub_networks()):
                found.add(layer)
        elif subnet.has_state(layer):
            changing.add(layer)
            found.add(layer)
    return found


def _dependencies(layer: LayerBase, layers: set[LayerBase]) -> tuple[list[LayerBase], list[LayerBase]]:
    same: list[LayerBase] = []
    before: list[LayerBase] = []
    masking = layer.network.masking
    for other in [*layer.get_dep_layers(), *([masking.mask] if masking is not None else [])]:
        if other.network.loop is not layer.network.loop:
            continue
        if isinstance(other, RecPreviousLayer):
            before.append(other.of_layer)
        elif isinstance(other, RecFrameLayer):
            if other.full in layers:
                same.append(other.full)
        elif other in layers:
            same.append(other)
    return same, before


class _Mover:
    """Moves a group of layers as a whole, see ``LayerBase.group_in_loop``; most layers are alone in theirs."""

    def __init__(self, subnet: RecSubnet, groups: Partition, in_loop: list[LayerBase]):
        self._subnet = subnet
        self._groups = groups
        self._in_loop = in_loop
        self._stays = {x for x in in_loop if subnet.must_stay_in_loop(x)} | _not_for_all_frames(subnet, in_loop)
        members: dict[Any, list[LayerBase]] = {}
        for layer in in_loop:
            members.setdefault(layer.group_in_loop or layer, []).append(layer)
        self._group_of = {layer: group for group in members.values() for layer in group}

    def move_all(self) -> None:
        behind: list[LayerBase] = []
        while True:
            group = self._first(reversed(self._in_loop), self._can_move_behind)
            if group is not None:
                self._remove(group)
                behind += group[::-1]
                continue
            group = self._first(self._in_loop, self._can_move_before)
            if group is None:
                break
            self._remove(group)
            self._groups.before += group
        self._groups.behind = behind[::-1]

    def _first(
        self, layers: Iterable[LayerBase], condition: Callable[[list[LayerBase]], bool]
    ) -> list[LayerBase] | None:
        return next((self._group_of[x] for x in layers if condition(self._group_of[x])), None)

    def _remove(self, group: list[LayerBase]) -> None:
        for layer in group:
            self._in_loop.remove(layer)

    def _can_move_behind(self, group: list[LayerBase]) -> bool:
        groups = self._groups
        if self._has_to_stay(group) or any(layer.name == ":source" for layer in group):
            return False
        others = [x for x in self._in_loop if x not in group]
        return not any(layer in groups.uses[x] or layer in groups.uses_before[x] for x in others for layer in group)

    def _can_move_before(self, group: list[LayerBase]) -> bool:
        if self._has_to_stay(group):
            return False
        read = [x for layer in group for x in layer.get_dep_layers()]
        if any(isinstance(x, RecStepInfoLayer) and x.network.loop is self._subnet for x in read):
            return False
        if not self._subnet.length_is_known and any(self._subnet.has_state(x) or x.counts_frames for x in group):
            return False  # it goes over frames, and nobody knows how many there are
        needed = [x for layer in group for x in (*self._groups.uses[layer], *self._groups.uses_before[layer])]
        return not any(x in needed and x not in group for x in self._in_loop)

    def _has_to_stay(self, group: list[LayerBase]) -> bool:
        """one of the group does; or one needs the frame before of one"""
        before = self._groups.uses_before
        return any(layer in self._stays or any(x in group for x in before[layer]) for layer in group)
