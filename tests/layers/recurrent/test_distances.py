"""Tables of edit distances, row by row in a loop, against the definition."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

torch_side = pytest.importorskip("tests.layers.both_backends", reason="needs torch")

BLANK = 4
LABELS = numpy.array([[1, 2, 4, 2, 3], [0, 4, 4, 1, 0], [2, 2, 0, 0, 0]], "int32")
LENS = numpy.array([5, 4, 2], "int32")
TARGETS = numpy.array([[1, 3, 2, 2], [1, 0, 0, 0], [0, 0, 0, 0]], "int32")
TARGET_LENS = numpy.array([4, 1, 0], "int32")


def distance(a: list[int], b: list[int]) -> int:
    """
    :return: Levenshtein's, by its recursion
    """
    if not a or not b:
        return len(a) + len(b)
    cost = int(a[-1] != b[-1])
    return min(distance(a[:-1], b) + 1, distance(a, b[:-1]) + 1, distance(a[:-1], b[:-1]) + cost)


def results(name: str, *, moved: bool, blank: bool) -> list[numpy.ndarray]:
    """
    :param name: of the layer inside
    :param moved: layers may be moved out of the loop
    :param blank: label 4 does not count
    :return: its output on both backends, [batch, time, ..]
    """
    opts: dict[str, Any] = {"target": "targets", "is_output_layer": True, **({"blank_idx": BLANK} if blank else {})}
    unit = {
        "output": {"class": "copy", "from": "data:source"},
        "table": {"class": "edit_distance_table", "from": "output", **opts},
        "best": {"class": "optimal_completions", "from": "prev:table", **opts},
    }
    net = {
        "rec": {"class": "rec", "from": "data", "unit": unit, "optimize_move_layers_out": moved},
        "output": {"class": "copy", "from": "rec/" + name},
    }
    extern_data = {"data": {"dim": 5, "sparse": True}, "targets": {"dim": 4, "sparse": True}}
    data = {"data": LABELS, "data:size1": LENS, "targets": TARGETS, "targets:size1": TARGET_LENS}
    found = [f(net, extern_data, data, train=False) for f in (torch_side.on_tensorflow, torch_side.on_torch)]
    return [x["out"].swapaxes(0, 1) if x["axes"][0] == 1 else x["out"] for x in found]


def without_blank(labels: Any, blank: bool) -> list[int]:
    """
    :return: those that count
    """
    return [int(x) for x in labels if not blank or x != BLANK]


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("blank", [True, False])
def test_table(moved: bool, blank: bool) -> None:
    """frame t, entry j: the distance of the first t + 1 labels from the first j targets"""
    for table in results("table", moved=moved, blank=blank):
        assert table.shape == (3, 5, 5)
        for b in range(3):
            for t in range(LENS[b]):
                for j in range(TARGET_LENS[b] + 1):
                    labels = without_blank(LABELS[b, : t + 1], blank)
                    assert table[b, t, j] == distance(labels, list(TARGETS[b, :j])), (b, t, j)


@pytest.mark.parametrize("blank", [True, False])
def test_completions(blank: bool) -> None:
    """frame t, label v: the least distance of the labels before and v from any beginning of the targets"""
    for best in results("best", moved=True, blank=blank):
        assert best.shape == (3, 5, 5 if blank else 4)
        for b in range(3):
            for t in range(LENS[b]):
                for v in range(best.shape[2]):
                    labels = without_blank([*LABELS[b, :t], v], blank)
                    all_distances = [distance(labels, list(TARGETS[b, :j])) for j in range(TARGET_LENS[b] + 1)]
                    assert best[b, t, v] == min(all_distances), (b, t, v)


def test_completions_at_the_first_frame() -> None:
    """the first target is the only label without a mistake"""
    targets = numpy.array([[3, 7, 8, 9, 13, 13, 0]], "int32")
    unit = {
        "output": {"class": "copy", "from": "data:source"},
        "table": {"class": "edit_distance_table", "from": "output", "target": "targets"},
        "best": {"class": "optimal_completions", "from": "prev:table", "target": "targets", "is_output_layer": True},
    }
    net = {
        "rec": {"class": "rec", "from": "data", "unit": unit},
        "output": {"class": "copy", "from": "rec/best"},
    }
    sparse = {"dim": 20, "sparse": True}
    data = {"data": targets, "data:size1": [7], "targets": targets, "targets:size1": [7]}
    data = {key: numpy.array(value, "int32") for key, value in data.items()}
    for function in (torch_side.on_tensorflow, torch_side.on_torch):
        out = function(net, {"data": sparse, "targets": sparse}, data, train=False)["out"]
        assert out.reshape(7, 20)[0].tolist() == [0 if label == 3 else 1 for label in range(20)]
