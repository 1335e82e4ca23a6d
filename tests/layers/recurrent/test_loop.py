"""The recurrent sub-network without search: checks and telling behaviours, in the loop and moved out of it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.network.errors import NetworkLayerException
from returnn.tensor import SpatialDim, single_step_dim
from tests.layers.common import close
from tests.network.net import DATA, Net

from .common import input_values
from .loops import BACKENDS, lengths, loop, run

NUMBERS = {
    "extern_data": {"data": {"dim": 1}},
    "lens": {"data": [3, 1]},
    "data": {"data": [[[1], [2], [3]], [[1], [10], [100]]]},
}
"""[1 2 3] and [1]; behind the end of the second stand 10 and 100"""
SUM = {"class": "combine", "kind": "add", "from": ["prev:output", "data:source"]}
MOVED = pytest.mark.parametrize("moved", [False, True], ids=["in_loop", "moved"])

pytestmark = pytest.mark.filterwarnings("ignore:.*Variable.load.*")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """each one"""
    return request.param


def numbers(backend: str, network: dict[str, Any], *fetch: str, **opts: Any) -> list[numpy.ndarray]:
    """
    :param network: on ``NUMBERS``
    :param fetch: names of layers; "output" by default
    :return: their outputs, batch-major, without the feature axis
    """
    names = fetch or ("output",)
    results = run(backend, network, fetch=names, **{**NUMBERS, **opts})
    return [results["out:" + name][..., 0] for name in names]


# ---- units inside


@MOVED
@pytest.mark.parametrize(
    "name, unit, opts, first, last",
    [
        ("rnn_cell", "standardlstm", {}, [[-0.01229, 0.03182], [-0.07352, 0.21867], [-0.0956, 0.31099]], "c"),
        ("rec", "nativelstm2", {}, [[-0.03179, 0.01327], [-0.18774, 0.0992], [-0.20004, 0.08967]], "c"),
        ("rnn_cell", "gru", {}, [[-0.06373, 0.02342], [-0.43482, 0.08178], [-0.51584, 0.08557]], None),
    ],
)
def test_unit_inside_is_that_of_the_checks(
    backend: str, name: str, unit: str, opts: dict[str, Any], first: list[list[float]], last: Any, moved: bool
) -> None:
    """A cell that is a layer of the unit keeps its state from frame to frame."""
    cell = {"class": name, "unit": unit, "unit_opts": opts or None, "n_out": 2, "from": "data:source"}
    unit_net = {"cell": cell, "output": {"class": "copy", "from": "cell"}}
    results = run(backend, {"output": loop(unit_net, optimize_move_layers_out=moved)})
    close(results["out:output"][0], first)


@MOVED
@pytest.mark.parametrize("use, frame", [(False, [-0.07326, 0.25761]), (True, [-0.0683, 0.23414])])
def test_zoneout_inside(backend: str, use: bool, frame: list[float], moved: bool) -> None:
    """Its state is mixed with that of the frame before; the output is, if it says so. The state can be looked at."""
    opts = {"zoneout_factor_cell": 0.5, "zoneout_factor_output": 0.25, "use_zoneout_output": use}
    cell = {"class": "rnn_cell", "unit": "zoneoutlstm", "unit_opts": opts, "n_out": 2, "from": "data:source"}
    state = {"class": "get_last_hidden_state", "key": "c", "n_out": 2, "from": "cell", "is_output_layer": True}
    unit = {"cell": cell, "c": state, "output": {"class": "copy", "from": "cell"}}
    results = run(backend, {"output": loop(unit, optimize_move_layers_out=moved)}, fetch=["output", "output/c"])
    close(results["out:output"][0, 2], frame)
    close(results["out:output/c"][0, 2], [-0.09351, 0.40831])


@MOVED
def test_positions_inside(backend: str, moved: bool) -> None:
    """The first frame is position 0; the second one has [sin 1, sin 1e-4, cos 1, cos 1e-4]; one more channel is 0."""
    unit = {"output": {"class": "positional_encoding", "n_out": 5}}
    network = {"output": loop(unit, optimize_move_layers_out=moved)}
    out = run(backend, network)["out:output"]
    out = out if out.ndim == 3 else out[None]
    close(out[0, 0], [0, 0, 1, 1, 0])
    close(out[0, 1], [0.84147, 0.0001, 0.5403, 1, 0])


@MOVED
def test_explicit_lstm_is_the_cell(backend: str, moved: bool) -> None:
    """i, j, f, o = [x h] W + b; c' = sigmoid(f) c + sigmoid(i) tanh(j); h' = sigmoid(o) tanh(c')."""

    def gate(activation: str) -> dict[str, Any]:
        return {"class": "linear", "activation": activation, "n_out": 2, "from": ["data:source", "prev:output"]}

    unit = {
        "i": gate("sigmoid"),
        "j": gate("tanh"),
        "f": gate("sigmoid"),
        "o": gate("sigmoid"),
        "new": {"class": "combine", "kind": "mul", "from": ["i", "j"]},
        "old": {"class": "combine", "kind": "mul", "from": ["f", "prev:c"]},
        "c": {"class": "combine", "kind": "add", "from": ["new", "old"]},
        "c_tanh": {"class": "activation", "activation": "tanh", "from": "c"},
        "output": {"class": "combine", "kind": "mul", "from": ["o", "c_tanh"]},
    }
    kernel = numpy.random.RandomState(1).normal(size=(4, 8)).astype("float32")  # rows: input, then output before
    bias = numpy.random.RandomState(2).normal(size=8).astype("float32")

    def value(name: str, shape: tuple[int, ...]) -> numpy.ndarray:
        if "lstm_cell" in name:
            return kernel if len(shape) == 2 else bias
        block = "ijfo".index(name.split("/")[2]) * 2
        return kernel[:, block : block + 2] if len(shape) == 2 else bias[block : block + 2]

    cell = {"class": "rec", "unit": "standardlstm", "unit_opts": {"forget_bias": 0.0}, "n_out": 2, "from": "data"}
    cell["is_output_layer"] = True
    network = {"cell": cell, "output": loop(unit, optimize_move_layers_out=moved)}
    results = run(backend, network, fetch=["cell", "output"], param_value=value)
    for seq, num in enumerate([3, 2]):
        close(results["out:output"][seq, :num], results["out:cell"][seq, :num])
    assert abs(results["out:output"]).max() > 0.1


# ---- the frame before


@MOVED
@pytest.mark.parametrize(
    "initial, first, second",
    [
        (None, [1, 3, 6], [1, 11, 111]),
        ("zeros", [1, 3, 6], [1, 11, 111]),
        ("ones", [2, 4, 7], [2, 12, 112]),
        (5, [6, 8, 11], [6, 16, 116]),
        ("base:max", [4, 6, 9], [2, 12, 112]),
        ("var", [1.5, 3.5, 6.5], [1.5, 11.5, 111.5]),
        ("apply(0)", [1, 3, 6], [1, 11, 111]),
    ],
)
def test_sum_over_frames(backend: str, initial: Any, first: list[float], second: list[float], moved: bool) -> None:
    """output = output before + input: the initial output comes on top. Frames behind the end are not masked."""
    network = {
        "max": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": loop({"output": {**SUM, "initial_output": initial}}, optimize_move_layers_out=moved),
    }
    out = numbers(backend, network, param_value=lambda name, shape: numpy.full(shape, 0.5))[0]
    close(out, [first, second])


@MOVED
def test_frame_before_of_a_moved_layer(backend: str, moved: bool) -> None:
    """Also a layer that is computed for all frames at once has a frame before; at the first one its initial output."""
    unit = {
        "twice": {"class": "eval", "eval": "source(0) * 2", "from": "data:source", "initial_output": 7},
        "output": {"class": "combine", "kind": "add", "from": ["prev:twice", "data:source"]},
    }
    out = numbers(backend, {"output": loop(unit, optimize_move_layers_out=moved)})[0]
    close(out, [[8, 4, 7], [8, 12, 120]])


@MOVED
def test_applied_to_zeros(backend: str, moved: bool) -> None:
    """``apply(0)``: the initial output is what the layer gives for zeros: here tanh(0.5), its bias."""
    unit = {
        "lin": {
            "class": "linear",
            "activation": "tanh",
            "n_out": 1,
            "from": "data:source",
            "initial_output": "apply(0)",
        },
        "output": {"class": "copy", "from": "prev:lin"},
    }
    out = numbers(
        backend,
        {"output": loop(unit, optimize_move_layers_out=moved)},
        param_value=lambda name, shape: numpy.full(shape, 0.5 if name.endswith("b") else 0.25),
    )[0]
    close(out[0], numpy.tanh([0.5, 0.75, 1.0]))


@MOVED
def test_number_of_the_frame(backend: str, moved: bool) -> None:
    """A copy of ``:i`` is [0 1 2], without batch axis."""
    unit = {
        "i": {"class": "copy", "from": ":i", "is_output_layer": True},
        "output": {"class": "copy", "from": "data:source"},
    }
    results = run(backend, {"output": loop(unit, optimize_move_layers_out=moved)}, fetch=["output/i"], **NUMBERS)
    assert results["out:output/i"].tolist() == [0, 1, 2]
    assert results["axes:output/i"][0] == 0


@MOVED
def test_last_frame_of_each_sequence(backend: str, moved: bool) -> None:
    """0 + 1 + 2 = 3 for three frames, 0 for one; [6 1] for the sum over [1 2 3] and [1]."""
    unit = {
        "step": {"class": "cast", "dtype": "float32", "from": ":i"},
        "zero": {"class": "eval", "eval": "source(0) * 0", "from": "data:source"},
        "count": {"class": "combine", "kind": "add", "from": ["prev:count", "step", "zero"], "need_last": True},
        "sum": {**SUM, "from": ["prev:sum", "data:source"], "need_last": True},
        "output": {"class": "copy", "from": "data:source"},
    }
    last = {"class": "rec_last_output", "rec_layer": "output", "is_output_layer": True}
    network = {
        "output": loop(unit, optimize_move_layers_out=moved),
        "count": {**last, "sub_layer_name": "count"},
        "sum": {**last, "sub_layer_name": "sum"},
    }
    results = run(backend, network, fetch=["count", "sum"], **NUMBERS)
    assert results["out:sum"].tolist() == [[6], [1]]
    assert results["out:count"].tolist() == [[3], [0]]


@MOVED
def test_frame_before_within_a_subnetwork(backend: str, moved: bool) -> None:
    """A subnetwork sees its own layers at the frame before, and those around it as base:prev:NAME."""
    sub = {
        "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "data"]},
        "output": {"class": "combine", "kind": "add", "from": ["sum", "base:prev:output"]},
    }
    unit = {
        "sub": {"class": "subnetwork", "from": "data:source", "subnetwork": sub},
        "output": {"class": "copy", "from": "sub"},
    }
    out = numbers(backend, {"output": loop(unit, optimize_move_layers_out=moved)})[0]
    close(out[0], [1, 3 + 1, 6 + 4])


def test_frame_before_of_the_loop_around(backend: str) -> None:
    """A loop within a loop reads the frame, the frame before and the number of the outer one; it has its own ones.

    Inner input [10, 20] in each outer frame t with sum s of the frames before: 10 + s + t, 10 + 20 + 2 (s + t) + 1.
    """
    inner = {
        "i": {"class": "cast", "dtype": "float32", "from": ":i"},
        "outer_i": {"class": "cast", "dtype": "float32", "from": "base::i"},
        "output": {
            "class": "combine",
            "kind": "add",
            "from": ["prev:output", "data:source", "base:prev:output", "outer_i", "i"],
        },
    }
    unit = {
        "inner": {"class": "rec", "from": "base:data:other", "unit": inner},
        "last": {"class": "reduce", "mode": "max", "axis": "stag:other", "from": "inner"},
        "output": {"class": "copy", "from": "last"},
    }
    extern_data = {"data": {"dim": 1}, "other": {"dim": 1, "same_dim_tags_as": {"T": SpatialDim("other")}}}
    data = {"data": numpy.zeros((1, 3, 1)), "other": [[[10], [20]]]}
    results = run(backend, {"output": loop(unit)}, data, {"data": [3], "other": [2]}, extern_data=extern_data)
    sums = [0.0]
    for t in range(3):
        sums.append(10 + 20 + 2 * (sums[-1] + t) + 1)
    close(results["out:output"][0, :, 0], sums[1:])


def test_start_of_a_cell_in_an_inner_loop(backend: str) -> None:
    """The initial state of a cell may be a layer of the loop around: it is that of the same outer frame."""
    cell = {"class": "rnn_cell", "unit": "basicrnn", "n_out": 1, "from": "data:source", "initial_state": "base:start"}
    unit = {
        "start": {"class": "combine", "kind": "add", "from": ["data:source", "prev:output"]},
        "inner": {"class": "rec", "from": "base:data:other", "unit": {"output": cell}},
        "output": {"class": "reduce", "mode": "sum", "axis": "stag:other", "from": "inner"},
    }
    extern_data = {"data": {"dim": 1}, "other": {"dim": 1, "same_dim_tags_as": {"T": SpatialDim("other")}}}
    data = {"data": [[[0.5], [-0.25]]], "other": [[[1.0]]]}
    results = run(
        backend,
        {"output": loop(unit)},
        data,
        {"data": [2], "other": [1]},
        extern_data=extern_data,
        param_value=lambda name, shape: numpy.full(shape, 0.0 if name.endswith("bias") else 1.0),
    )
    first = numpy.tanh(1 + 0.5)
    close(results["out:output"][0, :, 0], [first, numpy.tanh(1 - 0.25 + first)])


# ---- where layers are computed


def test_layers_of_a_subnetwork_move_one_by_one(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    """One that only needs the input is computed for all frames at once, and only there."""
    calls: list[int] = []

    def half(source: Any, **_: Any) -> Any:
        calls.append(source(0).ndim if backend == "torch" else source(0).shape.ndims)
        return source(0) * 0.5

    sub = {
        "half": {"class": "eval", "eval": half, "from": "data"},
        "output": {"class": "combine", "kind": "add", "from": ["half", "base:prev:output"]},
    }
    unit = {
        "sub": {"class": "subnetwork", "from": "data:source", "subnetwork": sub},
        "output": {"class": "copy", "from": "sub"},
    }
    out = numbers(backend, {"output": loop(unit)})[0]
    close(out[0], [0.5, 1.5, 3])
    assert calls[-1] == 3  # [time, batch, feature]


def test_nothing_moves_if_not_wanted(backend: str) -> None:
    """``optimize_move_layers_out`` of the config holds where the layer does not say it."""
    ranks: list[int] = []

    def half(source: Any, **_: Any) -> Any:
        ranks.append(source(0).ndim if backend == "torch" else source(0).shape.ndims)
        return source(0) * 0.5

    unit = {"half": {"class": "eval", "eval": half, "from": "data:source"}, "output": {"class": "copy", "from": "half"}}
    close(numbers(backend, {"output": loop(unit)}, optimize_move_layers_out=False)[0][0], [0.5, 1, 1.5])
    assert ranks[-1] == 2
    numbers(backend, {"output": loop(unit, optimize_move_layers_out=True)}, optimize_move_layers_out=False)
    assert ranks[-1] == 3


def test_parameters_shared_partly_moved_out(backend: str) -> None:
    """One W for a layer in the loop and one before it: W = 2, so [2x + 2 (sum before)]."""
    linear = {"class": "linear", "activation": None, "with_bias": False, "n_out": 1}
    unit = {
        "out_of_loop": {**linear, "from": "data:source"},
        "in_loop": {**linear, "from": "prev:output", "reuse_params": "out_of_loop"},
        "output": {"class": "combine", "kind": "add", "from": ["out_of_loop", "in_loop"]},
    }
    results = run(backend, {"output": loop(unit)}, param_value=lambda name, shape: numpy.full(shape, 2.0), **NUMBERS)
    assert [key for key in results if key.startswith("param:")] == ["param:output/rec/out_of_loop/W"]
    close(results["out:output"][0, :, 0], [2, 4 + 4, 6 + 16])


def test_a_parameter_of_the_loop_counts_once(backend: str) -> None:
    """L2 of a layer that is moved out, and of one in the loop: 0.5 * (2*2 + 3*3), whatever the number of frames."""
    linear = {"class": "linear", "activation": None, "with_bias": False, "n_out": 1, "L2": 0.5}
    unit = {
        "a": {**linear, "from": "data:source"},
        "b": {**linear, "from": "prev:output"},
        "output": {"class": "combine", "kind": "add", "from": ["a", "b"]},
    }
    results = run(
        backend,
        {"output": loop(unit)},
        param_value=lambda name, shape: numpy.full(shape, 2.0 if "/a/" in name else 3.0),
        **NUMBERS,
    )
    close(results["loss"], 0.5 * (4 + 9))


def test_inner_loop_over_a_window_moves_out(backend: str) -> None:
    """The unit of an inner layer runs over the window around each frame: sums of [0 1 2], [1 2 3], [2 3 0]."""
    add = {"class": "combine", "kind": "add", "from": ["prev:output", "data:source"]}
    network = {
        "window": {"class": "window", "window_size": 3, "from": "data"},
        "output": loop(
            {
                "inner": {
                    "class": "rec",
                    "unit": {"output": add},
                    "from": "data:source",
                    "axis": "stag:window",
                    "is_output_layer": True,
                },
                "output": {"class": "reduce", "mode": "max", "axis": "stag:window", "from": "inner"},
            },
            **{"from": "window"},
        ),
    }
    close(numbers(backend, network)[0][0], [3, 6, 5])


# ---- the axis of the loop


def test_same_axis_behind_the_loop(backend: str) -> None:
    """What comes out of the loop has the axis that went in; of a pooled input its own, shorter one."""
    network = {
        "sum": loop({"output": SUM}),
        "both": {"class": "combine", "kind": "add", "from": ["data", "sum"], "is_output_layer": True},
        "pool": {"class": "pool", "mode": "max", "pool_size": [2], "padding": "same", "from": "data"},
        "pooled_sum": loop({"output": SUM}, **{"from": "pool"}),
        "output": {"class": "combine", "kind": "add", "from": ["pool", "pooled_sum"]},
    }
    results = run(backend, network, fetch=["both", "output"], **NUMBERS)
    close(results["out:both"][0, :, 0], [2, 5, 9])
    assert lengths(results, "both") == [3, 1]
    close(results["out:output"][0, :, 0], [2 + 2, 3 + 5])
    assert lengths(results) == [2, 1]


@pytest.mark.parametrize("include_eos, lens", [(False, [2, 1]), (True, [3, 2])])
def test_end_by_a_layer(backend: str, include_eos: bool, lens: list[int]) -> None:
    """The loop ends where all have ended; the frame where ``end`` is true first counts with include_eos."""
    unit = {
        "output": {"class": "eval", "eval": "source(0) + 1", "from": "prev:output", "initial_output": "base:zero"},
        "end": {"class": "compare", "kind": "greater_equal", "from": ["output", "base:len"]},
    }
    network = {
        "len": {"class": "length", "from": "data", "dtype": "float32"},
        "zero": {"class": "eval", "eval": "source(0) * 0", "from": "len"},
        "output": loop(unit, include_eos=include_eos, max_seq_len=10, **{"from": []}),
    }
    results = run(backend, network, {"data": input_values((2, 3, 2))}, {"data": [3, 2]})
    assert lengths(results) == lens
    assert results["out:output"].shape[1] == max(lens)
    assert results["out:output"][0, : lens[0]].tolist() == [1.0, 2.0, 3.0][: lens[0]]


@pytest.mark.parametrize("max_seq_len", [2, "max_len_from('base:data') - 1"])
def test_longest_loop(backend: str, max_seq_len: Any) -> None:
    """Nothing ends, so the loop runs to its bound: 2; all frames count."""
    unit = {
        "output": {"class": "eval", "eval": "source(0) + 1", "from": "prev:output", "initial_output": "base:zero"},
        "end": {"class": "compare", "kind": "greater", "value": 100, "from": "output"},
    }
    network = {
        "len": {"class": "length", "from": "data", "dtype": "float32"},
        "zero": {"class": "eval", "eval": "source(0) * 0", "from": "len"},
        "output": loop(unit, max_seq_len=max_seq_len, **{"from": []}),
    }
    results = run(backend, network, {"data": input_values((2, 3, 2))}, {"data": [3, 2]})
    assert lengths(results) == [2, 2]
    assert results["out:output"].tolist() == [[1, 2], [1, 2]]


def test_scalar_end(backend: str) -> None:
    """``end`` may be one bool for all sequences: 4 frames before the fifth ends."""
    unit = {
        "end": {"class": "compare", "kind": "greater_equal", "value": 4, "from": ":i"},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "base:one"]},
    }
    network = {
        "one": {"class": "reduce", "mode": "min", "axis": "T", "from": "data"},
        "output": loop(unit, max_seq_len=10, **{"from": []}),
    }
    results = run(backend, network, **NUMBERS)
    assert results["out:output"][:, :, 0].tolist() == [[1, 2, 3, 4], [1, 2, 3, 4]]
    assert set(lengths(results)) == {4}


