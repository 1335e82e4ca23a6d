"""The network inside of a recurrent layer.

What it holds, and what the other modules do for it:

- :mod:`.loop_axis`: the axis that the loop runs over
- :mod:`.names_inside`: what names mean inside
- :mod:`.types`: what the outputs of layers are, where these depend on the frame before
- :mod:`.construction`: which layers are built
- :mod:`.state_specs`: what layers hand on from frame to frame besides their output
- :mod:`.partition`: which layers are computed before, in and behind the loop

It is computed by :mod:`.loop`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.layers.activations import OutputWithActivation
from returnn.layers.base import LayerBase
from returnn.layers.subnetwork import Subnetwork
from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .construction import build_roots, layers_inside
from .groups_text import groups_text
from .initial import check_initial_output, layer_of_initial_output, make_parameters
from .loop_axis import dim_of_unknown_length, find_loop_dim
from .loop_layers import RecFrameLayer, RecPreviousLayer
from .names_inside import NamesInside
from .partition import Partition, partition
from .state_specs import StateSpec, StateSpecs
from .types import TypeRounds

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .loop import Loop


class RecSubnet(Subnetwork):
    """The network inside of a recurrent layer: its ``unit``."""

    is_deferred = True
    is_complete = True
    scope_suffix = "/rec"

    def __init__(self, parent_net: Network, name: str, opts: dict[str, Any]):
        """
        :param parent_net: network that the layer is in
        :param name: of the layer
        :param opts: of the layer
        """
        super().__init__(parent_net, name, opts)
        self.is_built = False
        self.rec_layer: LayerBase | None = None
        """the layer around"""
        self.run: Loop | None = None
        """while the loop is computed"""
        self.states = StateSpecs()
        self.types: dict[str, Tensor] = {}
        """path in the network inside -> template of the output of that layer, as far as it is known"""
        self.type_rounds = TypeRounds(self)
        """find these out"""
        self.groups: Partition
        """which layers are computed before, in and behind the loop"""
        self.kept_in_loop: set[LayerBase] = set()
        """layers whose values besides the output are asked for, frame by frame"""
        self.last_frames: dict[LayerBase, Tensor] = {}
        """output at the last frame of each sequence, of the layers with ``need_last``"""
        self.last_states: dict[tuple[LayerBase, str], Tensor] = {}
        """states there of those computed in the loop"""
        self._names = NamesInside(self)
        self._templates: dict[LayerBase, Tensor] = {}
        self._before_activation: dict[LayerBase, Tensor] = {}
        self._kept_when_built: list[RecPreviousLayer] = []
        self._loop_dim: Dim | None = None
        self._is_single_step = False
        self._is_output_checked = False

    @property
    def loop(self) -> RecSubnet:
        return self

    # ---- options

    @property
    def net_dict(self) -> dict[str, Any]:
        unit = self.opts["unit"]
        if "output" not in unit:
            raise ConfigError('the unit has no layer "output"')
        return unit

    def source_names(self) -> list[str]:
        """
        :return: of ``from``
        """
        names = self.opts.get("from", [])
        return [n for n in ([names] if isinstance(names, str) else names or []) if n != "none"]

    def sources(self) -> list[LayerBase]:
        """
        :return: layers of ``from``
        :raises LayerMissing: one of them has to be built first
        """
        return [self.parent_net.get_layer_or_missing(name) for name in self.source_names()]

    @property
    def is_searching(self) -> bool:
        """whether labels are chosen in the loop"""
        return self.parent_net.search_flag

    @property
    def moves_layers_out(self) -> bool:
        """whether layers that need not be computed frame by frame are not"""
        option = self.opts.get("optimize_move_layers_out")
        if option is None:
            option = self.parent_net.get_config().typed_value("optimize_move_layers_out", None)
        return True if option is None else bool(option)

    # ---- the axis

    @property
    def loop_dim(self) -> Dim:
        """
        The axis that the loop runs over; of one frame, if it does one step. Inputs do not have that.

        :raises LayerMissing: a layer outside has to be built first
        """
        if self._loop_dim is None:
            found = find_loop_dim(self)
            self._is_single_step = found is None
            self._loop_dim = found or self.parent_net.dim_of_layer(self.name, "step", 1, DimKind.Spatial)
        return self._loop_dim

    @property
    def is_single_step(self) -> bool:
        """there is no axis to iterate over: it does one step"""
        _ = self.loop_dim
        return self._is_single_step

    @property
    def loop_dim_of_inputs(self) -> Dim | None:
        """the axis of inputs that are read frame by frame; None: there is none"""
        return None if self.is_single_step else self.loop_dim

    @property
    def length_is_known(self) -> bool:
        """before the loop"""
        return self.loop_dim != dim_of_unknown_length(self)

    def dim_of_output(self) -> Dim:
        """
        :return: the axis of the loop; up to behaviour version 12, it may be that of an input which is the output
        """
        dim = self.groups.dims_of_inputs.get(self.net.layers["output"], self.loop_dim)
        if not self._is_output_checked:
            self._is_output_checked = True
            BehaviorVersion.require(
                dim == self.loop_dim,
                'the layer "output" of the unit has the frames of an input with the time dim %s, but the loop is over '
                "%s. Say that they are the same: by same_dim_tags_as in extern_data, or a layer reinterpret_data with "
                "size_base" % (dim, self.loop_dim),
                Change.REC_TIME_IS_CHECKED,
            )
        return dim

    # ---- names inside

    @property
    def layers_before(self) -> list[RecPreviousLayer]:
        """all that stand for the frame before of a layer"""
        return self._names.layers_before

    def data_layer(self, name: str) -> LayerBase | None:
        return self._names.data_frame(name)

    def loop_layer(self, net: Network, name: str) -> LayerBase | None:
        return self._names.step_info(net) if name == ":i" else self.layer_before(net, name[len("prev:") :])

    def layer_before(self, net: Network, name: str) -> LayerBase:
        """
        See :meth:`.names_inside.NamesInside.layer_before`.
        """
        return self._names.layer_before(net, name)

    def frames_of(self, net: Network, full: LayerBase) -> RecFrameLayer:
        """
        See :meth:`.names_inside.NamesInside.frames_of`.
        """
        return self._names.frames_of(net, full)

    def previous_of(self, layer: LayerBase) -> RecPreviousLayer:
        """
        :param layer: inside, with ``need_last``
        :return: what it is at the frame before
        """
        found = layer.network.layers["prev:" + layer.name]
        assert isinstance(found, RecPreviousLayer)
        return found

    # ---- construction

    def build(self) -> None:
        """
        Builds the layers inside that are needed.

        :raises LayerMissing: a layer outside has to be built first; then this is to be called again
        """
        if self.is_built:
            return
        self.types = self.type_rounds.derive()
        build_roots(self, self.net)
        self._build_frames_before()
        for layer in layers_inside(self):
            self._templates[layer] = layer.output.copy_template()
            if layer.output_before_activation is not None:
                self._before_activation[layer] = layer.output_before_activation.x.copy_template()
        if not self.length_is_known:
            _check_end(self.net.layers["end"])
        self.keep_in_loop(*(previous.of_layer for previous in self._kept_when_built))
        self.groups = partition(self)
        beams = self.groups.beams
        if beams is not None and not self.length_is_known and self.net.layers["end"] in beams.with_beam:
            self.loop_dim.get_same_base()._size_dims = (batch_dim, beams.last)
        if self.moves_layers_out:
            print("\n".join(groups_text(self)), file=log.v3)
        self.is_built = True

    def _build_frames_before(self) -> None:
        """the layers are built"""
        used = set(self.layers_before)
        for layer in self.net.inner_steps.layers:
            if layer.need_last:
                self.layer_before(layer.network, layer.name)
        for previous in self.layers_before:
            previous.initial = layer_of_initial_output(previous.network, previous.of_name)
            check_initial_output(previous, loop_dim=self.loop_dim, may_be_missing=previous not in used)
            make_parameters(previous, self)

    def keep_in_loop(self, *layers: LayerBase) -> None:
        """
        :param layers: inside; their values besides the output are asked for, frame by frame
        """
        self.kept_in_loop.update(layers, [layer.layer_of_state for layer in layers])

    def keep_in_loop_later(self, before: RecPreviousLayer) -> None:
        """
        :param before: of a layer inside that is not built yet; for it, see :func:`keep_in_loop`
        """
        if not before.network.only_types:
            self._kept_when_built.append(before)

    def check_is_seen_outside(self, layer: LayerBase) -> None:
        """
        :param layer: inside, named by one outside
        :raises ConfigError: its outputs are not kept
        """
        if self.is_built and layer in self.groups.in_loop and layer not in self.groups.layers_to_collect(self.net):
            name = layer.get_absolute_name()[len(self.net.name_prefix) :]
            raise ConfigError(
                "%r: Cannot get layer %r from outside, because it is only available inside the recurrent loop. "
                "Add 'is_output_layer': True to the layer options." % (self.rec_layer, name)
            )

    # ---- templates

    def template_of(self, layer: LayerBase) -> Tensor:
        """
        :param layer: inside
        :return: a new template of its output of one frame
        """
        return self._templates[layer].copy_template()

    def template_of_last_frame(self, layer: LayerBase) -> Tensor:
        """
        :param layer: inside
        :return: of its output at the last frame of each sequence: that of one frame, with the dims of the sequences
        """
        x = self.template_of(layer)
        missing = [d for d in self.loop_dim.size_dims or () if d not in x.dims and not d.is_beam_dim]
        return x.like(None, dims=[*missing, *x.dims]) if missing else x

    def template_before_activation(self, layer: LayerBase) -> Tensor | None:
        """
        :param layer: inside
        :return: of one frame
        """
        return self._before_activation.get(layer)

    def make_templates_of_all_frames(self) -> None:
        """Where layers are only built: gives those inside templates of what the loop will give them."""
        if self.is_single_step:
            return
        for layer in self.groups.layers_with_frames():
            template = self.template_of(layer)
            own = self.groups.dims_of_inputs.get(layer, self.loop_dim)
            layer.output = template.like(None, dims=[own, *template.dims], time_dim=own)
            before = self.template_before_activation(layer)
            if before is not None and layer.output_before_activation is not None:
                before = before.like(None, dims=[own, *before.dims])
                layer.output_before_activation = OutputWithActivation(before, layer.output_before_activation.activation)

    # ---- states

    def is_frame_by_frame(self) -> bool:
        """
        :return: whether layers inside are computed, or built, for one frame
        """
        return self.run is None or self.run.is_in_loop

    def previous(self, layer: LayerBase, key: str, template: Tensor, initial: Callable[[], Tensor]) -> Tensor:
        """
        See :meth:`returnn.layers.rec_protocol.RecProtocol.previous`.
        """
        if self.run is not None and not layer._is_template:
            return self.run.previous(layer, key)
        self.states.declare(StateSpec(layer, key, template.copy_template(), initial))
        return template.copy_template()

    def leave(self, layer: LayerBase, key: str, value: Tensor, *, in_each_frame: bool = False) -> None:
        """
        See :meth:`returnn.layers.rec_protocol.RecProtocol.leave`.
        """
        if self.run is not None:
            self.run.leave(layer, key, value, in_each_frame=in_each_frame)

    def state_templates(self, path: str) -> dict[str, Tensor]:
        """
        :param path: of a layer inside, from the root network on; it may not be built yet
        :return: its states, as far as they are known
        """
        return {key: spec.template for key, spec in self.states.known_of(path).items()}

    def state_before(self, layer: LayerBase, key: Any) -> Tensor | None:
        """
        :param layer: inside
        :param key: of its state
        :return: the state behind the frame before
        """
        self.keep_in_loop(layer)
        return layer.get_state_of_frame_before(key)

    def states_behind_loop(self, layer: LayerBase) -> dict[str, Tensor] | None:
        """
        :param layer: inside
        :return: its states at the last frame of each sequence; None: the layer has them itself
        :raises ConfigError: they are not kept
        """
        if not self.is_built or self.run is not None or layer not in self.groups.in_loop:
            return None
        if not layer.need_last:
            raise ConfigError(
                "the state of layer %r at the last frame is not kept, as the layer is in a loop: give it "
                "need_last: True" % layer.get_absolute_name()
            )
        if not self.parent_net.has_values:
            return self.states.templates_of(layer)
        return {key: state for (x, key), state in self.last_states.items() if x is layer}


def _check_end(layer: LayerBase) -> None:
    x = layer.output
    if x.dtype != "bool" or any(not d.is_batch_dim for d in x.dims):
        raise ConfigError('the layer "end" of the unit must be bool [batch], but is %s' % x.short_repr())
