"""Layers with further outputs, which other layers find as ``NAME/PART``."""

from __future__ import annotations

from typing import Any

from returnn.tensor import Tensor

from .base import LayerBase


class LayerWithParts(LayerBase):
    """``compute`` sets :attr:`parts`, always the same names."""

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self.parts: dict[str, Tensor] = {}
        """the further outputs by name"""
        self._part_layers: dict[str, PartLayer] = {}

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        if layer_name not in self.parts:
            return super().get_sub_layer(layer_name)
        if layer_name not in self._part_layers:
            opts: dict[str, Any] = {
                "name": "%s/%s" % (self.name, layer_name),
                "network": self.network,
                "sources": [self],
                "part": layer_name,
            }
            self._part_layers[layer_name] = PartLayer(**opts, output=PartLayer.get_out_data_from_opts(**opts))
        return self._part_layers[layer_name]

    @classmethod
    def get_sub_layer_out_data_from_opts(
        cls, layer_name: str, parent_layer_kwargs: dict[str, Any]
    ) -> tuple[Tensor, type[LayerBase], dict[str, Any]] | None:
        part = cls._template_parts(parent_layer_kwargs).get(layer_name)
        return None if part is None else (part.copy_template(), PartLayer, {})

    @classmethod
    def get_available_sub_layer_names(cls, parent_layer_kwargs: dict[str, Any]) -> list[str]:
        return sorted(cls._template_parts(parent_layer_kwargs))

    @classmethod
    def _template_parts(cls, opts: dict[str, Any]) -> dict[str, Tensor]:
        layer = cls._template_layer(**opts)
        assert isinstance(layer, LayerWithParts)
        layer.compute(*layer._inputs())
        return layer.parts


class PartLayer(LayerBase):
    """One of the further outputs. Made implicitly."""

    layer_class = ":part"
    part: str
    """its name"""

    @property
    def group_in_loop(self) -> Any:
        return super().group_in_loop or self.sources[0]

    def compute(self, _: Tensor) -> Tensor:
        layer = self.sources[0]
        assert isinstance(layer, LayerWithParts)
        y = layer.parts[self.part]
        return y.copy_template() if self._is_template else y
