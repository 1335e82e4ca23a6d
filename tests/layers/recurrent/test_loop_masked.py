"""Layers within a loop that are computed in some frames only: masked_computation, unmask, cond."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.errors import ConfigError
from tests.layers.both_backends import Arrays, differences, on_tensorflow, on_torch
from tests.network.net import Net
from tests.network.peer_case import param_value_of_shape

LENS = numpy.array([6, 2, 4], "int32")
EXTERN_DATA = {"data": {"dim": 4}}
DATA = {"data": numpy.random.RandomState(1).normal(size=(3, 6, 4)).astype("float32"), "data:size1": LENS}
ONE_NUMBER = {"data": {"shape": (None,), "dtype": "float32"}}

LINEAR = {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"}
UNITS: dict[str, dict[str, Any]] = {
    "linear": {**LINEAR, "initial_output": 0.5},
    "linear with a parameter in front": {**LINEAR, "initial_output": "var"},
    "linear on zeros in front": {**LINEAR, "initial_output": "apply(0)"},
    "linear with a layer in front": {**LINEAR, "initial_output": "base:start"},
    "cell": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": "data", "initial_state": "ones"},
    "native LSTM": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data"},
    "self-attention": {
        "class": "self_attention",
        "num_heads": 1,
        "total_key_dim": 2,
        "n_out": 3,
        "attention_left_only": True,
        "from": "data",
    },
    "position": {"class": "positional_encoding", "n_out": 4, "add_to_input": True, "from": "data"},
    "network": {
        "class": "subnetwork",
        "from": "data",
        "subnetwork": {
            "cell": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": "data"},
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["cell", "prev:output"]},
        },
    },
}
SIZES = {
    "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data:source"},
    "mask": {"class": "compare", "kind": "greater", "value": 0.5, "from": "sum", "initial_output": True},
}
START = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "start": {"class": "linear", "activation": None, "n_out": 3, "from": "mean"},
}


def rec(unit: dict[str, Any], *, moves_out: bool = True, **opts: Any) -> dict[str, Any]:
    """
    :param unit: layers of the loop
    :param moves_out: layers that can leave the loop do
    :return: network
    """
    layer = {"class": "rec", "from": "data", "unit": unit, "optimize_move_layers_out": moves_out, **opts}
    return {**START, "output": layer}


def assert_same_everywhere(unit: dict[str, Any], *, extern_data: Any = None, data: Any = None, **opts: Any) -> Arrays:
    """
    In the loop and moved out of it, on TensorFlow and on PyTorch: output and gradients are the same.

    :param unit: layers of the loop
    :param extern_data: by default 4 features
    :param data: values for it
    :param opts: of the layer, or further layers, see ``outside``
    :return: results
    """
    outside = opts.pop("outside", {})
    args: dict[str, Any] = {
        "extern_data": extern_data or EXTERN_DATA,
        "data": data or DATA,
        "train": True,
    }
    results = [
        on({**outside, **rec(unit, moves_out=moves_out, **opts)}, **args)
        for on in (on_tensorflow, on_torch)
        for moves_out in (True, False)
    ]
    for other in results[1:]:
        assert differences(results[0], other) == []
    return results[0]


def numbers(unit: dict[str, Any], values: Any, *, name: str = "output", **opts: Any) -> list[Any]:
    """
    :param unit: layers of the loop
    :param values: of one sequence
    :param name: of a layer
    :return: its output
    """
    with Net(rec(unit, **opts) | {"start": {"class": "constant", "value": 5.0}}, ONE_NUMBER) as net:
        return net.out(name, net.feed(data=[values]))[:, 0].tolist()


# ---- check 22: times 10, where the number is even


def even(initial: Any) -> dict[str, Any]:
    """
    :param initial: output of the unit in front of the first frame where the mask is true
    """
    times = {"class": "eval", "eval": "source(0) * 10.0", "from": "data", "initial_output": initial}
    return {
        "rest": {"class": "eval", "eval": "source(0) % 2", "from": "data:source"},
        "mask": {"class": "compare", "kind": "equal", "value": 0, "from": "rest"},
        "masked": {"class": "masked_computation", "mask": "mask", "from": "data:source", "unit": times},
        "unmasked": {"class": "unmask", "mask": "mask", "from": "masked"},
    }


IN_LOOP = pytest.mark.parametrize("moves_out", [True, False], ids=["moved out", "in loop"])


@IN_LOOP
@pytest.mark.parametrize("source", ["masked", "unmasked"])
@pytest.mark.parametrize("initial", [None, 0, 7, "ones", "base:start"])
def test_between_masked_frames(moves_out: bool, source: str, initial: Any) -> None:
    """Of 1 2 3 4: 0 20 20 40, or 7 in front. Class unmask changes nothing."""
    unit = {**even(initial), "output": {"class": "copy", "from": source}}
    start = {None: 0, "ones": 1, "base:start": 5}.get(initial, initial)
    assert numbers(unit, [1, 2, 3, 4], moves_out=moves_out) == [start, 20, 20, 40]


@IN_LOOP
def test_no_frame_at_all(moves_out: bool) -> None:
    """The mask is false everywhere."""
    unit = {**even(7), "output": {"class": "copy", "from": "unmasked"}}
    assert numbers(unit, [1, 3, 5], moves_out=moves_out) == [7, 7, 7]


@IN_LOOP
def test_frame_before(moves_out: bool) -> None:
    """The initial output of the unit is that of the layer: 7, then 7 20 20."""
    unit = {**even(7), "output": {"class": "copy", "from": "prev:masked"}}
    assert numbers(unit, [1, 2, 3, 4], moves_out=moves_out) == [7, 7, 20, 20]


@IN_LOOP
def test_mask_from_the_loop(moves_out: bool) -> None:
    """A sum of the frames since it was above 5, which the mask needs itself: of 1 2 3 4 5 6: 1 3 6, 4 9, 6."""
    unit = {
        "small": {"class": "compare", "kind": "less", "value": 5, "from": "prev:output"},
        "before": {"class": "switch", "condition": "small", "true_from": "prev:output", "false_from": 0.0},
        "sum": {"class": "combine", "kind": "add", "from": ["data:source", "before"]},
        "is_sum": {"class": "compare", "kind": "greater", "value": 5, "from": "sum"},
        "masked": {"class": "masked_computation", "mask": "is_sum", "from": "sum", "unit": {"class": "copy"}},
        "output": {"class": "copy", "from": "sum"},
        "last": {"class": "unmask", "mask": "is_sum", "from": "masked", "is_output_layer": True},
    }
    assert numbers(unit, [1, 2, 3, 4, 5, 6], moves_out=moves_out) == [1, 3, 6, 4, 9, 6]
    assert numbers(unit, [1, 2, 3, 4, 5, 6], moves_out=moves_out, name="output/last") == [0, 0, 6, 6, 9, 6]


@IN_LOOP
def test_mask_that_is_the_same_for_all_sequences(moves_out: bool) -> None:
    """Each second frame: of 1 2 3 4: 1 1 3 3."""
    unit = {
        "rest": {"class": "eval", "eval": "source(0) % 2", "from": ":i"},
        "mask": {"class": "compare", "kind": "equal", "value": 0, "from": "rest"},
        "output": {"class": "masked_computation", "mask": "mask", "from": "data:source", "unit": {"class": "copy"}},
    }
    assert numbers(unit, [1, 2, 3, 4], moves_out=moves_out) == [1, 1, 3, 3]


# ---- units with states


def masked(name: str, **opts: Any) -> dict[str, Any]:
    """
    :param name: of a unit
    :return: layer with that unit
    """
    unit = UNITS[name]
    return {"class": "masked_computation", "mask": "mask", "from": "data:source", "unit": unit, **opts}


@pytest.mark.parametrize("name", UNITS)
def test_in_loop_and_moved_out(name: str) -> None:
    """The same, on both backends."""
    results = assert_same_everywhere({**SIZES, "output": masked(name)})
    assert numpy.abs(results["out"]).max() > 0.1


@pytest.mark.parametrize("name", UNITS)
def test_with_feedback(name: str) -> None:
    """The mask, and a source, come from the frame before."""
    unit = {
        "s": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["data:source", "prev:x"]},
        "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "s"},
        "mask": {"class": "compare", "kind": "greater", "value": 0.0, "from": "sum", "initial_output": False},
        "x": masked(name, **{"from": "s", "mask": "prev:mask"}),
        "output": {"class": "unmask", "mask": "prev:mask", "from": "x"},
    }
    assert_same_everywhere(unit)


@pytest.mark.parametrize("name", [name for name in UNITS if "in front" not in name and name != "network"])
def test_frames_between_are_not_seen(name: str) -> None:
    """As outside of any loop, where the frames of the mask stand one behind the other."""
    scope = "/output/rec/x/rec" if name in ("cell", "native LSTM") else "/output/rec/x"
    outside = {
        "sum": {**SIZES["sum"], "from": "data"},
        "mask": {**SIZES["mask"], "from": "sum"},
        "x": {**masked(name), "from": "data", "name_scope": scope},
        "output": {"class": "unmask", "mask": "mask", "from": "x"},
    }
    inside = rec({**SIZES, "x": masked(name), "output": {"class": "copy", "from": "x"}}, moves_out=False)
    args: dict[str, Any] = {"extern_data": EXTERN_DATA, "data": DATA, "train": True}
    expected, results = on_tensorflow(outside, **args), on_tensorflow(inside, **args)
    first = DATA["data"].sum(axis=2) > 0.5  # in front of it, a cell in a loop has its initial state
    seen = numpy.cumsum(first, axis=1).T[:, :, None] > 0
    for arrays in (expected, results):
        arrays["out"] = numpy.where(seen, arrays["out"], 0)
    if name != "cell":
        assert differences(expected, results) == []
    numpy.testing.assert_allclose(results["out"], expected["out"], rtol=1e-4, atol=1e-5)
    assert seen[:6, 0].any() and not seen.all()


def test_last_state_and_parts() -> None:
    """Of a masked unit: the state behind the last frame that it saw; and a layer inside."""
    network = {
        "class": "subnetwork",
        "from": "data",
        "subnetwork": {
            "a": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
            "output": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": "a"},
        },
    }
    unit = {
        **SIZES,
        "x": {**masked("cell"), "unit": network},
        "c": {"class": "get_last_hidden_state", "from": "x", "key": "c", "n_out": 3},
        "c_before": {"class": "get_last_hidden_state", "from": "prev:x", "key": "c", "n_out": 3},
        "output": {"class": "copy", "from": ["c", "c_before", "x/a"]},
    }
    results = assert_same_everywhere(unit)["out"]
    c, c_before, a = results[..., :3], results[..., 3:6], results[..., 6:]
    numpy.testing.assert_allclose(c[:5, 0], c_before[1:6, 0], rtol=1e-5)
    mask = DATA["data"].sum(axis=2)[0] > 0.5
    assert mask.any() and not mask.all()
    for t in range(1, 6):
        assert (c[t, 0] != c[t - 1, 0]).any() == mask[t]
        assert (a[t, 0] != a[t - 1, 0]).any() == mask[t]


@IN_LOOP
def test_cell_in_front_of_the_first_frame(moves_out: bool) -> None:
    """A cell starts with the output of its initial state: h is 1, c is 0."""
    cell = {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": "data:source"}
    unit = {
        "x": {**cell, "initial_state": {"c": "zeros", "h": "ones"}},
        "y": {**cell, "initial_state": {"c": "ones", "h": "zeros"}},
        "output": {"class": "copy", "from": ["prev:x", "prev:y"]},
    }
    with Net(rec(unit, moves_out=moves_out), EXTERN_DATA) as net:
        assert net.out(feed=net.feed(data=DATA["data"]))[0, 0].tolist() == [1, 1, 1, 0, 0, 0]


# ---- masked_from


LABELS = {**EXTERN_DATA, "labels": {"dim": 5, "sparse": True}}


def labels(lens: list[int]) -> dict[str, Any]:
    """
    :param lens: of the labels
    """
    values = numpy.array([[3, 1, 4, 2], [0, 2, 2, 1], [1, 0, 3, 3]], "int32")[:, : max(lens)]
    return {**DATA, "labels": values, "labels:size1": numpy.array(lens, "int32")}


FROM_LABELS = {
    **SIZES,
    "x": masked("native LSTM", masked_from="base:embed"),
    "output": {"class": "unmask", "mask": "mask", "from": "x"},
}
EMBED = {"embed": {"class": "linear", "activation": None, "n_out": 2, "from": "data:labels"}}


@pytest.mark.parametrize("lens", [[4, 1, 2], [1, 0, 3], [0, 0, 0]])
def test_masked_from(lens: list[int]) -> None:
    """The unit runs over the labels. The mask tells which of them a frame gets; the last one, if there are too few."""
    results = assert_same_everywhere(FROM_LABELS, extern_data=LABELS, data=labels(lens), outside=EMBED)
    unit = {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "embed", "name_scope": "output/rec/x/rec"}
    args: dict[str, Any] = {"extern_data": LABELS, "data": labels(lens), "train": True}
    frames = on_tensorflow({**EMBED, "output": unit}, **args)["out"]
    counts = numpy.cumsum(DATA["data"].sum(axis=2) > 0.5, axis=1)
    for b, length in enumerate(LENS):
        for t in range(length):
            number = min(counts[b, t], lens[b])
            expected = frames[number - 1, b] if number else numpy.zeros(3)
            numpy.testing.assert_allclose(results["out"][t, b], expected, rtol=1e-5, atol=1e-6)


def test_masked_from_needs_no_mask_for_the_unit() -> None:
    """But a frame of the loop has to be masked, to stand beside the labels."""
    network = {"class": "linear", "activation": None, "n_out": 2, "from": ["data", "sum"]}
    unit = {**FROM_LABELS, "sum": {**SIZES["sum"], "keep_dims": True}, "x": masked("linear", masked_from="base:embed")}
    unit["x"] |= {"unit": network, "mask": None}
    del unit["mask"]
    unit["output"] = {"class": "copy", "from": "data:source"}
    unit["x"]["is_output_layer"] = True
    with pytest.raises(ConfigError, match=r'has frames of the loop: option "mask" is needed'):
        Net({**EMBED, **rec(unit)}, LABELS)


# ---- parameters, losses, mistakes


@IN_LOOP
def test_names_of_parameters(moves_out: bool) -> None:
    """As if the unit were the layer."""
    unit = {**SIZES, "output": masked("linear"), "lm": masked("network"), "c": masked("native LSTM")}
    unit["lm"] |= {"is_output_layer": True}
    unit["c"] |= {"is_output_layer": True}
    with Net(rec(unit, moves_out=moves_out), EXTERN_DATA) as net:
        found = set(net.param_shapes())
    assert found == {
        *("output/rec/output/" + name for name in ("W", "b")),
        *("output/rec/c/rec/" + name for name in ("W", "W_re", "b")),
        *("output/rec/lm/output/" + name for name in ("W", "b")),
        *(
            "output/rec/lm/cell/rec/gru_cell/%s/%s" % (part, name)
            for part in ("gates", "candidate")
            for name in ("kernel", "bias")
        ),
    }


NESTED = {
    **SIZES,
    "other": {"class": "compare", "kind": "less", "value": 1.5, "from": "sum"},
    "both": {"class": "combine", "kind": "logical_and", "from": ["mask", "other"]},
}


@pytest.mark.parametrize("name", ["cell", "linear with a parameter in front", "network", "self-attention"])
def test_one_within_another(name: str) -> None:
    """The same as one with both masks, where the unit in between is no more than its output."""
    inner = {"class": "masked_computation", "mask": "other", "from": "data", "unit": UNITS[name]}
    outer = {"class": "masked_computation", "mask": "mask", "from": "data:source", "unit": inner}
    one = {**outer, "mask": "both", "unit": UNITS[name]}
    found = []
    for layer in (one, outer):
        unit = {**NESTED, "c": layer, "output": {"class": "combine", "kind": "add", "from": ["c", "prev:output"]}}
        found.append(assert_same_everywhere({**unit}))
    numpy.testing.assert_allclose(found[0]["out"], found[1]["out"], rtol=1e-5, atol=1e-6)


@IN_LOOP
def test_loss_within_both_masks(moves_out: bool) -> None:
    """Numbers 1 2 3 4, even and then above 2: 40 alone counts."""
    times = {"class": "eval", "eval": "source(0) * 10.0", "from": "data", "initial_output": 7, "loss": "as_is"}
    unit = even(7)
    unit["large"] = {"class": "compare", "kind": "greater", "value": 2.0, "from": "data:source"}
    inner = {"class": "masked_computation", "mask": "large", "from": "data", "unit": times}
    unit["masked"]["unit"] = inner
    unit["output"] = {"class": "copy", "from": "masked"}
    with Net(rec(unit, moves_out=moves_out), ONE_NUMBER, train=True) as net:
        fetches = net.fetches(net.feed(data=[[1, 2, 3, 4]]))
    assert [value for key, value in fetches.items() if key.startswith("cost:")] == [40]


@IN_LOOP
def test_loss_of_the_unit(moves_out: bool) -> None:
    """Frames between do not count: 20 + 40, norm factor 1/2."""
    unit = even(7)
    unit["masked"]["unit"] |= {"loss": "as_is"}
    unit["output"] = {"class": "copy", "from": "masked"}
    with Net(rec(unit, moves_out=moves_out), ONE_NUMBER, train=True) as net:
        fetches = net.fetches(net.feed(data=[[1, 2, 3, 4]]))
    assert fetches["cost:output/masked/masked"] == 60
    assert fetches["loss_norm_factor:output/masked/masked"] == 0.5


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            {"output": masked("linear", mask="sum")},
            r"the mask must be bool \[batch\] within a loop, but is \[B\] float32",
        ),
        ({"output": masked("linear", mask=None)}, 'option "mask" is missing'),
        ({"output": masked("linear", **{"from": []})}, '"data" is used in the unit, but "from" is empty'),
    ],
)
def test_messages(layers: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r'(?s)network\["output/output.*' + message):
        Net(rec({**SIZES, **layers}), EXTERN_DATA)


# ---- cond


FIRST = {"first": {"class": "compare", "kind": "less", "value": 2, "from": ":i"}}


def cond(true: Any, false: Any) -> dict[str, Any]:
    """
    :param true: layer for the first two frames
    :param false: for all others
    """
    return {"class": "cond", "from": [], "condition": "first", "true_layer": true, "false_layer": false}


def test_cond_by_number_of_frame() -> None:
    """Of 1 2 3 4: times ten, then the frame before plus one: 10 20 21 22."""
    ten = {"class": "eval", "eval": "source(0) * 10.0", "from": "data:source"}
    one = {"class": "eval", "eval": "source(0) + 1.0", "from": "prev:output"}
    assert numbers({**FIRST, "output": cond(ten, one)}, [1, 2, 3, 4]) == [10, 20, 21, 22]


def test_cond_with_layers_around() -> None:
    """A network in a branch; layers outside of the loop; on both backends."""
    network = {
        "class": "subnetwork",
        "from": ["data:source", "prev:output"],
        "subnetwork": {
            "a": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
            "output": {"class": "combine", "kind": "add", "from": ["a", "base:base:start"]},
        },
    }
    assert_same_everywhere({**FIRST, "output": cond({**LINEAR, "from": "data:source"}, network)})


def test_state_in_a_branch_stays() -> None:
    """A cell that runs in each second frame only is a cell that is masked."""
    cell = {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": "data:source"}
    unit = {
        "rest": {"class": "eval", "eval": "source(0) % 2", "from": ":i"},
        "first": {"class": "compare", "kind": "equal", "value": 0, "from": "rest"},
        "output": cond(cell, "prev:output"),
    }
    results = assert_same_everywhere(unit)
    unit["output"] = {
        "class": "masked_computation",
        "mask": "first",
        "from": "data:source",
        "unit": cell | {"from": "data"},
    }
    args: dict[str, Any] = {"extern_data": EXTERN_DATA, "data": DATA, "train": True}
    assert differences(results, on_tensorflow(rec(unit), **args)) == []


def test_frame_before_within_a_branch() -> None:
    network = {
        "class": "subnetwork",
        "from": "data:source",
        "subnetwork": {"output": {**LINEAR, "from": ["data", "prev:output"]}},
    }
    unit = {**FIRST, "output": cond(network, {**LINEAR, "from": "data:source"})}
    with pytest.raises(
        ConfigError, match="within a layer of class cond, there is no frame before of the layers inside"
    ):
        Net(rec(unit), EXTERN_DATA)


# ---- in a search


CELL = {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["embed", "data:source"]}
IN_SEARCH = {
    "masked": {
        "emit": {"class": "compare", "kind": "greater", "value": 1, "from": "output", "initial_output": False},
        "s": {
            "class": "masked_computation",
            "mask": "prev:emit",
            "from": CELL["from"],
            "unit": {**CELL, "from": "data"},
        },
    },
    "masked behind the choice": {
        "emit": {"class": "compare", "kind": "greater", "value": 1, "from": "output", "initial_output": False},
        "masked": {
            "class": "masked_computation",
            "mask": "emit",
            "from": "embed_now",
            "unit": {**CELL, "from": "data"},
        },
        "embed_now": {"class": "linear", "activation": None, "n_out": 3, "from": "output"},
        "s": {"class": "copy", "from": "prev:masked"},
    },
    "cond": {
        "rest": {"class": "eval", "eval": "source(0) % 2", "from": ":i"},
        "first": {"class": "compare", "kind": "equal", "value": 0, "from": "rest"},
        "s": cond(CELL, "prev:s"),
    },
}


@pytest.mark.parametrize("name", IN_SEARCH)
def test_search(name: str) -> None:
    """The score of the best hypothesis is what the same network gives these labels as targets."""
    unit = {
        **IN_SEARCH[name],
        "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
        "prob": {"class": "softmax", "from": ["s", "data:source"], "target": "classes", "loss": "ce"},
        "output": {
            "class": "choice",
            "target": "classes",
            "beam_size": 3,
            "from": "prob",
            "initial_output": 0,
            "length_normalization": False,
        },
    }
    extern_data = {**EXTERN_DATA, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
    network = {**rec(unit, target="classes", include_eos=True), "best": {"class": "decide", "from": "output"}}

    def values(net: Net) -> None:
        params = {var.op.name: var for var in net.net.get_params_list()}
        for key, var in params.items():
            shape = tuple(var.shape.as_list())
            var.load(param_value_of_shape(key, shape, numpy.dtype("float32"), 1.0, 7), net.session)

    network["best"]["is_output_layer"] = True
    with Net(network, extern_data, search=True) as net:
        values(net)
        choices = net.layers["best"].get_search_choices() or net.layers["output"].get_search_choices()
        feed = net.feed(data=DATA["data"], lens={"data": LENS})
        labels_found = net.out("best", feed)
        scores = net.session.run(choices.beam_scores, feed).max(axis=1)
    with Net(network, extern_data, evaluation=True) as net:
        values(net)
        feed = net.feed(data=DATA["data"], classes=labels_found, lens={"data": LENS, "classes": LENS})
        cost = net.fetches(feed, should_train=False, should_eval=True)["cost:output/prob"]
    assert len({tuple(row) for row in labels_found.tolist()}) > 1
    numpy.testing.assert_allclose(-scores.sum(), cost, rtol=1e-4)
