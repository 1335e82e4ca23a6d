"""Computes a network case with our TFNetwork, compares it with the stored result: see tests/peer_cases/README.md."""

from __future__ import annotations

import runpy
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork

folder = Path(__file__).parent.parent / "peer_cases"

Arrays = dict[str, numpy.ndarray]

_EXACT = ("len:", "axes:", "param:")
_RTOL, _ATOL = 1e-4, 1e-5


def case_names() -> list[str]:
    """
    :return: of all cases with a stored result
    """
    return sorted(path.stem for path in folder.glob("*.npz"))


def load_stored(name: str) -> Arrays:
    """
    :return: what the reference gave
    """
    with numpy.load(folder / (name + ".npz")) as arrays:
        return dict(arrays)


def compute(name: str, stored: Mapping[str, numpy.ndarray]) -> Arrays:
    """
    :param name: of the case
    :param stored: for the values to feed
    :return: all that the case asks for, by the names that ``stored`` has
    """
    return compute_case(runpy.run_path(str(folder / (name + ".py"))), stored)


def compute_case(case: Mapping[str, Any], stored: Mapping[str, numpy.ndarray]) -> Arrays:
    """
    :param case: as the file of a case defines it; ``param_value``: function of name and shape of a parameter, gives its
        value, or None: as :func:`param_value` does
    :param stored: for the values to feed
    :return: see :func:`compute`
    """
    train, search, evaluation = case.get("train", False), case.get("search", False), case.get("eval_flag", True)
    config = Config({**{key: case[key] for key in ("extern_data", "network") if key in case}, **case.get("config", {})})
    with tf.Graph().as_default(), v1.Session() as session:
        flag = v1.placeholder_with_default(False, ()) if evaluation and not train and not search else train
        net = TFNetwork(config=config, train_flag=flag, eval_flag=evaluation, search_flag=search)
        net.construct_from_dict(case["network"])
        fetches = net.get_fetches_dict(should_train=train, should_eval=evaluation)
        updates = fetches.pop("post_control_dependencies", [])
        results: Arrays = {}
        for layer_name in case.get("fetch") or [n for n in case["network"] if n in net.layers]:
            _add_layer(layer_name, net.get_layer(layer_name), fetches, results)
        params = {var.op.name: var for var in net.get_params_list()}
        if train:
            grads = tf.gradients(fetches["loss"], list(params.values()))
            for param_name, grad in zip(params, grads, strict=True):
                if grad is not None:
                    fetches["grad:" + param_name] = tf.convert_to_tensor(grad)
        session.run(v1.global_variables_initializer())
        scale, seed = case.get("param_scale", 0.3), case.get("param_seed", 0)
        before = {key: param_value(key, var, scale, seed) for key, var in params.items()}
        before.update(params_of_case(case, before))
        for key, var in params.items():
            var.load(before[key], session)
        constants = {key: value for key, value in fetches.items() if isinstance(value, (int, float))}
        to_run = {key: value for key, value in fetches.items() if key not in constants}
        values, _ = session.run((to_run, updates), feed_dict=_feed_dict(net, stored))
        after = session.run(params)
    results.update({key: numpy.asarray(value) for key, value in {**values, **constants}.items()})
    for key, value in before.items():
        results["param:" + key] = numpy.array(value.shape, "int64")
        if not numpy.array_equal(after[key], value):
            results["after:" + key] = after[key]
    return results


def params_of_case(case: Mapping[str, Any], params: Arrays) -> Arrays:
    """
    :param case: see :func:`compute_case`
    :param params: values by name
    :return: those that the case itself says
    """
    function = case.get("param_value")
    if function is None:
        return {}
    own = {key: function(key, value.shape) for key, value in params.items()}
    return {key: numpy.asarray(value, params[key].dtype) for key, value in own.items() if value is not None}


def param_value(name: str, var: Any, scale: float, seed: int) -> numpy.ndarray:
    """
    :return: a function of name and shape: normal, ``scale`` wide; variances are positive, counters zero
    """
    dtype = numpy.dtype(var.dtype.base_dtype.as_numpy_dtype)
    return param_value_of_shape(name, tuple(var.shape.as_list()), dtype, scale, seed)


