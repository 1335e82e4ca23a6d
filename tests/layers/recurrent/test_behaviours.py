"""What a network within a loop is known for: each case once, by its outcome."""

from __future__ import annotations

import io
from typing import Any

import numpy
import pytest

from returnn.log import log
from returnn.network.errors import NetworkLayerException
from returnn.tensor import FeatureDim, SpatialDim, batch_dim, single_step_dim
from tests.layers.common import close
from tests.layers.test_choice import NO_NORM, A, Search, choice
from tests.network.net import Net

from .common import input_values, param_values
from .loops import BACKENDS, lengths, loop, run

LINEAR = {"class": "linear", "activation": None, "with_bias": False}
MOVED = pytest.mark.parametrize("moved", [True, False], ids=["moved", "in_loop"])

pytestmark = pytest.mark.filterwarnings("ignore:.*Variable.load.*")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """each one"""
    return request.param


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """what is told, with which layers are where"""
    stream = io.StringIO()
    monkeypatch.setattr(log, "v3", stream)
    return stream


def names_of(text: str, group: str) -> list[str]:
    """
    :param text: of the log, about one recurrent layer
    :param group: title
    :return: names below it
    """
    _, _, rest = text.rpartition("  %s: (#: " % group)
    found = []
    for line in rest.splitlines()[1:]:
        if not line.startswith("    "):
            break
        found.append(line.strip())
    return [] if found == ["None"] else found


# ---- axes of the loop


@MOVED
def test_axis_by_rec_unstack(backend: str, moved: bool, lines: io.StringIO) -> None:
    """``declare_rec_time``: the input leaves the loop, only the output is in it, and has the axis of the data."""
    time = SpatialDim("frames")
    unit = {
        "input": {"class": "rec_unstack", "axis": time, "declare_rec_time": True, "from": "base:data"},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "input"]},
    }
    network = {
        "output": {**loop(unit, optimize_move_layers_out=moved), "from": []},
        "twice": {"class": "combine", "kind": "add", "from": ["output", "data"], "is_output_layer": True},
    }
    results = run(
        backend,
        network,
        {"data": [[[1], [2], [3]], [[1], [10], [100]]]},
        {"data": [3, 1]},
        extern_data={"data": {"dim_tags": [batch_dim, time, FeatureDim("in", 1)]}},
        fetch=["output", "twice"],
        version=31,
    )
    assert results["out:output"][..., 0].tolist() == [[1, 3, 6], [1, 11, 111]]
    assert lengths(results) == [3, 1]
    assert results["out:twice"][0, :, 0].tolist() == [2, 5, 9]  # the same axis
    if moved:
        text = lines.getvalue()
        assert names_of(text, "Input layers moved out of loop") == ["input"]
        assert names_of(text, "Layers in loop") == ["output"]


def test_loop_over_an_axis_without_batch(backend: str) -> None:
    """Three frames for all sequences, as one flag ended the loop before; then sums of m 2m 3m, m is the mean."""
    end = {"class": "compare", "kind": "greater_equal", "value": 3, "from": ":i"}
    counting = {"output": {"class": "combine", "kind": "add", "from": ["prev:output", "base:mean"]}, "end": end}
    adding = {"output": {"class": "combine", "kind": "add", "from": ["prev:output", "data:source"]}}
    network = {
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
        "multiples": {**loop(counting, max_seq_len=9), "from": []},
        "output": {**loop(adding), "from": "multiples"},
    }
    numbers = {"data": [[[1], [2], [3]], [[1], [10], [100]]]}
    results = run(backend, network, numbers, {"data": [3, 1]}, extern_data={"data": {"dim": 1}})
    assert results["out:output"][..., 0].tolist() == [[2, 6, 12], [1, 3, 6]]
    assert lengths(results) == [3]


