"""Layouts of one LSTM. Two units, one input; entries tell where they are from."""

from __future__ import annotations

import itertools

import numpy
import pytest

from returnn.network.param_import.lstm import lstm_param

KERNEL = numpy.arange(24.0).reshape(3, 8)
BIAS = numpy.arange(100.0, 108.0)
NATIVE = {
    "W": [[2, 3, 0, 1, 4, 5, 6, 7]],
    "W_re": [[10, 11, 8, 9, 12, 13, 14, 15], [18, 19, 16, 17, 20, 21, 22, 23]],
    "b": [102, 103, 100, 101, 104, 105, 106, 107],
}
"""The same as KERNEL and BIAS: gates i j f o there, j i f o here."""
CELLS = ["lstm_cell", "basic_lstm_cell", "rnn/lstm_cell", "rnn/basic_lstm_cell", "lstm_fused_cell"]


def cell_values(cell: str) -> dict[str, numpy.ndarray]:
    return {"x/rec/%s/kernel" % cell: KERNEL, "x/rec/%s/bias" % cell: BIAS}


def native_values() -> dict[str, numpy.ndarray]:
    return {"x/rec/" + name: numpy.array(value, "float64") for name, value in NATIVE.items()}


def low_mem_values() -> dict[str, numpy.ndarray]:
    rows = numpy.concatenate([NATIVE["W"], NATIVE["W_re"]]).astype("float64")
    return {"x/rec/W": rows, "x/rec/b": numpy.array(NATIVE["b"], "float64")}


def cudnn_values() -> dict[str, numpy.ndarray]:
    """gates i f j o: columns 0 1, 4 5, 2 3, 6 7 of the kernel, transposed; the bias is the sum of two"""
    parts: list[numpy.ndarray] = []
    for rows in (slice(0, 1), slice(1, 3)):
        parts += [KERNEL[rows, columns].T for columns in (slice(0, 2), slice(4, 6), slice(2, 4), slice(6, 8))]
    for share in (0.25, 0.75):
        parts += [BIAS[columns] * share for columns in (slice(0, 2), slice(4, 6), slice(2, 4), slice(6, 8))]
    return {"x/rec/cudnn/CudnnRNNParamsToCanonical:%i" % i: part for i, part in enumerate(parts)}


FILES = {
    "native": native_values(),
    "low memory": low_mem_values(),
    "cudnn": cudnn_values(),
    **{cell: cell_values(cell) for cell in CELLS},
    "old names": {"x/rec/lstm_cell/weights": KERNEL, "x/rec/lstm_cell/biases": BIAS},
}
MODELS = {name: values for name, values in FILES.items() if name not in ("cudnn", "old names")}
PAIRS = [(a, b) for a, b in itertools.product(FILES, MODELS) if a != b]


@pytest.mark.parametrize(("in_file", "in_model"), PAIRS)
def test_every_layout_becomes_every_other(in_file: str, in_model: str) -> None:
    for name, wanted in MODELS[in_model].items():
        found = lstm_param(name, wanted.shape, FILES[in_file])
        assert found is not None
        value, names = found
        numpy.testing.assert_allclose(value, wanted)
        assert set(names) == set(FILES[in_file])


@pytest.mark.parametrize("name", ["x/rec/W", "x/rec/lstm_cell/kernel", "y/rec/W", "x/rec/lstm_cell/w_i_diag"])
def test_what_is_no_lstm_is_not_converted(name: str) -> None:
    """A matrix called kernel of another number of columns; another layer; another parameter."""
    values = {"x/rec/rnn/lstm_cell/kernel": numpy.zeros((3, 7)), "x/rec/rnn/lstm_cell/bias": BIAS}
    assert lstm_param(name, (3, 8), values) is None


def test_another_size_is_not_converted() -> None:
    assert lstm_param("x/rec/W", (2, 8), cell_values("lstm_cell")) is None
