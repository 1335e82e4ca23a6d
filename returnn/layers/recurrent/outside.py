"""Layers outside of a loop that read those of its unit, and one inside that reads a layer outside frame by frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.layers.axes import axis_of
from returnn.layers.base import LayerBase
from returnn.layers.beam_border import template_without_beam
from returnn.layers.registry import layer_class
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .rec import RecLayer

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .loop_layers import RecFrameLayer


@layer_class("rec_last_output")
class RecLastOutputLayer(LayerBase):
    """The output of a layer of a recurrent unit at the last frame of each sequence, [batch, ..]; of a sequence without
    frames, its initial output. That layer needs ``need_last``; its outputs of the other frames are not kept for this.
    """

    _default_source = None
    _layer_options = ("rec_layer",)

    rec_layer: LayerBase | None = None
    """layer with the loop; must be given"""
    sub_layer_name: str | None = None
    """of a layer of its unit; must be given"""

    def compute(self, *sources: Tensor) -> Tensor:
        if sources:
            raise ConfigError('the layer has no source: it takes "rec_layer" and "sub_layer_name"')
        self._output_of_option("rec_layer")
        if not isinstance(self.rec_layer, RecLayer):
            raise ConfigError("rec_layer must be of class rec, but is %r" % self.rec_layer)
        if not isinstance(self.sub_layer_name, str):
            raise ConfigError('option "sub_layer_name" is missing: a layer of the unit of %r' % self.rec_layer.name)
        x = self.rec_layer.last_frame(self.sub_layer_name)
        return x if self.has_values else template_without_beam(x)


@layer_class("get_rec_accumulated")
class GetRecAccumulatedOutputLayer(LayerBase):
    """The output of a layer of a recurrent unit at all frames, [time, batch, ..]: another way to say
    ``REC_LAYER/SUB_LAYER``.
    """

    sub_layer: LayerBase | str | None = None
    """of the unit of the source; must be given"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        names = [d["from"]] if isinstance(d.get("from"), str) else d.get("from")
        sub_layer = d.get("sub_layer")
        if isinstance(names, (list, tuple)) and len(names) == 1 and isinstance(sub_layer, str):
            get_layer(names[0])
            d["sub_layer"] = get_layer("%s/%s" % (names[0], sub_layer))
        super().transform_config_dict(d, network, get_layer)

    def compute(self, *sources: Tensor) -> Tensor:
        self._only_source(sources)
        if not isinstance(self.sub_layer, LayerBase):
            raise ConfigError('option "sub_layer" is missing: the name of a layer of the unit')
        return self._output_of(self.sub_layer)

    def used_layers(self) -> list[LayerBase]:
        return [*super().used_layers(), *([self.sub_layer] if isinstance(self.sub_layer, LayerBase) else [])]


@layer_class("rec_unstack")
class RecUnstackLayer(LayerBase):
    """In a recurrent unit, the frame of a layer outside: without the axis that the loop runs over."""

    _default_source = None

    axis: Any = None
    """Dim, or axis description; by default the axis of the loop, which the layer outside must have"""
    declare_rec_time: bool = False
    """the loop runs over this axis, unless the recurrent layer itself says which"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        super().transform_config_dict(d, network, get_layer)
        d["sources"] = [_frames_of(source, d, network) for source in d["sources"]]

    def compute(self, *sources: Tensor) -> Tensor:
        return self._only_source(sources)


def _frames_of(source: LayerBase, d: dict[str, Any], network: Network) -> RecFrameLayer:
    loop = network.require_loop()
    loop_dim = loop.loop_dim
    if source.network.loop is loop:
        text = "the source %r is inside of the loop, too; it must be a layer outside, base:NAME"
        raise ConfigError(text % source.name)
    x = source.output
    dim = loop_dim if d.get("axis") is None else axis_of(x, d["axis"])
    if dim is None or dim not in x.dims:
        raise ConfigError("the layer outside, %s, has not the axis %s of the loop" % (x.short_repr(), loop_dim))
    if dim != loop_dim:
        hint = "" if d.get("declare_rec_time") else ". With declare_rec_time, the loop is over that axis"
        raise ConfigError("axis %s is not the axis of the loop, %s%s" % (dim, loop_dim, hint))
    return loop.frames_of(network, source)
