"""Copying a dataset, also to another process: it is built again by its constructor.

Contract: for each argument of the constructor, of all classes through which ``**kwargs`` pass, the value is in the
attribute ``_<argument>`` or ``<argument>``. A class adapts this by two class attributes:
``_getnewargs_exclude_attrs``, arguments that its constructor passes on by itself, and ``_getnewargs_remap``,
argument -> attribute.
"""

from __future__ import annotations

import inspect
from typing import Any

from returnn.util.errors import UserError


def constructor_parameters(cls: type) -> dict[str, inspect.Parameter]:
    """
    :return: name -> parameter, of the constructor and of those constructors that its ``**kwargs`` reach
    """
    params: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is None or base is object:
            continue
        own = list(inspect.signature(init).parameters.values())[1:]
        for param in own:
            if param.kind in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY):
                params.setdefault(param.name, param)
        if not any(param.kind == param.VAR_KEYWORD for param in own):
            break
    return params


def constructor_arguments(obj: Any) -> dict[str, Any]:
    """
    :param obj: instance of a class that keeps the contract of this module
    :return: keyword arguments that build an equal object
    :raises UserError: the value of an argument is not found
    """
    cls = type(obj)
    exclude: set[str] = set()
    remap: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        exclude |= set(base.__dict__.get("_getnewargs_exclude_attrs", ()))
        remap.update(base.__dict__.get("_getnewargs_remap", {}))
    res = {}
    for name, param in constructor_parameters(cls).items():
        if name in exclude:
            continue
        value = _first_attribute(obj, [remap[name]] if name in remap else ["_" + name, name])
        if value is _missing:
            raise UserError(
                f"{cls.__name__} cannot be copied or sent to another process: the value of its argument {name!r} is not"
                f" kept. Set self.{name} in the constructor, or add {name!r} to the class attribute"
                " _getnewargs_exclude_attrs (set) or _getnewargs_remap (dict: argument -> attribute)."
            )
        if param.default is param.empty or value is not param.default:
            res[name] = value
    return res


_missing = object()


def _first_attribute(obj: Any, names: list[str]) -> Any:
    for name in names:
        try:
            return getattr(obj, name)
        except (AttributeError, NotImplementedError):  # the latter from properties such as num_seqs
            continue
    return _missing
