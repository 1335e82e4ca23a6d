"""The LSTM kernels against a naive loop, and against each other."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.tf.backend.lstm import choose_kernel, lstm
from returnn.tf.compat import tf, v1
from tests.tf.backend import naive

IN_DIM, UNITS = 5, 3
KERNELS = ["loop", "block"]
DIRECTIONS = [1, -1]
DIFFERENTIABLE = ["x", "w", "w_re", "b", "h0", "c0"]


class Graph:
    """An LSTM with everything fed; loss = sum over h, last h and last c, each times a fed weight."""

    def __init__(self, kernel: str, direction: int, gate_order: str = "jifo", forget_bias: float = 0.0) -> None:
        shapes = {
            "x": [None, None, IN_DIM],
            "w": [IN_DIM, 4 * UNITS],
            "w_re": [UNITS, 4 * UNITS],
            "b": [4 * UNITS],
            "h0": [None, UNITS],
            "c0": [None, UNITS],
            "weight_h": [None, None, UNITS],
            "weight_last_h": [None, UNITS],
            "weight_last_c": [None, UNITS],
        }
        self.graph = v1.Graph()
        with self.graph.as_default():
            self.inputs = {name: v1.placeholder(tf.float32, shape) for name, shape in shapes.items()}
            self.inputs["lens"] = v1.placeholder(tf.int32, [None])
            v = self.inputs
            out = lstm(
                v["x"],
                v["w_re"],
                w=v["w"],
                b=v["b"],
                lens=v["lens"],
                initial_h=v["h0"],
                initial_c=v["c0"],
                gate_order=gate_order,
                forget_bias=forget_bias,
                direction=direction,
                kernel=kernel,
            )
            losses = {
                "h": tf.reduce_sum(out.h * v["weight_h"]),
                "last_h": tf.reduce_sum(out.last_h * v["weight_last_h"]),
                "last_c": tf.reduce_sum(out.last_c * v["weight_last_c"]),
            }
            self.fetches = {
                "values": out._asdict(),
                "grads": self.gradients(sum(losses.values())),
                "grads_h": self.gradients(losses["h"]),
                "grads_last_h": self.gradients(losses["last_h"]),
                "grads_last_c": self.gradients(losses["last_c"]),
            }
        self.session = v1.Session(graph=self.graph)

    def gradients(self, loss: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(DIFFERENTIABLE, tf.gradients(loss, [self.inputs[k] for k in DIFFERENTIABLE]), strict=True))

    def __call__(self, feed: dict[str, Any]) -> dict[str, dict[str, numpy.ndarray]]:
        return self.session.run(self.fetches, {self.inputs[name]: value for name, value in feed.items()})


@functools.cache
def graph(kernel: str, direction: int, gate_order: str = "jifo", forget_bias: float = 0.0) -> Graph:
    """Building one takes longer than all else here."""
    return Graph(kernel, direction, gate_order, forget_bias)


def random_feed(num_frames: int, lens: list[int], *, seed: int = 1) -> dict[str, Any]:
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


def naive_lstm(v: dict[str, Any], **options: Any) -> tuple[numpy.ndarray, list[numpy.ndarray]]:
    direction = options.pop("direction")
    step = naive.lstm_step(v["w"], v["w_re"], v["b"], **options)
    return naive.run_sequences(step, v["x"].astype(v["h0"].dtype), v["lens"], [v["h0"], v["c0"]], direction=direction)


def naive_loss(v: dict[str, Any], **options: Any) -> complex:
    dtype = numpy.result_type(*(v[name] for name in DIFFERENTIABLE))
    h, (last_h, last_c) = naive_lstm({k: a if k == "lens" else a.astype(dtype) for k, a in v.items()}, **options)
    return (h * v["weight_h"]).sum() + (last_h * v["weight_last_h"]).sum() + (last_c * v["weight_last_c"]).sum()


def assert_all_close(got: dict[str, Any], want: dict[str, Any], *, tol: float) -> None:
    for name in want:
        numpy.testing.assert_allclose(got[name], want[name], rtol=tol, atol=tol, err_msg=name)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("gate_order", "forget_bias"), [("jifo", 0.0), ("ijfo", 1.0)])
def test_values_and_gradients_equal_a_naive_loop(
    kernel: str, direction: int, gate_order: str, forget_bias: float
) -> None:
    """T=7, B=3, lens 7, 4, 1. Values to 1e-6; gradients, by complex steps in float64, to 1e-5.

    BlockLSTMV2 with the gradient that TensorFlow registers for it fails here.
    """
    feed = random_feed(7, [7, 4, 1])
    options = {"direction": direction, "gate_order": gate_order, "forget_bias": forget_bias}
    result = graph(kernel, **options)(feed)
    exact = {name: a if name == "lens" else a.astype("float64") for name, a in feed.items()}
    h, (last_h, last_c) = naive_lstm(exact, **options)
    assert_all_close(result["values"], {"h": h, "last_h": last_h, "last_c": last_c}, tol=1e-6)
    others = {name: a for name, a in exact.items() if name not in DIFFERENTIABLE}
    wanted = naive.gradient(
        lambda v: naive_loss({**others, **v}, **options), {name: exact[name] for name in DIFFERENTIABLE}
    )
    assert_all_close(result["grads"], wanted, tol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    lens=st.lists(st.integers(0, 6), min_size=0, max_size=4),
    extra_frames=st.integers(0, 2),
    direction=st.sampled_from(DIRECTIONS),
    seed=st.integers(0, 99),
)
def test_both_kernels_agree(lens: list[int], extra_frames: int, direction: int, seed: int) -> None:
    """Any lengths, zero and no sequence at all among them; any subset of outputs may have the gradient."""
    feed = random_feed(max(lens, default=0) + extra_frames, lens, seed=seed)
    loop, block = (graph(kernel, direction)(feed) for kernel in KERNELS)
    for part in loop:
        assert_all_close(loop[part], block[part], tol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("behind_end", [1e30, numpy.inf, numpy.nan])
def test_padding_content_never_matters(kernel: str, direction: int, behind_end: float) -> None:
    """Outputs there are exactly 0, and nothing, gradients included, differs in a single bit."""
    feed = random_feed(6, [3, 0, 6, 1])
    spoiled = {**feed, "x": feed["x"].copy(), "weight_h": feed["weight_h"].copy()}
    padding = numpy.arange(6)[:, None] >= numpy.array(feed["lens"])
    spoiled["x"][padding] = behind_end
    spoiled["weight_h"][padding] = 1e30
    clean_result, spoiled_result = graph(kernel, direction)(feed), graph(kernel, direction)(spoiled)
    assert not spoiled_result["values"]["h"][padding].any()
    assert not spoiled_result["grads"]["x"][padding].any()
    for part in clean_result:
        for name, value in clean_result[part].items():
            numpy.testing.assert_array_equal(spoiled_result[part][name], value, err_msg=f"{part} {name}")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("num_frames", "lens"), [(0, [0, 0]), (2, [0, 0]), (0, []), (1, [1])], ids=["T=0", "lens 0", "B=0", "T=B=1"]
)
def test_degenerate_batches(kernel: str, num_frames: int, lens: list[int]) -> None:
    """Without frames the last state is the initial one, and so is its gradient."""
    feed = random_feed(num_frames, lens)
    result = graph(kernel, 1)(feed)
    assert result["values"]["h"].shape == (num_frames, len(lens), UNITS)
    assert result["grads"]["x"].shape == feed["x"].shape
    if not any(lens):
        numpy.testing.assert_array_equal(result["values"]["last_h"], feed["h0"])
        numpy.testing.assert_array_equal(result["values"]["last_c"], feed["c0"])
        numpy.testing.assert_array_equal(result["grads"]["h0"], feed["weight_last_h"])
        numpy.testing.assert_array_equal(result["grads"]["c0"], feed["weight_last_c"])
        assert not result["grads"]["w"].any()
        assert not result["grads"]["w_re"].any()
        assert not result["grads"]["b"].any()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_known_numbers_of_nativelstm2(kernel: str, direction: int) -> None:
    """One unit, T=3, lens 3, 1, x w = (.5, -.5, 1, .25) everywhere, w_re = (.1, .2, .3, .4), h0 = .5, c0 = 1."""
    with v1.Graph().as_default(), v1.Session() as session:
        z = tf.constant(numpy.tile(numpy.array([0.5, -0.5, 1.0, 0.25], "float32"), (3, 2, 1)))
        w_re = tf.constant([[0.1, 0.2, 0.3, 0.4]])
        h0, c0 = tf.fill([2, 1], 0.5), tf.fill([2, 1], 1.0)
        out = lstm(z, w_re, lens=tf.constant([3, 1]), initial_h=h0, initial_c=c0, direction=direction, kernel=kernel)
        grads = tf.gradients(tf.reduce_sum(out.h) + tf.reduce_sum(out.last_c), [z, w_re, h0, c0])
        h, last_c, (dz, dw_re, dh0, dc0) = session.run((out.h, out.last_c, grads))
    first = [0.4545870, 0.4416714, 0.4327134][::direction]
    numpy.testing.assert_allclose(h[:, 0, 0], first, atol=1e-6)
    numpy.testing.assert_allclose(h[:, 1, 0], [0.4545870, 0, 0], atol=1e-6)
    numpy.testing.assert_allclose(last_c[:, 0], [0.8976192, 0.9603758], atol=1e-6)
    numpy.testing.assert_allclose(dw_re[0], [0.7446446, 0.2964854, 0.4419066, 0.3675997], atol=1e-5)
    numpy.testing.assert_allclose(dh0[:, 0], [0.2321276, 0.2093762], atol=1e-5)
    numpy.testing.assert_allclose(dc0[:, 0], [1.0137626, 0.9662683], atol=1e-5)
    numpy.testing.assert_allclose(dz[0, 1], [0.3826538, 0.1529918, 0.2323770, 0.1769983], atol=1e-5)
    assert not dz[1:, 1].any()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_defaults_are_zeros_and_full_length(kernel: str, direction: int) -> None:
    """Without bias, states and lens: as if b, h0, c0 are 0 and each sequence has T frames; without w: x = x w."""
    feed = random_feed(4, [4, 4])
    for name in ("b", "h0", "c0"):
        feed[name][...] = 0
    want = graph(kernel, direction)(feed)["values"]
    with v1.Graph().as_default(), v1.Session() as session:
        x, w, w_re = (tf.constant(feed[name]) for name in ("x", "w", "w_re"))
        with_w = lstm(x, w_re, w=w, direction=direction, kernel=kernel)
        without_w = lstm(tf.tensordot(x, w, 1), w_re, direction=direction, kernel=kernel)
        for out in session.run((with_w, without_w)):
            assert_all_close(out._asdict(), want, tol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_batch_size_may_be_known_of_states_only(kernel: str) -> None:
    """States [1, n], x [T, ?, D]: the graph builds, with its gradient."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, None, 4 * UNITS])
        state = tf.ones([1, UNITS])
        out = lstm(x, tf.ones([UNITS, 4 * UNITS]), initial_h=state, initial_c=state, kernel=kernel)
        (grad,) = session.run(tf.gradients(out.last_h, x), {x: numpy.zeros((2, 1, 4 * UNITS))})
    assert grad.all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_inside_of_another_loop(kernel: str) -> None:
    """x <- h of an LSTM over x, three times in a while_loop: as unrolled, values and gradients."""
    rng = numpy.random.RandomState(3)
    with v1.Graph().as_default(), v1.Session() as session:
        x = tf.constant(rng.normal(size=(4, 2, UNITS)).astype("float32"))
        w, w_re = (tf.constant(rng.normal(size=(UNITS, 4 * UNITS)).astype("float32")) for _ in range(2))
        lens = tf.constant([4, 2])

        def step(x: tf.Tensor) -> tf.Tensor:
            return lstm(x, w_re, w=w, lens=lens, kernel=kernel).h

        _, looped = v1.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, step(x)), (0, x))
        unrolled = step(step(step(x)))
        results = [(y, *tf.gradients(tf.reduce_sum(y**2), [x, w, w_re])) for y in (looped, unrolled)]
        for got, want in zip(*session.run(results), strict=True):
            numpy.testing.assert_allclose(got, want, atol=1e-5)


def test_choose_kernel() -> None:
    """Small weights: block; large ones, even if only the input is large: loop."""
    assert choose_kernel(in_dim=16, num_units=16) == "block"
    assert choose_kernel(in_dim=64, num_units=64) == "block"
    assert choose_kernel(in_dim=1000, num_units=64) == "loop"
    assert choose_kernel(in_dim=128, num_units=128) == "loop"


def test_wrong_options_are_named() -> None:
    with v1.Graph().as_default():
        x, w_re = tf.zeros([2, 1, 4]), tf.zeros([1, 4])
        with pytest.raises(ValueError, match="gate_order must be 'jifo' or 'ijfo', not 'ifjo'"):
            lstm(x, w_re, gate_order="ifjo")
        with pytest.raises(ValueError, match="direction must be 1 or -1, not 2"):
            lstm(x, w_re, direction=2)
