"""Mistakes in the network that is the unit of a recurrent layer: whole messages."""

from __future__ import annotations

import io
from typing import Any

import pytest

from returnn.log import log
from returnn.util.errors import ConfigError
from tests.layers.recurrent.common import NetworkRun, fresh_graph

S = {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["data:source", "prev:s"]}
OUTPUT = {"class": "copy", "from": "s"}
COUNTER = {"class": "eval", "eval": "source(0) + 1", "from": "prev:output", "initial_output": "base:mean"}
ONE_VALUE = {"class": "reduce", "mode": "mean", "axis": "F", "from": "output"}
END = {"class": "compare", "value": 3.0, "from": "one_value"}
LABELS = {"class": "reduce", "mode": "argmax", "axis": "F", "from": "s"}
EMBED = {"class": "linear", "activation": None, "n_out": 2, "from": "prev:labels"}
BOTH = {"class": "combine", "kind": "add", "from": ["x", "data:source"]}


def rec(unit: dict[str, Any], **opts: Any) -> dict[str, Any]:
    """
    :return: layer with this unit
    """
    return {"class": "rec", "from": "data", "unit": unit, **opts}


NETWORK = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "q": rec(
        {"s": S, "t": {**S, "from": ["s", "prev:t"]}, "unused": OUTPUT, "output": {"class": "copy", "from": "t"}},
        is_output_layer=True,
    ),
}
Q = "<RecLayer 'q' out_type=[T|'time:var:extern_data:data'[B],B,F|F'q/t:out'(2)] float32>"
NOT_OUTSIDE = (
    Q + ": Cannot get layer 's' from outside, because it is only available inside the recurrent loop. Add "
    "'is_output_layer': True to the layer options."
)

