"""Arithmetic on dims, in a canonical form, so that equal expressions are equal dims.

An expression is a sum of terms, a product of factors, or a division that does not cancel. Order counts (``a + b`` is
another layout than ``b + a``), so only neighbours are merged::

    t + 1 + 1 = t + 2      a + a = 2 * a      a * b + b = (a + 1) * b
    a * b // b = a         ceil(ceil(t / 2) / 3) = ceil(t / 6)

Values: static ones at once. Dynamic ones elementwise on the lengths; a difference is never below zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Union, overload

from .backend import backend_of_all

if TYPE_CHECKING:
    from .dim import Dim
    from .tensor import Tensor

Operand = Union["Dim", int]


class Expr(NamedTuple):
    """How a dim derives from others."""

    op: str
    """one of: sum, prod, floordiv, ceildiv, min, twin"""
    args: tuple[Operand, ...]


def add(a: Operand, b: Operand) -> Dim:
    """
    :return: the dim of what stands in a, followed by what stands in b
    """
    terms: list[Operand] = []
    for term in _parts(a, "sum") + _parts(b, "sum"):
        if terms and (merged := _merge_terms(terms[-1], term)) is not None:
            terms.pop()
            term = merged
        if term != 0:
            terms.append(term)
    return _intern(Expr("sum", tuple(terms)), unit=0, origin=(a, b))


@overload
def mul(a: int, b: int) -> int: ...


@overload
def mul(a: Dim, b: Operand) -> Dim: ...


@overload
def mul(a: Operand, b: Dim) -> Dim: ...


@overload
def mul(a: Operand, b: Operand) -> Operand: ...


def mul(a: Operand, b: Operand) -> Operand:
    """
    :return: the dim of both axes merged into one, a the outer one
    """
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    factors: list[Operand] = []
    for factor in _parts(a, "prod") + _parts(b, "prod"):
        if factors and isinstance(factors[-1], int) and isinstance(factor, int):
            factor *= factors.pop()
        if factor != 1:
            factors.append(factor)
    return _intern(Expr("prod", tuple(factors)), unit=1, origin=(a, b))


def div(a: Dim, b: Operand, *, ceil: bool = False, left: bool = False) -> Dim:
    """
    :param a: dividend
    :param b: divisor
    :param ceil: round up, else down
    :param left: b is the first factor of a, else the last
    :return: the quotient; exact where b is a factor of a
    """
    factors, divisors = _parts(a, "prod"), _parts(b, "prod")
    rest = len(factors) - len(divisors)
    if left and factors[: len(divisors)] == divisors:
        return _intern(Expr("prod", tuple(factors[len(divisors) :])), unit=1, origin=(a, b))
    if not left and rest >= 0 and factors[rest:] == divisors:
        return _intern(Expr("prod", tuple(factors[:rest])), unit=1, origin=(a, b))
    at = 0 if left else len(factors) - 1
    if isinstance(b, int):
        if b == 1:
            return a
        factor = factors[at]
        if isinstance(factor, int) and factor % b == 0:
            return _intern(Expr("prod", tuple(factors[:at] + [factor // b] + factors[at + 1 :])), unit=1, origin=(a, b))
    op = "ceildiv" if ceil else "floordiv"
    base = a.get_same_base()
    if base.expr and base.expr.op == op and isinstance(b, int) and isinstance(base.expr.args[1], int):
        return _intern(Expr(op, (base.expr.args[0], base.expr.args[1] * b)), unit=1, origin=(a, b))
    return _intern(Expr(op, (a, b)), unit=1, origin=(a, b))


def at_most(a: Dim, limit: int) -> Dim:
    """
    :return: the dim of what is left of a if everything from ``limit`` on is cut off
    """
    expr = a.get_same_base().expr
    whole: Operand = a
    if expr and expr.op == "min":
        whole, earlier_limit = expr.args
        assert isinstance(earlier_limit, int)
        limit = min(limit, earlier_limit)
    return _intern(Expr("min", (whole, limit)), unit=0, origin=(a, limit))


def twin(a: Dim) -> Dim:
    """
    :return: the dim of the second axis where a tensor has ``a`` twice: of the same size, but not equal
    """
    return _intern(Expr("twin", (a,)), unit=1, origin=(a, 1))


def first_operand(expr: Expr) -> Dim | None:
    """
    :return: the first dim in the expression
    """
    return next((x for x in expr.args if not isinstance(x, int)), None)


def depends_on(expr: Expr, dim: Dim) -> bool:
    """
    :return: whether the dim occurs in the expression, at any depth
    """
    for x in expr.args:
        if isinstance(x, int):
            continue
        base = x.get_same_base()
        if base is dim.get_same_base() or (base.expr and depends_on(base.expr, dim)):
            return True
    return False


def size_dims(expr: Expr) -> tuple[Dim, ...] | None:
    """
    :return: the dims that the lengths will have; None if not known
    """
    dims: list[Dim] = []
    for x in expr.args:
        if isinstance(x, int):
            continue
        if x.is_batch_dim:
            continue  # its size is a scalar
        if x.size_dims is None:
            return None
        dims += [d for d in x.size_dims if d not in dims]
    return tuple(dims)


def evaluate(expr: Expr) -> Tensor | None:
    """
    :return: lengths in the current graph or step; None if those of an operand are not known
    """
    values: list[Tensor | int] = []
    for x in expr.args:
        value = x if isinstance(x, int) else x.dimension if x.is_static else x.dyn_size_ext
        if value is None:
            return None
        values.append(value)
    tensors = [v for v in values if not isinstance(v, int)]
    if expr.op == "twin":
        return tensors[0]
    like = max(tensors, key=lambda t: len(t.dims))
    dims = list(like.dims) + [d for t in tensors for d in t.dims if d not in like.dims]
    dims = list(dict.fromkeys(dims))
    backend = backend_of_all(tensors)
    if any(t.raw_tensor is None for t in tensors):
        raw = None
    else:
        raws = [v if isinstance(v, int) else v.copy_compatible_to_dims_raw(dims) for v in values]
        if expr.op in ("sum", "prod"):
            op, unit = ("add", 0) if expr.op == "sum" else ("mul", 1)
            numbers = [v for v in raws if isinstance(v, int)]
            number = sum(numbers) if op == "add" else math.prod(numbers)
            raws = [v for v in raws if not isinstance(v, int)] + ([number] if number != unit else [])
            raw = raws[0]
            for value in raws[1:]:
                raw = backend.binary(op, raw, value)
            if expr.op == "sum" and any(_is_negative(x) for x in expr.args):
                raw = backend.binary("maximum", raw, 0)
        elif expr.op in ("floordiv", "min"):
            raw = backend.binary("minimum" if expr.op == "min" else "floordiv", raws[0], raws[1])
        else:  # ceil(x / n) = -(-x // n)
            raw = backend.unary("neg", backend.binary("floordiv", backend.unary("neg", raws[0]), raws[1]))
    return type(like)("size", tuple(dims), like.dtype, raw_tensor=raw)


def _parts(x: Operand, op: str) -> list[Operand]:
    if isinstance(x, int):
        return [x]
    base = x.get_same_base()
    return list(base.expr.args) if base.expr and base.expr.op == op else [x]


def _is_negative(term: Operand) -> bool:
    first = _parts(term, "prod")[0]
    return isinstance(first, int) and first < 0


def _merge_terms(a: Operand, b: Operand) -> Operand | None:
    """
    :return: a + b as one term, if they are numbers or have the last factor in common
    """
    if isinstance(a, int) or isinstance(b, int):
        return a + b if isinstance(a, int) and isinstance(b, int) else None
    (*left_a, last_a), (*left_b, last_b) = _parts(a, "prod"), _parts(b, "prod")
    if last_a != last_b:
        return None
    coefficient = _sum(_product(left_a), _product(left_b))
    return 0 if coefficient == 0 else mul(coefficient, last_a)


def _product(factors: list[Operand]) -> Operand:
    res: Operand = 1
    for factor in factors:
        res = mul(res, factor)
    return res


def _sum(a: Operand, b: Operand) -> Operand:
    return a + b if isinstance(a, int) and isinstance(b, int) else add(a, b)


def _intern(expr: Expr, *, unit: int, origin: tuple[Operand, Operand]) -> Dim:
    """
    :param expr: canonical
    :param unit: the neutral number, for an expression without arguments
    :param origin: the operands, one of which is a dim
    :return: the dim of this expression: always the same object
    """
    if expr.op in ("sum", "prod") and len(expr.args) == 1 and not isinstance(expr.args[0], int):
        return expr.args[0]
    if all(isinstance(x, int) for x in expr.args):
        expr = Expr(expr.op, expr.args or (unit,))
    anchor = next(x for x in expr.args + origin if not isinstance(x, int)).get_same_base()
    if expr not in anchor._derived:
        anchor._derived[expr] = _make_dim(expr, origin, anchor)
    return anchor._derived[expr]


def _make_dim(expr: Expr, origin: tuple[Operand, Operand], anchor: Dim) -> Dim:
    dims = [x for x in expr.args + origin if not isinstance(x, int)]
    kinds = {d.kind for d in dims}
    kind = anchor.Types.Feature if anchor.Types.Feature in kinds else anchor.Types.Spatial
    sizes = [x if isinstance(x, int) else x.dimension for x in expr.args]
    known = [n for n in sizes if n is not None]
    size = _STATIC[expr.op](known) if len(known) == len(sizes) else None
    return type(anchor)(size, description=_description(expr), kind=kind, expr=expr)


_STATIC: dict[str, Callable[[list[int]], int]] = {
    "sum": lambda sizes: max(sum(sizes), 0),
    "prod": math.prod,
    "floordiv": lambda sizes: sizes[0] // sizes[1],
    "ceildiv": lambda sizes: -(-sizes[0] // sizes[1]),
    "min": min,
    "twin": lambda sizes: sizes[0],
}


def _description(expr: Expr) -> str:
    names = []
    for x in expr.args:
        name = str(x) if isinstance(x, int) else x.description
        names.append("(%s)" % name if not isinstance(x, int) and re.search(r"[+\-/ ]", name) else name)
    if expr.op == "ceildiv":
        return "⌈%s/%s⌉" % tuple(names)
    if expr.op == "min":
        return "min(%s,%s)" % tuple(names)
    if expr.op == "twin":
        return names[0] + "'"
    return {"sum": "+", "prod": "*", "floordiv": "//"}[expr.op].join(names)
