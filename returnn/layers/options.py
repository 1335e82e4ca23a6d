"""Which options a layer class has: the typed public attributes of its classes, and the arguments of users'
``__init__``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .base import LayerBase

FORK_OPTIONS: dict[str, tuple[str, ...]] = {
    "batch_norm": ("axes", "fused", "fused_bn"),
    "print": ("filename",),
    "softmax": ("compute_priors", "loss_like_ce"),
    "unmask": ("skip_initial",),
}
"""Options that only other versions of the program know, by layer class. Configs of theirs run, with a warning."""

_NOT_OPTIONS = {"layer_class", "name", "network", "output", "sources", "self", "kwargs"}


class UnknownLayerOption(ConfigError, TypeError):
    """The layer has no such option."""


def option_names(cls: type[LayerBase]) -> list[str]:
    """
    :param cls: layer class
    :return: sorted
    """
    names: set[str] = set()
    for base in cls.__mro__:
        if base is object:
            continue
        names |= set(vars(base).get("__annotations__", {}))
        if "__init__" in vars(base):
            names |= _named_parameters(vars(base)["__init__"])
        own_template = vars(base).get("get_out_data_from_opts")
        if own_template is not None:
            names |= _named_parameters(own_template.__func__) - {"cls"}
    return sorted(n for n in names - _NOT_OPTIONS if not n.startswith("_"))


def drop_fork_options(name: str, opts: dict[str, Any]) -> None:
    """
    Takes out of the options, in place, what no layer class here ever knew, and says so once for each.

    :param name: of the layer class
    :param opts: of a layer
    """
    for key in FORK_OPTIONS.get(name, ()):
        if key in opts:
            value = opts.pop(key)
            text = "option %s=%r of layer class %r is not known here, it has no effect."
            log.print_warning(text % (key, value, name), once=True)


def check_options(cls: type[LayerBase], opts: dict[str, Any], *, where: str) -> None:
    """
    :param cls: layer class
    :param opts: after ``transform_config_dict``
    :param where: for the message, for instance ``network["enc"]``
    :raises UnknownLayerOption: naming all unknown ones, with the nearest valid names
    """
    problems = unknown_options(cls, opts)
    if problems:
        lines = ["%s: %s" % (where, text) for text in problems]
        raise UnknownLayerOption("\n".join([*lines, options_text(cls)]))


def unknown_options(cls: type[LayerBase], opts: Iterable[str]) -> list[str]:
    """
    :param cls: layer class
    :param opts: names, without "class" and "from"
    :return: one line for each that the class does not know, with the nearest valid names; sorted
    """
    known = _accepted(cls)
    from_forks = FORK_OPTIONS.get(cls.layer_class or "", ())
    opts = [k for k in opts if k not in from_forks]
    unknown = [k for k in opts if k not in known and not k.startswith("_") and k not in _NOT_OPTIONS]
    text = 'option "%s" is unknown to layer class "%s".%s'
    return [text % (k, cls.layer_class, did_you_mean(k, ["class", "from", *known])) for k in sorted(unknown)]


def options_text(cls: type[LayerBase]) -> str:
    """
    :param cls: layer class
    :return: line for the end of a message
    """
    return "  Its options: %s" % ", ".join(["class", "from", *_accepted(cls)])


def _find_accepted(cls: type[LayerBase]) -> tuple[str, ...]:
    if any(p.kind is p.VAR_KEYWORD for p in _own_init_parameters(cls)):
        return tuple(option_names(cls))
    return tuple(sorted(p.name for p in _own_init_parameters(cls)))


_accepted: Callable[[Any], tuple[str, ...]] = functools.cache(_find_accepted)
"""layer class -> names of its options; found once, as a network has many layers of few classes"""


def _named_parameters(function: Callable[..., Any]) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def _own_init_parameters(cls: type[LayerBase]) -> list[inspect.Parameter]:
    return list(inspect.signature(cls).parameters.values())
