"""Attention, masked softmax, encodings of positions, normalisation, gradients that are scaled."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf
from tests.frontend.contract import FEATURE, LABEL_TIME, OUT, TIME, VECTOR, Case, W, X, contract_tests

KEYS = Tensor("keys", [batch_dim, LABEL_TIME, FEATURE], "float32", feature_dim=FEATURE, time_dim_axis=1)
VALUES = Tensor("values", [batch_dim, LABEL_TIME, OUT], "float32", feature_dim=OUT, time_dim_axis=1)
FLAGS = Tensor("flags", [batch_dim, TIME], "bool", time_dim_axis=1)
BIAS = Tensor("bias", [batch_dim, LABEL_TIME], "float32")


def softmax(x: Any, axis: int = -1) -> Any:
    """zeros where there is nothing"""
    if not x.size:
        return x
    e = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def masked_softmax(x: Any, flags: Any, v: Any) -> Any:
    """of x [T, F] over T"""
    e = numpy.exp(x) * flags[:, None]
    return e / numpy.maximum(e.sum(axis=0, keepdims=True), 1e-30) * v


def self_attention(x: Any, w: Any, *, causal: bool = False) -> Any:
    """softmax(x x^T / 2) (x w)"""
    energy = x @ x.T / 2
    if causal:
        energy = numpy.where(numpy.tri(len(x)), energy, -1e30)
    return softmax(energy) @ (x @ w)


def rf_self_attention(x: Tensor, w: Tensor, *, causal: bool = False) -> Tensor:
    keys = rf.replace_dim(x, in_dim=TIME, out_dim=TIME.twin())
    values = rf.matmul(keys, w, reduce=FEATURE)
    causal_dim = TIME if causal else None
    return rf.dot_attention(x, keys, values, key_dim=FEATURE, axis=TIME.twin(), causal_query_spatial_dim=causal_dim)


def cross_attention(x: Any, keys: Any, values: Any, bias: Any) -> Any:
    """without frames to attend to, there is nothing"""
    return softmax(x @ keys.T * 3 + bias) @ values


def normalize(x: Any, axis: int) -> Any:
    centered = x - x.mean(axis=axis, keepdims=True) if x.size else x
    return centered / numpy.sqrt((centered**2).mean(axis=axis, keepdims=True) + 0.1) if x.size else x


TestContract = contract_tests(
    [
        Case(
            "masked_softmax",
            [X, FLAGS, VECTOR],
            lambda x, f, v: rf.masked_softmax(x, axis=TIME, mask=f & TIME.get_mask()) * v,
            masked_softmax,
            gradient=True,
        ),
        Case(
            "softmax_of_maybe_no_frames",
            [KEYS, VECTOR],
            lambda k, v: rf.softmax(k, axis=LABEL_TIME) * v,
            lambda k, v: softmax(k, 0) * v,
            gradient=True,
        ),
        Case("self_attention", [X, W], rf_self_attention, self_attention, gradient=True, finite_padding=True),
        Case(
            "causal_self_attention",
            [X, W],
            lambda x, w: rf_self_attention(x, w, causal=True),
            lambda x, w: self_attention(x, w, causal=True),
            gradient=True,
            finite_padding=True,
        ),
        Case(
            "cross_attention",
            [X, KEYS, VALUES, BIAS],
            lambda x, k, v, b: rf.dot_attention(x, k, v, key_dim=FEATURE, axis=LABEL_TIME, scale=3.0, energy_bias=b),
            cross_attention,
            gradient=True,
            finite_padding=True,
        ),
        Case(
            "causal_cross_attention",
            [X, KEYS, VALUES],
            lambda x, k, v: rf.dot_attention(x, k, v, key_dim=FEATURE, axis=LABEL_TIME, causal_query_spatial_dim=TIME),
            lambda x, k, v: softmax(numpy.where(numpy.tri(len(x), len(k)), x @ k.T / 2, -1e30)) @ v,
            gradient=True,
            finite_padding=True,
        ),
        Case(
            "normalize",
            [X, VECTOR],
            lambda x, v: rf.normalize(x, axis=FEATURE, epsilon=0.1) * v,
            lambda x, v: normalize(x, 1) * v,
            gradient=True,
        ),
        Case(
            "normalize_over_time",
            [X, X.copy_template("y")],
            lambda x, y: rf.normalize(x, axis=TIME, epsilon=0.1) * y,
            lambda x, y: normalize(x, 0) * y,
            gradient=True,
            tolerance=1e-4,
        ),
        Case(
            "layer_norm",
            [X, VECTOR, VECTOR.copy_template("bias")],
            lambda x, v, b: rf.layer_norm(x, axis=FEATURE, scale=v, bias=b, epsilon=0.1),
            lambda x, v, b: normalize(x, 1) * v + b,
            gradient=True,
        ),
        Case(
            "sinusoidal_positional_encoding",
            [X],
            lambda x: x + rf.sinusoidal_positional_encoding(spatial_dim=TIME, feat_dim=FEATURE, of=x),
            lambda x: x + numpy.array([encoding(t, 4) for t in range(len(x))]).reshape(-1, 4),
            gradient=True,
        ),
    ]
)


def encoding(position: int, size: int, base: float = 1e4) -> list[float]:
    """by the formula, one number at a time"""
    number = size // 2
    rates = [base ** (-i / max(number - 1, 1)) for i in range(number)]
    values = [math.sin(position * r) for r in rates] + [math.cos(position * r) for r in rates]
    return values + [0.0] * (size % 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_sinusoidal_encoding(backend: str, size: int) -> None:
    """sin block, cos block, and a last 0 if the size is odd; a single frequency is 1"""
    indices = Tensor("i", [batch_dim], "int32")
    feature = FeatureDim("f", size)
    y = run_rf(backend, lambda i: rf.sinusoidal_encoding(i, feat_dim=feature), [indices], [{"i": [0, 1, 5]}])
    assert (y.template.dims, y.template.feature_dim) == ((batch_dim, feature), feature)
    numpy.testing.assert_allclose(y.values[0], [encoding(p, size) for p in (0, 1, 5)], atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_offset_of_positions(backend: str) -> None:
    """one for each sequence: [time, batch, feature]"""
    offset = Tensor("o", [batch_dim], "int32")
    feature = FeatureDim("f", 4)

    def function(o: Tensor) -> Tensor:
        return rf.sinusoidal_positional_encoding(spatial_dim=TIME, feat_dim=feature, offset=o)

    y = run_rf(backend, function, [offset], [{TIME: [2, 1], "o": [0, 3]}])
    assert set(y.template.dims) == {TIME, batch_dim, feature}
    values = y.values[0].transpose([y.template.dims.index(d) for d in (TIME, batch_dim, feature)])
    numpy.testing.assert_allclose(values, [[encoding(t + o, 4) for o in (0, 3)] for t in range(2)], atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offset", [0, 2])
def test_relative_positions(backend: str, offset: int) -> None:
    """key - query - offset, cut to +-1, plus 1, for 3 queries and 3 keys, and for 3 queries and 4 keys"""
    x = Tensor("x", [batch_dim, TIME], "float32")
    for key, number in ((TIME.twin(), 3), (SpatialDim("s", 4), 4)):

        def function(x: Tensor, key: Any = key) -> Tensor:
            return rf.relative_positions(
                query_spatial_dim=TIME, key_value_spatial_dim=key, clipping=1, query_offset=offset, of=x
            )

        y = run_rf(backend, function, [x], [{TIME: [3, 1], "x": numpy.zeros((2, 3))}])
        assert y.template.dims == (TIME, key)
        distance = numpy.arange(number)[None] - numpy.arange(3)[:, None] - offset
        assert y.values[0].tolist() == (numpy.clip(distance, -1, 1) + 1).tolist()


G = [[[1.0, -2, 3], [0.5, 4, -1]], [[2, 2, -3], [1, 0, 7]]]
"""[batch, time, feature]: input, and so gradient of sum(x^2 / 2)"""


@pytest.mark.parametrize("backend", ["tf", "torch"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scale": -0.5}, [[[-0.5, 1, -1.5], [-0.25, -2, 0.5]], [[-1, -1, 1.5], [-0.5, 0, -3.5]]]),
        ({"scale": 0.5, "shift": 0.1}, [[[0.6, -0.9, 1.6], [0.35, 2.1, -0.4]], [[1.1, 1.1, -1.4], [0.6, 0.1, 3.6]]]),
        (
            {"scale": 0.5, "shift": 0.1, "scale_shift_by_sum_over_axis": "F"},
            [[[1.1, -0.4, 2.1], [0.8, 2.55, 0.05]], [[1.7, 1.7, -0.8], [1.3, 0.8, 4.3]]],
        ),
        (
            {"scale": 2.0, "shift": -5.0, "clip_max_axis": "F"},
            [[[-3, -3, 1], [-4, 3, -4]], [[-1, -1, -3], [-3, -5, 7]]],
        ),
    ],
)
def test_scaled_gradient(backend: str, options: dict[str, Any], expected: Any) -> None:
    """Sums of absolute values along the features are 6, 5.5, 7, 8; the largest are 3, 4, 3, 7."""
    time, feature = SpatialDim("t", 2), FeatureDim("f", 3)
    x = Tensor("x", [batch_dim, time, feature], "float32", feature_dim=feature)
    opts = {key: feature if value == "F" else value for key, value in options.items()}

    def function(x: Tensor) -> Tensor:
        return rf.square(rf.scaled_gradient_ext(x, **opts)) * 0.5

    y = run_rf(backend, function, [x], [{"x": numpy.array(G)}], gradients=True)
    numpy.testing.assert_allclose(y.values[0], numpy.square(G) / 2, rtol=1e-6)
    numpy.testing.assert_allclose(y.gradients[0][0], expected, rtol=1e-5, atol=1e-6)


TWO = Tensor("two", [batch_dim, FEATURE], "float32", feature_dim=FEATURE)
PER_FRAME = Tensor("per_frame", [batch_dim, TIME], "float32", time_dim_axis=1)


def _broadcast_case(kind: str, name: str, other: Tensor, in_layout: Any) -> Case:
    def reference(x: Any, y: Any) -> Any:
        y = in_layout(y)
        return {"add": x + y, "sub": x - y, "mul": x * y, "truediv": x / (y * y + 1)}[kind] * x

    def function(x: Tensor, y: Tensor) -> Tensor:
        y = rf.square(y) + 1 if kind == "truediv" else y
        return rf.combine(x, kind, y) * x

    return Case("%s_%s" % (kind, name), [X, other], function, reference, gradient=True)


TestGradientsOfRepeatedOperands = contract_tests(
    [
        _broadcast_case(kind, name, other, in_layout)
        for kind in ("add", "sub", "mul", "truediv")
        for name, other, in_layout in [
            ("vector", VECTOR, lambda y: y),
            ("per_seq", TWO, lambda y: y),
            ("per_frame", PER_FRAME, lambda y: y[:, None]),
            ("same", X.copy_template("other"), lambda y: y),
        ]
    ]
    + [
        Case("number_minus", [X], lambda x: (2.0 - x) / 3.0 * x, lambda x: (2 - x) / 3 * x, gradient=True),
        Case("divide_number", [X], lambda x: 2.0 / (x * x + 1.0), lambda x: 2 / (x * x + 1), gradient=True),
    ]
)
