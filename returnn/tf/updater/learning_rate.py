"""The learning rate of one step: that of the epoch, changed by ``dynamic_learning_rate``."""

from __future__ import annotations

import inspect
from typing import Any

from returnn.tf.compat import tf
from returnn.util.errors import UserError
from returnn.util.suggest import did_you_mean


def apply_dynamic_learning_rate(
    dynamic: Any, *, learning_rate: tf.Tensor, global_train_step: tf.Tensor, network: Any
) -> tf.Tensor:
    """
    :param dynamic: ``dynamic_learning_rate`` of the config: None; dict ``{"interval": k, "decay": d}``, factor
        d^(step mod k); or function of keywords ``network, global_train_step, learning_rate``, which must take
        ``**kwargs`` and returns the learning rate of the step
    :param learning_rate: float32 scalar, of the epoch
    :param global_train_step: int64 scalar, from 0
    :param network: for a function
    :return: float32 scalar
    :raises UserError: ``dynamic`` is nothing of this
    """
    if dynamic is None:
        return learning_rate
    if callable(dynamic):
        return _from_function(
            dynamic, learning_rate=learning_rate, global_train_step=global_train_step, network=network
        )
    if not isinstance(dynamic, dict):
        raise UserError(f"dynamic_learning_rate = {dynamic!r} must be a dict or a function.")
    names = {"interval", "decay"}
    for name in sorted(dynamic.keys() - names):
        raise UserError(f"dynamic_learning_rate: key {name!r} is unknown.{did_you_mean(name, names)}")
    for name in sorted(names - dynamic.keys()):
        raise UserError(f"dynamic_learning_rate = {dynamic!r} needs the key {name!r}.")
    steps = tf.cast(tf.math.floormod(global_train_step, int(dynamic["interval"])), tf.float32)
    return learning_rate * tf.pow(float(dynamic["decay"]), steps)


def _from_function(function: Any, **kwargs: Any) -> tf.Tensor:
    params = inspect.signature(function).parameters.values()
    if not any(param.kind is param.VAR_KEYWORD for param in params):
        raise UserError("please specify **kwargs in dynamic_learning_rate for future compatibility")
    result = tf.convert_to_tensor(function(**kwargs), tf.float32)
    if result.shape.rank != 0:
        raise UserError(f"dynamic_learning_rate must return a scalar, but returned {result}.")
    return result
