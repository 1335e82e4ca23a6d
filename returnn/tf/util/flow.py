"""Control flow, name scopes and printing in TensorFlow graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from returnn.tf.compat import tf, v1


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None) -> Any:
    """
    Like ``tf.cond``, but a condition that is known already makes no graph operation.

    :param pred: bool, or scalar bool tensor
    :param true_fn: called if true
    :param false_fn: called if not
    """
    known = pred if isinstance(pred, (bool, numpy.bool_)) else tf.get_static_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return v1.cond(pred, true_fn, false_fn, name=name)


@contextlib.contextmanager
def reuse_name_scope(name: str, absolute: bool | None = None, **kwargs: Any) -> Iterator[Any]:
    """
    Enters a scope for variables and operations, whether it is new or not: no "_1" is added to its name.

    :param name: below the current scope
    :param absolute: it is a full name instead
    :param kwargs: for ``tf.compat.v1.variable_scope``
    :return: the variable scope
    """
    parent = "" if absolute else v1.get_variable_scope().name
    full = "%s/%s" % (parent, name) if parent and name else name or parent
    scope = v1.VariableScope(reuse=kwargs.pop("reuse", v1.AUTO_REUSE), name=full)
    scope_name = full + "/" if full else None
    with tf.name_scope(scope_name) if scope_name else contextlib.nullcontext():
        with v1.variable_scope(scope, auxiliary_name_scope=False, **kwargs) as entered:
            yield entered


def py_print(
    pass_through_value: Any,
    print_args: Sequence[Any],
    message: str | None = None,
    summarize: int | None = None,
    first_n: int | None = None,
    name: str = "py_print",
) -> Any:
    """
    Prints from within the graph.

    :param pass_through_value: returned as it is
    :param print_args: tensors or texts
    :param message: in front
    :param summarize: of longer arrays only the borders are shown; numpy's default
    :param first_n: only so many times
    :return: pass_through_value; whoever uses it makes the print happen
    """
    printed = 0

    def show(*values: Any) -> numpy.bool_:
        nonlocal printed
        printed += 1
        if first_n is None or printed <= first_n:
            texts = [v.decode("utf8") if isinstance(v, bytes) else _text(v, summarize) for v in values]
            print(*([message] if message else []), *texts, flush=True)
        return numpy.bool_(True)

    with tf.name_scope(name):
        done = tf.numpy_function(show, [tf.convert_to_tensor(a) for a in print_args], tf.bool)
        with tf.control_dependencies([done]):
            return tf.identity(pass_through_value)


def _text(value: Any, summarize: int | None) -> str:
    return numpy.array2string(numpy.asarray(value), threshold=summarize)
