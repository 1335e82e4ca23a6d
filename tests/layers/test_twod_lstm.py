"""An LSTM over two sequences, against the formula cell by cell."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from returnn.util.errors import ConfigError
from tests.layers.recurrent.loops import BACKENDS, lengths, loop, run

RND = numpy.random.RandomState(3)
SOURCE = RND.normal(size=(2, 4, 3)).astype("float32")
TARGET = RND.normal(size=(2, 3, 2)).astype("float32")
DATA = {"data": TARGET, "source": SOURCE}
LENS = {"data": [3, 2], "source": [2, 4]}
EXTERN = {"data": {"dim": 2}, "source": {"dim": 3}}
N = 2
LAYER = {"class": "twod_lstm", "from": ["data:source", "data"], "n_out": N}
POOLINGS = ["last", "max", "average", "weighted"]


def param_value(name: str, shape: tuple[int, ...]) -> numpy.ndarray:
    """
    :return: different for each parameter
    """
    return numpy.random.RandomState(sum(map(ord, name))).normal(size=shape).astype("float32")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + numpy.exp(-x))


def cells(source: numpy.ndarray, target: numpy.ndarray, params: dict[str, numpy.ndarray]) -> numpy.ndarray:
    """
    :param source: [S, F], a sequence
    :param target: [T, F]
    :param params: by name
    :return: [T, S, N]
    """
    y = numpy.zeros((len(target) + 1, len(source) + 1, N))
    c = numpy.zeros_like(y)
    for t in range(1, len(target) + 1):
        for s in range(1, len(source) + 1):
            z = numpy.concatenate([source[s - 1], target[t - 1]]) @ params["W_re"]
            z = z + y[t, s - 1] @ params["Vh_re"] + y[t - 1, s] @ params["Vv_re"]
            i, f, lam, o, j = z.reshape(5, N)
            old = sigmoid(lam) * c[t - 1, s] + (1 - sigmoid(lam)) * c[t, s - 1]
            c[t, s] = sigmoid(f) * old + sigmoid(i) * numpy.tanh(j)
            y[t, s] = sigmoid(o) * numpy.tanh(c[t, s])
    return y[1:, 1:]


def pooled(y: numpy.ndarray, target: numpy.ndarray, params: dict[str, numpy.ndarray], pooling: str) -> numpy.ndarray:
    """
    :param y: [T, S, N]
    :return: [T, N]
    """
    if pooling == "last":
        return y[:, -1]
    if pooling == "max":
        return y.max(axis=1)
    if pooling == "average":
        return y.mean(axis=1)
    energy = numpy.exp(numpy.einsum("tsn,tn->ts", y, target @ params["W_att"]))
    return numpy.einsum("tsn,ts->tn", y, energy / energy.sum(axis=1, keepdims=True))


def expected(scope: str, pooling: str, *, target: numpy.ndarray = TARGET) -> list[numpy.ndarray]:
    """
    :param scope: in front of the parameters
    :return: for each sequence [T, N]
    """
    shapes = {"W_re": (3 + target.shape[-1], 5 * N), "Vh_re": (N, 5 * N), "Vv_re": (N, 5 * N)}
    shapes["W_att"] = (target.shape[-1], N)
    params = {name: param_value("%s/rec-twod/%s" % (scope, name), shape) for name, shape in shapes.items()}
    res = []
    for b in range(2):
        source, x = SOURCE[b, : LENS["source"][b]], target[b, : LENS["data"][b]]
        res.append(pooled(cells(source, x, params), x, params, pooling))
    return res


def compute(backend: str, network: dict[str, Any], **opts: Any) -> dict[str, numpy.ndarray]:
    opts = {"data": DATA, "lens": LENS, "extern_data": EXTERN, "param_value": param_value, **opts}
    return run(backend, network, **opts)


def check(results: dict[str, numpy.ndarray], values: list[numpy.ndarray]) -> None:
    assert lengths(results) == LENS["data"]
    for out, value in zip(results["out:output"], values, strict=True):
        numpy.testing.assert_allclose(out[: len(value)], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_formula(backend: str, pooling: str) -> None:
    """Sources of lengths 2 and 4, targets of 3 and 2: what is behind the ends plays no role."""
    results = compute(backend, {"output": {**LAYER, "pooling": pooling}})
    check(results, expected("output", pooling))
    found = {key: tuple(x) for key, x in results.items() if key.startswith("param:")}
    shapes = {"W_re": (5, 10), "Vh_re": (2, 10), "Vv_re": (2, 10)}
    if pooling == "weighted":
        shapes["W_att"] = (2, 2)
    assert found == {"param:output/rec-twod/" + name: shape for name, shape in shapes.items()}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("pooling", ["last", "weighted"])
def test_in_a_loop(backend: str, moved: bool, pooling: str) -> None:
    """Frame by frame of the target, as in one go."""
    unit = {"output": {**LAYER, "from": ["base:data:source", "data:source"], "pooling": pooling}}
    results = compute(backend, {"output": loop(unit, optimize_move_layers_out=moved)})
    check(results, expected("output/rec/output", pooling))


@pytest.mark.parametrize("backend", BACKENDS)
def test_labels(backend: str) -> None:
    """Rows of the parameter, as for one-hot vectors."""
    labels = numpy.array([[1, 0, 1], [0, 1, 1]])
    extern = {**EXTERN, "data": {"dim": 2, "sparse": True}}
    results = compute(backend, {"output": LAYER}, data={**DATA, "data": labels}, extern_data=extern)
    check(results, expected("output", "last", target=numpy.eye(2)[labels]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_a_sequence_with_itself(backend: str) -> None:
    """Both axes are the same dim."""
    results = compute(backend, {"output": {**LAYER, "from": ["data", "data"]}})
    params = {"W_re": (4, 10), "Vh_re": (2, 10), "Vv_re": (2, 10)}
    values = {name: param_value("output/rec-twod/" + name, shape) for name, shape in params.items()}
    check(results, [cells(x[:n], x[:n], values)[:, -1] for x, n in zip(TARGET, LENS["data"], strict=True)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_source_without_frames(backend: str) -> None:
    """It has no last frame: zeros. The other sequence stays as it was."""
    results = compute(backend, {"output": LAYER}, lens={**LENS, "source": [0, 4]})
    assert not results["out:output"][0].any()
    numpy.testing.assert_allclose(results["out:output"][1, :2], expected("output", "last")[1], rtol=1e-4, atol=1e-5)


def test_gradients() -> None:
    """The same on both, to all parameters, and the objective goes with them as differences say."""
    losses = {"loss": "mse", "target": "goal"}
    goal = RND.normal(size=(2, 3, N)).astype("float32")
    extern = {**EXTERN, "goal": {"dim": N}}
    network = {"output": {**LAYER, "pooling": "weighted"}, "out": {"class": "copy", "from": "output", **losses}}
    opts = {"data": {**DATA, "goal": goal}, "lens": {**LENS, "goal": LENS["data"]}, "extern_data": extern}
    found = [compute(backend, network, train=True, **opts) for backend in BACKENDS]
    names = [key for key in found[0] if key.startswith("grad:")]
    assert len(names) == 4
    for name in names:
        numpy.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-3, atol=1e-5)
    name = "output/rec-twod/Vv_re"
    step = 1e-2 * numpy.sign(found[0]["grad:" + name])

    def shifted(factor: float) -> float:
        def value(key: str, shape: tuple[int, ...]) -> numpy.ndarray:
            return param_value(key, shape) + (factor * step if key == name else 0)

        return float(compute("torch", network, train=True, **{**opts, "param_value": value})["loss"])

    wanted = float((step * found[0]["grad:" + name]).sum())
    assert (shifted(1.0) - shifted(-1.0)) / 2 == pytest.approx(wanted, rel=2e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_a_search(backend: str) -> None:
    """Hypotheses have cells of their own: the best one of 3 ** 3, with labels as the formula has them."""
    unit = {
        "embed": {"class": "linear", "n_out": 2, "activation": None, "with_bias": False, "from": "prev:output"},
        "cells": {**LAYER, "from": ["base:data:source", "embed"]},
        "prob": {"class": "softmax", "n_out": 3, "with_bias": False, "from": "cells"},
        "output": {
            **{"class": "choice", "from": "prob", "target": None, "search": True, "beam_size": 27},
            **{"initial_output": 0, "length_normalization": False},
        },
    }
    network = {
        "output": loop(unit),
        "scores": {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True},
    }
    found = compute(backend, network, fetch=["output", "scores"], lens={**LENS, "data": [3, 3]}, version=31)
    shapes = {"W_re": (5, 5 * N), "Vh_re": (N, 5 * N), "Vv_re": (N, 5 * N)}
    params = {name: param_value("output/rec/cells/rec-twod/" + name, shape) for name, shape in shapes.items()}
    embed, w = param_value("output/rec/embed/W", (3, 2)), param_value("output/rec/prob/W", (N, 3))
    for b in range(2):
        expected_scores = []
        for labels in itertools.product(range(3), repeat=3):
            y = cells(SOURCE[b, : LENS["source"][b]], embed[[0, *labels[:2]]], params)[:, -1] @ w
            logs = y - numpy.log(numpy.exp(y).sum(axis=-1, keepdims=True))
            expected_scores.append(sum(logs[t, label] for t, label in enumerate(labels)))
        values = numpy.sort(expected_scores)[::-1]
        numpy.testing.assert_allclose(found["out:scores"].reshape(2, 27)[b], values, rtol=1e-4)


@pytest.mark.parametrize(
    ("opts", "text"),
    [
        ({"pooling": "mean"}, "pooling must be one of last, max, average, weighted, but is 'mean'"),
        ({"from": "data"}, "the layer needs two sources, e.g. an encoder and labels, but has 1"),
        ({"unit_opts": {"x": 1}}, "unit_opts: the unit has no options, but there is 'x'"),
        ({"from": ["data:source", "short"]}, "the second source .* has no time axis"),
        ({"from": ["short", "data"]}, "the first source .* has no time axis"),
    ],
)
def test_errors(opts: dict[str, Any], text: str) -> None:
    """What is wrong, and where."""
    network = {"short": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"}, "output": {**LAYER, **opts}}
    with pytest.raises(ConfigError, match=text):
        compute("torch", network)
