"""Updates by something else than a gradient."""

from __future__ import annotations

from returnn.tf.compat import tf

_ATTRIBUTE = "_returnn_custom_update"


class CustomUpdate:
    """
    Base class: replaces the gradient update of one variable, e.g. by a running average which a layer computes.

    The variable is in the trainable parameters, but gets no gradient and no optimizer.
    """

    def set_on_var(self, var: tf.Variable) -> None:
        """
        :param var: to be updated by this
        """
        setattr(var, _ATTRIBUTE, self)

    def update_var(self, var: tf.Variable) -> tf.Operation:
        """
        :param var: as in :func:`set_on_var`
        :return: op that is run once in each training step, before the global step is increased
        """
        raise NotImplementedError


def get_custom_update(var: tf.Variable) -> CustomUpdate | None:
    """
    :return: what was set on it
    """
    return getattr(var, _ATTRIBUTE, None)
