"""Variables as layers. More options: the case ``variables`` in tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError
from tests.network.net import X_LENS, Net, X

VAR = {"class": "variable", "shape": [2], "init": 1, "trainable": False}
COUNTER = {
    "v": VAR,
    "amount": {"class": "constant", "value": 2.5, "shape": [2]},
    "add": {"class": "variable_assign", "var": "v", "value": "amount", "op": "add"},
    "set": {"class": "variable_assign", "var": "v", "value": "amount", "control_dependencies": "add"},
    "behind_add": {"class": "variable_read", "var": "v", "control_dependencies": ["add"], "is_output_layer": True},
    "behind_set": {"class": "variable_read", "var": "v", "control_dependencies": "set"},
    "output": {"class": "copy", "from": "data"},
}
FEED = {"data": X, "data:size1": numpy.array(X_LENS, "int32")}


def eager(network: dict[str, Any], **opts: Any) -> Network:
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=numpy_backend, **opts)
    net.construct_from_dict(network)
    return net


def test_name_and_shape() -> None:
    """Scope and name of the layer."""
    with Net({"output": {"class": "variable", "shape": [3]}}) as net:
        assert net.param_shapes() == {"output/output": [3]}
        net.set(output__output=[1, 2, 3])
        assert net.out().tolist() == [1, 2, 3]


def test_assign_and_read_in_one_step() -> None:
    """1 + 2.5 = 3.5, + 2.5 = 6; who reads the variable as such has the value from before."""
    with Net(COUNTER) as net:
        layers = [net.layers[name].output.placeholder for name in ("v", "behind_add")]
        for step in range(3):
            before, behind = net.session.run(layers, net.feed())
            assert before.tolist() == [1 + 2.5 * step] * 2 and behind.tolist() == [1 + 2.5 * (step + 1)] * 2


def test_in_a_graph_nobody_assigns_what_nobody_needs() -> None:
    """The loss does not depend on it."""
    with Net(COUNTER) as net:
        for _ in range(2):
            net.out()
        assert net.get("v/v").tolist() == [1, 1]


def test_assign_after_assign() -> None:
    """Adding comes first, so it is lost."""
    with Net({**COUNTER, "output": {"class": "copy", "from": "behind_set"}}) as net:
        for _ in range(2):
            assert net.out().tolist() == [2.5, 2.5]


def test_step_by_step() -> None:
    """On a backend that computes at once, each layer that is built counts."""
    net = eager({key: layer for key, layer in COUNTER.items() if "set" not in key})
    for step in range(3):
        with net.step(FEED, train=False):
            values = {name: net.layers[name].output.raw_tensor for name in ("v", "behind_add", "add")}
        assert values["v"].tolist() == [1 + 2.5 * step] * 2
        assert values["behind_add"].tolist() == [1 + 2.5 * (step + 1)] * 2
        assert values["add"] == 0 and values["add"].dtype == "int32"


@pytest.mark.parametrize("make", [Net, eager])
def test_start_with_the_value_of_a_layer(make: Any) -> None:
    """[0, 1, 2] * 2, then what was assigned."""
    network = {
        "numbers": {"class": "range", "limit": 3, "dtype": "float32"},
        "double": {"class": "eval", "eval": "source(0) * 2.0", "from": "numbers"},
        "output": {"class": "variable", "shape": [3], "init_by_layer": "double"},
    }
    if make is Net:
        with Net(network) as net:
            assert net.out().tolist() == [0, 2, 4]
        return
    net = eager(network)
    (var,) = net.get_params_list()
    assert var.tolist() == [0, 2, 4]
    numpy_backend.assign(var, [5, 6, 7])
    with net.step({}, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == [5, 6, 7]


def test_start_with_data() -> None:
    """There is none before the first step."""
    network = {
        "sum": {"class": "reduce", "mode": "sum", "axis": ["B", "T"], "from": "data"},
        "output": {"class": "variable", "shape": [2], "init_by_layer": "sum"},
    }
    with pytest.raises(ConfigError, match="layer 'sum' depends on data, and so has no value before the first step"):
        eager(network)


def test_batch_axis_in_steps() -> None:
    """As many rows as the data has sequences."""
    net = eager({"output": {**VAR, "add_batch_axis": True, "add_time_axis": True}})
    net.get_extern_data("data")
    with net.step(FEED, train=False):
        assert net.layers["output"].output.raw_tensor.tolist() == [[[1, 1]], [[1, 1]]]


def test_not_saved() -> None:
    """Not in checkpoints, and one that a checkpoint may lack."""
    network = {
        "a": {**VAR, "saveable": False, "is_output_layer": True},
        "b": {**VAR, "non_critical_for_restore": True, "is_output_layer": True},
        "output": {"class": "copy", "from": "data"},
    }
    with Net(network) as net:
        saved = {var.op.name: var for var in net.net.get_saveable_params_list()}
        assert set(saved) == {"b/b", "global_step"}
        assert saved["b/b"].RETURNN_non_critical_for_restore


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "variable"}, 'option "shape" is missing'),
        ({"class": "variable", "shape": [2, None]}, r"shape must be sizes > 0, or Dims, but is \[2, None\]"),
        ({"class": "variable_read", "var": "data"}, 'option "var" must name a layer of class "variable"'),
        ({"class": "variable_assign", "var": "v"}, 'option "value" is missing'),
        ({"class": "variable_assign", "var": "v", "value": "v", "op": "sub"}, "op must be assign or add, but is 'sub'"),
        (
            {"class": "variable_assign", "var": "v", "value": "wide"},
            r"the variable is \[2\] float32, but the value \[F\|F'wide:dim0'\(3\)\] float32",
        ),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    network = {"v": VAR, "wide": {**VAR, "shape": [3]}, "output": layer}
    with pytest.raises(ConfigError, match=r'(?s)network\["output"\].*' + message):
        Net(network)
