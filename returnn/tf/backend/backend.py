"""rf on TensorFlow graphs: raw values are graph tensors, axes are numbers.

Start-up time is the number of graph operations times half a millisecond, so each method makes as few as it can: static
shapes are used where they are known, and constants are not made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.frontend import init as rf_init
from returnn.tensor.backend import Backend, Raw, Size, register_backend
from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf, v1
from returnn.tf.util.math import clip_with_identity_gradient

from . import ctc, ctc_alignment, lstm, rnn
from .initializers import initial_value
from .kept_value import kept_value
from .user_code import eval_globals, find_function

_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": tf.abs,
    "neg": tf.negative,
    "exp": tf.exp,
    "expm1": tf.math.expm1,
    "log": tf.math.log,
    "log1p": tf.math.log1p,
    "sqrt": tf.sqrt,
    "rsqrt": tf.math.rsqrt,
    "square": tf.square,
    "reciprocal": tf.math.reciprocal,
    "sin": tf.sin,
    "cos": tf.cos,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "log_sigmoid": tf.math.log_sigmoid,
    "relu": tf.nn.relu,
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
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
}
_REDUCE: dict[str, Callable[..., Any]] = {
    "sum": tf.reduce_sum,
    "mean": tf.reduce_mean,
    "max": tf.reduce_max,
    "min": tf.reduce_min,
    "prod": tf.reduce_prod,
    "any": tf.reduce_any,
    "all": tf.reduce_all,
    "logsumexp": tf.reduce_logsumexp,
}


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
        return tf.constant(value, dtype=dtype)

    def dtype_name(self, x: Raw) -> str:
        return x.dtype.base_dtype.name

    def static_shape(self, x: Raw) -> tuple[int | None, ...]:
        if x.shape.rank is None:
            raise ValueError("%s: the number of axes is not known" % x)
        return tuple(x.shape.as_list())

    def size_of_axis(self, x: Raw, axis: int) -> Size:
        size = x.shape[axis]
        if size is not None:
            return int(size)
        return _shape_vector(x)[axis]

    # ---- shape

    def transpose(self, x: Raw, perm: Sequence[int]) -> Raw:
        return tf.transpose(x, list(perm))

    def reshape(self, x: Raw, shape: Sequence[Size]) -> Raw:
        shape = list(shape)
        dynamic = [i for i, size in enumerate(shape) if not isinstance(size, int)]
        if len(dynamic) == 1 and -1 not in shape and 0 not in shape:
            shape[dynamic[0]] = -1  # then the shape is a constant, and the op knows the other sizes
        return tf.reshape(x, shape)

    def expand_dims(self, x: Raw, axis: int) -> Raw:
        return tf.expand_dims(x, axis)

    def squeeze(self, x: Raw, axis: int) -> Raw:
        return tf.squeeze(x, [axis])

    def broadcast_to(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return tf.broadcast_to(x, list(shape))

    def concat(self, xs: Sequence[Raw], axis: int) -> Raw:
        return tf.concat(xs, axis)

    def stack(self, xs: Sequence[Raw], axis: int) -> Raw:
        return tf.stack(xs, axis)

    def pad(self, x: Raw, paddings: Sequence[tuple[Size, Size]], *, mode: str = "constant", value: Any = 0) -> Raw:
        paddings = [list(p) for p in paddings]
        if mode != "constant":
            return tf.pad(x, paddings, mode=mode.upper())
        return tf.pad(x, paddings, constant_values=value)

    def slice(self, x: Raw, axis: int, start: Size | None, stop: Size | None, step: int = 1) -> Raw:
        return x[(slice(None),) * axis + (slice(start, stop, step),)]

    def reverse_sequence(self, x: Raw, lens: Raw, *, axis: int, batch_axis: int) -> Raw:
        return tf.reverse_sequence(x, lens, seq_axis=axis, batch_axis=batch_axis)

    def gather(self, x: Raw, indices: Raw, *, axis: int, batch_dims: int = 0) -> Raw:
        return tf.gather(x, indices, axis=axis, batch_dims=batch_dims)

    def boolean_mask(self, x: Raw, mask: Raw) -> Raw:
        return tf.boolean_mask(x, mask)

    def one_hot(self, x: Raw, depth: int, dtype: str) -> Raw:
        return tf.one_hot(x, depth, dtype=dtype)

    # ---- making values

    def full(self, shape: Sequence[Size], value: Any, dtype: str) -> Raw:
        return tf.fill(list(shape), tf.cast(value, dtype))

    def range(self, size: Size, dtype: str = "int32") -> Raw:
        return tf.range(size) if dtype == "int32" else tf.cast(tf.range(size), dtype)

    def stateless_uniform(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        return tf.random.stateless_uniform(list(shape), seed=tf.stack([numpy.int64(seed), tf.cast(step, tf.int64)]))

    def create_parameter(
        self, name: str, shape: Sequence[int], dtype: str, *, init: rf_init.ParamInit, trainable: bool
    ) -> tuple[Any, Raw]:
        def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Raw:
            return initial_value(init, tuple(shape), tf.as_dtype(dtype).name)

        # outside of loops and conditionals, and named exactly so, whatever scopes are open
        with tf.init_scope(), v1.variable_scope(v1.VariableScope(reuse=False, name=""), auxiliary_name_scope=False):
            var = v1.get_variable(
                name, tuple(shape), dtype, initializer=initializer, trainable=trainable, use_resource=True
            )
            return var, var.value()

    # ---- element-wise

    def cast(self, x: Raw, dtype: str) -> Raw:
        return tf.cast(x, dtype)

    def unary(self, op: str, x: Raw) -> Raw:
        return _UNARY[op](x)

    def binary(self, op: str, a: Raw, b: Raw) -> Raw:
        return _BINARY[op](a, b)

    def compare(self, op: str, a: Raw, b: Raw) -> Raw:
        return _COMPARE[op](a, b)

    def where(self, condition: Raw, a: Raw, b: Raw) -> Raw:
        return tf.where(condition, a, b)

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

    def zero_large_gradient(self, x: Raw, limit: float, *, batch_axis: int | None) -> Raw:
        axes = [i for i in range(x.shape.rank) if i != batch_axis]

        @tf.custom_gradient
        def filtered(x: Raw) -> tuple[Raw, Callable[[Raw], Raw]]:
            def grad(dx: Raw) -> Raw:
                largest = tf.reduce_max(tf.square(dx), axis=axes, keepdims=True)
                return tf.where(largest < limit, dx, tf.zeros((), dx.dtype))

            return tf.identity(x), grad

        return filtered(x)

    # ---- several elements at a time

    def reduce(self, x: Raw, mode: str, axes: Sequence[int] | None, *, keep_dims: bool = False) -> Raw:
        return _REDUCE[mode](x, axis=None if axes is None else list(axes), keepdims=keep_dims)

    def arg_reduce(self, x: Raw, mode: str, axis: int) -> Raw:
        function = tf.argmax if mode == "argmax" else tf.argmin
        return function(x, axis=axis, output_type=tf.int32)

    def softmax(self, x: Raw, axis: int, *, log: bool = False) -> Raw:
        function = tf.nn.log_softmax if log else tf.nn.softmax
        return function(x, axis=-1 if axis == x.shape.rank - 1 else axis)

    def einsum(self, equation: str, a: Raw, b: Raw) -> Raw:
        return tf.einsum(equation, a, b)

    def dense(self, x: Raw, w: Raw) -> Raw:
        rank = x.shape.rank
        if rank == 2:
            return tf.matmul(x, w)
        if rank == 1:
            return tf.squeeze(tf.matmul(tf.expand_dims(x, 0), w), [0])
        sizes = [self.size_of_axis(x, i) for i in range(rank - 1)]
        flat = tf.matmul(tf.reshape(x, [-1, int(w.shape[0])]), w)
        return self.reshape(flat, sizes + [int(w.shape[1])])

    def pool(
        self, x: Raw, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool
    ) -> Raw:
        if len(size) == 2 and all(d == 1 for d in dilation):
            # one op instead of four for the usual cases
            function = tf.nn.max_pool2d if mode == "max" else tf.nn.avg_pool2d
            return function(x, list(size), list(strides), "SAME" if same else "VALID")
        return tf.nn.pool(
            x,
            window_shape=list(size),
            pooling_type=mode.upper(),
            strides=list(strides),
            padding="SAME" if same else "VALID",
            dilations=list(dilation),
        )

    def frames(self, x: Raw, *, axis: int, size: int, stride: int) -> Raw:
        count = self.size_of_axis(x, axis) - (size - 1)
        count = max(count, 0) if isinstance(count, int) else tf.maximum(count, 0)
        parts = [self.slice(x, axis, i, i + count, stride) for i in range(size)]
        return tf.stack(parts, axis=axis + 1)

    # ---- whole algorithms

    def sparse_softmax_cross_entropy(self, logits: Raw, labels: Raw) -> Raw:
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

    def kept_value(self, name: str, width: int, *, rows: Size, reset: Raw | None) -> tuple[Raw, Callable[[Raw], Any]]:
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

    # ---- users' code, and control

    def function_by_name(self, name: str) -> Callable[..., Raw] | None:
        return find_function(name)

    def user_code_globals(self) -> dict[str, Any]:
        return eval_globals()

    def cond(self, condition: Raw, true_fn: Callable[[], Raw], false_fn: Callable[[], Raw]) -> Raw:
        return v1.cond(condition, true_fn, false_fn)


def _shape_vector(x: Raw) -> Raw:
    """
    :return: tf.shape(x), the same op each time in one control-flow context
    """
    return current_table().cached(("shape", id(x)), lambda: (tf.shape(x), x))[0]


backend = TFBackend()
for _raw_type in (tf.Tensor, tf.Variable, v1.Variable):
    register_backend(_raw_type, backend)
