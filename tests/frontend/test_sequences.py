"""Frames moved within their sequences: values on all backends, dims, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf

from .contract import FEATURE, LABELS, PER_SEQ, TIME, Case, X, contract_tests

T = SpatialDim("t", size_dims=(batch_dim,))
S, F = SpatialDim("s", 3), FeatureDim("f", 4)
Y = Tensor("y", [batch_dim, T, S, F], "float32", feature_dim=F, time_dim_axis=1)
ROWS = Tensor("rows", [batch_dim, T], "float32", time_dim_axis=1)
FEED = {T: [3, 1], "rows": [[1, 2, 3], [4, numpy.nan, numpy.nan]]}
"""1 2 3 and 4"""


def padded(front: int, behind: int, mode: str) -> Callable[[Any], Any]:
    """by numpy; zeros where there is nothing to take"""

    def reference(x: Any) -> Any:
        if not len(x):
            return numpy.zeros((front + behind, *x.shape[1:]))
        return numpy.pad(x, [(front, behind), (0, 0)], mode=mode)

    return reference


def pad_case(mode: str, reference: Callable[[Any], Any], *, padding: tuple[int, int] = (1, 2), **kwargs: Any) -> Case:
    return Case(
        "pad_%s_%i_%i" % (mode, *padding),
        [X],
        lambda x: rf.pad(x, axes=TIME, padding=[padding], mode=mode)[0],
        reference,
        gradient=True,
        **kwargs,
    )


def first_repeated(x: Tensor, repeats: Tensor) -> Tensor:
    """3 frames"""
    y, dim = rf.repeat(x, in_spatial_dim=TIME, repeats=repeats)
    return rf.slice_nd(y, axis=dim, start=0, out_dim=S)


TestContract = contract_tests(
    [
        pad_case("constant", padded(1, 2, "constant")),
        pad_case("constant", padded(0, 1, "constant"), padding=(0, 1)),
        pad_case("reflect", padded(1, 1, "reflect"), padding=(1, 1), min_len=1),
        pad_case("symmetric", padded(1, 1, "symmetric"), padding=(1, 1)),
        pad_case("replicate", padded(1, 2, "edge")),
        pad_case("circular", padded(1, 1, "wrap"), padding=(1, 1)),
        Case(
            "pad_two_axes",
            [X],
            lambda x: rf.pad(x, axes=[FEATURE, TIME], padding=[(0, 2), (2, 1)], value=7)[0],
            lambda x: numpy.pad(x, [(2, 1), (0, 2)], constant_values=7),
            gradient=True,
        ),
        Case(
            "pad_with_tensor",
            [X, PER_SEQ],
            lambda x, s: rf.pad(x, axes=TIME, padding=[(2, 1)], value=s)[0],
            lambda x, s: numpy.concatenate([s[None], s[None], x, s[None]]),
            gradient=True,
        ),
        Case(
            "pad_labels",
            [LABELS],
            lambda y: rf.pad(y, axes=TIME, padding=[(1, 1)], value=3)[0],
            lambda y: numpy.pad(y, 1, constant_values=3),
        ),
        Case(
            "shift_right",
            [X],
            lambda x: rf.shift_right(x, axis=TIME, pad_value=9, amount=2),
            lambda x: numpy.concatenate([numpy.full((2, 4), 9.0), x])[: len(x)],
            gradient=True,
        ),
        Case(
            "shift_left",
            [X],
            lambda x: rf.shift_left(x, axis=TIME, pad_value=9, amount=2),
            lambda x: numpy.concatenate([x, numpy.full((2, 4), 9.0)])[2:],
            gradient=True,
        ),
        Case(
            "shift_features",
            [X],
            lambda x: rf.shift_left(rf.shift_right(x, axis=FEATURE, pad_value=1), axis=FEATURE, pad_value=2),
            lambda x: numpy.concatenate([x[:, :3], numpy.full((len(x), 1), 2.0)], axis=1),
        ),
        Case(
            "reverse_sequence",
            [X],
            lambda x: rf.reverse_sequence(x, axis=TIME),
            lambda x: x[::-1],
            gradient=True,
        ),
        Case(
            "reverse_features",
            [X],
            lambda x: rf.reverse_sequence(x, axis=FEATURE),
            lambda x: x[:, ::-1],
        ),
        Case(
            "repeat_2",
            [X],
            lambda x: rf.repeat(x, in_spatial_dim=TIME, repeats=2)[0],
            lambda x: numpy.repeat(x, 2, axis=0),
            gradient=True,
        ),
        Case(
            "repeat_features",
            [X],
            lambda x: rf.repeat(x, in_spatial_dim=FEATURE, repeats=3)[0],
            lambda x: numpy.repeat(x, 3, axis=1),
        ),
        Case(
            "repeat_each",
            [X, LABELS],
            first_repeated,
            lambda x, y: numpy.concatenate([numpy.repeat(x, y, axis=0), numpy.zeros((3, 4))])[:3],
            gradient=True,
        ),
    ]
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [[0, 0, 1, 2, 3, 0, 0], [0, 0, 4, 0, 0]]),
        ("replicate", [[1, 1, 1, 2, 3, 3, 3], [4, 4, 4, 4, 4]]),
        ("reflect", [[3, 2, 1, 2, 3, 2, 1], [4, 4, 4, 4, 4]]),
        ("symmetric", [[2, 1, 1, 2, 3, 3, 2], [4, 4, 4, 4, 4]]),
        ("circular", [[2, 3, 1, 2, 3, 1, 2], [4, 4, 4, 4, 4]]),
    ],
)
def test_pad_modes(mode: str, expected: Any, backend: str) -> None:
    """1 2 3 and 4 with two more at both ends; where a sequence is too short to be mirrored, its last frame."""
    y = run_rf(backend, lambda x: rf.pad(x, axes=T, padding=[(2, 2)], mode=mode)[0], [ROWS], [FEED])
    assert y.template.dims == (batch_dim, 2 + T + 2)
    for row, wanted in zip(y.values[0], expected, strict=True):
        assert row[: len(wanted)].tolist() == wanted


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("mode", "behind"), [("constant", [9, 9]), ("replicate", [6, 6]), ("reflect", [5, 4]), ("circular", [4, 5])]
)
def test_pad_behind_the_array(mode: str, behind: Any, backend: str) -> None:
    """without a look at the lengths: behind 4 5 6, whatever of it is a frame"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, 5, 6]]}

    def function(x: Tensor) -> Tensor:
        return rf.pad(x, axes=T, padding=[(0, 2)], mode=mode, value=9, handle_dynamic_dims=False)[0]

    assert run_rf(backend, function, [ROWS], [feed]).values[0][1].tolist() == [4, 5, 6, *behind]


