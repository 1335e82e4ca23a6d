"""A layer on those frames only where a mask is true, and back to all frames. Outside of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .registry import layer_class
from .unify import unify
from .unit_network import UnitNetwork, unit_options

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("masked_computation")
class MaskedComputationLayer(LayerBase):
    """The layer ``unit``, on the frames where the mask is true. These stand one behind the other, so sequences are
    shorter here. Time-major, unless the unit makes it other.

    In ``unit``, ``data`` are the sources of this layer, masked; other names are layers outside, masked too where they
    have the axis of the mask. Parameters, loss and constraints are those of the unit, in the scope of this layer.
    """

    recurrent = True
    _default_source = None
    _layer_options = ("mask", "masked_from")

    mask: LayerBase | str | None = None
    """bool [batch, time]; must be given, unless ``masked_from`` is"""
    unit: dict[str, Any] | None = None
    """options of the layer; must be given. Its ``initial_output`` is what class unmask puts in front of the first frame
    where the mask is true"""
    masked_from: LayerBase | str | None = None
    """layer that is masked already: ``data`` in ``unit``, instead of the sources"""
    in_spatial_dim: Dim | str | None = None
    """axis that is masked; default: time of the mask"""
    out_spatial_dim: Dim | None = None
    """what becomes of it; default: time of ``masked_from``, or a new one"""
    _unit_layer: LayerBase
    _unit_initial_output: Any = None

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        name, opts = d["_name"], dict(d)
        unit = dict(unit_options(d.get("unit"), "unit"))
        super().transform_config_dict(d, network, get_layer)
        masking = _Masking(network, name, d)
        initial = unit.get("initial_output")
        if isinstance(initial, str) and initial not in _INITIAL_KINDS:
            initial = get_layer(initial)
        d["_unit_initial_output"] = initial
        d["_unit_layer"] = _MaskedNetwork(network, name, opts, unit, masking).unit_layer
        if d.get("L2"):
            log.print_warning(
                "layer %s: L2 has no effect on a masked_computation, only on its unit" % (network.name_prefix + name)
            )

    def _inputs(self) -> list[Tensor]:
        return []

    def used_layers(self) -> list[LayerBase]:
        return [*super().used_layers(), self._unit_layer]

    def compute(self) -> Tensor:
        layer = self._unit_layer
        if self._is_template:
            return layer.output.copy_template()
        self.output_before_activation = layer.output_before_activation
        self.output_loss = layer.output_loss
        return layer.output

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    def find_param(self, name: str) -> Any:
        found = super().find_param(name)
        return self._unit_layer.find_param(name) if found is None else found

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        return self._unit_layer.get_sub_layer(layer_name)

    def get_sub_networks(self) -> list[Network]:
        return [self._unit_layer.network]

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        return self._unit_layer.get_last_hidden_state(key)


class _Masking:
    """What is masked, by what, and what comes out."""

    def __init__(self, network: Network, name: str, opts: dict[str, Any]):
        """
        :param network: that the layer is in
        :param name: of the layer
        :param opts: of the layer, after ``transform_config_dict``
        """
        self.mask: LayerBase | None = opts.get("mask")
        self.masked_from: LayerBase | None = opts.get("masked_from")
        self.sources: list[LayerBase] = opts["sources"]
        if self.mask is None and self.masked_from is None:
            raise ConfigError('option "mask" is missing')
        self.in_dim = None if self.mask is None else _axis_of_mask(self.mask.output, opts.get("in_spatial_dim"))
        self.out_dim: Dim | None = opts.get("out_spatial_dim")
        if self.out_dim is None and self.masked_from is not None:
            self.out_dim = self.masked_from.output.time_dim
        if self.out_dim is None:
            self.out_dim = network.dim_of_layer(name, "masked:time", None, DimKind.Spatial)

    def concerns(self, layer: LayerBase) -> bool:
        """
        :return: whether the layer has the axis that is masked
        """
        return self.in_dim is not None and self.in_dim in layer.output.dims


class _MaskedNetwork(UnitNetwork):
    def __init__(self, parent_net: Network, name: str, opts: dict[str, Any], unit: dict[str, Any], masking: _Masking):
        super().__init__(parent_net, name, opts, unit=unit, key=name)
        self._masking = masking

    def data_layer(self, name: str) -> LayerBase | None:
        if name != "data":
            return self.outer_layer(name)
        if self._masking.masked_from is not None:
            return self._masking.masked_from
        if not self._masking.sources:
            raise ConfigError('"data" is used in the unit, but "from" is empty')
        return self._masked("data", self._masking.sources)

    def outer_layer(self, name: str) -> LayerBase | None:
        key = "masked:" + name
        if key not in self.net.layers:
            layer = self.parent_net.get_layer_or_missing(name)
            self.net.layers[key] = self._masked(key, [layer]) if self._masking.concerns(layer) else layer
        return self.net.layers[key]

    def _masked(self, name: str, sources: list[LayerBase]) -> LayerBase:
        opts: dict[str, Any] = {"name": name, "network": self.net, "sources": sources, "_masking": self._masking}
        return MaskedSourceLayer(**opts, output=MaskedSourceLayer.get_out_data_from_opts(**opts))


@layer_class(":masked")
class MaskedSourceLayer(ConcatInputLayer):
    """Layers outside, joined, those frames where the mask is true: time-major. Made implicitly."""

    recurrent = True
    _masking: _Masking

    def compute(self, x: Tensor) -> Tensor:
        masking = self._masking
        assert masking.mask is not None and masking.in_dim is not None
        if masking.in_dim not in x.dims:
            raise ConfigError("%s has not the axis %s of the mask" % (x.short_repr(), masking.in_dim))
        mask = self._output_of(masking.mask)
        y, out_dim = rf.masked_select(x, mask=mask, dims=[masking.in_dim], out_dim=masking.out_dim)
        y.time_dim_axis = y.get_axis_from_dim(out_dim)
        return y.copy_as_time_major()

    def used_layers(self) -> list[LayerBase]:
        mask = self._masking.mask
        return super().used_layers() + ([] if mask is None else [mask])


@layer_class("unmask")
class UnmaskLayer(LayerBase):
    """From masked frames back to all: in each frame, the last one where the mask was true, time-major. In front of the
    first one, the ``initial_output`` of the unit of the source, zero by default. A source that has all frames already
    stays as it is.
    """

    recurrent = True
    _layer_options = ("mask",)

    mask: LayerBase | str | None = None
    """bool [batch, time], by which the source was masked; must be given"""

    def _inputs(self) -> list[Tensor]:
        if len(self.sources) != 1 or not isinstance(self.mask, LayerBase):
            raise ConfigError('the layer needs one source, and the option "mask"')
        inputs = [self._output_of(self.sources[0]), self._output_of(self.mask)]
        initial = self._initial()
        return inputs + ([self._output_of(initial)] if isinstance(initial, LayerBase) else [])

    def compute(self, x: Tensor, mask: Tensor, initial: Tensor | None = None) -> Tensor:
        axis = _axis_of_mask(mask, None)
        if axis in x.dims:
            return x
        masked_dim = x.time_dim
        if masked_dim is None:
            raise ConfigError("the source %s has no time axis" % x.short_repr())
        numbers = rf.cast(rf.logical_and(mask, axis.get_mask()) if axis.need_masking else mask, "int32")
        place = rf.cumsum(numbers, spatial_dim=axis) - 1
        y = rf.gather(x, indices=place, axis=masked_dim, clip_to_valid=True)
        dims = [axis, *(d for d in y.dims if d != axis)]
        value: Any = self._initial_number(x)
        if initial is not None:
            y, value = unify([y, initial])
        y = rf.where(place >= 0, y, value).copy_transpose(dims)
        y.time_dim_axis = 0
        return y

    def _initial(self) -> Any:
        source = self.sources[0]
        return source._unit_initial_output if isinstance(source, MaskedComputationLayer) else source.initial_output

    def _initial_number(self, x: Tensor) -> float | int | bool | None:
        """
        :return: None: it is a layer
        """
        value = self._initial()
        if isinstance(value, LayerBase):
            return None
        if value is None and x.sparse:
            raise ConfigError(
                "the source %s are labels: its unit needs an initial_output for frames in front of the first one"
                % x.short_repr()
            )
        value = {None: 0, "zeros": 0, "ones": 1}.get(value, value)
        if not isinstance(value, (int, float)):
            raise ConfigError('initial_output must be a number, "zeros", "ones" or a layer here, but is %r' % (value,))
        return value


_INITIAL_KINDS = ("zeros", "ones", "var", "apply(0)", "keep_over_epoch", "keep_over_epoch_no_init")


def _axis_of_mask(mask: Tensor, axis: Dim | str | None) -> Dim:
    """
    :param mask: of the option
    :param axis: option: Dim, or axis description
    :return: of the mask
    :raises ConfigError: it is not bool [batch, time]
    """
    if isinstance(axis, Dim):
        dim: Dim | None = axis
    elif axis is None:
        dim = mask.time_dim
    else:
        dim = mask.get_dim_tag_from_description(axis)
    if (
        mask.dtype != "bool"
        or dim is None
        or dim not in mask.dims
        or not mask.have_batch_axis()
        or mask.batch_ndim != 2
    ):
        raise ConfigError("the mask must be bool [batch, time], but is %s" % mask.short_repr())
    return dim
