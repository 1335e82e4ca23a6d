"""What several test modules share: one rf expression, run on any backend, and what is visible of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
import pytest

from returnn.tensor import Dim, Tensor
from returnn.tensor.run_table import run_table_ctx

BACKENDS = ("numpy", "tf", "torch")
"""What :func:`run_rf` knows; torch, an extra, skips the test where it is not installed."""

Feed = Mapping[Any, Any]
"""Name of an input -> array in the order of its dims; dynamic dim -> its lengths [batch]."""


class Result(NamedTuple):
    """Of one rf expression."""

    template: Tensor
    """without value: what the expression says about dims and dtype"""
    values: list[numpy.ndarray]
    """one for each feed, axes in the order of ``template.dims``"""
    gradients: list[list[numpy.ndarray]]
    """for each feed the gradient of the sum of all visible values, one for each float32 input; only on request"""


def run_rf(
    backend: str,
    function: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    feeds: Sequence[Feed],
    *,
    gradients: bool = False,
) -> Result:
    """
    :param backend: template, or one of BACKENDS. TensorFlow builds one graph for all feeds.
    :param function: gets the inputs, with values
    :param inputs: templates, with different names
    :param feeds: their values
    :param gradients: not with numpy
    """
    if backend == "template":
        return Result(function(*inputs), [], [])
    return {"numpy": _run_numpy, "tf": _run_tf, "torch": _run_torch}[backend](function, inputs, feeds, gradients)


def _run_numpy(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], feeds: Sequence[Feed], gradients: bool
) -> Result:
    results = []
    for feed in feeds:
        with run_table_ctx():
            set_lens({key: value for key, value in feed.items() if isinstance(key, Dim)})
            results.append(function(*[x.like(numpy.asarray(feed[x.name], x.dtype)) for x in inputs]))
    return Result(results[0].copy_template(), [y.raw_tensor for y in results], [])


def _run_tf(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], feeds: Sequence[Feed], gradients: bool
) -> Result:
    import returnn.tf.backend  # noqa: F401, PLC0415 - slow to import
    from returnn.tf.compat import tf, v1  # noqa: PLC0415

    with tf.Graph().as_default(), v1.Session() as session:
        placeholders = {key: v1.placeholder("int32", [None]) for key in feeds[0] if isinstance(key, Dim)}
        set_lens(placeholders)
        for x in inputs:
            placeholders[x.name] = v1.placeholder(x.dtype, x.batch_shape)
        y = function(*[x.like(placeholders[x.name]) for x in inputs])
        fetches = [y.raw_tensor]
        if gradients:
            total = tf.reduce_sum(mask_all(y).raw_tensor)
            smooth = [placeholders[x.name] for x in inputs if x.dtype == "float32"]
            fetches += map(tf.convert_to_tensor, tf.gradients(total, smooth, unconnected_gradients="zero"))
        session.run(v1.global_variables_initializer())
        fed = [{placeholders[key]: value for key, value in feed.items()} for feed in feeds]
        results = [session.run(fetches, feed) for feed in fed]
    return Result(y.copy_template(), [r[0] for r in results], [r[1:] for r in results])


def _run_torch(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], feeds: Sequence[Feed], gradients: bool
) -> Result:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    import returnn.torch.backend  # noqa: F401, PLC0415 - slow to import

    values, all_gradients = [], []
    for feed in feeds:
        with run_table_ctx():
            set_lens({key: torch.tensor(numpy.asarray(n, "int32")) for key, n in feed.items() if isinstance(key, Dim)})
            raw_inputs = [torch.tensor(numpy.asarray(feed[x.name], x.dtype)) for x in inputs]
            smooth = [raw.requires_grad_() for raw in raw_inputs if gradients and raw.dtype == torch.float32]
            y = function(*[x.like(raw) for x, raw in zip(inputs, raw_inputs, strict=True)])
            if gradients:
                total = mask_all(y).raw_tensor.sum()
                gradient = torch.autograd.grad(total, smooth, materialize_grads=True)
                all_gradients.append([g.numpy() for g in gradient])
        values.append(y.raw_tensor.detach().numpy())
    return Result(y.copy_template(), values, all_gradients)


def set_lens(lens: Mapping[Dim, Any]) -> None:
    """Sets the lengths of dims in the current graph or table."""
    for dim, raw in lens.items():
        dim.dyn_size = numpy.asarray(raw, "int32") if isinstance(raw, (list, tuple)) else raw


def mask_all(x: Tensor, value: float = 0) -> Tensor:
    """
    :return: x with this value in all frames behind the ends of its sequences
    """
    import returnn.frontend as rf  # noqa: PLC0415 - tests of the tensor room need none of it

    for dim in x.dims:
        if dim.need_masking and set(dim.size_dims or ()) <= set(x.dims):
            x = rf.where(dim.get_mask(), x, value)
    return x


def visible(template: Tensor, value: numpy.ndarray, feed: Feed, *, order: Sequence[Dim] | None = None) -> numpy.ndarray:
    """
    :param template: says the dims of value
    :param value: result of :func:`run_rf`
    :param feed: for the lengths
    :param order: of axes in the result; as they are by default
    :return: value with zeros behind the ends of its sequences
    """
    with run_table_ctx():
        set_lens({key: lens for key, lens in feed.items() if isinstance(key, Dim)})
        y = mask_all(template.like(numpy.asarray(value)))
        return (y if order is None else y.copy_transpose(order)).raw_tensor
