"""compare and switch: values, labels, errors. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]].

More values: tests/peer_cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net, out

from .common import close, message

DATA = {"data": {"dim": 2}, "labels": {"dim": 5, "sparse": True, "available_for_inference": True}}
FLAG = {"class": "compare", "kind": "greater", "value": 5, "from": "data"}


def test_compare_chain() -> None:
    """X < X + 1 < 5: (T, T), (T, F)."""
    network = {
        "next": {"class": "eval", "eval": "source(0) + 1", "from": "data"},
        "output": {"class": "compare", "kind": "less", "from": ["data", "next"], "value": 5},
    }
    with Net(network) as net:
        assert net.out()[0, :2].tolist() == [[True, True], [True, False]]
        assert net.layers["output"].output.dtype == "bool"


def test_switch() -> None:
    """X > 5: X, else 0.5: (.5 6), (7 8), (9 10)."""
    network = {
        "flag": FLAG,
        "output": {"class": "switch", "condition": "flag", "true_from": "data", "false_from": 0.5},
    }
    with Net(network) as net:
        close(net.out()[1], [[0.5, 6], [7, 8], [9, 10]])


@pytest.mark.parametrize(("true", "false", "expected"), [("data:labels", 0, [0, 2]), (0, "data:labels", [1, 0])])
def test_switch_of_labels_and_a_number(true: Any, false: Any, expected: list[int]) -> None:
    """Labels [1 2]; true where the label is larger than 1. The output are labels of the same dim."""
    network = {
        "flag": {"class": "compare", "kind": "greater", "value": 1, "from": "data:labels"},
        "output": {"class": "switch", "condition": "flag", "true_from": true, "false_from": false},
    }
    with Net(network, DATA) as net:
        feed = net.feed(data=[[[0, 0]]], labels=[[1, 2]])
        assert net.out(feed=feed).tolist() == [expected]
        assert net.layers["output"].output.sparse_dim.dimension == 5


def test_only_the_chosen_branch_is_resolved() -> None:
    """A function decides while the network is built; the other layer need not be there."""
    seen: dict[str, Any] = {}

    def decide(**options: Any) -> bool:
        seen.update(options)
        return True

    network = {
        "output": {"class": "switch", "condition": decide, "true_from": "data", "false_from": "there is no such layer"}
    }
    with Net(network) as net:
        close(net.out()[0, 0], [1, 2])
        assert seen["network"] is net.net and seen["true_from"] == "data" and callable(seen["get_layer"])
    network["output"] = {"class": "switch", "condition": lambda **_: False, "true_from": "data", "false_from": 3}
    with Net(network) as net:
        assert (net.out(), net.layers["output"].output.dtype) == (3, "int32")


def test_a_switch_on_a_target_is_not_available_for_inference() -> None:
    """Options that name layers count like sources."""
    data = {"data": {"dim": 2}, "classes": {"dim": 2, "sparse": True, "available_for_inference": False}}
    network = {
        "flag": {"class": "compare", "value": 1, "from": "data:classes"},
        "switch": {"class": "switch", "condition": "flag", "true_from": "data", "false_from": 0.0},
        "output": {"class": "copy", "from": "data"},
    }
    network["switch"]["is_output_layer"] = True
    with Net(network, data) as net:
        assert not net.layers["switch"].output.available_for_inference


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (
            {"class": "compare", "from": "data"},
            'there must be at least two things to compare: sources in "from", and "value"',
        ),
        (
            {"class": "compare", "kind": "equals", "from": ["data", "data"]},
            """unknown kind 'equals'. Did you mean "equal" or "not_equal"? Kinds: equal, greater, greater_equal, less,\
 less_equal, not_equal""",
        ),
        ({"class": "compare", "from": "data:labels", "value": 2.5}, "value is 2.5, but data:labels is of dtype int32"),
        (
            {"class": "compare", "from": ["data:labels", "data"]},
            "equal: dtypes differ: data:labels_output int32, data_output float32",
        ),
        (
            {"class": "switch", "condition": "data", "true_from": "data", "false_from": 0},
            "condition must be bool, but layer 'data' is [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)]"
            " float32",
        ),
        (
            {"class": "switch", "condition": "flag", "true_from": "data:labels", "false_from": 0.5},
            "false_from is 0.5, but the other value has dtype int32",
        ),
        (
            {"class": "switch", "condition": "flag", "true_from": "data:labels", "false_from": "data"},
            "true_from is [B,T|'time:var:extern_data:labels'[B]] int32 sparse_dim=Dim{F'labels:sparse-dim'(5)}, but"
            " false_from is [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)] float32",
        ),
        (
            {"class": "switch", "condition": lambda **_: 1, "true_from": "data", "false_from": 0.5},
            "condition: the function must return True or False, not 1",
        ),
        ({"class": "switch", "condition": "flag", "true_from": "data"}, 'option "false_from" is missing'),
        (
            {"class": "switch", "condition": "flag", "true_from": "data", "false_from": 0, "from": "data"},
            'a switch layer has no "from", but "condition", "true_from" and "false_from"',
        ),
        (
            {"class": "switch", "condition": "flag", "true_from": "data", "false_from": "key", "n_out": 2},
            "the feature dims of the inputs do not fit: data is"
            " [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)] float32, key is"
            " [B,T|'time:var:extern_data:data'[B],F|F'key:out'(3)] float32, flag is"
            " [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)] bool. Set allow_broadcast_all_sources if all"
            " combinations are meant.",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """Each in one line, naming what and where."""
    others = {"flag": FLAG, "key": {"class": "linear", "n_out": 3, "activation": None, "from": "data"}}
    assert message(layer, others, DATA) == expected


def test_all_axes_in_no_input_is_a_mistake_from_version_4_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """[batch, time] and [batch, feature], unless the config says that all combinations are meant."""
    others = {
        "frame": {"class": "reduce", "mode": "max", "axis": "F", "from": "data"},
        "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    }
    layer = {"class": "compare", "kind": "less", "from": ["frame", "vector"]}
    assert Net({**others, "output": layer}).layers["output"].output.batch_ndim == 3
    monkeypatch.setattr(BehaviorVersion, "_version", 4)
    assert message(layer, others).startswith("the axes of the inputs do not fit: frame is ")
    allowed = {**layer, "allow_broadcast_all_sources": True}
    assert Net({**others, "output": allowed}).layers["output"].output.batch_ndim == 3


def test_any_function_of_the_framework_is_a_kind() -> None:
    """tf.logical_xor(a, b)"""
    layer = {"class": "compare", "kind": "logical_xor", "from": ["data:a", "data:b"]}
    data = {key: {"shape": (2,), "dtype": "bool", "available_for_inference": True} for key in ("a", "b")}
    value = out(layer, {"a": [[True, False]], "b": [[True, True]]}, extern_data=data)
    assert value.tolist() == [[False, True]]
