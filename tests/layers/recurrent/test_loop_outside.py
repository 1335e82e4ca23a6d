"""What gets out of a loop, and in: last frames, layers by their names, axes; what the log tells of the loop."""

from __future__ import annotations

import io
from typing import Any

import numpy
import pytest

from returnn.log import log
from returnn.tensor import Dim
from tests.layers.recurrent.common import NetworkRun, fresh_graph

NEWEST = 31
SUM = {"class": "combine", "kind": "add", "from": ["data:source", "prev:sum"], "need_last": True}
COUNTER = {"class": "eval", "eval": "source(0) + 1", "from": "prev:c"}
VALUES = numpy.array([[1, 2, 3], [1, 10, 100]], "float32")[:, :, None]


def network(*, sum_opts: dict[str, Any] | None = None, **opts: Any) -> dict[str, Any]:
    """
    :return: running sums in a loop, doubled outside of it if it may be, and the last frames of both
    """
    unit = {
        "sum": {**SUM, "is_output_layer": True, **(sum_opts or {})},
        "double": {"class": "eval", "eval": "source(0) * 2", "from": "sum", "need_last": True},
        "output": {"class": "copy", "from": "double"},
    }
    return {
        "output": {"class": "rec", "from": "data", "unit": unit, **opts},
        "last": last("sum"),
        "last_double": last("double"),
        "all": {"class": "get_rec_accumulated", "from": "output", "sub_layer": "sum", "is_output_layer": True},
    }


def last(name: str) -> dict[str, Any]:
    """
    :return: layer for the last frame of one inside
    """
    return {"class": "rec_last_output", "rec_layer": "output", "sub_layer_name": name, "is_output_layer": True}


def computed(net: dict[str, Any], *names: str, lens: tuple[int, ...] = (3, 1), version: int = NEWEST) -> list[Any]:
    """
    :return: outputs without the axis of the one feature
    """
    with fresh_graph(behavior_version=version):
        run = NetworkRun(net, extern_data={"data": {"dim": 1}})
        feed = {run.data.placeholder: VALUES, run.data.size_placeholder[0]: lens}
        return [x[..., 0].tolist() for x in run(*names, feed=feed)]


@pytest.mark.parametrize("moved", [True, False])
def test_last_frame(moved: bool) -> None:
    """1 + 2 + 3 = 6, and 1; behind the end, the sum stays as it is, but the layers that use it go on with 1 + 10"""
    net = network(optimize_move_layers_out=moved)
    at_end, double, frames = computed(net, "last", "last_double", "all")
    assert at_end == [6, 1]
    assert double == [12, 2]
    assert frames == [[1, 3, 6], [1, 1, 1]]


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize(("version", "result"), [(0, [3, 0]), (NEWEST, [6, 1])])
def test_last_frame_with_include_eos(moved: bool, version: int, result: list[int]) -> None:
    """before the newest version, a loop of known length gave the frame before the last one"""
    net = network(include_eos=True, optimize_move_layers_out=moved)
    assert computed(net, "last", version=version) == [result]


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("lens", [(3, 0), (0, 0)])
def test_last_frame_of_no_frames(moved: bool, lens: tuple[int, int]) -> None:
    """the initial output: 5 + 6 = 11 for the first sequence, if it has frames"""
    net = network(sum_opts={"initial_output": 5}, optimize_move_layers_out=moved)
    at_end, double = computed(net, "last", "last_double", lens=lens)
    assert at_end == [11 if lens[0] else 5, 5]
    assert double == [22 if lens[0] else 0, 0]


@pytest.mark.parametrize(("include_eos", "result"), [(False, [2, 0]), (True, [3, 1])])
def test_last_frame_of_unknown_length(include_eos: bool, result: list[int]) -> None:
    """c = 1, 2, .. up to the length of the input, [3, 1]; the frame where it ends counts, or not"""
    unit = {
        "c": {**COUNTER, "initial_output": "base:zero", "need_last": True},
        "end": {"class": "compare", "kind": "greater_equal", "from": ["c", "base:len"]},
        "output": {"class": "copy", "from": "c"},
    }
    net = {
        "len": {"class": "length", "from": "data"},
        "zero": {"class": "eval", "eval": "source(0) * 0", "from": "len"},
        "output": {"class": "rec", "from": [], "unit": unit, "include_eos": include_eos, "max_seq_len": 10},
        "last": last("c"),
    }
    with fresh_graph(behavior_version=NEWEST):
        run = NetworkRun(net, extern_data={"data": {"dim": 1}})
        feed = {run.data.placeholder: VALUES, run.data.size_placeholder[0]: [3, 1]}
        assert run("last", feed=feed)[0].tolist() == result


@pytest.mark.parametrize("moved", [True, False])
def test_last_frame_of_what_is_the_same_for_all_sequences(moved: bool) -> None:
    """10 + 0 + 1 + 2 = 13 for three frames, 10 for one; the frames themselves have no batch axis"""
    unit = {
        "c": {**COUNTER, "eval": "source(0) + source(1)", "from": ["prev:c", ":i"], "need_last": True},
        "output": {"class": "copy", "from": "data:source"},
    }
    unit["c"] |= {"initial_output": 10, "out_type": {"shape": (), "batch_dim_axis": None, "dtype": "int32"}}
    net = {
        "output": {"class": "rec", "from": "data", "unit": unit, "optimize_move_layers_out": moved},
        "last": last("c"),
    }
    with fresh_graph(behavior_version=NEWEST):
        run = NetworkRun(net, extern_data={"data": {"dim": 1}})
        feed = {run.data.placeholder: VALUES, run.data.size_placeholder[0]: [3, 1]}
        assert run("last", feed=feed)[0].tolist() == [13, 10]


