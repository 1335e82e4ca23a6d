"""Layer classes by the names that configs use.

Built-in modules are data, imported at the first lookup. Users register their own classes with
:func:`register_layer_class`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .base import LayerBase

BUILTIN_MODULES = [
    "source",
    "linear",
    "shape",
    "reshape",
    "reinterpret",
    "join",
    "flatten",
    "lengths",
    "values",
    "combine",
    "reduce",
    "norm",
    "constant",
    "time_edges",
    "indexing",
    "windows",
    "sequences",
    "conv",
    "pool",
    "signal",
    "segments",
    "image_summary",
    "subnetwork",
    "variables",
    "random",
    "control",
    "statistics",
    "meta_losses",
    "recurrent.cell",
    "cond",
    "masked",
    "recurrent.rec",
    "recurrent.loop_layers",
    "recurrent.outside",
    "recurrent.distances",
    "twod_lstm",
    "kenlm",
    "choice",
    "beam_layers",
    "compare",
    "dot",
    "softmax",
    "attention",
    "cum_concat",
    "positional",
    "elementwise",
    "alignment",
    "loss.layer",
    "print",
    "hdf_dump",
]
"""below ``returnn.layers``"""

_classes: dict[str, type[LayerBase]] = {}
_builtin_loaded = False
AnyLayer = TypeVar("AnyLayer", bound="LayerBase")


class UnknownLayerClass(ConfigError):
    """No layer class of this name."""


def register_layer_class(layer_class: type[LayerBase], *aliases: str) -> type[LayerBase]:
    """
    :param layer_class: its attribute ``layer_class`` is the name
    :param aliases: further names
    :return: the same class
    :raises ConfigError: another class has that name
    """
    if not layer_class.layer_class:
        raise ConfigError("%r has no name: set its attribute layer_class" % layer_class)
    for name in (layer_class.layer_class, *aliases):
        other = _classes.setdefault(name, layer_class)
        if other is not layer_class:
            raise ConfigError("layer class name %r is taken by %r, cannot register %r" % (name, other, layer_class))
    return layer_class


def layer_class(name: str, *aliases: str) -> Callable[[type[AnyLayer]], type[AnyLayer]]:
    """
    Decorator for built-in layers.

    :param name: for configs
    :param aliases: further names
    """

    def decorate(cls: type[AnyLayer]) -> type[AnyLayer]:
        cls.layer_class = name
        register_layer_class(cls, *aliases)
        return cls

    return decorate


def auto_register_layer_classes(values: Iterable[Any] | dict[str, Any] | ModuleType | str) -> None:
    """
    Registers all layer classes that have a ``layer_class`` name of their own.

    :param values: objects, for instance ``list(globals().values())``; or a module; or the name of a Python file
    """
    if isinstance(values, str):
        namespace: dict[str, Any] = {"__name__": "__layers__", "__file__": values}
        with open(values) as f:
            exec(compile(f.read(), values, "exec"), namespace)
        values = namespace
    if isinstance(values, ModuleType):
        values = vars(values)
    if isinstance(values, dict):
        values = values.values()
    for value in list(values):
        if isinstance(value, type) and vars(value).get("layer_class"):
            register_layer_class(value)


def get_layer_class(name: str, raise_exception: bool = True) -> type[LayerBase] | None:
    """
    :param name: as in a config
    :param raise_exception: else None for an unknown one
    :return: class
    :raises UnknownLayerClass: with the nearest names
    """
    _load_builtin()
    if name in _classes:
        return _classes[name]
    if not raise_exception:
        return None
    raise unknown_layer_class(name)


def unknown_layer_class(name: str) -> UnknownLayerClass:
    """
    :return: error with the nearest names, or all of them
    """
    _load_builtin()
    near = did_you_mean(str(name), _classes)
    if near:
        return UnknownLayerClass("unknown layer class %r.%s" % (name, near))
    known = [n for n in get_layer_class_name_list() if not n.startswith(":")]
    return UnknownLayerClass("unknown layer class %r.\n  Layer classes: %s" % (name, ", ".join(known)))


def get_layer_class_name_list() -> list[str]:
    """
    :return: all names
    """
    _load_builtin()
    return sorted(_classes)


def _load_builtin() -> None:
    global _builtin_loaded
    if not _builtin_loaded:
        _builtin_loaded = True
        for module in BUILTIN_MODULES:
            importlib.import_module("returnn.layers." + module)
