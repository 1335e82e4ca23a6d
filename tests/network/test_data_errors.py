"""Which labels are no classes, which lengths differ: in words."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.network.data_errors import different_lens_text, wrong_labels, wrong_labels_text
from returnn.tensor import Tensor
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import UserError

LABELS = Tensor("classes", dim=3, sparse=True)
TWO_AXES = Tensor("classes", shape=(None, None), dim=3, sparse=True)
MESSAGE = (
    "Label out of range: data key 'classes'%s, but extern_data['classes'] has dim 3, so labels are 0 to 2."
    " Correct the data, or the dim."
)


def lens(*sizes: list[int]) -> dict[int, numpy.ndarray]:
    """of the axes behind the batch"""
    return {axis + 1: numpy.array(n) for axis, n in enumerate(sizes)}


def test_padding_may_hold_anything() -> None:
    """Lengths 1 and 2: the 9 is behind the end. Time-major too."""
    labels = numpy.array([[3, 9], [-1, 2]])
    assert wrong_labels(LABELS, labels, lens([1, 2])).tolist() == [[True, False], [True, False]]
    turned = wrong_labels(LABELS.copy_as_time_major(), labels.T, {0: numpy.array([1, 2])})
    assert turned.tolist() == [[True, True], [False, False]]


def test_values_and_unknown_numbers_of_classes_are_not_checked() -> None:
    values = numpy.array([[7, -1]])
    for template in (Tensor("x", shape=(None,)), Tensor("x", dim=None, sparse=True, shape=(None,))):
        assert not wrong_labels(template, values, {}).any()


@pytest.mark.parametrize(
    ("template", "labels", "sizes", "tags", "text"),
    [
        (LABELS, [[0, 1], [2, 0]], [[2, 2]], None, None),
        (LABELS, [[0, 9], [2, 0]], [[1, 2]], None, None),
        (LABELS, [[0, 1], [2, 3]], [[2, 2]], None, " of sequence 1 has label 3 in frame 1"),
        (LABELS, [[-1, 1], [2, 3]], [[2, 2]], ["a", "b"], " of sequence 'a' has label -1 in frame 0"),
        (TWO_AXES, [[[0, 1], [0, 5]]], [[2], [2]], None, " of sequence 0 has label 5 in frame 1, 1"),
        (Tensor("classes", shape=(), dim=3, sparse=True), [0, 4], [], ["a", "b"], " of sequence 'b' has label 4"),
    ],
)
def test_message(template: Tensor, labels: Any, sizes: Any, tags: Any, text: str | None) -> None:
    """The first one, with its place."""
    found = wrong_labels_text("classes", template, numpy.array(labels), lens(*sizes), tags)
    assert found == (text and MESSAGE % text)


@pytest.mark.parametrize("loss", ["ce", "ctc"])
def test_minus_one_is_no_class_on_torch(loss: str) -> None:
    """Its cross-entropy could leave a label out, and its CTC would read other memory."""
    backend = pytest.importorskip("returnn.torch.backend", reason="the extra torch is not installed").backend
    data = {"data": {"dim": 3}, "classes": {"dim": 3, "sparse": True}}
    net = Network(config=Config({"extern_data": data}), backend=backend, eval_flag=True)
    net.construct_from_dict({"output": {"class": "softmax", "loss": loss, "from": "data"}})
    feed = {"data": numpy.ones((1, 2, 3), "float32"), "classes": numpy.array([[0, -1]], "int32")}
    sizes = {key + ":size1": numpy.array([2], "int32") for key in data}
    with pytest.raises(UserError) as info, net.step({**feed, **sizes}, train=False):
        net.get_objective()
    assert str(info.value) == MESSAGE % " of sequence 0 has label -1 in frame 1"


@pytest.mark.parametrize("network", ["numpy", "torch"])
@pytest.mark.parametrize(
    "layer",
    [
        {"class": "softmax", "loss": "ce", "from": "data"},
        {"class": "softmax", "loss": "ce", "loss_opts": {"label_smoothing": 0.1}, "from": "data"},
        {"class": "softmax", "loss": "ctc", "from": "data"},
        {"class": "linear", "activation": None, "n_out": 2, "from": "data:classes"},
    ],
)
def test_in_a_step(layer: dict[str, Any], network: str) -> None:
    """Where the backend only says that an index is out of range. Lengths 2 and 3; the 9 is behind the end."""
    backend = numpy_backend
    if network == "torch":
        backend = pytest.importorskip("returnn.torch.backend", reason="the extra torch is not installed").backend
    data = {"data": {"dim": 3}, "classes": {"dim": 3, "sparse": True, "available_for_inference": True}}
    net = Network(config=Config({"extern_data": data}), backend=backend, eval_flag=True)
    net.construct_from_dict({"output": layer})
    sizes = {key + ":size1": numpy.array([2, 3], "int32") for key in data}
    labels = numpy.array([[0, 1, 9], [2, 5, 1]], "int32")
    with pytest.raises(UserError) as info:
        with net.step({"data": numpy.ones((2, 3, 3), "float32"), "classes": labels, **sizes}, train=False):
            net.get_objective()
    assert str(info.value) == MESSAGE % " of sequence 1 has label 5 in frame 1"
    with net.step({"data": numpy.ones((2, 3, 3), "float32"), "classes": labels % 3, **sizes}, train=False):
        net.get_objective()  # nothing is left of the failed one


def test_an_index_that_is_no_label_stays_what_it_is() -> None:
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=numpy_backend)
    net.construct_from_dict({"output": {"class": "copy", "from": "data"}})
    data = {"data": numpy.ones((1, 1, 2), "float32"), "data:size1": numpy.array([1], "int32")}
    with pytest.raises(IndexError, match="other"), net.step(data, train=False):
        raise IndexError("other")


@pytest.mark.parametrize(
    ("tags", "lines"),
    [
        (None, ["They differ for: sequence 1 (2, of the output 1)"]),
        (["a", "b"], ["They differ for: sequence 'b' (2, of the output 1)"]),
        (["a"], []),  # whose they are is not known
    ],
)
def test_lengths_that_differ(tags: list[str] | None, lines: list[str]) -> None:
    """All of them, and those sequences where they do."""
    assert different_lens_text("the lengths of x are wrong", "[3 2]", "[3 1]", tags).splitlines() == [
        "The lengths of x are wrong.",
        *(["Sequences: " + ", ".join(tags)] if tags else []),
        "Lengths: [3 2]",
        "of the output: [3 1]",
        *lines,
        "Correct the data, or the layers that change the length of the output.",
    ]


def test_lengths_in_a_step() -> None:
    """The tags are known if anything in the network needs them."""
    layer = {"class": "softmax", "loss": "ce", "target": "classes", "from": "data"}
    data = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True}}
    net = Network(config=Config({"extern_data": data}), backend=numpy_backend, train_flag=True)
    net.construct_from_dict({"output": layer})
    feed = {
        "data": numpy.zeros((2, 3, 2), "float32"),
        "data:size1": numpy.array([2, 3], "int32"),
        "classes": numpy.zeros((2, 2), "int32"),
        "classes:size1": numpy.array([2, 2], "int32"),
        "seq_tag": numpy.array(["a", "b"]),
    }
    lines = [
        "Loss ce of layer output: the lengths of target classes are not those of the output.",
        "Lengths: [2 2]",
        "of the output: [2 3]",
        "They differ for: sequence 1 (2, of the output 3)",
        "Correct the data, or the layers that change the length of the output.",
    ]
    with pytest.raises(UserError) as info, net.step(feed, train=True):
        net.get_objective()
    assert str(info.value).splitlines() == lines
    net.get_extern_data("seq_tag")
    with pytest.raises(UserError) as info, net.step(feed, train=True):
        net.get_objective()
    lines[1:1] = ["Sequences: a, b"]
    lines[4] = "They differ for: sequence 'b' (2, of the output 3)"
    assert str(info.value).splitlines() == lines
