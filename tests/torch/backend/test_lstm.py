"""The LSTM on PyTorch's kernels, and frame by frame, against a naive loop."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tf.backend import naive

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from returnn.torch.backend.lstm import lstm  # noqa: E402 - needs torch

IN_DIM, UNITS = 5, 3
DIRECTIONS = [1, -1]
DIFFERENTIABLE = ["x", "w", "w_re", "b", "h0", "c0"]
Values = dict[str, Any]


def random_feed(num_frames: int, lens: list[int], *, seed: int = 1) -> Values:
    """inputs, and the weights of the three results in the loss"""
    rng = numpy.random.RandomState(seed)
    shapes = {
        "x": (num_frames, len(lens), IN_DIM),
        "w": (IN_DIM, 4 * UNITS),
        "w_re": (UNITS, 4 * UNITS),
        "b": (4 * UNITS,),
        "h0": (len(lens), UNITS),
        "c0": (len(lens), UNITS),
        "weight_h": (num_frames, len(lens), UNITS),
        "weight_last_h": (len(lens), UNITS),
        "weight_last_c": (len(lens), UNITS),
    }
    return {"lens": lens, **{name: rng.normal(size=shape).astype("float32") for name, shape in shapes.items()}}


def run(feed: Values, *, input_product: str = "inside", **options: Any) -> tuple[Values, Values]:
    """
    :param input_product: inside: the kernel gets w; outside: it gets x @ w
    :return: h, last_h, last_c; gradients of the sum of all three, each times its weight
    """
    v = {name: torch.tensor(a, requires_grad=name in DIFFERENTIABLE) for name, a in feed.items() if name != "lens"}
    x, w = (v["x"], v["w"]) if input_product == "inside" else (v["x"] @ v["w"], None)
    results = lstm(
        x,
        v["w_re"],
        w=w,
        b=v["b"],
        lens=torch.tensor(feed["lens"], dtype=torch.int32),
        initial_h=v["h0"],
        initial_c=v["c0"],
        **options,
    )
    names = ["h", "last_h", "last_c"]
    loss = sum((y * v["weight_" + name]).sum() for y, name in zip(results, names, strict=True))
    grads = torch.autograd.grad(loss, [v[name] for name in DIFFERENTIABLE], materialize_grads=True)
    return (
        {name: y.detach().numpy() for name, y in zip(names, results, strict=True)},
        {name: y.numpy() for name, y in zip(DIFFERENTIABLE, grads, strict=True)},
    )


def assert_all_close(got: Values, want: Values, *, tol: float) -> None:
    for name in want:
        numpy.testing.assert_allclose(got[name], want[name], rtol=tol, atol=tol, err_msg=name)


@pytest.mark.parametrize("input_product", ["inside", "outside"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("gate_order", "forget_bias"), [("jifo", 0.0), ("ijfo", 1.0)])
def test_values_and_gradients_equal_a_naive_loop(
    input_product: str, direction: int, gate_order: str, forget_bias: float
) -> None:
    """T=7, B=4, lens 7, 4, 1, 0. Values to 1e-6; gradients, by complex steps in float64, to 1e-5."""
    feed = random_feed(7, [7, 4, 1, 0])
    options = {"gate_order": gate_order, "forget_bias": forget_bias}
    values, grads = run(feed, input_product=input_product, direction=direction, **options)
    exact = {name: a.astype("float64") for name, a in feed.items() if name != "lens"}

    def naive_lstm(v: Values) -> tuple[Any, list[Any]]:
        dtype = numpy.result_type(*v.values())
        v = {name: a.astype(dtype) for name, a in v.items()}
        step = naive.lstm_step(v["w"], v["w_re"], v["b"], **options)
        return naive.run_sequences(step, v["x"], feed["lens"], [v["h0"], v["c0"]], direction=direction)

    def naive_loss(v: Values) -> complex:
        h, (last_h, last_c) = naive_lstm({**exact, **v})
        results = {"weight_h": h, "weight_last_h": last_h, "weight_last_c": last_c}
        return sum((y * exact[name]).sum() for name, y in results.items())

    h, (last_h, last_c) = naive_lstm(exact)
    assert_all_close(values, {"h": h, "last_h": last_h, "last_c": last_c}, tol=1e-6)
    assert_all_close(grads, naive.gradient(naive_loss, {name: exact[name] for name in DIFFERENTIABLE}), tol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    lens=st.lists(st.integers(0, 6), min_size=0, max_size=4),
    extra_frames=st.integers(0, 2),
    direction=st.sampled_from(DIRECTIONS),
    seed=st.integers(0, 99),
)
def test_kernel_and_frame_by_frame_agree(lens: list[int], extra_frames: int, direction: int, seed: int) -> None:
    """Any lengths, zero and no sequence at all among them."""
    feed = random_feed(max(lens, default=0) + extra_frames, lens, seed=seed)
    values, grads = run(feed, direction=direction)
    other_values, other_grads = run(feed, input_product="outside", direction=direction)
    assert_all_close(values, other_values, tol=1e-6)
    assert_all_close(grads, other_grads, tol=1e-5)


@pytest.mark.parametrize("input_product", ["inside", "outside"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("behind_end", [1e30, numpy.inf, numpy.nan])
def test_padding_content_never_matters(input_product: str, direction: int, behind_end: float) -> None:
    """Outputs there are exactly 0, and nothing, gradients of weights included, differs in a single bit."""
    feed = random_feed(6, [3, 0, 6, 1])
    spoiled = {**feed, "x": feed["x"].copy(), "weight_h": feed["weight_h"].copy()}
    padding = numpy.arange(6)[:, None] >= numpy.array(feed["lens"])
    spoiled["x"][padding] = behind_end
    spoiled["weight_h"][padding] = 1e30
    clean, clean_grads = run(feed, direction=direction, input_product=input_product)
    values, grads = run(spoiled, direction=direction, input_product=input_product)
    assert not values["h"][padding].any()
    if input_product == "outside":  # where the matrix product outside sees the padding
        clean_grads.pop("w"), clean_grads.pop("x")
    else:
        assert not grads["x"][padding].any()
    for got, want in [(values, clean), (grads, clean_grads)]:
        for name, value in want.items():
            numpy.testing.assert_array_equal(got[name], value, err_msg=name)


def test_large_cell_states_are_kept_behind_the_end() -> None:
    """c grows by one each frame, up to 50 of 50 and 3 of 3 real frames; nothing is lost in 47 frames of padding."""
    feed = random_feed(50, [50, 3])
    feed = {name: numpy.zeros_like(a) if name != "lens" else a for name, a in feed.items()}
    feed["b"] = numpy.repeat(numpy.array([20, 20, 20, 20], "float32"), UNITS)
    values, _ = run(feed)
    numpy.testing.assert_allclose(values["last_c"], [[50] * UNITS, [3] * UNITS], rtol=1e-6)