@MOVED
def test_end_after_frames(moved: bool, backend: str) -> None:
    """The fifth frame ends the loop and does not count: length 4. The output begins with the axis of the loop."""
    unit = {
        "end": {"class": "compare", "kind": "greater_equal", "value": 4, "from": ":i"},
        "x": {"class": "combine", "kind": "add", "from": ["prev:x", "base:first"], "is_output_layer": True},
        "output": {**LINEAR, "n_out": 2, "from": "x"},
    }
    network = {
        "first": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": {**loop(unit, max_seq_len=10, optimize_move_layers_out=moved), "from": []},
    }
    results = run(backend, network)
    assert lengths(results) == [4]  # for all sequences
    first = input_values((2, 3, 2))
    first[1, 2] = -9
    close(results["out:output"], numpy.arange(1, 5)[:, None] * (first.max(axis=1) @ param_values((2, 2)))[:, None])
    with Net(network) as net:
        output = net.layers["output"].output
        assert [d.is_batch_dim for d in output.dims] == [False, True, False]
        assert (output.time_dim_axis, output.feature_dim_axis) == (0, 2)


# ---- what is where


UNITS: dict[str, dict[str, Any]] = {
    "linear": {"class": "linear", "activation": "tanh", "n_out": 2},
    "conv": {"class": "conv", "filter_size": (3,), "padding": "same", "n_out": 2, "in_spatial_dims": ["stag:row"]},
    "pool": {"class": "pool", "mode": "max", "pool_size": (2,), "padding": "same", "in_spatial_dims": ["stag:row"]},
    "gru": {"class": "rnn_cell", "unit": "gru", "n_out": 2},
    "zoneout": {"class": "rnn_cell", "unit": "zoneoutlstm", "unit_opts": {"zoneout_factor_cell": 0.3}, "n_out": 2},
    "native": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "axis": single_step_dim},
    "cumsum": {"class": "cumsum", "axis": "T"},
    "softmax": {"class": "softmax_over_spatial", "axis": "stag:row"},
    "attention": {
        "class": "self_attention",
        "num_heads": 1,
        "total_key_dim": 2,
        "n_out": 2,
        "attention_left_only": True,
    },
    "positions": {"class": "positional_encoding", "n_out": 4, "add_to_input": False},
    "dot": {"class": "dot", "red1": "F", "red2": "F", "var1": None, "var2": None},
}


@pytest.mark.parametrize("name", UNITS)
def test_layers_give_the_same_moved_out(backend: str, name: str, lines: io.StringIO) -> None:
    """Frame by frame, or for all frames at once."""
    row = SpatialDim("row", 3)
    has_row = name in ("conv", "pool", "softmax")
    source = "data:source"
    unit = {
        "x": {**UNITS[name], "from": [source, source] if name == "dot" else source, "is_output_layer": True},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "y"]},
        "y": {"class": "reduce", "mode": "mean", "axis": "F", "from": source},
    }
    if has_row:
        unit["output"]["initial_output"] = 0
    time = SpatialDim("frames")
    dims = [batch_dim, time, *([row] if has_row else []), FeatureDim("in", 2)]
    x = input_values(tuple([2, 3, 3, 2] if has_row else [2, 3, 2]))
    found = []
    for moved in (True, False):
        lines.seek(0)
        lines.truncate()
        network = {"output": loop(unit, optimize_move_layers_out=moved)}
        args: dict[str, Any] = {"extern_data": {"data": {"dim_tags": dims}}, "fetch": ["output/x"], "version": 31}
        found.append(run(backend, network, {"data": x}, {"data": [3, 2]}, **args)["out:output/x"])
        if moved:
            assert "x" not in names_of(lines.getvalue(), "Layers in loop")
            assert "output" in names_of(lines.getvalue(), "Layers in loop")
    for number, length in enumerate([3, 2]):
        close(found[0][number, :length], found[1][number, :length], 1e-4)
    assert found[0].any()


