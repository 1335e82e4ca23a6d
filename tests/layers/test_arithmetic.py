"""Plain expressions of sources: which they are, and that they compute what the same expression of a framework does."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.layers.arithmetic import parse_arithmetic
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork

PLAIN = [
    "source(0)",
    "source(0) + source(1)",
    " source(0) * 2 - source(1) / 3.5",
    "-(source(1) - source(0)) * source(1)",
]
OTHER = [
    "1 + 2",
    "source(0) ** 2",
    "source(0) if 1 else source(1)",
    "tf.exp(source(0))",
    "source(i)",
    "source(-1)",
    "source(0, auto_convert=False)",
    "source(True)",
    "source(0)[0]",
    "other(0)",
    "+source(0)",
    "source(0) +",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain(text: str) -> None:
    found = parse_arithmetic(text)
    assert found is not None and found.sources == {i for i in (0, 1) if "source(%i)" % i in text}


@pytest.mark.parametrize("text", OTHER)
def test_not_plain(text: str) -> None:
    assert parse_arithmetic(text) is None


def values(text: str) -> list[numpy.ndarray]:
    """output and gradients of an eval layer of [batch, time, 3] and [batch, 3]"""
    net_dict: dict[str, Any] = {
        "b": {"class": "reduce", "mode": "sum", "axis": "T", "from": "data"},
        "output": {"class": "eval", "from": ["data", "b"], "eval": text},
    }
    config = Config({"extern_data": {"data": {"dim": 3}}, "network": net_dict})
    with tf.Graph().as_default(), v1.Session() as session:
        net = TFNetwork(config=config, train_flag=False)
        net.construct_from_dict(net_dict)
        data, y = net.extern_data.data["data"], net.get_default_output_layer().output
        assert y.dims[-1].dimension == 3
        y = y.copy_as_batch_major().placeholder
        fetches = [y, tf.gradients(y * y, data.placeholder)[0]]
        x = numpy.arange(12, dtype="float32").reshape(2, 2, 3) / 5 + 1
        return session.run(fetches, {data.placeholder: x, data.size_placeholder[0]: [2, 1]})


@pytest.mark.parametrize("text", PLAIN[1:])
def test_is_what_the_framework_computes(text: str) -> None:
    """Behind ``tf.identity`` it is code of TensorFlow."""
    assert parse_arithmetic("tf.identity(%s)" % text.strip()) is None
    for a, b in zip(values(text), values("tf.identity(%s)" % text.strip()), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
