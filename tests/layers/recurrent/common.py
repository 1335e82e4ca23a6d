"""Small networks over [batch, time, feature], with the parameters and inputs of the checks of the recurrent layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork
from returnn.util.behavior_version import BehaviorVersion

LENS = [3, 2]


def param_values(shape: tuple[int, ...]) -> numpy.ndarray:
    """
    :return: flat index k -> ((7k mod 11) - 5) / 10
    """
    return (((7 * numpy.arange(numpy.prod(shape)) % 11) - 5) / 10).reshape(shape)


def input_values(shape: tuple[int, ...]) -> numpy.ndarray:
    """
    :return: flat index k -> ((3k mod 7) - 3) / 4
    """
    return (((3 * numpy.arange(numpy.prod(shape)) % 7) - 3) / 4).reshape(shape)


class NetworkRun:
    """A network in a graph and session of its own."""

    def __init__(self, network: dict[str, Any], *, extern_data: dict[str, Any] | None = None, train_flag: Any = False):
        """
        :param network: layer dict
        :param extern_data: by default ``data`` [B, T, 2]
        :param train_flag:
        """
        self.session = v1.get_default_session()
        config = Config({"extern_data": extern_data or {"data": {"dim": 2}}, "network": network})
        self.network = TFNetwork(config=config, train_flag=train_flag, eval_flag=True)
        self.network.construct_from_dict(network)
        self.network.initialize_params(self.session)

    def fill_params(self) -> None:
        """as ``param_values`` says"""
        for var in self.network.get_params_list():
            self.session.run(var.assign(param_values(tuple(var.shape.as_list()))))

    def __call__(self, *names: str, feed: dict[Any, Any] | None = None, also: Any = ()) -> list[Any]:
        """
        :param names: of layers
        :param feed: further placeholders, by tensor
        :param also: run with them
        :return: their outputs, batch-major
        """
        outputs = []
        for name in names:
            output = self.network.get_layer(name).output
            outputs.append((output.copy_as_batch_major() if output.have_batch_axis() else output).placeholder)
        values = {self.data.placeholder: input_values((2, 3, 2)), self.data.size_placeholder[0]: LENS}
        return self.session.run([outputs, also], {**values, **(feed or {})})[0]

    @property
    def data(self) -> Any:
        """input of the network"""
        return self.network.extern_data.data["data"]


@contextmanager
def fresh_graph(*, seed: int | None = None, behavior_version: int = 0) -> Iterator[None]:
    """
    Inside, there is a new graph and session.

    :param seed: of the graph
    :param behavior_version: inside
    """
    before = (BehaviorVersion._version, BehaviorVersion._min_version)
    BehaviorVersion._reset(behavior_version)
    try:
        with tf.Graph().as_default(), v1.Session():
            if seed is not None:
                v1.set_random_seed(seed)
            yield
    finally:
        BehaviorVersion._reset(*before)


def outputs_of(network: dict[str, Any], *names: str, behavior_version: int = 0, **opts: Any) -> list[numpy.ndarray]:
    """
    :param network: layer dict
    :param names: of layers
    :return: their outputs, batch-major, with the parameters and inputs of above
    """
    with fresh_graph(behavior_version=behavior_version):
        run = NetworkRun(network, **opts)
        run.fill_params()
        return run(*names)


def rec(unit: str, **opts: Any) -> dict[str, Any]:
    """
    :return: a rec layer with 2 outputs, on the input of the network
    """
    return {"class": "rec", "unit": unit, "n_out": 2, "from": "data", "is_output_layer": True, **opts}


def last(source: Any, n_out: int, **opts: Any) -> dict[str, Any]:
    """
    :return: a layer for the last state of another one
    """
    return {"class": "get_last_hidden_state", "from": source, "n_out": n_out, "is_output_layer": True, **opts}
