"""Initialisers as configs write them, for variables that users make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from returnn.layers.initializers import initializer_from_config
from returnn.tf.compat import tf

from .initial_values import initial_value


def get_initializer(
    s: Any, seed: int | None = None, eval_local_ns: Mapping[str, Any] | None = None, dtype: Any = "float32"
) -> Callable[..., tf.Tensor]:
    """
    :param s: as in a config: a number, a name, an expression, a dict with "class"
    :param seed: if the initialiser needs one and has none
    :param eval_local_ns: names for expressions, for instance ``layer``
    :param dtype: of the value, where the caller does not say
    :return: function of shape, dtype, for ``tf.get_variable``
    """
    init = initializer_from_config(s, seed=seed, names=eval_local_ns)
    default = tf.as_dtype(dtype)

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        sizes = tuple(tf.TensorShape(shape).as_list())
        return initial_value(init, sizes, tf.as_dtype(dtype or default).name)

    return initializer
