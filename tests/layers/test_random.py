"""Layers that draw. The numbers themselves, of TensorFlow: the case ``random_states`` in tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor import Dim, batch_dim
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError
from tests.network.net import X_LENS, Net, X

FEED = {"data": X, "data:size1": numpy.array(X_LENS, "int32")}
UNIFORM = {"class": "random", "distribution": "uniform", "maxval": 1.0, "shape": [5]}


def _backends() -> list[Any]:
    try:
        from returnn.torch.backend import backend  # noqa: PLC0415 - an extra
    except ImportError:
        return [numpy_backend]
    return [numpy_backend, backend]


BACKENDS = pytest.mark.parametrize("backend", _backends(), ids=lambda backend: backend.name)


class Eager:
    """A network on a backend that computes at once."""

    def __init__(self, layer: dict[str, Any], backend: Any, **opts: Any):
        """
        :param layer: options of the layer "output"
        :param backend: that computes
        :param opts: further config keys
        """
        self.net = Network(config=Config({"extern_data": {"data": {"dim": 2}}, **opts}), backend=backend)
        self.net.construct_from_dict({"output": layer, "keep": {"class": "copy", "from": "data", "is_output_layer": 1}})

    def draw(self, step: int = 0) -> list[float]:
        """
        :return: output of a step
        """
        with self.net.step(FEED, train=False, global_train_step=step):
            return self.net.backend.to_numpy(self.net.layers["output"].output.raw_tensor).tolist()


@BACKENDS
def test_state_goes_on(backend: Any) -> None:
    """Other numbers in each step; from a state that was saved, those that came then."""
    run = Eager(UNIFORM, backend)
    first, second = run.draw(), run.draw()
    assert first != second
    (state,) = run.net.get_params_list()
    saved = run.net.backend.to_numpy(state).copy()
    third = run.draw()
    again = Eager({**UNIFORM, "seed": 77}, backend)
    backend.assign(again.net.get_params_list()[0], backend.convert(saved))
    assert again.draw() == third


@BACKENDS
def test_static(backend: Any) -> None:
    """A function of the seed alone: in each step, in each network."""
    layer = {**UNIFORM, "static": True, "seed": 5}
    run, other = Eager(layer, backend), Eager(layer, backend)
    assert run.draw(0) == run.draw(1) == other.draw(3)
    assert run.draw() != Eager({**layer, "seed": 6}, backend).draw()
    assert not run.net.get_params_list()


@BACKENDS
@pytest.mark.parametrize(
    ("opts", "mean", "stddev", "low", "high"),
    [
        ({"minval": 2.0, "maxval": 4.0}, 3, 12**-0.5 * 2, 2, 4),
        ({"maxval": None, "bound": 3.0}, 0, 3**0.5, -3, 3),
        ({"maxval": None, "bound": 1.0, "mean": 5.0}, 5, 3**-0.5, 4, 6),
        ({"maxval": None, "stddev": 2.0, "mean": 1.0}, 1, 2, 1 - 12**0.5, 1 + 12**0.5),
        ({"maxval": None, "distribution": "normal", "mean": 1.0, "stddev": 2.0}, 1, 2, -15, 17),
        ({"maxval": None, "distribution": "truncated_normal", "mean": 1.0, "stddev": 2.0}, 1, 2 * 0.8796, -3, 5),
        ({"dtype": "int32", "minval": 2, "maxval": 5}, 3, (2 / 3) ** 0.5, 2, 4),
        ({"dtype": "int64", "maxval": 2}, 0.5, 0.5, 0, 1),
    ],
)
def test_distributions(backend: Any, opts: dict[str, Any], mean: float, stddev: float, low: float, high: float) -> None:
    """20,000 numbers: mean and deviation within five standard errors, more or less; and the range. A uniform one of
    width w has the deviation w / sqrt(12); one cut at two deviations 0.8796."""
    layer = {**UNIFORM, "shape": [20000], "seed": 3, **opts}
    values = numpy.array(Eager({k: v for k, v in layer.items() if v is not None}, backend).draw())
    assert abs(values.mean() - mean) < 0.04 * stddev and abs(values.std() - stddev) < 0.03 * stddev
    assert low <= values.min() and values.max() <= high


@BACKENDS
def test_rand_int(backend: Any) -> None:
    """A function of random seed, layer, seed and step, whatever was drawn before."""
    layer = {"class": "rand_int", "shape": [200], "maxval": 7, "minval": 3}
    run = Eager(layer, backend)
    first, second = run.draw(0), run.draw(1)
    assert first != second and run.draw(0) == first == Eager(layer, backend).draw(0)
    assert set(first) == {3, 4, 5, 6}
    assert Eager({**layer, "seed": 1}, backend).draw(0) != first
    assert Eager(layer, backend, random_seed=1).draw(0) != first


def test_rand_int_on_tensorflow() -> None:
    """The same in a step of the same number, others in the next one."""
    layer = {"class": "rand_int", "shape": [200], "maxval": 7, "minval": "least"}
    with Net({"output": layer, "least": {"class": "constant", "value": 3}}) as net:
        first = net.out()
        assert set(first) == {3, 4, 5, 6} and first.dtype == "int32"
        assert (net.out() == first).all()
        net.session.run(net.net.global_train_step_var.assign_add(1))
        assert (net.out() != first).any()


def test_shape_of_data() -> None:
    """[batch, time, 4]: own numbers for each frame."""
    time = Dim(None, name="time", kind=Dim.Types.Spatial)
    data = {"data": {"dim": 2, "same_dim_tags_as": {"T": time}}}
    layer = {**UNIFORM, "shape": [batch_dim, time, 4], "shape_deps": "data"}
    with Net({"output": layer}, data) as net:
        value = net.out()
    assert value.shape == (2, 3, 4) and len(numpy.unique(value)) == 24


def test_labels() -> None:
    """No feature axis, but classes."""
    with Net({"output": {**UNIFORM, "dtype": "int32", "maxval": 4, "sparse_dim": 4}}) as net:
        output = net.layers["output"].output
        assert output.sparse_dim.dimension == 4 and output.feature_dim is None
        assert set(net.out()) <= set(range(4))


def test_initial_state_is_drawn_from_the_network() -> None:
    """The first three numbers of RandomState(42); a seed of one number is a counter, key 0."""
    with Net({"output": UNIFORM}) as net:
        assert net.param_shapes() == {"output/random_generator/StateVar": [3]}
        assert net.get("output/random_generator/StateVar").tolist() == [1608637542, 1273642419, 1935803228]
        assert not net.net.get_trainable_params()
    with Net({"output": {**UNIFORM, "seed": 4}}) as net:
        assert net.get("output/random_generator/StateVar").tolist() == [4, 0, 0]


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        (
            {"distribution": "poisson"},
            "distribution must be one of uniform, normal, truncated_normal, but is 'poisson'",
        ),
        ({"distribution": None}, 'option "distribution" is missing'),
        ({"shape": None}, 'option "shape" is missing'),
        ({"shape": [0]}, r"shape must be sizes > 0, or Dims, but is \[0\]"),
        ({"maxval": None}, "uniform needs bound or maxval or stddev and takes mean, but got nothing"),
        ({"bound": 1.0}, "uniform needs bound or maxval or stddev and takes minval, but got bound, maxval"),
        ({"distribution": "normal"}, "normal needs nothing and takes mean, stddev, but got maxval"),
        (
            {"dtype": "int32", "maxval": None, "bound": 3},
            "uniform integers needs maxval and takes minval, but got bound",
        ),
        ({"dtype": "int32", "distribution": "normal", "maxval": None}, "distribution 'normal' gives no integers"),
        ({"algorithm": "threefry"}, 'algorithm must be "philox" or "auto_select", but is \'threefry\''),
        ({"seed": [1, 2]}, r"a seed is one number or three, but is \[1, 2\]"),
        ({"static": True, "explicit_state": "state"}, "static numbers have no state"),
        ({"auto_update_state": False}, "then explicit_state is needed"),
        ({"explicit_state": "state", "auto_update_state": True}, "layer 'state' must be of class variable"),
        ({"explicit_state": "data"}, r"explicit_state must be int64 \[3\], but layer 'data' is"),
    ],
)
def test_messages(opts: dict[str, Any], message: str) -> None:
    layer = {key: value for key, value in {**UNIFORM, **opts}.items() if value is not None}
    with pytest.raises(ConfigError, match=r'(?s)network\["output"\].*' + message):
        Net({"output": layer, "state": {"class": "random_state_init"}})


def test_rand_int_needs_maxval() -> None:
    with pytest.raises(ConfigError, match='option "maxval" is missing'):
        Net({"output": {"class": "rand_int", "shape": [3]}})
