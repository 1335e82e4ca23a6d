"""What tests of layers share: fill rules of reference values, and errors of layer dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pytest

from returnn.network.errors import NetworkLayerException
from tests.network.net import Net


def fill(*shape: int) -> numpy.ndarray:
    """
    :return: for parameters: flat index k -> ((7k mod 11) - 5) / 10
    """
    k = numpy.arange(numpy.prod(shape))
    return (((7 * k) % 11 - 5) / 10).reshape(shape).astype("float32")


def fill_data(*shape: int) -> numpy.ndarray:
    """
    :return: for data: flat index k -> ((3k mod 7) - 3) / 4
    """
    k = numpy.arange(numpy.prod(shape))
    return (((3 * k) % 7 - 3) / 4).reshape(shape).astype("float32")


def close(a: Any, b: Any, tolerance: float = 1e-5) -> None:
    """Equal, but for this."""
    numpy.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def message(
    layer: Mapping[str, Any], others: Mapping[str, Any] | None = None, extern_data: Mapping[str, Any] | None = None
) -> str:
    """
    :param layer: options of the layer "output", which cannot be built
    :param others: further layers
    :param extern_data: "data" with two features by default
    :return: what the user reads, behind the place and the class
    """
    with pytest.raises(NetworkLayerException) as info:
        Net({**(others or {}), "output": layer}, extern_data)
    text = str(info.value)
    prefix = 'network["output"] (class %r): ' % layer["class"]
    assert text.startswith(prefix), text
    return text[len(prefix) :]


def outputs(
    network: Mapping[str, Any], names: Sequence[str], feed: Mapping[str, Any], lens: Mapping[str, Any], **more: Any
) -> list[numpy.ndarray]:
    """
    :param network: layer dict
    :param names: of layers
    :param feed: key -> value
    :param lens: key -> lengths
    :param more: for :class:`Net`
    :return: their values
    """
    with Net(network, **more) as net:
        values = net.feed(lens, **feed)
        return [net.out(name, values) for name in names]
