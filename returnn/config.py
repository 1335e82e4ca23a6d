"""The config: what the user declares, in files and on the command line.

``typed_dict`` holds Python values (of Python and JSON configs, and of API calls); a Python config runs with this dict
as its global variables, so that its functions see later changes. ``dict`` holds what came as text (command line, line
configs), as lists of strings. Typed values win.

A ``Config`` can be pickled: its files are run again, from their text as it was read, and values that were set later
are sent along. Functions and classes of a config pickle by reference, through the module ``__returnn_config__``.
"""

from __future__ import annotations

import ast
import contextlib
import numbers
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from returnn import config_load
from returnn.config_args import parse_options
from returnn.config_keys import EXPRESSION_KEYS
from returnn.config_load import Source
from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.to_bool import to_bool

# Within the class, the names int, bool and list are its accessors.
_Bool = bool
_Int = int
_StrList = list[str]


class ConfigValueError(ConfigError, ValueError):
    """A text does not have the type that its key needs."""


class Config:
    """Keys and values, see the module."""

    def __init__(self, items: dict[str, Any] | None = None) -> None:
        """:param items: typed values"""
        self.dict: dict[str, _StrList] = {}
        """Untyped: key -> parts of the text."""
        self.typed_dict: dict[str, Any] = {}
        self.files: _StrList = []
        """Paths of the loaded files."""
        self.sources: list[Source] = []
        """What was loaded, with the text."""
        # For pickling: what made the values, ("file", Source), ("line", (key, value)) or ("values", dict),
        # and the values that came of it.
        self._history: list[tuple[str, Any]] = []
        self._values_of_history: dict[str, Any] = {}
        self._in_history = False
        if items is not None:
            self.update(items)

    # Sources

    def load_file(self, file: str | os.PathLike[str] | TextIO) -> None:
        """
        :param file: path, or something with ``read()``; Python, JSON or lines ``key value``
        :raises ConfigError: it is not there, is not valid, or raises an exception
        """
        self._load_source(config_load.read_source(file))

    def _load_source(self, source: Source) -> None:
        if source.path is not None:
            self.files.append(source.path)
        self.sources.append(source)
        with self._recorded("file", source):
            if source.kind == "py":
                config_load.exec_python(source, self.typed_dict, config=self)
            elif source.kind == "js":
                self.update(config_load.parse_json(source))
            else:
                for key, value in config_load.parse_lines(source):
                    self.add_line(key, value)

    @classmethod
    def get_config_file_type(cls, file: str | os.PathLike[str] | TextIO) -> str:
        """:return: ``"py"``, ``"js"`` (JSON) or ``"txt"`` (lines ``key value``)"""
        return config_load.read_source(file).kind

    def parse_cmd_args(self, args: Sequence[str]) -> None:
        """
        :param args: options and ``++key value`` pairs
        :raises ConfigError: an argument that belongs to no key
        :raises SystemExit: unknown option, ``--help``, ``--version``
        """
        settings, files = parse_options(args)
        for file in files:
            self.load_file(file)
        for key, value in settings:
            self.add_line(key, value)

    def add_line(self, key: str, value: str) -> None:
        """Sets a key from text. The type is that of the typed value before, if there is one.

        :param key: ``include`` loads files, others are stored
        :param value: text; for a typed key that is no ``str`` a Python expression
        """
        with self._recorded("line", (key, value)):
            if key == "include":
                for file in value.split(","):
                    self.load_file(file.strip())
            elif key in self.typed_dict:
                self.typed_dict[key] = _retype(key, value, old=self.typed_dict[key])
            elif key in EXPRESSION_KEYS and _is_expression(value):
                self.typed_dict[key] = _evaluate(value, default=value)
            else:
                self.dict[key] = value.split(",") if value.find(",") > 0 else [value]

    def set(self, key: str, value: Any) -> None:
        """Sets a typed value."""
        self.update({key: value})

    def update(self, values: dict[str, Any]) -> None:
        """Sets typed values."""
        if self.sources:
            self.typed_dict.update(values)
        else:  # a file that comes later may ask for them, so also when it runs again in another process
            with self._recorded("values", dict(values)):
                self.typed_dict.update(values)

    # Accessors

    def has(self, key: str) -> _Bool:
        """:return: whether the key is set, typed or not"""
        return key in self.typed_dict or key in self.dict

    def is_typed(self, key: str) -> _Bool:
        """:return: whether the key has a typed value"""
        return key in self.typed_dict

    def is_true(self, key: str, default: _Bool = False) -> _Bool:
        """:return: truth of the typed value, or of the word that came as text"""
        if key in self.typed_dict:
            return bool(self.typed_dict[key])
        return self.bool(key, default)

    def is_of_type(self, key: str, types: type | tuple[type, ...]) -> _Bool:
        """:return: whether the key has a typed value of one of these types"""
        return key in self.typed_dict and isinstance(self.typed_dict[key], types)

    def get_of_type(self, key: str, types: type | tuple[type, ...], default: Any = None) -> Any:
        """:return: the typed value if it is of one of these types, else the default"""
        return self.typed_dict[key] if self.is_of_type(key, types) else default

    def value(self, key: str, default: Any, index: _Int | None = None, list_join_str: str = ",") -> Any:
        """
        :param default: also for a typed None
        :param index: of an element, for lists and the like
        :param list_join_str: between the elements of a list
        :return: the value as text
        """
        if key in self.typed_dict:
            value = self.typed_dict[key]
            if value is None:
                return default
            if index is not None:
                return str(self._element(key, value, index))
            return list_join_str.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        if key in self.dict:
            parts = self.dict[key]
            return list_join_str.join(parts) if index is None else self._element(key, parts, index)
        return default

    def typed_value(self, key: str, default: Any = None, index: _Int | None = None) -> Any:
        """
        :return: the typed value as it is (element ``index`` of it, if it is a list); the default if there is none,
            even if the key was set as text
        """
        if key not in self.typed_dict:
            return default
        return self.typed_dict[key] if index is None else self._first(key, index)

    def opt_typed_value(self, key: str, default: Any = None) -> Any:
        """:return: the typed value as it is, else what came as text, else the default"""
        return self.typed_dict[key] if key in self.typed_dict else self.value(key, default)

    def int(self, key: str, default: Any, index: _Int = 0) -> Any:
        """
        :param index: of the element, for a list
        :return: int; None for a typed None
        """
        if key in self.typed_dict:
            return self._checked_number(key, self._first(key, index), "an int", numbers.Integral)
        return self._converted(key, default, index, int, "an int")

    def float(self, key: str, default: Any, index: _Int = 0) -> Any:
        """
        :param index: of the element, for a list
        :return: float; None for a typed None; a typed str is converted
        """
        if key in self.typed_dict:
            value = self._first(key, index)
            if isinstance(value, str):
                return self._convert(key, value, float, "a float")
            return self._checked_number(key, value, "a float", numbers.Real)
        return self._converted(key, default, index, float, "a float")

    def bool(self, key: str, default: Any, index: _Int = 0) -> Any:
        """
        :param index: of the element, for a list
        :return: bool; None for a typed None; the default for an empty text
        """
        if key in self.typed_dict:
            value = self._checked_number(key, self._first(key, index), "a bool", numbers.Integral)
            return None if value is None else bool(value)
        if self.value(key, "", index=index) == "":
            return default
        return self._converted(key, default, index, to_bool, "a bool")

    def bool_or_other(self, key: str, default: Any = None, index: _Int = 0) -> Any:
        """
        :param index: of the element, for a list
        :return: the typed value as it is; a text as bool if it is one, else as text (the default if it is empty)
        """
        if key in self.typed_dict:
            value = self.typed_dict[key]
            return self._first(key, index) if value or not isinstance(value, (list, tuple)) else default
        text = self.value(key, "", index=index)
        if text == "":
            return default
        try:
            return to_bool(text)
        except ValueError:
            return text

    def list(self, key: str, default: Any = ()) -> Any:
        """
        :param default: also for a typed None; empty list if not given
        :return: list; a single value is its only element
        """
        if key in self.typed_dict and self.typed_dict[key] is not None:
            value = self.typed_dict[key]
            return list(value) if isinstance(value, (list, tuple)) else [value]
        if key in self.typed_dict or key not in self.dict:
            return list(default) if isinstance(default, tuple) else default
        return list(self.dict[key])

    def int_list(self, key: str, default: Any = ()) -> Any:
        """:return: list of int; see :meth:`list`"""
        return self._number_list(key, default, int, "an int", numbers.Integral)

    def float_list(self, key: str, default: Any = ()) -> Any:
        """:return: list of float (of typed values: int too); see :meth:`list`"""
        return self._number_list(key, default, float, "a float", numbers.Real)

    def int_pair(self, key: str, default: tuple[_Int, _Int] = (0, 0)) -> Any:
        """:return: two ints; ``(v, v)`` for a single one. As text: ``a:b`` or ``a``."""
        if key in self.typed_dict:
            value = self.typed_dict[key]
            if value is None:
                return default
            pair = tuple(value) if isinstance(value, (list, tuple)) else (value, value)
            if len(pair) != 2 or not all(isinstance(v, numbers.Integral) for v in pair):
                raise ConfigError(f"config key {key!r}: expected two ints, got {value!r}")
            return pair
        if key not in self.dict:
            return default
        parts = self.value(key, "").split(":")
        if len(parts) > 2:
            raise ConfigValueError(f"config key {key!r}: expected an int or 'a:b', got {self.value(key, '')!r}")
        pair = tuple(self._convert(key, part, int, "an int or 'a:b'") for part in parts)
        return pair if len(pair) == 2 else pair * 2

    # Helpers of the accessors

    def _first(self, key: str, index: _Int) -> Any:
        """:return: the typed value; its element, if it is a list"""
        value = self.typed_dict[key]
        return self._element(key, value, index) if isinstance(value, (list, tuple)) else value

    @staticmethod
    def _element(key: str, value: Any, index: _Int) -> Any:
        try:
            return value[index]
        except (TypeError, LookupError):
            raise ConfigError(f"config key {key!r}: there is no element {index} in {value!r}") from None

    @staticmethod
    def _checked_number(key: str, value: Any, what: str, kind: type) -> Any:
        if value is not None and not isinstance(value, kind):
            raise ConfigError(f"config key {key!r}: expected {what}, got {value!r} ({type(value).__name__})")
        return value

    @staticmethod
    def _convert(key: str, text: str, convert: Callable[[str], Any], what: str) -> Any:
        try:
            return convert(text)
        except ValueError as exc:
            raise ConfigValueError(f"config key {key!r}: expected {what}, got {text!r} ({exc})") from None

    def _converted(self, key: str, default: Any, index: _Int, convert: Callable[[str], Any], what: str) -> Any:
        if key not in self.dict:
            return default
        return self._convert(key, self._element(key, self.dict[key], index), convert, what)

    def _number_list(self, key: str, default: Any, convert: Callable[[str], Any], what: str, kind: type) -> Any:
        values = self.list(key, default)
        if key in self.typed_dict:
            if self.typed_dict[key] is not None and not all(isinstance(v, kind) for v in values):
                raise ConfigError(f"config key {key!r}: expected a list, each {what}, got {self.typed_dict[key]!r}")
            return values
        return [self._convert(key, v, convert, what) for v in values] if key in self.dict else values

    # Pickling

    @contextlib.contextmanager
    def _recorded(self, kind: str, what: Any) -> Iterator[None]:
        if self._in_history:  # what this entry calls is not recorded again
            yield
            return
        self._history.append((kind, what))
        self._in_history, before = True, dict(self.typed_dict)
        try:
            yield
        finally:
            self._in_history = False
            for key, value in self.typed_dict.items():
                if key not in before or before[key] is not value:
                    self._values_of_history[key] = value

    def __reduce__(self) -> tuple[Any, ...]:
        was_global = get_global_config(raise_exception=False) is self
        set_later = {
            key: value
            for key, value in self.typed_dict.items()
            if key not in self._values_of_history or self._values_of_history[key] is not value
        }
        deleted = [key for key in self._values_of_history if key not in self.typed_dict]
        for key, value in set_later.items():
            _check_can_pickle(key, value)
        # First the history, then the values: they may refer to functions of the config.
        return _restore_config, (self._history, was_global), (set_later, deleted)

    def __setstate__(self, state: tuple[dict[str, Any], _StrList]) -> None:
        set_later, deleted = state
        for key in deleted:
            self.typed_dict.pop(key, None)
        self.typed_dict.update(set_later)


