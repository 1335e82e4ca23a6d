"""Parameters leave a session and come back: by layer, and by file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from returnn.config import Config
from returnn.tf.compat import v1
from returnn.tf.network import TFNetwork, TFNetworkParamsSerialized
from returnn.util.errors import UserError

NETWORK = {
    "sub": {
        "class": "subnetwork",
        "from": "data",
        "subnetwork": {"output": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"}},
    },
    "same": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data", "reuse_params": "sub/output"},
    "output": {"class": "softmax", "from": ["sub", "same"], "n_out": 2},
}


@pytest.fixture
def session() -> Iterator[v1.Session]:
    """Of a graph of its own."""
    with v1.Graph().as_default(), v1.Session() as session:
        yield session


@pytest.fixture
def network(session: v1.Session) -> TFNetwork:
    """Two layers with parameters, one in a subnetwork, and one that has those of another. No op can be added."""
    network = TFNetwork(config=Config({"extern_data": {"data": {"dim": 3}}}), rnd_seed=1)
    network.construct_from_dict(NETWORK)
    network.make_saver()
    session.graph.finalize()
    network.initialize_params(session)
    return network


def _assert_equal(a: dict[str, dict[str, numpy.ndarray]], b: dict[str, dict[str, numpy.ndarray]]) -> None:
    assert {layer: set(params) for layer, params in a.items()} == {layer: set(params) for layer, params in b.items()}
    for layer, params in a.items():
        for name, value in params.items():
            numpy.testing.assert_array_equal(value, b[layer][name], err_msg="%s/%s" % (layer, name))


def test_values_by_layer(network: TFNetwork, session: v1.Session) -> None:
    """Those in a subnetwork at their layer, and at the subnetwork. Layers without parameters are there as well."""
    values = network.get_param_values_dict(session)
    shapes = {layer: {name: value.shape for name, value in params.items()} for layer, params in values.items()}
    assert shapes == {
        "data": {},
        "sub": {"output/W": (3, 4), "output/b": (4,)},
        "sub/output": {"W": (3, 4), "b": (4,)},
        "same": {},
        "output": {"W": (8, 2), "b": (2,)},
    }


def test_setting_leaves_alone_what_is_not_given(network: TFNetwork, session: v1.Session) -> None:
    """One of four."""
    before = network.get_param_values_dict(session)
    network.set_param_values_by_dict({"output": {"b": numpy.array([1.5, 2.5], "float32")}}, session)
    after = network.get_param_values_dict(session)
    assert after["output"]["b"].tolist() == [1.5, 2.5]
    after["output"]["b"] = before["output"]["b"]
    _assert_equal(before, after)
    network.set_param_values_by_dict({"sub": {"output/b": numpy.ones(4)}}, session)
    assert network.get_param_values_dict(session)["sub/output"]["b"].tolist() == [1, 1, 1, 1]


def test_what_does_not_fit_is_listed_and_nothing_is_set(network: TFNetwork, session: v1.Session) -> None:
    """A layer, a parameter and a shape; the fourth would fit."""
    before = network.get_param_values_dict(session)
    one = numpy.ones(2, "float32")
    with pytest.raises(UserError) as error:
        network.set_param_values_by_dict(
            {"outputs": {"b": one}, "output": {"bb": one, "W": one, "b": one}, "sub/output": {}}, session
        )
    assert str(error.value).splitlines() == [
        "set_param_values_by_dict: these do not fit the network:",
        '  outputs: no such layer. Did you mean "output" or "sub/output"?',
        "  output: no parameter 'bb'. Did you mean \"b\"? It has: W, b",
        "  output/W: shape (2,), but it has (8, 2)",
    ]
    _assert_equal(before, network.get_param_values_dict(session))


def test_serialized_and_back(network: TFNetwork, session: v1.Session) -> None:
    """The step too."""
    network.global_train_step_var.load(18, session)
    saved = network.get_params_serialized(session)
    assert isinstance(saved, TFNetworkParamsSerialized) and saved.global_train_step == 18
    network.initialize_params(session)
    network.set_param_values_by_dict({"output": {"b": numpy.ones(2)}}, session)
    network.set_params_by_serialized(saved, session)
    again = network.get_params_serialized(session)
    assert again.global_train_step == 18
    _assert_equal(saved.values_dict, again.values_dict)


@pytest.mark.parametrize("suffix", ["", ".index", ".meta"])
def test_saved_and_loaded(network: TFNetwork, session: v1.Session, tmp_path: Path, suffix: str) -> None:
    """Under the names of variables; the name of one of the files is as good as the prefix."""
    prefix = str(tmp_path / "model")
    network.global_train_step_var.load(18, session)
    saved = network.get_params_serialized(session)
    network.save_params_to_file(prefix, session)
    names = dict(v1.train.list_variables(prefix))
    assert sorted(names) == ["global_step", "output/W", "output/b", "sub/output/W", "sub/output/b"]
    network.set_param_values_by_dict({"output": {"b": numpy.ones(2)}}, session)
    network.global_train_step_var.load(0, session)
    network.load_params_from_file(prefix + suffix, session)
    again = network.get_params_serialized(session)
    assert again.global_train_step == 18
    _assert_equal(saved.values_dict, again.values_dict)


def test_network_without_parameters(session: v1.Session) -> None:
    """Nothing to get, nothing to set."""
    network = TFNetwork(config=Config({"extern_data": {"data": {"dim": 3}}}))
    network.construct_from_dict({"output": {"class": "activation", "activation": "tanh", "from": "data"}})
    network.initialize_params(session)
    assert network.get_param_values_dict(session) == {"data": {}, "output": {}}
    network.set_param_values_by_dict({}, session)
