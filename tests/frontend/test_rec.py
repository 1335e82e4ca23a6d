"""Recurrence: cells on each backend, axes besides batch and time, noise. (test_contract.py has the LSTM kernels.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.frontend.rec import NUM_STATES
from returnn.frontend.run_ctx import RunCtx, run_ctx
from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from tests.common import BACKENDS, run_rf, visible

T = SpatialDim("t", size_dims=(batch_dim,))
F = FeatureDim("f", 3)
N = FeatureDim("n", 2)
OTHER = SpatialDim("other", 4)
LENS = [4, 0, 2]
X = Tensor("x", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1)
PARAMS: dict[str, dict[str, list[Dim]]] = {
    "lstm": {"kernel": [F + N, 4 * N], "bias": [4 * N], "w_i_diag": [N], "w_f_diag": [N], "w_o_diag": [N]},
    "zoneoutlstm": {"kernel": [F + N, 4 * N], "bias": [4 * N]},
    "layernormlstm": {
        "W_ff": [F, 4 * N],
        "W_re": [N, 4 * N],
        "gamma_input_below": [4 * N],
        "beta_input_below": [4 * N],
        "gamma_state_below": [4 * N],
        "gamma_new_c": [N],
        "beta_new_c": [N],
    },
    "gru": {
        "gates/kernel": [F + N, 2 * N],
        "gates/bias": [2 * N],
        "candidate/kernel": [F + N, N],
        "candidate/bias": [N],
    },
    "basicrnn": {"kernel": [F + N, N], "bias": [N]},
    "rhn": {"W": [F, 2 * N], "b": [2 * N], "depth_0/W": [N, 2 * N], "depth_1/W": [N, 2 * N]},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "zoneoutlstm": {
        "forget_bias": 1.0,
        "zoneout_factor_cell": 0.5,
        "zoneout_factor_output": 0.25,
        "use_zoneout_output": False,
        "noise": "layer",
    },
}
MASKS = {"layernormlstm": ["j", "h"], "rhn": ["s"]}


def inputs_of(cell: str) -> list[Tensor]:
    """x, initial states, masks, parameters; with different names"""
    states = [Tensor("state%i" % i, [batch_dim, N], "float32", feature_dim=N) for i in range(NUM_STATES[cell])]
    masks = [Tensor("mask_" + key, [batch_dim, N], "float32", feature_dim=N) for key in MASKS.get(cell, ())]
    return [X, *states, *masks, *(Tensor(name, dims, "float32") for name, dims in PARAMS[cell].items())]


def feed_of(inputs: list[Tensor]) -> dict[Any, Any]:
    rng = numpy.random.RandomState(3)
    sizes = {batch_dim: len(LENS), T: max(LENS)}
    shapes = [[sizes.get(d, d.dimension) for d in x.dims] for x in inputs]
    feed: dict[Any, Any] = {x.name: rng.normal(size=shape) for x, shape in zip(inputs, shapes, strict=True)}
    return {T: LENS, **feed}


def all_results(cell: str, **options: Any) -> Callable[..., Tensor]:
    """the output, with the last states as further frames behind it: one tensor to compare"""

    def function(x: Tensor, *others: Tensor) -> Tensor:
        by_name = {t.name: t for t in others}
        y, states = rf.rnn(
            x,
            cell=cell,
            params={name: by_name[name] for name in PARAMS[cell]},
            initial_state=[by_name["state%i" % i] for i in range(NUM_STATES[cell])],
            masks={key: by_name["mask_" + key] for key in MASKS.get(cell, ())},
            spatial_dim=T,
            in_dim=F,
            out_dim=N,
            **options,
        )
        assert len(states) == NUM_STATES[cell]
        total = y
        for i, state in enumerate(states):
            assert state.dims == (batch_dim, N)
            total = total + state * float(10 ** (i + 1))
        return total

    return function


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("cell", list(PARAMS))
@pytest.mark.parametrize("direction", [1, -1])
def test_cells_are_those_of_numpy(cell: str, direction: int, backend: str) -> None:
    """numpy goes frame by frame and knows nothing of padding but a mask; output + 10 h + 100 c to 1e-4"""
    inputs = inputs_of(cell)
    feed = feed_of(inputs)
    function = all_results(cell, direction=direction, **OPTIONS.get(cell, {}))
    expected, result = (run_rf(name, function, inputs, [feed]) for name in ("numpy", backend))
    template = run_rf("template", function, inputs, []).template
    assert template.dims == (T, batch_dim, N)
    values = visible(template, expected.values[0], feed)
    assert numpy.abs(values).max() > 1
    numpy.testing.assert_allclose(visible(template, result.values[0], feed), values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cell", list(PARAMS))
@pytest.mark.parametrize("direction", [1, -1])
def test_gradients_of_cells_agree(cell: str, direction: int) -> None:
    """of the sum of output + 10 h + 100 c, TensorFlow against PyTorch, to 1e-4, relative to the largest"""
    inputs = inputs_of(cell)
    feed = feed_of(inputs)
    function = all_results(cell, direction=direction, **OPTIONS.get(cell, {}))
    tf, torch = (run_rf(name, function, inputs, [feed], gradients=True).gradients[0] for name in ("tf", "torch"))
    for a, b in zip(tf, torch, strict=True):
        numpy.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4 * max(numpy.abs(a).max(), 1))


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("cell", ["lstm", "layernormlstm", "gru", "basicrnn"])
@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
def test_activations_are_those_of_numpy(cell: str, activation: str, backend: str) -> None:
    """Another one than tanh, see :func:`test_cells_are_those_of_numpy`."""
    inputs = inputs_of(cell)
    feed = feed_of(inputs)
    function = all_results(cell, activation=activation)
    results = {name: run_rf(name, function, inputs, [feed]) for name in ("numpy", backend)}
    template = run_rf("template", all_results(cell), inputs, []).template
    expected, found = (visible(template, results[name].values[0], feed) for name in ("numpy", backend))
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    plain = visible(template, run_rf("numpy", all_results(cell), inputs, [feed]).values[0], feed)
    assert numpy.abs(plain - expected).max() > 1e-2


@pytest.fixture
def merged_case() -> Iterator[tuple[list[Tensor], dict[Any, Any]]]:
    """x [batch, other, time, feature]: each of the 4 others is a sequence of its own, of the same length"""
    x = Tensor("x", [batch_dim, OTHER, T, F], "float32", feature_dim=F, time_dim_axis=2)
    inputs = [x, Tensor("w", [F, 4 * N], "float32"), Tensor("w_re", [N, 4 * N], "float32"), Tensor("h", [N], "float32")]
    rng = numpy.random.RandomState(4)
    shapes = {"x": (3, 4, 4, 3), "w": (3, 8), "w_re": (2, 8), "h": (2,)}
    yield inputs, {T: LENS, **{name: rng.normal(size=shape) for name, shape in shapes.items()}}


@pytest.mark.parametrize("backend", BACKENDS)
def test_other_axes_are_sequences_of_their_own(backend: str, merged_case: Any) -> None:
    """[batch, 4, time]: the same as 4 runs; the initial h [n] is that of all; last states have the other axis too"""
    inputs, feed = merged_case

    def run(x: Tensor, w: Tensor, w_re: Tensor, h: Tensor) -> Tensor:
        y, last_h, last_c = rf.lstm(
            x, w=w, w_re=w_re, b=None, spatial_dim=T, in_dim=F, out_dim=N, initial_h=h, direction=-1
        )
        assert last_h.dims == last_c.dims == tuple(d for d in x.dims if d not in (T, F)) + (N,)
        return y + last_h * 10.0 + last_c * 100.0

    whole = run_rf(backend, run, inputs, [feed])
    assert whole.template.dims == (T, batch_dim, OTHER, N)
    values = visible(whole.template, whole.values[0], feed)
    for i in range(4):
        one = run_rf(backend, run, [X, *inputs[1:]], [dict(feed, x=feed["x"][:, i])])
        numpy.testing.assert_allclose(values[:, :, i], visible(one.template, one.values[0], feed), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_batch(backend: str, merged_case: Any) -> None:
    """x [5, F]: a single sequence of static length"""
    frames = SpatialDim("frames", 5)
    _, feed = merged_case
    x = Tensor("x", [frames, F], "float32", feature_dim=F)
    feed = {"x": feed["x"][0, :, 0][[0, 1, 2, 3, 0]], "kernel": numpy.ones((5, 2)) * 0.1, "bias": numpy.ones(2)}
    inputs = [x, Tensor("kernel", [F + N, N], "float32"), Tensor("bias", [N], "float32")]

    def run(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        params = {"kernel": kernel, "bias": bias}
        y, (last,) = rf.rnn(x, cell="basicrnn", params=params, spatial_dim=frames, in_dim=F, out_dim=N)
        assert last.dims == (N,)
        return y - last

    result = run_rf(backend, run, inputs, [feed])
    assert result.template.dims == (frames, N)
    assert result.values[0][-1].tolist() == [0, 0]
    assert (result.values[0][0] != 0).all()


def zoneout(train_flag: Any, step: int, *, name: str = "layer", factor: float = 0.5) -> numpy.ndarray:
    """:return: h of an LSTM with zoneout of c, weights 0, all biases 1, 200 units"""
    units = FeatureDim("units", 200)
    inputs = [
        Tensor("x", [batch_dim, T, F], "float32", feature_dim=F, time_dim_axis=1),
        Tensor("kernel", [F + units, 4 * units], "float32"),
        Tensor("bias", [4 * units], "float32"),
    ]
    feed = {T: [3, 2], "x": numpy.ones((2, 3, 3)), "kernel": numpy.zeros((203, 800)), "bias": numpy.ones(800)}

    def run(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        return rf.rnn(
            x,
            cell="zoneoutlstm",
            params={"kernel": kernel, "bias": bias},
            spatial_dim=T,
            in_dim=F,
            out_dim=units,
            forget_bias=0.0,
            zoneout_factor_cell=factor,
            zoneout_factor_output=0.0,
            use_zoneout_output=True,
            noise=name,
        )[0]

    with run_ctx(RunCtx(train_flag=train_flag, step=step)):
        return run_rf("tf", run, inputs, [feed]).values[0]


def test_zoneout_keeps_elements_in_training_and_mixes_otherwise() -> None:
    """
    First frame, all gates 1: s = sigmoid(1), c' = s tanh(1). Training: c is 0 or c', half and half (200 units: 100 +-
    30), so h after the next frame is s tanh(s c + c'), two values. Else c = c' / 2. The first output is that of c' in
    both.
    """
    s = 1 / (1 + numpy.exp(-1))
    new = s * numpy.tanh(1)
    second = {kept: s * numpy.tanh(s * kept + new) for kept in (0, new, new / 2)}
    trained = zoneout(True, 7)
    numpy.testing.assert_allclose(trained[0], s * numpy.tanh(new), rtol=1e-5)
    kept = numpy.isclose(trained[1], second[0], rtol=1e-5)
    assert (kept | numpy.isclose(trained[1], second[new], rtol=1e-5)).all()
    assert all(70 < n < 130 for n in kept.sum(axis=1))
    assert (kept[0] != kept[1]).any()  # sequences have noise of their own
    numpy.testing.assert_allclose(zoneout(False, 7)[1], second[new / 2], rtol=1e-5)


def test_zoneout_noise_is_a_function_of_name_and_step() -> None:
    """the same in two graphs; another one for another step or layer"""
    first = zoneout(True, 7)
    assert (first == zoneout(True, 7)).all()
    assert (first != zoneout(True, 8)).any()
    assert (first != zoneout(True, 7, name="other")).any()


def test_messages() -> None:
    """dims that do not fit are named"""
    params = {name: Tensor(name, dims, "float32") for name, dims in PARAMS["basicrnn"].items()}
    with pytest.raises(DimError, match="recurrence: x has no dim .*'t'"):
        rf.rnn(
            Tensor("x", [batch_dim, F], "float32"), cell="basicrnn", params=params, spatial_dim=T, in_dim=F, out_dim=N
        )
    w_re = Tensor("w_re", [N, 4 * N], "float32")
    with pytest.raises(DimError, match="lstm without w: the input must have 4 times .*'n'"):
        rf.lstm(X, w=None, w_re=w_re, b=None, spatial_dim=T, in_dim=F, out_dim=N)
