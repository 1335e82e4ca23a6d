"""Laws of a recurrent unit that is a network, over generated units.

Each law is for any unit; what is drawn here has cells, feed-forward layers, attention, subnetworks, and frames before
with all kinds of initial outputs. At the newest behaviour version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from returnn.network.errors import NetworkLayerException
from returnn.tensor import SpatialDim
from returnn.util.behavior_version import BehaviorVersion
from tests.network.peer_case import differences

from .loops import BACKENDS, Arrays, loop, run

DIM = 3
LENS = {"data": [4, 1, 3], "classes": [4, 1, 3], "other": [2, 3, 1]}
FETCH = ["output", "last"]

few = settings(max_examples=6, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
some = settings(few, max_examples=15)


def extern_data() -> dict[str, Any]:
    """
    :return: frames and their labels; and an encoder's output of other lengths
    """
    frames = SpatialDim("frames")
    return {
        "data": {"dim": DIM, "same_dim_tags_as": {"T": frames}},
        "classes": {"dim": 4, "sparse": True, "same_dim_tags_as": {"T": frames}, "available_for_inference": False},
        "other": {"dim": DIM, "same_dim_tags_as": {"T": SpatialDim("other")}},
    }


def batch(*, padding: float = 0.0) -> dict[str, numpy.ndarray]:
    """
    :param padding: what stands behind the ends of the inputs
    :return: three sequences
    """
    random = numpy.random.RandomState(3)
    res = {
        "data": random.normal(size=(3, 4, DIM)),
        "classes": random.randint(0, 4, (3, 4)),
        "other": random.normal(size=(3, 3, DIM)),
    }
    for key in ("data", "other"):
        for seq, num in enumerate(LENS[key]):
            res[key][seq, num:] = padding
    return res


# ---- units

INITIAL = [None, "zeros", "ones", -1, 0.5, "base:start"]


@st.composite
def units(draw: st.DrawFn) -> dict[str, Any]:
    """
    :return: unit of 2 to 5 layers (some are made of several), and what reads them
    """
    names = ["a", "b", "c", "d", "e"][: draw(st.integers(2, 5))]
    unit: dict[str, Any] = {}
    for i, name in enumerate(names):
        same_frame = st.sampled_from(["data:source", *names[:i]])
        any_frame = same_frame | st.sampled_from(["prev:" + other for other in names])
        draw_layer = draw(st.sampled_from([_linear, _cell, _combine, _eval, _attention, _subnetwork]))
        draw_layer(draw, unit, name, same_frame, any_frame)
    read = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    unit["prob"] = {"class": "softmax", "from": [names[-1], *read], "target": "classes", "loss": "ce"}
    unit["output"] = {"class": "copy", "from": draw(st.sampled_from(["prob", names[-1], read[0]]))}
    unit["kept"] = {"class": "combine", "kind": "add", "from": ["data:source", names[-1]], "need_last": True}
    return unit


def _linear(draw: st.DrawFn, unit: dict[str, Any], name: str, same_frame: Any, any_frame: Any) -> None:
    unit[name] = {
        "class": "linear",
        "activation": draw(st.sampled_from(["tanh", "sigmoid", None])),
        "n_out": DIM,
        "from": draw(st.lists(any_frame, min_size=1, max_size=2)),
        "initial_output": draw(st.sampled_from([*INITIAL, "var", "apply(0)"])),
    }


def _cell(draw: st.DrawFn, unit: dict[str, Any], name: str, same_frame: Any, any_frame: Any) -> None:
    kind, cell = draw(st.sampled_from([("rnn_cell", "gru"), ("rnn_cell", "standardlstm"), ("rec", "nativelstm2")]))
    initial = draw(st.sampled_from([None, "ones", "var"] + ["base:start"] * (cell == "gru")))
    unit[name] = {"class": kind, "unit": cell, "n_out": DIM, "from": [draw(any_frame)], "initial_state": initial}


def _combine(draw: st.DrawFn, unit: dict[str, Any], name: str, same_frame: Any, any_frame: Any) -> None:
    unit[name] = {
        "class": "combine",
        "kind": draw(st.sampled_from(["add", "mul"])),
        "from": [draw(same_frame), draw(any_frame)],
        "initial_output": draw(st.sampled_from(INITIAL)),
    }


def _eval(draw: st.DrawFn, unit: dict[str, Any], name: str, same_frame: Any, any_frame: Any) -> None:
    unit[name] = {
        "class": "eval",
        "eval": "source(0) * 0.5 - 1",
        "from": [draw(same_frame)],
        "initial_output": draw(st.sampled_from([*INITIAL, "apply(0)"])),
    }


def _attention(draw: st.DrawFn, unit: dict[str, Any], name: str, same_frame: Any, any_frame: Any) -> None:
    energy = {"class": "dot", "red1": "F", "red2": "F", "var1": "stag:other", "var2": None}
    unit[name + "_energy"] = {**energy, "from": ["base:data:other", draw(any_frame)], "add_var2_if_empty": False}
    unit[name + "_weights"] = {"class": "softmax_over_spatial", "axis": "stag:other", "from": name + "_energy"}
    unit[name] = {
        "class": "dot",
        "red1": "stag:other",
        "red2": "stag:other",
        "var1": None,
        "var2": "F",
        "add_var2_if_empty": False,
        "from": [name + "_weights", "base:data:other"],
        "initial_output": draw(st.sampled_from(INITIAL)),
    }


def _subnetwork(draw: st.DrawFn, unit: dict[str, Any], name: str, same_frame: Any, any_frame: Any) -> None:
    before = {"class": "combine", "kind": "add", "from": ["in", "prev:in"]}
    outer = draw(any_frame)
    inner = {
        "in": {"class": "linear", "activation": "tanh", "n_out": DIM, "from": "data", "initial_output": "ones"},
        "before": before,
        "output": {"class": "combine", "kind": "add", "from": ["before", "base:" + outer]},
    }
    unit[name] = {"class": "subnetwork", "from": draw(same_frame), "subnetwork": inner}


def network(unit: Mapping[str, Any], **opts: Any) -> dict[str, Any]:
    """
    :param unit: of :func:`units`
    :param opts: of the recurrent layer
    """
    last = {"class": "rec_last_output", "rec_layer": "output", "sub_layer_name": "kept"}
    return {
        "start": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data:other"},
        "output": loop(unit, target="classes", **opts),
        "last": {**last, "is_output_layer": True},
    }


def compute(
    backend: str,
    unit: Mapping[str, Any],
    data: Mapping[str, numpy.ndarray] | None = None,
    lens: Mapping[str, Any] | None = None,
    *,
    moved: bool = True,
) -> Arrays:
    """
    :param unit: of :func:`units`
    :param data: :func:`batch` by default
    :param lens: ``LENS`` by default
    :param moved: what need not be computed frame by frame is not
    :return: outputs, losses, gradients, shapes of parameters
    """
    return run(
        backend,
        network(unit, optimize_move_layers_out=moved),
        batch() if data is None else data,
        LENS if lens is None else lens,
        extern_data=extern_data(),
        fetch=FETCH,
        train=True,
        param_value=lambda name, shape: None,  # a function of the name
        version=BehaviorVersion._latest_behavior_version,
    )


def assert_same(a: Arrays, b: Arrays) -> None:
    """Outputs at real frames, losses, gradients; a gradient that one side has not must be zero on the other."""
    a, b = ({k: v for k, v in x.items() if not k.startswith("grad:") or v.any()} for x in (a, b))
    assert differences(a, b) == []


def part(results: Arrays, seqs: list[int]) -> Arrays:
    """
    :param seqs: numbers of sequences
    :return: outputs of these, and their lengths
    """
    batched = [name for name in FETCH if results["axes:" + name][0]]
    keys = ["out:" + name for name in batched] + [key for key in results if key.startswith("len:")]
    return {key: results[key][seqs] for key in keys} | {k: v for k, v in results.items() if k.startswith("axes:")}


# ---- laws


@few
@given(units())
def test_moving_layers_out_changes_nothing(unit: dict[str, Any]) -> None:
    """All in the loop, or not: the same outputs, losses, gradients and parameters; in a TensorFlow graph."""
    assert_same(compute("tf", unit, moved=False), compute("tf", unit, moved=True))


@some
@given(units())
def test_moving_layers_out_changes_nothing_on_torch(unit: dict[str, Any]) -> None:
    """The same, with values computed at once."""
    pytest.importorskip("torch")
    assert_same(compute("torch", unit, moved=False), compute("torch", unit, moved=True))


@few
@given(units(), st.booleans())
def test_both_backends_give_the_same(unit: dict[str, Any], moved: bool) -> None:
    """TensorFlow and PyTorch."""
    pytest.importorskip("torch")
    assert_same(compute("tf", unit, moved=moved), compute("torch", unit, moved=moved))


@some
@given(units(), st.booleans(), st.sampled_from([100.0, -1e4]))
def test_padding_is_not_seen(unit: dict[str, Any], moved: bool, padding: float) -> None:
    """What stands behind the ends of the inputs changes nothing."""
    pytest.importorskip("torch")
    assert_same(compute("torch", unit, moved=moved), compute("torch", unit, batch(padding=padding), moved=moved))


@some
@given(units(), st.booleans(), st.permutations([0, 1, 2]))
def test_order_of_the_batch_does_not_matter(unit: dict[str, Any], moved: bool, order: list[int]) -> None:
    """Sequences in another order give the outputs in that order, and the same losses and gradients."""
    pytest.importorskip("torch")
    a = compute("torch", unit, moved=moved)
    data, lens = ({k: numpy.asarray(v)[order] for k, v in x.items()} for x in (batch(), LENS))
    b = compute("torch", unit, data, lens, moved=moved)
    assert_same(part(a, order), part(b, [0, 1, 2]))
    others = [{k: v for k, v in x.items() if k.startswith(("cost:", "grad:", "loss"))} for x in (a, b)]
    assert_same(*others)


@some
@given(units(), st.booleans())
def test_a_batch_is_its_sequences(unit: dict[str, Any], moved: bool) -> None:
    """Each sequence alone, without padding, gives its outputs; losses and gradients add up."""
    pytest.importorskip("torch")
    whole = compute("torch", unit, moved=moved)
    alone = []
    for seq in range(3):
        lens = {key: value[seq : seq + 1] for key, value in LENS.items()}
        data = {key: value[seq : seq + 1, : lens[key][0]] for key, value in batch().items()}
        alone.append(compute("torch", unit, data, lens, moved=moved))
        assert_same(part(whole, [seq]), part(alone[-1], [0]))
    sums = {
        key: sum(x.get(key, 0) for x in alone) for key in whole if key.startswith(("cost:", "grad:")) or key == "loss"
    }
    assert_same({key: whole[key] for key in sums}, {key: numpy.asarray(v, "float32") for key, v in sums.items()})


# ---- types


@pytest.mark.parametrize("backend", BACKENDS)
def test_types_that_only_frames_before_tell(backend: str) -> None:
    """A counter of its own frame before is a number, and a layer with n_out has these features; for all sequences."""
    linear = {"class": "linear", "activation": None, "with_bias": False, "n_out": 2, "is_output_layer": True}
    unit = {
        "count": {"class": "eval", "eval": "source(0) + 1", "from": "prev:count", "is_output_layer": True},
        "a": {**linear, "from": "prev:b", "initial_output": "ones"},
        "b": {**linear, "from": "prev:a", "initial_output": "ones"},
        "output": {"class": "copy", "from": "data:source"},
    }
    results = run(
        backend,
        {"output": loop(unit)},
        fetch=["output/count", "output/a"],
        param_value=lambda name, shape: numpy.full(shape, 1.5),
    )
    assert results["out:output/count"].tolist() == [1, 2, 3]
    assert results["out:output/a"].tolist() == [[3, 3], [9, 9], [27, 27]]


def test_types_that_nothing_tells() -> None:
    """Where a number in the place of what is not known does not fit, the error names the layers."""
    unit = {
        "a": {"class": "reduce", "mode": "max", "axis": "F", "from": "prev:b"},
        "b": {"class": "copy", "from": "prev:a"},
        "output": {"class": "copy", "from": "a"},
    }
    with pytest.raises(NetworkLayerException) as info:
        run("tf", {"output": loop(unit)})
    assert str(info.value).startswith(
        "network[\"output\"] (class 'rec'): layer 'output': nothing says what the outputs of these layers in its unit "
        "are, as each depends on the frame before: a, b, output. Give one of them an initial_output that is a layer, "
        "or out_type"
    )


def test_types_that_grow() -> None:
    """A layer that appends to its own frame before has more features each time one looks."""
    unit = {"output": {"class": "copy", "from": ["data:source", "prev:output"]}}
    with pytest.raises(NetworkLayerException) as info:
        run("tf", {"output": loop(unit)})
    text = str(info.value)
    assert text.startswith("network[\"output\"] (class 'rec'): layer 'output': the outputs of these layers")
    assert "output [B,F" in text


def test_what_is_wrong_without_the_type() -> None:
    """If a layer needs what nobody tells, the error says what it says without."""
    unit = {
        "a": {"class": "dot", "red1": "F", "red2": "F", "var1": None, "var2": None, "from": ["data:source", "prev:b"]},
        "b": {"class": "copy", "from": "a", "is_output_layer": True},
        "output": {"class": "copy", "from": "data:source"},
    }
    with pytest.raises(NetworkLayerException) as info:
        run("tf", {"output": loop(unit)})
    assert str(info.value).endswith(
        "before: a, b. Give one of them an initial_output that is a layer, or out_type. Without that: "
        'network["output/a"] (class \'dot\'): "from" must list two layers, but has 1'
    )


def test_type_from_the_initial_output() -> None:
    """A layer outside that is the initial output tells the type: the start moves on from a to b, and back."""
    unit = {
        "a": {"class": "copy", "from": "prev:b"},
        "b": {"class": "copy", "from": "prev:a", "initial_output": "base:start"},
        "output": {"class": "copy", "from": "a"},
    }
    network = {"start": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"}, "output": loop(unit)}
    data = {"data": [[[1, 2], [3, 0], [2, 1]], [[5, 6], [0, 0], [0, 0]]]}
    out = run("tf", network, data, {"data": [3, 1]})["out:output"]
    assert out.tolist() == [[[3, 2], [0, 0], [3, 2]], [[5, 6], [0, 0], [5, 6]]]
