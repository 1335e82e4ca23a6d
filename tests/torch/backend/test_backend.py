"""Operations on raw values against those of numpy, and what only PyTorch has. With dims: tests/frontend/."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.frontend import init
from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor.backend import Backend
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from returnn.torch.backend import TorchBackend, backend, on_device  # noqa: E402 - needs torch
from returnn.torch.backend.values import operands, to_tensor  # noqa: E402

MODES = ["sum", "mean", "max", "min", "prod", "any", "all", "logsumexp"]


def random_array(shape: Any, seed: int, dtype: str = "float32") -> numpy.ndarray:
    """normal, or 0 to 3, or True and False"""
    rng = numpy.random.RandomState(seed)
    if dtype == "bool":
        return rng.rand(*shape) < 0.5
    return rng.normal(size=shape).astype(dtype) if "float" in dtype else rng.randint(0, 4, shape).astype(dtype)


def assert_same(op: str, *args: Any, tol: float = 1e-5, **options: Any) -> None:
    """The method of both backends; arrays among the arguments become tensors."""
    expected = getattr(numpy_backend, op)(*args, **options)

    def to_torch(value: Any) -> Any:
        return torch.tensor(value) if isinstance(value, numpy.ndarray) else value

    result = getattr(backend, op)(*map(to_torch, args), **{key: to_torch(x) for key, x in options.items()})
    assert backend.dtype_name(result) == numpy_backend.dtype_name(expected)
    assert tuple(result.shape) == expected.shape
    numpy.testing.assert_allclose(result.numpy(), expected, rtol=tol, atol=tol)


shapes = st.lists(st.integers(0, 4), min_size=1, max_size=4)
seeds = st.integers(0, 99)


def test_all_operations_are_there() -> None:
    """Each public method of the base class, but those that do something there already."""
    methods = {name: f for name, f in vars(Backend).items() if not name.startswith("_") and callable(f)}
    abstract = [name for name, f in methods.items() if "_missing" in f.__code__.co_names]
    missing = [name for name in abstract if getattr(TorchBackend, name) is methods[name]]
    assert len(abstract) > 50 and missing == []


@settings(deadline=None)
@given(shape=shapes, mode=st.sampled_from(MODES), keep_dims=st.booleans(), data=st.data(), seed=seeds)
def test_reduce(shape: list[int], mode: str, keep_dims: bool, data: st.DataObject, seed: int) -> None:
    """Any axes, none and all of them too; floats and integers; of nothing as well."""
    axes = data.draw(st.one_of(st.none(), st.sets(st.integers(0, len(shape) - 1)).map(sorted)))
    if mode in ("any", "all"):
        dtype = "bool"
    else:
        dtype = data.draw(st.sampled_from(["float32"] if mode == "logsumexp" else ["float32", "int32", "uint8"]))
    reduced = [shape[i] for i in (range(len(shape)) if axes is None else axes)]
    if mode == "mean" and 0 in reduced:
        return  # nan on one, a warning on the other
    assert_same("reduce", random_array(shape, seed, dtype), mode, axes, keep_dims=keep_dims)


@settings(deadline=None)
@given(shape=shapes.filter(all), mode=st.sampled_from(["argmax", "argmin"]), data=st.data(), seed=seeds)
def test_arg_reduce_takes_the_first(shape: list[int], mode: str, data: st.DataObject, seed: int) -> None:
    """Of integers, which are often equal."""
    assert_same("arg_reduce", random_array(shape, seed, "int32"), mode, data.draw(st.integers(0, len(shape) - 1)))


@settings(deadline=None)
@given(shape=shapes.filter(all), mode=st.sampled_from(["constant", "reflect", "symmetric"]), data=st.data(), seed=seeds)
def test_pad(shape: list[int], mode: str, data: st.DataObject, seed: int) -> None:
    """On any axes; mirrored beyond the other end, too (numpy has another idea there where there is one entry only)."""
    sizes = [(0, 7) if mode == "constant" or n > 1 else (0, 0) for n in shape]
    paddings = [(data.draw(st.integers(*size)), data.draw(st.integers(*size))) for size in sizes]
    options = {"value": 7} if mode == "constant" else {}
    assert_same("pad", random_array(shape, seed), paddings, mode=mode, **options)


@settings(deadline=None)
@given(
    batch=st.lists(st.integers(0, 3), max_size=2),
    before=st.lists(st.integers(1, 3), max_size=2),
    size=st.integers(1, 4),
    behind=st.lists(st.integers(1, 3), max_size=2),
    inner=st.lists(st.integers(0, 3), max_size=2),
    seed=seeds,
)
def test_gather(batch: list[int], before: list[int], size: int, behind: list[int], inner: list[int], seed: int) -> None:
    """x [batch.., before.., size, behind..], indices [batch.., inner..]"""
    x = random_array([*batch, *before, size, *behind], seed)
    indices = numpy.random.RandomState(seed).randint(0, size, batch + inner).astype("int32")
    assert_same("gather", x, indices, axis=len(batch + before), batch_dims=len(batch))


@settings(deadline=None)
@given(
    lens=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    time_major=st.booleans(),
    features=st.lists(st.integers(1, 2), max_size=2),
    seed=seeds,
)
def test_reverse_sequence(lens: list[int], time_major: bool, features: list[int], seed: int) -> None:
    """Time and batch first, in both orders; or behind the others."""
    sizes = [4, len(lens)] if time_major else [len(lens), 4]
    axis = 0 if time_major else 1
    array_of_lens = numpy.array(lens, "int32")
    x = random_array(sizes + features, seed)
    assert_same("reverse_sequence", x, array_of_lens, axis=axis, batch_axis=1 - axis)
    x, rank = random_array(features + sizes, seed), len(features)
    assert_same("reverse_sequence", x, array_of_lens, axis=rank + axis, batch_axis=rank + 1 - axis)


@settings(deadline=None)
@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    mode=st.sampled_from(["max", "avg"]),
    same=st.booleans(),
    data=st.data(),
)
def test_pool(lengths: list[int], mode: str, same: bool, data: st.DataObject) -> None:
    """One to three axes, with any strides and dilations; also where there is no window."""
    size, strides, dilation = ([data.draw(st.integers(1, n)) for _ in lengths] for n in (3, 3, 2))
    x = random_array([2, *lengths, 2], data.draw(seeds))
    fits = [n > 0 if same else n > (k - 1) * d for n, k, d in zip(lengths, size, dilation, strict=True)]
    if not all(fits):
        windows = backend.pool(torch.tensor(x), mode, size=size, strides=strides, dilation=dilation, same=same)
        assert windows.numel() == 0
        return
    assert_same("pool", x, mode, size=size, strides=strides, dilation=dilation, same=same)


@settings(deadline=None)
@given(shape=shapes, size=st.integers(1, 4), stride=st.integers(1, 3), data=st.data(), seed=seeds)
def test_frames(shape: list[int], size: int, stride: int, data: st.DataObject, seed: int) -> None:
    """Along any axis; also of more frames than there are."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    assert_same("frames", random_array(shape, seed), axis=axis, size=size, stride=stride)


