"""A network on its own TensorFlow graph, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork

DATA = {"data": {"dim": 2}}
X = numpy.array([[[1, 2], [3, 4], [100, 100]], [[5, 6], [7, 8], [9, 10]]], "float32")
"""[batch, time, 2]; 100 is padding"""
X_LENS = [2, 3]


class Net:
    """Builds a layer dict at once; a context manager. ``layers`` are those of the network."""

    def __init__(
        self,
        network: Mapping[str, Any],
        extern_data: Mapping[str, Any] | None = None,
        *,
        train: Any = False,
        evaluation: bool = False,
        search: bool = False,
        **config: Any,
    ):
        """
        :param network: layer dict
        :param extern_data: "data" with two features by default
        :param train: train flag; "dynamic": a tensor, False unless it is fed (``train_flag``)
        :param evaluation: eval flag
        :param search: search flag
        :param config: further keys
        """
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.train_flag = v1.placeholder_with_default(False, ()) if train == "dynamic" else train
            if extern_data is None and "num_inputs" not in config:
                extern_data = DATA
            if extern_data is not None:
                config["extern_data"] = dict(extern_data)
            self.net = TFNetwork(
                config=Config(config), train_flag=self.train_flag, eval_flag=evaluation, search_flag=search
            )
            self.net.construct_from_dict(network)
        self.layers = self.net.layers
        self.session = v1.Session(graph=self.graph)

    def __enter__(self) -> Net:
        self._contexts = [self.graph.as_default(), self.session]
        for context in self._contexts:
            context.__enter__()
        self.session.run(v1.global_variables_initializer())
        return self

    def __exit__(self, *exc: Any) -> None:
        for context in reversed(self._contexts):
            context.__exit__(*exc)
        self.session.close()

    def param_shapes(self) -> dict[str, list[int]]:
        """
        :return: by name
        """
        return {var.op.name: var.shape.as_list() for var in self.net.get_params_list()}

    def set(self, **values: Any) -> None:
        """
        :param values: by name of the parameter, "__" for "/"
        """
        by_name = {var.op.name: var for var in self.net.get_params_list()}
        for name, value in values.items():
            var = by_name[name.replace("__", "/")]
            var.load(numpy.broadcast_to(numpy.asarray(value, "float32"), var.shape.as_list()), self.session)

    def get(self, name: str) -> numpy.ndarray:
        """
        :return: value of a parameter
        """
        return self.session.run(next(var for var in self.net.get_params_list() if var.op.name == name))

    def feed(self, lens: Mapping[str, Any] | None = None, **data: Any) -> dict[Any, Any]:
        """
        :param lens: by key, of its first dynamic axis, or a list of all of them; default: the whole array
        :param data: batch-major values; by default X for "data"
        :return: feed dict
        """
        if not data:
            data, lens = {"data": X}, {"data": X_LENS}
        feed: dict[Any, Any] = {}
        for key, value in data.items():
            template = self.net.extern_data.data[key]
            value = numpy.asarray(value, template.dtype)
            feed[template.placeholder] = value
            given = (lens or {}).get(key)
            for i, (axis, size) in enumerate(template.size_placeholder.items()):
                if given is None:
                    feed[size] = [value.shape[template.get_batch_axis(axis)]] * len(value)
                else:
                    feed[size] = given[i] if numpy.ndim(given) == 2 else given
        return feed

    def out(self, name: str = "output", feed: Mapping[Any, Any] | None = None) -> numpy.ndarray:
        """
        :param name: of a layer
        :param feed: X by default
        :return: its value, axes as they are
        """
        return self.session.run(self.net.get_layer(name).output.placeholder, feed_dict=feed or self.feed())

    def lens(self, name: str = "output", feed: Mapping[Any, Any] | None = None) -> list[list[int]]:
        """
        :return: of each dynamic axis
        """
        sizes = list(self.net.get_layer(name).output.size_placeholder.values())
        return [size.tolist() for size in self.session.run(sizes, feed_dict=feed or self.feed())]

    def fetches(self, feed: Mapping[Any, Any] | None = None, **flags: Any) -> dict[str, Any]:
        """
        :param flags: of ``get_fetches_dict``
        :return: their values, after one step
        """
        return self.session.run(self.net.get_fetches_dict(**flags), feed_dict=feed or self.feed())


def out(layer: Mapping[str, Any], feed: Mapping[str, Any] | None = None, **more: Any) -> numpy.ndarray:
    """
    :param layer: options of the one layer, on X
    :param feed: key -> value, instead of X
    :param more: for :class:`Net`
    :return: its output
    """
    with Net({"output": layer}, **more) as net:
        return net.out(feed=net.feed(**feed) if feed else None)
