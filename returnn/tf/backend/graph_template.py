"""Operations that are made once, in a graph of their own, and then imported wherever they are needed again.

To make an operation takes Python half a millisecond, to import one a tenth of that: that counts for the hundreds of
operations of a loop over time, in a network with a dozen such layers. What runs is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from tensorflow.python.ops.control_flow_ops import WhileContext

from returnn.tf.compat import tf, v1

_INPUT = "template_input_%i"


@dataclass(frozen=True)
class _Template:
    graph_def: Any
    outputs: Any
    """nested as the function returns them: names"""
    shapes: list[tf.TensorShape]
    """of these, flat; import does not know what the function said about them"""
    loops: list[Any]
    """what ``tf.gradients`` has to know about loops, as protocol buffers"""


def from_template(function: Callable[..., Any], *inputs: tf.Tensor, **options: Hashable) -> Any:
    """
    Like ``function(*inputs, **options)``, with the operations of an earlier call.

    :param function: of a module; makes operations from its inputs alone: no variables, nothing random, no gradients of
        its own
    :param inputs: tensors. For other dtypes or static shapes it is called again
    :param options: likewise
    :return: what the function returns: tensors that it made, in nested tuples
    """
    graph = v1.get_default_graph()
    if graph._get_control_flow_context() is not None or graph.building_function:
        return function(*inputs, **options)  # an import does not know that it is inside of something
    template = _make(function, tuple(map(_type_of, inputs)), tuple(sorted(options.items())))
    if graph._control_dependencies_for_inputs([]):  # an import adds them within loops too, where they cannot be
        inputs = tuple(map(tf.identity, inputs))
    with graph.control_dependencies(None):
        return _instantiate(template, inputs)


def _type_of(x: tf.Tensor) -> tuple[tf.DType, tuple[int | None, ...] | None]:
    return x.dtype.base_dtype, None if x.shape.rank is None else tuple(x.shape.as_list())


@functools.lru_cache(maxsize=256)
def _make(function: Callable[..., Any], types: tuple[Any, ...], options: tuple[tuple[str, Hashable], ...]) -> _Template:
    graph = tf.Graph()
    with graph.as_default():
        inputs = [v1.placeholder(dtype, shape, name=_INPUT % i) for i, (dtype, shape) in enumerate(types)]
        outputs = function(*inputs, **dict(options))
        names = tf.nest.map_structure(lambda x: x.name, outputs)
        shapes = [x.shape for x in tf.nest.flatten(outputs)]
        loops = [loop.to_proto() for loop in v1.get_collection(v1.GraphKeys.WHILE_CONTEXT)]
    return _Template(graph.as_graph_def(), names, shapes, loops)


def _instantiate(template: _Template, inputs: tuple[tf.Tensor, ...]) -> Any:
    with v1.name_scope("ops") as scope:
        tensors = v1.import_graph_def(
            template.graph_def,
            input_map={(_INPUT + ":0") % i: x for i, x in enumerate(inputs)},
            return_elements=tf.nest.flatten(template.outputs),
            name=scope,
        )
    for loop in template.loops:
        context = WhileContext.from_proto(loop, import_scope=scope.rstrip("/"))
        v1.add_to_collection(v1.GraphKeys.WHILE_CONTEXT, context)
    for tensor, shape in zip(tensors, template.shapes, strict=True):
        tensor.set_shape(shape)
    return tf.nest.pack_sequence_as(template.outputs, tensors)
