"""Units that are classes of users. Values and gradients: the case ``rec_user_cells`` in tests/peer_cases."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.tf.compat import tf, v1
from returnn.tf.layers.rec import BaseRNNCell, RecLayer
from returnn.util.errors import ConfigError
from tests.layers.recurrent.common import NetworkRun, fresh_graph, last, outputs_of, rec

State = namedtuple("State", ["h", "c"])


class SumCell(BaseRNNCell):
    """h' = h + factor * sum of the inputs, and how many frames there were"""

    def __init__(self, num_units: int, factor: float = 1.0, state_size: int | None = None):
        super().__init__()
        self.num_units, self.factor, self._state_size = num_units, factor, state_size or num_units

    @property
    def output_size(self) -> int:
        return self.num_units

    @property
    def state_size(self) -> Any:
        return State(self._state_size, self._state_size)

    def call(self, inputs: Any, state: Any) -> Any:
        b = v1.get_variable("b", [self.num_units], initializer=v1.zeros_initializer())
        h = state.h + self.factor * tf.reduce_sum(inputs, axis=-1, keepdims=True) + b
        return h, State(h, state.c + 1)


@pytest.fixture
def registered() -> Iterator[None]:
    """Inside, the class has a name."""
    RecLayer._create_rnn_cells_dict()
    RecLayer._rnn_cells_dict["sumcell"] = SumCell
    yield
    del RecLayer._rnn_cells_dict["sumcell"]


def test_by_class_and_by_name(registered: None) -> None:
    """Sums over time, of lengths 3 and 2; c counts, and comes first where the parts are joined."""
    opts = {"unit_opts": {"factor": 2.0}}
    network = {"a": rec(SumCell, **opts), "b": rec("SumCell", **opts), "s": last("a", 4)}
    with fresh_graph():
        run = NetworkRun(network)
        by_class, by_name, state = run("a", "b", "s")
        x = run.session.run(run.data.placeholder, {run.data.placeholder: numpy.ones((2, 3, 2))})
        (ones,) = run("a", feed={run.data.placeholder: x})
        assert [var.op.name for var in run.network.get_params_list()] == ["a/rec/sum_cell/b", "b/rec/sum_cell/b"]
    assert (by_class == by_name).all()
    assert ones[0, :, 0].tolist() == [4, 8, 12] and ones[1, :, 0].tolist() == [4, 8, 0]
    assert state[:, :2].tolist() == [[3, 3], [2, 2]]
    numpy.testing.assert_allclose(state[:, 2:], [by_class[0, 2], by_class[1, 1]])


def test_backwards_and_initial_state() -> None:
    """From the end of each sequence, beginning with 1."""
    layer = rec(SumCell, direction=-1, initial_state={"h": 1, "c": 0})
    with fresh_graph():
        run = NetworkRun({"a": layer})
        (value,) = run("a", feed={run.data.placeholder: numpy.ones((2, 3, 2))})
    assert value[0, :, 0].tolist() == [7, 5, 3] and value[1, :, 0].tolist() == [5, 3, 0]


def test_parameters_belong_to_the_layer() -> None:
    """For L2, or not trained."""
    with fresh_graph():
        run = NetworkRun({"a": rec(SumCell, L2=0.5), "b": rec(SumCell, trainable=False)}, train_flag=True)
        run.fill_params()
        assert set(run.network.layers["a"].params) == {"sum_cell/b"}
        assert [var.op.name for var in run.network.get_trainable_params()] == ["a/rec/sum_cell/b"]
        squares = run.session.run(run.network.get_total_constraints())
    assert squares == pytest.approx(0.5 * (0.5**2 + 0.2**2))


def test_reuse_params() -> None:
    """Another layer computes with the same variable."""
    network = {"a": rec(SumCell), "b": rec(SumCell, reuse_params="a")}
    with fresh_graph():
        assert [var.op.name for var in NetworkRun(network).network.get_params_list()] == ["a/rec/sum_cell/b"]
    a, b = outputs_of(network, "a", "b")
    assert (a == b).all()


def test_class_of_a_name(registered: None) -> None:
    """Letter case does not matter."""
    assert RecLayer.get_rnn_cell_class("SumCell") is SumCell
    assert RecLayer.get_rnn_cell_class(SumCell) is SumCell
    assert RecLayer.get_rnn_cell_class("LSTM").state_names == ("h", "c")
    with pytest.raises(ConfigError, match="unknown cell 'SumCel'.*Did you mean \"sumcell\""):
        RecLayer.get_rnn_cell_class("SumCel")


def test_sizes_are_checked() -> None:
    """Here 3 for a state."""
    message = r"unit SumCell: output and states must have n_out = 2 features, but have \[2, 3\]"
    with fresh_graph(), pytest.raises(ConfigError, match=message):
        NetworkRun({"r": rec(SumCell, unit_opts={"state_size": 3})})


def test_other_backends() -> None:
    """They say that they cannot."""
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=numpy_backend)
    message = "unit SumCell: units that are classes work on TensorFlow only, not on the backend 'numpy'"
    with pytest.raises(ConfigError, match=message):
        net.construct_from_dict({"r": rec(SumCell)})
