"""Convolution, its transpose, pooling."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.util.behavior_version import BehaviorVersion
from tests.common import BACKENDS, run_rf

from .contract import FEATURE, OUT, TIME, Case, X, contract_tests

SIZE, SIZE2, HEIGHT = SpatialDim("size", 3), SpatialDim("size2", 2), SpatialDim("height", 4)
PAIR, MANY = FeatureDim("pair", 2), FeatureDim("many", 8)
FILTER = Tensor("filter", [SIZE, FEATURE, OUT], "float32")
EVEN = Tensor("even", [SIZE2, FEATURE, OUT], "float32")
GROUPS = Tensor("groups", [SIZE, PAIR, FEATURE], "float32")
DEPTHWISE = Tensor("depthwise", [SIZE, FeatureDim("one", 1), MANY], "float32")
BIAS = Tensor("bias", [OUT], "float32")
IMAGE = Tensor("image", [batch_dim, TIME, HEIGHT, PAIR], "float32", feature_dim=PAIR, time_dim_axis=1)
FILTER_2D = Tensor("filter_2d", [SIZE, SIZE2, PAIR, OUT], "float32")
DEPTHWISE_2D = Tensor("depthwise_2d", [SIZE, SIZE2, FeatureDim("one", 1), FEATURE], "float32")


@pytest.fixture(autouse=True)
def own_behavior_version() -> Iterator[None]:
    """A test may set one."""
    BehaviorVersion._reset()
    yield
    BehaviorVersion._reset()


def conv(x: Tensor, filter: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    options = {
        "filter_size": [SIZE],
        "in_dim": FEATURE,
        "out_dim": OUT,
        "in_spatial_dims": [TIME],
        "use_mask": True,
        "use_consistent_same_padding": True,
        **options,
    }
    return rf.conv(x, filter=filter, bias=bias, **options)[0]


def windows(x: Any, size: int, *, left: int, right: int, stride: int = 1, dilation: int = 1) -> Any:
    """all that fit into x [T, ..] between so many zeros: [positions, size, ..]"""
    padded = numpy.pad(x, [(left, right)] + [(0, 0)] * (x.ndim - 1))
    starts = range(0, max(len(padded) - (size - 1) * dilation, 0), stride)
    frames = [padded[t : t + (size - 1) * dilation + 1 : dilation] for t in starts]
    return numpy.array(frames).reshape(len(frames), size, *x.shape[1:])


def reference(**options: Any) -> Callable[..., Any]:
    def compute(x: Any, filter: Any, bias: Any = 0.0) -> Any:
        return numpy.einsum("tkf,kfo->to", windows(x, len(filter), **options), filter) + bias

    return compute


def grouped(groups: int, **options: Any) -> Callable[..., Any]:
    def compute(x: Any, filter: Any) -> Any:
        parts = zip(numpy.split(x, groups, -1), numpy.split(filter, groups, -1), strict=True)
        return numpy.concatenate([reference(**options)(*part) for part in parts], -1)

    return compute


def reference_2d(x: Any, filter: Any, *, time: dict[str, int], height: dict[str, int], groups: int = 1) -> Any:
    """x [T, H, F], filter [K, L, F / groups, O]"""
    w = windows(x, filter.shape[0], **time)  # [T', K, H, F]
    w = windows(w.transpose(2, 0, 1, 3), filter.shape[1], **height)  # [H', L, T', K, F]
    parts = zip(numpy.split(w, groups, -1), numpy.split(filter, groups, -1), strict=True)
    return numpy.concatenate([numpy.einsum("hltkf,klfo->tho", *part) for part in parts], -1)


def conv_2d(x: Tensor, filter: Tensor, **options: Any) -> Tensor:
    options = {"filter_size": [SIZE, SIZE2], "in_dim": PAIR, "in_spatial_dims": [TIME, HEIGHT], **options}
    return conv(x, filter, **options)


def transposed(x: Tensor, filter: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    return rf.transposed_conv(
        x,
        filter=filter,
        bias=bias,
        filter_size=[SIZE],
        in_dim=FEATURE,
        out_dim=OUT,
        in_spatial_dims=[TIME],
        use_mask=True,
        **options,
    )[0]


def transposed_reference(stride: int, left: int, extra: int, cut: int = 0) -> Callable[..., Any]:
    """n frames become n * stride + extra, of which cut fall off at both ends"""

    def compute(x: Any, filter: Any, bias: Any = 0.0) -> Any:
        size = max(len(x) * stride + extra, 0)
        full = numpy.zeros((left + size + len(filter) + stride, filter.shape[-1]))
        for t, i in itertools.product(range(len(x)), range(len(filter))):
            full[t * stride + i] += x[t] @ filter[i]
        return full[left + cut : left + max(size - cut, cut)] + bias

    return compute


def transposed_2d(image: Tensor, filter: Tensor) -> Tensor:
    return rf.transposed_conv(
        image,
        filter=filter,
        filter_size=[SIZE, SIZE2],
        in_dim=PAIR,
        out_dim=OUT,
        in_spatial_dims=[TIME, HEIGHT],
        padding="valid",
        strides=[2, 3],
        use_mask=True,
    )[0]


def transposed_2d_reference(x: Any, filter: Any) -> Any:
    """strides 2 and 3 of sizes 3 and 2"""
    res = numpy.zeros((2 * len(x) + 1, 12, 3))
    for t, h, k, i in itertools.product(range(len(x)), range(4), range(3), range(2)):
        res[2 * t + k, 3 * h + i] += x[t, h] @ filter[k, i]
    return res


def pool(x: Tensor, mode: str, padding: str | list[int], stride: int = 1, size: int = 2, dilation: int = 1) -> Tensor:
    return rf.pool(
        x,
        mode=mode,
        pool_size=[size],
        padding=padding,
        strides=[stride],
        dilation_rate=[dilation],
        in_spatial_dims=[TIME],
        use_mask=True,
        use_consistent_same_padding=True,
    )[0]


def pooled(function: Any, size: int = 2, **options: Any) -> Callable[..., Any]:
    return lambda x: function(windows(x, size, **{"left": 0, "right": 0, **options}), axis=1)


def real_mean(size: int, stride: int) -> Callable[..., Any]:
    """mean without the borders of padding same, which are (size - 1) // 2 in front"""

    def compute(x: Any) -> Any:
        borders = {"left": (size - 1) // 2, "right": size // 2, "stride": stride}
        total, count = (windows(y, size, **borders).sum(1) for y in (x, numpy.ones_like(x)))
        return total / count

    return compute


def maximum_of_real(left: int, right: int, stride: int = 1) -> Callable[..., Any]:
    return lambda x: windows(x + 100.0, left + right + 1, left=left, right=right, stride=stride).max(1) - 100.0


TestContract = contract_tests(
    [
        Case(
            "conv_same",
            [X, FILTER, BIAS],
            lambda x, w, b: conv(x, w, b, padding="same"),
            reference(left=1, right=1),
            gradient=True,
        ),
        Case(
            "conv_same_even",
            [X, EVEN],
            lambda x, w: conv(x, w, padding="same", filter_size=[SIZE2]),
            reference(left=0, right=1),
            gradient=True,
        ),
        Case(
            "conv_same_stride",
            [X, FILTER, BIAS],
            lambda x, w, b: conv(x, w, b, padding="same", strides=2),
            reference(left=1, right=1, stride=2),
            gradient=True,
        ),
        Case(
            "conv_valid",
            [X, FILTER],
            lambda x, w: conv(x, w, padding="valid"),
            reference(left=0, right=0),
            gradient=True,
        ),
        Case(
            "conv_valid_stride",
            [X, EVEN],
            lambda x, w: conv(x, w, padding="valid", strides=2, filter_size=[SIZE2]),
            reference(left=0, right=0, stride=2),
            gradient=True,
        ),
        Case(
            "conv_numbers",
            [X, FILTER],
            lambda x, w: conv(x, w, padding=2, strides=3),
            reference(left=2, right=2, stride=3),
            gradient=True,
        ),
        Case(
            "conv_same_static",
            [X, FILTER],
            lambda x, w: conv(x, w, padding="same_static", strides=2),
            reference(left=0, right=2, stride=2),
            gradient=True,
        ),
        Case(
            "conv_dilated",
            [X, FILTER],
            lambda x, w: conv(x, w, padding="same", dilation_rate=2),
            reference(left=2, right=2, dilation=2),
            gradient=True,
        ),
        Case(
            "conv_dilated_valid",
            [X, EVEN],
            lambda x, w: conv(x, w, padding="valid", dilation_rate=2, filter_size=[SIZE2]),
            reference(left=0, right=0, dilation=2),
            gradient=True,
        ),
        Case(
            "conv_dilated_stride",
            [X, EVEN],
            lambda x, w: conv(x, w, padding=1, dilation_rate=2, strides=2, filter_size=[SIZE2]),
            reference(left=1, right=1, dilation=2, stride=2),
            gradient=True,
        ),
        Case(
            "conv_groups",
            [X, GROUPS],
            lambda x, w: conv(x, w, padding="same", groups=2, out_dim=FEATURE),
            grouped(2, left=1, right=1),
            gradient=True,
        ),
        Case(
            "conv_depthwise",
            [X, DEPTHWISE],
            lambda x, w: conv(x, w, padding="same_static", strides=2, groups=4, out_dim=MANY),
            grouped(4, left=0, right=2, stride=2),
            gradient=True,
        ),
        Case(
            "conv_depthwise_dilated",
            [X, DEPTHWISE],
            lambda x, w: conv(x, w, padding="same", dilation_rate=2, groups=4, out_dim=MANY),
            grouped(4, left=2, right=2, dilation=2),
            gradient=True,
        ),
        Case(
            "conv_filled_to_power",
            [X, FILTER, BIAS],
            lambda x, w, b: conv(x, w, b, padding="valid", strides=2, pad_to_power=1.5),
            reference(left=0, right=0, stride=2),
            gradient=True,
        ),
        Case(
            "conv_2d",
            [IMAGE, FILTER_2D],
            lambda x, w: conv_2d(x, w, padding="same", strides=[1, 2]),
            lambda x, w: reference_2d(x, w, time={"left": 1, "right": 1}, height={"left": 0, "right": 1, "stride": 2}),
            gradient=True,
        ),
        Case(
            "conv_2d_valid",
            [IMAGE, FILTER_2D],
            lambda x, w: conv_2d(x, w, padding="valid"),
            lambda x, w: reference_2d(x, w, time={"left": 0, "right": 0}, height={"left": 0, "right": 0}),
            gradient=True,
        ),
        Case(
            "conv_2d_depthwise",
            [IMAGE, DEPTHWISE_2D],
            lambda x, w: conv_2d(x, w, padding="same", strides=[2, 1], groups=2, out_dim=FEATURE),
            lambda x, w: reference_2d(
                x, w, time={"left": 1, "right": 1, "stride": 2}, height={"left": 0, "right": 1}, groups=2
            ),
            gradient=True,
        ),
        Case(
            "conv_one_of_two_dims",
            [IMAGE, Tensor("w", [SIZE, PAIR, OUT], "float32")],
            lambda x, w: conv(x, w, padding="same", in_dim=PAIR),
            lambda x, w: numpy.stack([reference(left=1, right=1)(x[:, h], w) for h in range(4)]),
            gradient=True,
        ),
        Case(
            "transposed_conv_same",
            [X, FILTER, BIAS],
            lambda x, w, b: transposed(x, w, b, padding="same", strides=2),
            transposed_reference(2, left=0, extra=0),
            gradient=True,
        ),
        Case(
            "transposed_conv_stride1",
            [X, FILTER],
            lambda x, w: transposed(x, w, padding="same", strides=1),
            transposed_reference(1, left=1, extra=0),
            gradient=True,
        ),
        Case(
            "transposed_conv_valid",
            [X, FILTER],
            lambda x, w: transposed(x, w, padding="valid", strides=2),
            transposed_reference(2, left=0, extra=1),
            gradient=True,
        ),
        Case(
            "transposed_conv_with_gaps",
            [X, FILTER],
            lambda x, w: transposed(x, w, padding="valid", strides=5),
            transposed_reference(5, left=0, extra=0),
            gradient=True,
        ),
        Case(
            "transposed_conv_cut",
            [X, FILTER, BIAS],
            lambda x, w, b: transposed(x, w, b, padding="same", remove_padding=1),
            transposed_reference(3, left=0, extra=0, cut=1),
            gradient=True,
        ),
        Case(
            "transposed_conv_output_padding",
            [X, FILTER],
            lambda x, w: transposed(x, w, padding="same", strides=2, output_padding=0),
            transposed_reference(2, left=1, extra=-1),
            gradient=True,
        ),
        Case(
            "transposed_conv_2d",
            [IMAGE, FILTER_2D],
            transposed_2d,
            transposed_2d_reference,
            gradient=True,
        ),
        Case("max_pool", [X], lambda x: pool(x, "max", "valid", 2), pooled(numpy.max, stride=2)),
        Case("max_pool_of_more", [X], lambda x: pool(x, "max", "valid", 1, 3), pooled(numpy.max, 3)),
        Case("max_pool_dilated", [X], lambda x: pool(x, "max", "valid", 1, 2, 2), pooled(numpy.max, dilation=2)),
        Case("avg_pool", [X], lambda x: pool(x, "avg", "valid"), pooled(numpy.mean), gradient=True),
        Case("max_pool_same", [X], lambda x: pool(x, "max", "same"), maximum_of_real(0, 1)),
        Case("max_pool_same_stride", [X], lambda x: pool(x, "max", "same", 2, 3), maximum_of_real(1, 1, 2)),
        Case("max_pool_same_static", [X], lambda x: pool(x, "max", "same_static", 2, 4), maximum_of_real(1, 2, 2)),
        Case("max_pool_numbers", [X], lambda x: pool(x, "max", [1], 1, 3), maximum_of_real(1, 1)),
        Case("avg_pool_same", [X], lambda x: pool(x, "avg", "same", 1, 3), real_mean(3, 1), gradient=True),
        Case("avg_pool_same_stride", [X], lambda x: pool(x, "avg", "same", 2, 4), real_mean(4, 2), gradient=True),
        Case(
            "avg_pool_same_static",
            [X],
            lambda x: pool(x, "avg", "same_static"),
            pooled(numpy.mean, right=1),
            gradient=True,
        ),
    ]
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_window_is_longer_than_all_sequences(backend: str) -> None:
    """Nothing comes out, and no gradient is left from before: TensorFlow alone would stop, or die."""
    feed = {TIME: [1, 2], "x": numpy.ones((2, 2, 4)), "filter": numpy.ones((3, 4, 3))}
    for stride, dilation in itertools.product([1, 2], [1, 2]):

        def function(x: Tensor, w: Tensor, stride: int = stride, dilation: int = dilation) -> Tensor:
            return conv(x, w, padding="valid", strides=stride, dilation_rate=dilation)

        y = run_rf(backend, function, [X, FILTER], [feed], gradients=backend != "numpy")
        assert y.values[0].shape == (2, 0, 3)
        for gradient in itertools.chain(*y.gradients):
            assert not gradient.any()
    for mode in ("max", "avg"):
        y = run_rf(backend, lambda x, mode=mode: pool(x, mode, "valid", 1, 4), [X], [{TIME: [1, 2], "x": feed["x"]}])
        assert y.values[0].shape == (2, 0, 4)


def test_equal_windows_on_equal_dims_give_equal_dims() -> None:
    """same: ceil(t / stride), the very dim for stride 1; else ceil((t + 2 p - (size - 1) dilation) / stride)"""

    def out(**options: Any) -> Dim:
        return rf.make_conv_out_spatial_dims([TIME], **options)[0]

    assert out(filter_size=[3], padding="same") is TIME
    assert out(filter_size=[SIZE], padding="SAME", strides=2) == TIME.ceildiv_right(2)
    assert out(filter_size=[4], padding="same_static", strides=[2]) == TIME.ceildiv_right(2)
    assert out(filter_size=[3], padding="valid", strides=2, dilation_rate=2) == (TIME - 4).ceildiv_right(2)
    assert out(filter_size=[3], padding=2) == TIME + 2
    assert out(filter_size=[3], padding=[1]) == TIME
    y = conv(X, FILTER, padding="valid")
    assert (y.dims, y.feature_dim, y.time_dim) == ((batch_dim, TIME - 2, OUT), OUT, TIME - 2)
    assert conv(X, FILTER, padding="valid").dims == y.dims
    assert transposed(X, FILTER, padding="same", strides=2).dims == (batch_dim, TIME * 2, OUT)
    assert rf.make_conv_out_spatial_dims([HEIGHT], filter_size=[3], padding="valid")[0].dimension == 2


def test_given_out_dims_are_declared_the_same() -> None:
    """a Dim of the user"""
    mine = Dim(None, name="mine")
    y = conv(X, FILTER, padding="same", strides=2, out_spatial_dims=[mine])
    assert y.dims[1] is mine and mine == TIME.ceildiv_right(2)


def test_same_dim_for_input_and_output() -> None:
    """The axis of the filter with the higher match_priority is that of the input."""
    inside = FEATURE.copy(match_priority=1)
    w = numpy.zeros((1, 4, 4), "float32")
    w[0, 0, 1] = 1  # output 1 is input 0
    one = SpatialDim("one", 1)
    for dims, value in (([one, inside, FEATURE], w), ([one, FEATURE, inside], w.transpose(0, 2, 1))):
        filter = Tensor("filter", dims, "float32", raw_tensor=value)
        x = Tensor("x", [HEIGHT, FEATURE], "float32", raw_tensor=numpy.arange(16, dtype="float32").reshape(4, 4))
        y = conv(x, filter, padding="same", filter_size=[one], out_dim=FEATURE, in_spatial_dims=[HEIGHT])
        assert y.raw_tensor[:, 1].tolist() == [0, 4, 8, 12] and not y.raw_tensor[:, 2].any()


def test_defaults_follow_the_behavior_version() -> None:
    """23: masked; 24: strided windows begin where those of stride 1 do."""
    one = FeatureDim("f", 1)
    x = Tensor("x", [batch_dim, TIME, one], "float32", feature_dim=one)
    w = Tensor("w", [SIZE, FeatureDim("g", 1), OUT], "float32")
    feed = {TIME: [4, 2], "x": numpy.array([[1, 2, 3, 4], [5, 6, 100, 100]])[:, :, None], "w": numpy.ones((3, 1, 3))}

    def function(x: Tensor, w: Tensor) -> Tensor:
        return conv(x, w, padding="same", strides=2, in_dim=one, use_mask=None, use_consistent_same_padding=None)

    expected = {0: [[6, 7], [111, 200]], 23: [[6, 7], [11, 0]], 24: [[3, 9], [11, 6]]}
    for version, values in expected.items():
        BehaviorVersion._reset(version)
        assert run_rf("numpy", function, [x, w], [feed]).values[0][:, :, 0].tolist() == values


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "some"}, "conv: padding must be same, valid, same_static, or numbers, but is 'some'"),
        ({"padding": -1}, "conv: padding must have one number >= 0 for each of 1 dims, but is -1"),
        ({"padding": "same", "strides": [1, 2]}, "conv: strides must have one number >= 1 for each of 1 dims"),
        ({"padding": "same", "groups": 3}, "must be divisible by the number of groups, 3"),
        ({"padding": "same", "out_dim": FEATURE}, "the filter must have the dims"),
        ({"padding": "same", "filter_size": [SIZE2]}, "filter: filter has no dim"),
        ({"padding": "same", "in_spatial_dims": [HEIGHT]}, "conv: x has no dim"),
        ({"padding": "same", "pad_to_power": 1}, "pad_to_power must be > 1, but is 1"),
    ],
)
def test_conv_checks_its_arguments(options: dict[str, Any], message: str) -> None:
    """with the name of what is wrong"""
    with pytest.raises(DimError, match=message):
        conv(X, FILTER, **options)


