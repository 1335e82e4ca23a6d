"""Types, control flow, checks and printing, with the names and arguments of TensorFlow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from returnn.util.errors import UserError

from ..elementwise import COMPARE
from ..values import operands, to_tensor, torch_dtype
from .namespace import Namespace

TYPES: dict[str, Any] = {
    **{
        name: getattr(torch, name)
        for name in "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool complex64".split()
    },
    "half": torch.float16,
    "double": torch.float64,
    "newaxis": None,
    "Tensor": torch.Tensor,
    "DType": torch.dtype,
    "as_dtype": torch_dtype,
    "is_tensor": lambda x: isinstance(x, torch.Tensor),
}
"""of ``tf``"""


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: Any = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
    **_: Any,
) -> Any:
    """Only one of the two is called."""
    chosen = (true_fn or fn1) if bool(pred) else (false_fn or fn2)
    if chosen is None:
        raise TypeError("tf.cond needs true_fn and false_fn")
    return chosen()


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, *_: Any, **__: Any) -> Any:
    """
    :param cond: loop_vars -> whether to go on
    :param body: loop_vars -> those after it
    :param loop_vars: list or tuple, of values of any structure; numbers become tensors
    :return: the last ones
    """
    values: Any = [_nest_map(to_tensor, value) for value in loop_vars]
    while bool(cond(*values)):
        values = body(*values)
        values = list(values) if isinstance(values, (list, tuple)) else [values]
    return type(loop_vars)(values)


def map_fn(fn: Callable[[Any], Any], elems: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    """fn on each entry of the first axis; elems and results may be tuples"""
    entries = list(zip(*elems, strict=True)) if isinstance(elems, (list, tuple)) else list(to_tensor(elems))
    if not entries:
        raise UserError("tf.map_fn: there is no entry, so the shape of the result is not known")
    results = [fn(entry) for entry in entries]
    if isinstance(results[0], (list, tuple)):
        return type(results[0])(torch.stack(parts) for parts in zip(*results, strict=True))
    return torch.stack(results)


def _nest_map(function: Callable[..., Any], *structures: Any) -> Any:
    first = structures[0]
    if isinstance(first, dict):
        return {key: _nest_map(function, *[s[key] for s in structures]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(_nest_map(function, *parts) for parts in zip(*structures, strict=True))
    return function(*structures)


def _flatten(structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [x for key in sorted(structure) for x in _flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [x for part in structure for x in _flatten(part)]
    return [structure]


def print_tensors(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: Any = None,
) -> Any:
    """``tf.Print`` of version 1: in each step, whatever ``first_n`` is, as here no graph keeps count."""
    print(*([message] if message else []), *[text_of(x, summarize) for x in data], flush=True)
    return input_


def print_(*inputs: Any, **_: Any) -> None:
    """``tf.print``"""
    print(*[text_of(x) for x in inputs], flush=True)


def text_of(value: Any, summarize: int | None = None) -> str:
    """:return: for a print; of longer arrays only ``summarize`` entries at the borders, if given"""
    if not isinstance(value, torch.Tensor):
        return str(value)
    return numpy.array2string(value.detach().cpu().numpy(), threshold=summarize)


def _assertion(op: str) -> Callable[..., None]:
    def check(x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None) -> None:
        a, b = operands(x, y)
        if not bool(COMPARE[op](a, b).all()):
            text = data if isinstance(data, str) else message  # version 2 has the message first
            raise UserError("%stf.assert_%s: %s, %s" % (text + ": " if text else "", op, text_of(a), text_of(b)))

    return check


def assert_true(condition: Any, data: Sequence[Any] = (), summarize: Any = None, name: Any = None) -> None:
    """``tf.Assert``"""
    if not bool(to_tensor(condition).all()):
        raise UserError("tf.Assert failed: %s" % " ".join(text_of(x, summarize) for x in data))


def check_numerics(tensor: Any, message: str, name: Any = None) -> torch.Tensor:
    """Fails where it is inf or nan."""
    x = to_tensor(tensor)
    if not bool(torch.isfinite(x).all()):
        raise UserError("%s: the value is inf or nan" % message)
    return x


def nothing(*_: Any, **__: Any) -> None:
    """What orders or groups operations has nothing to do here."""


DEBUGGING: dict[str, Any] = {
    **{"assert_" + op: _assertion(op) for op in COMPARE},
    "Assert": assert_true,
    "check_numerics": check_numerics,
}
"""of ``tf.debugging``"""
FUNCTIONS: dict[str, Any] = {
    **DEBUGGING,
    "cond": cond,
    "while_loop": while_loop,
    "map_fn": map_fn,
    "nest": Namespace("tf.nest", {"map_structure": _nest_map, "flatten": _flatten}),
    "Print": print_tensors,
    "print": print_,
    "group": nothing,
    "no_op": nothing,
    "control_dependencies": lambda _: contextlib.nullcontext(),
    "name_scope": lambda *_, **__: contextlib.nullcontext(""),
    "device": lambda _: contextlib.nullcontext(),
}
"""of ``tf``"""
