"""Which layers of a recurrent unit need not be computed frame by frame.

What depends on nothing in the loop is computed before it, for all frames at once; what nothing in the loop depends on
is computed behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.tensor import Dim

from .beams import Beams
from .construction import layers_read_outside
from .input_lengths import dims_of_inputs
from .loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer

if TYPE_CHECKING:
    from returnn.network.network import Network

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
    read_as_whole: set[LayerBase] = field(default_factory=set)
    """layers whose outputs may have the axis of the loop, but are the same in all frames: they have it from outside"""
    dims_of_inputs: dict[LayerBase, Dim] = field(default_factory=dict)
    """layer that has the frames of an input, and not those of the loop -> their dim there"""

    def layers(self) -> list[LayerBase]:
        """
        :return: all
        """
        return [*self.before, *self.in_loop, *self.behind]

    def layers_to_collect(self, net: Network) -> list[LayerBase]:
        """
        :param net: the network inside
        :return: layers in the loop whose outputs of all frames are kept, as others need them
        """
        res = {layer for layer in self.in_loop if _is_needed_outside(layer, net)}
        masks = [mask for layer in res if layer.network.masking is not None for mask in layer.network.masking.masks]
        needed_behind = [other for layer in self.behind for other in layer.get_dep_layers()]
        res.update(x.of_layer if isinstance(x, RecPreviousLayer) else x for x in (*masks, *needed_behind))
        return [layer for layer in self.in_loop if layer in res]

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
    res.dims_of_inputs = dims_of_inputs(res, subnet)
    return res


_SEEN_ONLY = (RecFrameLayer, RecPreviousLayer, RecStepInfoLayer)


def _is_needed_outside(layer: LayerBase, net: Network) -> bool:
    """whether its outputs of all frames are needed, besides those for layers behind the loop"""
    return (layer.network is net and layer.name == "output") or bool(layer.is_output_layer) or layer.loss is not None


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


def _must_stay_in_loop(layer: LayerBase, subnet: RecSubnet) -> bool:
    """whether the layer itself cannot be computed for all frames at once"""
    if layer in subnet.kept_in_loop or layer.chooses or layer.stays_in_loop:
        return True
    if layer.network.masking is not None and layer.network.masking.outer is not None:
        return True
    if layer.network is subnet.net and layer.name == "end":
        return True
    return subnet.states.has(layer) and not layer.iterates_itself


def _not_for_all_frames(subnet: RecSubnet, layers: list[LayerBase], groups: Partition) -> set[LayerBase]:
    """
    :param layers: of the unit, each behind those that it depends on
    :param groups: gets those that are ``read_as_whole``
    :return: those with a state whose input is the same in all frames, so that it has no axis to iterate over; loops
        within the loop whose input is not; and those that would have the axis of the loop twice, from outside too
    """
    found: set[LayerBase] = set()
    changing: set[LayerBase] = set()
    used_before = {x for others in groups.uses_before.values() for x in others}
    for layer in layers:
        has_loop_dim = layer.name != ":source" and any(_has_loop_dim(x, subnet, groups) for x in layer.get_dep_layers())
        if _reads_frames(layer, changing):
            changing.add(layer)
            if has_loop_dim or any(net.loop is not subnet for net in layer.get_sub_networks()):
                found.add(layer)
        elif subnet.states.has(layer):
            changing.add(layer)
            found.add(layer)
        elif has_loop_dim:
            groups.read_as_whole.add(layer)
            if layer in used_before or layer.need_last:
                found.add(layer)
    return found


def _has_loop_dim(layer: LayerBase, subnet: RecSubnet, groups: Partition) -> bool:
    """whether it is the same in all frames, and has the axis of the loop all the same"""
    if layer.network.loop is subnet:
        return layer in groups.read_as_whole
    return not layer.is_unknown and subnet.loop_dim in (layer.output.unmerged or layer.output).dims


def _with_lengths_of_frame_before(subnet: RecSubnet, groups: Partition) -> set[LayerBase]:
    """
    :param subnet: with the loop
    :param groups: know who uses what
    :return: layers with lengths of each frame, where those of the frame before are needed; and who needs them. Both
        have the same dim, whose lengths can only be those of one frame
    """
    outside = {subnet.loop_dim}
    for x in layers_read_outside(subnet):
        outside.update(() if x.is_unknown else x.output.dims)
    found: set[LayerBase] = set()
    for layer, others in groups.uses_before.items():
        for x in others:
            if any(_is_made_in_loop(d, outside) for d in x.output.dims):
                found |= {layer, x}
    return found


def _is_made_in_loop(dim: Dim, outside: set[Dim]) -> bool:
    bases = (dim, dim.derived_from_tag)
    return dim.is_dynamic and not (dim.is_batch_dim or dim.is_beam_dim) and not any(d in outside for d in bases if d)


def _dependencies(layer: LayerBase, layers: set[LayerBase]) -> tuple[list[LayerBase], list[LayerBase]]:
    same: list[LayerBase] = []
    before: list[LayerBase] = []
    masking = layer.network.masking
    for other in [*layer.get_dep_layers(), *(masking.masks if masking is not None else [])]:
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
        self._stays = {x for x in in_loop if _must_stay_in_loop(x, subnet)}
        self._stays |= _not_for_all_frames(subnet, in_loop, groups) | _with_lengths_of_frame_before(subnet, groups)
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
        if not self._subnet.length_is_known and any(self._subnet.states.has(x) or x.counts_frames for x in group):
            return False  # it goes over frames, and nobody knows how many there are
        needed = [x for layer in group for x in (*self._groups.uses[layer], *self._groups.uses_before[layer])]
        return not any(x in needed and x not in group for x in self._in_loop)

    def _has_to_stay(self, group: list[LayerBase]) -> bool:
        """one of the group does; or one needs the frame before of one"""
        before = self._groups.uses_before
        return any(layer in self._stays or any(x in group for x in before[layer]) for layer in group)