@pytest.mark.parametrize("backend", BACKENDS)
def test_repeat_as_often_as_a_tensor_says(backend: str) -> None:
    """1 2 3 and 4 by 2 0 1 and 3: 1 1 3 and 4 4 4; by 2 for each sequence, or one number for all: each frame twice"""
    labels = Tensor("times", [batch_dim, T], "int32", time_dim_axis=1)
    dim = Dim(None, name="repeated", size_dims=(batch_dim,))

    def function(x: Tensor, times: Tensor) -> Tensor:
        y, new_dim = rf.repeat(x, in_spatial_dim=T, repeats=times, out_dim=dim)
        assert new_dim is dim and y.time_dim is dim
        return rf.concat(
            (y, dim), (rf.cast(rf.expand_dim(dim.dyn_size_ext, S), "float32"), S), handle_dynamic_dims=False
        )[0]

    feed = {**FEED, "times": [[2, 0, 1], [3, 5, 5]]}
    assert run_rf(backend, function, [ROWS, labels], [feed]).values[0].tolist() == [
        [1, 1, 3, 3, 3, 3],
        [4, 4, 4, 3, 3, 3],
    ]
    for dims, value in (([batch_dim], [2, 2]), ([], 2)):
        times = Tensor("times", dims, "int32")
        y = run_rf(backend, function, [ROWS, times], [{**FEED, "times": value}]).values[0]
        assert y[0, :6].tolist() == [1, 1, 2, 2, 3, 3] and y[1, :2].tolist() == [4, 4]
        assert y[:, -1].tolist() == [6, 2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_shift_right_of_labels(backend: str) -> None:
    """0 1 2 and 3 4 by one, -1 comes first"""
    labels = Tensor("labels", [batch_dim, T], "int32", time_dim_axis=1)
    feed = {T: [3, 2], "labels": [[0, 1, 2], [3, 4, 0]]}
    y = run_rf(backend, lambda x: rf.shift_right(x, axis=T, pad_value=-1), [labels], [feed]).values[0]
    assert y[0].tolist() == [-1, 0, 1] and y[1, :2].tolist() == [-1, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_unmasked_shift_and_reverse_see_the_array(backend: str) -> None:
    """4 5 6, of which 5 6 are no frames: moved to the left, and turned round"""
    feed = {T: [3, 1], "rows": [[1, 2, 3], [4, 5, 6]]}
    left = run_rf(backend, lambda x: rf.shift_left(x, axis=T, pad_value=9, use_mask=False), [ROWS], [feed]).values[0]
    assert left.tolist() == [[2, 3, 9], [5, 6, 9]]
    turned = run_rf(backend, lambda x: rf.reverse_sequence(x, axis=T, handle_dynamic_dims=False), [ROWS], [feed])
    assert turned.values[0].tolist() == [[3, 2, 1], [6, 5, 4]]


def test_dims_and_markers() -> None:
    """New dims follow from old ones, so that the same operation gives the same dim; feature and time stay so."""
    y, (time, feature) = rf.pad(Y, axes=[T, F], padding=[(1, 2), (0, 3)])
    assert time == 1 + T + 2 and feature == F + 3 and feature.dimension == 7
    assert (y.dims, y.time_dim, y.feature_dim) == ((batch_dim, time, S, feature), time, feature)
    assert rf.pad(Y, axes=T, padding=[(0, 0)])[0].dims == Y.dims
    named = Dim(None, name="named")
    assert rf.pad(Y, axes=T, padding=[(1, 0)], out_dims=named)[1] == [1 + T]
    assert named == 1 + T
    z, dim = rf.repeat(Y, in_spatial_dim=T, repeats=3)
    assert dim == T * 3 and (z.dims, z.time_dim) == ((batch_dim, dim, S, F), dim)
    assert rf.shift_right(Y, axis=T, pad_value=0).dims == Y.dims
    assert rf.reverse_sequence(Y, axis=F).feature_dim == F


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda: rf.pad(Y, axes=T, padding=[(1, 1)], mode="replicat"),
            "unknown mode 'replicat'. Did you mean \"replicate\"?",
        ),
        (
            lambda: rf.pad(Y, axes=[T, F], padding=[(1, 1)]),
            r"padding must be two numbers >= 0 for each of .*, but is \[\(1, 1\)\]",
        ),
        (lambda: rf.pad(Y, axes=T, padding=[(0, -1)]), "padding must be two numbers >= 0"),
        (lambda: rf.pad(Y, axes=batch_dim + T, padding=[(0, 1)]), "pad: y has no dim"),
        (lambda: rf.pad(Y, axes=T, padding=[(0, 1)], value=ROWS), "the value .* must not have the axis"),
        (lambda: rf.pad(Y, axes=T, padding=[(0, 1)], value=Tensor("v", [], "int32")), "is int32, but .* is float32"),
        (lambda: rf.repeat(Y, in_spatial_dim=T, repeats=-1), "repeats must be an integer >= 0, but is -1"),
        (lambda: rf.repeat(Y, in_spatial_dim=T, repeats=ROWS), "repeats must be integers, but .* is float32"),
    ],
)
def test_messages(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(DimError, match=message):
        function()
