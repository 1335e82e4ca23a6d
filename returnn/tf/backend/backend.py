"""rf on TensorFlow graphs: raw values are graph tensors, axes are numbers.

Start-up time is the number of graph operations times half a millisecond, so each method makes as few as it can: static
shapes are used where they are known, and constants are not made twice.
"""

from __future__ import annotations

import contextlib
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.frontend import init as rf_init
from returnn.tensor.backend import Backend, Raw, Size, register_backend
from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf, v1
from returnn.tf.util import ops
from returnn.tf.util.math import clip_with_identity_gradient, safe_exp, safe_log
from returnn.util.errors import ConfigError

from . import (
    conv,
    ctc,
    ctc_alignment,
    elementwise,
    fsa,
    gradients,
    lstm,
    products,
    random,
    rnn,
    signal,
    user_cells,
    variables,
)
from .dropout import dropout
from .frame_loop import frame_loop
from .kept_value import kept_value
from .shapes import shape_vector, size_of_axis
from .user_code import eval_globals, find_function

_UNARY_OPS = {
    **{"neg": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "square": "Square"},
    **{"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"},
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": tf.abs,
    "angle": tf.math.angle,
    "real": tf.math.real,
    "imag": tf.math.imag,
    "conj": tf.math.conj,
    "expm1": tf.math.expm1,
    "log1p": tf.math.log1p,
    "reciprocal": tf.math.reciprocal,
    "sin": tf.sin,
    "cos": tf.cos,
    "log_sigmoid": tf.math.log_sigmoid,
    "elu": tf.nn.elu,
    "selu": tf.nn.selu,
    "gelu": lambda x: tf.nn.gelu(x, approximate=False),
    "silu": lambda x: x * tf.sigmoid(x),
    "softplus": tf.nn.softplus,
    "sign": tf.sign,
    "ceil": tf.math.ceil,
    "floor": tf.floor,
    "round": tf.round,
    "logical_not": tf.logical_not,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "truediv": tf.truediv,
    "floordiv": tf.math.floordiv,
    "mod": tf.math.floormod,
    "pow": tf.pow,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "logical_and": tf.logical_and,
    "logical_or": tf.logical_or,
    "squared_difference": tf.math.squared_difference,
    "complex": tf.complex,
}
_COMPARE = {
    "equal": "Equal",
    "not_equal": "NotEqual",
    "less": "Less",
    "less_equal": "LessEqual",
    "greater": "Greater",
    "greater_equal": "GreaterEqual",
}
_REDUCE = {"sum": "Sum", "mean": "Mean", "max": "Max", "min": "Min", "prod": "Prod", "any": "Any", "all": "All"}


