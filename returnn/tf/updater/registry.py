"""From what a config says to an optimizer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from returnn.config import Config
from returnn.log import log
from returnn.tf.compat import tf, v1
from returnn.tf.updater import optimizers
from returnn.tf.updater.base import BaseCustomOptimizer
from returnn.tf.updater.v1_optimizer import V1Optimizer
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean

OptimizerDescription = str | type | Callable[[], Any]
"""A name, an optimizer class, or a function returning one of these."""

_classes: dict[str, type] = {}

_other_spellings = {
    **{"beta_1": "beta1", "beta_2": "beta2", "nesterov": "use_nesterov"},
    **{"rho": "decay", "decay": "rho"},
}
"""Option as Keras or TensorFlow call it -> as the other does. Both work, where only one is an option of the class."""


def register_optimizer_class(cls: type, name: str | None = None) -> None:
    """
    :param cls: subclass of :class:`BaseCustomOptimizer`, or optimizer class of TensorFlow 1
    :param name: for ``{"class": name}``; any case. Default: name of the class.
    :raises UserError: another class has that name
    """
    key = _normalized(name or cls.__name__)
    if _classes.setdefault(key, cls) is not cls:
        raise UserError(f"There is an optimizer {key!r} already: {_classes[key]}. Register {cls} under another name.")


def _normalized(name: str) -> str:
    return name.lower().removesuffix("optimizer")


for _cls in vars(optimizers).copy().values():
    if isinstance(_cls, type) and issubclass(_cls, BaseCustomOptimizer) and _cls is not BaseCustomOptimizer:
        register_optimizer_class(_cls)
register_optimizer_class(optimizers.Adam, "CustomAdam")


def get_optimizer_class(class_name: OptimizerDescription) -> type:
    """
    :param class_name: name (any case, with or without ``Optimizer`` at its end), class, or function returning one
    :raises UserError: there is no such optimizer, or it cannot work here
    """
    if isinstance(class_name, str):
        cls = _classes.get(_normalized(class_name))
        if cls is None:
            raise UserError(
                f"There is no optimizer {class_name!r}.{did_you_mean(_normalized(class_name), _classes)}"
                f"\n  Optimizers: {', '.join(sorted(_classes))}"
            )
        return cls
    if isinstance(class_name, type):
        if issubclass(class_name, BaseCustomOptimizer | v1.train.Optimizer):
            return class_name
        raise UserError(_why_not(class_name))
    if callable(class_name):
        return get_optimizer_class(class_name())
    raise UserError(f"optimizer: class {class_name!r} is neither a name, nor a class, nor a function.")


def _why_not(cls: type) -> str:
    if any(base.__module__.split(".")[0] in ("keras", "tf_keras") for base in cls.__mro__):
        ours = _normalized(cls.__name__)
        instead = f'optimizer = {{"class": "{ours}"}}' if ours in _classes else "a name or a class of another kind"
        return f"optimizer: {cls} is a Keras optimizer. Those do not work in the graphs used here; use {instead}."
    return (
        f"optimizer: {cls} is no optimizer class. It must be a subclass of returnn.tf.updater.BaseCustomOptimizer"
        " or tf.compat.v1.train.Optimizer."
    )


def create_optimizer(
    opts: Mapping[str, Any], *, learning_rate: tf.Tensor, config: Config, log_line: str | None = None
) -> BaseCustomOptimizer | V1Optimizer:
    """
    :param opts: ``class``, ``learning_rate_multiplier`` (1.0), and options of that class
    :param learning_rate: scalar
    :param config: defaults of ``epsilon``, ``momentum`` and ``use_locking``, for classes which have those options
    :param log_line: what to log; default: class and options
    :raises UserError: unknown class, unknown or missing option
    """
    opts = dict(opts)
    cls = get_optimizer_class(opts.pop("class"))
    if "learning_rate" in opts:
        raise UserError(
            f"learning_rate will be set implicitly. Remove learning_rate = {opts['learning_rate']!r} from the dict"
            " `optimizer`: use the config option learning_rate, or learning_rate_multiplier inside the dict."
        )
    multiplier = opts.pop("learning_rate_multiplier", 1.0)
    if multiplier != 1.0:
        learning_rate = learning_rate * multiplier
    opts = _with_defaults(cls, _checked_options(cls, opts), config)
    opts["learning_rate"] = learning_rate
    print(log_line or "Create optimizer %s with options %r." % (cls, opts), file=log.v2)
    optimizer = cls(**opts)
    return V1Optimizer(optimizer) if isinstance(optimizer, v1.train.Optimizer) else optimizer


def _checked_options(cls: type, opts: dict[str, Any]) -> dict[str, Any]:
    params = inspect.signature(cls).parameters
    if any(p.kind is p.VAR_KEYWORD for p in params.values()):
        return opts
    result = {}
    for name, value in opts.items():
        other = _other_spellings.get(name, name)
        if name not in params and other in params and other not in opts:
            name = other
        if name not in params:
            valid = sorted({"learning_rate_multiplier", *params} - {"learning_rate"})
            raise UserError(
                f"optimizer: option {name!r} is unknown to {cls.__name__}.{did_you_mean(name, valid)}"
                f"\n  Its options: {', '.join(valid)}"
            )
        result[name] = value
    return result


def _with_defaults(cls: type, opts: dict[str, Any], config: Config) -> dict[str, Any]:
    params = inspect.signature(cls).parameters
    defaults: dict[str, Any] = {"epsilon": config.float("optimizer_epsilon", 1e-16)}
    if config.float("momentum", 0.0):
        defaults["momentum"] = config.float("momentum", 0.0)
    if config.is_true("optimizer_use_locking"):
        defaults["use_locking"] = True
    result = {**{name: value for name, value in defaults.items() if name in params}, **opts}
    for name, param in params.items():
        required = param.default is param.empty and param.kind not in (param.VAR_KEYWORD, param.VAR_POSITIONAL)
        if required and name not in result and name != "learning_rate":
            raise UserError(f"optimizer: {cls.__name__} needs the option {name!r}. Add it to the dict `optimizer`.")
    return result


def default_optimizer_options(config: Config) -> tuple[dict[str, Any], str | None]:
    """
    :return: what the config says, as dict with ``class`` and options for it; and a log line, if it was said without the
        key ``optimizer``, which is: the first set key of ``adam``, ``nadam``, ``adadelta``, ``adagrad``, ``rmsprop``
        (True, or the decay), ``momentum``; gradient descent if none is set
    :raises UserError: ``optimizer`` is nothing of what it can be; or one of those keys is set at behavior version 2 or
        above, or does not go with ``momentum``
    """
    value = config.opt_typed_value("optimizer", None)
    if value is None or value == "":
        return _old_style_options(config)
    if not isinstance(value, Mapping):
        return {"class": value}, None
    if "class" not in value:
        raise UserError(f'optimizer = {dict(value)!r} lacks the key "class", e.g. optimizer = {{"class": "adam"}}.')
    return dict(value), None


_old_style_titles = {
    **{"adam": "Adam", "nadam": "NAdam", "adadelta": "Adadelta", "adagrad": "Adagrad"},
    **{"rmsprop": "RMSProp", "momentum": "Momentum"},
}
"""Config key, which is also the name of the class -> name in the log. The first set one wins."""


def _old_style_options(config: Config) -> tuple[dict[str, Any], str]:
    values = {key: config.bool_or_other(key, False) for key in _old_style_titles}
    key = next((key for key, value in values.items() if value), None)
    if key is None:
        return {"class": "gradientdescent"}, "Create SGD optimizer."
    BehaviorVersion.require(
        False, f'{key} = {values[key]!r}: use optimizer = {{"class": "{key}", ...}} instead.', Change.NO_OPTIMIZER_FLAGS
    )
    if values["momentum"] and key not in ("rmsprop", "momentum"):
        raise ConfigError(f"{key} = {values[key]!r} does not go with momentum = {values['momentum']!r}. Remove one.")
    log_line = "Create %s optimizer." % _old_style_titles[key]
    if key != "rmsprop" or isinstance(values[key], int):  # a bool is an int
        return {"class": key}, log_line
    decay = float(values[key])
    return {"class": key, "decay": decay}, log_line + " With Decay %f" % decay
