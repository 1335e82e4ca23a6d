"""Layers that know of the run: do we train, at which step."""

from __future__ import annotations

from returnn.tensor import Tensor

from .base import LayerBase
from .registry import layer_class


class _OfRun(LayerBase):
    """A scalar without input."""

    _default_source = None

    def _inputs(self) -> list[Tensor]:
        return []


@layer_class("train_flag")
class TrainFlagLayer(_OfRun):
    """Whether this step trains: a bool scalar."""

    def compute(self) -> Tensor:
        raw = None
        if self.has_values:
            raw = self.network.backend.convert(self.network.train_flag, "bool")
        return Tensor(self.name, (), "bool", raw_tensor=raw)


@layer_class("global_train_step")
class GlobalTrainStepLayer(_OfRun):
    """Number of training steps before this one, since the start of the training: an int64 scalar."""

    def compute(self) -> Tensor:
        raw = None
        if self.has_values:
            raw = self.network.backend.convert(self.network.get_root_network().get_global_train_step(), "int64")
        return Tensor(self.name, (), "int64", raw_tensor=raw)
