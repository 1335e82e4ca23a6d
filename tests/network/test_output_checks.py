"""Debugging options: what is printed and checked when a layer is computed."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.network.errors import NetworkLayerException
from returnn.tensor.numpy_backend import backend
from returnn.tf.compat import tf
from returnn.util.array_text import array_text
from returnn.util.errors import UserError

from .net import Net

COPY = {"class": "copy", "from": "data"}
X = [[[1.0, 2.0], [3.0, 4.0]]]


def printed(capsys: pytest.CaptureFixture, network: dict[str, Any], name: str = "output", **config: Any) -> str:
    with Net(network, **config) as net:
        capsys.readouterr()
        net.out(name, net.feed(data=X))
    return capsys.readouterr().out


def test_print_layer_output(capsys: pytest.CaptureFixture) -> None:
    """All layers by config, or some; more than one line begin on a new one. The value passes through."""
    value = "\n[[[1. 2.]\n  [3. 4.]]]\n"
    network = {"a": COPY, "output": {"class": "copy", "from": "a"}}
    assert printed(capsys, network, debug_print_layer_output=True) == "".join(
        "[%s]%s" % (name, value) for name in ("data", "a", "output")
    )
    some = {"a": {**COPY, "debug_print_layer_output": {"summarize": 1}}, "output": {"class": "copy", "from": "a"}}
    assert printed(capsys, some) == "[a]\n[[[1. 2.]\n  [3. 4.]]]\n"
    off = {"a": {**COPY, "debug_print_layer_output": False}, "output": {"class": "copy", "from": "a"}}
    assert "[a]" not in printed(capsys, off, debug_print_layer_output=True)


def test_long_arrays_are_cut() -> None:
    """2 entries at each end."""
    assert array_text(numpy.arange(9), summarize=2) == "[0 1 ... 7 8]"
    assert array_text(numpy.zeros((2, 1), int), summarize=5) == "\n[[0]\n [0]]"
    assert array_text(3, summarize=2) == "3"


def test_print_layer_output_shape(capsys: pytest.CaptureFixture) -> None:
    lines = printed(capsys, {"output": COPY}, debug_print_layer_output_shape=True).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[output][shape:][Tensor{'") and lines[1].endswith("][1 2 2]")


def test_unknown_print_option() -> None:
    with pytest.raises(
        NetworkLayerException, match="debug_print_layer_output: unknown key 'sumarize'. Did you mean \"s"
    ):
        Net({"output": {**COPY, "debug_print_layer_output": {"sumarize": 1}}})


@pytest.mark.parametrize(
    ("lens", "message"),
    [
        ([2], None),
        ([0], None),
        ([3], r"the lengths of Dim.* are \[3\], but the output has the shape \(1, 2, 2\)"),
        ([-1], r"are \[-1\], but the output"),
        ([2, 2], r"are \[2, 2\], but there are 1 sequences"),
    ],
)
def test_runtime_sanity_checks(lens: list[int], message: str | None) -> None:
    with Net({"output": COPY}, debug_runtime_sanity_checks=True) as net:
        feed = net.feed(data=X)
        feed[net.net.extern_data.data["data"].size_placeholder[0]] = lens
        if message is None:
            net.out(feed=feed)
        else:
            with pytest.raises(tf.errors.OpError, match=message):
                net.out(feed=feed)


def test_on_a_backend_that_computes_at_once(capsys: pytest.CaptureFixture) -> None:
    """The same, in each step."""
    config = Config(
        {
            "extern_data": {"data": {"dim": 2}},
            **{"debug_print_layer_output": True, "debug_runtime_sanity_checks": True},
            "debug_add_check_numerics_on_output": True,
        }
    )
    net = Network(config=config, backend=backend)
    net.construct_from_dict({"output": COPY})
    data = {"data": numpy.array(X, "float32"), "data:size1": numpy.array([2], "int32")}
    capsys.readouterr()
    with net.step(data, train=False):
        pass
    assert capsys.readouterr().out == "[data]\n[[[1. 2.]\n  [3. 4.]]]\n[output]\n[[[1. 2.]\n  [3. 4.]]]\n"
    with pytest.raises(UserError, match="layer 'data': the lengths of .* are"):
        with net.step({**data, "data:size1": numpy.array([3], "int32")}, train=False):
            pass
    with pytest.raises(UserError, match="output of layer 'data': 1 of 4 entries are nan"):
        with net.step({**data, "data": numpy.array([[[1, 2], [numpy.nan, 3]]], "float32")}, train=False):
            pass
