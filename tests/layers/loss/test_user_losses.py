"""Losses that users define: with raw values of all frames, or on Tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.layers.loss import Loss, get_loss_class, register_loss_class, registry
from returnn.layers.loss.frame_losses import CrossEntropyLoss
from returnn.layers.registry import register_layer_class
from returnn.tensor import Tensor
from returnn.tf.compat import tf
from returnn.tf.layers.basic import LinearLayer
from returnn.util.errors import ConfigError

from .common import CLASSES, LENS, Z, fetches, z_feed, z_net

REAL = numpy.concatenate([Z[0, :2], Z[1]])
"""[5 frames, 3]"""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    yield


class SquaresLoss(Loss):
    """sum of squares of the output, half of that as error"""

    class_name = "squares"
    need_target = False

    def __init__(self, power: int = 2, **kwargs: Any):
        super().__init__(**kwargs)
        self.power = power

    def get_value(self) -> Any:
        return self.reduce_func(tf.reduce_sum(self.output_flat**self.power, axis=-1))

    def get_error(self) -> Any:
        return self.reduce_func(tf.reduce_sum(self.output_flat**self.power, axis=-1) * 0.5)


COPY = {"class": "copy", "from": "data"}


@pytest.mark.parametrize("flat", [True, False])
def test_raw_values_of_real_frames(flat: bool) -> None:
    """Padding does not count, whether it is there or not. 1 + 4 + 9, 0, 1, 1, 25 = 41."""
    got = fetches({**COPY, "loss": SquaresLoss, "loss_opts": {"use_flatten_frames": flat}})
    assert got["cost:output"] == 41 and got["error:output"] == 20.5
    assert got["loss_norm_factor:output"] == pytest.approx(0.2)
    assert fetches({**COPY, "loss": SquaresLoss, "loss_opts": {"power": 1}})["cost:output"] == 13


def test_by_name() -> None:
    assert register_loss_class(SquaresLoss) is SquaresLoss is get_loss_class("squares")
    assert fetches({**COPY, "loss": "squares", "loss_scale": 2.0})["loss"] == 82
    with pytest.raises(ConfigError, match="loss name 'squares' is taken by .*SquaresLoss"):
        register_loss_class(type("Other", (SquaresLoss,), {}))
    with pytest.raises(ConfigError, match='option "powr" is unknown to loss "squares". Did you mean "power"'):
        fetches({**COPY, "loss": "squares", "loss_opts": {"powr": 1}})


def test_what_a_loss_finds() -> None:
    """Raw values of frames, without padding; softmax gives its input instead of the output."""
    seen: dict[str, Any] = {}

    class Looks(Loss):
        class_name = "looks"

        def get_value(self) -> Any:
            names = (
                "output_flat output_before_softmax_flat target_flat output_seq_lens target_seq_lens loss_norm_factor"
            )
            seen.update({name: getattr(self, name) for name in names.split()})
            return self.reduce_func(tf.zeros([5]))

    layer = {"class": "activation", "activation": "softmax", "from": "data", "target": "classes", "loss": Looks}
    with z_net({"output": layer}) as net:
        assert net.fetches(z_feed(net))["error:output"] == 3  # that of frames, by default
        assert seen.pop("output_flat") is None
        values = net.session.run(seen, z_feed(net))
    assert values["output_before_softmax_flat"].tolist() == REAL.tolist()
    assert values["target_flat"].tolist() == [*CLASSES[0, :2], *CLASSES[1]]
    assert values["output_seq_lens"].tolist() == values["target_seq_lens"].tolist() == LENS
    assert values["loss_norm_factor"] == pytest.approx(0.2)


def test_value_of_a_built_in_loss_in_another_one() -> None:
    """10 times the cross entropy, and per frame in a layer of class loss."""

    class Tenfold(CrossEntropyLoss):
        class_name = "tenfold"

        def get_value(self) -> Any:
            return 10 * super().get_value()

    probs = {"class": "activation", "activation": "softmax", "from": "data", "target": "classes"}
    got = fetches({**probs, "loss": Tenfold})
    assert got["cost:output"] == pytest.approx(86.22494)
    per_frame = {"class": "loss", "loss_": Tenfold, "target_": "classes", "from": "probs"}
    with z_net({"probs": probs, "output": per_frame}) as net:
        value = net.out(feed=z_feed(net))
    numpy.testing.assert_allclose(value[0, :2], [4.07606, 10.98612], rtol=1e-5)
    numpy.testing.assert_allclose(value[1], [5.51445, 15.51445, 50.13386], rtol=1e-5)


def test_on_tensors() -> None:
    """The same values on all backends: what the framework's own losses are."""

    class Largest(Loss):
        class_name = "largest"
        need_target = False

        def value_per_pos(self) -> Tensor:
            return rf.reduce_max(self.output, axis=self.output.feature_dim)

    got = fetches({**COPY, "loss": Largest})
    assert got["cost:output"] == 3 + 0 + 1 + 1 + 5 and "error:output" not in got


def test_of_whole_sequences() -> None:
    """recurrent: a value for each sequence, without masks; the layer then depends on other frames, too."""

    class Lengths(Loss):
        class_name = "lengths"
        need_target = False
        recurrent = True

        def get_value(self) -> Any:
            return self.reduce_func(tf.cast(self.output_seq_lens, tf.float32))

        def get_error(self) -> None:
            return None

    with z_net({"output": {**COPY, "loss": Lengths}}) as net:
        assert net.fetches(z_feed(net))["cost:output"] == 5
        (holder,) = net.net.get_losses()
        assert net.session.run(holder.get_normalized_loss_value_per_seq(), z_feed(net)).tolist() == [1, 1]
        assert net.layers["output"].recurrent


def test_default_target() -> None:
    class Dense(Loss):
        class_name = "dense"

        @classmethod
        def get_default_target(cls, extern_data: Any) -> str:
            return "dense"

        def get_value(self) -> Any:
            return self.reduce_func(tf.reduce_sum(self.target_flat, axis=-1))

    assert fetches({**COPY, "loss": Dense})["cost:output"] == 5


def test_given_by_a_layer_class_of_the_user() -> None:
    """As configs have it: ``transform_config_dict`` puts a loss into the options."""

    class WithLoss(LinearLayer):
        layer_class = "linear_with_squares"

        @classmethod
        def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
            super().transform_config_dict(d, network=network, get_layer=get_layer)
            d["loss"] = SquaresLoss(base_network=network, scale=0.5)

    register_layer_class(WithLoss)
    layer = {"class": "linear_with_squares", "n_out": 1, "forward_weights_init": 1, "activation": None, "from": "data"}
    got = fetches(layer)
    assert got["cost:output"] == 6**2 + 0 + 1 + 1 + 5**2 and got["loss"] == got["cost:output"] / 2
