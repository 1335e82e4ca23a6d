"""Expressions of sources and numbers, such as ``source(0) + 0.5 * source(1)``, without code of any framework."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from returnn.tensor import Tensor

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class Arithmetic:
    """What an expression computes."""

    def __init__(self, node: ast.expr, sources: frozenset[int]):
        """
        :param node: only what :func:`parse_arithmetic` lets through
        :param sources: numbers of those that it reads
        """
        self._node = node
        self.sources = sources

    def __call__(self, sources: Sequence[Tensor]) -> Tensor:
        """
        :param sources: float tensors; axes are matched by their dims
        :return: with all dims of those that are read
        """
        return self._value(self._node, sources)

    def _value(self, node: ast.expr, sources: Sequence[Tensor]) -> Any:
        if isinstance(node, ast.BinOp):
            return _BINARY[type(node.op)](self._value(node.left, sources), self._value(node.right, sources))
        if isinstance(node, ast.UnaryOp):
            return -self._value(node.operand, sources)
        index = _source_of(node)
        return node.value if index is None else sources[index]  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=256)
def parse_arithmetic(text: str) -> Arithmetic | None:
    """
    :param text: of an expression
    :return: None if there is anything in it but + - * /, numbers, and ``source(i)``, at least one
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    found: set[int] = set()
    return Arithmetic(node, frozenset(found)) if _is_arithmetic(node, found) and found else None


def _is_arithmetic(node: ast.expr, found: set[int]) -> bool:
    if isinstance(node, ast.BinOp):
        return type(node.op) in _BINARY and _is_arithmetic(node.left, found) and _is_arithmetic(node.right, found)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_arithmetic(node.operand, found)
    index = _source_of(node)
    if index is not None:
        found.add(index)
        return True
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _source_of(node: ast.expr) -> int | None:
    """:return: i, of ``source(i)``"""
    if not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
        return None
    arg = node.args[0]
    if not isinstance(node.func, ast.Name) or node.func.id != "source" or not isinstance(arg, ast.Constant):
        return None
    return arg.value if type(arg.value) is int and arg.value >= 0 else None