DECODER = {
    "embed": {**LINEAR, "n_out": 2, "from": "prev:output"},
    "s": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": ["embed", "prev:att"]},
    "key": {**LINEAR, "n_out": 2, "from": "base:data"},
    "energy": {"class": "dot", "from": ["key", "s"], "reduce": "F"},
    "weights": {"class": "softmax_over_spatial", "from": "energy"},
    "att": {"class": "generic_attention", "weights": "weights", "base": "base:data"},
    "note": {**LINEAR, "n_out": 3, "from": "base:data", "is_output_layer": True},
    "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes", "loss": "ce"},
    "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
    "end": {"class": "compare", "value": 0, "from": "output"},
}


def decoder(**flags: Any) -> Net:
    """
    :return: attention over the data; "key" and "note" need nothing inside of the loop
    """
    extern_data = {"data": {"dim": 2}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
    rec = {"class": "rec", "from": [], "target": "classes", "max_seq_len": 4, "unit": DECODER}
    return Net({"output": rec}, extern_data, **flags)


def test_training_and_search_have_the_same_parameters(lines: io.StringIO) -> None:
    """And the target is no input of the search."""
    with decoder(train=True, evaluation=True) as net:
        shapes = net.param_shapes()
        assert net.net.get_used_data_keys() == {"data", "classes"}
    with decoder(search=True) as net:
        assert net.param_shapes() == shapes
        assert net.net.get_used_data_keys() == {"data"}
    assert set(shapes) >= {"output/rec/prob/W", "output/rec/embed/W", "output/rec/s/rec/gru_cell/gates/kernel"}


@pytest.mark.parametrize("search", [False, True])
def test_layers_that_need_only_what_is_outside(search: bool, lines: io.StringIO) -> None:
    """One that the loop needs is computed before it, once; one that nothing needs behind it."""
    with decoder(train=not search, evaluation=not search, search=search):
        text = lines.getvalue()
    assert "key" in names_of(text, "Input layers moved out of loop")
    assert "note" in names_of(text, "Output layers moved out of loop")
    in_loop = set(names_of(text, "Layers in loop"))
    assert in_loop >= ({"output", "embed", "prob", "end", "s", "att"} if search else {"s", "att"})
    if not search:
        assert {"output", "embed"} <= set(names_of(text, "Input layers moved out of loop"))
        assert "prob" in names_of(text, "Output layers moved out of loop")


@MOVED
def test_attention_weights_from_outside(backend: str, moved: bool) -> None:
    """[batch, S, T] for all frames of the loop: context[t] = sum over s of weights[t, s] base[s]."""
    labels = SpatialDim("labels")
    enc = SpatialDim("enc")
    unit = {
        "att": {"class": "generic_attention", "weights": "data:source", "base": "base:data"},
        "output": {"class": "copy", "from": "att"},
    }
    network = {
        "energy": {
            "class": "dot",
            "red1": "F",
            "red2": "F",
            "var1": labels,
            "var2": enc,
            "from": ["data:query", "data"],
        },
        "weights": {"class": "softmax_over_spatial", "axis": enc, "from": "energy"},
        "output": {**loop(unit, optimize_move_layers_out=moved), "from": "weights", "axis": labels},
    }
    feature = FeatureDim("in", 2)
    x, q = input_values((2, 4, 2)), input_values((2, 3, 2))[::-1]
    extern_data = {"data": {"dim_tags": [batch_dim, enc, feature]}, "query": {"dim_tags": [batch_dim, labels, feature]}}
    lens = {"data": [4, 2], "query": [3, 1]}
    out = run(backend, network, {"data": x, "query": q}, lens, extern_data=extern_data)["out:output"]
    for number, (size, frames) in enumerate(zip(lens["data"], lens["query"], strict=True)):
        energy = numpy.exp(q[number, :frames] @ x[number, :size].T)
        close(out[number, :frames], energy / energy.sum(axis=1, keepdims=True) @ x[number, :size])


# ---- lengths of each frame


def rests(**names: str) -> dict[str, Any]:
    """
    :return: unit: "rest" is the input from a frame on, which is the number in the input
    """
    mean = {"class": "reduce", "mode": "mean", "axis": "stag:sliced-time"}
    return {
        "number": {"class": "reduce", "mode": "max", "axis": "F", "from": "data:source"},
        "start": {"class": "cast", "dtype": "int32", "from": "number"},
        "rest": {"class": "slice_nd", "from": "base:data", "start": "start", "size": None, "initial_output": 0},
        **{name: {**mean, "from": source, "is_output_layer": True} for name, source in names.items()},
    }


RESTS: dict[str, Any] = {
    "extern_data": {"data": {"dim": 1}},
    "data": {"data": [[[1], [2], [0], [3]], [[0], [1], [50], [60]]]},
    "lens": {"data": [4, 2]},
    "version": 31,
}


@MOVED
def test_lengths_of_each_frame_are_those_of_all_frames_outside(backend: str, moved: bool) -> None:
    """4 - 1, 4 - 2, 4, 4 - 3; 2, 2 - 1: [frames, batch]; what stands behind has no part in a mean."""
    unit = {**rests(output="rest"), "twice": {"class": "combine", "kind": "add", "from": ["output", "prev:twice"]}}
    unit["rest"]["is_output_layer"] = True
    network = {
        "output": loop(unit, optimize_move_layers_out=moved),
        "outside": {"class": "reduce", "mode": "mean", "axis": "stag:sliced-time", "from": "output/rest"},
    }
    network["outside"]["is_output_layer"] = True
    results = run(backend, network, **RESTS, fetch=["output", "outside", "output/rest"])
    lens = results["len:output/rest:1"]
    assert lens[:, 0].tolist() == [3, 2, 4, 1] and lens[:2, 1].tolist() == [2, 1]
    for name in ("output", "outside"):
        close(results["out:" + name][0, :, 0], [(2 + 0 + 3) / 3, (0 + 3) / 2, (1 + 2 + 0 + 3) / 4, 3])
        close(results["out:" + name][1, :2, 0], [(0 + 1) / 2, 1])


@pytest.mark.parametrize("order", ["a", "z"])
@MOVED
def test_lengths_of_the_frame_before(backend: str, moved: bool, order: str) -> None:
    """Those that it had then, for each sequence; whether this one is computed first, or the mean of that before."""
    before = order + "_before"
    unit = rests(**{before: "prev:rest", "now": "rest"})
    unit["output"] = {"class": "combine", "kind": "add", "from": sorted(["now", before])}
    results = run(
        backend,
        {"output": loop(unit, optimize_move_layers_out=moved)},
        **RESTS,
        fetch=["output/now", "output/" + before],
    )
    now = results["out:output/now"][..., 0]
    close(now[0], [(2 + 0 + 3) / 3, (0 + 3) / 2, (1 + 2 + 0 + 3) / 4, 3])
    close(results["out:output/" + before][0, :, 0], [0, *now[0, :-1]])
    close(results["out:output/" + before][1, :2, 0], [0, (0 + 1) / 2])


# ---- layers outside that have the axis of the loop


@MOVED
def test_outer_layer_with_the_axis_of_the_loop(backend: str, moved: bool) -> None:
    """base:x is all of it, in each frame: also a sum, a projection and attention to it."""
    unit = {
        "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "base:data"},
        "key": {**LINEAR, "n_out": 2, "from": "base:data"},
        "energy": {"class": "dot", "from": ["key", "data:source"], "reduce": "F"},
        "weights": {"class": "softmax_over_spatial", "axis": "T", "from": "energy"},
        "att": {"class": "generic_attention", "weights": "weights", "base": "base:data"},
        "all": {"class": "combine", "kind": "add", "from": ["sum", "att"]},
        "output": {"class": "combine", "kind": "add", "from": ["all", "prev:output"]},
    }
    x = input_values((2, 3, 2))
    out = run(backend, {"output": loop(unit, optimize_move_layers_out=moved)})["out:output"]
    for number, size in enumerate([3, 2]):
        seq = x[number, :size]
        energy = numpy.exp(seq @ (seq @ param_values((2, 2))).T)
        frames = seq.sum(axis=0) + energy / energy.sum(axis=1, keepdims=True) @ seq
        close(out[number, :size], frames.cumsum(axis=0))


@MOVED
def test_attention_within_an_outer_layer(backend: str, moved: bool) -> None:
    """Self-attention over a layer outside is over its own axis: the same in all frames, to be read as a whole."""
    att = {"class": "self_attention", "num_heads": 1, "total_key_dim": 2, "n_out": 2}
    unit = {
        "att": {**att, "from": "base:data"},
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "att"},
        "output": {"class": "combine", "kind": "add", "from": ["mean", "prev:output"]},
    }
    network = {
        "outer": {**att, "from": "data"},
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "outer", "is_output_layer": True},
        "output": loop(unit, optimize_move_layers_out=moved),
    }
    results = run(backend, network, fetch=["output", "mean"])
    close(results["out:output"], numpy.arange(1, 4)[:, None] * results["out:mean"][:, None])
    assert results["out:mean"].any()


