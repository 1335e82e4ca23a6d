"""Pickling for other processes: also functions that are no attribute of a module, as lambdas, and modules.

A function that can be found by its name is sent as that name. Any other is sent as its code, with the values that it
keeps (defaults, variables of functions around it). Its global variables are those of its module over there, of the
config for a function of the config. Both ends must run the same Python.
"""

from __future__ import annotations

import importlib
import io
import marshal
import pickle
import sys
import types
from typing import IO, Any

import numpy

from returnn.config import get_global_config
from returnn.config_load import CONFIG_MODULE_NAME

__all__ = ["Pickler", "Unpickler", "dumps", "loads", "numpy_copy_and_set_unused", "numpy_set_unused"]


class Pickler(pickle.Pickler):
    """See the module. The result is for :class:`Unpickler`, or any other: it needs nothing but this module."""

    def __init__(self, file: IO[bytes], protocol: int = pickle.HIGHEST_PROTOCOL, **kwargs: Any):
        super().__init__(file, protocol, **kwargs)

    def reducer_override(self, obj: Any) -> Any:
        """
        :param obj: any object
        :return: how to pickle it, NotImplemented for the usual way
        """
        if isinstance(obj, types.FunctionType) and not _is_found_by_name(obj):
            return _reduce_function(obj)
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        return NotImplemented


Unpickler = pickle.Unpickler


def dumps(obj: Any) -> bytes:
    """
    :param obj: any object
    :return: its pickle, see the module
    """
    stream = io.BytesIO()
    Pickler(stream).dump(obj)
    return stream.getvalue()


def loads(data: bytes) -> Any:
    """
    :param data: from :func:`dumps`
    :return: the object
    """
    return pickle.loads(data)


def numpy_set_unused(v: numpy.ndarray | None) -> None:
    """
    :param v: an array that its owner does not need any more. Only a hint: memory is freed when nothing refers to it
    """


def numpy_copy_and_set_unused(v: numpy.ndarray) -> numpy.ndarray:
    """
    :param v: maybe in memory that belongs to somebody else
    :return: an array of its own
    """
    return v.copy() if v.base is not None else v


def _is_found_by_name(func: types.FunctionType) -> bool:
    """:return: whether the other end finds the function by module and name"""
    value: Any = sys.modules.get(func.__module__)
    for name in func.__qualname__.split("."):
        value = getattr(value, name, None)
    return value is func


def _reduce_function(func: types.FunctionType) -> tuple[Any, ...]:
    code = func.__code__
    cells = [cell for cell in func.__closure__ or ()]
    state = {
        "defaults": func.__defaults__,
        "kwdefaults": func.__kwdefaults__,
        "dict": dict(func.__dict__),
        "cells": [_cell_value(cell) for cell in cells],
        "qualname": func.__qualname__,
    }
    args = (marshal.dumps(code), func.__module__, func.__name__, len(cells))
    return _make_function, args, state, None, None, _set_function_state


def _cell_value(cell: types.CellType) -> tuple[Any, ...]:
    """:return: its value in a tuple; an empty one if it has none yet"""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _make_function(code: bytes, module: str, name: str, num_cells: int) -> types.FunctionType:
    """:return: the function, without what it keeps: that can refer to the function itself"""
    cells = tuple(types.CellType() for _ in range(num_cells))
    func = types.FunctionType(marshal.loads(code), _globals_of(module), name, None, cells)
    func.__module__ = module
    return func


def _globals_of(module: str) -> dict[str, Any]:
    if module == CONFIG_MODULE_NAME:
        config = get_global_config()
        assert config is not None
        return config.typed_dict
    return vars(importlib.import_module(module))


def _set_function_state(func: types.FunctionType, state: dict[str, Any]) -> None:
    func.__defaults__ = state["defaults"]
    func.__kwdefaults__ = state["kwdefaults"]
    func.__dict__.update(state["dict"])
    func.__qualname__ = state["qualname"]
    for cell, value in zip(func.__closure__ or (), state["cells"], strict=True):
        if value:
            cell.cell_contents = value[0]
