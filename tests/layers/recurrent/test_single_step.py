"""A layer dict as unit over an input without time axis: one step, or one in each frame of the loop around."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tensor import single_step_dim

from .loops import BACKENDS, lengths, loop, run

BOTH = pytest.mark.parametrize("backend", BACKENDS)
ONE = {"data": {"dim": 1}}
NUMBERS: dict[str, Any] = {
    "data": {"data": numpy.array([[[1.0], [2], [3]], [[1], [10], [100]]])},
    "lens": {"data": [3, 1]},
    "extern_data": ONE,
}
SUM = {
    "sum": {"class": "combine", "kind": "add", "from": ["data:source", "prev:sum"], "initial_output": 5},
    "output": {"class": "eval", "eval": "source(0) * 2.0", "from": "sum"},
}
DROP = {"class": "reduce", "mode": "max", "axis": "T", "from": "data"}


@BOTH
@pytest.mark.parametrize("moved", [False, True])
def test_outside_of_loops(backend: str, moved: bool) -> None:
    """From the initial output: (3 + 5) * 2 and (1 + 5) * 2; layers inside have no time axis, either."""
    network = {
        "frame": DROP,
        "step": {**loop(SUM), "from": "frame", "optimize_move_layers_out": moved},
        "output": {"class": "copy", "from": ["step", "step/output"]},
    }
    found = run(backend, network, **NUMBERS)
    assert found["out:output"].tolist() == [[16, 16], [12, 12]]


@BOTH
def test_axis_option(backend: str) -> None:
    """The time axis is no loop: (x + 5) * 2 in all frames."""
    found = run(backend, {"output": loop(SUM, axis=single_step_dim)}, **NUMBERS)
    assert lengths(found) == [3, 1]
    assert found["out:output"][0, :, 0].tolist() == [12, 14, 16] and found["out:output"][1, 0, 0] == 12


@BOTH
def test_losses(backend: str) -> None:
    """Of the only frame: the sum of (3 + 5) * 2 and (1 + 5) * 2."""
    unit = {**SUM, "output": {**SUM["output"], "loss": "as_is"}}
    found = run(backend, {"frame": DROP, "output": {**loop(unit), "from": "frame"}}, **NUMBERS)
    assert found["cost:output/output"] == pytest.approx(28)


@BOTH
@pytest.mark.parametrize("moved", [False, True])
def test_in_a_loop(backend: str, moved: bool) -> None:
    """What it has of the frame before is that of the loop: sums from 5 on, 6 8 11 and 6, times 2, plus 1."""
    unit = {"inner": loop(SUM), "output": {"class": "eval", "eval": "source(0) + 1.0", "from": "inner"}}
    unit["inner"]["from"] = "data:source"
    found = run(backend, {"output": loop(unit, optimize_move_layers_out=moved)}, **NUMBERS)
    assert lengths(found) == [3, 1]
    assert found["out:output"][0, :, 0].tolist() == [13, 17, 23] and found["out:output"][1, 0, 0] == 13


CELL = {
    "s": {"class": "rnn_cell", "unit": "standardlstm", "n_out": 3, "from": ["data", "prev:output"]},
    "output": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "s"},
}


@BOTH
@pytest.mark.parametrize("search", [False, True])
def test_as_a_subnetwork(backend: str, search: bool) -> None:
    """The same as a subnetwork with that layer dict, with parameters, states, and for hypotheses of a search."""
    sub = {"class": "subnetwork", "from": "x", "subnetwork": CELL, "name_scope": "inner/rec"}
    step = {"class": "rec", "from": "x", "unit": CELL}
    found = []
    for inner in (sub, step):
        unit = {
            "embed": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "prev:output"},
            "x": {"class": "copy", "from": ["embed", "data:source"] if search else "data:source"},
            "inner": inner,
            "h": {"class": "get_last_hidden_state", "from": "inner/s", "n_out": 6},
            "prob": {"class": "softmax", "n_out": 4, "from": ["inner", "h"]},
            "output": {"class": "copy", "from": "prob"},
        }
        if search:
            unit["output"] = {"class": "choice", "from": "prob", "target": None, "search": True, "beam_size": 3}
            unit["output"]["initial_output"] = 0
        network: dict[str, Any] = {"output": loop(unit)}
        if search:
            network["scores"] = {"class": "choice_get_beam_scores", "from": "output"}
            network["scores"]["is_output_layer"] = True
        fetch = ["output", "scores"] if search else ["output"]
        found.append(run(backend, network, fetch=fetch, train=not search))
    assert found[0].keys() == found[1].keys()
    assert any(key == "param:output/rec/inner/rec/s/rec/lstm_cell/kernel" for key in found[0])
    for key, value in found[0].items():
        numpy.testing.assert_allclose(value, found[1][key], rtol=1e-5, atol=1e-6, err_msg=key)