# ---- no frame


@MOVED
@pytest.mark.parametrize("lens", [[0, 0], [3, 0]])
def test_rows_of_a_table_in_a_loop_without_frames(backend: str, lens: list[int], moved: bool) -> None:
    """The gradient is that of the loss, 1 for each frame and row, or zero; also of a table that is not only read."""
    unit = {
        "rel": {"class": "relative_positional_encoding", "clipping": 2, "n_out": 2, "from": "data:source"},
        "sum": {"class": "reduce", "mode": "sum", "axis": "stag:history", "from": "rel"},
        "row": {"class": "squeeze", "axis": "stag:query", "from": "sum"},
        "output": {"class": "combine", "kind": "add", "from": ["row", "data:source", "prev:zero"]},
        "zero": {"class": "eval", "eval": "source(0) * 0", "from": "output"},
    }
    network = {"output": {**loop(unit, optimize_move_layers_out=moved), "loss": "as_is"}}
    results = run(backend, network, {"data": numpy.ones((2, max(lens), 2))}, {"data": lens}, train=True)
    assert results["out:output"].shape == (2, max(lens), 2)
    grad = results.get("grad:output/rec/rel/encoding_matrix", numpy.zeros((5, 2)))
    # frame q sees the distances -q .. 0, those below -2 as -2
    assert grad[:, 0].tolist() == ([1, 2, 3, 0, 0] if max(lens) else [0] * 5)


