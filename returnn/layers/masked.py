"""A layer on those frames only where a mask is true, and back to all frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .masking import Masking, axis_of_mask, frame_of_number, frames_counted, initial_frame, is_of_one_frame
from .recurrent.initial import initial_output
from .recurrent.loop_layers import RecPreviousLayer
from .registry import layer_class
from .unit_network import UnitNetwork, unit_options

if TYPE_CHECKING:
    from returnn.network.network import Network


class _LayerOfUnit(LayerBase):
    """Stands for a layer of a masked unit. Within a loop over the frames that are masked, it has all frames: where the
    mask is false, the output of the frame before."""

    iterates_itself = True
    _masking: Masking
    _unit_layer: LayerBase
    _unit_before: RecPreviousLayer | None = None

    def _inputs(self) -> list[Tensor]:
        return []

    @property
    def holds(self) -> bool:
        """whether it has all frames of a loop"""
        return self._masking.holds

    @property
    def group_in_loop(self) -> Any:
        return self._masking if self.holds else super().group_in_loop

    @property
    def layer_of_initial_output(self) -> LayerBase:
        return self._unit_layer if self.holds else self

    def compute(self) -> Tensor:
        layer = self._unit_layer
        if self.holds:
            return self._compute_all_frames(self._output_of(layer))
        if not self._is_template:
            self.output_before_activation = layer.output_before_activation
            self.output_loss = layer.output_loss
        return self._output_of(layer)

    def _compute_all_frames(self, x: Tensor) -> Tensor:
        masking = self._masking
        template = masking.with_dims_of_mask(x.copy_template())
        if self._is_template:
            return template
        if self.is_stepping:
            before = self.previous("output", template, self._initial)
            if not self.has_values:
                return template
            y = masking.held(x, before)
            self.leave("output", y)
            return y
        assert masking.loop is not None and masking.loop.loop_dim is not None and masking.mask is not None
        number = frames_counted(masking.mask.output, masking.loop.loop_dim)
        if masking.out_dim not in x.dims:  # all frames are the same
            return rf.where(number > 0, x, self._initial())
        return frame_of_number(x, number, masked_dim=masking.out_dim, initial=self._initial())

    def _initial(self) -> Tensor:
        loop = self.network.require_loop().run
        assert loop is not None and self._unit_before is not None
        return initial_output(self._unit_before, loop)

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        state = self._unit_layer.get_last_hidden_state(key)
        if state is None or not self.holds or not self.has_values or not self.is_stepping:
            return state
        before = self._unit_layer.get_state_of_frame_before(key)
        assert before is not None
        return self._masking.held(state, before)

    @property
    def layer_of_state(self) -> LayerBase:
        return self._unit_layer.layer_of_state

    def get_state_of_frame_before(self, key: Any) -> Tensor | None:
        return self._unit_layer.get_state_of_frame_before(key)


@layer_class("masked_computation")
class MaskedComputationLayer(_LayerOfUnit):
    """The layer ``unit``, on the frames where the mask is true. These stand one behind the other, so sequences are
    shorter here. Time-major, unless the unit makes it other.

    Within a loop, with a mask of each frame, it has all frames: where the mask is false, the unit does nothing, so the
    output is that of the frame before, in front of the first one the ``initial_output`` of the unit. With
    ``masked_from``, there too, the frames stand one behind the other; class unmask finds that of a frame.

    In ``unit``, ``data`` are the sources of this layer, masked; other names are layers outside, masked too where they
    have the axis of the mask. Parameters, loss and constraints are those of the unit, in the scope of this layer.
    """

    recurrent = True
    _default_source = None
    _layer_options = ("mask", "masked_from")

    mask: LayerBase | str | None = None
    """bool [batch, time], within a loop [batch]; must be given, unless ``masked_from`` is"""
    unit: dict[str, Any] | None = None
    """options of the layer; must be given. Its ``initial_output`` is what class unmask puts in front of the first frame
    where the mask is true"""
    masked_from: LayerBase | str | None = None
    """layer that is masked already: ``data`` in ``unit``, instead of the sources; not in the loop of a search, if there
    are a mask and sources"""
    in_spatial_dim: Dim | str | None = None
    """axis that is masked; default: time of the mask"""
    out_spatial_dim: Dim | None = None
    """what becomes of it; default: time of ``masked_from``, or a new one"""
    _unit_initial_output: Any = None

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        name, opts = d["_name"], dict(d)
        unit = dict(unit_options(d.get("unit"), "unit"))
        loop = network.loop
        if loop is not None and loop.is_searching and d.get("mask") is not None and d.get("from"):
            d.pop("masked_from", None)  # hypotheses are other than what it has
        if d.get("masked_from") is not None:
            d["from"] = []
        super().transform_config_dict(d, network, get_layer)
        inside = network.network_inside(_MaskedNetwork(network, name, opts, unit, Masking(network, name, d))).inside
        assert isinstance(inside, _MaskedNetwork)
        d["_masking"] = masking = inside.of_layer
        initial = unit.get("initial_output")
        if isinstance(initial, str) and initial not in _INITIAL_KINDS:
            initial = get_layer(initial)
        d["_unit_initial_output"] = initial
        d["_unit_layer"] = layer = inside.unit_layer
        if masking.holds and not layer.is_unknown:
            d["_unit_before"] = _before(layer)
        if d.get("L2"):
            log.print_warning(
                "layer %s: L2 has no effect on a masked_computation, only on its unit" % (network.name_prefix + name)
            )

    def used_layers(self) -> list[LayerBase]:
        if self._masking.loop is not None and self._masking.masked_from is not None:
            return [self._masking.masked_from, self._unit_layer]
        return [*super().used_layers(), self._unit_layer]

    def find_param(self, name: str) -> Any:
        found = super().find_param(name)
        return self._unit_layer.find_param(name) if found is None else found

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        layer = self._unit_layer.get_sub_layer(layer_name)
        if layer is None or not self.holds:
            return layer
        path = "%s/%s" % (self.name, layer_name)
        if path not in self.network.layers and not self.network.require_loop().is_built:
            opts: dict[str, Any] = {"name": path, "network": self.network, "sources": [layer], "_unit_layer": layer}
            opts.update(_masking=self._masking, _unit_before=_before(layer))
            part = MaskedPartLayer(**opts, output=MaskedPartLayer.get_out_data_from_opts(**opts))
            self.network.add_layer(path, part)
        return self.network.layers.get(path)

    def get_sub_networks(self) -> list[Network]:
        return [self._unit_layer.network]


@layer_class(":masked-part")
class MaskedPartLayer(_LayerOfUnit):
    """A layer inside of the unit, within a loop. Made implicitly."""

    recurrent = True

    def used_layers(self) -> list[LayerBase]:
        assert self._masking.mask is not None
        return [self._masking.mask, self._unit_layer]


def _before(layer: LayerBase) -> RecPreviousLayer | None:
    """
    :param layer: inside of a unit
    :return: the layer at the frame before, which nobody can name
    """
    if layer.network.only_types:
        return None
    template = layer.output.copy_template()
    before = RecPreviousLayer(name="prev:" + layer.name, network=layer.network, output=template, of_name=layer.name)
    layer.network.require_loop().layers_before.append(before)
    return before


class _MaskedNetwork(UnitNetwork):
    def __init__(self, parent_net: Network, name: str, opts: dict[str, Any], unit: dict[str, Any], masking: Masking):
        super().__init__(parent_net, name, opts, unit=unit, key=name)
        self.of_layer = masking

    @property
    def masking(self) -> Masking | None:
        return self.of_layer if self.of_layer.holds else None

    def data_layer(self, name: str) -> LayerBase | None:
        if name != "data":
            return self.outer_layer(name)
        if self.of_layer.masked_from is not None:
            return self.of_layer.masked_from
        if not self.of_layer.sources:
            raise ConfigError('"data" is used in the unit, but "from" is empty')
        known = [layer for layer in self.of_layer.sources if not layer.is_unknown]
        return self._masked("data", known) if known else self.of_layer.sources[0]

    def outer_layer(self, name: str) -> LayerBase | None:
        key = "masked:" + name
        if key not in self.net.layers:
            layer = self.parent_net.get_layer_or_missing(name)
            concerned = not layer.is_unknown and self.of_layer.concerns(layer)
            self.net.layers[key] = self._masked(key, [layer]) if concerned else layer
        return self.net.layers[key]

    def _masked(self, name: str, sources: list[LayerBase]) -> LayerBase:
        opts: dict[str, Any] = {"name": name, "network": self.net, "sources": sources, "_masking": self.of_layer}
        return MaskedSourceLayer(**opts, output=MaskedSourceLayer.get_out_data_from_opts(**opts))


@layer_class(":masked")
class MaskedSourceLayer(ConcatInputLayer):
    """Layers outside, joined, those frames where the mask is true: time-major. Made implicitly."""

    recurrent = True
    _masking: Masking

    def compute(self, x: Tensor) -> Tensor:
        masking = self._masking
        if masking.mask is None:
            raise ConfigError('%s has frames of the loop: option "mask" is needed' % x.short_repr())
        if masking.loop is not None:
            return self._compute_in_loop(x)
        assert masking.in_dim is not None
        if masking.in_dim not in x.dims:
            raise ConfigError("%s has not the axis %s of the mask" % (x.short_repr(), masking.in_dim))
        mask = self._output_of(masking.mask)
        y, out_dim = rf.masked_select(x, mask=mask, dims=[masking.in_dim], out_dim=masking.out_dim)
        y.time_dim_axis = y.get_axis_from_dim(out_dim)
        return y.copy_as_time_major()

    def _compute_in_loop(self, x: Tensor) -> Tensor:
        masking = self._masking
        assert masking.mask is not None
        x = masking.with_dims_of_mask(x)
        if not self.has_values:
            if masking.holds:
                return x
            return x.like(None, dims=[masking.out_dim, *x.dims], time_dim=masking.out_dim)
        if not self.is_stepping:
            return masking.masked_frames_of_loop(x, masking.mask.output)
        if not masking.holds:
            names = ", ".join(repr(layer.name) for layer in self.sources)
            raise ConfigError("masked_from has all frames, but %s is computed frame by frame" % names)
        return x

    def used_layers(self) -> list[LayerBase]:
        mask = self._masking.mask
        return super().used_layers() + ([] if mask is None else [mask])


@layer_class("unmask")
class UnmaskLayer(LayerBase):
    """From masked frames back to all: in each frame, the last one where the mask was true, time-major. In front of the
    first one, the ``initial_output`` of the unit of the source, zero by default. A source that has all frames already
    stays as it is.

    Within a loop, with a mask of each frame, the source may be a layer outside with masked frames.
    """

    recurrent = True
    iterates_itself = True
    _layer_options = ("mask",)

    mask: LayerBase | str | None = None
    """bool [batch, time], within a loop [batch], by which the source was masked; must be given"""
    _is_of_loop = False

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self._is_of_loop = isinstance(self.mask, LayerBase) and is_of_one_frame(self.mask, self.network)

    def _inputs(self) -> list[Tensor]:
        if len(self.sources) != 1 or not isinstance(self.mask, LayerBase):
            raise ConfigError('the layer needs one source, and the option "mask"')
        (source,) = self.sources
        x = self._output_of(source)
        if self._is_of_loop and ((isinstance(source, _LayerOfUnit) and source.holds) or x.time_dim is None):
            return [x]
        initial = self._initial()
        if isinstance(initial, LayerBase):
            initial = self._output_of(initial)
        first = initial_frame(x, initial)
        if self._is_of_loop:
            return [x, first]
        return [x, first, self._output_of(self.mask)]

    def compute(self, x: Tensor, initial: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        if initial is None:
            return x
        masked_dim = x.time_dim
        if mask is None:
            assert masked_dim is not None
            return self._compute_in_loop(x, masked_dim, initial)
        axis = axis_of_mask(mask, None)
        if axis in x.dims:
            return x
        if masked_dim is None:
            raise ConfigError("the source %s has no time axis" % x.short_repr())
        if axis.need_masking:
            mask = rf.logical_and(mask, axis.get_mask())
        y = frame_of_number(x, frames_counted(mask, axis), masked_dim=masked_dim, initial=initial)
        y = y.copy_transpose([axis, *(d for d in y.dims if d != axis)])
        y.time_dim_axis = 0
        return y

    def _compute_in_loop(self, x: Tensor, masked_dim: Dim, initial: Tensor) -> Tensor:
        """
        :param x: masked frames of all
        :param masked_dim: its axis of frames
        :param initial: in front of them
        :return: one frame; or all of the loop
        """
        loop = self.network.require_loop()
        if not self.has_values:
            if not self._is_template and isinstance(self.mask, LayerBase) and not self.mask.is_unknown:
                self._count_before()
            return x.copy_template_excluding_axis(x.get_axis_from_dim(masked_dim))
        assert isinstance(self.mask, LayerBase) and loop.loop_dim is not None
        mask = self.mask.output
        if self.is_stepping:
            number = self._count_before() + rf.cast(mask, "int32")
            self.leave("count", number)
        else:
            number = frames_counted(mask, loop.loop_dim)
        return frame_of_number(x, number, masked_dim=masked_dim, initial=initial)

    def _count_before(self) -> Tensor:
        assert isinstance(self.mask, LayerBase)
        loop = self.network.require_loop()
        template = Tensor("count", self.mask.output.dims, "int32")

        def zero() -> Tensor:
            assert loop.run is not None
            return loop.run.full_tensor("count", template.dims, "int32", 0)

        return self.previous("count", template, zero)

    def _initial(self) -> Any:
        source = self.sources[0]
        return source._unit_initial_output if isinstance(source, MaskedComputationLayer) else source.initial_output


_INITIAL_KINDS = ("zeros", "ones", "var", "apply(0)", "keep_over_epoch", "keep_over_epoch_no_init")