def test_no_frame_at_all(backend: str) -> None:
    """Where all end at once, the output has no frame, and its other axes."""
    unit = {
        "end": {"class": "compare", "kind": "greater_equal", "value": 0, "from": ":i"},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "base:mean"]},
    }
    network = {
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
        "output": loop(unit, max_seq_len=10, **{"from": []}),
    }
    results = run(backend, network)
    assert results["out:output"].shape == (2, 0, 2)


def test_one_step_takes_time_as_batch(backend: str) -> None:
    """A cell with axis single_step_dim in a loop does not iterate over another axis of its input."""
    other = {"data": {"dim": 2}, "other": {"dim": 2, "same_dim_tags_as": {"T": SpatialDim("other")}}}
    unit = {
        "cell": {
            "class": "rec",
            "unit": "nativelstm2",
            "axis": single_step_dim,
            "n_out": 2,
            "from": ["base:data:other"],
        },
        "sum": {"class": "reduce", "mode": "sum", "axis": "stag:other", "from": "cell"},
        "output": {"class": "combine", "kind": "add", "from": ["sum", "data:source"]},
    }
    x = input_values((2, 2, 2))
    data = {"data": input_values((2, 3, 2)), "other": x}
    results = run(backend, {"output": loop(unit)}, data, {"data": [3, 2], "other": [2, 2]}, extern_data=other)
    each = {"output": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "data"}}
    repeated = numpy.repeat(
        x.reshape((4, 1, 2)), 3, axis=1
    )  # each frame is a sequence of its own, three times the same
    expected = run(backend, each, {"data": repeated}, {"data": [3] * 4})["out:output"].reshape((2, 2, 3, 2)).sum(axis=1)
    close(results["out:output"], expected + data["data"])