# ---- choices


def test_cheating_without_a_search_around(backend: str) -> None:
    """``search: True`` of the layer is enough: the target is the last hypothesis, with its true score."""
    unit = {"output": choice(search=True, cheating="exclusive", target="classes", **NO_NORM)}
    s = Search(backend, unit, labels=[[3, 1, 1]], search=False, evaluation=False, include_eos=True)
    assert s.padded() == [[0, 2, 0], [0, 0, 0], [3, 1, 1]]


# ---- behind the end of a sequence


@MOVED
def test_padding_may_be_zero(backend: str, moved: bool) -> None:
    """Outside, of all layers; inside the sum goes on. Labels and flags too. In a search, for each hypothesis."""
    unit = {
        "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "data:source"], "is_output_layer": True},
        "large": {"class": "compare", "kind": "greater", "value": 0.5, "from": "sum", "is_output_layer": True},
        "output": {"class": "eval", "eval": "source(0) + 1", "from": "sum"},
        "number": {"class": "copy", "from": ":i", "is_output_layer": True},
    }
    network = {"output": loop(unit, optimize_move_layers_out=moved, zero_padding=True)}
    names = ["output", "output/sum", "output/large", "output/number"]
    numbers = {"data": [[[1], [2], [3]], [[1], [10], [100]]]}
    results = run(backend, network, numbers, {"data": [3, 1]}, extern_data={"data": {"dim": 1}}, fetch=names)
    assert results["out:output"][..., 0].tolist() == [[2, 4, 7], [2, 0, 0]]
    assert results["out:output/sum"][..., 0].tolist() == [[1, 3, 6], [1, 0, 0]]
    assert results["out:output/large"][..., 0].tolist() == [[True] * 3, [True, False, False]]
    assert results["out:output/number"].tolist() == [0, 1, 2]  # not of sequences
    unit = {
        "output": choice(**NO_NORM, beam_size=3),
        "one": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "output", "is_output_layer": True},
        "end": {"class": "compare", "value": 0, "from": "output"},
    }
    s = Search(
        backend, unit, [A], max_seq_len=3, zero_padding=True, fetch=["output/one"], optimize_move_layers_out=moved
    )
    assert s.padded("output/one") == [[1] * size + [0] * (max(s.lens()) - size) for size in s.lens()]


