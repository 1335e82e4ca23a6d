"""Cells over time against a naive loop."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tf.backend.lstm import lstm
from returnn.tf.backend.rnn import rnn
from returnn.tf.compat import tf, v1
from tests.tf.backend import naive

FRAMES, LENS, IN_DIM, UNITS = 5, [5, 0, 2], 4, 3
DIRECTIONS = [1, -1]

PARAM_SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "lstm": {
        "kernel": (IN_DIM + UNITS, 4 * UNITS),
        "bias": (4 * UNITS,),
        "w_i_diag": (UNITS,),
        "w_f_diag": (UNITS,),
        "w_o_diag": (UNITS,),
    },
    "gru": {
        "gates/kernel": (IN_DIM + UNITS, 2 * UNITS),
        "gates/bias": (2 * UNITS,),
        "candidate/kernel": (IN_DIM + UNITS, UNITS),
        "candidate/bias": (UNITS,),
    },
    "basicrnn": {"kernel": (IN_DIM + UNITS, UNITS), "bias": (UNITS,)},
}


def naive_step(cell: str, p: dict[str, numpy.ndarray]) -> naive.Step:
    if cell == "lstm":
        return naive.lstm_step(
            p["kernel"][:IN_DIM],
            p["kernel"][IN_DIM:],
            p["bias"],
            gate_order="ijfo",
            forget_bias=1.0,
            peepholes=[p[f"w_{gate}_diag"] for gate in "ifo"],
        )
    if cell == "gru":

        def gru_step(x, state):
            (h,) = state
            gates = naive.sigmoid(numpy.concatenate([x, h]) @ p["gates/kernel"] + p["gates/bias"])
            r, u = gates[:UNITS], gates[UNITS:]
            c = numpy.tanh(numpy.concatenate([x, r * h]) @ p["candidate/kernel"] + p["candidate/bias"])
            h = u * h + (1 - u) * c
            return h, [h]

        return gru_step

    def basic_step(x, state):
        h = numpy.tanh(numpy.concatenate([x, *state]) @ p["kernel"] + p["bias"])
        return h, [h]

    return basic_step


def run_with_gradients(
    cell: str, inputs: dict[str, numpy.ndarray], weights: list[numpy.ndarray], **options: Any
) -> tuple[list[numpy.ndarray], dict[str, numpy.ndarray]]:
    """:return: output and last states; gradient of their weighted sum for each input"""
    with v1.Graph().as_default(), v1.Session() as session:
        v = {name: tf.constant(value) for name, value in inputs.items()}
        states = [v[name] for name in v if name.startswith("state")]
        params = {name: v[name] for name in PARAM_SHAPES[cell]}
        output, last = rnn(v["x"], cell=cell, params=params, lens=tf.constant(LENS), initial_state=states, **options)
        loss = tf.add_n([tf.reduce_sum(a * w) for a, w in zip([output, *last], weights, strict=True)])
        values, grads = session.run(([output, *last], tf.gradients(loss, list(v.values()))))
    return values, dict(zip(v, grads, strict=True))


@pytest.mark.parametrize("cell", PARAM_SHAPES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_values_and_gradients_equal_a_naive_loop(cell: str, direction: int) -> None:
    """Lengths 5, 0, 2 of 5 frames, NaN behind the end. Values to 1e-6; gradients, by complex steps, to 1e-5."""
    rng = numpy.random.RandomState(1)
    num_states = 2 if cell == "lstm" else 1
    shapes = {
        "x": (FRAMES, len(LENS), IN_DIM),
        **{f"state{i}": (len(LENS), UNITS) for i in range(num_states)},
        **PARAM_SHAPES[cell],
    }
    inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    weights = [rng.normal(size=(FRAMES, len(LENS), UNITS))] + [rng.normal(size=(len(LENS), UNITS))] * num_states

    def naive_run(v: dict[str, numpy.ndarray]) -> list[numpy.ndarray]:
        dtype = numpy.result_type(*v.values())
        v = {name: value.astype(dtype) for name, value in v.items()}
        states = [v[f"state{i}"] for i in range(num_states)]
        output, last = naive.run_sequences(naive_step(cell, v), v["x"], LENS, states, direction=direction)
        return [output, *last]

    def naive_loss(v: dict[str, numpy.ndarray]) -> complex:
        return sum((a * w).sum() for a, w in zip(naive_run(v), weights, strict=True))

    single = {name: value.astype("float32") for name, value in inputs.items()}
    single["x"][numpy.arange(FRAMES)[:, None] >= numpy.array(LENS)] = numpy.nan
    options = {"forget_bias": 1.0} if cell == "lstm" else {}
    values, grads = run_with_gradients(
        cell, single, [w.astype("float32") for w in weights], direction=direction, **options
    )
    for got, want in zip(values, naive_run(inputs), strict=True):
        numpy.testing.assert_allclose(got, want, atol=1e-6)
    for name, want in naive.gradient(naive_loss, inputs).items():
        numpy.testing.assert_allclose(grads[name], want, atol=1e-5, rtol=1e-5, err_msg=name)


def test_lstm_cell_without_peepholes_equals_the_kernel() -> None:
    """The same by two ways; without lens and states: full lengths and zeros."""
    rng = numpy.random.RandomState(2)
    with v1.Graph().as_default(), v1.Session() as session:
        x = tf.constant(rng.normal(size=(4, 2, IN_DIM)).astype("float32"))
        kernel = tf.constant(rng.normal(size=(IN_DIM + UNITS, 4 * UNITS)).astype("float32"))
        bias = tf.constant(rng.normal(size=4 * UNITS).astype("float32"))
        params = {"kernel": kernel, "bias": bias}
        by_cell, (last_h, last_c) = rnn(x, cell="lstm", params=params, gate_order="jifo")
        by_kernel = lstm(x, kernel[IN_DIM:], w=kernel[:IN_DIM], b=bias, gate_order="jifo")
        for got, want in session.run(list(zip((by_cell, last_h, last_c), by_kernel, strict=True))):
            numpy.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize(("num_frames", "num_seqs"), [(0, 2), (3, 0)])
def test_empty_batches(num_frames: int, num_seqs: int) -> None:
    """No frame: the state stays the initial one. No sequence: empty outputs."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, None, IN_DIM])
        params = {"kernel": tf.ones([IN_DIM + UNITS, UNITS]), "bias": tf.zeros([UNITS])}
        initial = tf.fill([tf.shape(x)[1], UNITS], 7.0)
        output, (last,) = rnn(x, cell="basicrnn", params=params, initial_state=[initial])
        output, last = session.run((output, last), {x: numpy.zeros((num_frames, num_seqs, IN_DIM))})
    assert output.shape == (num_frames, num_seqs, UNITS)
    assert last.shape == (num_seqs, UNITS)
    assert (last == 7).all()


def test_unknown_cell_is_named() -> None:
    with v1.Graph().as_default(), pytest.raises(ValueError, match="unknown cell 'grru', known: lstm, .*gru, basicrnn"):
        rnn(tf.zeros([1, 1, 1]), cell="grru", params={})