# ---- dims of outer layers


def test_frame_before_has_the_dims_of_an_outer_layer(backend: str) -> None:
    """Weights [batch, S, 1] summed up over the frames: S and its lengths are those of the layer outside."""
    network = {
        "ones": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "data"},
        "output": loop(
            {
                "weights": {"class": "softmax_over_spatial", "from": "base:data"},
                "accum": {
                    "class": "combine",
                    "kind": "add",
                    "from": ["prev:accum", "weights"],
                    "is_output_layer": True,
                },
                "sum": {"class": "reduce", "mode": "sum", "axis": "stag:extern_data:data", "from": "prev:accum"},
                "output": {"class": "squeeze", "axis": "F", "from": "sum"},
            },
            target="classes",
            **{"from": []},
        ),
    }
    extern_data = {"data": {"dim": 1}, "classes": {"dim": 4, "sparse": True, "available_for_inference": True}}
    data = {"data": NUMBERS["data"]["data"], "classes": numpy.zeros((2, 4))}
    results = run(backend, network, data, {"data": [3, 1], "classes": [4, 2]}, extern_data=extern_data)
    close(results["out:output"], [[0, 1, 2, 3]] * 2)


@MOVED
def test_input_with_more_axes(backend: str, moved: bool) -> None:
    """[batch, feature, time] and [batch, time, 3, feature] go in; frames are [batch, feature], [batch, 3, feature]."""
    extern_data = {
        "data": {"shape": (None, 3, 2)},
        "last": {"shape": (2, None), "time_dim_axis": 2, "feature_dim_axis": 1},
    }
    x = input_values((2, 3, 3, 2))
    last = input_values((2, 2, 3))
    network = {
        "more": loop({"output": SUM}, optimize_move_layers_out=moved, is_output_layer=True),
        "output": loop({"output": SUM}, optimize_move_layers_out=moved, **{"from": "data:last"}),
    }
    results = run(
        backend,
        network,
        {"data": x, "last": last},
        {"data": [3, 3], "last:1": [3, 3]},
        extern_data=extern_data,
        fetch=["more", "output"],
    )
    close(results["out:more"], numpy.cumsum(x, axis=1))
    close(results["out:output"], numpy.cumsum(last, axis=2).transpose((0, 2, 1)))