# ---- states behind the loop

KEPT = {"need_last": True, "is_output_layer": True}


@MOVED
def test_state_of_a_layer_inside_at_the_last_frame(backend: str, moved: bool) -> None:
    """Of each sequence, whatever stands behind its end; in a loop with need_last. That of a gru is its output."""
    cell = {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": ["data:source", "prev:s"], "need_last": True}
    unit = {
        "s": {**cell, "is_output_layer": True},
        "output": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": "data:source", "need_last": True},
    }
    last = {"class": "get_last_hidden_state", "n_out": 2, "is_output_layer": True}
    network = {
        "output": loop(unit, optimize_move_layers_out=moved),
        "inner": {**last, "from": "output/s"},
        "outer": {**last, "from": "output"},
    }
    results = run(backend, network, fetch=["output", "output/s", "inner", "outer"])
    for state, name in (("inner", "output/s"), ("outer", "output")):
        frames = results["out:" + name]
        close(results["out:" + state], [frames[0, 2], frames[1, 1]])


def test_states_of_hypotheses_at_the_last_frame(backend: str) -> None:
    """They follow the hypotheses, as the last output does."""
    unit = {
        "embed": {**LINEAR, "n_out": 2, "from": "prev:output"},
        "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": "embed", **KEPT},
        "p": {"class": "combine", "kind": "add", "from": ["data:source", "s"]},
        "output": choice("p", **NO_NORM),
    }
    further = {
        "state": {"class": "get_last_hidden_state", "from": "output/s", "n_out": 4, "is_output_layer": True},
        "last": {"class": "rec_last_output", "rec_layer": "output", "sub_layer_name": "s", "is_output_layer": True},
    }
    scores = numpy.array([A, numpy.array(A)[::-1]])
    s = Search(backend, unit, scores, [3, 2], include_eos=True, further=further, fetch=["state", "last"], version=31)
    assert s.results["out:state"].shape == (2 * 3, 4)
    close(s.results["out:state"], s.results["out:last"])
    assert len({tuple(x) for x in s.results["out:state"].round(4).tolist()}) >= 3  # not all the same


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("output", "layer 'output' (rec) has no state"),
        (
            "output/s",
            "the state of layer 'output/s' at the last frame is not kept, as the layer is in a loop: give it "
            "need_last: True",
        ),
    ],
)
def test_states_that_are_not_kept(source: str, text: str) -> None:
    """Whole messages."""
    unit = {
        "s": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": ["data:source", "prev:s"]},
        "output": {"class": "copy", "from": "s"},
    }
    network = {"output": loop(unit), "last": {"class": "get_last_hidden_state", "from": source, "n_out": 2}}
    with pytest.raises(NetworkLayerException) as info:
        Net({**network, "last": {**network["last"], "is_output_layer": True}})
    assert str(info.value) == "network[\"last\"] (class 'get_last_hidden_state'): " + text
