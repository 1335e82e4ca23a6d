"""Inputs that a loop reads frame by frame, with other lengths than the loop."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest

from returnn.network.errors import NetworkLayerException
from returnn.tensor import SpatialDim
from returnn.tf.compat import tf
from returnn.tf.exception_help import error_of_lengths
from returnn.util.errors import UserError

from .loops import BACKENDS, Arrays, lengths, loop, run

pytestmark = pytest.mark.parametrize("backend", BACKENDS)

LABELS = [[3, 1, 2, 0], [1, 2, 0, 0], [2, 2, 3, 0]]
SUM = {"class": "combine", "kind": "add", "from": ["prev:s", "data:source"]}
CHOICE = {"class": "choice", "target": "classes", "from": "prob", "beam_size": 2, "initial_output": 0}


def compute(backend: str, unit: dict[str, Any], lens: list[int], *, version: int = 0, **opts: Any) -> Arrays:
    """
    :param unit: of a loop over the input, with the lengths 4, 2, 3
    :param lens: of the labels
    :param opts: of the loop
    """
    longest = max(lens)
    return run(
        backend,
        {"output": loop(unit, target="classes", **opts)},
        {"data": numpy.ones((3, 4, 1)), "classes": numpy.array(LABELS)[:, :longest]},
        {"data": [4, 2, 3], "classes": lens},
        extern_data={"data": {"dim": 1}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}},
        version=version,
    )


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_lengths_that_differ_are_named(backend: str, before: bool, moved: bool) -> None:
    """Layer, data key, both lengths, and the sequences; in the loop, and at the frame before of a moved layer."""
    unit = {
        "label": {"class": "cast", "dtype": "float32", "from": "data:classes", "initial_output": 0},
        "output": {"class": "combine", "kind": "add", "from": ["s", "prev:label" if before else "label"]},
        "s": SUM,
    }
    with pytest.raises((UserError, tf.errors.InvalidArgumentError)) as info:
        compute(backend, unit, [3, 2, 1], optimize_move_layers_out=moved)
    error = info.value
    if isinstance(error, tf.errors.InvalidArgumentError):
        error = error_of_lengths(error, None)
    what = "label" if moved else "data:classes"
    assert str(error) == (
        "Layer output: the lengths of %s are not those of the loop.\n"
        "Lengths: [3 2 1]\n"
        "of the loop: [4 2 3]\n"
        "They differ for: sequence 0 (3, of the loop 4), sequence 2 (1, of the loop 3)\n"
        "Correct the data, or the layers that change the length of the loop." % what
    )


@pytest.mark.parametrize("moved", [True, False])
def test_equal_lengths_under_another_name(backend: str, moved: bool) -> None:
    """1 2 3 4 and the labels 3 1 2 0: nobody has said that the lengths are the same ones, but they are."""
    unit = {
        "label": {"class": "cast", "dtype": "float32", "from": "data:classes"},
        "output": {"class": "combine", "kind": "add", "from": ["s", "label"]},
        "s": SUM,
    }
    results = compute(backend, unit, [4, 2, 3], optimize_move_layers_out=moved, version=31)
    assert results["out:output"][0, :, 0].tolist() == [4, 3, 5, 4]
    assert lengths(results) == [4, 2, 3]


def test_static_length(backend: str) -> None:
    """A loop of three frames reads sequences, which all must have three."""
    unit = {
        "label": {"class": "cast", "dtype": "float32", "from": "data:classes"},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "label"]},
    }
    args: dict[str, Any] = {
        "network": {
            "three": {"class": "range", "limit": 3, "out_spatial_dim": (three := SpatialDim("three", 3))},
            "output": {**loop(unit), "from": "three", "axis": three},
        },
        "extern_data": {"classes": {"dim": 4, "sparse": True}},
    }
    results = run(backend, data={"classes": [[1, 2, 3], [0, 1, 1]]}, lens={"classes": [3, 3]}, **args)
    assert results["out:output"].tolist() == [[1, 3, 6], [0, 1, 2]]
    with pytest.raises((UserError, tf.errors.InvalidArgumentError), match="lengths of .* are not those of the loop"):
        run(backend, data={"classes": [[1, 2, 3], [0, 1, 1]]}, lens={"classes": [3, 2]}, **args)


PROB = {"class": "softmax", "from": "data:source", "target": "classes"}


@pytest.mark.parametrize(
    "unit", [{"prob": PROB, "output": CHOICE}, {"output": {"class": "copy", "from": "data:classes"}}]
)
def test_output_has_the_lengths_of_the_target(backend: str, unit: dict[str, Any]) -> None:
    """As ever up to behaviour version 12, where the output is the target alone: losses may need no other lengths."""
    results = compute(backend, unit, [3, 2, 1], version=12)
    assert results["out:output"].tolist() == numpy.array(LABELS)[:, :3].tolist()
    assert lengths(results) == [3, 2, 1]


def test_output_must_have_the_lengths_of_the_loop(backend: str) -> None:
    """From behaviour version 13 on, at construction, whatever the lengths."""
    text = (
        'network["output"] (class \'rec\'): the layer "output" of the unit has the frames of an input with the time '
        "dim Dim{'time:var:extern_data:classes'[B]}, but the loop is over Dim{'time:var:extern_data:data'[B]}. Say "
        "that they are the same: by same_dim_tags_as in extern_data, or a layer reinterpret_data with size_base "
        "(required since behavior_version >= 13)"
    )
    with pytest.raises(NetworkLayerException, match=re.escape(text)):
        compute(backend, {"prob": PROB, "output": CHOICE}, [4, 2, 3], version=13)


@pytest.mark.parametrize("bound", [3, 9])
def test_input_of_a_loop_that_ends_by_itself(backend: str, bound: int) -> None:
    """The sums 1 3 6 of the labels 1 2 3; the loop must end there, by max_seq_len or by ``end``."""
    unit = {
        "label": {"class": "cast", "dtype": "float32", "from": "data:classes"},
        "output": {"class": "combine", "kind": "add", "from": ["prev:output", "label"]},
        "end": {"class": "compare", "kind": "greater_equal", "value": 6.0, "from": "output"},
    }

    def compute(labels: list[int]) -> Arrays:
        network = {"output": {**loop(unit, max_seq_len=bound, include_eos=True), "from": []}}
        extern_data = {"classes": {"dim": 4, "sparse": True}}
        return run(backend, network, {"classes": [labels]}, {"classes": [3]}, extern_data=extern_data)

    assert compute([1, 2, 3])["out:output"].tolist() == [[1, 3, 6]]
    assert compute([3, 3, 3])["out:output"].tolist() == [[3, 6]]
    if bound == 3:
        assert compute([1, 1, 1])["out:output"].tolist() == [[1, 2, 3]]
        return
    text = "layer output: the loop has not ended behind frame 2, which is the last one of what it reads, "
    with pytest.raises((UserError, tf.errors.OpError), match=text):
        compute([1, 1, 1])
