"""Options of the recurrent layer around its unit."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.log import log
from returnn.tensor import single_step_dim
from returnn.tf.compat import tf
from returnn.util.errors import ConfigError
from tests.layers.recurrent.common import NetworkRun, fresh_graph, last, outputs_of, rec


def test_options_of_other_loops_change_nothing() -> None:
    """a loop over the input is never cut, and has no end of its own"""
    opts = {"max_seq_len": 2, "include_eos": True, "optimize_move_layers_out": False, "back_prop": True}
    plain, with_options, unrolled = outputs_of(
        {"a": rec("gru"), "b": rec("gru", **opts), "c": rec("gru", unroll=True, max_seq_len=10)}, "a", "b", "c"
    )
    assert (plain == with_options).all()
    assert (plain == unrolled).all()


def test_no_back_prop() -> None:
    """neither through the output nor through the last state"""
    with fresh_graph():
        run = NetworkRun({"r": rec("gru", back_prop=False), "s": last("r", 2)}, train_flag=True)
        x = run.data.placeholder
        outputs = [run.network.get_layer(name).output.placeholder for name in "rs"]
        assert tf.gradients(outputs, [x, *run.network.get_params_list()]) == [None] * 5


def test_cheating_is_accepted_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """once a layer, not once for its template too"""
    lines: list[str] = []
    monkeypatch.setattr(log, "v2", type("Stream", (), {"write": lambda self, text: lines.append(text)})())
    outputs_of({"r": rec("gru", cheating=True)}, "r")
    hint = "layer 'r': cheating has no effect here; it is an option of class choice"
    assert [line for line in lines if "cheating" in line] == [hint]


def test_single_step_dim_as_axis() -> None:
    """one step on each frame, every one from zero: frame 0 is that of the loop, the others are not"""
    frame, loop = outputs_of({"a": rec("gru", axis=single_step_dim), "b": rec("gru")}, "a", "b")
    assert frame.shape == loop.shape
    numpy.testing.assert_allclose(frame[:, 0], loop[:, 0], atol=1e-6)
    assert numpy.abs(frame[:, 1] - loop[:, 1]).max() > 1e-3


def test_a_joint_dim_for_input_and_output() -> None:
    """n_out equal to the input dim, and two layers on each other: the matrices have both sides"""
    net = {"a": rec("gru"), "b": rec("gru", **{"from": "a"})}
    with fresh_graph():
        run = NetworkRun(net)
        assert [v.shape.as_list() for v in run.network.get_params_list() if v.op.name.endswith("gates/kernel")] == [
            [4, 4]
        ] * 2


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        ({"unroll": True}, "unroll needs max_seq_len as a number, but that is None"),
        ({"direction": 2}, "direction must be 1 or -1, but is 2"),
        ({"axis": "B"}, "axis 'B': cannot iterate over"),
        ({"axis": "F"}, "axis 'F': cannot iterate over"),
        ({"from": []}, 'the layer needs a source: "from" is empty'),
    ],
)
def test_messages(opts: dict[str, Any], message: str) -> None:
    """with the place"""
    with fresh_graph(), pytest.raises(ConfigError, match='(?s)network\\["r"\\].*' + message):
        NetworkRun({"r": {**rec("gru"), **opts}})


def test_n_out_is_needed() -> None:
    with fresh_graph(), pytest.raises(ConfigError, match="n_out, out_dim or target is needed"):
        NetworkRun({"r": {"class": "rec", "unit": "gru", "from": "data", "is_output_layer": True}})
