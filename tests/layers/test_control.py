"""Layers that know of the run."""

from __future__ import annotations

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor.numpy_backend import backend
from tests.network.net import X_LENS, Net, X


@pytest.mark.parametrize(("flag", "value"), [(True, True), (False, False), ("dynamic", False)])
def test_train_flag(flag: bool | str, value: bool) -> None:
    """A bool scalar, also where only the step knows."""
    with Net({"output": {"class": "train_flag"}}, train=flag) as net:
        assert net.out().tolist() is value and net.layers["output"].output.dtype == "bool"
        if flag == "dynamic":
            assert net.out(feed={**net.feed(), net.train_flag: True}).tolist() is True


def test_global_train_step() -> None:
    """Steps of the optimizer before this one: int64."""
    with Net({"output": {"class": "global_train_step"}}) as net:
        assert net.out() == 0 and net.out().dtype == "int64"
        net.session.run(net.net.global_train_step_var.assign(7))
        assert net.out() == 7


def test_in_steps() -> None:
    """As the step says."""
    network = {
        "flag": {"class": "train_flag", "is_output_layer": True},
        "step": {"class": "global_train_step", "is_output_layer": True},
        "output": {"class": "copy", "from": "data"},
    }
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=backend)
    net.construct_from_dict(network)
    for train, step in [(True, 3), (False, 4)]:
        with net.step({"data": X, "data:size1": numpy.array(X_LENS, "int32")}, train=train, global_train_step=step):
            assert net.layers["flag"].output.raw_tensor.tolist() is train
            assert net.layers["step"].output.raw_tensor.tolist() == step
