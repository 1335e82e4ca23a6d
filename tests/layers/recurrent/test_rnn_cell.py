"""Single frames, and states that are given. Values of all units: the case ``rnn_cells`` in tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.log import log
from returnn.util.errors import ConfigError
from tests.layers.recurrent.common import NetworkRun, fresh_graph, last, outputs_of, rec

MEAN = {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"}
INIT = {"class": "linear", "activation": "tanh", "n_out": 2, "from": "mean"}


def cell(unit: str, **opts: Any) -> dict[str, Any]:
    """
    :return: an rnn_cell layer with 2 outputs
    """
    return {**rec(unit, **opts), "class": "rnn_cell"}


def test_over_time_as_the_recurrent_layer() -> None:
    """The same parameters, by their names in the layer."""
    values = outputs_of({"a": cell("standardlstm"), "b": rec("standardlstm"), "s": last("a", 4)}, "a", "b", "s")
    numpy.testing.assert_allclose(values[0], values[1], atol=1e-6)
    assert values[2].shape == (2, 4)


@pytest.mark.parametrize("unit", ["standardlstm", "gru"])
def test_single_step(unit: str) -> None:
    """On [batch, feature]: the first frame of a loop over a time axis of one frame. Zeros, or the given state."""
    state = {"standardlstm": {"h": "init", "c": "ones"}, "gru": "init"}[unit]
    one_frame = {"class": "slice", "axis": "T", "slice_end": 1, "from": "data"}
    network = {
        "mean": MEAN,
        "init": INIT,
        "frame": one_frame,
        "vector": {"class": "squeeze", "axis": "T", "from": "frame"},
        "cell": cell(unit, **{"from": "vector", "initial_state": state}),
        "zero": cell(unit, **{"from": "vector"}),
        "rec": rec(unit, **{"from": "vector", "state": {"state": state}}),
        "parts": rec(unit, **{"from": "vector", "state": state if unit != "gru" else {"state": state}}),
        "loop": rec(unit, **{"from": "frame", "initial_state": state}),
        "zero_loop": rec(unit, **{"from": "frame"}),
    }
    names = ("cell", "rec", "parts", "loop", "zero", "zero_loop")
    one, two, three, loop, zero, zero_loop = outputs_of(network, *names)
    for value in (one, two, three):
        numpy.testing.assert_allclose(value, loop[:, 0], atol=1e-6)
    numpy.testing.assert_allclose(zero, zero_loop[:, 0], atol=1e-6)
    assert numpy.abs(zero - one).max() > 1e-2


def test_state_means_one_step() -> None:
    """Also where there is a time axis: each frame is a first one."""
    network = {"mean": MEAN, "init": INIT, "step": rec("gru", state={"state": "init"}), "loop": rec("gru")}
    step, loop = outputs_of({**network, "loop": rec("gru", initial_state="init")}, "step", "loop")
    assert step.shape == (2, 3, 2)
    numpy.testing.assert_allclose(step[:, 0], loop[:, 0], atol=1e-6)
    assert numpy.abs(step[:, 1] - loop[:, 1]).max() > 1e-3


def test_initial_values() -> None:
    """One option for all matrices."""
    with fresh_graph():
        run = NetworkRun({"c": cell("gru", weights_init=0.25)})
        values = run.session.run({var.op.name: var for var in run.network.get_params_list()})
    assert {key: set(value.ravel()) for key, value in values.items()} == {
        "c/rec/gru_cell/gates/kernel": {0.25},
        "c/rec/gru_cell/gates/bias": {1},
        "c/rec/gru_cell/candidate/kernel": {0.25},
        "c/rec/gru_cell/candidate/bias": {0},
    }


def test_keep_over_epoch() -> None:
    """The next step goes on where this one stopped: two times three frames are six."""
    network = {
        "twice": {"class": "concat", "from": [("data", "T"), ("data", "T")]},
        "long": cell("basicrnn", **{"from": "cut"}),
        "cut": {"class": "slice", "axis": "T", "slice_end": 6, "from": "twice"},
        "kept": cell("basicrnn", initial_state="keep_over_epoch"),
    }
    with fresh_graph():
        run = NetworkRun(network)
        run.fill_params()
        size = {run.data.size_placeholder[0]: [3, 3]}
        step = run.network.get_epoch_step()
        (long,) = run("long", feed=size)
        ops = run.network.get_post_control_dependencies()
        kept = [run("kept", feed={**size, step: i}, also=ops)[0] for i in range(2)]
    numpy.testing.assert_allclose(numpy.concatenate(kept, axis=1), long, atol=1e-6)


def test_list_of_states_is_hard_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint; c comes first."""
    lines: list[str] = []
    monkeypatch.setattr(log, "v2", type("Stream", (), {"write": lambda self, text: lines.append(text)})())
    network = {
        "list": rec("standardlstm", initial_state=["ones", "zeros"]),
        "dict": rec("standardlstm", initial_state={"c": "ones", "h": "zeros"}),
    }
    as_list, as_dict = outputs_of(network, "list", "dict")
    assert (as_list == as_dict).all()
    hint = "layer 'list': initial_state as a list; a dict says which part is which"
    assert [line for line in lines if "dict says" in line] == [hint]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            cell("nativelstm2"),
            "unit 'nativelstm2' works on whole sequences, in class rec; for single frames there are:",
        ),
        (cell("lstm"), "unit 'lstm' works on whole sequences"),
        (cell("cudnngru"), "unknown cell 'cudnngru'.*known cells: "),
        (cell("LSTMCell"), "unknown cell 'LSTMCell'"),
        (cell("gru", initial_output=0), "initial_output: set initial_state instead"),
        (cell("gru", direction=-1), 'option "direction" is unknown to layer class "rnn_cell"'),
        (cell("gru", initial_state=2), "invalid initial state type: 2"),
        (cell("gru", state="init"), "state must be a dict, and excludes initial_state, but is 'init'"),
        (cell("gru", state={"state": "init"}, initial_state="init"), "excludes initial_state"),
        (cell("standardlstm", state={"h": "init"}), r"initial_state must have the keys \['c', 'h'\], but has \['h'\]"),
        ({"class": "rnn_cell", "n_out": 2, "from": "data", "is_output_layer": True}, 'option "unit" is missing'),
        (rec("gru", max_seq_len_via="init"), "max_seq_len_via must be a layer with a scalar, but is"),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    """with the place"""
    with fresh_graph(), pytest.raises(ConfigError, match='(?s)network\\["r"\\].*' + message):
        NetworkRun({"r": layer, "mean": MEAN, "init": INIT})
