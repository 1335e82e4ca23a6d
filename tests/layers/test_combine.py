"""combine and eval: what goes wrong, and what a config may write. Values: test_layers.py, tests/peer_cases."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net, out

from .common import close, message

DATA = {
    "data": {"dim": 4},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
    "more": {"dim": 5, "sparse": True, "available_for_inference": True},
}
KEY = {"class": "linear", "activation": None, "n_out": 6, "from": "data"}
CLASH = (
    "the feature dims of the inputs do not fit: data is [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(4)]"
    " float32, key is [B,T|'time:var:extern_data:data'[B],F|F'key:out'(6)] float32. Set allow_broadcast_all_sources if"
    " all combinations are meant."
)


def marked(text: str) -> str:
    """:return: the lines without the mark where Python does not know the place"""
    return (
        text
        if sys.version_info >= (3, 11)
        else "\n".join(x for x in text.split("\n") if not x.lstrip().startswith("^"))
    )


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({"class": "combine", "kind": "add", "n_out": 4, "from": ["data", "key"]}, CLASH),
        ({"class": "eval", "eval": "source(0) + source(1)", "n_out": 4, "from": ["data", "key"]}, CLASH),
        (
            {"class": "combine", "kind": "add", "n_out": 5, "from": ["data", "data"]},
            "n_out is 5, but the output has dim 4: [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(4)] float32",
        ),
        (
            {"class": "combine", "kind": "add", "from": ["data", "data:labels"]},
            "add: dtypes differ: data_output float32, data:labels_output int32",
        ),
        (
            {"class": "combine", "kind": "add", "with_bias": True, "from": ["data:labels", "data:labels"]},
            "with_bias: labels have no features, the sources are [B,T|'time:var:extern_data:labels'[B]] int32"
            " sparse_dim=Dim{F'labels:sparse-dim'(5)}",
        ),
        (
            {"class": "combine", "kind": "add", "eval": "source(0)", "from": ["data", "data"]},
            "eval needs kind eval, but it is 'add'",
        ),
        (
            {"class": "combine", "kind": "mul", "eval_locals": {"a": 1}, "from": ["data", "data"]},
            "eval_locals needs kind eval, but it is 'mul'",
        ),
        ({"class": "eval", "from": "data"}, 'option "eval" is missing'),
        ({"class": "eval", "eval": 5, "from": "data"}, "eval must be an expression or a function, but is 5"),
        (
            {"class": "eval", "eval": "source(0)", "from": ["data", "data"]},
            "not used sources: {1}",
        ),
        (
            {"class": "eval", "eval": "source(0) + undefined_name", "from": "data"},
            "eval failed: NameError: name 'undefined_name' is not defined\n"
            "  source(0) + undefined_name\n"
            "              ^^^^^^^^^^^^^^",
        ),
        (
            {"class": "eval", "eval": "(source(0),\n 1 // 0)", "from": "data"},
            "eval failed: ZeroDivisionError: integer division or modulo by zero\n  (source(0),\n   1 // 0)\n   ^^^^^^",
        ),
        (
            {"class": "eval", "eval": "\t(source(0) +\n * 2)", "from": "data"},
            "eval is not a valid expression: invalid syntax\n  (source(0) +\n   * 2)\n   ^",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """Both sources of a clash are named; expressions are shown, with a mark below what failed."""
    assert message(layer, {"key": KEY}, DATA) == marked(expected)


def test_all_combinations_of_two_feature_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old configs have them, with a warning; from version 4 on they must say that it is meant."""
    layer = {"class": "combine", "kind": "add", "from": ["data", "key"]}
    shape = (None, None, 4, 6)
    assert Net({"key": KEY, "output": layer}, DATA).layers["output"].output.batch_shape == shape
    monkeypatch.setattr(BehaviorVersion, "_version", 4)
    assert message(layer, {"key": KEY}, DATA) == CLASH + " (required since behavior_version >= 4)"
    allowed = {**layer, "allow_broadcast_all_sources": True}
    assert Net({"key": KEY, "output": allowed}, DATA).layers["output"].output.batch_shape == shape


def test_blanks_in_front_of_an_expression() -> None:
    """As Python's eval allows; of activations too."""
    close(out({"class": "eval", "eval": "  source(0) * 2", "from": "data"})[0, 0], [2, 4])
    close(out({"class": "activation", "activation": " (x * 2)", "from": "data"})[0, 0], [2, 4])


def test_safe_log_in_an_expression_undoes_a_softmax() -> None:
    """Of (0 -200): the second probability is e^-200, which is cut to 1e-20 only where nobody knows where it is from."""
    network = {
        "softmax": {"class": "activation", "activation": "softmax", "from": "data"},
        "exact": {"class": "eval", "eval": "safe_log(tf.reshape(source(0), tf.shape(source(0))))", "from": "softmax"},
        "cut": {"class": "eval", "eval": "safe_log(source(0) * 1.0)", "from": "softmax", "is_output_layer": True},
        "output": {"class": "copy", "from": "exact"},
    }
    with Net(network) as net:
        feed = net.feed(data=[[[0, -200]]])
        close(net.out(feed=feed)[0, 0], [0, -200])
        close(net.out("cut", feed)[0, 0], [0, -46.0517])
