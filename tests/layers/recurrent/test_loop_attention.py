"""Layers over the frames of a loop: attention, positions, sums and windows; in the loop and moved out of it."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from returnn.network.errors import NetworkLayerException
from returnn.tensor import SpatialDim, single_step_dim
from tests.layers.common import close

from .common import input_values, param_values
from .loops import BACKENDS, lengths, loop, run

MOVED = pytest.mark.parametrize("moved", [False, True], ids=["in_loop", "moved"])
NUMBERS: dict[str, Any] = {
    "extern_data": {"data": {"dim": 1}},
    "lens": {"data": [3, 1]},
    "data": {"data": [[[1], [2], [3]], [[1], [10], [100]]]},
}
"""[1 2 3] and [1]; behind the end of the second stand 10 and 100"""
SELF = {
    "class": "self_attention",
    "num_heads": 2,
    "total_key_dim": 4,
    "n_out": 2,
    "attention_left_only": True,
    "from": "data:source",
}
RELATIVE = {"class": "relative_positional_encoding", "clipping": 1, "n_out": 2, "from": "data:source"}

pytestmark = pytest.mark.filterwarnings("ignore:.*Variable.load.*")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """each one"""
    return request.param


def outputs(backend: str, unit: dict[str, Any], *names: str, moved: bool, **opts: Any) -> list[numpy.ndarray]:
    """
    :param unit: layer dict; an "output", if there is none, gives the input
    :param names: of layers in the unit
    :return: their outputs, batch-major
    """
    unit = {name: {**desc, "is_output_layer": True} for name, desc in unit.items()}
    unit.setdefault("output", {"class": "copy", "from": "data:source"})
    names = tuple("output/" + name for name in names)
    network = {"output": loop(unit, optimize_move_layers_out=moved)}
    results = run(backend, network, fetch=names, version=opts.pop("version", 0), **opts)
    return [results["out:" + name] for name in names]


def naive_attention(x: numpy.ndarray, *, key_shift: numpy.ndarray | None = None) -> numpy.ndarray:
    """
    :param x: [T, 2]
    :param key_shift: [T, T, 2]
    :return: what ``SELF`` gives, frame by frame
    """
    weights = param_values((2, 10)).reshape(2, 2, 5)
    res = numpy.zeros((len(x), 2))
    for t in range(len(x)):
        for head in range(2):
            q, k, v = numpy.split(x @ weights[:, head], [2, 4], axis=1)
            keys = k[: t + 1] + (0 if key_shift is None else key_shift[t, : t + 1])
            weights_of_frames = numpy.exp(keys @ q[t] / math.sqrt(2))
            res[t, head] = weights_of_frames @ v[: t + 1, 0] / weights_of_frames.sum()
    return res


# ---- self-attention


@MOVED
def test_self_attention_is_that_of_the_checks(backend: str, moved: bool) -> None:
    (y,) = outputs(backend, {"att": SELF}, "att", moved=moved)
    close(y[0, :2], [[-0.075, -0.225], [-0.06099, 0.03059]])
    for number, length in enumerate([3, 2]):
        close(y[number, :length], naive_attention(input_values((2, 3, 2))[number, :length]))


@MOVED
def test_self_attention_over_what_the_frame_before_gives(backend: str, moved: bool) -> None:
    """Frame by frame in any case; here as if written out."""
    unit = {
        "x": {"class": "combine", "kind": "add", "from": ["data:source", "prev:att"]},
        "att": {**SELF, "from": "x"},
    }
    (y,) = outputs(backend, unit, "att", moved=moved)
    inputs = input_values((2, 3, 2))[0]
    x = numpy.zeros((3, 2))
    before = numpy.zeros(2)
    for t in range(3):
        x[t] = inputs[t] + before
        before = naive_attention(x[: t + 1])[t]
        close(y[0, t], before)


@MOVED
def test_relative_positions(backend: str, moved: bool) -> None:
    """Row q of the table of the checks: frame 2 sees frames 0 and 1 at the distance -1 or below, M0, and itself, M1."""
    unit = {"rel": RELATIVE, "att": {**SELF, "key_shift": "rel"}}
    rel, att = outputs(backend, unit, "rel", "att", moved=moved)
    m = param_values((3, 2))
    close(rel[0, 0, :1], m[[1]])
    close(rel[1, 0, :2], m[[0, 1]])
    close(rel[2, 0, :3], m[[0, 0, 1]])
    shift = m[numpy.clip(numpy.arange(3)[None, :] - numpy.arange(3)[:, None], -1, 1) + 1]
    close(att[0], naive_attention(input_values((2, 3, 2))[0], key_shift=shift))


def attention_block() -> dict[str, Any]:
    """
    :return: unit: self-attention with relative positions, and sums, of which nothing needs the frame before
    """
    hist = SpatialDim("frames so far")
    return {
        "x": {"class": "positional_encoding", "add_to_input": True, "from": "data:source"},
        "rel": {**RELATIVE, "from": "x"},
        "att": {**SELF, "key_shift": "rel", "from": "x"},
        "sum": {"class": "cumsum", "axis": "T", "from": "att"},
        "all": {"class": "cum_concat", "out_spatial_dim": hist, "from": "sum"},
        "energy": {"class": "dot", "from": ["x", "all"], "red1": "F", "red2": "F", "var1": None, "var2": hist},
        "weights": {"class": "softmax_over_spatial", "axis": hist, "from": "energy"},
        "context": {"class": "dot", "from": ["weights", "all"], "red1": hist, "red2": hist, "var1": None, "var2": "F"},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["att", "context"], "loss": "as_is"},
    }


def test_in_loop_is_moved_out_on_both_backends() -> None:
    """Outputs, loss and all gradients."""
    found = []
    for name in BACKENDS:
        for moved in (False, True):
            net = {"output": loop(attention_block(), optimize_move_layers_out=moved)}
            opts: Any = {"data": {"data": input_values((3, 4, 2))}, "lens": {"data": [4, 1, 2]}}
            found.append(run(name, net, train=True, **opts))
    for results in found[1:]:
        assert results.keys() == found[0].keys()
        assert sum(key.startswith("grad:") for key in results) == 4
        for key, value in results.items():
            if key != "out:output":
                numpy.testing.assert_allclose(value, found[0][key], rtol=1e-4, atol=1e-5, err_msg=key)
        for number, length in enumerate([4, 1, 2]):
            close(results["out:output"][number, :length], found[0]["out:output"][number, :length], 1e-4)


@MOVED
def test_no_frame(backend: str, moved: bool) -> None:
    net = {"output": loop(attention_block(), optimize_move_layers_out=moved)}
    results = run(backend, net, {"data": numpy.zeros((2, 0, 2))}, {"data": [0, 0]}, train=True)
    assert results["out:output"].shape == (2, 0, 2)
    assert not any(value.any() for key, value in results.items() if key.startswith("grad:"))


def test_loop_of_unknown_length(backend: str) -> None:
    """As with a known one: the loop ends behind frame 1 in the second sequence."""
    unit = {
        "x": {"class": "combine", "kind": "add", "from": ["base:first", "prev:att"]},
        "att": {**SELF, "from": "x"},
        "pos": {"class": "positional_encoding", "n_out": 4},
        "end": {"class": "compare", "kind": "greater_equal", "from": [":i", "base:last"]},
        "output": {"class": "copy", "from": ["att", "pos"]},
    }
    network = {
        "length": {"class": "length", "from": "data"},
        "last": {"class": "combine", "kind": "sub", "from": ["length", "one"]},
        "one": {"class": "constant", "value": 1, "dtype": "int32"},
        "first": {"class": "slice", "axis": "T", "slice_end": 1, "from": "data"},
        "one_frame": {"class": "squeeze", "axis": "T", "from": "first"},
        "output": {"class": "rec", "from": [], "unit": unit, "max_seq_len": 9, "include_eos": True},
    }
    unit["x"]["from"] = ["base:one_frame", "prev:att"]
    results = run(backend, network)
    assert lengths(results) == [3, 2]
    first = input_values((2, 3, 2))[:, 0]
    for number, length in enumerate([3, 2]):
        x = numpy.zeros((length, 2))
        before = numpy.zeros(2)
        for t in range(length):
            x[t] = first[number] + before
            before = naive_attention(x[: t + 1])[t]
            close(results["out:output"][number, t, :2], before)
            close(results["out:output"][number, t, 2:], encoding(t))


@pytest.mark.parametrize("moved", [False, True], ids=["in_loop", "moved"])
def test_time_axis_of_the_input_comes_first(backend: str, moved: bool) -> None:
    """An input with a time axis of its own is attended to along that, and needs no attention_left_only. The loop gives
    the same in each of its frames."""
    att = {**SELF, "attention_left_only": False, "from": "base:data:enc"}
    position = {"class": "positional_encoding", "n_out": 4, "from": "base:data:enc"}
    opts: dict[str, Any] = {
        "extern_data": {"data": {"dim": 2}, "enc": {"dim": 2}},
        "data": {"data": input_values((2, 4, 2)), "enc": input_values((2, 3, 2))},
        "lens": {"data": [4, 1], "enc": [3, 2]},
    }
    y, p = outputs(backend, {"att": att, "pos": position}, "att", "pos", moved=moved, **opts)
    assert y.shape == ((2, 3, 2) if moved else (2, 4, 3, 2))
    for values in [y] if moved else y.swapaxes(0, 1):
        close(values[0, 0], [-0.10654, 0.16128])
    for values in [p] if moved else p.swapaxes(0, 1):
        close(values[0, 1], encoding(1))


# ---- positions


def encoding(position: int) -> list[float]:
    """
    :return: of four channels: rates 1 and 1e-4
    """
    angles = [float(position), position * 1e-4]
    return [math.sin(a) for a in angles] + [math.cos(a) for a in angles]


@MOVED
@pytest.mark.parametrize("source", [None, ":i", "data:source", "prev:output"])
def test_positional_encoding_counts_the_frames(backend: str, source: str | None, moved: bool) -> None:
    """p = 1 of the checks at frame 1, whatever it is added to or not. From is the number of the frame by default."""
    position: dict[str, Any] = {"class": "positional_encoding", "n_out": 4}
    if source is not None:
        position["from"] = source
    (y,) = outputs(backend, {"pos": position}, "pos", moved=moved)
    y = y if y.ndim == 2 else y[0]
    close(y[1], [0.84147, 0.0001, 0.5403, 1])
    close(y, [encoding(t) for t in range(3)])


@MOVED
def test_positional_encoding_options(backend: str, moved: bool) -> None:
    """A constant position; an offset for each sequence, 2 frames less than the length: 1 and 0; an odd dim."""
    unit = {
        "const": {"class": "positional_encoding", "n_out": 4, "constant": 1, "from": "data:source"},
        "offset": {"class": "positional_encoding", "n_out": 4, "offset": "base:offset", "from": "data:source"},
        "odd": {"class": "positional_encoding", "n_out": 5, "from": "data:source"},
        "added": {"class": "positional_encoding", "add_to_input": True, "from": "wide"},
        "wide": {"class": "eval", "eval": "source(0) * 10", "from": "data:source"},
        "output": {"class": "copy", "from": "data:source"},
    }
    network = {
        "length": {"class": "length", "from": "data"},
        "offset": {"class": "eval", "eval": "source(0) - 2", "from": "length"},
        "output": loop(
            {name: {**desc, "is_output_layer": True} for name, desc in unit.items()}, optimize_move_layers_out=moved
        ),
    }
    names = ["output/" + name for name in ("const", "offset", "odd", "added")]
    results = run(backend, network, fetch=names)
    const, offset, odd, added = (results["out:" + name] for name in names)
    close(const, numpy.broadcast_to(encoding(1), (2, 3, 4)))
    close(offset[0], [encoding(t + 1) for t in range(3)])
    close(offset[1], [encoding(t) for t in range(3)])
    close(odd[0, 1], [0.84147, 0.0001, 0.5403, 1, 0])
    sums = 10 * input_values((2, 3, 2))[0] + [[math.sin(t), math.cos(t)] for t in range(3)]
    close(added[0], sums)


# ---- frames so far


def generic_attention(hist: Any, source: str) -> dict[str, Any]:
    """
    :param hist: Dim of the frames so far
    :param source: for the values
    :return: unit: attention with one head, made of other layers
    """
    key = {"class": "cum_concat", "out_spatial_dim": hist}
    return {
        "k": {**key, "from": "data:source"},
        "v": {**key, "from": source},
        "energy": {"class": "dot", "from": ["data:source", "k"], "red1": "F", "red2": "F", "var1": None, "var2": hist},
        "weights": {"class": "softmax_over_spatial", "axis": hist, "from": "energy"},
        "att": {"class": "dot", "from": ["weights", "v"], "red1": hist, "red2": hist, "var1": None, "var2": "F"},
    }


def softmax(x: numpy.ndarray) -> numpy.ndarray:
    """
    :return: over all of x
    """
    return numpy.exp(x) / numpy.exp(x).sum()


@MOVED
def test_frames_so_far(backend: str, moved: bool) -> None:
    """Frame t sees frames 0 .. t. The array of all frames is as long as the longest, and has a length per frame."""
    hist = SpatialDim("frames so far")
    unit = generic_attention(hist, "data:source")
    weights, att = outputs(backend, unit, "weights", "att", moved=moved)
    x = input_values((2, 3, 2))
    assert weights.shape == (2, 3, 3)
    for t in range(3):
        wanted = softmax(x[0, : t + 1] @ x[0, t])
        close(weights[0, t], [*wanted, *([0] * (2 - t))])
        close(att[0, t], wanted @ x[0, : t + 1])


def test_frames_so_far_partly_out_of_the_loop(backend: str) -> None:
    """The weights do not need the frame before, and leave the loop; the values do. Both have the same Dim."""
    hist = SpatialDim("frames so far")
    unit = generic_attention(hist, "value")
    unit["value"] = {"class": "combine", "kind": "add", "from": ["data:source", "prev:att"]}
    for moved in (True, False):
        (att,) = outputs(backend, unit, "att", moved=moved)
        x = input_values((2, 3, 2))[0]
        values = numpy.zeros((3, 2))
        before = numpy.zeros(2)
        for t in range(3):
            values[t] = x[t] + before
            before = softmax(x[: t + 1] @ x[t]) @ values[: t + 1]
            close(att[0, t], before)


@MOVED
def test_frames_so_far_at_the_frame_before(backend: str, moved: bool) -> None:
    """No frame at first."""
    unit = {
        "all": {"class": "cum_concat", "from": "data:source"},
        "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "prev:all"},
        "output": {"class": "combine", "kind": "add", "from": ["sum", "data:source"]},
    }
    (y,) = outputs(backend, unit, "output", moved=moved, **NUMBERS)
    close(y[0, :, 0], [1, 3, 6])


@MOVED
def test_frames_so_far_read_outside(backend: str, moved: bool) -> None:
    """Lengths 1, 2, 3; zeros behind them, where the loop makes it."""
    unit = {
        "x": {"class": "combine", "kind": "add", "from": ["data:source", "prev:x"]},
        "all": {"class": "cum_concat", "from": "x", "is_output_layer": True},
        "output": {"class": "reduce", "mode": "sum", "axis": "T", "from": "all"},
    }
    unit["y"] = {"class": "combine", "kind": "add", "from": ["output", "prev:y"], "is_output_layer": True}
    (x, y) = outputs(backend, unit, "output", "y", moved=moved, **NUMBERS)
    close(x[0, :, 0], [1, 1 + 3, 1 + 3 + 6])
    close(y[0, :, 0], [1, 1 + 4, 1 + 4 + 10])


# ---- running sums, windows


@MOVED
@pytest.mark.parametrize("axis", ["T", "loop"])
def test_cumsum(backend: str, axis: str, moved: bool) -> None:
    """1, 1 + 2, 1 + 2 + 3; a number is added to each."""
    unit = {
        "sum": {"class": "cumsum", "axis": "T", "from": "data:source"},
        "more": {"class": "cumsum", "additional_left_summand_per_element": 0.5, "axis": "T", "from": "data:source"},
    }
    if axis == "loop":
        unit["sum"]["axis"] = single_step_dim
    plain, more = outputs(backend, unit, "sum", "more", moved=moved, **NUMBERS)
    close(plain[0, :, 0], [1, 3, 6])
    close(more[0, :, 0], [1.5, 4, 7.5])


@MOVED
@pytest.mark.parametrize("version", [0, 24])
@pytest.mark.parametrize("size", [1, 3])
def test_window(backend: str, size: int, version: int, moved: bool) -> None:
    """Zeros in front of the first frame; the window is behind the batch, or, in newer versions, in front of it."""
    dim = SpatialDim("window", size)
    window = {"class": "window", "window_dim": dim, "window_left": size - 1, "window_right": 0, "axis": "T"}
    unit = {"w": {**window, "from": "data:source"}, "sum": {"class": "reduce", "mode": "sum", "axis": dim, "from": "w"}}
    w, total = outputs(backend, unit, "w", "sum", moved=moved, version=version, **NUMBERS)
    wanted = [[0, 0, 1], [0, 1, 2], [1, 2, 3]]
    assert w.size == 2 * 3 * size
    first = w[0, ..., 0] if w.shape[0] == 2 else w[:, :, 0, 0]
    close(first, numpy.array(wanted)[:, 3 - size :])
    close(total[0, :, 0], numpy.sum(numpy.array(wanted)[:, 3 - size :], axis=1))


# ---- errors


@pytest.mark.parametrize(
    "layer, text",
    [
        (
            {**SELF, "attention_left_only": False},
            "self-attention without attention_left_only is not possible within a loop over the frames: later frames "
            "are not there yet",
        ),
        (
            {**SELF, "key_shift": "data:source"},
            "key_shift must be [1, frames so far, 2] over the frames of a loop, but layer 'data:source' is "
            "[B,F|F'feature:data'(2)] float32",
        ),
        (
            {"class": "cumsum", "reverse": True, "from": "data:source"},
            "reverse is not possible within a loop over the frames: later frames are not there yet",
        ),
        (
            {"class": "window", "window_size": 3, "from": "data:source"},
            "a window with window_right 1 and stride 1 is not possible within a loop over the frames: later frames "
            "are not there yet",
        ),
        (
            {"class": "cum_concat", "out_spatial_dim": SpatialDim("three", 3), "from": "data:source"},
            "out_spatial_dim must be a Dim without a size, but is Dim{'three'(3)}",
        ),
    ],
)
def test_what_cannot_be_within_a_loop(layer: dict[str, Any], text: str) -> None:
    with pytest.raises(NetworkLayerException) as info:
        run("tf", {"output": loop({"output": layer})})
    place = 'network["output/output"] (class %r): ' % layer["class"]
    assert str(info.value).splitlines()[0] == place + text


def test_frames_so_far_outside_of_loops() -> None:
    with pytest.raises(NetworkLayerException, match="the layer is for the unit of a recurrent layer"):
        run("tf", {"output": {"class": "cum_concat", "from": "data"}})
