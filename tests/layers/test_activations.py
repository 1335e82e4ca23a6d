"""Activation functions by name, where an option of the config decides."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from returnn.layers.activations import is_gelu
from returnn.network.errors import NetworkLayerException
from tests.layers.common import close
from tests.layers.recurrent.loops import run

X = [[[-1.0, 0.5], [2.0, -3.0]]]


def exact(x: float) -> float:
    """x times the probability that a normal variable is below x"""
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def by_tanh(x: float) -> float:
    """its approximation"""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def outputs(backend: str, activation: str, **config: Any) -> numpy.ndarray:
    """:return: of the activation, of X"""
    net = {"output": {"class": "activation", "activation": activation, "from": "data"}}
    return run(backend, net, {"data": X}, {"data": [2]}, **config)["out:output"]


@pytest.mark.parametrize("backend", ["tf", "torch"])
@pytest.mark.parametrize("config", [{}, {"gelu_formula": "exact"}])
def test_gelu_is_exact(backend: str, config: dict[str, Any]) -> None:
    close(outputs(backend, "gelu", **config), numpy.vectorize(exact)(X), 1e-6)
    close(outputs(backend, "gelu", **config)[0, :, 0], [-0.15866, 1.9545], 1e-4)


@pytest.mark.parametrize("backend", ["tf", "torch"])
def test_gelu_by_tanh(backend: str) -> None:
    """The two differ by 4.1e-4 at -3; gelu3 is always the exact one."""
    opts = {"gelu_formula": "tanh"}
    close(outputs(backend, "gelu", **opts), numpy.vectorize(by_tanh)(X), 1e-6)
    close(outputs(backend, "2*gelu", **opts), 2 * numpy.vectorize(by_tanh)(X), 1e-6)
    close(outputs(backend, "gelu3", **opts), numpy.vectorize(exact)(X), 1e-6)
    assert abs(by_tanh(-3) - exact(-3)) > 4e-4


@pytest.mark.parametrize("backend", ["tf", "torch"])
def test_gelu_by_tanh_in_a_gate(backend: str) -> None:
    """First half of the features by gelu, times the second one."""
    net = {"output": {"class": "gating", "activation": "gelu", "gate_activation": None, "from": "data"}}
    y = run(backend, net, {"data": X}, {"data": [2]}, gelu_formula="tanh")["out:output"]
    close(y[0, :, 0], [by_tanh(-1) * 0.5, by_tanh(2) * -3], 1e-6)


def test_unknown_formula() -> None:
    with pytest.raises(NetworkLayerException, match='gelu_formula must be "exact" or "tanh", but is \'erf\''):
        outputs("tf", "gelu", gelu_formula="erf")


@pytest.mark.parametrize(
    ("activation", "expected"),
    [("gelu", True), ("2*gelu", True), ("gelu2", False), ("tf.nn.gelu(x)", False), (None, False)],
)
def test_whether_the_formula_matters(activation: Any, expected: bool) -> None:
    assert is_gelu(activation) == expected
