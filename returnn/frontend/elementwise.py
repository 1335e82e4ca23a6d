"""Element-wise functions, comparison and combination of tensors.

Operands are aligned by their dims, in whatever order they have them. The result has the dims of the first operand that
has the most, then those that only others have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import REAL_VALUED, Backend, backend_of_all, backend_of_raw, template_backend
from returnn.tensor.dim import are_identical
from returnn.util.suggest import did_you_mean

Value = Tensor | int | float | bool
"""A plain number has no dims and takes the dtype of the other operand."""

COMBINE_SYMBOLS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
}
"""symbol -> kind of :func:`combine`"""
COMBINE_KINDS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "maximum",
    "minimum",
    "logical_and",
    "logical_or",
    "squared_difference",
    "logaddexp",
)
COMPARE_SYMBOLS = {
    "==": "equal",
    "!=": "not_equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
"""symbol -> kind of :func:`compare`"""
COMPARE_KINDS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def common_dims(tensors: Sequence[Tensor]) -> list[Dim]:
    """
    :return: dims of the first tensor that has most, then those which only others have
    """
    first, *others = sorted(tensors, key=lambda x: -len(x.dims))
    dims = list(first.dims)
    for x in others:
        if are_identical(x.dims, first.dims):
            continue
        for dim in x.dims:
            if dims.count(dim) < x.dims.count(dim):
                dims.append(dim)
    return dims


def _markers(tensors: Sequence[Tensor]) -> dict[str, Any]:
    """
    :return: feature and time dim of the result, which has all their dims: the first operand's that has one
    """
    feature = next((x.feature_dim for x in tensors if x.feature_dim is not None), None)
    time = next((x.time_dim for x in tensors if x.time_dim is not None), None)
    return {"feature_dim": feature, "time_dim": None if time is None or time == feature else time}


def raw_on(x: Tensor, backend: Backend) -> Any:
    """
    :return: raw value of x; a constant of another backend becomes one of this one
    """
    return x.raw_tensor if x._raw_backend is backend else backend.convert(x.raw_tensor, x.dtype)


def _raw_operands(
    values: Sequence[Value], dims: Sequence[Dim], backend: Backend, dtype: str | None
) -> tuple[list[Any], list[list[int] | None]]:
    """
    :return: raw values that broadcast to these dims; and for each the axes along which it is repeated, None: a number
    """
    raws: list[Any] = []
    repeated: list[list[int] | None] = []
    for x in values:
        if not isinstance(x, Tensor):
            raws.append(backend.convert(x, dtype))
            repeated.append(None)
            continue
        raw, missing = x.raw_tensor, []
        if not are_identical(x.dims, dims):
            missing = x.axes_in_layout(dims)[1]
            start = next((i for i, axis in enumerate(missing) if i != axis), len(missing))
            raw = x.copy_compatible_to_dims_raw(dims[start:])  # leading axes need not be there
        raws.append(raw if backend_of_raw(raw) is backend else backend.convert(raw, x.dtype))
        repeated.append(missing)
    return raws, repeated


def check_dtypes(op: str, tensors: Sequence[Tensor]) -> None:
    """
    :raises DimError: the dtypes differ
    """
    if len({x.dtype for x in tensors}) > 1:
        raise DimError("%s: dtypes differ: %s" % (op, ", ".join("%s %s" % (x.name, x.dtype) for x in tensors)))


def _nary(
    op: str,
    values: Sequence[Value],
    compute: Callable[[Backend, list[Any], list[list[int] | None]], Any],
    dtype: str | None,
) -> Tensor:
    """
    :param compute: of a backend, and what :func:`_raw_operands` gives: raw result
    :param dtype: of the result; that of the operands by default
    """
    tensors = [x for x in values if isinstance(x, Tensor)]
    if not tensors:
        raise TypeError("%s: at least one operand must be a tensor" % op)
    check_dtypes(op, tensors)
    dims = common_dims(tensors)
    backend = backend_of_all(tensors)
    raw = None
    if backend is not template_backend:
        raw = compute(backend, *_raw_operands(values, dims, backend, tensors[0].dtype))
    sparse_dim = tensors[0].sparse_dim if dtype is None else None
    return tensors[0].like(
        raw, dims=dims, dtype=dtype or tensors[0].dtype, sparse_dim=sparse_dim, name=op, **_markers(tensors)
    )


def combine(a: Value, kind: str, b: Value) -> Tensor:
    """
    :param a: of the same dtype as b, or a number
    :param kind: ``+ - * / // % **``, or add, sub, mul, truediv, floordiv, mod, pow, maximum, minimum, logical_and,
        logical_or, squared_difference, logaddexp
    :param b: tensor, or a number
    :return: the dims of both. Labels stay labels.
    """
    op = COMBINE_SYMBOLS.get(kind, kind)
    if op not in COMBINE_KINDS:
        raise DimError("combine: unknown kind %r.%s" % (kind, did_you_mean(kind, COMBINE_KINDS)))
    dtype = None
    tensors = [x for x in (a, b) if isinstance(x, Tensor)]
    if op == "truediv" and tensors and "int" in tensors[0].dtype:
        dtype = "float64"  # as Python and TensorFlow divide int32

    def compute(backend: Backend, raws: list[Any], missing: list[list[int] | None]) -> Any:
        return backend.binary_in_layout(op, *raws, missing=missing)

    return _nary(op, (a, b), compute, dtype)


def compare(a: Value, kind: str, b: Value) -> Tensor:
    """
    :param a: of the same dtype as b, or a number
    :param kind: ``== != < <= > >=``, or equal, not_equal, less, less_equal, greater, greater_equal
    :param b: tensor, or a number
    :return: bool, the dims of both
    """
    op = COMPARE_SYMBOLS.get(kind, kind)
    if op not in COMPARE_KINDS:
        raise DimError("compare: unknown kind %r.%s" % (kind, did_you_mean(kind, COMPARE_KINDS)))
    return _nary(op, (a, b), lambda backend, raws, _: backend.compare(op, *raws), "bool")


def where(condition: Tensor, a: Value, b: Value) -> Tensor:
    """
    :param condition: bool
    :param a: where true
    :param b: where false
    :return: the dims of all three; dtype and labels of a, if that is a tensor, else of b
    """
    values = [x for x in (a, b) if isinstance(x, Tensor)]
    if not values:
        raise TypeError("where: one of the two values must be a tensor")
    check_dtypes("where", values)
    tensors = values + [condition]
    dims = common_dims(tensors)
    backend = backend_of_all(tensors)
    raw = None
    if backend is not template_backend:
        raws, _ = _raw_operands((condition, a, b), dims, backend, values[0].dtype)
        raw = backend.where(*raws)
    return values[0].like(raw, dims=dims, name="where", **_markers(tensors))


def _unary(op: str) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        dtype = real_dtype(x.dtype) if op in REAL_VALUED else x.dtype
        return x.like(backend_of_raw(x.raw_tensor).unary(op, x.raw_tensor), dtype=dtype, name=op)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = "Element-wise ``%s``; dims and dtype of ``x``%s." % (
        op,
        ", float32 for complex64" * (op in REAL_VALUED),
    )
    return function


def real_dtype(dtype: str) -> str:
    """
    :return: of the real and the imaginary part
    """
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


abs = _unary("abs")
angle = _unary("angle")
real = _unary("real")
imag = _unary("imag")
conj = _unary("conj")
neg = _unary("neg")
exp = _unary("exp")
expm1 = _unary("expm1")
log = _unary("log")
log1p = _unary("log1p")
sqrt = _unary("sqrt")
rsqrt = _unary("rsqrt")
square = _unary("square")
reciprocal = _unary("reciprocal")
sin = _unary("sin")
cos = _unary("cos")
tanh = _unary("tanh")
sigmoid = _unary("sigmoid")
log_sigmoid = _unary("log_sigmoid")
relu = _unary("relu")
elu = _unary("elu")
selu = _unary("selu")
gelu = _unary("gelu")
silu = _unary("silu")
swish = silu
softplus = _unary("softplus")
sign = _unary("sign")
ceil = _unary("ceil")
floor = _unary("floor")
round = _unary("round")
logical_not = _unary("logical_not")


def identity(x: Tensor) -> Tensor:
    """x"""
    return x


def identity_after(x: Tensor, others: Sequence[Tensor]) -> Tensor:
    """
    :param others: are computed first; what matters in a graph only
    :return: x
    """
    backend = backend_of_raw(x.raw_tensor)
    raw = backend.after([y.raw_tensor for y in others], lambda: backend.identity(x.raw_tensor))
    return x.like(raw, name="identity")


def relu_square(x: Tensor) -> Tensor:
    """relu(x)^2"""
    return square(relu(x))


def make_complex(real: Tensor, imag: Tensor) -> Tensor:
    """
    :param real: float32
    :param imag: float32
    :return: complex64, the dims of both
    """
    return _nary("complex", (real, imag), lambda backend, raws, _: backend.binary("complex", *raws), "complex64")


def maximum(a: Value, b: Value) -> Tensor:
    """the larger one"""
    return combine(a, "maximum", b)


def minimum(a: Value, b: Value) -> Tensor:
    """the smaller one"""
    return combine(a, "minimum", b)


def logical_and(a: Value, b: Value) -> Tensor:
    """both"""
    return combine(a, "logical_and", b)


def logical_or(a: Value, b: Value) -> Tensor:
    """one of them, or both"""
    return combine(a, "logical_or", b)


def squared_difference(a: Value, b: Value) -> Tensor:
    """(a - b)^2"""
    return combine(a, "squared_difference", b)


def cast(x: Tensor, dtype: str) -> Tensor:
    """
    :return: other dtype; labels stay labels if that is an integer type
    """
    if x.dtype == dtype:
        return x
    raw = backend_of_raw(x.raw_tensor).cast(x.raw_tensor, dtype)
    sparse_dim = x.sparse_dim if "int" in dtype else None
    return x.like(raw, dtype=dtype, sparse_dim=sparse_dim, name="cast")


def clip_by_value(x: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """
    :return: x in [min, max]; None: no bound
    """
    return x.like(backend_of_raw(x.raw_tensor).clip(x.raw_tensor, min, max), name="clip")


def stop_gradient(x: Tensor) -> Tensor:
    """
    :return: x, a constant for gradients
    """
    return x.like(backend_of_raw(x.raw_tensor).stop_gradient(x.raw_tensor), name="stop_gradient")


def scaled_gradient(x: Tensor, scale: float | Tensor) -> Tensor:
    """
    :return: x; its gradient is times scale. 0 stops it, a negative scale reverses it
    """
    return scaled_gradient_ext(x, scale=scale)


def scaled_gradient_ext(
    x: Tensor,
    *,
    scale: float | Tensor,
    shift: float | Tensor = 0.0,
    scale_shift_by_sum_over_axis: Dim | None = None,
    clip_max_axis: Dim | None = None,
) -> Tensor:
    """
    :param x: float
    :param scale: number, or scalar of the dtype of x
    :param shift: the same
    :param scale_shift_by_sum_over_axis: of x: the shift is times the sum of abs(g) over it
    :param clip_max_axis: of x: the result is cut to [-m, m], with the largest abs(g) along it as m
    :return: x; its gradient is scale * g + shift, where g is that of the result
    """
    if x.raw_tensor is None:
        return x.like(None)
    axes = (scale_shift_by_sum_over_axis, clip_max_axis)
    sum_axis, clip_axis = (None if dim is None else x.get_axis_from_dim(dim) for dim in axes)
    scale, shift = (v.raw_tensor if isinstance(v, Tensor) else v for v in (scale, shift))
    backend = backend_of_raw(x.raw_tensor)
    raw = backend.scaled_gradient(x.raw_tensor, scale=scale, shift=shift, sum_axis=sum_axis, clip_max_axis=clip_axis)
    return x.like(raw, name="scaled_gradient")


def clip_with_identity_gradient(x: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """
    :return: x in [min, max]; the gradient is that of x
    """
    raw = backend_of_raw(x.raw_tensor).clip_with_identity_gradient(x.raw_tensor, min, max)
    return x.like(raw, name="clip")


def safe_log(x: Tensor, *, eps: float = 1e-20) -> Tensor:
    """
    :return: log(max(x, eps)), with the gradient of max as if nothing were cut. Where the graph tells that x is a
        softmax, sigmoid or exp: exact
    """
    return x.like(backend_of_raw(x.raw_tensor).safe_log(x.raw_tensor, eps), name="log")


def safe_exp(x: Tensor, *, eps: float = 1e-20) -> Tensor:
    """
    :return: exp(clip(x, log eps, -log eps)), the gradient as if nothing were cut. Where the graph tells that x is a
        logarithm: exact
    """
    return x.like(backend_of_raw(x.raw_tensor).safe_exp(x.raw_tensor, eps), name="exp")