def test_the_last_frame_has_a_gradient() -> None:
    """of the sum with respect to each frame of the sequence: 1, behind its end 0"""
    with fresh_graph(behavior_version=NEWEST):
        run = NetworkRun(network(), extern_data={"data": {"dim": 1}}, train_flag=True)
        tf = pytest.importorskip("returnn.tf.compat").tf
        grad = tf.gradients(run.network.get_layer("last").output.placeholder, run.data.placeholder)[0]
        feed = {run.data.placeholder: VALUES, run.data.size_placeholder[0]: [3, 1]}
        assert run.session.run(grad, feed)[..., 0].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_same_on_pytorch() -> None:
    torch_side = pytest.importorskip("tests.layers.both_backends", reason="needs torch")
    unit = {
        "s": {
            "class": "linear",
            "activation": "tanh",
            "n_out": 2,
            "from": ["data:source", "prev:s"],
            "need_last": True,
        },
        "post": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "s", "need_last": True},
        "output": {"class": "copy", "from": "post"},
    }
    net = {
        "rec": {"class": "rec", "from": "data", "unit": unit},
        "a": {**last("s"), "rec_layer": "rec"},
        "b": {**last("post"), "rec_layer": "rec"},
        "output": {"class": "copy", "from": ["a", "b"]},
    }
    x = numpy.random.RandomState(1).normal(size=(3, 4, 2)).astype("float32")
    data = {"data": x, "data:size1": numpy.array([4, 1, 2], "int32")}
    args = (net, {"data": {"dim": 2}}, data)
    on_tf = torch_side.on_tensorflow(*args, train=False)
    assert on_tf["out"].shape == (3, 5)
    assert len([key for key in on_tf if key.startswith("grad:")]) == 5
    assert torch_side.differences(on_tf, torch_side.on_torch(*args, train=False)) == []


# ---- the axis of the loop


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_rec_unstack_gives_the_axis(declared: bool, moved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """the sums of a layer outside, over its own axis; only the sum is in the loop"""
    stream = io.StringIO()
    monkeypatch.setattr(log, "v3", stream)
    time = Dim(None, description="frames")
    unit = {
        "x": {"class": "rec_unstack", "axis": time, "declare_rec_time": declared, "from": "base:input"},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "x"]},
    }
    opts = {"optimize_move_layers_out": moved} | ({} if declared else {"axis": time})
    net = {
        "input": {"class": "reinterpret_data", "set_dim_tags": {"T": time}, "from": "data"},
        "output": {"class": "rec", "from": [], "unit": unit, **opts},
    }
    with fresh_graph(behavior_version=NEWEST):
        run = NetworkRun(net, extern_data={"data": {"dim": 1}})
        feed = {run.data.placeholder: VALUES, run.data.size_placeholder[0]: [3, 1]}
        output = run("output", feed=feed)[0]
        assert run.network.get_layer("output").output.time_dim == time
    assert output[..., 0].tolist() == [[1, 3, 6], [1, 11, 111]]
    assert ("  Input layers moved out of loop: (#: 1)\n    x\n" in stream.getvalue()) == moved


# ---- the log


def test_the_log_says_which_layers_are_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """members of subnetworks by their paths; layers that nothing needs are not built"""
    stream = io.StringIO()
    monkeypatch.setattr(log, "v3", stream)
    unit = {
        "pre": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:source"},
        "s": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["pre", "prev:s"]},
        "sub": {
            "class": "subnetwork",
            "from": "s",
            "subnetwork": {
                "inner": {"class": "activation", "activation": "relu", "from": "data"},
                "output": {"class": "copy", "from": "inner"},
            },
        },
        "never": {"class": "copy", "from": "s"},
        "output": {"class": "copy", "from": "sub"},
    }
    with fresh_graph():
        NetworkRun({"output": {"class": "rec", "from": "data", "unit": unit}})
    lines = stream.getvalue().splitlines()
    start = lines.index("Rec layer 'output' (search False, train False) sub net:")
    assert lines[start + 1 : start + 13] == [
        "  Input layers moved out of loop: (#: 1)",
        "    pre",
        "  Output layers moved out of loop: (#: 4)",
        "    output",
        "    sub",
        "    sub/output",
        "    sub/inner",
        "  Layers in loop: (#: 1)",
        "    s",
        "  Unused layers: (#: 1)",
        "    never",
        lines[start + 12],
    ]


def test_nothing_moved_nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(log, "v3", stream)
    with fresh_graph():
        NetworkRun(network(optimize_move_layers_out=False), extern_data={"data": {"dim": 1}})
    assert "layer root/output/'sum'" in stream.getvalue()
    assert "Rec layer" not in stream.getvalue()