def test_window_is_longer_than_a_static_dim() -> None:
    """there is no frame at all"""
    with pytest.raises(DimError, match="height.* is too short for a window of 5 frames"):
        rf.make_conv_out_spatial_dims([HEIGHT], filter_size=[5], padding="valid")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "same_static"}, "padding must be same or valid, but is 'same_static'"),
        ({"padding": "same", "strides": 2, "output_padding": 2}, r"output_padding must be in \[0, stride\), but is 2"),
    ],
)
def test_transposed_conv_checks_its_arguments(options: dict[str, Any], message: str) -> None:
    """with the name of what is wrong"""
    with pytest.raises(DimError, match=message):
        transposed(X, FILTER, **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pool_of_no_frame_is_zero(backend: str) -> None:
    """-inf times zero would be nan in a gradient."""
    feed = {TIME: [2, 0], "x": numpy.ones((2, 2, 4))}
    for mode in ("max", "avg"):
        y = run_rf(backend, lambda x, mode=mode: pool(x, mode, "valid"), [X], [feed])
        assert y.values[0][1].tolist() == [[0] * 4]


@pytest.mark.parametrize("backend", BACKENDS)
def test_pool_2d_with_channels_and_more_batch_dims(backend: str) -> None:
    """[c, h=2, w=3, b] in any order, extra dims are independent: max over 2x2 windows"""
    h, w, c, e = SpatialDim("h", 2), SpatialDim("w", 3), FeatureDim("c", 2), SpatialDim("e", 2)
    x = Tensor("x", [c, h, e, w, batch_dim], "float32", feature_dim=c)
    value = numpy.random.RandomState(1).normal(size=(2, 2, 2, 3, 1))

    def function(x: Tensor) -> Tensor:
        return rf.pool(x, mode="max", pool_size=2, padding="valid", strides=1, in_spatial_dims=[h, w])[0]

    y = run_rf(backend, function, [x], [{"x": value}])
    assert y.template.batch_shape == (2, 1, 2, 2, None) and y.template.feature_dim is c
    expected = numpy.stack([value[:, :, :, i : i + 2].max(axis=(1, 3)) for i in range(2)], axis=2)
    numpy.testing.assert_allclose(y.values[0][:, 0], expected, rtol=1e-6)


def test_pool_lengths() -> None:
    """same: ceil(t / stride); valid: ceil((t - (size - 1) * dilation) / stride)"""
    options = {"mode": "max", "pool_size": [3], "strides": [2], "in_spatial_dims": [TIME]}
    same = rf.pool(X, padding="SAME", **options)
    assert same[1] == [TIME.ceildiv_right(2)] and same[0].time_dim == TIME.ceildiv_right(2)
    valid = rf.pool(X, padding="valid", dilation_rate=[2], **options)
    assert valid[1] == [(TIME - 4).ceildiv_right(2)]
    with pytest.raises(DimError, match="mode must be max or avg"):
        rf.pool(X, padding="same", **{**options, "mode": "sum"})
