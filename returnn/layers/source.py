"""Layers that are not computed: data of the network."""

from __future__ import annotations

from collections.abc import Sequence
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
    _stands_for: tuple[type[LayerBase], dict[str, Any]] | None = None
    """class and options of the layer"""

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        if self._stands_for is None:
            return None
        cls, kwargs = self._stands_for
        found = cls.get_sub_layer_out_data_from_opts(layer_name, kwargs)
        if found is None:
            return None
        name = "%s/%s" % (self.name, layer_name)
        return DataNotAvailableLayer(name=name, network=self.network, output=found[0], sources=[self])


class UnknownType(Exception):
    """Not an error yet: the output of a layer is not known yet."""


class UnknownLayer(LayerBase):
    """Stands for a layer whose output is not known yet, while the templates of a loop are derived."""

    layer_class = ":unknown"
    is_unknown = True

    def __init__(self, *, name: str, network: Any, reason: Exception | None = None):
        """
        :param name: of the layer
        :param network: that it is in
        :param reason: why it is not known
        """
        self._set_opts(name=name, network=network, sources=(), opts={})
        self.reason = reason

    @property
    def output(self) -> Tensor:  # type: ignore[override]
        """
        :raises UnknownType: always
        """
        raise UnknownType("the output of layer %r is not known" % self.name)

    def __repr__(self) -> str:
        return "<%s %r>" % (type(self).__name__, self.name)


class InternalLayer(LayerBase):
    """Wraps a value that the network made itself. Not for configs."""

    layer_class = ":internal"
    _default_source = None

    def __init__(self, *, name: str, network: Any, output: Tensor, **opts: Any):
        super().__init__(name=name, network=network, output=output, **opts)

    def compute_again(self) -> None:
        pass  # whoever made it gives it its value


class GuessedLayer(InternalLayer):
    """Stands for a layer whose output is not known yet, with what is taken for it."""

    layer_class = ":guessed"


class WrappedInternalLayer(InternalLayer):
    """Stands for another layer, with an output of its own."""

    layer_class = ":wrapped-internal"

    def __init__(self, *, base_layer: LayerBase, sources: Sequence[LayerBase] | None = None, **kwargs: Any):
        """
        :param base_layer: has parameters, state and choices
        :param sources: what the output depends on; the other layer by default
        """
        self.base_layer = base_layer
        super().__init__(sources=[base_layer] if sources is None else sources, **kwargs)
        self.search_choices = base_layer.search_choices

    @property
    def params(self) -> dict[str, Any]:
        """those of the other layer"""
        return self.base_layer.params

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        return self.base_layer.get_sub_layer(layer_name)

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        return self.base_layer.get_last_hidden_state(key)

    def get_hidden_state(self) -> Any:
        return self.base_layer.get_hidden_state()