def _restore_config(history: list[tuple[str, Any]], was_global: bool) -> Config:
    config = Config()
    if was_global and get_global_config(raise_exception=False) is None:
        set_global_config(config)
    for kind, what in history:
        if kind == "file":
            config._load_source(what)
        elif kind == "line":
            config.add_line(*what)
        else:
            config.update(what)
    return config


def _check_can_pickle(key: str, value: Any) -> None:
    try:
        pickle.dumps(value)
    except Exception as exc:
        raise pickle.PicklingError(
            f"config key {key!r} was set after the config files were loaded, to a value that cannot be sent"
            f" to another process: {exc}"
        ) from exc


# Values from text

_names_in_expressions: dict[str, Any] = {
    f.__name__: f
    for f in (abs, bool, dict, float, frozenset, int, len, list, max, min, range, round, set, sorted, str, sum, tuple)
}


_no_value = object()


def _is_expression(text: str) -> bool:
    """:return: whether this is a Python expression, and not just a word"""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    nodes = list(ast.walk(node))
    own = {n.arg for n in nodes if isinstance(n, ast.arg)}  # of a lambda
    own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # of a comprehension
    names = {n.id for n in nodes if isinstance(n, ast.Name)} - own
    return not isinstance(node, ast.Name) and names <= set(_names_in_expressions)


