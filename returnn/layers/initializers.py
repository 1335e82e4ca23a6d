"""Initialisers as configs write them: number, array, name, expression or dict."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from returnn.frontend import init
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .base import LayerBase


def _variance_scaling(
    scale: float = 1.0,
    mode: str = "fan_in",
    distribution: str = "truncated_normal",
    seed: int | None = None,
    dtype: Any = None,
) -> init.VarianceScaling:
    distribution = {"normal": "truncated_normal"}.get(distribution, distribution)
    if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
        raise ConfigError("initialiser: unknown distribution %r" % distribution)
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise ConfigError("initialiser: mode must be fan_in, fan_out or fan_avg, but is %r" % mode)
    return init.VarianceScaling(scale=scale, mode=mode, distribution=distribution, seed=seed)


def _fixed_scaling(scale: float, mode: str, distribution: str) -> Callable[..., init.VarianceScaling]:
    def make(seed: int | None = None, dtype: Any = None) -> init.VarianceScaling:
        return init.VarianceScaling(scale=scale, mode=mode, distribution=distribution, seed=seed)

    return make


def _random_normal(
    mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None
) -> init.RandomNormal:
    return init.RandomNormal(mean=mean, stddev=stddev, seed=seed)


def _truncated_normal(
    mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None
) -> init.RandomNormal:
    return init.RandomNormal(mean=mean, stddev=stddev, truncated=True, seed=seed)


def _random_uniform(
    minval: float = 0.0, maxval: float = 1.0, seed: int | None = None, dtype: Any = None
) -> init.RandomUniform:
    return init.RandomUniform(minval=minval, maxval=maxval, seed=seed)


def _random_uniform_abs(limit: float, seed: int | None = None, dtype: Any = None) -> init.RandomUniform:
    return init.RandomUniform(minval=-limit, maxval=limit, seed=seed)


def _load_txt_file(filename: str, dtype: Any = None) -> init.Constant:
    return init.Constant(numpy.loadtxt(filename, dtype="float32"))


_MAKERS: dict[str, Callable[..., init.ParamInit]] = {
    "zeros": lambda dtype=None: init.Constant(0),
    "ones": lambda dtype=None: init.Constant(1),
    "constant": lambda value=0, dtype=None: init.Constant(value),
    "identity": lambda gain=1.0, dtype=None: init.Identity(gain),
    "orthogonal": lambda gain=1.0, seed=None, dtype=None: init.Orthogonal(gain, seed),
    "random_normal": _random_normal,
    "truncated_normal": _truncated_normal,
    "random_uniform": _random_uniform,
    "random_uniform_abs": _random_uniform_abs,
    "variance_scaling": _variance_scaling,
    "glorot_uniform": _fixed_scaling(1.0, "fan_avg", "uniform"),
    "xavier": _fixed_scaling(1.0, "fan_avg", "uniform"),
    "glorot_normal": _fixed_scaling(1.0, "fan_avg", "truncated_normal"),
    "he_uniform": _fixed_scaling(2.0, "fan_in", "uniform"),
    "he_normal": _fixed_scaling(2.0, "fan_in", "truncated_normal"),
    "lecun_uniform": _fixed_scaling(1.0, "fan_in", "uniform"),
    "lecun_normal": _fixed_scaling(1.0, "fan_in", "truncated_normal"),
    "load_txt_file": _load_txt_file,
}
_CLASS_NAMES = {"".join(part.title() for part in name.split("_")): name for name in _MAKERS}


def parse_initializer(value: Any, *, layer: LayerBase) -> init.ParamInit:
    """
    :param value: number; array; name, with or without ``_initializer``; expression of such names with arguments, also
        of ``math``, ``numpy`` and ``layer``; or dict with "class" (``VarianceScaling``, ...) and its options
    :param layer: whose network gives the seed, if the initialiser needs one and has none
    :return: without backend
    :raises ConfigError: not understood; lists the names
    """
    if isinstance(value, init.ParamInit):
        return value
    seed = layer.network.random.randint(
        2**31
    )  # drawn also where it is not needed, so that all later draws stay the same
    res = _parse(value, layer)
    if getattr(res, "seed", 0) is None:
        res = type(res)(**dict(vars(res), seed=seed))
    return res


def offset_init(value: Any) -> Any:
    """
    For biases and the like, which start at 0 in nearly all configs.

    :param value: as in a config
    :return: the same; the number 0 as an initialiser that takes no seed, so that initial values stay as they were
    """
    return init.Constant(0.0) if isinstance(value, (int, float)) and value == 0 else value


def _parse(value: Any, layer: LayerBase) -> init.ParamInit:
    if isinstance(value, init.ParamInit):
        return value
    if isinstance(value, (int, float, numpy.ndarray, numpy.number)):
        return init.Constant(value)
    if isinstance(value, dict):
        opts = dict(value)
        name = opts.pop("class", None)
        if name not in _CLASS_NAMES:
            raise ConfigError(
                "initialiser %r: unknown class %r.%s" % (value, name, did_you_mean(str(name), _CLASS_NAMES))
            )
        return _make(_CLASS_NAMES[name], opts, value)
    if not isinstance(value, str):
        raise ConfigError("initialiser must be a number, array, text or dict, but is %r" % (value,))
    if "(" in value:
        return _parse(_evaluate(value, layer), layer)
    name = value[: -len("_initializer")] if value.endswith("_initializer") else value
    if name in _MAKERS:
        return _make(name, {}, value)
    try:
        return init.Constant(float(value))
    except ValueError:
        raise ConfigError(
            "unknown initialiser %r.%s Names: %s" % (value, did_you_mean(name, _MAKERS), ", ".join(sorted(_MAKERS)))
        ) from None


def _make(name: str, opts: dict[str, Any], value: Any) -> init.ParamInit:
    try:
        return _MAKERS[name](**opts)
    except TypeError as exc:
        raise ConfigError("initialiser %r: %s" % (value, exc)) from exc


def _evaluate(text: str, layer: LayerBase) -> Any:
    names: dict[str, Any] = {"math": math, "numpy": numpy, "layer": layer}
    for name, maker in _MAKERS.items():
        names[name] = names[name + "_initializer"] = maker
    for class_name, name in _CLASS_NAMES.items():
        names[class_name] = _MAKERS[name]
    try:
        return eval(text, names)
    except Exception as exc:
        raise ConfigError(
            "initialiser %r: %s: %s. Names: %s" % (text, type(exc).__name__, exc, ", ".join(sorted(_MAKERS)))
        ) from exc
