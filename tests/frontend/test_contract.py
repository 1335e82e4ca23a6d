"""The contract of the operations that need no module of their own: see :mod:`.contract`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy

import returnn.frontend as rf
from returnn.tensor import Dim, FeatureDim, SpatialDim, Tensor, batch_dim

from .contract import (
    FEATURE,
    FLAG,
    LABEL_TIME,
    LABELS,
    OTHER_LABELS,
    PER_SEQ,
    TIME,
    VECTOR,
    XB,
    Case,
    W,
    X,
    contract_tests,
)

UNITS = FeatureDim("units", 2)
GATES = 4 * UNITS

W_IN = Tensor("w_in", [FEATURE, GATES], "float32", feature_dim=GATES)
W_RE = Tensor("w_re", [UNITS, GATES], "float32", feature_dim=GATES)
B_GATES = Tensor("b_gates", [GATES], "float32", feature_dim=GATES)
H0 = Tensor("h0", [batch_dim, UNITS], "float32", feature_dim=UNITS)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + numpy.exp(-x))


def softmax(x: Any, axis: int) -> Any:
    e = numpy.exp(x - x.max(axis=axis, keepdims=True)) if x.size else x
    return e / e.sum(axis=axis, keepdims=True)


UNARY = {
    "abs": numpy.abs,
    "neg": lambda x: -x,
    "exp": numpy.exp,
    "expm1": numpy.expm1,
    "log": lambda x: numpy.log(x),
    "log1p": lambda x: numpy.log1p(x),
    "sqrt": lambda x: numpy.sqrt(x),
    "rsqrt": lambda x: x**-0.5,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "sin": numpy.sin,
    "cos": numpy.cos,
    "tanh": numpy.tanh,
    "sigmoid": sigmoid,
    "log_sigmoid": lambda x: -numpy.log(1 + numpy.exp(-x)),
    "relu": lambda x: numpy.where(x > 0, x, 0),
    "relu_square": lambda x: numpy.where(x > 0, x * x, 0),
    "elu": lambda x: numpy.where(x > 0, x, numpy.exp(x) - 1),
    "selu": lambda x: 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * (numpy.exp(x) - 1)),
    "gelu": lambda x: x * 0.5 * (1 + numpy.vectorize(math.erf, otypes=["float64"])(x / math.sqrt(2))),
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: numpy.log(1 + numpy.exp(x)),
    "sign": numpy.sign,
    "ceil": numpy.ceil,
    "floor": numpy.floor,
    "round": numpy.round,
}
POSITIVE_ONLY = ("log", "log1p", "sqrt", "rsqrt", "reciprocal")


def _unary_case(name: str) -> Case:
    reference = UNARY[name]
    if name in POSITIVE_ONLY:  # of x^2 + 0.1
        return Case(
            name,
            [X],
            lambda x: getattr(rf, name)(rf.square(x) + 0.1),
            lambda x: reference(x * x + 0.1),
            gradient=True,
            tolerance=1e-4,
        )
    smooth = name not in ("sign", "ceil", "floor", "round", "abs", "relu")
    return Case(name, [X], getattr(rf, name), reference, gradient=smooth)


def lowest(x: Any, axis: Any, *, smallest: bool = False) -> Any:
    limit = numpy.finfo("float32").max * (1 if smallest else -1)
    return (numpy.min if smallest else numpy.max)(x, axis=axis, initial=limit)


def one_by_one(x: Any, size: int, *, left: int, stride: int = 1) -> Any:
    """all windows of x [T, F], zeros outside: [ceil(T / stride), size, F]"""
    padded = numpy.concatenate([numpy.zeros((left, x.shape[1])), x, numpy.zeros((size - 1 - left, x.shape[1]))])
    frames = [padded[t : t + size] for t in range(0, len(x), stride)]
    return numpy.array(frames).reshape(len(frames), size, x.shape[1])


def lstm_reference(order: str, direction: int, *, forget_bias: float = 0.0, what: int = 0) -> Callable[..., Any]:
    def run(x: Any, w: Any, w_re: Any, b: Any, h: Any) -> Any:
        c, ys = 0.5 * h, []
        for frame in x[::direction]:
            z = dict(zip(order, numpy.split(frame @ w + h @ w_re + b, 4), strict=True))
            c = sigmoid(z["f"] + forget_bias) * c + sigmoid(z["i"]) * numpy.tanh(z["j"])
            h = sigmoid(z["o"]) * numpy.tanh(c)
            ys.append(h)
        return [numpy.array(ys[::direction]).reshape(len(x), len(h)), h, c][what]

    return run


def lstm_case(order: str, direction: int, *, forget_bias: float = 0.0, what: int = 0) -> Case:
    def function(x: Tensor, w: Tensor, w_re: Tensor, b: Tensor, h: Tensor) -> Tensor:
        return rf.lstm(
            x,
            w=w,
            w_re=w_re,
            b=b,
            spatial_dim=TIME,
            in_dim=FEATURE,
            out_dim=UNITS,
            initial_h=h,
            initial_c=0.5 * h,
            gate_order=order,
            forget_bias=forget_bias,
            direction=direction,
        )[what]

    return Case(
        "lstm_%s_%i_%s" % (order, direction, ["y", "h", "c"][what]),
        [X, W_IN, W_RE, B_GATES, H0],
        function,
        lstm_reference(order, direction, forget_bias=forget_bias, what=what),
        gradient=True,
        tolerance=1e-4,
    )


KERNEL = Tensor("kernel", [FEATURE + UNITS, UNITS], "float32", feature_dim=UNITS)
BIAS = Tensor("bias", [UNITS], "float32", feature_dim=UNITS)


def basicrnn(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    params = {"kernel": kernel, "bias": bias}
    return rf.rnn(x, cell="basicrnn", params=params, spatial_dim=TIME, in_dim=FEATURE, out_dim=UNITS)[0]


def basicrnn_reference(x: Any, kernel: Any, bias: Any) -> Any:
    h, ys = numpy.zeros(2), []
    for frame in x:
        h = numpy.tanh(numpy.concatenate([frame, h]) @ kernel + bias)
        ys.append(h)
    return numpy.array(ys).reshape(len(x), 2)


def edit_distance_reference(a: Any, b: Any) -> Any:
    """by its recursion"""

    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + int(a[i - 1] != b[j - 1]))

    return distance(len(a), len(b))


def alignments(frames: Any, labels: Any, *, label_loop: bool = True) -> list[float]:
    """Score of each path through frames [time, classes and, as the last one, the blank] that gives the labels."""
    blank, scores = frames.shape[1] - 1, []
    for path in itertools.product(range(blank + 1), repeat=len(frames)):
        merged = [label for label, _ in itertools.groupby(path)] if label_loop else path
        if [label for label in merged if label != blank] == list(labels):
            scores.append(sum(frame[label] for frame, label in zip(frames, path, strict=True)))
    return scores


def full_sum_reference(frames: Any, labels: Any, *, label_loop: bool = True) -> Any:
    """0 if there is no path"""
    scores = alignments(frames, labels, label_loop=label_loop)
    return -numpy.logaddexp.reduce(scores) if scores else 0.0


def ctc(function: Callable[..., Tensor], logits: Tensor, labels: Tensor, **options: bool) -> Tensor:
    dims = {"axis": FEATURE, "input_spatial_dim": TIME, "target_spatial_dim": LABEL_TIME}
    return function(logits, labels=labels, **dims, **options)


WINDOW = SpatialDim("window", 3)
A, TWO = SpatialDim("a", 2), FeatureDim("two", 2)
T1 = SpatialDim("t1")


def reduce_case(mode: str, dims: list[Dim], reference: Callable[[Any, Any], Any], **options: Any) -> Case:
    axes = tuple([TIME, FEATURE].index(d) for d in dims)
    name = "reduce_%s_%s" % (mode, "_".join(d.description for d in dims))
    return Case(name, [X], lambda x: rf.reduce(x, mode=mode, axis=dims), lambda x: reference(x, axes), **options)


CASES = [_unary_case(name) for name in UNARY] + [
    Case("add_vector", [X, VECTOR], lambda x, v: x + v, lambda x, v: x + v, gradient=True),
    Case("vector_minus", [X, VECTOR], lambda x, v: v - x, lambda x, v: v - x, gradient=True),
    Case("mul_per_seq", [X, PER_SEQ], lambda x, s: s * x, lambda x, s: s * x, gradient=True),
    Case("number_minus", [X], lambda x: 1 - x, lambda x: 1 - x, gradient=True),
    Case("truediv", [X], lambda x: 1 / (2 + rf.tanh(x)), lambda x: 1 / (2 + numpy.tanh(x)), gradient=True),
    Case(
        "pow", [X], lambda x: (2 + rf.tanh(x)) ** 3, lambda x: (2 + numpy.tanh(x)) ** 3, gradient=True, tolerance=1e-4
    ),
    Case("floordiv", [LABELS], lambda y: y // 2, lambda y: y // 2),
    Case("mod", [LABELS], lambda y: (y - 2) % 3, lambda y: (y - 2) % 3),
    Case("maximum", [X, VECTOR], lambda x, v: rf.maximum(x, v), numpy.maximum),
    Case("minimum", [X], lambda x: rf.minimum(x, 0.5), lambda x: numpy.minimum(x, 0.5)),
    Case(
        "squared_difference",
        [X, VECTOR],
        lambda x, v: rf.squared_difference(x, v),
        lambda x, v: (x - v) ** 2,
        gradient=True,
    ),
    Case("logaddexp", [X, VECTOR], lambda x, v: rf.combine(x, "logaddexp", v), numpy.logaddexp, gradient=True),
    Case("less", [X, VECTOR], lambda x, v: x < v, lambda x, v: x < v),
    Case("equal_labels", [LABELS], lambda y: rf.compare(y, "==", 1), lambda y: y == 1),
    Case("logical", [FLAG], lambda f: ~(f & f) | f, lambda f: f | ~f),
    Case(
        "where",
        [X, FLAG, PER_SEQ],
        lambda x, f, s: rf.where(f, x, s),
        lambda x, f, s: numpy.where(f[:, None], x, s),
        gradient=True,
    ),
    Case("cast", [X], lambda x: rf.cast(x * 3, "int32"), lambda x: numpy.trunc(x * 3), finite_padding=True),
    Case("clip", [X], lambda x: rf.clip_by_value(x, -0.5, 0.5), lambda x: numpy.clip(x, -0.5, 0.5)),
    Case("safe_log", [X], lambda x: rf.safe_log(x), lambda x: numpy.log(numpy.maximum(x, 1e-20))),
    reduce_case("sum", [TIME], lambda x, a: x.sum(a), gradient=True),
    reduce_case("sum", [FEATURE], lambda x, a: x.sum(a), gradient=True),
    reduce_case("mean", [TIME], lambda x, a: x.sum(a) / max(len(x), 1), gradient=True),
    reduce_case("mean", [FEATURE], lambda x, a: x.mean(a), gradient=True),
    reduce_case("avg", [TIME, FEATURE], lambda x, a: x.sum(a) / max(4 * len(x), 1), gradient=True),
    reduce_case("max", [TIME], lowest),
    reduce_case("min", [TIME, FEATURE], lambda x, a: lowest(x, a, smallest=True)),
    reduce_case("prod", [TIME], lambda x, a: x.prod(a)),
    reduce_case(
        "logsumexp",
        [TIME],
        lambda x, a: numpy.logaddexp.reduce(x, axis=0, initial=-numpy.inf),
        gradient=True,
        min_len=1,
    ),
    reduce_case("logsumexp", [FEATURE], lambda x, a: numpy.log(numpy.exp(x).sum(a)), gradient=True),
    reduce_case("argmax", [FEATURE], lambda x, a: x.argmax(a[0])),
    reduce_case("argmin", [TIME], lambda x, a: x.argmin(a[0]), min_len=1, needs_a_sequence=True),
    Case("any", [FLAG], lambda f: rf.reduce(f, mode="any", axis=TIME), lambda f: f.any()),
    Case("all", [FLAG], lambda f: rf.reduce(f, mode="all", axis=TIME), lambda f: f.all()),
    Case(
        "reduce_out",
        [X],
        lambda x: rf.reduce_out(x, mode="max", num_pieces=2),
        lambda x: x.reshape(len(x), 2, 2).max(-1),
    ),
    Case("softmax", [X], lambda x: rf.softmax(x, axis=FEATURE), lambda x: softmax(x, -1), gradient=True),
    Case(
        "log_softmax",
        [X],
        lambda x: rf.log_softmax(x, axis=FEATURE),
        lambda x: numpy.log(softmax(x, -1)),
        gradient=True,
    ),
    Case("softmax_time", [X], lambda x: rf.softmax(x, axis=TIME), lambda x: softmax(x, 0)),
    Case(
        "log_softmax_time",
        [X],
        lambda x: rf.log_softmax(x, axis=TIME),
        lambda x: numpy.log(softmax(x, 0)),
        gradient=True,
    ),
    Case("matmul", [X, W], lambda x, w: rf.matmul(x, w, reduce=FEATURE), lambda x, w: x @ w, gradient=True),
    Case("matmul_swapped", [W, X], lambda w, x: rf.matmul(w, x, reduce=FEATURE), lambda w, x: (x @ w).T),
    Case(
        "matmul_per_seq",
        [X, PER_SEQ],
        lambda x, s: rf.matmul(x, s, reduce=FEATURE),
        lambda x, s: x @ s,
        gradient=True,
    ),
    Case(
        "matmul_time",
        [X, XB],
        lambda x, y: rf.matmul(x, y, reduce=TIME),
        lambda x, y: numpy.einsum("tf,tg->fg", x, y),
        finite_padding=True,
        gradient=True,
    ),
    Case("gather", [W, LABELS], lambda w, y: rf.gather(w, indices=y, axis=FEATURE), lambda w, y: w[y]),
    Case(
        "concat_features",
        [X, PER_SEQ],
        lambda x, s: rf.concat_features(x, s),
        lambda x, s: numpy.concatenate([x, numpy.tile(s, (len(x), 1))], axis=-1),
        gradient=True,
    ),
    Case(
        "expand_dim",
        [PER_SEQ, X],
        lambda s, x: rf.expand_dim(s, TIME) + x,
        lambda s, x: (s + x).T,
    ),
    Case(
        "split_features",
        [X],
        lambda x: rf.split_dims(x, axis=FEATURE, dims=[A, TWO]),
        lambda x: x.reshape(len(x), 2, 2),
    ),
    Case(
        "split_time",
        [X],
        lambda x: rf.split_dims(x, axis=TIME, dims=[TIME.ceildiv_right(2), A], pad_value=7),
        lambda x: numpy.concatenate([x, numpy.full((len(x) % 2, 4), 7.0)]).reshape(-1, 2, 4),
        needs_a_sequence=True,
    ),
    Case(
        "merge_features",
        [X],
        lambda x: rf.merge_dims(rf.split_dims(x, axis=FEATURE, dims=[A, TWO]), dims=[TWO, A])[0],
        lambda x: x.reshape(len(x), 2, 2).swapaxes(1, 2).reshape(len(x), 4),
    ),
    Case(
        "merge_time_with_features",
        [X],
        lambda x: rf.merge_dims(x, dims=[TIME, FEATURE])[0],
        lambda x: x.reshape(-1),
    ),
    Case("slice_start", [X], lambda x: rf.slice(x, axis=TIME, start=1)[0], lambda x: x[1:]),
    Case("slice_end", [X], lambda x: rf.slice(x, axis=TIME, end=2)[0], lambda x: x[:2]),
    Case("slice_both", [X], lambda x: rf.slice(x, axis=TIME, start=1, end=3)[0], lambda x: x[1:3]),
    Case("slice_from_end", [X], lambda x: rf.slice(x, axis=TIME, end=-1)[0], lambda x: x[:-1]),
    Case("slice_step", [X], lambda x: rf.slice(x, axis=TIME, step=2)[0], lambda x: x[::2]),
    Case("slice_features", [X], lambda x: rf.slice(x, axis=FEATURE, start=1, end=3)[0], lambda x: x[:, 1:3]),
    Case(
        "window",
        [X],
        lambda x: rf.window(x, spatial_dim=TIME, window_dim=WINDOW, use_mask=True)[0],
        lambda x: one_by_one(x, 3, left=1),
    ),
    Case(
        "window_left_stride",
        [X],
        lambda x: rf.window(x, spatial_dim=TIME, window_dim=WINDOW, window_left=2, stride=2, use_mask=True)[0],
        lambda x: one_by_one(x, 3, left=2, stride=2),
    ),
    Case(
        "window_valid",
        [X],
        lambda x: rf.window(x, spatial_dim=TIME, window_dim=WINDOW, padding="valid")[0],
        lambda x: one_by_one(x, 3, left=0)[: max(len(x) - 2, 0)],
    ),
    Case(
        "variance",
        [X],
        lambda x: rf.moments(x, axis=TIME)[1],
        lambda x: x.var(0) if len(x) else numpy.zeros(4),
        gradient=True,
    ),
    Case(
        "layer_norm",
        [X, VECTOR],
        lambda x, v: rf.layer_norm(x, axis=FEATURE, scale=v, bias=v),
        lambda x, v: (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-6) * v + v,
        gradient=True,
        tolerance=1e-4,
    ),
    Case(
        "cross_entropy",
        [X, LABELS],
        lambda x, y: rf.sparse_softmax_cross_entropy(x, labels=y, axis=FEATURE),
        lambda x, y: -numpy.log(softmax(x, -1))[numpy.arange(len(y)), y],
        gradient=True,
    ),
    Case(
        "edit_distance",
        [LABELS, OTHER_LABELS],
        lambda a, b: rf.edit_distance(a, TIME, b, LABEL_TIME),
        edit_distance_reference,
        needs_a_sequence=True,
    ),
    Case(
        "ctc_full_sum",
        [X, OTHER_LABELS],
        lambda x, labels: ctc(rf.ctc_full_sum, x, labels, zero_infinity=True),
        lambda x, labels: full_sum_reference(numpy.log(softmax(x, 1)), labels),
        gradient=True,
    ),
    Case(
        "ctc_full_sum_of_scores",
        [X, OTHER_LABELS],
        lambda x, labels: ctc(
            rf.ctc_full_sum, x, labels, logits_normalize=False, grad_wrt_softmax_in=False, label_loop=False
        ),
        lambda x, labels: full_sum_reference(x, labels, label_loop=False),
        gradient=True,
    ),
    Case(
        "ctc_best_path",
        [X, OTHER_LABELS],
        lambda x, labels: ctc(rf.ctc_best_path_score, x, labels),
        lambda x, labels: -max(alignments(numpy.log(softmax(x, 1)), labels), default=-numpy.inf),
    ),
    lstm_case("jifo", 1),
    lstm_case("ijfo", -1, forget_bias=1.0),
    lstm_case("jifo", -1, what=1),
    lstm_case("jifo", 1, what=2),
    Case(
        "basicrnn",
        [X, KERNEL, BIAS],
        basicrnn,
        basicrnn_reference,
        gradient=True,
        as_it_is=("kernel",),
        tolerance=1e-4,
    ),
]

TestContract = contract_tests(CASES)