@pytest.mark.parametrize("op", ["truediv", "floordiv", "mod", "pow", "maximum", "minimum", "squared_difference"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_binary_with_numbers(op: str, dtype: str) -> None:
    """On both sides; integers are divided to float64, and rounded down."""
    x = numpy.array([[3, -2, 1]], dtype)
    if (op, dtype) != ("pow", "int32"):
        assert_same("binary", op, x, 2)
        assert_same("binary", op, 2, x)
    assert_same("binary", op, x, numpy.array([[2], [3]], dtype))


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_of_equal_ones_the_first_gets_the_gradient(op: str) -> None:
    """As on TensorFlow; nan is kept."""
    a, b = (torch.tensor([1.0, 2.0, math.nan, 0.0], requires_grad=True) for _ in range(2))
    with torch.no_grad():
        b[3] = math.nan
    y = backend.binary(op, a, b)
    assert y.detach().numpy().tolist()[:2] == [1, 2] and y[2:].isnan().all()
    y[:2].sum().backward()
    assert a.grad.tolist()[:2] == [1, 1] and b.grad.tolist()[:2] == [0, 0]


def test_values_in_and_out() -> None:
    """Numbers become int32, float32, bool; arrays keep their dtype; texts stay numpy arrays."""
    for value, dtype in [(1, "int32"), (1.5, "float32"), (True, "bool"), ([1, 2], "int32"), ([[1.0]], "float32")]:
        assert backend.dtype_name(backend.convert(value)) == dtype
    assert backend.dtype_name(backend.convert(numpy.ones(2))) == "float64"
    assert backend.dtype_name(backend.convert(numpy.ones(2, "int64"))) == "int64"
    assert backend.dtype_name(backend.convert(1, "float16")) == "float16"
    x = torch.ones(2)
    assert backend.convert(x) is x
    read_only = numpy.broadcast_to(numpy.float32(1), (2, 3))
    assert backend.convert(read_only).tolist() == [[1] * 3] * 2
    texts = backend.convert(numpy.array(["a", "bc"]))
    assert isinstance(texts, numpy.ndarray) and backend.to_numpy(texts).tolist() == ["a", "bc"]
    assert backend.to_numpy(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
    with pytest.raises(TypeError, match="PyTorch has no dtype 'sand'"):
        backend.cast(x, "sand")


def test_operands_meet_on_the_device() -> None:
    """What is on the host moves, but scalars may stay. (The device "meta" has shapes only, and is always there.)"""
    values, lens = torch.ones(2, device="meta"), torch.tensor([1.0, 2.0])
    assert backend.binary("add", values, lens).device.type == "meta"
    assert backend.where(lens > 1, values, 0.0).device.type == "meta"
    assert backend.gather(values, torch.tensor([1]), axis=0).device.type == "meta"
    assert [x.device.type for x in operands(torch.tensor(1.0), lens, values)] == ["cpu", "meta", "meta"]
    assert backend.binary("add", lens, 1).device.type == "cpu"


def test_new_values_are_made_on_the_current_device() -> None:
    """And on the host outside; numbers are always there."""
    with on_device("meta"):
        assert backend.full([2], 1.0, "float32").device.type == backend.range(3).device.type == "meta"
        assert backend.convert([1.0, 2.0]).device.type == "meta"
        assert backend.convert(1.0).device.type == "cpu"
        with on_device("cpu"):
            assert backend.range(3).tolist() == [0, 1, 2]
    assert backend.full([2], to_tensor(3), "float32").tolist() == [3, 3]


def test_random_numbers_are_a_function_of_seed_and_step() -> None:
    """Uniform in [0, 1): mean 1/2, variance 1/12, of 10,000; neighbours do not correlate."""
    x, y, z = (backend.stateless_uniform([10000], seed=seed, step=step) for seed, step in [(1, 2), (2, 1), (1, 3)])
    assert torch.equal(x, backend.stateless_uniform([10000], seed=1, step=torch.tensor(2, dtype=torch.int64)))
    assert x.dtype == torch.float32 and 0 <= x.min() and x.max() < 1
    for a in (x, y, z):
        assert abs(a.mean() - 0.5) < 0.02 and abs(a.var() - 1 / 12) < 0.005
    for a, b in [(x, y), (x, z), (y, z), (x[:-1], x[1:])]:
        assert abs(torch.corrcoef(torch.stack([a, b]))[0, 1]) < 0.04
    normal = backend.stateless_normal([10000], seed=1, step=2**40)
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05
    state = torch.get_rng_state()
    backend.stateless_uniform([3], seed=1, step=1)
    assert torch.equal(torch.get_rng_state(), state)


def test_parameters_start_as_on_numpy() -> None:
    """With and without a seed; those that are not trained need no gradient."""
    for initial in (init.VarianceScaling(seed=3), init.RandomNormal(), init.Constant(2.0)):
        var, value = backend.create_parameter("a/W", (2, 3), "float32", init=initial, trainable=True)
        expected, _ = numpy_backend.create_parameter("a/W", (2, 3), "float32", init=initial, trainable=True)
        assert value is var and isinstance(var, torch.nn.Parameter) and var.requires_grad
        numpy.testing.assert_array_equal(var.detach().numpy(), expected)
    mean, _ = backend.create_parameter("mean", (2,), "float32", init=init.Constant(0.0), trainable=False)
    count, _ = backend.create_parameter("count", (), "int64", init=init.Constant(1), trainable=False)
    assert not mean.requires_grad and not count.requires_grad and count.dtype == torch.int64
    backend.assign(var, torch.ones(2, 3))
    assert var.tolist() == [[1] * 3] * 2 and var.requires_grad


def test_kept_values() -> None:
    """Zeros first and after a reset; without gradient; of as many rows as before."""
    kept: dict[str, Any] = {}

    def step(new: Any, *, rows: int = 2, reset: Any = None) -> list[Any]:
        with run_ctx(RunCtx(kept=kept)):
            value, keep = backend.kept_value("state", 3, rows=rows, reset=reset)
            keep(new)
        assert not value.requires_grad
        return value.tolist()

    assert step(torch.ones(2, 3, requires_grad=True)) == [[0] * 3] * 2
    assert step(torch.zeros(2, 3), reset=torch.tensor(False)) == [[1] * 3] * 2
    assert step(torch.ones(1, 3), rows=1, reset=True) == [[0] * 3]
    with pytest.raises(ConfigError, match="state: the batch must have as many sequences .*: 1, not 2"):
        step(None)
    with run_ctx(RunCtx()):
        assert backend.kept_value("state", 1, rows=1, reset=None)[0].tolist() == [[0]]


def test_what_only_a_graph_has() -> None:
    """Names of values: to feed, to fetch."""
    with pytest.raises(ConfigError, match="only in a TensorFlow graph a value can be fed by its name"):
        backend.placeholder("rec/initial_state_placeholder", [None, 3], "float32")
    x = torch.ones(2)
    assert backend.named(x, "rec/last_state") is x


def test_gradients_that_are_not_those_of_the_value() -> None:
    """Clipped values as if they were not; large gradients not at all, sequence by sequence."""
    x = torch.tensor([[-2.0, 0.5], [3.0, 0.25]], requires_grad=True)
    y = backend.clip_with_identity_gradient(x, -1, 1)
    assert y.tolist() == [[-1, 0.5], [1, 0.25]]
    (y * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[1, 2], [3, 4]]
    for weight, expected in [([[1.0, 2.0], [3.0, 0.0]], [[1, 2], [0, 0]]), ([[math.nan, 0], [1, 1]], [[0, 0], [1, 1]])]:
        (grad,) = torch.autograd.grad(
            (backend.zero_large_gradient(x, 5.0, batch_axis=0) * torch.tensor(weight)).sum(), x
        )
        assert grad.tolist() == expected
    (grad,) = torch.autograd.grad((backend.zero_large_gradient(x, 5.0, batch_axis=None) * 3).sum(), x)
    assert grad.tolist() == [[0, 0], [0, 0]]
    assert (x.detach().requires_grad, backend.stop_gradient(x).requires_grad) == (False, False)
