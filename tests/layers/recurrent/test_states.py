"""Initial and last states. (Their values beside numbers from elsewhere: ``tests/peer_cases/rec_*states.py``.)"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError
from tests.layers.recurrent.common import LENS, NetworkRun, fresh_graph, input_values, last, outputs_of, rec

FRAME = {"data": {"shape": (2,), "dim": 2, "time_dim_axis": None}}


def states_of_steps(initial_state: str, epoch_steps: list[int], *, num_seqs: list[int] | None = None) -> list[Any]:
    """:return: last state of a gru after each of the steps, always on the same input, as far as it has sequences"""
    with fresh_graph():
        run = NetworkRun({"r": rec("gru", initial_state=initial_state), "s": last("r", 2)})
        run.fill_params()
        updates = run.network.get_fetches_dict()["post_control_dependencies"]
        x = run.data
        res = []
        for step, n in zip(epoch_steps, num_seqs or [2] * len(epoch_steps), strict=True):
            feed = {x.placeholder: input_values((2, 3, 2))[:n], x.size_placeholder[0]: LENS[:n]}
            res += run("s", feed={run.network.get_epoch_step(): step, **feed}, also=updates)
        return res


def on_doubled_input(times: int) -> numpy.ndarray:
    """:return: last state of the same gru on the input, ``times`` in a row, without padding"""
    with fresh_graph():
        run = NetworkRun({"r": rec("gru"), "s": last("r", 2)})
        run.fill_params()
        x = input_values((2, 3, 2))
        rows = [numpy.concatenate([seq[:n]] * times) for seq, n in zip(x, LENS, strict=True)]
        padded = numpy.zeros((2, 3 * times, 2))
        for place, row in zip(padded, rows, strict=True):
            place[: len(row)] = row
        feed = {run.data.placeholder: padded, run.data.size_placeholder[0]: [times * n for n in LENS]}
        return run("s", feed=feed)[0]


def test_keep_over_epoch_goes_on_where_the_step_before_stopped() -> None:
    """two steps are as one on twice the input; epoch step 0 starts at zero again"""
    first, second, third, again = states_of_steps("keep_over_epoch", [0, 1, 2, 0])
    for times, state in [(1, first), (2, second), (3, third), (1, again)]:
        numpy.testing.assert_allclose(state, on_doubled_input(times), atol=1e-6)


def test_keep_over_epoch_no_init_never_starts_again() -> None:
    """zeros in the very first step, whatever its number is"""
    first, second = states_of_steps("keep_over_epoch_no_init", [5, 0])
    numpy.testing.assert_allclose(first, on_doubled_input(1), atol=1e-6)
    numpy.testing.assert_allclose(second, on_doubled_input(2), atol=1e-6)


def test_kept_states_need_the_same_sequences_again() -> None:
    """a batch of another size: an error that names the state, unless the state is reset"""
    assert [len(s) for s in states_of_steps("keep_over_epoch", [0, 0], num_seqs=[2, 1])] == [2, 1]
    message = "r/rec/keep_state_var: the batch must have as many sequences as that of the step before"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        states_of_steps("keep_over_epoch", [0, 1], num_seqs=[2, 1])


def test_kept_states_are_not_saved() -> None:
    """no variable that a checkpoint or the updater would know"""
    with fresh_graph():
        run = NetworkRun({"r": rec("standardlstm", initial_state="keep_over_epoch")})
        names = sorted(v.op.name for v in run.network.get_saveable_params_list())
        assert names == ["global_step", "r/rec/lstm_cell/bias", "r/rec/lstm_cell/kernel"]
        assert not [v.op.name for v in v1.global_variables() if "keep" in v.op.name]


@pytest.mark.parametrize(("unit", "keys"), [("standardlstm", ["c", "h"]), ("gru", ["var"])])
def test_placeholder(unit: str, keys: list[str]) -> None:
    """fed by name; what comes out can be fed again: two steps are as one on twice the input"""
    with fresh_graph():
        run = NetworkRun({"r": rec(unit, initial_state="placeholder"), "s": last("r", 2 * len(keys))})
        run.fill_params()
        graph = v1.get_default_graph()
        state_in = [graph.get_tensor_by_name("r/rec/initial_state_placeholder_%s:0" % key) for key in keys]
        state_out = [graph.get_tensor_by_name("r/rec/last_state_%s:0" % key) for key in keys]
        x = {run.data.placeholder: input_values((2, 3, 2)), run.data.size_placeholder[0]: LENS}
        state: Any = [numpy.zeros((2, 2))] * len(keys)
        for _ in range(2):
            state = run.session.run(state_out, {**x, **dict(zip(state_in, state, strict=True))})
    if unit == "gru":
        numpy.testing.assert_allclose(state[0], on_doubled_input(2), atol=1e-6)
    assert numpy.abs(state).max() > 0.1


def test_a_single_step() -> None:
    """no time axis: output [batch, 2], the first frame of the same unit on frames; from a state given as well"""
    with fresh_graph():
        net = {
            "zero": rec("standardlstm"),
            "one": rec("gru", initial_state="ones"),
            "state": last("zero", 4),
            "native": rec("nativelstm2"),
        }
        run = NetworkRun(net, extern_data=FRAME)
        run.fill_params()
        feed = {run.data.placeholder: input_values((2, 3, 2))[:, 0]}
        values = run.session.run([run.network.get_layer(n).output.placeholder for n in net], feed)
        assert all(run.network.get_layer(n).output.batch_ndim == 2 for n in net)
    first = outputs_of({k: v for k, v in net.items() if k != "state"}, "zero", "one", "native")
    for value, frames in zip([values[0], values[1], values[3]], first, strict=True):
        numpy.testing.assert_allclose(value, frames[:, 0], atol=1e-6)
    numpy.testing.assert_allclose(values[2][:, 2:], values[0], atol=1e-6)


def test_last_state_by_number_and_none() -> None:
    """0 is c, 1 is h; None: the only part"""
    net = {
        "r": rec("standardlstm"),
        "g": rec("gru"),
        **{"s%s" % key: last("r", 2, key=key) for key in (0, 1, "c", "h")},
        "gs": last("g", 2, key=None),
    }
    c0, h1, c, h, y, gs = outputs_of(net, "s0", "s1", "sc", "sh", "g", "gs")
    assert (c0 == c).all() and (h1 == h).all()
    numpy.testing.assert_allclose(gs[0], y[0, -1])


def test_last_state_with_another_axis() -> None:
    """input [B, T, 2, 3]: state [B, 2, n]"""
    with fresh_graph():
        net = {"r": rec("gru"), "s": last("r", 2), "output": {"class": "copy", "from": "s", "loss": "as_is"}}
        run = NetworkRun(net, extern_data={"data": {"shape": (None, 2, 3), "dim": 3}})
        assert [d.dimension for d in run.network.get_layer("s").output.dims] == [None, 2, 2]
        assert [d.dimension for d in run.network.get_layer("r").output.dims] == [None, None, 2, 2]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ({"r": rec("lstm", initial_state=2)}, 'network\\["r"\\].*invalid initial state type: 2'),
        (
            {"r": rec("lstm", initial_state={"h": 0})},
            "initial_state must have the keys \\['c', 'h'\\], but has \\['h'\\]",
        ),
        ({"r": rec("lstm", initial_state=[0])}, "initial_state must have 2 parts: c, h"),
        ({"g": rec("gru"), "r": rec("lstm", initial_state="g")}, "one layer for a state of 2 parts; give a dict"),
        ({"g": rec("gru", n_out=3), "r": rec("gru", initial_state="g")}, "layer 'g' gives .* needed is \\[batch, 2\\]"),
        ({"r": rec("gru", initial_state="data")}, "layer 'data' gives .* needed is \\[batch, 2\\]"),
        ({"r": rec("lstm"), "s": last("r", 2)}, 'network\\["s"\\].*n_out is 2, but the state has dim 4'),
        ({"r": rec("lstm"), "s": last("r", 2, key="x")}, "layer 'r' has no state 'x'. Its states: c, h"),
        ({"s": last("data", 2)}, "layer 'data' .* has no state"),
        ({"r": rec("lstm"), "s": last("r", 2, combine="mul")}, "combine must be concat or add, but is 'mul'"),
    ],
)
def test_messages(layers: dict[str, Any], message: str) -> None:
    """what, and what it should be"""
    with fresh_graph(), pytest.raises(ConfigError, match="(?s)" + message):
        NetworkRun(layers)
