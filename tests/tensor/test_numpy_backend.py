"""What only numpy has. Values of operations: tests/frontend/test_contract.py."""

from __future__ import annotations

import numpy
import pytest

from returnn.frontend import init
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.numpy_backend import backend

F32 = numpy.float32


def test_arrays_and_numpy_scalars_belong_to_it() -> None:
    """but not Python numbers: they have no dtype of their own"""
    assert backend_of_raw(numpy.zeros(2)) is backend
    assert backend_of_raw(F32(1)) is backend
    with pytest.raises(TypeError, match="no backend for a value of type"):
        backend_of_raw(1.0)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "floordiv", "mod", "pow", "maximum", "squared_difference"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "int64"])
def test_dtypes_never_widen(op: str, dtype: str) -> None:
    """arrays among themselves, with plain numbers on either side, and as sums"""
    x = numpy.array([1, 2], dtype)
    for a, b in [(x, x), (x, 2), (2, x), (x, x[0])]:
        assert backend.binary(op, a, b).dtype == dtype
    assert backend.reduce(x, "sum", None).dtype == dtype
    assert backend.reduce(x, "mean", [0]).dtype == dtype
    assert backend.where(x > 1, x, 0).dtype == dtype
    assert backend.clip(x, 0, 1.5).dtype == dtype


def test_integers_divide_to_float64() -> None:
    """as in Python"""
    y = backend.binary("truediv", numpy.array([1], "int32"), 2)
    assert (y.dtype, y.tolist()) == ("float64", [0.5])
    assert backend.binary("truediv", numpy.array([1], "float32"), 2).dtype == "float32"


def test_mean_of_integers_is_rounded_down() -> None:
    """as TensorFlow has it: (1 + 2) // 2, (-1 - 2) // 2"""
    assert backend.reduce(numpy.array([[1, 2], [-1, -2]], "int32"), "mean", [1]).tolist() == [1, -2]


def test_reduce_of_nothing() -> None:
    """max -inf, min inf, sum 0; lowest and highest integer"""
    nothing = numpy.zeros((2, 0), "float32")
    assert backend.reduce(nothing, "max", [1]).tolist() == [-numpy.inf] * 2
    assert backend.reduce(nothing, "min", [1], keep_dims=True).tolist() == [[numpy.inf]] * 2
    assert backend.reduce(nothing, "sum", [1]).tolist() == [0, 0]
    assert int(backend.reduce(numpy.zeros(0, "int32"), "max", None)) == -(2**31)


def test_logsumexp_is_safe() -> None:
    """log(2 e^1000) = 1000 + log 2; of -inf it is -inf"""
    x = numpy.array([[1000, 1000], [-numpy.inf, -numpy.inf]], "float32")
    y = backend.reduce(x, "logsumexp", [1])
    assert y[0] == pytest.approx(1000 + numpy.log(2)) and y[1] == -numpy.inf


def test_gather_with_shared_leading_axes() -> None:
    """x[b, i[b, k]] for each b"""
    x = numpy.arange(24).reshape(2, 3, 4)
    i = numpy.array([[2, 0], [1, 1]])
    y = backend.gather(x, i, axis=1, batch_dims=1)
    assert y.shape == (2, 2, 4)
    for b in range(2):
        for k in range(2):
            assert y[b, k].tolist() == x[b, i[b, k]].tolist()
    assert backend.gather(x, numpy.array([[1]]), axis=1).shape == (2, 1, 1, 4)


def test_reverse_sequence() -> None:
    """the first 2 and the first 3 frames; the rest stays, in any order of axes"""
    x = numpy.array([[1, 2, 3], [4, 5, 6]])
    lens = numpy.array([2, 3])
    expected = [[2, 1, 3], [6, 5, 4]]
    assert backend.reverse_sequence(x, lens, axis=1, batch_axis=0).tolist() == expected
    assert backend.reverse_sequence(x.T, lens, axis=0, batch_axis=1).T.tolist() == expected


def test_pool_same_with_stride() -> None:
    """5 frames, windows of 3, every 2: frames (pad 0 1) (1 2 3) (3 4 pad); borders do not count in the mean"""
    x = numpy.array([1, 2, 3, 4, 6], "float32").reshape(1, 5, 1)
    options = {"size": [3], "strides": [2], "dilation": [1], "same": True}
    assert backend.pool(x, "max", **options)[0, :, 0].tolist() == [2, 4, 6]
    assert backend.pool(x, "avg", **options)[0, :, 0].tolist() == [1.5, 3, 5]


def test_pool_with_dilation() -> None:
    """windows of 2 with a gap of one frame: max(x[t], x[t + 2])"""
    x = numpy.array([5, 1, 2, 4], "float32").reshape(1, 4, 1)
    y = backend.pool(x, "max", size=[2], strides=[1], dilation=[2], same=False)
    assert y[0, :, 0].tolist() == [5, 4]


def test_noise_is_a_function_of_seed_and_step() -> None:
    """[0, 1), float32"""
    a, b, c, d = (backend.stateless_uniform([1000], seed=s, step=n) for s, n in [(1, 5), (1, 5), (1, 6), (2, 5)])
    assert a.dtype == "float32" and 0 <= a.min() and a.max() < 1 and a.mean() == pytest.approx(0.5, abs=0.05)
    assert (a == b).all() and (a != c).any() and (a != d).any()


def test_parameter_depends_on_its_seed_or_its_name() -> None:
    """the array is the variable"""
    make = lambda name, seed: backend.create_parameter(  # noqa: E731
        name, (2, 3), "float32", init=init.RandomUniform(seed=seed), trainable=True
    )
    variable, value = make("a", None)
    assert variable is value and value.dtype == "float32"
    assert (make("a", None)[0] == value).all() and (make("b", None)[0] != value).any()
    assert (make("a", 3)[0] == make("b", 3)[0]).all()


def test_texts() -> None:
    """numpy has several dtypes for them, we have one"""
    assert backend.dtype_name(numpy.array(["a"])) == backend.dtype_name(numpy.array([b"a"], object)) == "string"