def _evaluate(text: str, default: Any) -> Any:
    """:return: value of an expression; the default if it has none, as ``1/0``"""
    try:
        return eval(text.strip(), {"__builtins__": dict(_names_in_expressions)})
    except Exception:
        return default


def _retype(key: str, text: str, old: Any) -> Any:
    """
    :param old: the typed value before
    :return: the new value, of the same kind
    """
    if isinstance(old, str):
        return text
    value = _evaluate(text, default=_no_value) if _is_expression(text) else _no_value
    if value is not _no_value:
        return value
    message = f"can't evaluate config param {key!r} to previous type: {type(old)}. Keeping as string."
    print("WARNING:", message, file=log.v1)
    return text


# The global config

_global_config: Config | None = None


def get_global_config(
    *, raise_exception: bool = True, auto_create: bool = False, return_empty_if_none: bool = False
) -> Config | None:
    """
    :param raise_exception: if there is none; else the result is None then
    :param auto_create: makes an empty one and sets it, if there is none
    :param return_empty_if_none: makes an empty one and does not set it, if there is none
    :return: the config of the running program
    """
    if _global_config is not None:
        return _global_config
    if auto_create:
        config = Config()
        set_global_config(config)
        return config
    if return_empty_if_none:
        return Config()
    if raise_exception:
        raise Exception("No global config found.")
    return None


def set_global_config(config: Config | None) -> None:
    """:param config: what :func:`get_global_config` and the module ``__returnn_config__`` give from now on"""
    global _global_config
    _global_config = config


@contextlib.contextmanager
def global_config_ctx(config: Config | None) -> Iterator[Config | None]:
    """
    :param config: the global one inside of this context
    """
    before = _global_config
    set_global_config(config)
    try:
        yield config
    finally:
        set_global_config(before)


class _ConfigModule(types.ModuleType):
    """The keys of the global config, as a module: here pickle finds the functions and classes of the config again."""

    def __getattr__(self, name: str) -> Any:
        if _global_config is not None and name in _global_config.typed_dict:
            return _global_config.typed_dict[name]
        where = "the global config has no such name" if _global_config is not None else "there is no global config"
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: {where}")

    def __dir__(self) -> list[str]:
        return sorted(_global_config.typed_dict) if _global_config is not None else []


sys.modules[config_load.CONFIG_MODULE_NAME] = _ConfigModule(config_load.CONFIG_MODULE_NAME)
