"""Parameters as variables of a graph.

Like those of ``tf.compat.v1.get_variable``, under the same names, but with as few operations as a variable needs: its
handle, its initial value, the assignment of that, and one read, which all who want its value share.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorflow.core.framework import variable_pb2
from tensorflow.python.ops.resource_variable_ops import ResourceVariable
from tensorflow.python.ops.variable_scope import _get_default_variable_store

from returnn.frontend import init as rf_init
from returnn.tf.compat import tf, v1
from returnn.tf.util import ops
from returnn.tf.util.initial_values import initial_value


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
        if _has_operation(name):  # another name would be chosen
            raise ValueError("variable %s already exists, or an operation of that name" % name)
        with v1.name_scope(name + "/Initializer/"):
            start = initial_value(init, tuple(shape), dtype)
        tf_type = tf.as_dtype(dtype)
        tf_shape = v1.AttrValue(shape=tf.TensorShape(shape).as_proto())
        attrs = {"dtype": tf_type, "shape": tf_shape, "shared_name": name, "container": ""}
        handle = ops.make("VarHandleOp", [], attrs, name=name).outputs[0]
        assign = ops.make(
            "AssignVariableOp", [handle, start], {"dtype": tf_type, "validate_shape": False}, name=name + "/Assign"
        )
        value = ops.make("ReadVariableOp", [handle], {"dtype": tf_type}, name=name + "/Read/ReadVariableOp").outputs[0]
        value.set_shape(shape)
        var = ResourceVariable(
            variable_def=variable_pb2.VariableDef(
                variable_name=handle.name,
                initializer_name=assign.name,
                initial_value_name=start.name,
                snapshot_name=value.name,
                is_resource=True,
                trainable=trainable,
            )
        )
    v1.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, var)
    if trainable:
        v1.add_to_collection(v1.GraphKeys.TRAINABLE_VARIABLES, var)
    _get_default_variable_store()._vars[name] = var  # where tf.compat.v1.get_variable with reuse looks
    return var, value


def _has_operation(name: str) -> bool:
    try:
        v1.get_default_graph().get_operation_by_name(name)
        return True
    except KeyError:
        return False
