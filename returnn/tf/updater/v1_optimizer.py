"""Optimizer classes of TensorFlow 1, which users pass as a class."""

from __future__ import annotations

from collections.abc import Sequence

from returnn.tf.compat import tf, v1
from returnn.tf.updater.base import SCOPE
from returnn.tf.updater.gradients import Gradient


class V1Optimizer:
    """
    Makes a ``tf.compat.v1.train.Optimizer`` look like a :class:`BaseCustomOptimizer`.

    TensorFlow itself names the variables, ``optimize/<parameter>/<optimizer>`` as well; scalars get a number at their
    end if there are several such optimizers.
    """

    def __init__(self, optimizer: v1.train.Optimizer):
        self._optimizer = optimizer
        self._var_list: list[tf.Variable] = []
        self.get_slot_names = optimizer.get_slot_names
        self.variables = optimizer.variables

    def create_variables(self, var_list: Sequence[tf.Variable], *, scope: str = "") -> None:
        """
        :param var_list: all that this optimizer will update
        :param scope: not used, TensorFlow names the scalars
        """
        del scope
        name = SCOPE.removesuffix("/")
        self._var_list = list(var_list)
        with (
            tf.init_scope(),
            v1.name_scope(None),
            v1.variable_scope(name, auxiliary_name_scope=False),
            v1.name_scope(SCOPE),
        ):
            self._optimizer._create_slots(var_list)

    def slot_variables(self) -> list[tf.Variable]:
        """
        :return: all slots of all parameters
        """
        slots = [self._optimizer.get_slot(var, name) for var in self._var_list for name in self.get_slot_names()]
        return [slot for slot in slots if slot is not None]

    def apply_gradients(self, grads_and_vars: Sequence[tuple[Gradient, tf.Variable]]) -> list[tf.Operation]:
        """
        :param grads_and_vars: for each variable its gradient
        :return: ops of one update
        """
        return [self._optimizer.apply_gradients(grads_and_vars)]
