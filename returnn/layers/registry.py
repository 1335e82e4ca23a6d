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

BUILTIN_MODULES = ["source", "linear", "shape", "combine", "reduce", "norm", "constant", "subnetwork", "recurrent.rec"]
"""below ``returnn.layers``"""

NOT_YET = frozenset(
    """
    accumulate_mean batch_softmax boolean_mask cast choice choice_get_beam_scores choice_get_src_beams combine_dims
    compare concat concat_attention cond conv cum_concat cumsum dct decide decide_keep_beam dot dot_attention
    edit_distance edit_distance_table elemwise_prod expand_dims flatten_batch fold framewise_statistics gather gather_nd
    gating gauss_window_attention generic_attention global_train_step gradient identity image_summary kenlm length
    masked_computation math_norm norm optimal_completions pad positional_encoding postfix_in_time prefix_in_time
    rand_int random random_state_init range range_from_length range_in_axis reinterpret_data
    relative_positional_encoding remove repeat reshape resize rnn_cell scaled_grad scatter_nd search_sorted
    self_attention seq_len_mask shift_axis slice slice_nd softmax_over_spatial split split_batch_beam split_batch_time
    squeeze stack swap_axes switch synthetic_gradient tikhonov_regularization tile time_chunking time_unchunking top_k
    train_flag transpose transposed_conv twod_lstm unflatten_batch unflatten_nd unmask variable variable_assign
    variable_read weighted_sum
    """.split()
)
"""names that configs use for layer classes that are not there yet"""

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
    if name in NOT_YET:
        return UnknownLayerClass("unknown layer class %r: it is not supported yet" % name)
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