MESSAGES = {
    "no output": (rec({"s": S}), 'network["r"] (class \'rec\'): the unit has no layer "output"'),
    "no end": (
        rec({"output": COUNTER}, **{"from": [], "max_seq_len": 3}),
        "network[\"r\"] (class 'rec'): nothing says how long the loop is: no source, target or axis. Then the unit "
        'needs a layer "end" (bool), and the layer the option max_seq_len',
    ),
    "end is no flag": (
        rec({"output": COUNTER, "end": ONE_VALUE}, **{"from": [], "max_seq_len": 3}),
        'network["r"] (class \'rec\'): the layer "end" of the unit must be bool [batch], but is [B] float32',
    ),
    "end for each feature": (
        rec({"output": COUNTER, "end": {**END, "from": "output"}}, **{"from": [], "max_seq_len": 3}),
        'network["r"] (class \'rec\'): the layer "end" of the unit must be bool [batch], but is '
        "[B,F|F'feature:data'(2)] bool",
    ),
    "nothing bounds it": (
        rec({"output": COUNTER, "one_value": ONE_VALUE, "end": END}, **{"from": []}),
        'network["r"] (class \'rec\'): the loop may run forever, as only the layer "end" of the unit ends it: specify '
        "max_seq_len",
    ),
    "labels without initial output": (
        rec({"s": S, "labels": LABELS, "embed": EMBED, "output": {"class": "copy", "from": ["s", "embed"]}}),
        "network[\"r\"] (class 'rec'): layer 'r/labels': You must explicitly provide an initial output value for "
        "sparse data [B] int32 sparse_dim=Dim{F'r/s:out'(2)}, for instance \"initial_output\": 0",
    ),
    "initial output is a list": (
        rec({"s": {**S, "initial_output": [1, 2]}, "output": OUTPUT}),
        'network["r"] (class \'rec\'): layer \'r/s\': initial_output must be a number, "zeros", "ones", "var", '
        '"apply(0)" or the name of a layer, but is [1, 2]',
    ),
    "initial output, misspelt": (
        rec({"s": {**S, "initial_output": "zero"}, "output": OUTPUT}),
        "network[\"r/s\"] (class 'linear'): layer 'r/s': initial_output 'zero' is no layer. Did you mean \"zeros\"?",
    ),
    "initial output of all frames": (
        rec({"s": {**S, "initial_output": "base:data"}, "output": OUTPUT}),
        "network[\"r\"] (class 'rec'): layer 'r/s': initial_output 'base:data' is one frame, but that layer has the "
        "axis of the loop: [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)] float32",
    ),
    "frame before of an unknown layer": (
        rec({"s": {**S, "from": ["data:source", "prev:ss"]}, "output": OUTPUT}),
        "network[\"r/s\"]: layer 'ss' not found in <TFNetwork 'root/r'>. Did you mean \"s\"?",
    ),
    "two frames before": (
        rec({"s": {**S, "from": ["data:source", "prev:prev:s"]}, "output": OUTPUT}),
        "network[\"r/s\"] (class 'linear'): prev:prev:s: there is only one frame before",
    ),
    "options of a unit": (
        rec({"s": S, "output": OUTPUT}, unit_opts={"forget_bias": 0.0}),
        "network[\"r\"] (class 'rec'): unit_opts: the unit is a network, which has no options",
    ),
    "layer in the loop, outside": (
        {"class": "copy", "from": "q/s"},
        "network[\"r\"] (class 'copy'): " + NOT_OUTSIDE,
    ),
    "the same, by its layer class": (
        {"class": "get_rec_accumulated", "from": "q", "sub_layer": "s"},
        "network[\"r\"] (class 'get_rec_accumulated'): " + NOT_OUTSIDE,
    ),
    "layer that nothing needs, outside": (
        {"class": "copy", "from": "q/unused"},
        "network[\"r\"] (class 'copy'): layer 'unused' of the unit of layer 'q' is not built, as nothing needs it. Add "
        "'is_output_layer': True to its options.",
    ),
    "no sub_layer": (
        {"class": "get_rec_accumulated", "from": "q"},
        'network["r"] (class \'get_rec_accumulated\'): option "sub_layer" is missing: the name of a layer of the unit',
    ),
    "last frame, not kept": (
        {"class": "rec_last_output", "rec_layer": "q", "sub_layer_name": "s"},
        "network[\"r\"] (class 'rec_last_output'): the last frame of layer 's' of the unit of layer 'q' is not kept: "
        "give it need_last: True",
    ),
    "last frame of an unknown layer": (
        {"class": "rec_last_output", "rec_layer": "q", "sub_layer_name": "outptu"},
        "network[\"r\"] (class 'rec_last_output'): the unit of layer 'q' has no layer 'outptu'. Did you mean "
        '"output"?',
    ),
    "last frame of what is no loop": (
        {"class": "rec_last_output", "rec_layer": "mean", "sub_layer_name": "s"},
        "network[\"r\"] (class 'rec_last_output'): rec_layer must be of class rec, but is <ReduceLayer 'mean' "
        "out_type=[B,F|F'feature:data'(2)] float32>",
    ),
    "unstack without the axis": (
        rec({"x": {"class": "rec_unstack", "from": "base:mean"}, "output": BOTH}),
        "network[\"r/x\"] (class 'rec_unstack'): the layer outside, [B,F|F'feature:data'(2)] float32, has not the axis "
        "Dim{'time:var:extern_data:data'[B]} of the loop",
    ),
    "unstack another axis": (
        rec({"x": {"class": "rec_unstack", "from": "base:data", "axis": "F"}, "output": BOTH}),
        "network[\"r/x\"] (class 'rec_unstack'): axis Dim{F'feature:data'(2)} is not the axis of the loop, "
        "Dim{'time:var:extern_data:data'[B]}. With declare_rec_time, the loop is over that axis",
    ),
    "unstack a layer inside": (
        rec({"s": S, "x": {"class": "rec_unstack", "from": "s"}, "output": BOTH}),
        "network[\"r/x\"] (class 'rec_unstack'): the source 's' is inside of the loop, too; it must be a layer "
        "outside, base:NAME",
    ),
    "table of distances outside of a loop": (
        {
            "class": "edit_distance_table",
            "from": "data:labels",
            "target": "labels",
        },
        "network[\"r\"] (class 'edit_distance_table'): the layer gets one label at a time: it works only within the "
        "unit of a recurrent layer",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    layer, message = MESSAGES[name]
    extern_data = {"data": {"dim": 2}, "labels": {"dim": 5, "sparse": True}}
    with fresh_graph(), pytest.raises(ConfigError) as error:
        NetworkRun({**NETWORK, "r": {**layer, "is_output_layer": True}}, extern_data=extern_data)
    assert str(error.value) == message


def test_a_direction_is_told_to_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """once, and the loop runs forwards: the first frame is that of a loop without the option"""
    stream = io.StringIO()
    monkeypatch.setattr(log, "v2", stream)
    unit = {"s": S, "output": OUTPUT}
    with fresh_graph():
        run = NetworkRun({"r": rec(unit, direction=-1, is_output_layer=True), "s": rec(unit, is_output_layer=True)})
        run.fill_params()
        backward, forward = run("r", "s")
    assert (backward == forward).all()
    hint = "layer 'r': direction -1 has no effect here: the unit is a network, which runs forwards"
    assert [line for line in stream.getvalue().splitlines() if "direction" in line] == [hint]


def test_max_seq_len_bounds_a_loop_without_end() -> None:
    """the counter never is 1000; three frames for each sequence"""
    never = {**END, "kind": "greater", "value": 1000.0}
    unit = {"output": {**COUNTER, "need_last": True}, "one_value": ONE_VALUE, "end": never}
    layer = rec(unit, **{"from": [], "max_seq_len": 3, "is_output_layer": True})
    last = {"class": "rec_last_output", "rec_layer": "r", "sub_layer_name": "output", "is_output_layer": True}
    with fresh_graph():
        run = NetworkRun({**NETWORK, "r": layer, "last": last})
        output, at_end, start = run("r", "last", "mean")
    assert output.shape == (2, 3, 2)
    assert (abs(output[:, -1] - start - 3) < 1e-5).all()
    assert (at_end == output[:, -1]).all()
