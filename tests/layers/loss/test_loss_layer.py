"""The layer ``loss``: values per frame."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.errors import ConfigError
from tests.network.net import Net

from .common import EXTERN_DATA, fetches, z_feed, z_net

PROBS = {"class": "activation", "activation": "softmax", "from": "data"}
LOSS = {"class": "loss", "from": "probs", "loss_": "ce", "target_": "classes"}
CE = [[0.407606, 1.098612], [0.551445, 1.551445, 5.013386]]
"""-log softmax(Z)[label]"""


def test_value_per_frame() -> None:
    """Features are gone, padding is there."""
    with z_net({"probs": PROBS, "output": LOSS}) as net:
        output = net.layers["output"].output
        assert (output.batch_shape, output.time_dim_axis, output.feature_dim) == ((None, None), 1, None)
        value = net.out(feed=z_feed(net))
    assert value.dtype == "float32" and value.shape == (2, 3)
    numpy.testing.assert_allclose(value[0, :2], CE[0], rtol=1e-5)
    numpy.testing.assert_allclose(value[1], CE[1], rtol=1e-5)


def test_as_is_of_it_trains() -> None:
    got = fetches({**LOSS, "loss": "as_is"}, {"probs": PROBS})
    assert got["cost:output"] == got["loss"] == pytest.approx(8.622494)
    assert got["loss_norm_factor:output"] == pytest.approx(0.2)


def test_error_and_parts() -> None:
    """Frames 2, 4 and 5 are wrong."""
    network = {
        "probs": PROBS,
        "ce": LOSS,
        "error": {**LOSS, "use_error": True, "is_output_layer": True},
        "part": {"class": "copy", "from": "ce/error", "is_output_layer": True},
        "output": {"class": "copy", "from": "ce/loss"},
    }
    with z_net(network) as net:
        for name in ("error", "part"):
            value = net.out(name, z_feed(net))
            assert (value[0, :2].tolist(), value[1].tolist()) == ([0, 1], [0, 1, 1])
        numpy.testing.assert_allclose(net.out(feed=z_feed(net))[1], CE[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss_": None}, 'option "loss_" is missing'),
        ({"loss_": "cee"}, "unknown loss class 'cee'. Did you mean"),
        ({"loss_opts_": {"label_smooting": 0.1}}, 'option "label_smooting" is unknown to loss "ce".*"label_smoothing"'),
        ({"target_": "clases"}, "clases"),
        ({"loss_": "bleu", "from": "data:classes"}, "the loss 'bleu' has no value"),
        ({"from": ["probs", "data"]}, "the layer needs exactly one source, but has 2"),
        ({"loss_": "sprint"}, "loss 'sprint' needs RASR, which is not supported yet"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message), z_net({"probs": PROBS, "output": {**LOSS, **options}}):
        pass


def test_without_targets_it_is_not_there() -> None:
    """In forwarding there is no target, so nothing that needs the layer is built."""
    network = {"probs": PROBS, "loss": {**LOSS, "is_output_layer": True}, "output": {"class": "copy", "from": "probs"}}
    with Net(network, EXTERN_DATA) as net:
        assert net.layers["loss"].output.raw_tensor is None
