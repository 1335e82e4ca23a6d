"""Loss classes by the names that configs use, and losses from their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .base import Loss

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase
    from returnn.network.network import Network

_classes: dict[str, type[Loss]] = {}
_with_rasr = ("sprint", "fast_bw")
"""losses that another program computes, which cannot be run yet"""


class UnknownLossOption(ConfigError, TypeError):
    """The loss has no such option."""


def register_loss_class(cls: type[Loss], *aliases: str) -> type[Loss]:
    """
    :param cls: its attribute ``class_name`` is the name for configs
    :param aliases: further names
    :return: the same class
    :raises ConfigError: another class has that name
    """
    for name in (cls.class_name, *aliases):
        other = _classes.setdefault(name, cls)
        if other is not cls:
            raise ConfigError("loss name %r is taken by %r, cannot register %r" % (name, other, cls))
    return cls


def get_loss_class(name: str | type[Loss]) -> type[Loss]:
    """
    :param name: as in a config; a class stands for itself
    :return: class
    :raises ConfigError: with the nearest names
    """
    if isinstance(name, type) and issubclass(name, Loss):
        return name
    if name in _classes:
        return _classes[name]
    if name in _with_rasr:
        raise ConfigError("loss %r needs RASR, which is not supported yet" % name)
    near = did_you_mean(str(name), _classes)
    raise ConfigError("unknown loss class %r.%s Losses: %s" % (name, near, ", ".join(get_loss_class_name_list())))


def get_loss_class_name_list() -> list[str]:
    """
    :return: all names
    """
    return sorted(_classes)


def loss_option_names(cls: type[Loss]) -> list[str]:
    """
    :return: keys of ``loss_opts``, sorted
    """
    names: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in vars(base) and issubclass(base, Loss):
            parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
            names |= {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return sorted(names - {"base_network"})


def check_loss_options(cls: type[Loss], opts: dict[str, Any]) -> None:
    """
    :raises UnknownLossOption: naming all unknown ones, with the nearest valid names
    """
    known = loss_option_names(cls)
    unknown = sorted(key for key in opts if key not in known)
    if unknown:
        text = 'loss_opts: option "%s" is unknown to loss "%s".%s'
        lines = [text % (key, cls.class_name, did_you_mean(key, known)) for key in unknown]
        raise UnknownLossOption("\n".join([*lines, "  Its options: %s" % ", ".join(known)]))


def loss_from_options(
    cls: type[Loss], opts: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]
) -> Loss:
    """
    :param cls: of the loss
    :param opts: as in a config
    :param network: that the layer is in
    :param get_layer: for options that name layers
    :raises ConfigError: an option is missing, or does not fit
    """
    opts = dict(opts)
    cls.transform_config_dict(opts, network, get_layer)
    try:
        inspect.signature(cls).bind(base_network=network, **opts)
    except TypeError as exc:
        raise ConfigError("loss %s: %s" % (cls.class_name, exc)) from exc
    return network.backend.user_function(cls)(base_network=network, **opts)
