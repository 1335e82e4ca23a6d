"""Activation functions by name: "tanh", "1-sigmoid", "2*sigmoid", "tf.tanh(x)*2", ..."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .beam_border import merge_beam, split_beam
from .features import feature_dim_of

if TYPE_CHECKING:
    from returnn.config import Config
    from returnn.tensor.backend import Backend

Function = Callable[..., Tensor]
"""x, axis (the feature dim, or None), further options -> dims of x"""


@dataclass
class OutputWithActivation:
    """The value before the last function of a layer, and which function that was."""

    x: Tensor
    activation: str | None
    """its name in the config"""

    def is_softmax(self) -> bool:
        """
        :return: whether x are logits
        """
        return self.activation == "softmax"

    def get_logits(self) -> Tensor:
        """
        :return: x, where the function is softmax
        """
        if not self.is_softmax():
            raise ConfigError("there are no logits: the activation is %r, not softmax" % self.activation)
        return self.x

    def get_log_output(self) -> Tensor | None:
        """
        :return: the logarithm of the output, computed without exp and log in between; None: not known
        """
        if self.activation == "exp":
            return self.x
        if self.activation == "softmax":
            return rf.log_softmax(self.x, axis=feature_dim_of(self.x))
        if self.activation == "sigmoid":
            return rf.log_sigmoid(self.x)
        return None

    def get_exp_output(self) -> Tensor | None:
        """
        :return: the exponential function of the output, computed without log and exp in between; None: not known
        """
        if self.activation == "log":
            return self.x
        if self.activation == "log_softmax":
            return rf.softmax(self.x, axis=feature_dim_of(self.x), use_mask=False)
        if self.activation == "log_sigmoid":
            return rf.sigmoid(self.x)
        return None

    def followed_by(self, activation: str | None) -> Tensor | None:
        """
        :param activation: safe_log or safe_exp, which are exact where they undo the function; or any other
        :return: that function of the output; None: nothing to undo
        """
        if activation == "safe_log":
            return self.get_log_output()
        return self.get_exp_output() if activation == "safe_exp" else None


def _elementwise(function: Callable[..., Tensor]) -> Function:
    return lambda x, axis=None, **opts: function(x, **opts)


def _lin_exp(x: Tensor) -> Tensor:
    """x + 1 for x >= 0, else exp(x)"""
    return rf.where(x >= 0, x + 1, rf.exp(rf.minimum(x, 0)))


def _lin_exp_normed(x: Tensor, axis: Dim | None = None) -> Tensor:
    y = _lin_exp(x)
    axis = axis or x.dims[-1]
    return (y / (rf.reduce_sum(y, axis=axis) + 1e-10)).copy_transpose(x.dims)


def _softmax(x: Tensor, axis: Dim | None = None) -> Tensor:
    return rf.softmax(x, axis=axis or x.dims[-1], use_mask=False)


def _log_softmax(x: Tensor, axis: Dim | None = None) -> Tensor:
    return rf.log_softmax(x, axis=axis or x.dims[-1], use_mask=False)


def _gelu_tanh(x: Tensor) -> Tensor:
    """the approximation by tanh, Hendrycks and Gimpel, 2016"""
    return x * (rf.tanh((x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)) + 1.0) * 0.5


_GELU_FORMULAS: dict[str, Function] = {"exact": _elementwise(rf.gelu), "tanh": _elementwise(_gelu_tanh)}

_FUNCTIONS: dict[str, Function] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "lin_exp": _elementwise(_lin_exp),
    "lin_exp_normed": _lin_exp_normed,
    "safe_log": _elementwise(rf.safe_log),
    "safe_exp": _elementwise(rf.safe_exp),
    "gelu2": _elementwise(lambda x: x * rf.sigmoid(x * 1.702)),
    "gelu3": _elementwise(rf.gelu),
    "neg": _elementwise(rf.neg),
    "negative": _elementwise(rf.neg),
}
for _name in (
    "abs angle real imag conj exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tanh sigmoid log_sigmoid relu "
    "elu selu gelu silu swish softplus sign ceil floor round"
).split():
    _FUNCTIONS[_name] = _elementwise(getattr(rf, _name))

KNOWN_NAMES = sorted(_FUNCTIONS)


def gelu_formula(config: Config) -> str:
    """
    :return: config key ``gelu_formula``: which function the activation "gelu" is, "exact" (by erf) or "tanh"
    :raises ConfigError: it is none of these
    """
    formula = config.value("gelu_formula", "exact")
    if formula not in _GELU_FORMULAS:
        raise ConfigError('gelu_formula must be "exact" or "tanh", but is %r' % (formula,))
    return formula


def is_gelu(activation: Any) -> bool:
    """
    :param activation: as an option of a layer says it
    :return: whether the config key ``gelu_formula`` matters
    """
    return isinstance(activation, str) and "(" not in activation and re.search(r"\bgelu\b", activation) is not None


def get_activation(name: str | None, *, backend: Backend, config: Config) -> Function | None:
    """
    :param name: None, "", "none", "identity": no function. With "(" an expression of x, in the framework behind the
        backend. With an operator: numbers and other names. Else a name known here, or to that framework.
    :param backend: of the network
    :param config: of the network, for :func:`gelu_formula`
    :return: function, or None for identity
    :raises ConfigError: unknown name
    """
    if not name or name in ("none", "identity"):
        return None
    if not isinstance(name, str):
        raise ConfigError("activation must be a name, but is %r" % (name,))
    if name == "gelu":
        return _GELU_FORMULAS[gelu_formula(config)]
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if "(" in name:
        return _expression(name, backend)
    for operator in "+-*/":
        if operator in name:
            left, right = name.split(operator, 1)
            return _combined(operator, *(_operand(text, backend, config) for text in (left, right)))
    function = backend.function_by_name(name) if re.fullmatch(r"\w+", name) else None
    if function is None:
        raise ConfigError(
            "invalid activation function: %r.%s" % (name, did_you_mean(name, KNOWN_NAMES) or " Names: tanh, relu, ...")
        )
    return _raw_function(function, name)


def _operand(text: str, backend: Backend, config: Config) -> Any:
    text = text.strip()
    try:
        return float(text)
    except ValueError:
        pass
    return get_activation(text, backend=backend, config=config) or (lambda x, axis=None, **opts: x)


def _combined(operator: str, left: Any, right: Any) -> Function:
    def function(x: Tensor, axis: Dim | None = None, **opts: Any) -> Tensor:
        a, b = (f if isinstance(f, float) else f(x, axis=axis, **opts) for f in (left, right))
        return rf.combine(a, operator, b)

    return function


def _raw_function(function: Callable[..., Any], name: str) -> Function:
    def apply(x: Tensor, axis: Dim | None = None, **opts: Any) -> Tensor:
        if x.raw_tensor is None:
            return x
        merged = merge_beam(x)
        raw = function(merged.raw_tensor, **opts)
        y = merged.like(raw, dtype=x._raw_backend.dtype_name(raw), name=name)
        return y if merged is x else split_beam(y, like=x)

    return apply


def _expression(text: str, backend: Backend) -> Function:
    try:
        code = compile(text.lstrip(), "<activation %r>" % text, "eval")
    except SyntaxError as exc:
        raise ConfigError("activation %r is not a valid expression of x: %s" % (text, exc)) from exc

    def evaluate(x: Any, **_opts: Any) -> Any:
        try:
            return eval(code, dict(backend.user_code_globals(), x=x))
        except Exception as exc:
            raise ConfigError("activation %r: %s: %s" % (text, type(exc).__name__, exc)) from exc

    return _raw_function(evaluate, text)
