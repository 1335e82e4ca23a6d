"""Computes a network case on PyTorch: the same arrays as :mod:`.peer_case` gets from a TensorFlow graph."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from typing import Any

import numpy
import torch

from returnn.config import Config
from returnn.network import Network
from returnn.torch.backend import backend

from .peer_case import Arrays, folder, param_value_of_shape, params_of_case


def compute_on_torch(name: str, stored: Mapping[str, numpy.ndarray]) -> Arrays:
    """
    :param name: of the case
    :param stored: for the values to feed
    :return: all that the case asks for, by the names that ``stored`` has
    """
    return compute_case(runpy.run_path(str(folder / (name + ".py"))), stored)


def compute_case(case: Mapping[str, Any], stored: Mapping[str, numpy.ndarray]) -> Arrays:
    """
    See :func:`.peer_case.compute_case`.
    """
    train, search, evaluation = case.get("train", False), case.get("search", False), case.get("eval_flag", True)
    config = Config({**{key: case[key] for key in ("extern_data", "network") if key in case}, **case.get("config", {})})
    net = Network(config=config, train_flag=train, eval_flag=evaluation, search_flag=search, backend=backend)
    net.construct_from_dict(case["network"])
    params = net.param_store.named()
    scale, seed = case.get("param_scale", 0.3), case.get("param_seed", 0)
    results: Arrays = {}
    before = {}
    for key, var in params.items():
        before[key] = param_value_of_shape(key, tuple(var.shape), _numpy(var).dtype, scale, seed)
    before.update(params_of_case(case, before))
    for key, var in params.items():
        backend.assign(var, torch.tensor(before[key]))
        if var.is_floating_point():
            var.requires_grad_(True)  # the reference tells gradients of parameters that are not trained, too
    with net.step(_data(net, stored), train=train, epoch_step=1):
        for layer_name in case.get("fetch") or [n for n in case["network"] if n in net.layers]:
            _add_layer(layer_name, net.get_layer(layer_name), results)
        if evaluation:
            _add_losses(net, train, results)
        for path, layer in net.all_layers():
            results.update({"stats:%s:%s" % (path, key): _numpy(value) for key, value in layer.stats.items()})
        if train:
            _add_gradients(net, params, results)
    for key, value in before.items():
        results["param:" + key] = numpy.array(value.shape, "int64")
        if not numpy.array_equal(_numpy(params[key]), value):
            results["after:" + key] = _numpy(params[key]).copy()
    return results


def _numpy(value: Any) -> numpy.ndarray:
    return value.detach().numpy() if isinstance(value, torch.Tensor) else numpy.asarray(value)


def _data(net: Network, stored: Mapping[str, numpy.ndarray]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, template in net.extern_data.data.items():
        if "in:" + key in stored:
            data[key] = stored["in:" + key]
            for axis, size in enumerate(template.shape):
                lens = stored.get("in:%s:len:%i" % (key, axis))
                if size is None and lens is not None:
                    data["%s:size%i" % (key, template.get_batch_axis(axis))] = lens
    return data


def _add_layer(name: str, layer: Any, results: Arrays) -> None:
    output = layer.output.copy_as_batch_major() if layer.output.have_batch_axis() else layer.output
    results["out:" + name] = _numpy(output.raw_tensor)
    for axis, size in output.size_placeholder.items():
        results["len:%s:%i" % (name, axis)] = _numpy(size)
    choices = layer.search_choices
    if choices is not None and choices.owner is layer and choices.beam_scores is not None:
        results["scores:" + name] = _numpy(choices.beam_scores)
    axes = [int(output.have_batch_axis()), output.time_dim_axis, output.feature_dim_axis, output.dim]
    results["axes:" + name] = numpy.array([-1 if axis is None else axis for axis in axes])


def _add_losses(net: Network, train: bool, results: Arrays) -> None:
    results["loss"] = _numpy(net.get_objective()).astype("float32")
    for holder in net.get_losses():
        if holder.get_only_on_eval() and train:
            continue
        for kind, value in [("cost", holder.get_loss_value()), ("error", holder.get_error_value())]:
            if value is not None:
                results["%s:%s" % (kind, holder.name)] = _numpy(value)
        results["loss_norm_factor:" + holder.name] = _numpy(holder.get_norm_factor())


def _add_gradients(net: Network, params: Mapping[str, Any], results: Arrays) -> None:
    objective = net.get_objective()
    params = {key: var for key, var in params.items() if var.requires_grad}
    if not isinstance(objective, torch.Tensor) or not objective.requires_grad:
        return
    grads = torch.autograd.grad(objective, list(params.values()), allow_unused=True)
    for key, grad in zip(params, grads, strict=True):
        if grad is not None:
            results["grad:" + key] = _numpy(grad.to_dense() if grad.is_sparse else grad)
