"""A network that is just enough for an updater: parameters x, and the loss sum of g x, so that g is the gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.updater import Updater


class FakeLayer:
    """A layer, as an updater sees it."""

    def __init__(self, name: str, params: Mapping[str, tf.Variable], *, updater_opts=None, l2=None):
        self.name = name
        self.params = dict(params)
        self.updater_opts = updater_opts
        self.L2 = l2

    def get_absolute_name(self) -> str:
        return self.name


class FakeNetwork:
    """A network, as an updater sees it."""

    def __init__(self, layers: Sequence[FakeLayer], objective: tf.Tensor | None, global_step: tf.Variable):
        self.layers = {layer.name: layer for layer in layers}
        self.objective = objective
        self.global_train_step_var = global_step
        self.global_train_step = global_step.read_value()

    def get_objective(self) -> tf.Tensor | None:
        return self.objective

    def get_trainable_params(self) -> list[tf.Variable]:
        return [param for layer in self.layers.values() for param in layer.params.values()]


class Setup:
    """
    One graph with the parameters ``<layer>/x``, their gradients (fed), an updater and a session.

    :param config: items of the config
    :param x: initial values of a single parameter ``x``; or for each layer
    :param updater_opts: of all layers, or for each layer
    :param l2: of all layers. Part of the objective, unless ``decouple_constraints``.
    :param sparse: the gradient is that of looked up rows: fed as "rows" and "values"
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        x: Any = (1.0, 2.0),
        *,
        learning_rate: float = 0.1,
        updater_opts: Mapping[str, Any] | None = None,
        l2: float | None = None,
        sparse: bool = False,
        dtype: str = "float32",
        use_resource: bool = True,
        order: Sequence[str] | None = None,
    ):
        self.config = Config({**(config or {}), "learning_rate": learning_rate})
        values = dict(x) if isinstance(x, dict) else {"layer": x}
        opts = updater_opts if isinstance(x, dict) else {"layer": updater_opts}
        self.graph = tf.Graph()
        with self.graph.as_default():
            step = v1.get_variable("global_step", (), tf.int64, v1.zeros_initializer(), trainable=False)
            self.vars, self.grads, layers = {}, {}, []
            terms = []
            for name in order or values:
                value = numpy.array(values[name], dtype)
                var = v1.get_variable(f"{name}/x", initializer=value, use_resource=use_resource)
                self.vars[name] = var
                layers.append(FakeLayer(name, {"x": var}, updater_opts=(opts or {}).get(name), l2=l2))
                if sparse:
                    rows = v1.placeholder(tf.int32, [None])
                    grads = v1.placeholder(dtype, [None, *value.shape[1:]])
                    self.grads[name] = (rows, grads)
                    terms.append(tf.reduce_sum(tf.gather(var, rows) * grads))
                else:
                    self.grads[name] = v1.placeholder(dtype, value.shape)
                    terms.append(tf.reduce_sum(var * self.grads[name]))
                if l2 and not self.config.bool("decouple_constraints", False):
                    terms.append(l2 * tf.reduce_sum(tf.square(var)))
            self.network = FakeNetwork(layers, tf.add_n([tf.cast(term, "float32") for term in terms]), step)
            self.updater = Updater(self.config, self.network, initial_learning_rate=learning_rate)
            self.updater.set_trainable_vars(self.network.get_trainable_params())
            self.optim_op = self.updater.get_optim_op()
            self.initializer = v1.global_variables_initializer()
            config_proto = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
            self.session = v1.Session(graph=self.graph, config=config_proto)
            self.session.run(self.initializer)
            self.updater.init_optimizer_vars(self.session)

    def step(self, g: Any, name: str = "layer") -> numpy.ndarray:
        """
        :param g: gradient; (rows, values) if sparse; dict by layer if there are several
        :param name: of a layer
        :return: its parameter after the step
        """
        feed = {}
        for layer, value in (g if isinstance(g, dict) else {name: g}).items():
            if isinstance(self.grads[layer], tuple):
                feed.update(zip(self.grads[layer], value, strict=True))
            else:
                feed[self.grads[layer]] = value
        self.session.run(self.optim_op, feed)
        return self.value(name)

    def steps(self, gs: Sequence[Any]) -> list[numpy.ndarray]:
        """
        :return: parameter after each step
        """
        return [self.step(g) for g in gs]

    def value(self, name: str = "layer") -> numpy.ndarray:
        return self.session.run(self.vars[name].read_value())

    def global_step(self) -> int:
        return int(self.session.run(self.network.global_train_step_var.read_value()))

    def state(self) -> dict[str, numpy.ndarray]:
        """
        :return: all that is needed to go on
        """
        variables = [*self.vars.values(), self.network.global_train_step_var, *self.updater.get_optimizer_vars()]
        return {var.op.name: self.session.run(var.read_value()) for var in variables}

    def restore(self, state: Mapping[str, numpy.ndarray]) -> None:
        """
        :param state: from :func:`state`, maybe of another process
        """
        variables = [*self.vars.values(), self.network.global_train_step_var, *self.updater.get_optimizer_vars()]
        assert sorted(state) == sorted(var.op.name for var in variables)
        for var in variables:
            self.session.run(var.initializer, {var.initializer.inputs[1]: state[var.op.name]})


def ancestors(op: tf.Operation) -> set[tf.Operation]:
    """
    :return: all ops that run before it
    """
    found, todo = set(), [op]
    while todo:
        op = todo.pop()
        before = {*op.control_inputs, *(tensor.op for tensor in op.inputs)} - found
        found |= before
        todo += before
    return found


@contextlib.contextmanager
def setup(*args: Any, **kwargs: Any) -> Iterator[Setup]:
    """A :class:`Setup`, whose session is closed at the end."""
    result = Setup(*args, **kwargs)
    try:
        yield result
    finally:
        result.session.close()
