"""What is minimised: losses, and constraints of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from returnn.tensor.backend import Backend

from .loss_holder import LossHolder

if TYPE_CHECKING:
    from returnn.config import Config
    from returnn.layers.base import LayerBase


class Objective:
    """Part of :class:`~returnn.network.Network`."""

    backend: Backend

    if TYPE_CHECKING:  # what the network has

        def get_config(self) -> Config: ...
        def all_layers(self) -> Iterator[tuple[str, LayerBase]]: ...

    def __init__(self) -> None:
        self.losses: list[LossHolder] | None = None
        self._objective: Any = None

    @property
    def decouple_constraints(self) -> bool:
        """whether L2 is a decay in the updater, not a part of the objective"""
        return self.get_config().bool("decouple_constraints", False)

    def take_losses(self) -> None:
        """Layers have new values: losses, too."""
        self._objective = None
        for holder in self.get_losses():
            holder.init()

    def drop_losses(self) -> None:
        """Layers have no values any more: losses neither."""
        self._objective = None
        for holder in self.get_losses():
            holder.drop_values()

    def get_losses(self) -> list[LossHolder]:
        """
        :return: sorted by name
        """
        return list(self.losses or ())

    def get_total_loss(self) -> Any:
        """
        :return: raw scalar, or 0: sum of the losses, scaled
        """
        return self._total([h.get_loss_value_for_objective() for h in self.get_losses()])

    def get_total_constraints(self) -> Any:
        """
        :return: raw scalar, or 0: sum over all layers
        """
        values = [layer.get_constraints_value() for _, layer in self.all_layers()]
        return self._total(values)

    def get_objective(self) -> Any:
        """
        :return: raw scalar, or 0: what the updater minimises
        """
        if self._objective is None:
            parts = (self.get_total_loss(), self.get_total_constraints())
            self._objective = self._total([x for x in parts if not is_zero(x)])
        return self._objective

    def _total(self, values: list[Any]) -> Any:
        total: Any = 0
        for value in values:
            if value is not None:
                total = value if is_zero(total) else self.backend.binary("add", total, value)
        return total


def is_zero(value: Any) -> bool:
    """
    :return: whether there is nothing: the number 0 instead of a value of the backend
    """
    return isinstance(value, (int, float)) and value == 0
