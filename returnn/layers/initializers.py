"""Initialisers as configs write them: number, array, name, expression or dict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
    return init.VarianceScaling(
        scale=scale, mode=_fan_mode(mode), distribution=_checked_distribution(distribution), seed=seed
    )


def _variance_scaling_non_zero(
    non_zero_fraction: float = 0.5,
    *,
    scale: float = 1.0,
    mode: str = "fan_in",
    distribution: str = "truncated_normal",
    seed: int | None = None,
    dtype: Any = None,
) -> init.VarianceScalingNonZero:
    if not 0 <= non_zero_fraction <= 1:
        raise ConfigError("initialiser: non_zero_fraction must be in [0, 1], but is %r" % (non_zero_fraction,))
    distribution = _checked_distribution(distribution)
    if distribution == "untruncated_normal":
        raise ConfigError("initialiser: variance_scaling_non_zero needs a distribution that ends somewhere")
    return init.VarianceScalingNonZero(
        scale=scale,
        mode=_fan_mode(mode),
        distribution=distribution,
        seed=seed,
        non_zero_fraction=non_zero_fraction,
    )


def _checked_distribution(distribution: str) -> str:
    distribution = {"normal": "truncated_normal"}.get(distribution, distribution)
    if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
        raise ConfigError("initialiser: unknown distribution %r" % distribution)
    return distribution


def _fan_mode(mode: str) -> str:
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise ConfigError("initialiser: mode must be fan_in, fan_out or fan_avg, but is %r" % mode)
    return mode


def _uniform_unit_scaling(factor: float = 1.0, seed: int | None = None, dtype: Any = None) -> init.VarianceScaling:
    return init.VarianceScaling(scale=factor**2, mode="fan_in", distribution="uniform", seed=seed)


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
    try:
        return init.Constant(numpy.loadtxt(filename, dtype="float32"))
    except (OSError, ValueError) as exc:
        raise ConfigError("initialiser: cannot load %r: %s" % (filename, exc)) from exc


def _gammatone_filterbank(**opts: Any) -> init.Constant:
    """filters of a convolution over samples [samples, 1, num_channels]"""
    return init.Constant(init.gammatone_filterbank(**opts)[:, None])


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
    "variance_scaling_non_zero": _variance_scaling_non_zero,
    "uniform_unit_scaling": _uniform_unit_scaling,
    "glorot_uniform": _fixed_scaling(1.0, "fan_avg", "uniform"),
    "xavier": _fixed_scaling(1.0, "fan_avg", "uniform"),
    "glorot_normal": _fixed_scaling(1.0, "fan_avg", "truncated_normal"),
    "he_uniform": _fixed_scaling(2.0, "fan_in", "uniform"),
    "he_normal": _fixed_scaling(2.0, "fan_in", "truncated_normal"),
    "lecun_uniform": _fixed_scaling(1.0, "fan_in", "uniform"),
    "lecun_normal": _fixed_scaling(1.0, "fan_in", "truncated_normal"),
    "load_txt_file": _load_txt_file,
    "gammatone_filterbank": _gammatone_filterbank,
}
_CLASS_NAMES = {"".join(part.title() for part in name.split("_")): name for name in _MAKERS}
_CLASS_NAMES["GammatoneFilterbankInitializer"] = "gammatone_filterbank"


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
    # drawn also where it is not needed, so that all later draws stay the same
    seed = layer.network.random.randint(2**31)
    return initializer_from_config(value, seed=seed, names={"layer": layer})


def initializer_from_config(
    value: Any, *, seed: int | None = None, names: Mapping[str, Any] | None = None
) -> init.ParamInit:
    """
    :param value: see :func:`parse_initializer`
    :param seed: if the initialiser needs one and has none
    :param names: further ones for expressions
    :return: without backend
    :raises ConfigError: not understood; lists the names
    """
    res = _parse(value, names or {})
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


def _parse(value: Any, names: Mapping[str, Any]) -> init.ParamInit:
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
        return _parse(_evaluate(value, names), names)
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


def _evaluate(text: str, further_names: Mapping[str, Any]) -> Any:
    names: dict[str, Any] = {"math": math, "numpy": numpy, **further_names}
    for name, maker in _MAKERS.items():
        names[name] = names[name + "_initializer"] = maker
    for class_name, name in _CLASS_NAMES.items():
        names[class_name] = _MAKERS[name]
    try:
        return eval(text, names)
    except Exception as exc:
        meant = did_you_mean(exc.name, names) if isinstance(exc, NameError) and exc.name else ""
        raise ConfigError(
            "initialiser %r: %s: %s.%s Names: %s" % (text, type(exc).__name__, exc, meant, ", ".join(sorted(_MAKERS)))
        ) from exc
