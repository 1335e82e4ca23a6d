"""Arithmetic on dims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.tensor import Dim, FeatureDim, SpatialDim, batch_dim, dim_math
from returnn.tensor.run_table import run_table_ctx

Operand = Any  # Dim or int: the same function works on both

IDENTITIES: dict[str, Callable[[Dim, Dim], tuple[Dim, Dim]]] = {
    "a + 0": lambda a, b: (a + 0, a),
    "a * 1": lambda a, b: (a * 1, a),
    "1 * a": lambda a, b: (1 * a, a),
    "a // 1": lambda a, b: (a // 1, a),
    "a + n - n": lambda a, b: (a + 3 - 3, a),
    "a + b - b": lambda a, b: (a + b - b, a),
    "a + b - b - a + a": lambda a, b: (a + b - b - a + a, a),
    "a * b // b": lambda a, b: (a * b // b, a),
    "a * b * 3 // (b * 3)": lambda a, b: (a * b * 3 // (b * 3), a),
    "(b * a).div_left(b)": lambda a, b: ((b * a).div_left(b), a),
    "a * 4 // 2": lambda a, b: (a * 4 // 2, a * 2),
    "a + a": lambda a, b: (a + a, 2 * a),
    "a + 2a": lambda a, b: (a + 2 * a, 3 * a),
    "2a + b": lambda a, b: (2 * a + b, a + a + b),
    "a * b + b": lambda a, b: (a * b + b, (a + 1) * b),
    "a + 1 + 1": lambda a, b: (a + 1 + 1, a + 2),
    "ceildiv twice": lambda a, b: (a.ceildiv_right(2).ceildiv_right(3), a.ceildiv_right(6)),
    "floordiv twice": lambda a, b: (a // 2 // 3, a // 6),
    "pad and cut": lambda a, b: ((2 + a + 2).sub_right(2).sub_left(2), a),
    "sum()": lambda a, b: (sum([a, 2, b]), a + 2 + b),
    "double minus": lambda a, b: (a * -1 * -1, a),
    "cut twice": lambda a, b: (dim_math.at_most(dim_math.at_most(a, 7), 5), dim_math.at_most(a, 5)),
}

BINARY: dict[str, Callable[[Operand, Operand], Operand]] = {
    "+": lambda a, b: a + b,
    "r+": lambda a, b: b + a,
    "*": lambda a, b: a * b,
    "r*": lambda a, b: b * a,
}


@pytest.mark.parametrize("name", IDENTITIES)
@settings(max_examples=20, deadline=None)
@given(a=st.integers(0, 20), b=st.integers(1, 20), dynamic=st.booleans())
def test_equal_expressions_are_equal_dims(name: str, a: int, b: int, dynamic: bool) -> None:
    """Equal as dims, hence the same hash and, if static, the same size."""
    dim_a, dim_b = SpatialDim("a", None if dynamic else a), SpatialDim("b", b)
    left, right = IDENTITIES[name](dim_a, dim_b)
    assert left == right and hash(left) == hash(right)
    assert left.dimension == right.dimension


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_size_of_an_expression_is_the_expression_of_the_sizes(data: st.DataObject) -> None:
    """Random expressions of + * // and ceildiv on 3, 4, lengths [5, 2], lengths [1, 7], against integers."""
    with run_table_ctx():
        sizes = [numpy.array(n) for n in ([3, 3], [4, 4], [5, 2], [1, 7])]
        dims = [SpatialDim("a", 3), FeatureDim("b", 4), SpatialDim("t"), SpatialDim("u")]
        for dim, size in zip(dims[2:], sizes[2:], strict=True):
            dim.dyn_size = size.astype("int32")
        index = data.draw(st.integers(0, 3))
        dim, size = dims[index], sizes[index]
        for _ in range(data.draw(st.integers(1, 5))):
            op = data.draw(st.sampled_from(["+", "r+", "*", "r*", "//", "ceil"]))
            if op in ("//", "ceil"):
                n = data.draw(st.integers(1, 5))
                dim = dim // n if op == "//" else dim.ceildiv_right(n)
                size = size // n if op == "//" else -(-size // n)
                continue
            i = data.draw(st.integers(0, 5))
            other, other_size = (dims[i], sizes[i]) if i < 4 else (i, numpy.array(i))
            dim, size = BINARY[op](dim, other), BINARY[op](size, other_size)
        actual = dim.dimension if dim.is_static else dim.dyn_size
        numpy.testing.assert_array_equal(numpy.broadcast_to(actual, [2]), size)
        assert numpy.max(dim.get_dim_value()) == size.max()


