"""What layers inside of a recurrent unit say that they hand on from frame to frame besides their output."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from returnn.layers.base import LayerBase
from returnn.tensor import Tensor


class StateSpec:
    """One state of a layer."""

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


class StateSpecs:
    """Of all layers inside."""

    def __init__(self) -> None:
        self._of_layers: dict[LayerBase, dict[str, StateSpec]] = {}
        self._by_path: dict[str, dict[str, StateSpec]] = {}

    def __iter__(self) -> Iterator[StateSpec]:
        """
        :return: of layers which are built
        """
        for specs in self._of_layers.values():
            yield from specs.values()

    def declare(self, spec: StateSpec) -> None:
        """
        :param spec: of a layer that is made only for types, or as a template, too
        """
        layer = spec.layer
        self._by_path.setdefault(_path_of(layer), {})[spec.key] = spec
        if not layer.network.only_types and not layer._is_template:
            self._of_layers.setdefault(layer, {})[spec.key] = spec

    def has(self, layer: LayerBase) -> bool:
        """
        :param layer: built
        :return: whether it has a state
        """
        return layer in self._of_layers

    def templates_of(self, layer: LayerBase) -> dict[str, Tensor]:
        """
        :param layer: built
        :return: key -> new template
        """
        return {key: spec.template.copy_template() for key, spec in self._of_layers.get(layer, {}).items()}

    def known_of(self, path: str) -> dict[str, StateSpec]:
        """
        :param path: of a layer inside, from the root network on; it may not be built yet
        :return: its states, as far as they are known
        """
        return self._by_path.get(path, {})


def _path_of(layer: LayerBase) -> str:
    return layer.network.name_prefix + layer.name