# ---- losses, parameters, errors

LABELS = {"data": {"dim": 2}, "classes": {"dim": 2, "sparse": True, "available_for_inference": False}}
CLASSES = [[0, 1, 1], [1, 0, 0]]


@MOVED
def test_losses_inside(backend: str, moved: bool) -> None:
    """A loss counts each real frame once, in the loop or not: log(1 + exp(other - own))."""
    own = {"class": "activation", "activation": "softmax", "target": "classes", "loss": "ce"}
    unit = {
        "prob": {**own, "from": "data:source"},
        "sum": {"class": "combine", "kind": "add", "from": ["data:source", "prev:sum"]},
        "sum_prob": {**own, "from": "sum"},
        "output": {"class": "copy", "from": "sum_prob"},
    }
    x = input_values((2, 3, 2))
    results = run(
        backend,
        {"output": loop(unit, target="classes", optimize_move_layers_out=moved)},
        {"data": x, "classes": CLASSES},
        {"data": [3, 2], "classes": [3, 2]},
        extern_data=LABELS,
    )
    real = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]

    def cross_entropy(logits: numpy.ndarray) -> float:
        return sum(
            numpy.log1p(numpy.exp(logits[b, t, 1 - CLASSES[b][t]] - logits[b, t, CLASSES[b][t]])) for b, t in real
        )

    close(results["cost:output/prob"], cross_entropy(x))
    close(results["cost:output/sum_prob"], cross_entropy(numpy.cumsum(x, axis=1)))
    close(results["loss"], cross_entropy(x) + cross_entropy(numpy.cumsum(x, axis=1)))
    close(results["loss_norm_factor:output/sum_prob"], 1 / 5)


