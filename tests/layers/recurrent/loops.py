"""Runs a network with a recurrent unit on TensorFlow or on PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

from returnn.util.behavior_version import BehaviorVersion
from tests.network import peer_case

from .common import input_values, param_values

Arrays = dict[str, numpy.ndarray]

BACKENDS = ["tf", "torch"]


@contextmanager
def behavior_version(version: int) -> Iterator[None]:
    """
    :param version: holds inside
    """
    before = (BehaviorVersion._version, BehaviorVersion._min_version)
    BehaviorVersion._reset(version)
    try:
        yield
    finally:
        BehaviorVersion._reset(*before)


def run(
    backend: str,
    network: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
    lens: Mapping[str, Sequence[int]] | None = None,
    *,
    extern_data: Mapping[str, Any] | None = None,
    fetch: Sequence[str] = ("output",),
    train: bool = False,
    evaluation: bool = True,
    param_value: Callable[[str, tuple[int, ...]], Any] | None = None,
    version: int = 0,
    **config: Any,
) -> Arrays:
    """
    :param backend: "tf" or "torch"
    :param network: layer dict
    :param data: key -> value, batch-major; by default the input of the checks, [2, 3, 2]
    :param lens: key, or KEY:AXIS (without batch) -> lengths
    :param extern_data: by default "data" with two features
    :param fetch: names of layers
    :param train: then there are gradients of the objective, "grad:NAME"
    :param evaluation: then there are losses, "cost:NAME" (sums) and "loss"
    :param param_value: function of name and shape of a parameter; by default the values of the checks
    :param version: behaviour version
    :param config: further keys
    :return: "out:NAME" batch-major, "len:NAME:AXIS" (axis without batch), "axes:NAME", "param:NAME": shape, ..
    """
    if data is None:
        data, lens = {"data": input_values((2, 3, 2))}, {"data": [3, 2]}
    case = {
        "extern_data": dict(extern_data or {"data": {"dim": 2}}),
        "network": dict(network),
        "fetch": list(fetch),
        "train": train,
        "eval_flag": evaluation,
        "param_value": param_value or (lambda name, shape: param_values(shape)),
        "config": config,
    }
    stored = {}
    for key, value in data.items():
        sparse = case["extern_data"][key].get("sparse")
        stored["in:" + key] = numpy.asarray(
            value, case["extern_data"][key].get("dtype") or ("int32" if sparse else "float32")
        )
    for key, value in (lens or {}).items():
        name, _, axis = key.partition(":")
        stored["in:%s:len:%s" % (name, axis or "0")] = numpy.asarray(value, "int32")
    with behavior_version(version):
        if backend == "tf":
            return peer_case.compute_case(case, stored)
        torch_case = pytest.importorskip("tests.network.torch_case", reason="needs torch")
        return torch_case.compute_case(case, stored)


def loop(unit: Mapping[str, Any], **opts: Any) -> dict[str, Any]:
    """
    :param unit: layer dict
    :return: a recurrent layer over the input of the network
    """
    return {"class": "rec", "from": "data", "unit": dict(unit), **opts}


def lengths(results: Mapping[str, numpy.ndarray], name: str = "output", axis: int = 0) -> list[int]:
    """
    :return: of an axis of the output of a layer, without batch
    """
    return numpy.atleast_1d(results["len:%s:%i" % (name, axis)]).tolist()