def _logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), safe for large values and for both -inf"""
    high = tf.maximum(a, b)
    safe = tf.where(tf.math.is_finite(high), high, tf.zeros_like(high))
    return tf.math.log(tf.exp(a - safe) + tf.exp(b - safe)) + safe


_BINARY["logaddexp"] = _logaddexp


class TFBackend(Backend):
    """Operations on graph tensors."""

    name = "tensorflow"
    priority = 10

    # ---- values in and out

    def convert(self, value: Any, dtype: str | None = None) -> Raw:
        if dtype is None or isinstance(value, (tf.Tensor, tf.Variable)):
            return tf.convert_to_tensor(value)
        if isinstance(value, (bool, int, float)):
            return ops.constant(value, dtype)
        return tf.constant(value, dtype=dtype)

    def dtype_name(self, x: Raw) -> str:
        return x.dtype.base_dtype.name

    def static_shape(self, x: Raw) -> tuple[int | None, ...]:
        if x.shape.rank is None:
            raise ConfigError(
                "the number of axes of %s is not known. Say the shape by its method set_shape, None for what varies" % x
            )
        return tuple(x.shape.as_list())

    def size_of_axis(self, x: Raw, axis: int) -> Size:
        return size_of_axis(x, axis)

    # ---- shape

    def transpose(self, x: Raw, perm: Sequence[int]) -> Raw:
        return ops.transpose(x, perm)

    def reshape(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return ops.reshape(x, shape)

    def expand_dims(self, x: Raw, axis: int) -> Raw:
        return ops.expand_dims(x, axis)

    def squeeze(self, x: Raw, axis: int) -> Raw:
        return ops.op("Squeeze", x, T=x.dtype, squeeze_dims=[axis])

    def broadcast_to(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return ops.broadcast_to(x, shape)

    def concat(self, xs: Sequence[Raw], axis: int) -> Raw:
        return ops.concat(xs, axis) if len(xs) > 1 else xs[0]

    def stack(self, xs: Sequence[Raw], axis: int) -> Raw:
        return tf.stack(xs, axis)

    def split(self, x: Raw, sizes: Sequence[int], axis: int) -> list[Raw]:
        if len(set(sizes)) == 1:
            return list(ops.make("Split", [ops.constant(axis), x], {"num_split": len(sizes), "T": x.dtype}).outputs)
        return tf.split(x, list(sizes), axis)

    def pad(self, x: Raw, paddings: Sequence[tuple[Size, Size]], *, mode: str = "constant", value: Any = 0) -> Raw:
        paddings = [list(p) for p in paddings]
        if mode != "constant":
            return tf.pad(x, paddings, mode=mode.upper())
        return tf.pad(x, paddings, constant_values=value)

    def slice(self, x: Raw, axis: int, start: Size | None, stop: Size | None, step: int = 1) -> Raw:
        fixed = all(n is None or isinstance(n, int) for n in (start, stop))
        with elementwise.outside_of_loop(x) if fixed else contextlib.nullcontext():
            return ops.slice_axis(x, axis, start, stop, step)

    def reverse_sequence(self, x: Raw, lens: Raw, *, axis: int, batch_axis: int) -> Raw:
        return tf.reverse_sequence(x, lens, seq_axis=axis, batch_axis=batch_axis)

    def gather(self, x: Raw, indices: Raw, *, axis: int, batch_dims: int = 0) -> Raw:
        if axis == 0:
            x = gradients.table_of_loop(x)
        return ops.gather(x, indices, axis=axis, batch_dims=batch_dims)

    def boolean_mask(self, x: Raw, mask: Raw) -> Raw:
        return tf.gather_nd(x, _places(mask))  # tf.boolean_mask makes 15 operations

    def boolean_scatter(self, x: Raw, mask: Raw) -> Raw:
        rest = x.shape[1:].as_list()
        if None in rest:
            rest = [self.size_of_axis(x, i) for i in range(1, x.shape.rank)]
        shape = tf.concat([shape_vector(mask), rest], 0) if rest else shape_vector(mask)
        return tf.scatter_nd(_places(mask), x, shape)

    def one_hot(self, x: Raw, depth: int, dtype: str) -> Raw:
        return tf.one_hot(x, depth, dtype=dtype)

    # ---- making values

    def full(self, shape: Sequence[Size], value: Any, dtype: str) -> Raw:
        return ops.fill(shape, value, tf.as_dtype(dtype))

    def range(self, size: Size, dtype: str = "int32") -> Raw:
        return tf.range(size) if dtype == "int32" else tf.cast(tf.range(size), dtype)

    def stateless_uniform(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        return tf.random.stateless_uniform(list(shape), seed=tf.stack([numpy.int64(seed), tf.cast(step, tf.int64)]))

    def stateless_normal(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        return tf.random.stateless_normal(list(shape), seed=tf.stack([numpy.int64(seed), tf.cast(step, tf.int64)]))

    def create_parameter(
        self, name: str, shape: Sequence[int], dtype: str, *, init: rf_init.ParamInit, trainable: bool
    ) -> tuple[Any, Raw]:
        return variables.create_variable(name, shape, dtype, init=init, trainable=trainable)

    def read_parameter(self, var: Any) -> Raw:
        return var.read_value()

    def update_parameter(self, var: Any, value: Raw, *, add: bool) -> Raw:
        with tf.control_dependencies([(var.assign_add if add else var.assign)(value)]):
            return tf.constant(0)

    def identity(self, x: Raw) -> Raw:
        return tf.identity(x)

    def after(self, raws: Sequence[Raw], function: Callable[[], Raw]) -> Raw:
        with tf.control_dependencies(list(raws)):
            return function()

    def random_from_state(
        self, state: Raw, shape: Sequence[Size], *, distribution: str, dtype: str, low: Any = None, high: Any = None
    ) -> Raw:
        return random.random_from_state(state, shape, distribution=distribution, dtype=dtype, low=low, high=high)

    def advance_random_state(self, var: Any, count: Size) -> Raw:
        return random.advance_random_state(var, count)

    # ---- element-wise

    def cast(self, x: Raw, dtype: str) -> Raw:
        return ops.cast(x, tf.as_dtype(dtype))

    def unary(self, op: str, x: Raw) -> Raw:
        return ops.unary(_UNARY_OPS[op], x) if op in _UNARY_OPS else _UNARY[op](x)

    def binary(self, op: str, a: Raw, b: Raw) -> Raw:
        return _BINARY[op](a, b)

    def binary_in_layout(self, op: str, a: Raw, b: Raw, *, missing: Sequence[Sequence[int] | None]) -> Raw:
        axes = [None if m is None else tuple(m) for m in missing]
        result = elementwise.binary(op, a, b, axes)
        return self.binary(op, a, b) if result is None else result

    def compare(self, op: str, a: Raw, b: Raw) -> Raw:
        return ops.compare(_COMPARE[op], a, b)

    def where(self, condition: Raw, a: Raw, b: Raw) -> Raw:
        return ops.select(condition, a, b)

    def masked_fill(self, x: Raw, mask: Raw, value: Any) -> Raw:
        return elementwise.masked_fill(x, mask, value)

    def clip(self, x: Raw, low: Any, high: Any) -> Raw:
        if low is not None:
            x = tf.maximum(x, tf.cast(low, x.dtype))
        if high is not None:
            x = tf.minimum(x, tf.cast(high, x.dtype))
        return x

    def stop_gradient(self, x: Raw) -> Raw:
        return tf.stop_gradient(x)

    def clip_with_identity_gradient(self, x: Raw, low: Any, high: Any) -> Raw:
        return clip_with_identity_gradient(x, low, high)

    def scaled_gradient(
        self, x: Raw, *, scale: Any, shift: Any, sum_axis: int | None, clip_max_axis: int | None
    ) -> Raw:
        return elementwise.scaled_gradient(x, scale=scale, shift=shift, sum_axis=sum_axis, clip_max_axis=clip_max_axis)

    def safe_log(self, x: Raw, eps: float) -> Raw:
        return safe_log(x, eps)

    def safe_exp(self, x: Raw, eps: float) -> Raw:
        return safe_exp(x, eps)

    def zero_large_gradient(self, x: Raw, limit: float, *, batch_axis: int | None) -> Raw:
        axes = [i for i in range(x.shape.rank) if i != batch_axis]

        @tf.custom_gradient
        def filtered(x: Raw) -> tuple[Raw, Callable[[Raw], Raw]]:
            def grad(dx: Raw) -> Raw:
                largest = tf.reduce_max(tf.square(dx), axis=axes, keepdims=True)
                return tf.where(largest < limit, dx, tf.zeros((), dx.dtype))

            return tf.identity(x), grad

        return filtered(x)

    def synthetic_gradient(self, x: Raw, synthetic: Raw, weight: Raw) -> Raw:
        return gradients.synthetic_gradient(x, synthetic, weight)

    def gradient(self, y: Raw, x: Raw) -> Raw | None:
        return gradients.gradient(y, x)

    def watched(self, x: Raw) -> Raw:
        return tf.identity(x)

    # ---- several elements at a time

    def reduce(self, x: Raw, mode: str, axes: Sequence[int] | None, *, keep_dims: bool = False) -> Raw:
        axes = list(range(x.shape.rank)) if axes is None else list(axes)
        if mode == "logsumexp":
            return tf.reduce_logsumexp(x, axis=axes, keepdims=keep_dims)
        return ops.reduce(_REDUCE[mode], x, axes, keep_dims=keep_dims)

    def arg_reduce(self, x: Raw, mode: str, axis: int) -> Raw:
        function = tf.argmax if mode == "argmax" else tf.argmin
        return function(x, axis=axis, output_type=tf.int32)

    def softmax(self, x: Raw, axis: int, *, log: bool = False) -> Raw:
        if axis == x.shape.rank - 1:
            return ops.op("LogSoftmax" if log else "Softmax", x, T=x.dtype)
        return (tf.nn.log_softmax if log else tf.nn.softmax)(x, axis=axis)

    def normalize(self, x: Raw, axis: int, epsilon: float) -> Raw:
        return elementwise.normalize(x, axis, epsilon)

    def dropout(
        self, x: Raw, drop_prob: float, *, axes: Sequence[int], seed: int, step: Raw, train_flag: bool | Raw
    ) -> Raw:
        return dropout(x, drop_prob, axes=axes, seed=seed, step=step, train_flag=train_flag)

    def einsum(self, equation: str, a: Raw, b: Raw) -> Raw:
        return products.einsum(equation, a, b)

    def dense(self, x: Raw, w: Raw) -> Raw:
        if x.shape.rank == 2:
            return ops.matmul(x, w)
        # one op, as fast as matmul between two reshapes, which would be about 15
        letters = string.ascii_letters[: x.shape.rank]
        return self.einsum("%s,%sZ->%sZ" % (letters, letters[-1], letters[:-1]), x, w)

    def pool(
        self, x: Raw, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool
    ) -> Raw:
        return conv.pool(x, mode, size=size, strides=strides, dilation=dilation, same=same)

    def frames(self, x: Raw, *, axis: int, size: int, stride: int) -> Raw:
        return signal.frames(x, axis=axis, size=size, stride=stride)

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
        return conv.conv(x, filter, padding=padding, strides=strides, dilation=dilation, groups=groups)

    def transposed_conv(
        self, x: Raw, filter: Raw, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]
    ) -> Raw:
        return conv.transposed_conv(x, filter, strides=strides, left=left, extra=extra)

    def fft(self, x: Raw, size: int, *, kind: str) -> Raw:
        return signal.fft(x, size, kind=kind)

    def cumsum(self, x: Raw, axis: int, *, reverse: bool = False) -> Raw:
        return tf.cumsum(x, axis, reverse=reverse)

    def scatter_add(self, x: Raw, indices: Raw, *, batch_dims: int, size: Size) -> Raw:
        rest = [self.size_of_axis(x, i) for i in range(indices.shape.rank, x.shape.rank)]
        if not batch_dims:
            return tf.scatter_nd(tf.expand_dims(indices, -1), x, [size, *rest])
        batch = [self.size_of_axis(x, i) for i in range(batch_dims)]
        inner = [self.size_of_axis(x, i) for i in range(batch_dims, indices.shape.rank)]
        number = batch[0] if batch_dims == 1 else tf.reduce_prod(batch)
        if batch_dims > 1:
            indices, x = tf.reshape(indices, [number, *inner]), tf.reshape(x, [number, *inner, *rest])
        rows = tf.reshape(tf.range(number), [-1] + [1] * len(inner))
        places = tf.stack([tf.broadcast_to(rows, [number, *inner]), indices], axis=-1)
        res = tf.scatter_nd(places, x, [number, size, *rest])
        return res if batch_dims == 1 else self.reshape(res, [*batch, size, *rest])

    def top_k(self, x: Raw, k: Size, *, sorted: bool) -> tuple[Raw, Raw]:
        return tf.math.top_k(x, k, sorted=sorted)

    def search_sorted(self, sorted_seq: Raw, values: Raw, *, right: bool) -> Raw:
        function = tf.raw_ops.UpperBound if right else tf.raw_ops.LowerBound  # both of [rows, n], [rows, m]
        batch = [self.size_of_axis(values, i) for i in range(values.shape.rank - 1)]
        if len(batch) == 1:
            return function(sorted_inputs=sorted_seq, values=values)
        rows = tf.reduce_prod(batch) if batch else 1
        n, m = (self.size_of_axis(x, len(batch)) for x in (sorted_seq, values))
        places = function(sorted_inputs=tf.reshape(sorted_seq, [rows, n]), values=tf.reshape(values, [rows, m]))
        return tf.reshape(places, [*batch, m])

    # ---- whole algorithms

    def sparse_softmax_cross_entropy(self, logits: Raw, labels: Raw) -> Raw:
        if labels.dtype not in (tf.int32, tf.int64):  # it takes no others, and datasets with few labels have them
            labels = tf.cast(labels, tf.int32)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels)

    def lstm(
        self, x: Raw, w: Raw | None, w_re: Raw, b: Raw | None, *, sparse: bool = False, **options: Any
    ) -> tuple[Raw, Raw, Raw]:
        if sparse:
            rows = tf.gather(w, x)
            return lstm.lstm(rows if b is None else rows + b, w_re, **options)
        return lstm.lstm(x, w_re, w=w, b=b, **options)

    def rnn(self, x: Raw, **options: Any) -> tuple[Raw, list[Raw]]:
        return rnn.rnn(x, **options)

    def user_rnn_cell(self, cell_class: type, num_units: int, opts: dict[str, Any]) -> Any:
        return user_cells.UserCell(cell_class, num_units, opts)

    def kept_value(
        self, name: str, width: int | Sequence[int | None], *, rows: Size, reset: Raw | None
    ) -> tuple[Raw, Callable[[Raw], Any]]:
        return kept_value(name, width, rows=rows, reset=reset)

    def placeholder(self, name: str, shape: Sequence[int | None], dtype: str) -> Raw:
        with tf.init_scope(), v1.name_scope(None):
            return v1.placeholder(dtype, list(shape), name=name)

    def named(self, x: Raw, name: str) -> Raw:
        with v1.name_scope(None):
            return tf.identity(x, name=name)

    def ctc_loss(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        return ctc.ctc_loss(logits, logit_lens, labels, label_lens, **options)

    def ctc_full_sum(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        return ctc_alignment.ctc_full_sum(logits, logit_lens, labels, label_lens, **options)

    def ctc_best_path(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        return ctc_alignment.ctc_best_path(logits, logit_lens, labels, label_lens, **options)

    def ctc_decode(self, logits: Raw, logit_lens: Raw, *, beam_width: int) -> tuple[Raw, Raw]:
        if beam_width == 1:
            return ctc.ctc_greedy_decode(logits, logit_lens)
        return ctc.ctc_beam_decode(logits, logit_lens, beam_width=beam_width)

    def collapse_repeated(self, labels: Raw, lens: Raw) -> tuple[Raw, Raw]:
        return ctc_alignment.collapse_repeated(labels, lens)

    def edit_distance(self, a: Raw, a_lens: Raw, b: Raw, b_lens: Raw) -> Raw:
        res = ctc.edit_distance(a, a_lens, b, b_lens)
        res.set_shape([None])  # the op does not say
        return res

    def fsa_full_sum(self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw) -> tuple[Raw, Raw]:
        return fsa.full_sum(scores, lens, edges, weights, start_end_states)

    def fsa_best_path(
        self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw, *, mask_label: int
    ) -> tuple[Raw, Raw]:
        return fsa.best_path(scores, lens, edges, weights, start_end_states, mask_label=mask_label)

    def call_numpy(
        self, function: Callable[..., Sequence[Any]], args: Sequence[Raw], results: Sequence[tuple[str, int]]
    ) -> list[Raw]:
        def call(*arrays: Any) -> list[Any]:
            return [numpy.asarray(y, dtype) for y, (dtype, _) in zip(function(*arrays), results, strict=True)]

        values = tf.numpy_function(call, list(args), [tf.as_dtype(dtype) for dtype, _ in results])
        for value, (_, rank) in zip(values, results, strict=True):
            value.set_shape([None] * rank)
        return list(values)

    # ---- users' code, and control

    def function_by_name(self, name: str) -> Callable[..., Raw] | None:
        return find_function(name)

    def user_code_globals(self) -> dict[str, Any]:
        return eval_globals()

    def cond(self, condition: Raw, true_fn: Callable[[], Raw], false_fn: Callable[[], Raw]) -> Raw:
        return v1.cond(condition, true_fn, false_fn)

    def frame_loop(self, body: Callable[..., Any], **options: Any) -> tuple[Raw, list[Raw], list[Raw]]:
        return frame_loop(body, **options)


def _places(mask: Raw) -> Raw:
    """
    :return: int32 [number of entries that are true, axes of mask], the same op each time in one control-flow context
    """
    return current_table().cached(("places", id(mask)), lambda: (tf.cast(tf.where(mask), tf.int32), mask))[0]


backend = TFBackend()
for _raw_type in (tf.Tensor, tf.Variable, v1.Variable):
    register_backend(_raw_type, backend)