@MOVED
@pytest.mark.parametrize("rec_trains", [False, True])
def test_what_is_trained(backend: str, rec_trains: bool, moved: bool) -> None:
    """``trainable: False`` of the loop beats what a layer inside says, which holds also where it is moved."""
    linear = {"class": "linear", "activation": "tanh", "with_bias": False, "n_out": 2}
    unit = {
        "a": {**linear, "from": "data:source", "trainable": True, "L2": 0.25},
        "b": {**linear, "from": "data:source", "trainable": False, "L2": 0.25},
        "output": {"class": "combine", "kind": "add", "from": ["a", "b"]},
    }
    trained = trained_names(backend, {"output": loop(unit, trainable=rec_trains, optimize_move_layers_out=moved)})
    assert trained == (["output/rec/a/W"] if rec_trains else [])


def trained_names(backend: str, network: dict[str, Any]) -> list[str]:
    """
    :return: of the parameters that the updater may change
    """
    if backend == "tf":
        with Net(network) as net:
            return sorted(var.op.name for var in net.net.get_trainable_params())
    torch_backend = pytest.importorskip("returnn.torch.backend").backend
    net = Network(config=Config({"extern_data": DATA}), train_flag=False, eval_flag=True, backend=torch_backend)
    net.construct_from_dict(network)
    names = {id(var): name for name, var in net.param_store.named().items()}
    return sorted(names[id(var)] for var in net.get_trainable_params())


