"""What the log says about a step that failed."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf
from returnn.tf.exception_help import help_on_tf_exception, layer_of_op
from tests.network.net import Net, X

MATRIX = {
    "class": "eval",
    "eval": "tf.gather(source(0, auto_convert=False), [7], axis=1)",
    "from": "l1",
    "out_type": {"shape": (1, 2)},
}
NET = {
    "l1": {"class": "linear", "n_out": 2, "activation": None, "from": "data"},
    "sub": {"class": "subnetwork", "from": "l1", "subnetwork": {"output": {**MATRIX, "from": "data"}}},
    "output": {"class": "copy", "from": "sub"},
}
META = {"seq_tag": ["seq-1", "seq-2"]}


def failed(net: Net, fetches: Any, feed: Mapping[Any, Any], **opts: Any) -> str:
    """:return: the help on the error of that step"""
    file = io.StringIO()
    with pytest.raises(tf.errors.OpError) as raised:
        net.session.run(fetches, feed)
    help_on_tf_exception(net.session, raised.value, fetches, feed, META, file=file, network=net.net, **opts)
    return file.getvalue()


def test_layer_and_its_inputs_are_named() -> None:
    """Entry 7 of an axis of 3 frames: the layer, its source, and what went into the op."""
    with Net(NET) as net:
        text = failed(net, net.layers["output"].output.placeholder, net.feed())
    lines = text.splitlines()
    assert lines[0].startswith("Failing op: sub/output/") and lines[0].endswith("(GatherV2)")
    assert lines[1].startswith("It belongs to layer 'sub/output' (class 'eval'), output Tensor{")
    assert any("source 'sub/data': " in line for line in lines)
    inputs = lines[lines.index("Op inputs:") + 1 :]
    assert "shape (2, 3, 2), dtype float32, min/max" in inputs[0]
    assert "shape (1,), dtype int32, min/max 7/7" in inputs[1]
    assert "  {'seq_tag': ['seq-1', 'seq-2']}" in lines and "Feed dict:" in lines


def test_gradients_belong_to_the_layer_too() -> None:
    with Net(NET) as net:
        assert layer_of_op(net.net, "gradients/l1/MatMul_grad/MatMul_1").name == "l1"
        assert layer_of_op(net.net, "gradients_1/sub/output/GatherV2_grad/Reshape").get_absolute_name() == "sub/output"
        assert layer_of_op(net.net, "l11/MatMul") is None


def test_placeholder_without_value() -> None:
    """Who uses it, and the way to what was asked for."""
    with Net(NET) as net:
        text = failed(net, net.layers["l1"].output.placeholder, {})
    assert "Failing op: extern_data/placeholders/data/data (Placeholder)" in text
    assert "It was not fed. Used by: [" in text and "'l1/" in text
    path = text[text.index("Input to output:") :].splitlines()
    assert path[1] == "  extern_data/placeholders/data/data (Placeholder)" and "  l1/" in path[2]


@pytest.mark.parametrize(("label", "warns"), [(2, False), (3, True), (-1, True)])
def test_invalid_labels_are_told(label: int, warns: bool) -> None:
    """Three classes; the padding of the first sequence holds 99 and does not count."""
    extern_data = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True, "available_for_inference": True}}
    network = {**NET, "labels": {"class": "copy", "from": "data:classes", "is_output_layer": True}}
    with Net(network, extern_data) as net:
        lens = {"data": [2, 3], "classes": [2, 3]}
        feed = net.feed(data=X, classes=[[0, 1, 99], [2, 0, label]], lens=lens)
        text = failed(net, net.layers["output"].output.placeholder, feed)
    assert ("WARNING, invalid label for data 'classes': must be in 0..2" in text) == warns


def test_softmax_over_a_sequence_without_frames_is_told() -> None:
    """0 / 0: the check of values names the layer, and the help the sequence, here number 1."""
    network = {
        "weights": {"class": "softmax_over_spatial", "from": "data"},
        "output": {"class": "copy", "from": "weights"},
    }
    with Net(network, debug_add_check_numerics_on_output=True) as net:
        output = net.layers["output"].output.placeholder
        with pytest.raises(tf.errors.InvalidArgumentError, match="output of layer 'weights' : Tensor had NaN values"):
            net.session.run(output, net.feed(data=X[:, :2], lens={"data": [2, 0]}))
        text = failed(net, output, net.feed(data=X[:, :2], lens={"data": [2, 0]}))
        assert "  WARNING, sequences of data 'data' without frames, counted from 0: [1]" in text.splitlines()
        assert "It belongs to layer 'weights' (class 'softmax_over_spatial')" in text


def test_a_screen_for_the_log_and_all_for_a_file(tmp_path: Path) -> None:
    keys = ["key%02i" % i for i in range(40)]
    extern_data = {"data": {"dim": 2}, **{key: {"dim": 1, "available_for_inference": True} for key in keys}}
    with Net(NET, extern_data) as net:
        values = {key: numpy.zeros((2, 3, 1)) for key in keys}
        dump = tmp_path / "dump.txt"
        text = failed(net, net.layers["output"].output.placeholder, net.feed(data=X, **values), dump_file=str(dump))
    assert len(text.splitlines()) == 42 and text.splitlines()[-1] == "All of this: %s" % dump
    assert all("extern_data/placeholders/%s/%s:0" % (key, key) in dump.read_text() for key in keys)


def test_other_errors_tell_what_was_fed() -> None:
    """No op is known."""
    with Net(NET) as net:
        file = io.StringIO()
        help_on_tf_exception(net.session, ValueError("x"), [], net.feed(), META, file=file, network=net.net)
    assert file.getvalue().startswith("Step meta information:\n  {'seq_tag'")
    assert "extern_data/placeholders/data/data:0: shape (2, 3, 2), dtype float32, min/max 1.0/100.0" in file.getvalue()
