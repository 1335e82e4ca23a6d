"""What sets a variable when the parameters are initialized, after its initializer has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from returnn.tf.compat import tf, v1

_ATTRIBUTE = "RETURNN_custom_post_init"


def set_custom_post_init(var: tf.Variable, func: Callable[[v1.Session], None]) -> None:
    """
    :param var: parameter
    :param func: sets its value, each time when the parameters are initialized
    """
    setattr(var, _ATTRIBUTE, func)


def have_custom_post_init(var: tf.Variable) -> bool:
    """
    :param var: parameter
    """
    return getattr(var, _ATTRIBUTE, None) is not None


def run_custom_post_inits(variables: Iterable[tf.Variable], session: v1.Session) -> None:
    """
    :param variables: just initialized
    :param session: of their graph
    """
    for var in variables:
        if have_custom_post_init(var):
            getattr(var, _ATTRIBUTE)(session)
