"""Operations of a graph, made in the shortest way.

Of the 100 microseconds that Python needs for an operation, ``tf.*`` and ``tf.raw_ops`` spend 60 on finding out what
their arguments are. The backend knows: tensors, and attributes by name. Networks have thousands of operations, so that
is most of the time in which one is built. Constants, such as axes, are made once for each control-flow context.

What is made is the same as by ``tf.raw_ops``; so are its gradient and its shape.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from returnn.tensor.backend import Raw, Size
from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf, v1


def op(op_type: str, *inputs: Raw, **attrs: Any) -> tf.Tensor:
    """
    :param op_type: as TensorFlow registers it
    :param inputs: tensors or variables, in its order
    :param attrs: of the operation, all that have no default: types, shapes, numbers, strings, lists of ints, protocol
        buffers
    :return: its first output
    """
    return make(op_type, inputs, attrs).outputs[0]


def make(op_type: str, inputs: Sequence[Raw], attrs: dict[str, Any], *, name: str | None = None) -> tf.Operation:
    """Like :func:`op`.

    :param name: full, whatever scopes are open; by default the type, in the scopes that are open
    :return: the operation
    """
    tensors = [x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x) for x in inputs]
    graph = v1.get_default_graph()
    if tensors and not graph.building_function:  # which would take tensors of the graph around it
        graph = tensors[0].graph
    values = {name: _attr(value) for name, value in attrs.items()}
    return graph._create_op_internal(op_type, tensors, attrs=values, name=name and name + "/")


def _attr(value: Any) -> Any:
    if isinstance(value, v1.AttrValue):
        return value
    if isinstance(value, tf.TensorShape):
        return v1.AttrValue(shape=value.as_proto())
    return _attr_value(type(value), tuple(value) if isinstance(value, list) else value)


@functools.lru_cache(maxsize=1024)
def _attr_value(kind: type, value: Any) -> Any:
    """
    :param kind: of the value; as False == 0
    """
    if kind is tf.DType:
        return v1.AttrValue(type=value.base_dtype.as_datatype_enum)
    if kind is bool:
        return v1.AttrValue(b=value)
    if kind is int:
        return v1.AttrValue(i=value)
    if kind is float:
        return v1.AttrValue(f=value)
    if kind is str:
        return v1.AttrValue(s=value.encode("utf8"))
    return v1.AttrValue(list=v1.AttrValue.ListValue(i=value))


def type_list(types: Sequence[tf.DType]) -> Any:
    """
    :return: attribute
    """
    return v1.AttrValue(list=v1.AttrValue.ListValue(type=[t.base_dtype.as_datatype_enum for t in types]))


def constant(value: Any, dtype: Any = None) -> tf.Tensor:
    """
    :param value: number, or tuple of ints
    :param dtype: TensorFlow's
    :return: the constant, the same op each time in one control-flow context
    """
    exact = value if isinstance(value, (int, tuple)) else repr(value)  # 0.0 == -0.0
    key = ("constant", type(value), exact, dtype and tf.as_dtype(dtype))

    def new() -> tf.Tensor:
        with no_control_dependencies():
            return tf.constant(value, dtype)

    return current_table().cached(key, new)


def no_control_dependencies() -> contextlib.AbstractContextManager[Any]:
    """
    For what is made once and used in many places: inside, an operation does not have to wait for those that whoever
    comes first wants to be run before. In a loop or conditional this changes nothing.
    """
    graph = v1.get_default_graph()
    if graph._get_control_flow_context() is not None:
        return contextlib.nullcontext()
    return graph.control_dependencies(None)


# ---- one for each kind of argument


def unary(op_type: str, x: Raw) -> tf.Tensor:
    """:return: of the same dtype"""
    return op(op_type, x, T=x.dtype)


def binary(op_type: str, a: Raw, b: Raw) -> tf.Tensor:
    """
    :param a: broadcasts with b
    :param b: of the same dtype
    """
    return op(op_type, a, b, T=a.dtype)


def compare(op_type: str, a: Raw, b: Raw) -> tf.Tensor:
    """:return: bool; see :func:`binary`"""
    if op_type in ("Equal", "NotEqual"):
        return op(op_type, a, b, T=a.dtype, incompatible_shape_error=True)
    return op(op_type, a, b, T=a.dtype)


def select(condition: Raw, a: Raw, b: Raw) -> tf.Tensor:
    """
    :param condition: bool; all three broadcast
    :param a: where it is true
    :param b: of the same dtype; elsewhere
    """
    return op("SelectV2", condition, a, b, T=a.dtype)


def cast(x: Raw, dtype: Any) -> tf.Tensor:
    """
    :param dtype: TensorFlow's
    :return: x itself if it has that dtype
    """
    if x.dtype.base_dtype == dtype:
        return x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x)
    return op("Cast", x, SrcT=x.dtype, DstT=dtype, Truncate=False)


def reduce(op_type: str, x: Raw, axes: Sequence[int], *, keep_dims: bool) -> tf.Tensor:
    """
    :param op_type: Sum, Mean, Max, Min, Prod, Any, All
    :param axes: not negative
    """
    attrs = {} if op_type in ("Any", "All") else {"T": x.dtype}
    return op(op_type, x, constant(tuple(axes), tf.int32), Tidx=tf.int32, keep_dims=keep_dims, **attrs)


def matmul(a: Raw, b: Raw, *, transpose_a: bool = False, transpose_b: bool = False) -> tf.Tensor:
    """
    :param a: [rows, inner], or transposed
    :param b: [inner, columns], or transposed
    """
    return op("MatMul", a, b, T=a.dtype, transpose_a=transpose_a, transpose_b=transpose_b)


# ---- shapes


def vector(sizes: Sequence[Size]) -> tf.Tensor:
    """
    :param sizes: ints or scalars
    :return: int32 [len(sizes)]; a constant if all are ints
    """
    if all(isinstance(size, int) for size in sizes):
        return constant(tuple(sizes), tf.int32)
    if any(not isinstance(size, int) and size.dtype != tf.int32 for size in sizes):
        return tf.stack(list(sizes))
    parts = [constant(size, tf.int32) if isinstance(size, int) else size for size in sizes]
    return op("Pack", *parts, N=len(parts), T=tf.int32, axis=0)


def reshape(x: Raw, sizes: Sequence[Size]) -> tf.Tensor:
    """
    :param sizes: at most one is -1
    """
    sizes = list(sizes)
    dynamic = [i for i, size in enumerate(sizes) if not isinstance(size, int)]
    if len(dynamic) == 1 and -1 not in sizes and 0 not in sizes:
        sizes[dynamic[0]] = -1  # then the shape is a constant, and the op knows the other sizes
    shape = vector(sizes)
    return op("Reshape", x, shape, T=x.dtype, Tshape=shape.dtype)


def broadcast_to(x: Raw, sizes: Sequence[Size]) -> tf.Tensor:
    """
    :param sizes: of the result
    """
    shape = vector(sizes)
    return op("BroadcastTo", x, shape, T=x.dtype, Tidx=shape.dtype)


def fill(sizes: Sequence[Size], value: Any, dtype: Any) -> tf.Tensor:
    """
    :param sizes: of the result
    :param value: number or scalar
    :param dtype: TensorFlow's
    """
    scalar = constant(value, dtype) if isinstance(value, (bool, int, float)) else tf.cast(value, dtype)
    shape = vector(sizes)
    return op("Fill", shape, scalar, T=scalar.dtype, index_type=shape.dtype)


def expand_dims(x: Raw, axis: int) -> tf.Tensor:
    """
    :param axis: of the result; of size 1
    """
    return op("ExpandDims", x, constant(axis, tf.int32), T=x.dtype, Tdim=tf.int32)


def transpose(x: Raw, perm: Sequence[int]) -> tf.Tensor:
    """
    :param perm: axis i of the result is axis perm[i] of x
    """
    return op("Transpose", x, constant(tuple(perm), tf.int32), T=x.dtype, Tperm=tf.int32)


def concat(xs: Sequence[Raw], axis: int) -> tf.Tensor:
    """
    :param xs: of the same dtype
    :param axis: not negative
    """
    return op("ConcatV2", *xs, constant(axis, tf.int32), N=len(xs), T=xs[0].dtype, Tidx=tf.int32)


def gather(x: Raw, indices: Raw, *, axis: int, batch_dims: int = 0) -> tf.Tensor:
    """
    :param x: a tensor
    :param indices: int32 or int64
    :param axis: of x, not negative
    :param batch_dims: leading axes that both have
    """
    return op(
        *("GatherV2", x, indices, constant(axis, tf.int32)),
        **{"Tparams": x.dtype, "Tindices": indices.dtype, "Taxis": tf.int32, "batch_dims": batch_dims},
    )


def slice_axis(x: Raw, axis: int, start: Size | None, stop: Size | None, step: int = 1) -> tf.Tensor:
    """
    :param axis: not negative
    :return: x[:, .., start:stop:step]
    """
    others = (1 << axis) - 1  # bits of the axes in front, of which all is taken
    begin, end, strides = (
        vector([*[1 if n is step else 0] * axis, 0 if n is None else n]) for n in (start, stop, step)
    )
    return op(
        *("StridedSlice", x, begin, end, strides),
        **{"T": x.dtype, "Index": tf.int32},
        **{"begin_mask": others | ((start is None) << axis), "end_mask": others | ((stop is None) << axis)},
    )


def entry(x: Raw, i: int) -> tf.Tensor:
    """
    :param x: [n, ..]
    :param i: not negative
    :return: x[i]
    """
    begin, end, one = (constant((n,), tf.int32) for n in (i, i + 1, 1))
    return op("StridedSlice", x, begin, end, one, T=x.dtype, Index=tf.int32, shrink_axis_mask=1)


def entries(xs: Sequence[Raw], i: Raw) -> tuple[list[tf.Tensor], tf.Tensor]:
    """
    :param xs: each [n, ..]
    :param i: int32 scalar
    :return: x[i] of each; i + 1
    """
    after = binary("AddV2", i, constant(1, tf.int32))
    begin, end, one = vector([i]), vector([after]), constant((1,), tf.int32)
    attrs = {"Index": tf.int32, "shrink_axis_mask": 1}
    return [op("StridedSlice", x, begin, end, one, T=x.dtype, **attrs) for x in xs], after


def split_vector(x: Raw, n: int) -> list[tf.Tensor]:
    """
    :param x: [m], m >= n
    :return: its first n entries
    """
    return [entry(x, i) for i in range(n)]


def range_to(size: Size) -> tf.Tensor:
    """
    :return: int32 [size]: 0, 1, ..
    """
    limit = constant(size, tf.int32) if isinstance(size, int) else size
    return op("Range", constant(0, tf.int32), limit, constant(1, tf.int32), Tidx=tf.int32)


# ---- arrays of tensors


class Array(NamedTuple):
    """As ``tf.TensorArray``. In a loop, ``flow`` is what has to be handed on."""

    handle: tf.Tensor
    flow: tf.Tensor
    dtype: tf.DType
    shape: tf.TensorShape
    """of an entry"""

    def write(self, i: Raw, x: Raw) -> Array:
        """
        :param i: int32 scalar
        :param x: the entry, set once
        :return: the array afterwards
        """
        flow = op("TensorArrayWriteV3", self.handle, i, x, self.flow, T=self.dtype)
        return self._replace(flow=flow)

    def read(self, i: Raw) -> tf.Tensor:
        """
        :param i: int32 scalar
        :return: entry, read once
        """
        x = op("TensorArrayReadV3", self.handle, i, self.flow, dtype=self.dtype)
        x.set_shape(self.shape)
        return x

    def gather(self, indices: Raw) -> tf.Tensor:
        """
        :param indices: int32 [n]
        :return: these entries [n, ..]
        """
        attrs = {"dtype": self.dtype, "element_shape": self.shape}
        x = op("TensorArrayGatherV3", self.handle, indices, self.flow, **attrs)
        x.set_shape(tf.TensorShape([None]).concatenate(self.shape))
        return x

    def scatter(self, indices: Raw, x: Raw) -> Array:
        """
        :param indices: int32 [n]
        :param x: [n, ..], entries
        :return: the array afterwards
        """
        return self._replace(flow=op("TensorArrayScatterV3", self.handle, indices, x, self.flow, T=self.dtype))


def new_array(size: Size, dtype: tf.DType, shape: tf.TensorShape, *, same_shapes: bool = True) -> Array:
    """
    :param size: number of entries; 0: as many as come
    :param dtype: of an entry
    :param shape: of an entry, as far as it is known
    :param same_shapes: all entries are of the same shape
    """
    attrs = {
        **{"dtype": dtype.base_dtype, "element_shape": shape, "dynamic_size": isinstance(size, int) and size == 0},
        **{"clear_after_read": True, "identical_element_shapes": same_shapes, "tensor_array_name": ""},
    }
    given = constant(size, tf.int32) if isinstance(size, int) else size
    handle, flow = make("TensorArrayV3", [given], attrs).outputs
    return Array(handle, flow, dtype.base_dtype, shape)