def param_value_of_shape(
    name: str, shape: tuple[int, ...], dtype: numpy.dtype, scale: float, seed: int
) -> numpy.ndarray:
    """
    :return: see :func:`param_value`
    """
    if dtype.kind != "f":
        return numpy.zeros(shape, dtype)
    random = numpy.random.RandomState((zlib.crc32(name.encode("utf8")) + seed) % 2**31)
    value = random.normal(0.0, scale, shape).astype(dtype)
    return numpy.abs(value) + dtype.type(0.5) if "variance" in name else value


def _add_layer(name: str, layer: Any, fetches: dict[str, Any], results: Arrays) -> None:
    output = layer.output.copy_as_batch_major() if layer.output.have_batch_axis() else layer.output
    fetches["out:" + name] = output.placeholder
    for axis, size in output.size_placeholder.items():
        fetches["len:%s:%i" % (name, axis)] = size
    choices = layer.search_choices
    if choices is not None and choices.owner is layer and choices.beam_scores is not None:
        fetches["scores:" + name] = choices.beam_scores
    axes = [int(output.have_batch_axis()), output.time_dim_axis, output.feature_dim_axis, output.dim]
    results["axes:" + name] = numpy.array([-1 if axis is None else axis for axis in axes])


def _feed_dict(net: TFNetwork, stored: Mapping[str, numpy.ndarray]) -> dict[Any, Any]:
    feed = {}
    for key, data in net.extern_data.data.items():
        if "in:" + key in stored:
            feed[data.placeholder] = stored["in:" + key]
            for axis, size in data.size_placeholder.items():
                lens = stored.get("in:%s:len:%i" % (key, axis))
                if lens is not None:
                    feed[size] = lens
    for op in v1.get_default_graph().get_operations():
        if op.type.startswith("Placeholder") and op.name.rsplit("/", 1)[-1] == "epoch_step":
            feed[op.outputs[0]] = 1
    return feed


def differences(stored: Mapping[str, numpy.ndarray], ours: Mapping[str, numpy.ndarray]) -> list[str]:
    """
    :param stored: of the reference
    :param ours:
    :return: a line for each array that is missing, too much or different. Outputs are compared at real frames only.
    """
    stored = {key: value for key, value in stored.items() if not key.startswith("in:")}
    lines = [
        "%s: only in %s" % (key, "the reference" if key in stored else "ours")
        for key in sorted(stored.keys() ^ ours.keys())
    ]
    for key in sorted(stored.keys() & ours.keys()):
        a, b = stored[key], ours[key]
        if key.startswith("out:"):
            if a.dtype != b.dtype:
                lines.append("%s: dtype %s, ours %s" % (key, a.dtype, b.dtype))
            a, b = _real_frames(key, a, stored), _real_frames(key, b, ours)
        if a.shape != b.shape:
            lines.append("%s: shape %s, ours %s" % (key, a.shape, b.shape))
        elif key.startswith(_EXACT) or a.dtype.kind not in "fc":
            if not numpy.array_equal(a, b):
                lines.append("%s: %s, ours %s" % (key, a.tolist(), b.tolist()))
        elif not numpy.allclose(a, b, rtol=_RTOL, atol=_ATOL, equal_nan=True):
            with numpy.errstate(invalid="ignore"):
                lines.append("%s: largest difference %g" % (key, numpy.nanmax(numpy.abs(a - b))))
    return lines


def _real_frames(key: str, value: numpy.ndarray, arrays: Mapping[str, numpy.ndarray]) -> numpy.ndarray:
    """:return: zeros behind the ends, cut to the longest sequence, on all axes with lengths [batch]"""
    name = key[len("out:") :]
    if not arrays["axes:" + name][0]:
        return value
    for axis in range(1, value.ndim):
        lens = arrays.get("len:%s:%i" % (name, axis - 1))
        if lens is None or lens.shape != value.shape[:1] or not lens.size:
            continue
        value = value[(slice(None),) * axis + (slice(0, lens.max()),)]
        mask = numpy.arange(value.shape[axis]) < lens[:, None]
        mask = mask.reshape(mask.shape[:1] + (1,) * (axis - 1) + mask.shape[1:] + (1,) * (value.ndim - axis - 1))
        value = numpy.where(mask, value, numpy.zeros((), value.dtype))
    return value
