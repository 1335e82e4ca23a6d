"""Installs the operators of :class:`~returnn.tensor.Tensor`: ``a + b``, ``-a``, ``a < b``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from returnn.tensor import Tensor

from .elementwise import combine, compare, logical_and, logical_not, logical_or, neg

_OPERAND = (Tensor, int, float, bool)


def _binary(kind: str, function: Callable[..., Tensor], *, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    def operator(a: Tensor, b: Any) -> Any:
        if not isinstance(b, _OPERAND):
            return NotImplemented
        return function(b, kind, a) if swapped else function(a, kind, b)

    return operator


def _install() -> None:
    for name, kind in [
        ("add", "+"),
        ("sub", "-"),
        ("mul", "*"),
        ("truediv", "/"),
        ("floordiv", "//"),
        ("mod", "%"),
        ("pow", "**"),
    ]:
        setattr(Tensor, "__%s__" % name, _binary(kind, combine))
        setattr(Tensor, "__r%s__" % name, _binary(kind, combine, swapped=True))
    for name, kind in [("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")]:
        setattr(Tensor, "__%s__" % name, _binary(kind, compare))
    for name, function in [("neg", neg), ("and", logical_and), ("or", logical_or), ("invert", logical_not)]:
        setattr(Tensor, "__%s__" % name, function)


_install()
