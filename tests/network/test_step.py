"""A network computed anew in each step, on numpy. That it computes the same as a graph: test_peer_cases.py."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.config import Config
from returnn.layers.base import LayerBase
from returnn.layers.registry import register_layer_class
from returnn.network import Network
from returnn.network.errors import NetworkLayerException
from returnn.tensor import Tensor
from returnn.tensor.numpy_backend import backend
from returnn.util.errors import UserError

DATA = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True}}
X = numpy.array([[[1, 2], [3, 4], [100, 100]], [[5, 6], [7, 8], [9, 10]]], "float32")
FEED = {"data": X, "data:size1": numpy.array([2, 3], "int32")}
LABELS = {"classes": numpy.array([[0, 1, 0], [2, 2, 1]], "int32"), "classes:size1": numpy.array([2, 3], "int32")}


def make(network: dict[str, Any], extern_data: dict[str, Any] | None = None, **flags: Any) -> Network:
    net = Network(config=Config({"extern_data": extern_data or DATA}), backend=backend, **flags)
    net.construct_from_dict(network)
    return net


def test_steps_have_their_own_values_and_lengths() -> None:
    """Means over time: (1+3)/2 .., then of one frame less."""
    net = make({"output": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"}})
    with net.step(FEED, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == [[2, 3], [7, 8]]
    with net.step({"data": X[:, :2], "data:size1": numpy.array([1, 2], "int32")}, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == [[1, 2], [6, 7]]


def test_parameters_are_made_at_construction_and_stay() -> None:
    """Their names and shapes are those of a graph; a step computes with what was assigned."""
    net = make({"output": {"class": "linear", "n_out": 1, "activation": None, "from": "data"}})
    params = net.param_store.named()
    assert {name: var.shape for name, var in params.items()} == {"output/W": (2, 1), "output/b": (1,)}
    backend.assign(params["output/W"], [[1], [10]])
    for _ in range(2):
        with net.step(FEED, train=False):
            assert net.layers["output"].output.raw_tensor[0, :2, 0].tolist() == [21, 43]
    assert net.param_store.named() == params


def test_losses_are_those_of_the_step() -> None:
    """Logits 0: each frame costs log 3; five frames, then three."""
    layer = {"class": "softmax", "from": "data", "loss": "ce", "target": "classes", "forward_weights_init": 0}
    net = make({"output": layer}, train_flag=True)
    (holder,) = net.get_losses()
    for lens, frames in [([2, 3], 5), ([1, 2], 3)]:
        values = {"data": X[:, : max(lens)], "classes": LABELS["classes"][:, : max(lens)]}
        sizes = {key + ":size1": numpy.array(lens, "int32") for key in values}
        with net.step({**values, **sizes}, train=True):
            assert float(net.get_objective()) == pytest.approx(frames * numpy.log(3), rel=1e-6)
            assert float(holder.get_norm_factor()) == pytest.approx(1 / frames, rel=1e-6)


def test_running_statistics_change_at_the_end_of_a_step() -> None:
    """Mean of the five frames is (5, 6); with momentum 0.1 the running one goes from 0 to (.5, .6)."""
    layer = {"class": "batch_norm", "from": "data", "momentum": 0.1, "param_version": 2}
    net = make({"output": {**layer, "update_sample_only_in_training": True}}, train_flag=True)
    mean = net.param_store.named()["output/batch_norm/v2_mean"]
    with net.step(FEED, train=True):
        assert mean.tolist() == [0, 0]
    assert mean == pytest.approx([0.5, 0.6])
    with net.step(FEED, train=False):
        pass
    assert mean == pytest.approx([0.5, 0.6])


def test_train_flag_of_a_step_reaches_networks_inside() -> None:
    """Dropout on ones: zeros and 1 / keep in training, else ones. The noise is a function of the step."""
    inner = {"output": {"class": "copy", "from": "data", "dropout": 0.5, "dropout_noise_shape": {"*": None}}}
    network = {"output": {"class": "subnetwork", "from": "data", "subnetwork": inner}}
    net = make(network, {"data": {"dim": 50}}, train_flag=True)
    feed = {"data": numpy.ones((1, 2, 50), "float32"), "data:size1": numpy.array([2], "int32")}
    outputs = []
    for train, step in [(True, 0), (True, 0), (True, 1), (False, 0)]:
        with net.step(feed, train=train, global_train_step=step):
            outputs.append(net.layers["output"].output.raw_tensor.copy())
    assert set(outputs[0].flatten()) == {0, 2} and set(outputs[3].flatten()) == {1}
    assert numpy.array_equal(outputs[0], outputs[1]) and not numpy.array_equal(outputs[0], outputs[2])


def test_missing_data_is_named() -> None:
    net = make({"output": {"class": "copy", "from": ["data"]}})
    with pytest.raises(UserError, match="data that the step does not have: data"), net.step({}, train=False):
        pass
    with net.step(FEED, train=False):  # and nothing is left of the failed one
        pass


def test_lengths_that_differ_are_named() -> None:
    layer = {"class": "softmax", "from": "data", "loss": "ce", "target": "classes"}
    net = make({"output": layer}, train_flag=True)
    feed = {**FEED, "classes": LABELS["classes"][:, :2], "classes:size1": numpy.array([2, 2], "int32")}
    with pytest.raises(UserError, match=r"(?s)target classes are not those of the output.*\[2 2\]"):
        with net.step(feed, train=True):
            net.get_objective()


def test_another_dict_after_one_that_failed() -> None:
    """Layers of the first are not computed in a step of the second."""
    net = Network(config=Config({"extern_data": DATA}), backend=backend)
    bad = {"a": {"class": "copy", "from": "data"}, "output": {"class": "linear", "n_out": 2, "from": "a", "dropout": 2}}
    with pytest.raises(NetworkLayerException):
        net.construct_from_dict(bad)
    net.construct_from_dict({"output": {"class": "copy", "from": "data"}})
    with net.step(FEED, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == X.tolist()
    assert set(net.layers) == {"data", "output"}


def test_a_dict_that_failed_takes_nothing_from_the_one_before() -> None:
    net = make({"output": {"class": "copy", "from": "data"}})
    with pytest.raises(NetworkLayerException):
        net.construct_from_dict({"b": {"class": "linear", "n_out": 2, "from": "data", "dropout": 2, "loss": "mse"}})
    assert list(net.layers_desc) == ["output"]
    with net.step(FEED, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == X.tolist()


def test_nothing_of_a_step_is_left() -> None:
    """No values; flag and numbers of the step as they were; and a layer that is added then is computed in the next."""
    net = make({"output": {"class": "linear", "n_out": 2, "from": "data", "loss": "mse", "target": "data"}})
    train_flag = net.train_flag
    with net.step(FEED, train=True, global_train_step=7, epoch_step=3):
        assert net.train_flag is True and (net.step_for_noise(), net.get_epoch_step()) == (7, 3)
    assert net.train_flag is train_flag and (net.step_for_noise(), net.get_epoch_step()) == (0, 0)
    assert all(layer.output.raw_tensor is None for layer in net.layers.values())
    assert net.extern_data.data["data"].raw_tensor is None and not net.has_values
    net.construct_layer({"more": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"}}, "more")
    with net.step(FEED, train=False):
        assert net.layers["more"].output.raw_tensor.tolist() == [[3, 4], [9, 10]]


class Keeps(LayerBase):
    """Counts the steps, in what a step leaves for the next one, and in a parameter."""

    layer_class = "keeps"

    def compute(self, x: Tensor) -> Tensor:
        var = self.param("count", [], trainable=False)
        if self.has_values:
            kept = rf.get_run_ctx().kept
            kept["count"] = kept.get("count", 0) + 1
            self.network.register_update(self.params["count"], kept["count"], only_in_training=False)
        return x + var


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_step_that_fails_changes_nothing(error: type[BaseException]) -> None:
    """Neither parameters nor what is kept, and the next one is the first."""
    net = make({"output": {"class": Keeps, "from": "data"}})
    count = net.param_store.named()["output/count"]
    with pytest.raises(error), net.step(FEED, train=True, global_train_step=7):
        raise error("in the middle")
    assert count == 0 and net.train_flag is False and net.step_for_noise() == 0 and not net.has_values
    assert net.layers["output"].output.raw_tensor is None and rf.get_run_ctx().kept == {}
    for number in (1, 2):
        with net.step(FEED, train=False):
            assert net.layers["output"].output.raw_tensor.tolist() == (X + number - 1).tolist()
        assert count == number


def test_a_step_within_a_step_is_refused() -> None:
    net = make({"output": {"class": "copy", "from": "data"}})
    with net.step(FEED, train=False):
        with pytest.raises(RuntimeError, match="a step within a step"), net.step(FEED, train=False):
            pass
        assert net.layers["output"].output.raw_tensor is not None


def test_variables_of_users_are_for_graphs_only() -> None:
    class WithVariable(LayerBase):
        layer_class = "with_variable"

        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.var_creation_scope():
                pass

    with pytest.raises(NetworkLayerException, match=r"var_creation_scope\(\) is for layers in TensorFlow graphs only"):
        make({"output": {"class": WithVariable, "from": "data", "n_out": 2}})


def test_layer_that_computes_in_init_is_refused() -> None:
    class InInit(LayerBase):
        layer_class = "computes_in_init"

        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            self.output.placeholder = self.sources[0].output.placeholder

    register_layer_class(InInit)
    with pytest.raises(NetworkLayerException, match="InInit computes in __init__.*has compute"):
        make({"output": {"class": "computes_in_init", "from": "data"}})
