"""Noise and dropout on parameters, in training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.network.errors import NetworkLayerException
from returnn.tf.compat import v1

from .net import Net

ONES = numpy.ones((1, 2, 100))
ZEROS = numpy.zeros((1, 2, 100))
DATA = {"data": {"dim": 100}}


def linear(source: str = "data", **options: Any) -> dict[str, Any]:
    """W and b zero, 1000 outputs"""
    opts = {"class": "linear", "activation": None, "n_out": 1000, "from": source, "forward_weights_init": 0}
    return {**opts, **options}


def values(network: Mapping[str, Any], x: numpy.ndarray = ONES, steps: int = 1, **options: Any) -> list[Any]:
    """first frame of each layer of the network, in each step"""
    with Net(network, DATA, **options) as net:
        feed = net.feed(data=x)
        res = []
        for step in range(steps):
            net.net.global_train_step_var.load(step, net.session)
            frames = net.session.run({name: net.layers[name].output.placeholder[0, 0] for name in network}, feed)
            res.append(frames)
        return res


def test_noise_is_normal_and_of_another_value_in_each_step() -> None:
    """100 weights and a bias of deviation 0.5: 1000 sums of deviation 0.5 sqrt(101) = 5.02, mean 0 +- 0.16."""
    first, second = values({"output": linear(param_variational_noise=0.5)}, steps=2, train=True)
    for step in (first, second):
        assert abs(step["output"].std() - 5.02) < 0.4 and abs(step["output"].mean()) < 0.7
    assert abs(numpy.corrcoef(first["output"], second["output"])[0, 1]) < 0.15


def test_the_same_step_gives_the_same_noise() -> None:
    """Whenever the program was started."""
    network = {"output": linear(param_variational_noise=0.5, param_dropout=0.1, bias_init=3.0)}
    first, second = (values(network, train=True)[0]["output"] for _ in range(2))
    numpy.testing.assert_array_equal(first, second)


def test_none_when_not_training() -> None:
    options = {"param_variational_noise": 0.5, "param_dropout": 0.5}
    network = {"output": linear(**options, bias_init=1.0)}
    assert set(values(network)[0]["output"]) == {1.0}
    assert set(values(network, train="dynamic", evaluation=True)[0]["output"]) == {1.0}


def test_dynamic_train_flag() -> None:
    with Net({"output": linear(param_variational_noise=0.5)}, DATA, train="dynamic") as net:
        feed = net.feed(data=ONES)
        assert net.out(feed=feed).std() == 0
        assert net.out(feed={**feed, net.train_flag: True}).std() > 4


def test_dropout_keeps_the_mean() -> None:
    """Weights 1 are 0 or 2; of 100 about half: sums of deviation 10 around 100; the bias 1000 is 0 or 2000."""
    network = {"output": linear(param_dropout=0.5, forward_weights_init=1, bias_init=1000.0)}
    y = values(network, train=True)[0]["output"]
    dropped, kept = y[y < 1000], y[y > 1000] - 2000
    assert 400 < len(dropped) < 600
    for sums in (dropped, kept):
        assert abs(sums.mean() - 100) < 2 and abs(sums.std() - 10) < 1.5 and (sums % 2 == 0).all()


def test_dropout_spares_parameters_of_fewer_axes() -> None:
    """Only the weights: sums around 100, and 1000 of the bias."""
    options = {"param_dropout": 0.5, "param_dropout_min_ndim": 2}
    y = values({"output": linear(**options, forward_weights_init=1, bias_init=1000.0)}, train=True)[0]["output"]
    assert abs(y.mean() - 1100) < 2 and y.min() > 1000


def test_dropout_takes_the_noise_too() -> None:
    """A parameter is dropped as it is, with its noise: of 1000 biases with probability 0.99 about 10 are left."""
    y = values({"output": linear(param_dropout=0.99, param_variational_noise=1.0)}, x=ZEROS, train=True)[0]["output"]
    assert 0 < numpy.count_nonzero(y) < 40


def test_config_keys_are_the_defaults() -> None:
    """None means the config, 0 means none."""
    network = {
        "by_config": linear(is_output_layer=True),
        "none": linear(is_output_layer=True, param_variational_noise=None),
        "output": linear(param_variational_noise=0),
    }
    y = values(network, train=True, param_variational_noise=0.5)[0]
    assert y["by_config"].std() > 4 and y["none"].std() > 4 and y["output"].std() == 0
    dropped = values({"output": linear(bias_init=1.0)}, train=True, param_dropout=0.5)[0]["output"]
    assert set(dropped) == {0.0, 2.0}
    spared = values({"output": linear(bias_init=1.0)}, train=True, param_dropout=0.5, param_dropout_min_ndim=2)[0]
    assert set(spared["output"]) == {1.0}


def test_each_layer_has_noise_of_its_own_on_a_shared_parameter() -> None:
    """Whether the owner has some or not; frozen parameters have it too."""
    noise = {"param_variational_noise": 0.5}
    network = {
        "output": linear(**noise, trainable=False),
        "same": linear(is_output_layer=True, reuse_params="output"),
        "same_noisy": linear(is_output_layer=True, reuse_params="output", **noise),
        "extra:output": linear(is_output_layer=True, **noise),
    }
    y = values(network, train=True)[0]
    assert y["same"].std() == 0
    noisy = numpy.stack([y[name] for name in ("output", "same_noisy", "extra:output")])
    assert abs(numpy.corrcoef(noisy) - numpy.eye(3)).max() < 0.15 and noisy.std(axis=1).min() > 4


def test_constraints_and_gradients_are_those_of_the_parameter() -> None:
    """d sum(x (W + noise)) / dW = sum over frames of x; L2 0.1 of W = 0 is 0, its gradient too."""
    network = {"output": linear(param_variational_noise=0.5, L2=0.1, loss="as_is")}
    with Net(network, DATA, train=True) as net:
        w = next(var for var in net.net.get_params_list() if var.op.name == "output/W")
        grad = v1.gradients(net.net.get_objective(), w)[0]
        value, constraint = net.session.run((grad, net.net.get_total_constraints()), net.feed(data=ONES))
        numpy.testing.assert_allclose(value, numpy.full((100, 1000), 2.0))
        assert constraint == 0


def test_running_statistics_have_no_noise() -> None:
    """Mean and variance of the batch are 0 and 0: (0 - 0) / sqrt(0 + 0.001) * gamma + beta = beta, which has noise."""
    network = {"output": {"class": "batch_norm", "from": "data", "masked_time": True, "param_variational_noise": 0.5}}
    with Net(network, DATA, train=True) as net:
        fetches = net.net.get_fetches_dict()
        y, _ = net.session.run((net.layers["output"].output.placeholder, fetches), net.feed(data=ZEROS))
        assert abs(y[0, 0].std() - 0.5) < 0.2 and (y == y[:1, :1]).all()
        mean = next(var for var in net.net.get_params_list() if var.op.name.endswith("mean"))
        assert abs(net.session.run(mean)).max() == 0


def test_a_checkpoint_holds_a_random_state_but_needs_none(tmp_path: Path) -> None:
    """Other programs keep one there; without noise there is none."""
    noisy, plain = {"output": linear(param_variational_noise=0.5)}, {"output": linear()}
    name = "global_random_generator/random_generator/StateVar"
    with Net(noisy, DATA, train=True) as net:
        assert [var.op.name for var in net.net.get_saveable_params_list()][2:] == ["global_step", name]
        assert name not in net.param_shapes()
        net.net.initialize_params(net.session)
        assert net.session.run(net.net.get_saveable_params_list()[-1]).dtype == numpy.int64
    with Net(noisy, DATA) as net:
        assert name not in [var.op.name for var in net.net.get_saveable_params_list()]
    with Net(plain, DATA, train=True) as net:
        net.net.save_params_to_file(str(tmp_path / "model"), net.session)
    with Net(noisy, DATA, train=True) as net:
        net.net.load_params_from_file(str(tmp_path / "model"), net.session)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_variational_noise": -1}, "param_variational_noise must be a number >= 0, but is -1"),
        ({"param_dropout": 1}, r"param_dropout must be in \[0, 1\), but is 1"),
        ({"param_dropout": "a"}, "param_dropout must be a number >= 0, but is 'a'"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(NetworkLayerException, match=message):
        Net({"output": linear(**options)}, DATA, train=True)


def test_param_device() -> None:
    """Names as TensorFlow's, or only the kind; operations are left where they are."""
    for device, name in [("CPU", "/device:CPU:*"), ("gpu:1", "/device:GPU:1"), ("/cpu:0", "/device:CPU:0")]:
        net = Net({"output": linear(param_device=device)}, DATA)
        assert [var.device for var in net.net.get_params_list()] == [name] * 2
        assert net.layers["output"].output.placeholder.device == ""
        net.session.close()
