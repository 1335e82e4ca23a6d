"""Output of a function, with its input at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from returnn.tf.compat import tf

from .math import safe_log


class OutputWithActivation:
    """``y = act_func(x)``."""

    def __init__(
        self, x: Any, act_func: Callable[..., Any] | None = None, act_func_opts: Mapping[str, Any] | None = None
    ):
        """
        :param x: tensor
        :param act_func: None: identity
        :param act_func_opts: further arguments of it
        """
        self.x = x
        self.act_func = act_func
        self.act_func_opts = dict(act_func_opts or {})
        self.y = act_func(x, **self.act_func_opts) if act_func is not None else x

    def is_softmax_act_func(self) -> bool:
        """
        :return: whether x are logits
        """
        return self.act_func is tf.nn.softmax

    def get_logits(self) -> Any:
        """
        :return: x, if the function is softmax; log y, if it is exp
        """
        if self.is_softmax_act_func() or self.act_func is tf.exp:
            return self.x
        raise ValueError("there are no logits: the function is %r, not softmax" % (self.act_func,))

    def get_log_output(self) -> Any:
        """
        :return: log y, computed without log of an exp
        """
        if self.is_softmax_act_func():
            return tf.nn.log_softmax(self.x)
        if self.act_func is tf.exp:
            return self.x
        if self.act_func is tf.sigmoid:
            return tf.math.log_sigmoid(self.x)
        return safe_log(self.y)
