"""rf on numpy arrays: for data, for tests, and as the plainest statement of what each operation means.

dtypes never widen on the way: float32 stays float32, int32 stays int32.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import eager_loop, numpy_alignment, numpy_conv, numpy_rnn
from .backend import REAL_VALUED, Backend, Raw, Size, register_backend


def _sigmoid(x: Raw) -> Raw:
    return 0.5 * numpy.tanh(0.5 * x) + 0.5


def _softplus(x: Raw) -> Raw:
    return numpy.logaddexp(x, numpy.zeros((), x.dtype))


def _elu(x: Raw, alpha: float = 1.0) -> Raw:
    return numpy.where(x > 0, x, alpha * numpy.expm1(numpy.minimum(x, 0)))


def _gelu(x: Raw) -> Raw:
    erf = numpy.vectorize(math.erf, otypes=[x.dtype])
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


_UNARY: dict[str, Callable[[Raw], Raw]] = {
    "abs": numpy.abs,
    "angle": numpy.angle,
    "real": numpy.real,
    "imag": numpy.imag,
    "conj": numpy.conj,
    "neg": numpy.negative,
    "exp": numpy.exp,
    "expm1": numpy.expm1,
    "log": numpy.log,
    "log1p": numpy.log1p,
    "sqrt": numpy.sqrt,
    "rsqrt": lambda x: 1 / numpy.sqrt(x),
    "square": numpy.square,
    "reciprocal": lambda x: 1 / x,
    "sin": numpy.sin,
    "cos": numpy.cos,
    "tanh": numpy.tanh,
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: -_softplus(-x),
    "relu": lambda x: numpy.maximum(x, 0),
    "elu": _elu,
    "selu": lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772),
    "gelu": _gelu,
    "silu": lambda x: x * _sigmoid(x),
    "softplus": _softplus,
    "sign": numpy.sign,
    "ceil": numpy.ceil,
    "floor": numpy.floor,
    "round": numpy.round,
    "logical_not": numpy.logical_not,
}
_BINARY: dict[str, Callable[[Raw, Raw], Raw]] = {
    "add": numpy.add,
    "sub": numpy.subtract,
    "mul": numpy.multiply,
    "truediv": numpy.true_divide,
    "floordiv": numpy.floor_divide,
    "mod": numpy.mod,
    "pow": numpy.power,
    "maximum": numpy.maximum,
    "minimum": numpy.minimum,
    "logical_and": numpy.logical_and,
    "logical_or": numpy.logical_or,
    "squared_difference": lambda a, b: numpy.square(a - b),
    "logaddexp": numpy.logaddexp,
    "complex": lambda a, b: a + numpy.complex64(1j) * b,
}


def _logsumexp(x: Raw, axis: Any, keepdims: bool) -> Raw:
    high = numpy.max(x, axis=axis, keepdims=True, initial=-numpy.inf)
    high = numpy.where(numpy.isfinite(high), high, 0).astype(x.dtype)
    res = numpy.log(numpy.sum(numpy.exp(x - high), axis=axis, keepdims=True)) + high
    return res if keepdims else numpy.squeeze(res, axis=axis)


def _mean(x: Raw, axis: Any, keepdims: bool) -> Raw:
    if x.dtype.kind == "f":
        return numpy.mean(x, axis=axis, keepdims=keepdims)
    total = numpy.sum(x, axis=axis, keepdims=keepdims)
    return total // (x.size // max(total.size, 1))


_REDUCE: dict[str, Callable[..., Raw]] = {
    "sum": numpy.sum,
    "mean": _mean,
    "max": numpy.max,
    "min": numpy.min,
    "prod": numpy.prod,
    "any": numpy.any,
    "all": numpy.all,
    "logsumexp": _logsumexp,
}


class NumpyBackend(Backend):
    """Operations on numpy arrays; see the base class."""

    name = "numpy"
    priority = 1

    # ---- values in and out

    def convert(self, value: Any, dtype: str | None = None) -> Raw:
        return numpy.asarray(value, dtype=None if dtype == "string" else dtype)

    def dtype_name(self, x: Raw) -> str:
        return "string" if x.dtype.kind in "OSU" else x.dtype.name

    def static_shape(self, x: Raw) -> tuple[int | None, ...]:
        return x.shape

    def size_of_axis(self, x: Raw, axis: int) -> Size:
        return x.shape[axis]

    def to_numpy(self, x: Raw) -> Any:
        return numpy.asarray(x)

    # ---- shape

    def transpose(self, x: Raw, perm: Sequence[int]) -> Raw:
        return numpy.transpose(x, perm)

    def reshape(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return numpy.reshape(x, [int(size) for size in shape])

    def expand_dims(self, x: Raw, axis: int) -> Raw:
        return numpy.expand_dims(x, axis)

    def squeeze(self, x: Raw, axis: int) -> Raw:
        return numpy.squeeze(x, axis)

    def broadcast_to(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return numpy.broadcast_to(x, [int(size) for size in shape])

    def concat(self, xs: Sequence[Raw], axis: int) -> Raw:
        return numpy.concatenate(xs, axis)

    def stack(self, xs: Sequence[Raw], axis: int) -> Raw:
        return numpy.stack(xs, axis)

    def split(self, x: Raw, sizes: Sequence[int], axis: int) -> list[Raw]:
        return numpy.split(x, numpy.cumsum(sizes)[:-1], axis)

    def pad(self, x: Raw, paddings: Sequence[tuple[Size, Size]], *, mode: str = "constant", value: Any = 0) -> Raw:
        paddings = [(int(before), int(behind)) for before, behind in paddings]
        if mode == "constant":
            return numpy.pad(x, paddings, constant_values=value)
        padded: Raw = numpy.pad(x, paddings, mode="reflect" if mode == "reflect" else "symmetric")
        return padded

    def slice(self, x: Raw, axis: int, start: Size | None, stop: Size | None, step: int = 1) -> Raw:
        return x[(slice(None),) * axis + (slice(start, stop, step),)]

    def reverse_sequence(self, x: Raw, lens: Raw, *, axis: int, batch_axis: int) -> Raw:
        frames = numpy.arange(x.shape[axis])[None]
        lens = numpy.asarray(lens)[:, None]
        order = numpy.where(frames < lens, lens - 1 - frames, frames)  # [batch, time]
        y = numpy.moveaxis(x, (batch_axis, axis), (0, 1))
        y = y[numpy.arange(len(order))[:, None], order]
        return numpy.moveaxis(y, (0, 1), (batch_axis, axis))

    def gather(self, x: Raw, indices: Raw, *, axis: int, batch_dims: int = 0) -> Raw:
        if batch_dims == 0:
            return numpy.take(x, indices, axis=axis)
        if not len(x):
            shape = x.shape[:axis] + numpy.shape(indices)[batch_dims:] + x.shape[axis + 1 :]
            return numpy.empty(shape, x.dtype)
        parts = [
            self.gather(part, index, axis=axis - 1, batch_dims=batch_dims - 1)
            for part, index in zip(x, indices, strict=True)
        ]
        return numpy.stack(parts)

    def boolean_mask(self, x: Raw, mask: Raw) -> Raw:
        return x[mask]

    def boolean_scatter(self, x: Raw, mask: Raw) -> Raw:
        res = numpy.zeros(mask.shape + x.shape[1:], x.dtype)
        res[mask] = x
        return res

    def one_hot(self, x: Raw, depth: int, dtype: str) -> Raw:
        return (numpy.expand_dims(x, -1) == numpy.arange(depth)).astype(dtype)

    # ---- making values

    def full(self, shape: Sequence[Size], value: Any, dtype: str) -> Raw:
        return numpy.full([int(size) for size in shape], value, dtype)

    def range(self, size: Size, dtype: str = "int32") -> Raw:
        return numpy.arange(int(size), dtype=dtype)

    def stateless_uniform(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        return _generator(seed, step).random([int(size) for size in shape], dtype=numpy.float32)

    def stateless_normal(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        return _generator(seed, step).standard_normal([int(size) for size in shape], dtype=numpy.float32)

    def create_parameter(
        self, name: str, shape: Sequence[int], dtype: str, *, init: Any, trainable: bool
    ) -> tuple[Any, Raw]:
        """The array is variable and value in one: assign into it. Without a seed, the name is the seed."""
        seed = zlib.crc32(name.encode("utf8")) if init.seed is None else init.seed
        value = numpy.asarray(init.draw(tuple(shape), numpy.random.RandomState(seed))).astype(dtype)
        return value, value

    def assign(self, var: Any, value: Raw) -> None:
        var[...] = value

    def read_parameter(self, var: Any) -> Raw:
        return var.copy()

    def random_from_state(
        self, state: Raw, shape: Sequence[Size], *, distribution: str, dtype: str, low: Any = None, high: Any = None
    ) -> Raw:
        words = numpy.concatenate([numpy.asarray(state).astype("uint64"), numpy.zeros(3, "uint64")])
        generator = numpy.random.Generator(numpy.random.Philox(counter=words[[0, 1, 3, 4]], key=words[[2, 5]]))
        size = [int(n) for n in shape]
        if numpy.dtype(dtype).kind in "iu":
            return generator.integers(low, high, size, dtype=dtype)
        if distribution == "uniform":
            return generator.random(size, dtype=numpy.float32).astype(dtype)
        values = numpy.asarray(generator.standard_normal(size))
        while distribution == "truncated_normal" and (outside := numpy.abs(values) > 2).any():
            values[outside] = generator.standard_normal(int(outside.sum()))
        return values.astype(dtype)

    # ---- element-wise

    def cast(self, x: Raw, dtype: str) -> Raw:
        with numpy.errstate(invalid="ignore"):  # nan or inf, which may stand in padding, to integer
            return numpy.asarray(x).astype(dtype)

    def unary(self, op: str, x: Raw) -> Raw:
        with numpy.errstate(all="ignore"):
            x = numpy.asarray(x)
            return _keep_dtype(_UNARY[op](x), x.real if op in REAL_VALUED else x)

    def binary(self, op: str, a: Raw, b: Raw) -> Raw:
        a, b = _same_dtype(a, b)
        with numpy.errstate(all="ignore"):
            res = _BINARY[op](a, b)
            return _keep_dtype(res, None if op == "complex" or (op == "truediv" and a.dtype.kind in "iu") else a)

    def compare(self, op: str, a: Raw, b: Raw) -> Raw:
        return numpy.asarray(getattr(numpy, op)(*_same_dtype(a, b)))

    def masked_fill(self, x: Raw, mask: Raw, value: Any) -> Raw:
        return numpy.where(mask, x, numpy.asarray(value, x.dtype))

    def where(self, condition: Raw, a: Raw, b: Raw) -> Raw:
        return numpy.where(condition, *_same_dtype(a, b))

    def clip(self, x: Raw, low: Any, high: Any) -> Raw:
        x = numpy.asarray(x)
        x = x if low is None else numpy.maximum(x, numpy.asarray(low, x.dtype))
        return x if high is None else numpy.minimum(x, numpy.asarray(high, x.dtype))

    def stop_gradient(self, x: Raw) -> Raw:
        return x

    def clip_with_identity_gradient(self, x: Raw, low: Any, high: Any) -> Raw:
        return self.clip(x, low, high)

    def scaled_gradient(
        self, x: Raw, *, scale: Any, shift: Any, sum_axis: int | None, clip_max_axis: int | None
    ) -> Raw:
        return x

    def zero_large_gradient(self, x: Raw, limit: float, *, batch_axis: int | None) -> Raw:
        return x

    def synthetic_gradient(self, x: Raw, synthetic: Raw, weight: Raw) -> Raw:
        return x

    # ---- several elements at a time

    def reduce(self, x: Raw, mode: str, axes: Sequence[int] | None, *, keep_dims: bool = False) -> Raw:
        x = numpy.asarray(x)
        axis = tuple(range(x.ndim)) if axes is None else tuple(axes)
        if mode in ("max", "min") and 0 in [x.shape[i] for i in axis]:  # of nothing: as TensorFlow has it
            limits: Any = numpy.finfo(x.dtype) if x.dtype.kind == "f" else numpy.iinfo(x.dtype)
            lowest, highest = (-numpy.inf, numpy.inf) if x.dtype.kind == "f" else (limits.min, limits.max)
            kept = [(1 if i in axis else n) for i, n in enumerate(x.shape) if keep_dims or i not in axis]
            return numpy.full(kept, lowest if mode == "max" else highest, x.dtype)
        with numpy.errstate(all="ignore"):
            return _keep_dtype(_REDUCE[mode](x, axis=axis, keepdims=keep_dims), x)

    def arg_reduce(self, x: Raw, mode: str, axis: int) -> Raw:
        function = numpy.argmax if mode == "argmax" else numpy.argmin
        if not x.shape[axis]:
            return numpy.zeros(x.shape[:axis] + x.shape[axis + 1 :], "int32")
        return numpy.asarray(function(x, axis=axis), dtype="int32")

    def softmax(self, x: Raw, axis: int, *, log: bool = False) -> Raw:
        with numpy.errstate(all="ignore"):
            shifted = x - numpy.max(x, axis=axis, keepdims=True, initial=-numpy.inf)
            total = numpy.sum(numpy.exp(shifted), axis=axis, keepdims=True)
            return (shifted - numpy.log(total) if log else numpy.exp(shifted) / total).astype(x.dtype)

    def einsum(self, equation: str, a: Raw, b: Raw) -> Raw:
        return numpy.asarray(numpy.einsum(equation, a, b))

    def dense(self, x: Raw, w: Raw) -> Raw:
        return numpy.matmul(x, w)

    def pool(
        self, x: Raw, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool
    ) -> Raw:
        with numpy.errstate(all="ignore"):
            return numpy_conv.pool(x, mode, size=size, strides=strides, dilation=dilation, same=same)

    def frames(self, x: Raw, *, axis: int, size: int, stride: int) -> Raw:
        count = max(x.shape[axis] - (size - 1), 0)
        parts = [self.slice(x, axis, i, i + count, stride) for i in range(size)]
        return numpy.stack(parts, axis=axis + 1)

    def conv(
        self,
        x: Raw,
        filter: Raw,
        *,
        padding: str | Sequence[tuple[int, int]],
        strides: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> Raw:
        with numpy.errstate(all="ignore"):
            return numpy_conv.conv(x, filter, padding=padding, strides=strides, dilation=dilation, groups=groups)

    def transposed_conv(
        self, x: Raw, filter: Raw, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]
    ) -> Raw:
        with numpy.errstate(all="ignore"):
            return numpy_conv.transposed_conv(x, filter, strides=strides, left=left, extra=extra)

    def fft(self, x: Raw, size: int, *, kind: str) -> Raw:
        function: Any = getattr(numpy.fft, kind)
        with numpy.errstate(all="ignore"):
            return function(x, size).astype("float32" if kind == "irfft" else "complex64")

    def cumsum(self, x: Raw, axis: int, *, reverse: bool = False) -> Raw:
        if reverse:
            return numpy.flip(self.cumsum(numpy.flip(x, axis), axis), axis)
        with numpy.errstate(all="ignore"):  # padding may hold anything
            return numpy.cumsum(x, axis=axis, dtype=x.dtype)

    def scatter_add(self, x: Raw, indices: Raw, *, batch_dims: int, size: Size) -> Raw:
        batch, rest = x.shape[:batch_dims], x.shape[indices.ndim :]
        rows = numpy.arange(math.prod(batch)).reshape(batch + (1,) * (indices.ndim - batch_dims))
        res = numpy.zeros((math.prod(batch), int(size), *rest), x.dtype)
        with numpy.errstate(all="ignore"):
            numpy.add.at(res, (numpy.broadcast_to(rows, indices.shape), indices), x)
        return res.reshape(*batch, int(size), *rest)

    def top_k(self, x: Raw, k: Size, *, sorted: bool) -> tuple[Raw, Raw]:
        order = x.shape[-1] - 1 - numpy.argsort(x[..., ::-1], axis=-1, kind="stable")  # of equal ones the first is last
        places = order[..., ::-1][..., : int(k)].astype("int32")
        return numpy.take_along_axis(x, places, axis=-1), places

    def search_sorted(self, sorted_seq: Raw, values: Raw, *, right: bool) -> Raw:
        res = numpy.zeros(values.shape, "int32")
        for row in numpy.ndindex(*values.shape[:-1]):
            res[row] = numpy.searchsorted(sorted_seq[row], values[row], side="right" if right else "left")
        return res

    # ---- whole algorithms

    def sparse_softmax_cross_entropy(self, logits: Raw, labels: Raw) -> Raw:
        scores = self.softmax(logits, logits.ndim - 1, log=True)
        return -numpy.take_along_axis(scores, numpy.expand_dims(labels, -1), axis=-1)[..., 0]

    def lstm(
        self, x: Raw, w: Raw | None, w_re: Raw, b: Raw | None, *, sparse: bool = False, **options: Any
    ) -> tuple[Raw, Raw, Raw]:
        z = x if w is None else w[x] if sparse else numpy.matmul(x, w)
        return numpy_rnn.lstm(z if b is None else z + b, w_re, **options)

    def rnn(self, x: Raw, **options: Any) -> tuple[Raw, list[Raw]]:
        return numpy_rnn.rnn(x, **options)

    def ctc_loss(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        scores = self.softmax(logits, 2, log=True)
        return numpy_alignment.ctc_loss(scores, logit_lens, labels, label_lens, **options)

    def ctc_full_sum(
        self,
        logits: Raw,
        logit_lens: Raw,
        labels: Raw,
        label_lens: Raw,
        *,
        logits_normalize: bool = True,
        grad_wrt_softmax_in: bool = True,
        zero_infinity: bool = False,
        **options: Any,
    ) -> Raw:
        scores = self.softmax(logits, 2, log=True) if logits_normalize else logits
        res = numpy_alignment.ctc_alignments(scores, logit_lens, labels, label_lens, **options)
        return numpy.where(numpy.isfinite(res), res, numpy.zeros((), res.dtype))

    def ctc_best_path(
        self,
        logits: Raw,
        logit_lens: Raw,
        labels: Raw,
        label_lens: Raw,
        *,
        logits_normalize: bool = True,
        **options: Any,
    ) -> Raw:
        scores = self.softmax(logits, 2, log=True) if logits_normalize else logits
        return numpy_alignment.ctc_alignments(scores, logit_lens, labels, label_lens, best_only=True, **options)

    def ctc_decode(self, logits: Raw, logit_lens: Raw, *, beam_width: int) -> tuple[Raw, Raw]:
        if beam_width != 1:
            raise self._missing("ctc_decode with a beam")
        return numpy_alignment.ctc_greedy_decode(logits, logit_lens)

    def collapse_repeated(self, labels: Raw, lens: Raw) -> tuple[Raw, Raw]:
        return numpy_alignment.collapse_repeated(labels, lens)

    def edit_distance(self, a: Raw, a_lens: Raw, b: Raw, b_lens: Raw) -> Raw:
        pairs = zip(a, a_lens, b, b_lens, strict=True)
        return numpy.array([numpy_alignment.edit_distance(x[:n], y[:m]) for x, n, y, m in pairs], dtype="int32")

    def fsa_full_sum(self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw) -> tuple[Raw, Raw]:
        return numpy_alignment.fsa_full_sum(scores, lens, edges, weights, start_end_states)

    def fsa_best_path(
        self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw, *, mask_label: int
    ) -> tuple[Raw, Raw]:
        return numpy_alignment.fsa_best_path(scores, lens, edges, weights, start_end_states, mask_label=mask_label)

    def call_numpy(
        self, function: Callable[..., Sequence[Any]], args: Sequence[Raw], results: Sequence[tuple[str, int]]
    ) -> list[Raw]:
        return [numpy.asarray(y, dtype) for y, (dtype, _) in zip(function(*args), results, strict=True)]

    # ---- users' code, and control

    def function_by_name(self, name: str) -> Callable[..., Raw] | None:
        if name in _UNARY:
            return lambda x: self.unary(name, x)
        if name in _BINARY:
            return lambda a, b: self.binary(name, a, b)
        return None

    def user_code_globals(self) -> dict[str, Any]:
        return {"numpy": numpy}

    def cond(self, condition: Raw, true_fn: Callable[[], Raw], false_fn: Callable[[], Raw]) -> Raw:
        return true_fn() if condition else false_fn()

    def frame_loop(
        self, body: Callable[..., Any], *, back_prop: bool = True, **options: Any
    ) -> tuple[Raw, list[Raw], list[Raw]]:
        return eager_loop.frame_loop(self, body, **options)


def _generator(seed: int, step: Raw) -> numpy.random.Generator:
    return numpy.random.Generator(numpy.random.Philox(key=[int(seed), int(step)]))


def _keep_dtype(res: Raw, like: Raw | None) -> Raw:
    """
    :return: array of the dtype of ``like``; numpy widens small integers in sums, and scalars lose their array
    """
    res = numpy.asarray(res)
    return res if like is None else res.astype(like.dtype, copy=False)


def _same_dtype(a: Raw, b: Raw) -> tuple[Raw, Raw]:
    """
    :return: arrays; a plain number takes the dtype of the other operand
    """
    is_array = [isinstance(x, (numpy.ndarray, numpy.generic)) for x in (a, b)]
    if is_array == [True, False]:
        return numpy.asarray(a), numpy.asarray(b, a.dtype)
    if is_array == [False, True]:
        return numpy.asarray(a, b.dtype), numpy.asarray(b)
    return numpy.asarray(a), numpy.asarray(b)


backend = NumpyBackend()
register_backend(numpy.ndarray, backend)
register_backend(numpy.generic, backend)
