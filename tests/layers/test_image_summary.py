"""Drawing an output."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError
from tests.network.net import Net


def test_images_are_drawn_with_time_to_the_right() -> None:
    """3 frames of 2 features, of two sequences at most one: 3 wide, 2 high; the largest value is white."""
    layer = {"class": "image_summary", "max_outputs": 1, "from": "data", "is_output_layer": True}
    network = {
        "picture": layer,
        "output": {"class": "linear", "n_out": 1, "activation": None, "from": "data", "loss": "as_is"},
    }
    rows = [[[0, 1], [2, 4], [0, 0]], [[0, 0]] * 3]
    with Net(network, train=True) as net:
        feed = net.feed(data=rows)
        assert net.out("picture", feed).tolist() == rows
        fetched = net.fetches(feed, with_summary=True)
        (text,) = fetched["image_summaries"]
        (value,) = v1.Summary.FromString(text).value
        pixels = net.session.run(tf.io.decode_png(value.image.encoded_image_string))
    assert value.tag == "picture/image" and (value.image.width, value.image.height) == (3, 2)
    assert pixels[:, :, 0].tolist() == [[0, 127, 0], [63, 255, 0]]


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"max_outputs": 0}, {"dim": 2}, "max_outputs must be a number > 0, but is 0"),
        ({}, {"shape": (None,), "feature_dim_axis": None, "dtype": "float32"}, "the input must be float32"),
        ({}, {"dim": 3, "sparse": True}, "the input must be float32"),
        ({}, {"shape": (None, 3, 2)}, "the last axis must have 1, 3 or 4 channels"),
    ],
)
def test_what_cannot_be_drawn(options: dict[str, Any], data: dict[str, Any], message: str) -> None:
    """named in the message"""
    with (
        pytest.raises(ConfigError, match=message),
        Net({"output": {"class": "image_summary", "from": "data", **options}}, {"data": data}),
    ):
        pass


def test_colours() -> None:
    """[B, T, F, 3]"""
    with Net(
        {"output": {"class": "image_summary", "from": "data"}}, {"data": {"shape": (None, 2, 3)}}, train=True
    ) as net:
        feed = net.feed(data=numpy.ones((1, 4, 2, 3)))
        (text,) = net.fetches(feed, with_summary=True)["image_summaries"]
    assert v1.Summary.FromString(text).value[0].image.colorspace == 3
