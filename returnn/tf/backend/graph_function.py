"""Operations that are made once, as a function of the graph, and are then one operation wherever they are needed.

To make an operation takes Python a tenth of a millisecond, and one in a gradient more: that counts for the hundreds of
operations of a loop over time, in a network with a dozen such layers. TensorFlow puts the operations of the function in
the place of the call before it runs a graph, so what runs is the same.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow.python.framework.function import Defun

from returnn.tf.compat import tf, v1
from returnn.tf.util import ops

Gradient = Callable[..., Sequence[Any]]
"""(inputs, outputs nested as the function returns them, their gradients likewise, **options) -> gradient of each input,
None for what is not differentiated"""

_numbers = itertools.count()


@dataclass(frozen=True)
class _GraphFunction:
    defun: Any
    outputs: Any
    """nested as the function returns them: numbers of the outputs of the call, -1 for None"""
    types: list[tf.DType]
    """of the outputs of the call"""
    shapes: list[tf.TensorShape]
    """of these"""
    gradient: str
    """of a call: name, registered"""


def call(
    function: Callable[..., Any],
    *inputs: tf.Tensor | None,
    shapes: Mapping[int, tuple[int | None, ...]] | None = None,
    gradient: Gradient | None = None,
    **options: Hashable,
) -> Any:
    """
    Like ``function(*inputs, **options)``, with the operations of an earlier call.

    :param function: of a module; makes operations from its inputs alone: no variables, nothing random
    :param inputs: tensors, or None. For other dtypes or static shapes it is called again
    :param shapes: number of an input -> what the function may know of its shape; by default, all
    :param gradient: of a module, likewise. By default what TensorFlow finds, by computing the function once more
    :param options: likewise
    :return: what the function returns: tensors or None, in nested tuples
    """
    tensors = [x for x in inputs if x is not None]
    types = [_type_of(x, (shapes or {}).get(i)) for i, x in enumerate(inputs)]
    made = _make(function, gradient, tuple(types), tuple(sorted(options.items())))
    graph = v1.get_default_graph()
    if not graph._is_function(made.defun.name):
        made.defun.add_to_graph(graph)
    attrs = {
        "Tin": ops.type_list([x.dtype for x in tensors]),
        "Tout": ops.type_list(made.types),
        "f": v1.AttrValue(func=v1.NameAttrList(name=made.defun.name)),
        "_disable_call_shape_inference": True,  # which takes a millisecond; they are known
    }
    with graph.gradient_override_map({"PartitionedCall": made.gradient}), v1.name_scope(function.__name__.strip("_")):
        outputs = ops.make("PartitionedCall", tensors, attrs).outputs
    for x, shape in zip(outputs, made.shapes, strict=True):
        x.set_shape(shape)
    return _nested(outputs, made.outputs)


def _type_of(x: tf.Tensor | None, shape: tuple[int | None, ...] | None = None) -> tuple[tf.DType, Any] | None:
    """
    :param shape: instead of what is known
    """
    if x is None:
        return None
    return x.dtype.base_dtype, shape or (None if x.shape.rank is None else tuple(x.shape.as_list()))


@functools.lru_cache(maxsize=256)
def _make(
    function: Callable[..., Any],
    gradient: Gradient | None,
    types: tuple[Any, ...],
    options: tuple[tuple[str, Hashable], ...],
) -> _GraphFunction:
    numbers, flat = None, []

    def body(*args: tf.Tensor) -> list[tf.Tensor]:
        nonlocal numbers
        for x, (_, shape) in zip(args, (t for t in types if t is not None), strict=True):
            x.set_shape(shape)
        outputs = function(*_with_none(args, types), **dict(options))
        flat[:] = [x for x in tf.nest.flatten(outputs) if x is not None]
        count = itertools.count()
        numbers = tf.nest.map_structure(lambda x: -1 if x is None else next(count), outputs)
        given = {id(x) for x in args}
        return [tf.identity(x) if id(x) in given else x for x in flat]

    body.__name__ = "rf_%s" % function.__name__.strip("_")
    with tf.Graph().as_default():
        defun = Defun(*(t[0] for t in types if t is not None))(body)
        _ = defun.name  # calls the body
    if defun.captured_inputs:
        raise ValueError("%s uses tensors that are not its inputs: %s" % (body.__name__, defun.captured_inputs))
    name = "Rf_call_%i" % next(_numbers)

    def gradient_of_call(op: Any, *grads: tf.Tensor) -> list[Any]:
        known = [t[1] for t in types if t is not None]  # not what else is known of them here
        known += [x.shape.rank and tuple(x.shape.as_list()) for x in flat] * (1 if gradient is None else 2)
        shapes = {i: shape for i, shape in enumerate(known) if shape}
        about = {"types": types, "options": options, "shapes": shapes}
        if gradient is None:
            found = call(_found_gradient, *op.inputs, *grads, of=function, **about)
        else:
            args = (*op.inputs, *op.outputs, *grads)
            found = call(_given_gradient, *args, of=gradient, numbers=numbers, **about)
        return [dx for dx, t in zip(found, types, strict=True) if t is not None]

    tf.RegisterGradient(name)(gradient_of_call)
    return _GraphFunction(defun, numbers, [x.dtype for x in flat], [x.shape for x in flat], name)


def _with_none(xs: Sequence[tf.Tensor], types: Sequence[Any]) -> list[tf.Tensor | None]:
    """:return: as many as types: one of xs, or None where the type is"""
    given = iter(xs)
    return [None if t is None else next(given) for t in types]


def _nested(xs: Sequence[tf.Tensor], numbers: Any) -> Any:
    """:return: nested as the numbers are: of each, that one of xs, or None if it is negative"""
    return tf.nest.map_structure(lambda i: None if i < 0 else xs[i], numbers)


def _given_gradient(*args: tf.Tensor, of: Gradient, types: Any, numbers: Any, options: Any) -> tuple[Any, ...]:
    """
    :param args: inputs, outputs, gradients of the outputs
    """
    num_inputs = sum(t is not None for t in types)
    num_outputs = (len(args) - num_inputs) // 2
    rest = args[num_inputs:]
    outputs, grads = (_nested(xs, numbers) for xs in (rest[:num_outputs], rest[num_outputs:]))
    return tuple(of(_with_none(args[:num_inputs], types), outputs, grads, **dict(options)))


def _found_gradient(*args: tf.Tensor, of: Callable[..., Any], types: Any, options: Any) -> tuple[Any, ...]:
    """
    :param args: inputs, gradients of the outputs
    """
    num_inputs = sum(t is not None for t in types)
    inputs = list(args[:num_inputs])
    outputs = [x for x in tf.nest.flatten(of(*_with_none(inputs, types), **dict(options))) if x is not None]
    return tuple(_with_none(v1.gradients(outputs, inputs, list(args[num_inputs:])), types))
