"""Layers that are not computed: data of the network."""

from __future__ import annotations

from typing import Any

from returnn.tensor import Tensor

from .base import LayerBase
from .registry import layer_class


@layer_class("source")
class SourceLayer(LayerBase):
    """Extern data. Made implicitly for ``data`` and ``data:KEY``."""

    data_key: str | None = None
    """the default input by default"""
    _default_source = None

    def compute(self) -> Tensor:
        return self.network.get_extern_data(self.data_key, mark_data_key_as_used=not self._is_template)

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    @classmethod
    def get_out_data_from_opts(cls, **kwargs: Any) -> Tensor:
        output = super().get_out_data_from_opts(**kwargs)
        data = kwargs["network"].get_extern_data(kwargs.get("data_key"), mark_data_key_as_used=False)
        output.available_for_inference = data.available_for_inference
        return output


class DataNotAvailableLayer(LayerBase):
    """Stands for a layer that depends on targets, where there are none: it has no value, and nothing that is built
    needs it."""

    layer_class = ":data-not-available"
    _default_source = None


class InternalLayer(LayerBase):
    """Wraps a value that the network made itself. Not for configs."""

    layer_class = ":internal"
    _default_source = None

    def __init__(self, *, name: str, network: Any, output: Tensor, **opts: Any):
        super().__init__(name=name, network=network, output=output, **opts)

    def compute_again(self) -> None:
        pass  # whoever made it gives it its value