def test_error_of_a_layer_outside(backend: str) -> None:
    """A layer outside that cannot be built ends the construction, with its own message, and nothing else."""
    network = {
        "wrong": {"class": "linear", "activation": "tnah", "n_out": 2, "from": "data"},
        "output": loop({"output": {"class": "combine", "kind": "add", "from": ["prev:output", "base:wrong"]}}),
    }
    with pytest.raises(NetworkLayerException) as info:
        run(backend, network)
    text = str(info.value)
    assert text.startswith("network[\"wrong\"] (class 'linear'): invalid activation function: 'tnah'")
    assert "output" not in text


@MOVED
def test_known_length_of_zero(backend: str, moved: bool) -> None:
    """No sequence has a frame: the output has none, losses are 0, and gradients are 0 where there are any."""
    linear = {"class": "softmax", "target": "classes", "loss": "ce", "from": ["data:source", "prev:output"]}
    results = run(
        backend,
        {"output": loop({"output": linear}, target="classes", optimize_move_layers_out=moved)},
        {"data": numpy.zeros((2, 0, 2)), "classes": numpy.zeros((2, 0))},
        {"data": [0, 0], "classes": [0, 0]},
        extern_data=LABELS,
        train=True,
    )
    assert results["out:output"].shape == (2, 0, 2)
    assert results["loss"] == 0
    assert not any(value.any() for key, value in results.items() if key.startswith("grad:"))


