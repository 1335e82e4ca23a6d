"""Axis descriptions of configs: "T", "F", "spatial", "stag:encoder", "except_batch", ...

The one place where they are parsed. An axis here is a number, counted with batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from returnn.util.behavior_version import BehaviorVersion, Change

from .dim import Dim, DimError
from .hidden_dims import is_hidden


class HasAxes(Protocol):
    """A tensor, or what is about to become one."""

    @property
    def dims(self) -> tuple[Dim, ...]:
        """with batch"""

    @property
    def time_dim_axis(self) -> int | None:
        """counted with batch"""

    @property
    def feature_dim_axis(self) -> int | None:
        """counted with batch"""


class _Visible:
    """Without the hidden dims."""

    def __init__(self, x: HasAxes):
        self.axes = [i for i, dim in enumerate(x.dims) if not is_hidden(dim)]
        self.dims = tuple(x.dims[i] for i in self.axes)
        self.time_dim_axis, self.feature_dim_axis = (
            self.axes.index(axis) if axis in self.axes else None for axis in (x.time_dim_axis, x.feature_dim_axis)
        )
        self.name = getattr(x, "name", None)


def axes_from_description(x: HasAxes, spec: Any, *, allow_int: bool = True, name: str | None = None) -> list[int]:
    """
    :param x: a Tensor, or what has dims and markers like one
    :param spec: a text (letter case does not matter), a Dim, a number, None, or a list of these: their union in order
    :param allow_int: whether numbers are fine
    :param name: of x, for errors
    :return: axes
    :raises DimError: not understood, or an axis that must be there is not; lists the axes there are
    """
    if spec is None or spec == "":
        return []
    if isinstance(spec, Dim):
        return _axes_of_dim(x, spec)
    if any(map(is_hidden, x.dims)):
        view = _Visible(x)
        return [view.axes[a] for a in axes_from_description(view, spec, allow_int=allow_int, name=name)]
    if isinstance(spec, int) and not isinstance(spec, bool):
        return [_axis_of_int(x, spec, allow_int, name)]
    if isinstance(spec, (list, tuple, set)):
        res: list[int] = []
        for item in sorted(spec, key=str) if isinstance(spec, set) else spec:
            res += [a for a in axes_from_description(x, item, allow_int=allow_int, name=name) if a not in res]
        return res
    if isinstance(spec, str):
        return _axes_of_text(x, spec, name)
    raise DimError(_message(x, "invalid axis mode %r" % (spec,), name))


def axis_from_description(x: HasAxes, spec: Any, *, allow_int: bool = True, name: str | None = None) -> int:
    """
    Like :func:`axes_from_description`, of exactly one axis.

    :raises DimError: none or several
    """
    found = axes_from_description(x, spec, allow_int=allow_int, name=name)
    if len(found) > 1 and isinstance(spec, Dim):
        best = max(x.dims[a].match_priority for a in found)
        found = [a for a in found if x.dims[a].match_priority == best]
    if len(found) != 1:
        how_many = "%i axes match" % len(found) if found else "no axis matches"
        raise DimError(_message(x, "axis %r: %s, but exactly one is needed" % (spec, how_many), name))
    return found[0]


def _batch_axes(x: HasAxes) -> list[int]:
    return [i for i, d in enumerate(x.dims) if d.is_batch_dim]


def _non_batch(x: HasAxes) -> list[int]:
    return [i for i, d in enumerate(x.dims) if not d.is_batch_dim]


def _static(x: HasAxes) -> list[int]:
    return [i for i in _non_batch(x) if x.dims[i].is_static]


def _dynamic(x: HasAxes) -> list[int]:
    return [i for i in _non_batch(x) if not x.dims[i].is_static]


def _spatial(x: HasAxes) -> list[int]:
    return [i for i in _non_batch(x) if i != x.feature_dim_axis or i == x.time_dim_axis or x.dims[i].is_dynamic]


def _feature(x: HasAxes) -> list[int]:
    return [] if x.feature_dim_axis is None else [x.feature_dim_axis]


def _time(x: HasAxes) -> list[int]:
    return [] if x.time_dim_axis is None else [x.time_dim_axis]


def _must(select: Callable[[Any], list[int]], what: str) -> Callable[[Any], list[int]]:
    def select_or_raise(x: HasAxes) -> list[int]:
        res = select(x)
        if not res:
            raise DimError(_message(x, "there is no %s axis" % what))
        return res

    return select_or_raise


_SETS: dict[str, Callable[[Any], list[int]]] = {
    "f": _feature,
    "feature": _feature,
    "non_spatial": _feature,
    "static": _static,
    "except_batch": _non_batch,
    "t": _must(_time, "time"),
    "time": _must(_time, "time"),
    "t?": _time,
    "time?": _time,
    "except_time": lambda x: [i for i in _non_batch(x) if i != x.time_dim_axis],
    "spatial": _spatial,
    "s": _spatial,
    "spatial_except_time": lambda x: [i for i in _spatial(x) if i != x.time_dim_axis],
    "b": _must(_batch_axes, "batch"),
    "batch": _must(_batch_axes, "batch"),
    "dyn": _dynamic,
    "dynamic": _dynamic,
    "d": _dynamic,
    "*": lambda x: list(range(len(x.dims))),
}
_INDEXED = ("static", "except_batch", "s", "spatial", "d", "dyn", "dynamic")


def _axes_of_text(x: HasAxes, spec: str, name: str | None) -> list[int]:
    text = spec.lower()
    if text in _SETS and text not in ("s", "d"):
        return _SETS[text](x)
    if match := re.fullmatch(r"(\w+):(-?\d+)", text):
        key, index = match.group(1), int(match.group(2))
        if key == "dim":
            found = [i for i in _non_batch(x) if x.dims[i].dimension == index]
            if len(found) != 1:
                raise DimError(_message(x, "axis %r: %i axes have that size" % (spec, len(found)), name))
            return found
        if key in _INDEXED:
            BehaviorVersion.require(False, "Axis %r depends on the order of the axes." % spec, Change.NO_ORDERED_AXES)
            candidates = _SETS[key](x)
            if not -len(candidates) <= index < len(candidates):
                raise DimError(_message(x, "axis %r: there are %i of that kind" % (spec, len(candidates)), name))
            return [candidates[index]]
    if match := re.fullmatch(r"(stag|tag)(-single:(-?\d+))?:(.*)", spec, re.IGNORECASE):
        number = None if match.group(3) is None else int(match.group(3))
        return _axes_of_tag(x, spec, match.group(1).lower(), number, match.group(4), name)
    if text and set(text) <= set("btf"):
        res: list[int] = []
        for letter in text:
            res += [a for a in _SETS[letter](x) if a not in res]
        return res
    raise DimError(_message(x, "invalid axis mode %r" % spec, name))


def _axes_of_tag(x: HasAxes, spec: str, kind: str, index: int | None, tag: str, name: str | None) -> list[int]:
    def matches(dim: Dim) -> bool:
        texts = (dim.description, dim.get_same_base().description)
        return any(tag.lower() in text.lower() for text in texts)

    candidates = _non_batch(x)
    if kind == "stag":
        spatial = _spatial(x)
        candidates = [i for i in candidates if i in spatial or x.dims[i].is_spatial_dim]
    found = [i for i in candidates if matches(x.dims[i])]
    if index is not None:
        if not -len(found) <= index < len(found):
            raise DimError(_message(x, "axis %r: %i axes match" % (spec, len(found)), name))
        return [found[index]]
    if len(found) != 1:
        raise DimError(
            _message(x, "axis %r: %s" % (spec, "%i axes match" % len(found) if found else "none matches"), name)
        )
    return found


def _axes_of_dim(x: HasAxes, dim: Dim) -> list[int]:
    same = [i for i, d in enumerate(x.dims) if d == dim]
    identical = [i for i in same if x.dims[i] is dim]
    if identical and dim.match_priority:
        return identical
    return same


def _axis_of_int(x: HasAxes, axis: int, allow_int: bool, name: str | None) -> int:
    BehaviorVersion.require(allow_int, "Do not specify axis %i by a number." % axis, Change.NO_INT_AXES)
    if not -len(x.dims) <= axis < len(x.dims):
        raise DimError(_message(x, "axis %i does not exist" % axis, name))
    return axis % len(x.dims)


def _message(x: HasAxes, text: str, name: str | None = None) -> str:
    marks = {x.time_dim_axis: "T", x.feature_dim_axis: "F"}
    listed = []
    for i, dim in enumerate(x.dims):
        listed.append("|".join([m for m in [marks.get(i), dim.short_repr()] if m]))
    name = name or getattr(x, "name", None)
    return "%s%s. Its axes: [%s]" % ("%s: " % name if name else "", text, ", ".join(listed))
