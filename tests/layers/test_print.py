"""The layer ``print``: what stands on standard output."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError
from tests.network.net import Net

SUM = {"class": "reduce", "mode": "sum", "axes": ["T", "F"], "from": "data"}


def printed(capsys: pytest.CaptureFixture[str], layer: dict[str, Any], steps: int = 1) -> str:
    """of a network whose output does not need the layer"""
    network = {"sum": SUM, "p": {"class": "print", **layer, "is_output_layer": True}}
    network["output"] = {"class": "copy", "from": "data"}
    with Net(network, evaluation=True) as net:
        capsys.readouterr()
        for _ in range(steps):
            net.fetches()
    return capsys.readouterr().out


def test_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """1 + 2 + 3 + 4 and 5 + .. + 10."""
    assert printed(capsys, {"from": "sum"}) == "[PrintLayer][p][10. 45.]\n"
    text = printed(capsys, {"from": "sum", "extra_print_args": ["of", 3]})
    assert text == "[PrintLayer][p][10. 45.][of][3]\n"


def test_several_lines_start_on_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    array = numpy.array2string(numpy.array([[[1, 2], [3, 4], [100, 100]], [[5, 6], [7, 8], [9, 10]]], "float32"))
    assert printed(capsys, {"from": "data"}) == "[PrintLayer][p]\n%s\n" % array
    text = printed(capsys, {"from": "data", "extra_print_args": ("x",)})
    assert text == "[PrintLayer][p]\n%s\n[x]\n" % array


def test_summarize(capsys: pytest.CaptureFixture[str]) -> None:
    """One entry at each end of longer axes."""
    lines = printed(capsys, {"from": "data", "summarize": 1}).splitlines()
    assert lines[1:] == ["[[[  1.   2.]", "  ...", "  [100. 100.]]", "", " [[  5.   6.]", "  ...", "  [  9.  10.]]]"]


@pytest.mark.parametrize(("first_n", "times"), [(None, 3), (2, 2), (0, 0)])
def test_first_n(capsys: pytest.CaptureFixture[str], first_n: int | None, times: int) -> None:
    assert printed(capsys, {"from": "sum", "first_n": first_n}, steps=3) == "[PrintLayer][p][10. 45.]\n" * times


def test_printed_once_and_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    """A step that uses the output prints once, too; losses still know the logits behind it."""
    network = {
        "probs": {"class": "softmax", "from": "data", "target": "classes"},
        "p": {"class": "print", "from": "probs"},
        "output": {"class": "copy", "from": "p", "loss": "ce", "target": "classes"},
    }
    data = {"data": {"dim": 2}, "classes": {"dim": 2, "sparse": True, "available_for_inference": False}}
    with Net(network, data, train=True) as net:
        capsys.readouterr()
        net.fetches(net.feed(data=[[[1, 2]]], classes=[[0]]))
        out = capsys.readouterr().out
        assert out.count("[PrintLayer][p]") == 1
        assert net.layers["p"].output_before_activation is net.layers["probs"].output_before_activation


def test_without_a_graph(capsys: pytest.CaptureFixture[str]) -> None:
    """Once a step, and not while the network is built."""
    config = Config({"extern_data": {"data": {"dim": 2}}})
    net = Network(config=config, backend=numpy_backend)
    net.construct_from_dict({"sum": SUM, "output": {"class": "print", "from": "sum"}})
    capsys.readouterr()
    with net.step({"data": numpy.ones((1, 2, 2), "float32"), "data:size1": numpy.array([2], "int32")}, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == [4]
    assert capsys.readouterr().out == "[PrintLayer][output][4.]\n"


def test_one_source() -> None:
    with pytest.raises(ConfigError, match="the layer needs exactly one source, but has 2"):
        Net({"output": {"class": "print", "from": ["data", "data"]}})
