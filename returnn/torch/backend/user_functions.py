"""Functions of configs that call TensorFlow, on PyTorch.

Such a function finds ``tf`` among the names of its module, or imports it when it is called. Here it gets a copy of
itself whose names and imports are others: for TensorFlow those of :mod:`.tf_namespace`, for ``TFUtil`` those of
:mod:`.tf_helpers`; and functions of the config that it calls are copies, too. Nothing else changes.
"""

from __future__ import annotations

import builtins
import functools
import re
import sysconfig
import types
from collections.abc import Callable, Sequence
from typing import Any

from returnn.config import Config

from .tf_namespace import Namespace, tf, tf_v1
from .user_code import HELPERS, find_function
from .values import torch_dtype

_TF_COMPAT = Namespace("returnn.tf.compat", {"tf": tf, "v1": tf_v1})
_TFUTIL = Namespace("TFUtil", HELPERS)
_MODULES: dict[str, Namespace] = {
    **dict.fromkeys(("TFCompat", "returnn.TFCompat", "returnn.tf.compat"), _TF_COMPAT),
    **dict.fromkeys(("TFUtil", "returnn.TFUtil", "returnn.tf.util.basic"), _TFUTIL),
}


def on_torch(value: Any) -> Any:
    """
    :param value: anything that code in a config may find under a name
    :return: what it finds on PyTorch: a copy of a function of the config; a class derived from one of the config, with
        copies of its methods; our own function, module or dtype for one of TensorFlow; all else as it is
    """
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, types.MethodType):
        return types.MethodType(on_torch(value.__func__), value.__self__)
    if isinstance(value, functools.partial):
        keywords = {key: on_torch(x) for key, x in value.keywords.items()}
        return functools.partial(on_torch(value.func), *map(on_torch, value.args), **keywords)
    if isinstance(value, types.ModuleType):
        return _module(value.__name__) or value
    if type(value).__name__ == "DType" and type(value).__module__.startswith("tensorflow."):
        return torch_dtype(value.name)
    return value


def config_on_torch(config: Config) -> Config:
    """
    :return: the same config, for the code in it: its typed values as :func:`on_torch` has them
    """
    view = _ConfigOnTorch.__new__(_ConfigOnTorch)
    view.__dict__ = config.__dict__
    return view


class _ConfigOnTorch(Config):
    def typed_value(self, key: str, default: Any = None, index: int | None = None) -> Any:
        return on_torch(super().typed_value(key, default, index))


class _Names(dict[str, Any]):
    """Global names of the copies from one module: what they set themselves, else those of the module."""

    of_module: dict[int, _Names] = {}
    """by the id of the names of the module"""

    def __init__(self, module: dict[str, Any]):
        super().__init__(__builtins__={**vars(builtins), "__import__": _import})
        self._module = module

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name) if name in self else on_torch(self._module[name])


def _function(function: types.FunctionType) -> Callable[..., Any]:
    module = function.__module__ or ""
    if module.startswith("tensorflow."):
        name = re.sub(r"_v\d+$", "", function.__name__)  # as TensorFlow names several of one name
        return find_function(name) or _unknown(tf, name)
    if module.startswith("returnn.tf.util."):
        return HELPERS.get(function.__name__) or _unknown(_TFUTIL, function.__name__)
    if isinstance(function.__globals__, _Names) or not _is_of_user(function):
        return function
    if "_on_torch" not in vars(function):
        function._on_torch = _copy(function)  # type: ignore[attr-defined]
    copy: Callable[..., Any] = vars(function)["_on_torch"]
    return copy


def _copy(function: types.FunctionType) -> types.FunctionType:
    module = function.__globals__
    names = _Names.of_module.setdefault(id(module), _Names(module))
    cells = [_cell(cell) for cell in function.__closure__ or ()]
    defaults = function.__defaults__ and tuple(map(on_torch, function.__defaults__))
    copy = types.FunctionType(function.__code__, names, function.__name__, defaults, tuple(cells))
    copy.__kwdefaults__ = {key: on_torch(x) for key, x in (function.__kwdefaults__ or {}).items()}
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    vars(copy).update(vars(function))
    function._on_torch = copy  # type: ignore[attr-defined]  # before cells are filled: the function may be in its own
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        if cell is not original:
            cell.cell_contents = on_torch(original.cell_contents)
    return copy


def _cell(cell: types.CellType) -> types.CellType:
    """:return: a new one, empty, for what is another thing on PyTorch; else the same, as functions may share it"""
    try:
        content = cell.cell_contents
    except ValueError:  # empty, too
        return cell
    return types.CellType() if isinstance(content, (types.FunctionType, types.ModuleType)) else cell


@functools.cache
def _class(cls: type) -> type:
    if "_on_torch" not in vars(cls):
        methods = {name: on_torch(f) for name, f in vars(cls).items() if _is_of_user(f)}
        methods.update({name: _accessor(f) for name, f in vars(cls).items() if _is_of_user(_getter(f))})
        bases = [other for base in cls.__bases__ if (other := on_torch(base)) is not base]
        if not methods and not bases:
            return cls
        about = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        derived = type(cls)(cls.__name__, (cls, *bases), {**methods, **about})  # in front of bases: for super()
        cls._on_torch = derived._on_torch = derived  # type: ignore[attr-defined]
    res: type = vars(cls)["_on_torch"]
    return res


def _getter(value: Any) -> Any:
    """:return: of a property, static method or class method: its function"""
    return value.fget if isinstance(value, property) else getattr(value, "__func__", None)


def _accessor(value: Any) -> Any:
    if isinstance(value, property):
        return property(*map(on_torch, (value.fget, value.fset, value.fdel)))
    return type(value)(on_torch(value.__func__))


def _is_of_user(function: Any) -> bool:
    """:return: whether this is a function, and stands neither in Python, nor in a package, nor here"""
    return isinstance(function, types.FunctionType) and not function.__code__.co_filename.startswith(_installed_at())


@functools.cache
def _installed_at() -> tuple[str, ...]:
    """:return: folders of Python, of its packages, and of this one"""
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return (*folders, __file__[: __file__.rindex("torch")], "<frozen")


def _unknown(namespace: Namespace, name: str) -> Callable[..., Any]:
    """:return: fails when it is called, as the attribute does"""
    return lambda *_, **__: getattr(namespace, name)


def _module(name: str) -> Namespace | None:
    """:return: our own in place of the module of this name; None: that stays"""
    if name in _MODULES:
        return _MODULES[name]
    top, *path = name.split(".")
    if top != "tensorflow":
        return None
    path = [part for part in path if part not in ("_api", "v2")]  # how TensorFlow names its modules itself
    namespace = tf
    for i, part in enumerate(path):
        if path[: i + 1] == ["compat", "v1"]:
            namespace = tf_v1
        else:  # nothing is in a module that is not there
            namespace = vars(namespace).get(part) or Namespace("%s.%s" % (namespace.__name__, part), {})
    return namespace


def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> Any:
    """``__import__`` of the copies."""
    module = None if level else _module(name)
    if module is not None and (fromlist or "." not in name):
        return module
    if module is not None and name.startswith("tensorflow."):
        return tf  # "import a.b" gives a
    return builtins.__import__(name, globals, locals, fromlist or (), level)
