"""One layer on TensorFlow and on PyTorch: output, lengths, gradients to parameters and data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import torch

from returnn.config import Config
from returnn.network import Network
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork
from returnn.torch.backend import backend as torch_backend
from tests.network.peer_case import param_value_of_shape

LAYER = "output"
Arrays = dict[str, numpy.ndarray]


def weights_for(shape: tuple[int, ...]) -> numpy.ndarray:
    """
    :return: what the output is multiplied with before the gradient is taken: a function of the shape
    """
    return numpy.random.RandomState(len(shape)).normal(size=shape).astype("float32")


def on_tensorflow(
    network: Mapping[str, Any], extern_data: Mapping[str, Any], data: Mapping[str, Any], *, train: bool
) -> Arrays:
    """
    :param network: layer dict with a layer "output"
    :param extern_data: as in a config
    :param data: key -> value, "key:size<axis>" -> lengths
    :param train: the train flag
    :return: "out", "len:<axis>", "axes", "grad:<param>", "grad:data:<key>"
    """
    config = Config({"extern_data": dict(extern_data)})
    with tf.Graph().as_default(), v1.Session() as session:
        net = TFNetwork(config=config, train_flag=train, eval_flag=True)
        net.construct_from_dict(dict(network))
        output = net.layers[LAYER].output
        params = {var.op.name: var for var in net.get_params_list()}
        feed = {}
        for key, value in data.items():
            name, _, axis = key.partition(":size")
            template = net.extern_data.data[name]
            feed[template.placeholder if not axis else template.dims[int(axis)].dyn_size] = value
        feed.update({op.outputs[0]: 1 for op in session.graph.get_operations() if op.name == "epoch_step"})
        session.run(v1.global_variables_initializer())
        for name, var in params.items():
            dtype = numpy.dtype(var.dtype.base_dtype.as_numpy_dtype)
            var.load(param_value_of_shape(name, tuple(var.shape.as_list()), dtype, 0.3, 0), session)
        fetches = {"out": output.placeholder}
        fetches.update({"len:%i" % axis: size for axis, size in output.size_placeholder.items()})
        results = session.run(fetches, feed)
        if results["out"].dtype == "float32":
            total = tf.reduce_sum(output.placeholder * _masked(weights_for(results["out"].shape), results, output))
            sources = {"grad:" + name: var for name, var in params.items() if var.dtype.base_dtype.is_floating}
            for key, template in net.extern_data.data.items():
                if template.dtype == "float32" and key in data:
                    sources["grad:data:" + key] = template.placeholder
            grads = tf.gradients(total, list(sources.values()))
            found = {k: tf.convert_to_tensor(g) for k, g in zip(sources, grads, strict=True) if g is not None}
            results.update(session.run(found, feed))
        results["out"] = _masked(results["out"], results, output)
        results["axes"] = _axes(output)
        return results


def on_torch(
    network: Mapping[str, Any], extern_data: Mapping[str, Any], data: Mapping[str, Any], *, train: bool
) -> Arrays:
    """
    See :func:`on_tensorflow`.
    """
    config = Config({"extern_data": dict(extern_data)})
    net = Network(config=config, train_flag=train, eval_flag=True, backend=torch_backend)
    net.construct_from_dict(dict(network))
    params = net.param_store.named()
    for name, var in params.items():
        dtype = var.detach().numpy().dtype
        torch_backend.assign(var, torch.tensor(param_value_of_shape(name, tuple(var.shape), dtype, 0.3, 0)))
        if var.is_floating_point():
            var.requires_grad_(True)
    fed = {}
    for key, value in data.items():
        fed[key] = value
        if isinstance(value, numpy.ndarray) and value.dtype == "float32":
            fed[key] = torch.tensor(value, requires_grad=True)
    with net.step(fed, train=train, epoch_step=1):
        output = net.layers[LAYER].output
        raw = output.raw_tensor
        results = {"out": raw.detach().numpy()}
        results.update({"len:%i" % axis: size.numpy() for axis, size in output.size_placeholder.items()})
        if raw.dtype == torch.float32 and raw.requires_grad:
            weights = _masked(weights_for(tuple(raw.shape)), results, output)
            sources = {"grad:" + name: var for name, var in params.items() if var.requires_grad}
            sources.update({"grad:data:" + k: x for k, x in fed.items() if getattr(x, "requires_grad", False)})
            grads = torch.autograd.grad((raw * torch.tensor(weights)).sum(), list(sources.values()), allow_unused=True)
            for key, grad in zip(sources, grads, strict=True):
                if grad is not None:
                    results[key] = (grad.to_dense() if grad.is_sparse else grad).detach().numpy()
        results["out"] = _masked(results["out"], results, output)
        results["axes"] = _axes(output)
    return results


def _axes(output: Any) -> numpy.ndarray:
    axes = [output.batch_dim_axis, output.time_dim_axis, output.feature_dim_axis, output.dim]
    return numpy.array([-1 if axis is None else axis for axis in axes])


def _masked(value: numpy.ndarray, results: Mapping[str, Any], output: Any) -> numpy.ndarray:
    """zeros behind the ends of sequences: what stands there has no meaning"""
    if output.batch_dim_axis is None:
        return value
    for axis in output.size_placeholder:
        number, lens = output.get_batch_axis(axis), results["len:%i" % axis]
        if lens.ndim != 1 or len(lens) != value.shape[output.batch_dim_axis]:
            continue
        inside = numpy.arange(value.shape[number]) < lens[:, None]
        if number < output.batch_dim_axis:
            inside = inside.T
        shape = [n if i in (number, output.batch_dim_axis) else 1 for i, n in enumerate(value.shape)]
        value = numpy.where(inside.reshape(shape), value, numpy.zeros((), value.dtype))
    return value


def differences(a: Arrays, b: Arrays, *, tolerance: float = 1e-4) -> list[str]:
    """
    :return: a line for each array that differs, or is missing on one side. A gradient that is missing on one side must
        be zero on the other.
    """
    lines = []
    for key in sorted(a.keys() | b.keys()):
        x, y = a.get(key), b.get(key)
        if key.startswith("grad:") and (x is None or y is None):
            if numpy.any(y if x is None else x):
                lines.append("%s: only on %s" % (key, "PyTorch" if x is None else "TensorFlow"))
        elif x is None or y is None:
            lines.append("%s: only on %s" % (key, "PyTorch" if x is None else "TensorFlow"))
        elif x.dtype != y.dtype or x.shape != y.shape:
            lines.append("%s: %s %s, %s %s" % (key, x.dtype, x.shape, y.dtype, y.shape))
        elif not numpy.allclose(x, y, rtol=tolerance, atol=tolerance * 0.1, equal_nan=True):
            lines.append("%s: largest difference %g" % (key, numpy.max(numpy.abs(x - y)) if x.size else 0))
    return lines
