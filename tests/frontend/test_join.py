"""Several tensors along one axis, and one axis in several tensors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf

from .contract import FEATURE, LABEL_TIME, LABELS, TIME, VECTOR, Case, X, contract_tests

T = SpatialDim("t", size_dims=(batch_dim,))
S, F = SpatialDim("s", 3), FeatureDim("f", 4)
Y = Tensor("y", [batch_dim, T, S, F], "float32", feature_dim=F, time_dim_axis=1)

TWO, THREE = SpatialDim("two", 2), SpatialDim("three", 3)
X2 = Tensor("x2", [batch_dim, LABEL_TIME, FEATURE], "float32", feature_dim=FEATURE, time_dim_axis=1)
X3 = Tensor("x3", [batch_dim, THREE, FEATURE], "float32", feature_dim=FEATURE)
ONE_THREE = FeatureDim("one", 1), FeatureDim("rest", 3)


def concat(*sources: Any) -> numpy.ndarray:
    return numpy.concatenate([numpy.asarray(x) for x in sources])


TestContract = contract_tests(
    [
        Case(
            "concat_time",
            [X, X2],
            lambda x, y: rf.concat((x, TIME), (y, LABEL_TIME))[0],
            concat,
            gradient=True,
        ),
        Case(
            "concat_time_three",
            [X, X3, X2],
            lambda x, z, y: rf.concat((x, TIME), (z, THREE), (y, LABEL_TIME))[0],
            concat,
            gradient=True,
        ),
        Case(
            "concat_time_with_itself",
            [LABELS],
            lambda x: rf.concat((x, TIME), (x, TIME), (x, TIME))[0],
            lambda x: concat(x, x, x),
        ),
        Case("concat_static_first", [X3, X], lambda z, x: rf.concat((z, THREE), (x, TIME))[0], concat),
        Case(
            "stack",
            [X],
            lambda x: rf.stack([x, x * 2.0], out_dim=TWO)[0],
            lambda x: numpy.stack([x, 2 * x]),
        ),
        Case(
            "stack_repeats",
            [X, VECTOR],
            lambda x, v: rf.stack([v, x])[0],
            lambda x, v: numpy.stack([numpy.tile(v, (len(x), 1)), x]),
            gradient=True,
        ),
        Case(
            "split",
            [X],
            lambda x: rf.split(x, axis=FEATURE, out_dims=ONE_THREE)[1],
            lambda x: x[:, 1:],
            gradient=True,
        ),
        Case(
            "unstack",
            [X],
            lambda x: rf.unstack(x, axis=FEATURE)[2] * rf.unstack(x, axis=FEATURE)[0],
            lambda x: x[:, 2] * x[:, 0],
            gradient=True,
        ),
    ]
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_concat_repeats_what_a_source_does_not_have(backend: str) -> None:
    """[b, t, s, 4] with [g=2]: the 2 everywhere; order and markers of the largest; not without being asked to"""
    g = FeatureDim("g", 2)
    v = Tensor("v", [g], "float32", feature_dim=g)
    feed = {T: [2, 1], "y": numpy.zeros((2, 2, 3, 4)), "v": [5, 6]}
    y = run_rf(backend, lambda v, x: rf.concat((v, g), (x, F), allow_broadcast=True)[0], [v, Y], [feed])
    assert y.template.dims == (batch_dim, T, S, g + F)
    assert (y.template.feature_dim, y.template.time_dim) == (g + F, T)
    assert y.values[0].shape == (2, 2, 3, 6) and (y.values[0][..., :2] == [5, 6]).all()
    with pytest.raises(DimError, match="concat: Tensor.'v'.* has no dim Dim.B., which another source has"):
        rf.concat((v, g), (Y, F))


@pytest.mark.parametrize("backend", BACKENDS)
def test_concat_of_the_arrays_keeps_the_padding_inside(backend: str) -> None:
    """lengths [2, 1] and [1, 2]: a0 a1 b0 and a0 . b0, cut at the length 3; sequence by sequence a0 b0 b1"""
    u = SpatialDim("u", size_dims=(batch_dim,))
    a = Tensor("a", [batch_dim, T], "int32", time_dim_axis=1)
    b = Tensor("b", [batch_dim, u], "int32", time_dim_axis=1)
    feed = {T: [2, 1], u: [1, 2], "a": [[1, 2], [3, -1]], "b": [[4, -2], [5, 6]]}

    def joined(handle_dynamic_dims: bool) -> Any:
        return run_rf(
            backend,
            lambda a, b: rf.concat((a, T), (b, u), handle_dynamic_dims=handle_dynamic_dims)[0],
            [a, b],
            [feed],
        )

    y = joined(False)
    assert (y.template.dims, y.template.time_dim) == ((batch_dim, T + u), T + u)
    assert y.values[0].tolist() == [[1, 2, 4], [3, -1, 5]]
    assert joined(True).values[0].tolist() == [[1, 2, 4], [3, 5, 6]]


def test_concat_into_a_given_dim() -> None:
    """it is the sum from then on"""
    out = SpatialDim("out")
    y, dim = rf.concat((Y, T), (Y, T), out_dim=out)
    assert dim is out and out == 2 * T and y.dims == (batch_dim, out, S, F)
    with pytest.raises(DimError, match="different sizes"):
        rf.concat((Y, F), (Y, F), out_dim=FeatureDim("out", 9))


def test_concat_features_needs_features() -> None:
    """says of which"""
    with pytest.raises(DimError, match="concat_features: Tensor.'z'.* has no feature dim"):
        rf.concat_features(Y, Tensor("z", [batch_dim], "float32"))


def test_joined_tensors_are_of_one_dtype() -> None:
    """int32 beside float32"""
    for join in (lambda a, b: rf.concat((a, F), (b, F)), lambda a, b: rf.stack([a, b])):
        with pytest.raises(DimError, match="dtypes differ: y float32, y int32"):
            join(Y, Y.copy_template(dtype="int32"))


def test_stack_places_the_new_dim() -> None:
    """in front, or where ``dim_order`` has it"""
    y, dim = rf.stack([Y, Y])
    assert y.dims == (dim, batch_dim, T, S, F) and dim.dimension == 2
    assert (y.feature_dim, y.time_dim) == (F, T)
    z, _ = rf.stack([Y, Y], out_dim=dim, dim_order=[batch_dim, T, dim, F, S])
    assert z.dims == (batch_dim, T, dim, F, S)
    with pytest.raises(DimError, match="stack: .* is not the number of tensors, 3"):
        rf.stack([Y, Y, Y], out_dim=dim)


def test_parts_have_the_markers_of_the_whole() -> None:
    """features [4] into [1, 3]; sizes must add up"""
    parts = rf.split(Y, axis=F, out_dims=ONE_THREE)
    assert [p.dims for p in parts] == [(batch_dim, T, S, d) for d in ONE_THREE]
    assert [(p.feature_dim, p.time_dim) for p in parts] == [(d, T) for d in ONE_THREE]
    assert [p.dims for p in rf.unstack(Y, axis=S)] == [(batch_dim, T, F)] * 3
    with pytest.raises(DimError, match="split: .* of y is not the sum of"):
        rf.split(Y, axis=F, out_dims=[TWO])
    with pytest.raises(DimError, match="must have a static size"):
        rf.split(Y, axis=T, out_dims=[TWO, Dim(None, name="rest")])
