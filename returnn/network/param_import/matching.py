"""Which value of a file belongs to which parameter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from returnn.log import log

from .batch_norm import batch_norm_param
from .lstm import lstm_param

Values = Mapping[str, numpy.ndarray]

_MAX_LINES_PER_KIND = 20


@dataclass(frozen=True)
class ParamInfo:
    """A parameter that wants a value."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    critical: bool = True
    """False: it may keep its initial value without a word"""


@dataclass(frozen=True)
class ImportOptions:
    """How names of the model become names of the file. A *looked-up* name is what is left of a model's name after the
    prefixes."""

    params_prefix: str = ""
    """of the model's names, cut off. Parameters without it are not looked up"""
    load_if_prefix: str = ""
    """only parameters with this text in their name are wanted, and it is taken out of the name wherever it is"""
    ignore_params: Collection[str] = ()
    """looked-up names that are not wanted"""
    ignore_params_prefixes: Collection[str] = ()
    """beginnings of such"""
    var_name_mapping: Mapping[str, str] = field(default_factory=dict)
    """looked-up name -> name in the file"""
    custom_missing_load_func: Callable[..., numpy.ndarray | None] | None = None
    """``f(name=, shape=, reader=)`` is asked for what is not there; ``reader`` has ``get_tensor(name)``,
    ``has_tensor(name)`` and ``get_variable_to_shape_map()`` of the file; None: it does not know either"""

    def looked_up_name(self, name: str) -> str | None:
        """
        :param name: of the model
        :return: None: it is not wanted
        """
        if not name.startswith(self.params_prefix):
            return None
        name = name[len(self.params_prefix) :]
        if self.load_if_prefix:
            if self.load_if_prefix not in name:
                return None
            name = name.replace(self.load_if_prefix, "")
        if name in self.ignore_params or name.startswith(tuple(self.ignore_params_prefixes)):
            return None
        return name


@dataclass
class ImportResult:
    """Values for a model, and what did not fit."""

    values: dict[str, numpy.ndarray] = field(default_factory=dict)
    """by name of the model"""
    renamed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """name of the model -> names in the file, where the looked-up name is not there"""
    missing: list[ParamInfo] = field(default_factory=list)
    """in the model, not in the file"""
    not_critical: list[ParamInfo] = field(default_factory=list)
    """missing too, but that is no problem"""
    other_shape: dict[str, tuple[ParamInfo, numpy.ndarray]] = field(default_factory=dict)
    """name of the model -> what it needs, what the file has"""
    unused: dict[str, numpy.ndarray] = field(default_factory=dict)
    """in the file, not in the model"""


class ValuesReader:
    """Values of a file, with the methods of TensorFlow's checkpoint readers that functions of users call."""

    def __init__(self, values: Values):
        self._values = values

    def get_tensor(self, name: str) -> numpy.ndarray:
        """
        :param name: in the file
        """
        return self._values[name]

    def has_tensor(self, name: str) -> bool:
        """
        :param name: in the file
        """
        return name in self._values

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """
        :return: by name in the file
        """
        return {name: list(value.shape) for name, value in self._values.items()}


def match_params(params: Iterable[ParamInfo], values: Values, options: ImportOptions | None = None) -> ImportResult:
    """
    A parameter gets the value of its looked-up name; without that, one of another name or layout that is known to be
    the same thing, see :mod:`.lstm` and :mod:`.batch_norm`; without that, what the user's function says.

    :param params: of the model; those that the options exclude are left out
    :param values: of the file, by name
    :param options: none by default
    """
    options = options or ImportOptions()
    result = ImportResult()
    used: set[str] = set()
    for param in params:
        name = options.looked_up_name(param.name)
        if name is None:
            continue
        value, sources = _find(param, name, values, options)
        used.update(sources)
        if value is None:
            (result.missing if param.critical else result.not_critical).append(param)
        elif value.shape != param.shape or value.dtype != numpy.dtype(param.dtype):
            result.other_shape[param.name] = (param, value)
        else:
            result.values[param.name] = value
            if sources != (name,):
                result.renamed[param.name] = sources
    result.unused = {name: value for name, value in sorted(values.items()) if name not in used}
    return result


def _find(
    param: ParamInfo, name: str, values: Values, options: ImportOptions
) -> tuple[numpy.ndarray | None, tuple[str, ...]]:
    mapped = options.var_name_mapping.get(name)
    if name in values:
        if mapped not in (None, name):
            log.print_warning("var_name_mapping: %r is in the file itself, so %r is not used for it" % (name, mapped))
        direct = values[name]
        if direct.shape != param.shape:  # the same name in another layout: native LSTM, low memory
            converted = lstm_param(name, param.shape, values)
            if converted is not None:
                return converted
        return direct, (name,)
    if mapped is not None and mapped in values:
        return values[mapped], (mapped,)
    for convert in (lstm_param, batch_norm_param):
        converted = convert(name, param.shape, values)
        if converted is not None:
            return converted
    if options.custom_missing_load_func is not None:
        value = options.custom_missing_load_func(name=name, shape=param.shape, reader=ValuesReader(values))
        if value is not None:
            return numpy.asarray(value, param.dtype), ("custom_missing_load_func",)
    return None, ()


def report_lines(result: ImportResult, *, what: str) -> list[str]:
    """
    :param result: of :func:`match_params`
    :param what: where the values are from, for the first line
    :return: a table: how many parameters are loaded; each that is new, of other shape, unused or has another name
    """
    rows = [("renamed", name, "from %s" % _some(sources)) for name, sources in sorted(result.renamed.items())]
    rows += [("new", p.name, "%s, keeps its initial value" % (p.shape,)) for p in result.missing]
    rows += [
        ("differs", name, "file %s %s, network %s %s" % (value.shape, value.dtype, param.shape, param.dtype))
        for name, (param, value) in sorted(result.other_shape.items())
    ]
    rows += [("unused", name, "%s, only in the file" % (value.shape,)) for name, value in result.unused.items()]
    counts = {kind: sum(row[0] == kind for row in rows) for kind in ("renamed", "new", "differs", "unused")}
    head = "%s: %i parameters loaded" % (what, len(result.values))
    details = ["%i %s" % (count, kind) for kind, count in counts.items() if count]
    return ["; ".join([head, ", ".join(details)]) if details else head, *_table(rows)]


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    lines: list[str] = []
    kept = [row for kind in ("renamed", "new", "differs", "unused") for row in _of_kind(rows, kind)]
    width = max((len(name) for _, name, _ in kept), default=0)
    for kind, name, text in kept:
        lines.append(("  %-7s  %-*s  %s" % (kind, width, name, text)).rstrip())
    return lines


def _of_kind(rows: Sequence[tuple[str, str, str]], kind: str) -> list[tuple[str, str, str]]:
    found = [row for row in rows if row[0] == kind]
    left_out = len(found) - _MAX_LINES_PER_KIND
    return found if left_out <= 0 else [*found[:_MAX_LINES_PER_KIND], (kind, "... and %i more" % left_out, "")]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else "%s, .. (%i)" % (names[0], len(names))
