"""Parameters as variables of a graph.

The operations of a variable (its handle, initial value, assignment, ..) are the same for all parameters of a shape and
initialiser, but for names and seeds. So they are made once and then imported under other names, which is three times
faster; see :mod:`.graph_template`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy
from tensorflow.core.framework import variable_pb2
from tensorflow.python.ops.resource_variable_ops import ResourceVariable
from tensorflow.python.ops.variable_scope import _get_default_variable_store

from returnn.frontend import init as rf_init
from returnn.tf.compat import tf, v1
from returnn.tf.util.initial_values import initial_value

_NAME = "v"
_NAMES_IN_PROTO = ("variable_name", "initializer_name", "snapshot_name", "initial_value_name")


def create_variable(
    name: str, shape: Sequence[int], dtype: str, *, init: rf_init.ParamInit, trainable: bool
) -> tuple[tf.Variable, tf.Tensor]:
    """
    :param name: full; no other operation of the graph has it
    :param shape: of the value
    :param dtype: as numpy names it
    :param init: how it starts
    :param trainable: whether it is in the collection of trainable variables
    :return: variable, and its value in this step
    :raises ValueError: the name is taken
    """
    with tf.init_scope():  # outside of loops and conditionals
        if _has_value_of_its_own(init) or v1.get_default_graph().building_function:
            var = _get_variable(name, shape, dtype, init=init, trainable=trainable)
        else:
            if _has_operation(name):  # import would choose another name
                raise ValueError("variable %s already exists, or an operation of that name" % name)
            template = _make_template(tuple(shape), dtype, dataclasses.replace(init, seed=None))
            var = _import(*template, name, seed=init.seed, trainable=trainable)
        return var, v1.get_default_graph().as_graph_element(var)  # what it has read already


def _has_operation(name: str) -> bool:
    try:
        v1.get_default_graph().get_operation_by_name(name)
        return True
    except KeyError:
        return False


def _has_value_of_its_own(init: rf_init.ParamInit) -> bool:
    """:return: whether it holds a tensor or an array, which no other parameter shares"""
    return isinstance(init, rf_init.Computed) or (isinstance(init, rf_init.Constant) and numpy.ndim(init.value) > 0)


def _get_variable(
    name: str, shape: Sequence[int], dtype: str, *, init: rf_init.ParamInit, trainable: bool
) -> tf.Variable:
    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return initial_value(init, tuple(shape), tf.as_dtype(dtype).name)

    # named exactly so, whatever scopes are open
    with v1.variable_scope(v1.VariableScope(reuse=False, name=""), auxiliary_name_scope=False):
        return v1.get_variable(
            name, tuple(shape), dtype, initializer=initializer, trainable=trainable, use_resource=True
        )


@functools.lru_cache(maxsize=1024)
def _make_template(shape: tuple[int, ...], dtype: str, init: rf_init.ParamInit) -> tuple[Any, Any]:
    """:return: graph, and what a variable is made of, with the name ``v``"""
    graph = tf.Graph()
    with graph.as_default():
        proto = _get_variable(_NAME, shape, dtype, init=init, trainable=True).to_proto()
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        node.attr.pop("_class", None)  # no need to say that they stay together: the variable says where it is
    return graph_def, proto


def _import(template: Any, proto: Any, name: str, *, seed: int | None, trainable: bool) -> tf.Variable:
    graph_def = type(template)()
    graph_def.CopyFrom(template)
    seeds = [number or 0 for number in v1.get_seed(seed)]
    for node in graph_def.node:
        node.name = _renamed(node.name, name)
        for i, source in enumerate(node.input):
            node.input[i] = _renamed(source, name)
        if "shared_name" in node.attr:
            node.attr["shared_name"].s = name.encode("utf8")
        if "seed2" in node.attr:
            node.attr["seed"].i, node.attr["seed2"].i = seeds
    with v1.name_scope(None):
        v1.import_graph_def(graph_def, name="")
    own = variable_pb2.VariableDef()
    own.CopyFrom(proto)
    own.trainable = trainable
    for field in _NAMES_IN_PROTO:
        setattr(own, field, _renamed(getattr(proto, field), name))
    var = ResourceVariable(variable_def=own)
    v1.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, var)
    if trainable:
        v1.add_to_collection(v1.GraphKeys.TRAINABLE_VARIABLES, var)
    _get_default_variable_store()._vars[name] = var  # where tf.compat.v1.get_variable with reuse looks
    return var


def _renamed(text: str, name: str) -> str:
    """
    :param text: name of an operation or tensor of the template, "^" in front if it only has to come before
    :param name: of the variable, instead of ``v``
    """
    mark = "^" if text.startswith("^") else ""
    return mark + name + text[len(mark + _NAME) :]
