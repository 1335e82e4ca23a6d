"""dot: values, masks, rows by label, errors. X is [[1 2], [3 4]] and [[5 6], [7 8], [9 10]].

More values: tests/peer_cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from returnn.tensor import Dim, batch_dim
from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net, out

from .common import close, message

DATA = {"data": {"dim": 4}, "query": {"dim": 6, "available_for_inference": True}}
OTHERS = {
    "key": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key"},
}
KEY = "key [B,T|'time:var:extern_data:data'[B],F|F'key:out'(6)] float32"
HEADS = "heads [B,T|'time:var:extern_data:data'[B],'heads:split0'(2),F|F'heads:split1'(3)] float32"
QUERY = "data:query [B,T|'time:var:extern_data:query'[B],F|F'feature:query'(6)] float32"


def test_over_features() -> None:
    """Sequence 2, frame 1 (7 8) with all frames: 7*5 + 8*6 = 83, 7*7 + 8*8 = 113, ..; with frame 0: 61, 83, 105."""
    value = out({"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["data", "data"]})
    close(value[1], [[61, 83, 105], [83, 113, 143], [105, 143, 181]])


def test_over_time() -> None:
    """Without padding: 1*1 + 3*3 = 10, 1*2 + 3*4 = 14, 2*2 + 4*4 = 20; and 155, 176, 200."""
    layer = {"class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "from": ["data", "data"]}
    close(out(layer), [[[10, 14], [14, 20]], [[155, 176], [176, 200]]])
    close(out({**layer, "use_mask": False})[0], [[10010, 10014], [10014, 10020]])


def test_outer_product() -> None:
    """Nothing is reduced: of the sums (4 6), and of the maxima (3 4)."""
    network = {
        "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "data"},
        "max": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": {"class": "dot", "red1": [], "red2": None, "var1": "F", "var2": "F", "from": ["sum", "max"]},
    }
    with Net(network) as net:
        close(net.out()[0], [[12, 16], [18, 24]])


def test_a_size_twice_is_two_dims() -> None:
    """Of queries and keys of one sequence: [batch, time, time], both with the lengths of the sequence."""
    with Net({"output": {"class": "dot", "reduce": "F", "from": ["data", "data"], "var1": "T", "var2": "T"}}) as net:
        output = net.layers["output"].output
        assert output.dims[2] == output.dims[1].twin() and output.dims[1].twin() != output.dims[1]
        assert net.lens() == [[2, 3], [2, 3]]


def test_labels_select_rows() -> None:
    """The reduced dim is that of the labels 2 0: rows 2 and 0 of the table; either source may be the labels."""
    labels, embed = (Dim(n, name=name, kind=Dim.Types.Feature) for name, n in [("labels", 3), ("embed", 2)])
    data = {
        "data": {"dim_tags": [batch_dim, Dim(None, name="time")], "sparse_dim": labels, "dtype": "int32"},
        "table": {"dim_tags": [batch_dim, labels, embed], "dtype": "float32", "available_for_inference": True},
    }
    network = {
        "shared": {"class": "reduce", "mode": "max", "axis": "B", "from": "data:table"},
        "a": {"class": "dot", "reduce": labels, "from": ["data", "shared"], "is_output_layer": True},
        "output": {"class": "dot", "reduce": labels, "var1": "F", "var2": "T", "from": ["shared", "data"]},
    }
    with Net(network, data) as net:
        feed = net.feed(data=[[2, 0]], table=[[[1, 2], [3, 4], [5, 6]]])
        close(net.out("a", feed), [[[5, 6], [1, 2]]])
        close(net.out(feed=feed), [[[5, 1]], [[6, 2]]])


def test_weights_that_are_zero_behind_the_end_need_no_mask() -> None:
    """Those of softmax_over_spatial: the product is the only operation."""
    network = {
        "weights": {"class": "softmax_over_spatial", "from": "data"},
        "output": {"class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "from": ["weights", "data"]},
    }
    with Net(network) as net:
        raw = net.layers["output"].output.placeholder
        assert [x.op.type for x in raw.op.inputs] == ["Softmax", "Placeholder"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"from": "data"}, '"from" must list two layers, but has 1'),
        (
            {"red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["heads", "data:query"]},
            "the reduced axes do not fit: F'heads:split1'(3) of %s, and F'feature:query'(6) of %s" % (HEADS, QUERY),
        ),
        (
            {"red1": "F", "red2": "F"},
            "red2 and var2 both have the axis F'feature:query'(6) of %s. Set var1 and var2 (the default is a number,"
            ' -2, -1), for instance to "auto"' % QUERY,
        ),
        (
            {"red1": ["F", "dim:2"], "red2": "F", "var1": "T", "var2": "T", "from": ["heads", "data:query"]},
            "as many axes of both sources must be reduced, but they are F'heads:split1'(3), 'heads:split0'(2) of %s,"
            " and F'feature:query'(6) of %s" % (HEADS, QUERY),
        ),
        (
            {"red1": "F", "red2": "F", "var1": "T", "var2": None, "from": ["heads", "heads"]},
            "all axes that are in neither red nor var must be in both sources, but these have no partner: none of %s,"
            " and 'time:var:extern_data:data'[B] of %s" % (HEADS, HEADS),
        ),
        (
            {"red1": "stag:foo", "red2": "F", "var1": "T", "var2": "T"},
            "red1='stag:foo': key_output: axis 'stag:foo': none matches. Its axes: [B,"
            " T|'time:var:extern_data:data'[B], F|F'key:out'(6)]",
        ),
        (
            {"red1": "F", "red2": "F", "var1": "auto", "var2": "T"},
            "var1 and var2 must both be \"auto\", or none of them: they are 'auto' and 'T'",
        ),
        (
            {"reduce": "F", "red1": "F"},
            '"reduce" stands for both "red1" and "red2": give either that or these',
        ),
    ],
)
def test_mistakes(options: dict[str, Any], expected: str) -> None:
    """Both sources are named, with their axes."""
    assert message({"class": "dot", "from": ["key", "data:query"], **options}, OTHERS, DATA) == expected


def test_numbers_as_axes_are_a_mistake_from_version_3_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """And red1 and red2 have no default any more."""
    layer = {"class": "dot", "red1": -1, "red2": -1, "var1": 1, "var2": 1, "from": ["key", "data:query"]}
    assert Net({**OTHERS, "output": layer}, DATA).layers["output"].output.batch_ndim == 3
    monkeypatch.setattr(BehaviorVersion, "_version", 3)
    text = "dot: axes must be descriptions or Dims, not numbers. (required since behavior_version >= 3)"
    assert message(layer, OTHERS, DATA) == text
    text = "dot: add_var2_if_empty is not allowed. (required since behavior_version >= 3)"
    options = {"red1": "F", "red2": "F", "add_var2_if_empty": True}
    assert message({"class": "dot", "from": ["key", "data:query"], **options}, OTHERS, DATA) == text
    text = 'dot: "red2" must be given. (required since behavior_version >= 3)'
    assert message({"class": "dot", "red1": "F", "from": ["key", "data:query"]}, OTHERS, DATA) == text


def test_debug_prints_shapes(capfd: pytest.CaptureFixture) -> None:
    """In each step."""
    options = {"red1": "F", "red2": "F", "var1": "T", "var2": "T", "debug": True}
    with Net({"output": {"class": "dot", "from": ["data", "data"], **options}}) as net:
        net.out()
    assert "dot output: [2, 3, 2] x [2, 3, 2]" in capfd.readouterr().out
