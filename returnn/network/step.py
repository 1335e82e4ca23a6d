"""A network whose backend computes at once: built once, computed in each step.

At construction each layer runs on inputs without values. That makes the parameters, and checks all dims. A step puts
values into the extern data and computes the same layer objects again, in the order in which they were made; then losses
are there to be asked for. What a step changes besides (running statistics) is written when it ends, so that gradients
can be computed before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from returnn.tensor import TensorDict
from returnn.tensor.run_table import RunTable, run_table_ctx
from returnn.util.errors import UserError

from .construct import finish

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase

    from .network import Network


class Steps:
    """Belongs to a root network."""

    def __init__(self, network: Network):
        """
        :param network: root
        """
        self._network = network
        self._layers: list[LayerBase] = []
        self._updates: list[tuple[Any, Any]] = []
        self.is_running = False
        """within a step; else there are no values"""
        self.global_train_step: Any = 0
        self.epoch_step: Any = 0

    def add(self, layer: LayerBase) -> None:
        """
        :param layer: made after all that it depends on
        """
        self._layers.append(layer)

    def forget(self) -> None:
        """The layers were those of a dict that could not be built."""
        self._layers.clear()

    def add_update(self, var: Any, raw: Any) -> None:
        """
        :param var: parameter
        :param raw: its value from the end of this step on
        """
        if self.is_running:
            self._updates.append((var, raw))

    @contextlib.contextmanager
    def step(
        self, data: Mapping[str, Any], *, train: bool, global_train_step: Any = 0, epoch_step: Any = 0
    ) -> Iterator[None]:
        """
        :param data: raw values and lengths, as :meth:`TensorDict.as_raw_tensor_dict` names them
        :param train: the train flag
        :param global_train_step: int, or raw int scalar
        :param epoch_step: int: step within the epoch, from 0
        """
        net = self._network
        if self.is_running:
            raise RuntimeError("%r: a step within a step" % net)
        self.global_train_step, self.epoch_step = global_train_step, epoch_step
        _set_train_flag(net, train)
        with run_table_ctx(RunTable()):
            self._feed(data)
            self.is_running = True
            try:
                with net.run_ctx():
                    for layer in self._layers:
                        layer.compute_again()
                        finish(layer)
                    net.take_losses()
                    yield
                for var, raw in self._updates:
                    net.backend.assign(var, raw)
            finally:
                self.is_running = False
                self._updates.clear()

    def _feed(self, data: Mapping[str, Any]) -> None:
        net = self._network
        keys = net.get_used_data_keys()
        missing = sorted(keys - set(data))
        if missing:
            raise UserError("%r: the network needs data that the step does not have: %s" % (net, ", ".join(missing)))
        raws = {key: raw if _is_text(raw) else net.backend.convert(raw) for key, raw in data.items()}
        TensorDict({key: net.extern_data.data[key] for key in keys}).assign_from_raw_tensor_dict_(raws)


def _is_text(raw: Any) -> bool:
    return isinstance(raw, numpy.ndarray) and raw.dtype.kind in "OSU"  # which no backend but numpy has


def _set_train_flag(net: Network, train: bool) -> None:
    net.train_flag = train
    for inner in net.subnets.values():
        _set_train_flag(inner, train)
