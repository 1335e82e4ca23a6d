"""Recurrent units that users write as classes, with TensorFlow.

Such a class is given as ``unit`` of a layer, or by a name: ``RecLayer._rnn_cells_dict["mycell"] = MyCell``. It has
``__init__(num_units, **unit_opts)``, the properties ``output_size`` and ``state_size``, and ``call(inputs, state)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from returnn.tf.compat import tf, v1


class BaseRNNCell:
    """Base class for units of users. Variables come from ``tf.compat.v1.get_variable``; the layer has them then."""

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None):
        """
        :param trainable: for code that asks for it; the layer has an option of this name
        :param name: scope of the variables of :func:`call`; by default the class name, as in my_cell
        :param dtype: for code that asks for it
        """
        self.trainable = trainable
        self.name = name or _snake_case(type(self).__name__)
        self.dtype = dtype

    @property
    def output_size(self) -> int:
        """features of the output"""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """features of the state: a number, or a (named) tuple of numbers"""
        raise NotImplementedError

    def get_input_transformed(self, x: tf.Tensor, batch_dim: Any = None) -> Any:
        """
        What depends on the input only.

        :param x: all frames, [T, B, D]
        :param batch_dim: B
        :return: one tensor [T, B, ..], or a tuple of them, for :func:`call`
        """
        return x

    def call(self, inputs: Any, state: Any) -> tuple[tf.Tensor, Any]:
        """
        :param inputs: a frame of what :func:`get_input_transformed` gives, [B, ..]
        :param state: [B, n], or a tuple of such, as ``state_size``
        :return: output [B, n], new state
        """
        raise NotImplementedError

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[tf.Tensor, Any]:
        with v1.variable_scope(scope or self.name, reuse=v1.AUTO_REUSE, auxiliary_name_scope=False):
            return self.call(inputs, state)


class UserCell:
    """A class of a user as :class:`.rnn_cells.Cell`."""

    def __init__(self, cell_class: type, num_units: int, opts: dict[str, Any]):
        """
        :param cell_class: of the user
        :param num_units: first argument
        :param opts: further ones
        """
        self._cell = cell_class(num_units, **opts)
        self._state_size = self._cell.state_size
        self.output_size: int = int(self._cell.output_size)
        self.state_sizes = [int(n) for n in tf.nest.flatten(self._state_size)]
        self.num_states = len(self.state_sizes)
        self.num_units = num_units

    @property
    def state_names(self) -> tuple[str, ...]:
        """of the parts of the state, in the order in which they are flat"""
        fields = getattr(self._state_size, "_fields", None)
        if fields is not None and len(fields) == self.num_states:
            return tuple(fields)
        return ("state",) if self.num_states == 1 else tuple(str(i) for i in range(self.num_states))

    def project(self, x: tf.Tensor) -> Any:
        """once, for all frames [T, B, D]"""
        transform = getattr(self._cell, "get_input_transformed", None)
        return x if transform is None else transform(x, batch_dim=tf.shape(x)[1])

    def step(self, frame: Any, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """one frame"""
        output, new_state = self._cell(frame, tf.nest.pack_sequence_as(self._state_size, state))
        return output, tf.nest.flatten(new_state)

    @contextmanager
    def collect_variables(self) -> Iterator[list[Any]]:
        """
        :return: gets the variables that are made inside, each once
        """
        variables: list[Any] = []

        def get_variable(getter: Any, *args: Any, **kwargs: Any) -> Any:
            var = getter(*args, **kwargs)
            if not any(other is var for other in variables):
                variables.append(var)
            return var

        with v1.variable_scope(v1.get_variable_scope(), custom_getter=get_variable, auxiliary_name_scope=False):
            yield variables


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