@MOVED
def test_dropout_draws_in_each_frame(backend: str, moved: bool) -> None:
    """Each frame has a mask of its own, about half of it zero; a cell's own mask on its state stays the same."""
    unit = {
        "drop": {"class": "dropout", "dropout": 0.5, "from": "data:source"},
        "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "drop"]},
        "output": {"class": "combine", "kind": "sub", "from": ["sum", "prev:sum"]},
    }
    network = {"output": loop(unit, optimize_move_layers_out=moved)}
    extern_data = {"data": {"dim": 20}}
    data = {"data": numpy.ones((4, 10, 20))}
    out = run(backend, network, data, {"data": [10] * 4}, extern_data=extern_data, train=True)["out:output"]
    assert set(numpy.unique(out.round(5))) == {0.0, 2.0}
    assert 0.4 < (out == 0).mean() < 0.6
    assert len(numpy.unique(out[0], axis=0)) == 10


def test_masks_of_a_cell_stay_in_all_frames(backend: str) -> None:
    """rhn without input: s' = s + sigmoid(t) (tanh h - s) with [h t] = (mask s) W; the mask is one for all frames."""
    unit = {
        "cell": {
            "class": "rnn_cell",
            "unit": "rhn",
            "unit_opts": {"depth": 1, "dropout": 0.5},
            "n_out": 8,
            "initial_state": "ones",
            "from": "data:source",
        },
        "output": {"class": "copy", "from": "cell"},
    }

    def value(name: str, shape: tuple[int, ...]) -> numpy.ndarray:
        if "depth" not in name:
            return numpy.zeros(shape)
        return numpy.concatenate([numpy.eye(8), numpy.zeros((8, 8))], axis=1)

    network = {"output": loop(unit, optimize_move_layers_out=False)}
    data = {"data": numpy.zeros((2, 6, 1))}
    extern_data = {"data": {"dim": 1}}
    results = run(
        backend,
        network,
        data,
        {"data": [6, 6]},
        extern_data=extern_data,
        train=True,
        param_value=value,
        evaluation=False,
    )
    before, out = numpy.ones((2, 8)), results["out:output"]
    masks = []
    for t in range(6):
        after = out[:, t]  # s' = s/2 + tanh(mask s)/2
        masks.append(numpy.round(numpy.arctanh(2 * after - before) / before, 3))
        before = after
    assert set(numpy.unique(masks)) == {0.0, 2.0}
    assert all((mask == masks[0]).all() for mask in masks)


