"""A network whose backend computes at once: built once, computed in each step.

At construction each layer runs on inputs without values. That makes the parameters, and checks all dims. A step puts
values into the extern data and computes the same layer objects again, in the order in which they were made; then losses
are there to be asked for. What a step changes besides (running statistics) is written when it ends, so that gradients
can be computed before; if it fails, nothing is written. Behind it, the network has no values again, and its memory is
free.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.layers.source import SourceLayer
from returnn.tensor import TensorDict
from returnn.tensor.run_table import RunTable, run_table_ctx
from returnn.util.errors import UserError

from .construct import finish
from .data_errors import wrong_labels_text

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase

    from .network import Network


class _Layers:
    """What is computed, in this order."""

    def __init__(self) -> None:
        self._layers: list[LayerBase] = []
        self.is_running = False
        """the layers are being computed, or have been in this step; else they have no values"""

    def add(self, layer: LayerBase) -> None:
        """
        :param layer: made after all that it depends on
        """
        self._layers.append(layer)

    def number_of_layers(self) -> int:
        """
        :return: how many there are
        """
        return len(self._layers)

    def forget_from(self, number: int) -> None:
        """
        :param number: layers from this one on are of a dict that could not be built
        """
        del self._layers[number:]


class Steps(_Layers):
    """Belongs to a root network."""

    def __init__(self, network: Network):
        """
        :param network: root
        """
        super().__init__()
        self._network = network
        self._updates: list[tuple[Any, Any]] = []
        self.global_train_step: Any = 0
        self.epoch_step: Any = 0
        self.kept: dict[str, Any] = {}
        """what a step leaves for the next one, see :class:`returnn.frontend.RunCtx`"""

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
        if self.is_running:
            raise RuntimeError("%r: a step within a step" % self._network)
        with self._running(train, global_train_step, epoch_step), run_table_ctx(RunTable()):
            self._feed(data)
            try:
                with self._network.run_ctx():
                    for layer in self._layers:
                        layer.compute_again()
                        finish(layer)
                    self._network.take_losses()
                    yield
            except Exception as exc:
                error = self._error_of_labels() if _is_about_an_index(exc) else None
                if error is None:
                    raise
                raise error from exc
            for var, raw in self._updates:
                self._network.backend.assign(var, raw)

    @contextlib.contextmanager
    def _running(self, train: bool, global_train_step: Any, epoch_step: Any) -> Iterator[None]:
        """All that a step changes in the network, and back."""
        net, kept_before = self._network, self.kept
        flag_before, step_before = net.train_flag, (self.global_train_step, self.epoch_step)
        self.global_train_step, self.epoch_step = global_train_step, epoch_step
        self.kept = dict(kept_before)
        _set_train_flag(net, train)
        self.is_running = True
        try:
            yield
        except BaseException:
            self.kept = kept_before
            raise
        finally:
            self.is_running = False
            self._updates.clear()
            self.global_train_step, self.epoch_step = step_before
            _set_train_flag(net, flag_before)
            _drop_values(net)

    def value_at_start(self, layer: LayerBase) -> numpy.ndarray:
        """
        :param layer: depends on no data
        :return: its value, computed now, at construction
        """
        needed = set(_with_dependencies(layer))
        with run_table_ctx(RunTable()):
            self.is_running = True
            try:
                for other in [x for x in self._layers if x in needed]:
                    other.compute_again()
                return numpy.array(self._network.backend.to_numpy(layer.output.raw_tensor))
            finally:
                self.is_running = False
                self._updates.clear()
                for other in needed:
                    other.output.raw_tensor = None

    def seq_tags(self) -> list[str] | None:
        """those of this step; None: nothing needs them, so they are not there"""
        if "seq_tag" not in self._network.get_used_data_keys():
            return None
        tags = self._network.extern_data.data["seq_tag"].raw_tensor
        return [tag.decode("utf8") if isinstance(tag, bytes) else str(tag) for tag in tags]

    def _error_of_labels(self) -> UserError | None:
        """which labels of this step are no classes"""
        net, tags = self._network, self.seq_tags()
        for key in sorted(net.get_used_data_keys()):
            data = net.extern_data.data[key]
            if data.sparse and data.raw_tensor is not None:
                sizes = {axis: dim.dyn_size for axis, dim in enumerate(data.dims) if dim.is_dynamic}
                lens = {axis: net.backend.to_numpy(size) for axis, size in sizes.items() if size is not None}
                text = wrong_labels_text(key, data, net.backend.to_numpy(data.raw_tensor), lens, tags)
                if text is not None:
                    return UserError(text)
        return None

    def _feed(self, data: Mapping[str, Any]) -> None:
        net = self._network
        keys = net.get_used_data_keys()
        missing = sorted(keys - set(data))
        if missing:
            raise UserError("%r: the network needs data that the step does not have: %s" % (net, ", ".join(missing)))
        raws = {key: raw if _is_text(raw) else net.backend.convert(raw) for key, raw in data.items()}
        TensorDict({key: net.extern_data.data[key] for key in keys}).assign_from_raw_tensor_dict_(raws)
        net.set_seq_tags_of_step(self.seq_tags())


class InnerSteps(_Layers):
    """Of a network inside of a layer that computes it itself: on any backend it is only built at construction."""

    def __init__(self, outside: Steps | InnerSteps):
        """
        :param outside: of the network around
        """
        super().__init__()
        self._outside = outside
        self._ops: list[Any] = []

    def add_update(self, var: Any, raw: Any) -> None:
        """
        :param var: parameter
        :param raw: its value from the end of this step on
        """
        self._outside.add_update(var, raw)

    def seq_tags(self) -> list[str] | None:
        """see :class:`Steps`"""
        return self._outside.seq_tags()

    def add_ops(self, ops: list[Any]) -> None:
        """
        :param ops: have to run where the layers are computed
        """
        self._ops += ops

    def compute(self) -> list[Any]:
        """
        All layers, as if a step were nothing else.

        :return: operations that have to run too
        """
        with self.running():
            for layer in self._layers:
                self.compute_layer(layer)
            return self._ops

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Inside, layers have values."""
        ops_before, was_running = self._ops, self.is_running
        self._ops = []
        self.is_running = True
        try:
            yield
        finally:
            self.is_running, self._ops = was_running, ops_before

    @property
    def layers(self) -> Sequence[LayerBase]:
        """in the order in which they were made"""
        return self._layers

    def compute_layer(self, layer: LayerBase) -> None:
        """
        :param layer: its sources have values; gets its own
        """
        with layer.network.ops_of_layer(layer.name):
            layer.compute_again()
            finish(layer)

    def take_ops(self) -> list[Any]:
        """
        :return: operations that have to run where the layers since the last call were computed
        """
        ops, self._ops = self._ops, []
        return ops

    @property
    def global_train_step(self) -> Any:
        """int, or raw int scalar"""
        return self._outside.global_train_step

    @property
    def epoch_step(self) -> Any:
        """int: step within the epoch, from 0"""
        return self._outside.epoch_step

    @property
    def kept(self) -> dict[str, Any]:
        """see :class:`Steps`"""
        return self._outside.kept

    def value_at_start(self, layer: LayerBase) -> Any:
        """see :class:`Steps`"""
        return self._outside.value_at_start(layer)


def _is_about_an_index(exc: Exception) -> bool:
    return isinstance(exc, IndexError) or "index" in str(exc) or "Class values" in str(exc)  # of PyTorch


def _is_text(raw: Any) -> bool:
    return isinstance(raw, numpy.ndarray) and raw.dtype.kind in "OSU"  # which no backend but numpy has


def _with_dependencies(layer: LayerBase) -> list[LayerBase]:
    found = [layer]
    for x in found:
        if isinstance(x, SourceLayer):
            raise UserError("layer %r depends on data, and so has no value before the first step" % layer.name)
        found += [other for other in x.used_layers() if other not in found]
    return found


def _set_train_flag(net: Network, train: Any) -> None:
    for each in _with_networks_inside(net):
        each.train_flag = train


def _drop_values(net: Network) -> None:
    net.drop_losses()
    for data in net.extern_data.data.values():
        data.raw_tensor = None
    for each in _with_networks_inside(net):
        for layer in each.layers.values():
            layer.drop_values()


def _with_networks_inside(net: Network) -> Iterator[Network]:
    yield net
    for inner in (*net.subnets.values(), *net.extra_nets.values()):
        yield from _with_networks_inside(inner)
