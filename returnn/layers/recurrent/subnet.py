"""The network inside of a recurrent layer: what names mean there, and which axis the loop runs over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.layers.activations import OutputWithActivation
from returnn.layers.base import LayerBase
from returnn.layers.concat_input import get_concat_sources_data_template
from returnn.layers.missing import LayerMissing
from returnn.layers.source import InternalLayer, UnknownLayer
from returnn.layers.subnetwork import Subnetwork, SubnetworkInputLayer
from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor, batch_dim, single_step_dim
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .declared_time import declared_loop_dim
from .initial import check_initial_output, make_parameters
from .loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer
from .partition import Partition, partition
from .types import TypeRounds

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .loop import Loop

INITIAL_KINDS = ("zeros", "ones", "var", "apply(0)")
_INPUT_OPTIONS = ("dropout", "dropout_noise_shape", "dropout_axis", "dropout_on_forward")


class StateSpec:
    """What a layer hands on from frame to frame besides its output."""

    def __init__(self, layer: LayerBase, key: str, template: Tensor, initial: Callable[[], Tensor]):
        """
        :param layer: whose it is
        :param key: its name there
        :param template: of a frame
        :param initial: gives the value before the first frame
        """
        self.layer = layer
        self.key = key
        self.template = template
        self.initial = initial


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
        self.states: dict[tuple[LayerBase, str], StateSpec] = {}
        self.specs_by_path: dict[tuple[str, str], StateSpec] = {}
        self.run: Loop | None = None
        """while the loop is computed"""
        self.groups: Partition
        """which layers are computed before, in and behind the loop"""
        self.types: dict[str, Tensor] = {}
        """path in the network inside -> template of the output of that layer, as far as it is known"""
        self.layers_before: list[RecPreviousLayer] = []
        self.rec_layer: LayerBase | None = None
        """the layer around"""
        self.last_frames: dict[LayerBase, Tensor] = {}
        """output at the last frame of each sequence, of the layers with ``need_last``"""
        self.last_states: dict[tuple[LayerBase, str], Tensor] = {}
        """states there of those computed in the loop"""
        self._templates: dict[LayerBase, Tensor] = {}
        self._before_activation: dict[LayerBase, Tensor] = {}
        self._kept_in_loop: set[LayerBase] = set()
        self._kept_when_built: list[RecPreviousLayer] = []
        self._rounds: TypeRounds | None = None
        self._loop_dim: Dim | None = None
        self._has_loop_dim = False
        self.is_single_step = False
        """there is no axis to iterate over: it does one step"""
        self._is_output_checked = False

    @property
    def net_dict(self) -> dict[str, Any]:
        unit = self.opts["unit"]
        if "output" not in unit:
            raise ConfigError('the unit has no layer "output"')
        return unit

    # ---- the axis

    @property
    def loop_dim(self) -> Dim | None:
        """
        The axis that the loop runs over; of one frame, if it does one step. Inputs do not have that.

        :raises LayerMissing: a layer outside has to be built first
        """
        if not self._has_loop_dim:
            found = self._find_loop_dim()
            self.is_single_step = found is None
            self._loop_dim = found or self.parent_net.dim_of_layer(self.name, "step", 1, DimKind.Spatial)
            self._has_loop_dim = True
        return self._loop_dim

    @property
    def _loop_dim_of_inputs(self) -> Dim | None:
        dim = self.loop_dim
        return None if self.is_single_step else dim

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

    def _find_loop_dim(self) -> Dim | None:
        axis = self.opts.get("axis")
        sources = self.sources()
        if axis is single_step_dim:
            return None
        joined = get_concat_sources_data_template(sources) if sources else None
        if isinstance(axis, Dim):
            return axis
        if axis is not None:
            if joined is None:
                raise ConfigError('axis %r: the layer has no source; "axis" must be a Dim here' % (axis,))
            return joined.get_dim_tag_from_description(axis)
        if joined is not None and joined.time_dim is None and "end" not in self.net_dict:
            return None
        if joined is not None and "end" not in self.net_dict:
            return joined.time_dim
        if self.opts.get("size_target"):
            return self._time_of(self.opts["size_target"], "size_target")
        target = self.opts.get("target")
        target = target[0] if isinstance(target, (list, tuple)) else target
        if target and self.parent_net.eval_flag and self._has_frames_of_target():
            return self._time_of(target, "target")
        declared = declared_loop_dim(self.net_dict, self._output_outside)
        return declared or self.parent_net.dim_of_layer(self.name, "dyn-time", None, DimKind.Spatial)

    def _has_frames_of_target(self) -> bool:
        """whether there are as many: also in a search, where it is needed frame by frame, or trained"""
        if not self.is_searching or self.parent_net.train_flag is not False:
            return True
        choices = [d for d in self.net_dict.values() if isinstance(d, dict) and d.get("class") == "choice"]
        return any(d.get("cheating") or d.get("search") is False for d in choices)

    def _output_outside(self, name: str) -> Tensor:
        """
        :param name: ``base:NAME``, as a layer inside says it
        :raises LayerMissing: that layer has to be built first
        """
        if not name.startswith("base:"):
            raise ConfigError("declare_rec_time needs a layer outside, base:NAME, as source, but that is %r" % name)
        return self.parent_net.get_layer_or_missing(name[len("base:") :]).output

    def _time_of(self, key: str, option: str) -> Dim:
        name = key[len("layer:") :] if key.startswith("layer:") else "data:" + key
        output = self.parent_net.get_layer_or_missing(name).output
        if output.time_dim is None:
            raise ConfigError("%s %r gives the length of the loop, but %s has no time axis" % (option, key, output))
        return output.time_dim

    @property
    def is_searching(self) -> bool:
        """whether labels are chosen in the loop"""
        return self.parent_net.search_flag

    @property
    def length_is_known(self) -> bool:
        """before the loop"""
        dim = self.loop_dim
        return dim is None or dim != self.parent_net.dim_of_layer(self.name, "dyn-time", None, DimKind.Spatial)

    # ---- names inside

    def data_layer(self, name: str) -> LayerBase | None:
        return self._frame(self.net, name)

    def _frame(self, net: Network, name: str) -> LayerBase:
        if name == "data:source" or (name == "data" and self.source_names()):
            if not self.source_names():
                raise ConfigError('"%s" is used in the unit of layer %r, but its "from" is empty' % (name, self.name))
            opts: dict[str, Any] = {key: self.opts[key] for key in _INPUT_OPTIONS if key in self.opts}
            full = net.layers.get(":source")
            if full is None:
                opts.update(name=":source", network=net, sources=self.sources())
                with net.building_ctx():
                    full = SubnetworkInputLayer(**opts, output=SubnetworkInputLayer.get_out_data_from_opts(**opts))
                net.layers[":source"] = full
        else:
            full = self.parent_net.get_layer_or_missing(name)
        return RecFrameLayer(name=name, network=net, full=full, loop_dim=self._loop_dim_of_inputs, what=name)

    def frames_of(self, net: Network, full: LayerBase) -> RecFrameLayer:
        """
        :param net: this network, or one inside of it
        :param full: a layer outside, with the axis of the loop
        :return: its frame
        """
        name = ":frame:" + full.get_absolute_name()
        found = net.layers.get(name)
        if not isinstance(found, RecFrameLayer):
            what = "layer %r" % full.name
            found = RecFrameLayer(name=name, network=net, full=full, loop_dim=self._loop_dim_of_inputs, what=what)
            net.layers[name] = found
        return found

    def loop_layer(self, net: Network, name: str) -> LayerBase | None:
        if name == ":i":
            if name not in net.layers:
                net.layers[name] = RecStepInfoLayer(name=name, network=net)
            return net.layers[name]
        return self.layer_before(net, name[len("prev:") :])

    def layer_before(self, net: Network, name: str) -> LayerBase:
        """
        :param net: this network, or one inside of it
        :param name: of a layer there
        :return: the layer at the frame before
        :raises LayerMissing: its type is not known, so that the layer has to be built first
        """
        if name.startswith("prev:"):
            raise ConfigError("prev:%s: there is only one frame before" % name)
        full_name = "prev:" + name
        if net.only_types:
            return self._type_before(net, name)
        found = net.layers.get(full_name)
        if not isinstance(found, RecPreviousLayer):
            template = self.types.get(self._path(net, name))
            if template is None:
                net.get_layer_or_missing(name)  # an error: there is no such layer
                raise AssertionError("the type of layer %r was not derived" % name)
            found = RecPreviousLayer(name=full_name, network=net, output=template.copy_template(), of_name=name)
            net.layers[full_name] = found
            self.layers_before.append(found)
        return found

    def _type_before(self, net: Network, name: str) -> LayerBase:
        try:
            layer = net.get_layer_or_missing(name)
        except LayerMissing as missing:
            if missing.name not in missing.network.types_to_guess:
                missing.only_type = True
                raise
            path = self._path(net, name)
            template = self.types.get(path) or self._initial_type(net, name)
            assert self._rounds is not None
            self._rounds.taken[path] = template
        else:
            template = self._initial_type(net, name) if layer.is_unknown else layer.output
        if template is None:
            return UnknownLayer(name="prev:" + name, network=net)
        return RecPreviousLayer(name="prev:" + name, network=net, output=template.copy_template(), of_name=name)

    def _initial_type(self, net: Network, name: str) -> Tensor | None:
        """a layer that is the initial output tells what the output is, and so does the target of a choice"""
        initial = self.initial_option(net, name)
        if isinstance(initial, str) and initial not in INITIAL_KINDS:
            layer = _layer_of_initial_output(net, name, initial)
            return None if layer.is_unknown else layer.output
        return _type_of_choice(net, name)

    @staticmethod
    def initial_option(net: Network, name: str) -> Any:
        """
        :return: ``initial_output`` of a layer, as the config has it
        """
        desc = net.desc_of_layer(name) if net.has_layer(name) else {}
        if desc.get("class") == "masked_computation" and isinstance(desc.get("unit"), dict):
            desc = desc["unit"]
        return desc.get("initial_output")

    def _path(self, net: Network, name: str) -> str:
        return net.name_prefix + name

    # ---- layers inside

    @property
    def loop(self) -> RecSubnet:
        return self

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
        dims = (self.loop_dim.size_dims if self.loop_dim is not None else None) or ()
        missing = [d for d in dims if d not in x.dims and not d.is_beam_dim]
        return x.like(None, dims=[*missing, *x.dims]) if missing else x

    def template_before_activation(self, layer: LayerBase) -> Tensor | None:
        """
        :param layer: inside
        :return: of one frame
        """
        return self._before_activation.get(layer)

    def make_templates_of_all_frames(self) -> None:
        """Where layers are only built: gives those inside templates of what the loop will give them."""
        dim = self.loop_dim
        assert dim is not None
        if self.is_single_step:
            return
        for layer in self.groups.layers_with_frames():
            template = self.template_of(layer)
            own = self.groups.dims_of_inputs.get(layer, dim)
            layer.output = template.like(None, dims=[own, *template.dims], time_dim=own)
            before = self.template_before_activation(layer)
            if before is not None and layer.output_before_activation is not None:
                before = before.like(None, dims=[own, *before.dims])
                layer.output_before_activation = OutputWithActivation(before, layer.output_before_activation.activation)

    def dim_of_output(self) -> Dim:
        """
        :return: the axis of the loop; up to behaviour version 12, it may be that of an input which is the output
        """
        dim = self.groups.dims_of_inputs.get(self.net.layers["output"], self.loop_dim)
        assert dim is not None and self.loop_dim is not None
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

    @property
    def moves_layers_out(self) -> bool:
        """whether layers that need not be computed frame by frame are not"""
        option = self.opts.get("optimize_move_layers_out")
        if option is None:
            option = self.parent_net.get_config().typed_value("optimize_move_layers_out", None)
        return True if option is None else bool(option)

    def keep_in_loop(self, *layers: LayerBase) -> None:
        """
        :param layers: inside; their values besides the output are asked for, frame by frame
        """
        self._kept_in_loop.update(layers, [layer.layer_of_state for layer in layers])

    def keep_in_loop_later(self, before: RecPreviousLayer) -> None:
        """
        :param before: of a layer inside that is not built yet; for it, see :func:`keep_in_loop`
        """
        if not before.network.only_types:
            self._kept_when_built.append(before)

    def must_stay_in_loop(self, layer: LayerBase) -> bool:
        """
        :return: whether the layer cannot be computed for all frames at once
        """
        if layer in self._kept_in_loop or layer.chooses or layer.stays_in_loop:
            return True
        if layer.network.masking is not None and layer.network.masking.outer is not None:
            return True
        if layer.network is self.net and layer.name == "end":
            return True
        return self.has_state(layer) and not layer.iterates_itself

    def has_state(self, layer: LayerBase) -> bool:
        """
        :param layer: inside
        :return: whether it hands on more than its output from frame to frame
        """
        return any(spec.layer is layer for spec in self.states.values())

    def is_needed_outside(self, layer: LayerBase) -> bool:
        """
        :param layer: in the loop
        :return: whether its outputs of all frames are needed, besides those for layers behind the loop
        """
        is_own = layer.network is self.net
        return (is_own and layer.name == "output") or bool(layer.is_output_layer) or layer.loss is not None

    def layers_to_collect(self) -> list[LayerBase]:
        """
        :return: layers in the loop whose outputs of all frames are kept, as others need them
        """
        res = {layer for layer in self.groups.in_loop if self.is_needed_outside(layer)}
        masks = [mask for layer in res if layer.network.masking is not None for mask in layer.network.masking.masks]
        res.update(mask.of_layer if isinstance(mask, RecPreviousLayer) else mask for mask in masks)
        for layer in self.groups.behind:
            for other in layer.get_dep_layers():
                res.add(other.of_layer if isinstance(other, RecPreviousLayer) else other)
        return [layer for layer in self.groups.in_loop if layer in res]

    def check_is_seen_outside(self, layer: LayerBase) -> None:
        """
        :param layer: inside, named by one outside
        :raises ConfigError: its outputs are not kept
        """
        if self.is_built and layer in self.groups.in_loop and layer not in self.layers_to_collect():
            name = layer.get_absolute_name()[len(self.net.name_prefix) :]
            raise ConfigError(
                "%r: Cannot get layer %r from outside, because it is only available inside the recurrent loop. "
                "Add 'is_output_layer': True to the layer options." % (self.rec_layer, name)
            )

    def previous_of(self, layer: LayerBase) -> RecPreviousLayer:
        """
        :param layer: inside, with ``need_last``
        :return: what it is at the frame before
        """
        found = layer.network.layers["prev:" + layer.name]
        assert isinstance(found, RecPreviousLayer)
        return found

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
        spec = StateSpec(layer, key, template.copy_template(), initial)
        self.specs_by_path[layer.network.name_prefix + layer.name, key] = spec
        if not layer.network.only_types and not layer._is_template:
            self.states[layer, key] = spec
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
        return {key: spec.template for (of, key), spec in self.specs_by_path.items() if of == path}

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
                "need_last: True"
                % layer.get_absolute_name()
            )
        if not self.parent_net.has_values:
            return {key: spec.template.copy_template() for (x, key), spec in self.states.items() if x is layer}
        return {key: state for (x, key), state in self.last_states.items() if x is layer}

    def state_before(self, layer: LayerBase, key: Any) -> Tensor | None:
        """
        :param layer: inside
        :param key: of its state
        :return: the state behind the frame before
        """
        self.keep_in_loop(layer)
        return layer.get_state_of_frame_before(key)

    # ---- construction

    def build(self) -> None:
        """
        Builds the layers inside that are needed.

        :raises LayerMissing: a layer outside has to be built first; then this is to be called again
        """
        if self.is_built:
            return
        _ = self.loop_dim
        if self._rounds is None:
            self._rounds = TypeRounds(self)
        self.types = self._rounds.derive()
        self.build_roots(self.net)
        used_before = set(self.layers_before)
        for layer in self.net.inner_steps.layers:
            if layer.need_last:
                self.layer_before(layer.network, layer.name)
        for previous in self.layers_before:
            initial = self.initial_option(previous.network, previous.of_name)
            if isinstance(initial, str) and initial not in INITIAL_KINDS:
                previous.initial = _layer_of_initial_output(previous.network, previous.of_name, initial)
            check_initial_output(previous, loop_dim=self.loop_dim, may_be_missing=previous not in used_before)
            make_parameters(previous, self)
        for layer in self._layers_inside():
            self._templates[layer] = layer.output.copy_template()
            if layer.output_before_activation is not None:
                self._before_activation[layer] = layer.output_before_activation.x.copy_template()
        if not self.length_is_known:
            _check_end(self.net.layers["end"])
        self.keep_in_loop(*(previous.of_layer for previous in self._kept_when_built))
        self.groups = partition(self)
        beams = self.groups.beams
        if beams is not None and not self.length_is_known and self.net.layers["end"] in beams.with_beam:
            assert self._loop_dim is not None
            self._loop_dim.get_same_base()._size_dims = (batch_dim, beams.last)
        if self.moves_layers_out:
            print("\n".join(self._groups_text()), file=log.v3)
        self.is_built = True

    def _groups_text(self) -> list[str]:
        """
        :return: lines: which layers are computed where; each group as it is reached from the outputs
        """
        net, groups = self.parent_net, self.groups
        train = net.train_flag if isinstance(net.train_flag, bool) else getattr(net.train_flag, "name", "train_flag")
        by_step = [
            layer.name
            for layer in dict.fromkeys(x for layer in groups.in_loop for x in layer.get_dep_layers())
            if isinstance(layer, RecStepInfoLayer)
        ]
        placed = [*groups.before, *groups.in_loop, *groups.behind]
        used = {layer.name for layer in placed if layer.network is self.net}
        parts = {
            "Input layers moved out of loop": self._names(groups.before),
            "Output layers moved out of loop": self._names(groups.behind[::-1]),
            "Layers in loop": self._names(groups.in_loop[::-1]) + by_step,
            "Unused layers": sorted(name for name in self.net.layers_desc if name not in used),
        }
        name = net.name_prefix + self.name
        lines = ["Rec layer %r (search %s, train %r) sub net:" % (name, self.is_searching, train)]
        for text, names in parts.items():
            lines += ["  %s: (#: %i)" % (text, len(names)), *("    " + name for name in names or ["None"])]
        return lines

    def _names(self, layers: list[LayerBase]) -> list[str]:
        implicit = (SubnetworkInputLayer, InternalLayer)
        seen = [x for x in layers if not isinstance(x, implicit) and x.network.masking is None]
        return [layer.get_absolute_name()[len(self.net.name_prefix) :] for layer in seen]

    def _layers_inside(self) -> list[LayerBase]:
        seen_only = [
            layer
            for net in _with_inner_networks(self.net)
            for layer in net.layers.values()
            if isinstance(layer, InternalLayer) and layer.network is net
        ]
        return [*self.net.inner_steps.layers, *seen_only]

    def layers_read_outside(self) -> list[LayerBase]:
        """
        :return: layers outside that those inside compute with
        """
        read = [x for layer in self._layers_inside() for x in layer.get_dep_layers()]
        read += [previous.initial for previous in self.layers_before if previous.initial is not None]
        return [x for x in dict.fromkeys(read) if not self._is_inside(x)]

    def _is_inside(self, layer: LayerBase) -> bool:
        loop = layer.network.loop
        while loop is not None and loop is not self:
            loop = loop.parent_net.loop
        return loop is self

    def build_roots(self, net: Network) -> None:
        """
        :param net: the network inside, or that for types
        """
        roots = {"output"}
        if not self.length_is_known:
            if "end" not in self.net_dict:
                raise ConfigError(
                    'nothing says how long the loop is: no source, target or axis. Then the unit needs a layer "end" '
                    "(bool), and the layer the option max_seq_len"
                )
            roots.add("end")
        for name, desc in self.net_dict.items():
            if not name.startswith("#") and isinstance(desc, dict) and desc.get("need_last"):
                roots.add(name)
        for name in sorted(roots):
            net.build_layer(name)
        net.build_roots(only_own=True)
        done: set[tuple[Network, str]] = set()
        while True:
            new = [x for x in self._used_before(net) if x not in done]
            if not new:
                return
            for item in new:
                done.add(item)
                item[0].build_layer(item[1]) if item[0].has_layer(item[1]) else item[0].get_layer_or_missing(item[1])

    def _used_before(self, net: Network) -> list[tuple[Network, str]]:
        if net.only_types:
            return [(inner, name) for inner in _with_inner_networks(net) for name in sorted(inner.types_to_guess)]
        return [(previous.network, previous.of_name) for previous in self.layers_before]


def _layer_of_initial_output(net: Network, name: str, initial: str) -> LayerBase:
    near = "" if net.has_layer(initial) else did_you_mean(initial, INITIAL_KINDS)
    if near:
        raise ConfigError("layer %r: initial_output %r is no layer.%s" % (net.name_prefix + name, initial, near))
    return net.get_layer_or_missing(initial)


def _type_of_choice(net: Network, name: str) -> Tensor | None:
    """
    :return: labels like those of the target, [batch]; None if the layer is no choice of such labels
    """
    desc = net.desc_of_layer(name) if net.has_layer(name) else {}
    if desc.get("class") != "choice" or desc.get("input_type") == "regression":
        return None
    target = desc.get("target")
    target = target[0] if isinstance(target, (list, tuple)) and target else target
    if not isinstance(target, str) or net.has_layer(target) or target not in net.extern_data.data:
        return None
    dim = net.extern_data.data[target].sparse_dim
    return None if dim is None else Tensor(name, dims=[batch_dim], dtype="int32", sparse_dim=dim)


def _check_end(layer: LayerBase) -> None:
    x = layer.output
    if x.dtype != "bool" or any(not d.is_batch_dim for d in x.dims):
        raise ConfigError('the layer "end" of the unit must be bool [batch], but is %s' % x.short_repr())


def _with_inner_networks(net: Network) -> list[Network]:
    return [net] + [x for inner in net.subnets.values() for x in _with_inner_networks(inner)]