@MOVED
def test_step_after_step(moved: bool) -> None:
    """On PyTorch, a network is built once: each step computes it on a batch of its own sizes, and leaves no value."""
    torch = pytest.importorskip("torch")
    torch_backend = pytest.importorskip("returnn.torch.backend").backend
    unit = {
        "twice": {"class": "eval", "eval": "source(0) * 2", "from": "data:source", "is_output_layer": True},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "twice"], "need_last": True},
    }
    network = {
        "loop": loop(unit, optimize_move_layers_out=moved),
        "last": {"class": "rec_last_output", "rec_layer": "loop", "sub_layer_name": "output", "is_output_layer": True},
        "output": {"class": "combine", "kind": "add", "from": ["loop", "loop/twice"]},
    }
    net = Network(config=Config({"extern_data": DATA}), train_flag=False, eval_flag=True, backend=torch_backend)
    net.construct_from_dict(network)
    dims = net.layers["output"].output.dims
    for lens in ([3, 2], [1], [4, 0, 2], [2, 2]):
        x = numpy.random.RandomState(len(lens)).normal(size=(len(lens), max(lens), 2)).astype("float32")
        with net.step({"data": torch.tensor(x), "data:size1": torch.tensor(lens, dtype=torch.int32)}, train=False):
            out = net.layers["output"].output.copy_as_batch_major().raw_tensor.numpy()
            last = net.layers["last"].output.raw_tensor.numpy()
        sums = numpy.cumsum(2 * x, axis=1)
        assert out.shape == x.shape
        for seq, num in enumerate(lens):
            close(out[seq, :num], (sums + 2 * x)[seq, :num])
        close(last, [sums[i, num - 1] if num else [0, 0] for i, num in enumerate(lens)])
        inside = net.layers["loop"].get_sub_networks()[0].layers.values()
        assert all(layer.output.raw_tensor is None for layer in [*net.layers.values(), *inside])
        assert net.layers["output"].output.dims == dims
