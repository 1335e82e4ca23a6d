"""CTC, sequences with more labels than their frames can hold: from behaviour version 31 on, 0, and a warning."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from tests.layers.recurrent.loops import behavior_version
from tests.network.net import Net

EXTERN_DATA = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
LENS = {"data": [3, 2, 2, 2], "classes": [3, 2, 2, 3]}
LABELS = [[0, 1, 2], [1, 1, 0], [1, 2, 2], [0, 1, 2]]
"""three labels in three frames; 1 1 needs a third frame; 1 2 does not, what stands behind it does not count; three
labels in two frames"""
TAGS = ["fits", "repeats", "short", "long"]
WARNING = (
    "WARNING: dev, epoch 3: loss ctc of layer output: 2 of 4 sequences have more labels than their frames can hold."
    " Their loss is 0: repeats, long\n"
)


def layers(**opts: Any) -> dict[str, Any]:
    """:return: layer dict with a ctc loss"""
    layer = {"class": "activation", "activation": "softmax", "from": "data", "target": "classes"}
    return {"output": {**layer, "loss": "ctc", "loss_opts": {"beam_width": 1, **opts}}}


@pytest.mark.parametrize("opts", [{}, {"use_native": True}, {"use_viterbi": True}])
def test_warning_behind_a_pass(opts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Once, with the tags; then it counts from 0 on."""
    with behavior_version(31), Net(layers(**opts), EXTERN_DATA, evaluation=True) as net:
        net.net.set_run_opts(epoch=3, dataset_name="dev")
        net.net.set_seq_tags_of_step(TAGS)
        feed = net.feed(LENS, data=numpy.zeros((4, 3, 4)), classes=LABELS)
        assert numpy.isfinite(net.fetches(feed)["cost:output"])
        capsys.readouterr()
        net.net.call_run_finished_callbacks()
        assert capsys.readouterr().out == WARNING
        net.net.call_run_finished_callbacks()
        assert capsys.readouterr().out == ""


def test_many_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """Ten of them are named; without tags by their places."""
    with behavior_version(31), Net(layers(), EXTERN_DATA, evaluation=True) as net:
        feed = net.feed({"data": [1] * 6, "classes": [2] * 6}, data=numpy.zeros((6, 1, 4)), classes=[[0, 1]] * 6)
        for _ in range(2):
            net.fetches(feed)
        capsys.readouterr()
        net.net.call_run_finished_callbacks()
        names = ", ".join("number %i of its batch" % i for i in [0, 1, 2, 3, 4, 5, 0, 1, 2, 3])
        assert capsys.readouterr().out == (
            "WARNING: loss ctc of layer output: 12 of 12 sequences have more labels than their frames can hold."
            " Their loss is 0: %s, ...\n" % names
        )


def test_without_repetition(capsys: pytest.CaptureFixture[str]) -> None:
    """1 1 in two frames, where each label lasts one frame: there is a path."""
    opts = {"use_native": True, "ctc_opts": {"label_loop": False}}
    with behavior_version(31), Net(layers(**opts), EXTERN_DATA, evaluation=True) as net:
        net.fetches(net.feed(data=numpy.zeros((1, 2, 4)), classes=[[1, 1]]))
        capsys.readouterr()
        net.net.call_run_finished_callbacks()
        assert capsys.readouterr().out == ""


@pytest.mark.parametrize("opts", [{}, {"use_native": True}, {"use_viterbi": True}])
def test_on_pytorch(opts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The same text; of the second and fourth sequence there is no gradient."""
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    backend = pytest.importorskip("returnn.torch.backend").backend

    with behavior_version(31):
        net = Network(config=Config({"extern_data": EXTERN_DATA}), train_flag=True, eval_flag=True, backend=backend)
        net.construct_from_dict(layers(**opts))
        net.get_seq_tags()  # so that they are fed
        net.set_run_opts(epoch=3, dataset_name="dev")
        x = torch.tensor(numpy.random.RandomState(1).normal(size=(4, 3, 4)), dtype=torch.float32, requires_grad=True)
        data = {"data": x, "classes": numpy.array(LABELS, "int32"), "seq_tag": numpy.array(TAGS)}
        data.update({"%s:size1" % key: numpy.array(lens, "int32") for key, lens in LENS.items()})
        with net.step(data, train=True):
            (grad,) = torch.autograd.grad(net.get_objective(), [x])
        capsys.readouterr()
        net.call_run_finished_callbacks()
    assert capsys.readouterr().out == WARNING
    assert [bool(g.any()) for g in grad.isfinite().logical_and(grad != 0)] == [True, False, True, False]