def test_order_counts() -> None:
    """a + b is another layout than b + a."""
    a, b = SpatialDim("a", 7), SpatialDim("b", 5)
    assert (a + b).dimension == (b + a).dimension == 12
    assert a + b != b + a
    assert 2 * a != a * 2
    assert 2 + a != a + 2
    assert a.sub_left(2) != a.sub_right(2)


def test_static_values() -> None:
    """a = 7: known at once"""
    a = SpatialDim("a", 7)
    assert (a - 2).dimension == 5
    assert a.ceildiv_right(2).dimension == 4
    assert (a / 2).dimension == 3
    assert (a - 9).dimension == 0
    assert dim_math.at_most(a, 5).dimension == 5


def test_dynamic_values() -> None:
    """lengths [3, 2]; differences are never below zero"""
    with run_table_ctx():
        t = SpatialDim("t", dyn_size=numpy.array([3, 2], "int32"))
        expected = {t + 2: [5, 4], t - 3: [0, 0], t - 2: [1, 0], t // 2: [1, 1], t.ceildiv_right(2): [2, 1]}
        for dim, lens in expected.items():
            assert dim.dyn_size.tolist() == lens
            assert dim.dyn_size.dtype == "int32"
            assert dim.dyn_size_ext.dims == (batch_dim,)
            assert dim.get_dim_value() == max(lens)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lambda a, b: a + b, "a+b"),
        (lambda a, b: a - 2, "a+-2"),
        (lambda a, b: -2 + a, "-2+a"),
        (lambda a, b: a - b, "a+(-1*b)"),
        (lambda a, b: -a, "-1*a"),
        (lambda a, b: 2 * a, "2*a"),
        (lambda a, b: 2 * a + 1, "2*a+1"),
        (lambda a, b: a // 2, "a//2"),
        (lambda a, b: (a - 2) // 3 * 2, "((a+-2)//3)*2"),
        (lambda a, b: a.ceildiv_right(2), "⌈a/2⌉"),
        (lambda a, b: a * SpatialDim("x y", 3), "a*(x y)"),
    ],
)
def test_description(expression: Callable[[Dim, Dim], Dim], text: str) -> None:
    """Operands with + - / or a blank stand in parentheses, numbers do not."""
    assert expression(SpatialDim("a"), SpatialDim("b")).description == text


def test_kind_is_feature_if_one_operand_is() -> None:
    """else spatial"""
    t, f = SpatialDim("t"), FeatureDim("f", 5)
    assert (f + t).is_feature_dim and (t * f).is_feature_dim and (2 * f).is_feature_dim
    assert (t + 1).is_spatial_dim and (t * batch_dim).is_spatial_dim


def test_the_same_expression_is_the_same_object() -> None:
    """also when it is written in another way"""
    t = SpatialDim("t")
    assert t + 2 is t + 2
    assert t + 1 + 1 is t + 2
    assert (t + 2) - 2 is t
    assert (t + 1).derived_from_tag is t


def test_lengths_of_derived_dims_know_their_dims_without_values() -> None:
    """in a template: those of the operands"""
    t = SpatialDim("t", size_dims=(batch_dim,))
    assert (2 * t + 1).size_dims == (batch_dim,)
    assert (SpatialDim("unknown") + 1).size_dims is None
    assert (SpatialDim("s", 4) + 1).size_dims == ()
