"""Mistakes in a layer dict are found before anything is built, all at once."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest

from returnn.layers.base import LayerBase
from returnn.layers.registry import get_layer_class_name_list
from returnn.log import log
from returnn.network.check import check_net_dict, problems_text, report_problems
from returnn.network.errors import LayerNotFound, LayerOptionError

LINEAR = {"class": "linear", "n_out": 3, "activation": None, "from": "data"}
SOFTMAX = {"class": "softmax", "loss": "ce", "from": "data"}
KEYS = ("data", "classes")


def lines(network: dict[str, Any], *, needed: bool = True, **options: Any) -> list[str]:
    """those of the layers that are needed, or of the others; without notes"""
    return [p.line for p in check_net_dict(network, KEYS, **options) if p.needed is needed]


def test_all_kinds_of_mistakes_at_once() -> None:
    """One line each, sorted by path; valid names once, behind the last line that they are about."""
    network = {
        "enc": {**LINEAR, "with_baes": False, "frm": "data"},
        "enc2": {**LINEAR, "n_outt": 3, "from": "encc"},
        "conv": {"class": "lineer", "from": "enc2"},
        "sub": {"class": "subnetwork", "subnetwork": {"output": {"clas": "copy", "from": "base:con"}}, "from": "conv"},
        "x": {"class": "zzzzz", "from": ["sub", "enc", "data:clases"]},
        "output": {**SOFTMAX, "from": "x", "loss": "cee"},
        "aux": {**SOFTMAX, "target": "clases"},
    }
    text = problems_text(check_net_dict(network, KEYS)).splitlines()
    options = text.pop(5)
    assert options.startswith("  Its options: class, from, L2, activation, ")
    classes = text.pop(-2)
    known = [name for name in get_layer_class_name_list() if not name.startswith(":")]
    assert classes == "  Layer classes: " + ", ".join(known)
    losses = [line.partition(" Losses: ") for line in text]
    assert [names for _, _, names in losses if names][0].startswith("as_is, ")
    assert [line for line, _, _ in losses] == [
        'network["aux"]: target \'clases\' is neither a layer nor a data key. Did you mean "classes"?'
        " Data keys: classes, data",
        'network["conv"]: unknown layer class \'lineer\'. Did you mean "linear"?',
        'network["enc"]: option "frm" is unknown to layer class "linear". Did you mean "from"?',
        'network["enc"]: option "with_baes" is unknown to layer class "linear". Did you mean "with_bias"?',
        'network["enc2"]: option "n_outt" is unknown to layer class "linear". Did you mean "n_out"?',
        'network["enc2"]: layer \'encc\' not found in network. Did you mean "enc" or "enc2"?',
        'network["output"]: unknown loss class \'cee\'. Did you mean "ce"?',
        'network["sub/output"]: option "class" is missing: is "clas" meant?',
        'network["sub/output"]: layer \'con\' not found in network. Did you mean "conv"?',
        "network[\"x\"]: unknown layer class 'zzzzz'.",
        'network["x"]: extern data \'clases\' not found. Did you mean "classes"? Available: classes, data',
    ]


def test_names_of_all_forms_are_understood() -> None:
    """No alarm for what is there."""
    inner = {
        "a": {**LINEAR, "from": ["data", "base:b", "data:classes", "base:data:classes", "base:sub2/h"]},
        "output": {"class": "copy", "from": "a"},
    }
    apart = {
        "h": {**LINEAR, "from": ["data", "data:0", "data:1", "data:b"]},
        "output": {"class": "copy", "from": "data:b"},
    }
    network = {
        "#trainable": False,
        "b": {**LINEAR, "register_as_extern_data": "made"},
        "sub": {"class": "subnetwork", "subnetwork": inner, "from": "b"},
        "sub2": {"class": "subnetwork", "subnetwork": apart, "from": ["data", "b"], "concat_sources": False},
        "made": {"class": "copy", "from": ["data:made", "data:seq_idx", "none"]},
        "last": {"class": "get_last_hidden_state", "n_out": 3, "from": "lstm/part"},
        "lstm": {"class": "rec", "n_out": 3, "from": "data", "initial_state": "zeros"},
        "shared": {**LINEAR, "reuse_params": {"map": {"W": {"reuse_layer": "sub/a"}, "b": None}}},
        "sources": {"class": "copy", "from": ["sub/output", "made", "last", "shared", "source"]},
        "source": {"class": "source", "data_key": "data"},
        "output": {**SOFTMAX, "from": "sources", "target": "layer:labels"},
        "labels": {"class": "copy", "from": "data:classes"},
        "by_layer": {**SOFTMAX, "target": "labels"},
        "by_key": {**SOFTMAX, "target": "made"},
        "no_target": {"class": "copy", "loss": "as_is", "from": "data"},
    }
    assert check_net_dict(network, KEYS) == []


@pytest.mark.parametrize(
    "options",
    [
        {"from": "bad"},
        {"from": "data", "extra_deps": ["bad"]},
        {"from": "data", "target": "layer:bad"},
        {"from": "data", "target": "bad"},
        {"from": "data", "reuse_params": {"map": {"W": "bad"}}},
        {"from": "data", "loss": "ce", "loss_opts": {"custom_inv_norm_factor": "bad"}},
        {"from": "sub/x"},
        {"from": "sub2"},
    ],
)
def test_what_an_output_layer_leads_to_is_needed(options: dict[str, Any]) -> None:
    """By whatever option."""
    network = {
        "bad": {**LINEAR, "foo": 1},
        "sub": {
            "class": "subnetwork",
            "subnetwork": {"x": {"class": "copy", "from": "base:bad"}, "output": LINEAR},
            "from": "data",
        },
        "sub2": {"class": "subnetwork", "subnetwork": {"output": LINEAR}, "from": "bad"},
        "output": {"class": "copy", **options},
    }
    assert lines(network) == ['network["bad"]: option "foo" is unknown to layer class "linear".']


@pytest.mark.parametrize(
    ("layer", "options"),
    [
        ({"from": "data"}, {}),
        ({"from": "data", "loss": "ce", "only_on_search": True}, {}),
        ({"from": "data", "loss": "ce", "only_on_eval": True}, {"evaluation": False}),
    ],
)
def test_what_nothing_leads_to_is_not_needed(layer: dict[str, Any], options: dict[str, Any]) -> None:
    """It is told all the same."""
    network = {"output": LINEAR, "bad": {**layer, "class": "sofmax"}}
    text = 'network["bad"]: unknown layer class \'sofmax\'. Did you mean "softmax"?'
    assert lines(network, **options) == []
    assert lines(network, needed=False, **options) == [text]


def test_mistakes_of_a_layer_whose_name_is_misspelt_elsewhere_count() -> None:
    """Else the first run would tell of one mistake, and the next one of the other."""
    network = {"encoder": {**LINEAR, "n_outt": 3}, "output": {**SOFTMAX, "from": "encodr"}}
    assert lines(network) == [
        'network["encoder"]: option "n_outt" is unknown to layer class "linear". Did you mean "n_out"?',
        'network["output"]: layer \'encodr\' not found in network. Did you mean "encoder"?',
    ]


def test_warnings_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(log, "v2", stream)
    report_problems(check_net_dict({"output": LINEAR, "bad": {**LINEAR, "foo": 1, "from": "x"}}, KEYS))
    assert stream.getvalue().splitlines() == [
        'network["bad"]: option "foo" is unknown to layer class "linear". (not built, nothing needs it)',
        "network[\"bad\"]: layer 'x' not found in network. Layers: bad, output (not built, nothing needs it)",
    ]


def test_the_exception_is_of_the_kind_of_the_first_problem() -> None:
    """And knows its place."""
    network = {"a": {**LINEAR, "from": "x"}, "output": {**LINEAR, "foo": 1, "from": "a"}}
    with pytest.raises(LayerNotFound, match='"foo"') as info:
        report_problems(check_net_dict(network, KEYS))
    assert (info.value.layer_name, info.value.net_dict) == ("a", network)
    inner = {"output": {**LINEAR, "foo": 1}}
    outer = {"output": {"class": "subnetwork", "subnetwork": inner, "from": "data"}}
    with pytest.raises(LayerOptionError) as option_info:
        report_problems(check_net_dict(outer, KEYS))
    assert (option_info.value.layer_name, option_info.value.net_dict) == ("output", inner)


def test_targets_matter_only_where_losses_are_built() -> None:
    """A network for inference has no targets."""
    network = {"output": {**SOFTMAX, "n_out": 3, "target": "x"}}
    assert lines(network, evaluation=False) == []
    assert lines({"output": {**network["output"], "loss_only_on_non_search": True}}, search=True) == []
    assert lines({"output": {**LINEAR, "target": "x"}}) == []
    assert lines(network) == [
        "network[\"output\"]: target 'x' is neither a layer nor a data key. Data keys: classes, data"
    ]
    text = "network[\"output\"]: target 'y' (the default) is neither a layer nor a data key. Data keys: classes, data"
    assert lines({"output": SOFTMAX}, default_target="y") == [text]


class Translating(LayerBase):
    """Only its own method knows what the options mean."""

    layer_class = "translating"

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        d["from"] = d.pop("inputs")
        d.pop("anything")
        super().transform_config_dict(d, network, get_layer)


def test_layers_that_translate_their_dict_are_left_alone() -> None:
    """What they name is built maybe, so that its mistakes are told."""
    network = {
        "output": {"class": Translating, "inputs": ["a"], "from": "not a layer", "anything": {"x": ["b"]}},
        "a": LINEAR,
        "b": {**LINEAR, "foo": 1},
    }
    assert lines(network) == ['network["b"]: option "foo" is unknown to layer class "linear".']


def test_no_backend_is_loaded() -> None:
    code = "import sys, returnn.network.check as c; c.check_net_dict({'output': {'class': 'x'}}, ['data'])"
    subprocess.run([sys.executable, "-c", code + "; assert 'tensorflow' not in sys.modules"], check=True, timeout=60)


# ---- units of recurrent layers

CHOICE = {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0}


def unit_in(unit: dict[str, Any], **options: Any) -> dict[str, Any]:
    """a network with this unit"""
    return {"enc": LINEAR, "output": {"class": "rec", "from": "enc", "target": "classes", "unit": unit, **options}}


def test_mistakes_in_a_unit() -> None:
    """As everywhere: classes, options, names, targets; also in a sub-network in it, and of the frame before."""
    sub = {"a": {"class": "copy", "from": ["prev:aa", "base:prev:ss", ":i"]}, "output": {"class": "coppy", "from": "a"}}
    inner = {"output": {"class": "copy", "from": ["base:s", "base:base:en", "prev:outptu"]}}
    unit = {
        "s": {**LINEAR, "n_outt": 3, "from": ["data:source", "prev:t", "base:encc", "base:base:enc"]},
        "sub": {"class": "subnetwork", "from": "s", "subnetwork": sub},
        "loop": {"class": "rec", "from": "base:enc", "unit": inner},
        "prob": {**SOFTMAX, "from": ["s", "sub", "loop", "data:clases"], "target": "clases"},
        "output": {"class": "copy", "from": "prob"},
    }
    text = problems_text(check_net_dict(unit_in(unit), KEYS)).splitlines()
    assert [line for line in text if not line.startswith("  ")] == [
        'network["output/loop/output"]: layer \'en\' not found in network. Did you mean "enc"?',
        'network["output/loop/output"]: layer \'outptu\' not found in network["output/loop"]. Did you mean "output"?',
        'network["output/prob"]: extern data \'clases\' not found. Did you mean "classes"? Available: classes, data',
        'network["output/prob"]: target \'clases\' is neither a layer nor a data key. Did you mean "classes"?'
        " Data keys: classes, data",
        'network["output/s"]: option "n_outt" is unknown to layer class "linear". Did you mean "n_out"?',
        'network["output/s"]: layer \'t\' not found in network["output"]. Layers: loop, output, prob, s, sub',
        'network["output/s"]: layer \'encc\' not found in network. Did you mean "enc"?',
        "network[\"output/s\"]: layer 'base:enc' not found in network: there is no network around this one."
        " Layers: enc, output",
        'network["output/sub/a"]: layer \'aa\' not found in network["output/sub"]. Did you mean "a"?',
        'network["output/sub/a"]: layer \'ss\' not found in network["output"]. Did you mean "s"?',
        'network["output/sub/output"]: unknown layer class \'coppy\'. Did you mean "copy"?',
    ]


def test_names_in_units_are_understood() -> None:
    """No alarm for what is there."""
    sub = {
        "a": {**LINEAR, "from": ["data", "prev:a", "base:prev:s", "base:s", "base:base:enc", ":i", "base::i"]},
        "output": {"class": "copy", "from": "a"},
    }
    unit = {
        "s": {**LINEAR, "from": ["data:source", "data", "prev:s", "prev:sub/a", "base:enc", "base:data:classes", ":i"]},
        "sub": {"class": "subnetwork", "from": "s", "subnetwork": sub},
        "x": {**LINEAR, "initial_output": "base:enc", "from": ["sub/a", "data:classes", "prev:x"]},
        "loop": {"class": "rec", "from": "base:enc", "unit": {"output": {"class": "copy", "from": "base:prev:s"}}},
        "prob": {**SOFTMAX, "from": ["x", "loop"], "target": "classes"},
        "output": CHOICE,
        "end": {"class": "compare", "value": 0, "from": "output"},
        "kept": {"class": "copy", "from": "s", "need_last": True},
    }
    network = {**unit_in(unit), "s": {"class": "copy", "from": "output/s", "is_output_layer": True}}
    assert check_net_dict(network, KEYS) == []
    assert check_net_dict(network, KEYS, search=True) == []
    assert check_net_dict({**network, "extra.search:output": network["output"]}, KEYS) == []


@pytest.mark.parametrize(
    ("options", "search", "needed"),
    [
        ({"prob": {**SOFTMAX, "from": "bad"}}, False, True),
        ({"prob": {"class": "softmax", "from": "bad"}}, False, False),
        ({"prob": {"class": "softmax", "from": "bad"}}, True, True),
        ({"x": {"class": "copy", "from": "bad", "need_last": True}}, False, True),
        ({"x": {"class": "copy", "from": "bad", "is_output_layer": True}}, False, True),
        ({"x": {"class": "copy", "from": "bad"}}, False, False),
        ({"end": {"class": "compare", "value": 0, "from": "bad"}}, False, False),
        ({"end": {"class": "compare", "value": 0, "from": "bad"}}, True, True),
        ({"output": {**CHOICE, "cheating": True}, "end": {"class": "compare", "from": "bad"}}, True, False),
        ({"output": {**CHOICE, "explicit_search_source": "bad"}}, True, True),
        ({"output": {**CHOICE, "initial_output": "bad"}}, False, True),
        ({"output": {"class": "copy", "from": "prev:bad"}}, False, True),
    ],
)
def test_what_a_unit_needs(options: dict[str, Any], search: bool, needed: bool) -> None:
    """Without search, a choice needs no scores; ``end`` is needed where nothing else says how long the loop is."""
    unit = {
        "bad": {**LINEAR, "foo": 1},
        "prob": {"class": "softmax", "from": "data:source"},
        "output": CHOICE,
        **options,
    }
    found = lines(unit_in(unit), needed=needed, search=search)
    assert found == ['network["output/bad"]: option "foo" is unknown to layer class "linear".']


def test_frames_are_there_only_in_units() -> None:
    """Also not in a sub-network that is in none."""
    sub = {"output": {"class": "copy", "from": "prev:output"}}
    network = {
        "sub": {"class": "subnetwork", "from": "data", "subnetwork": sub},
        "output": {**LINEAR, "from": [":i", "sub"]},
    }
    why = "it is there only within the unit of a recurrent layer."
    assert lines(network) == [
        "network[\"output\"]: layer ':i' not found in network: %s Layers: output, sub" % why,
        'network["sub/output"]: layer \'prev:output\' not found in network["sub"]: %s Did you mean "output"?' % why,
    ]
