"""A layer with a loss, on known values; the third frame of the first sequence of Z is padding."""

from __future__ import annotations

from typing import Any

import numpy

from tests.network.net import Net

Z = numpy.array([[[1, 2, 3], [0, 0, 0], [9, 9, 9]], [[1, 0, 0], [0, 1, 0], [0, 0, 5]]], "float32")
CLASSES = numpy.array([[2, 1, 0], [0, 0, 1]])
LENS = [2, 3]
EXTERN_DATA = {
    "data": {"dim": 3},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
    "dense": {"dim": 3, "available_for_inference": False},
}


def z_net(network: dict[str, Any], **options: Any) -> Net:
    """
    :param network: layer dict, on the data of this module
    :param options: for :class:`Net`
    """
    return Net(network, EXTERN_DATA, train=True, **options)


def z_feed(net: Net) -> dict[Any, Any]:
    """
    :return: feed dict with the data of this module; "dense" are one-hot vectors
    """
    lens = {key: LENS for key in EXTERN_DATA}
    return net.feed(lens, data=Z, classes=CLASSES, dense=numpy.eye(3)[CLASSES])


def fetches(layer: dict[str, Any], more: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """
    :param layer: "output"
    :param more: other layers
    :return: of one step
    """
    with z_net({"output": layer, **(more or {})}, **options) as net:
        return net.fetches(z_feed(net))
