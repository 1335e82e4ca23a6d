"""Layers that pass their input on: as another dtype, or after something else was computed."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.util.errors import ConfigError
from tests.network.net import Net, out


def test_cast_to_float_makes_numbers_of_labels() -> None:
    """int64 are labels still"""
    network = {
        "output": {"class": "cast", "dtype": "float32", "from": "data"},
        "int64": {"class": "cast", "dtype": "int64", "from": "data", "is_output_layer": True},
    }
    with Net(network, {"data": {"dim": 5, "sparse": True}}) as net:
        assert net.out(feed=net.feed(data=[[3, 4]])).tolist() == [[3, 4]]
        outputs = {name: net.layers[name].output for name in ("output", "int64")}
        assert [(x.dtype, x.dim) for x in outputs.values()] == [("float32", None), ("int64", 5)]


@pytest.mark.parametrize("names", ["first", ["first", "data"]])
def test_identity_comes_after_what_it_depends_on(names: Any) -> None:
    """the graph says so"""
    network = {
        "first": {"class": "linear", "n_out": 1, "activation": None, "from": "data"},
        "output": {"class": "identity", "control_dependencies": names, "from": "data"},
    }
    with Net(network) as net:
        op = net.layers["output"].output.placeholder.op
        assert net.layers["first"].output.placeholder.op in op.control_inputs
        assert op.inputs[0] is net.net.extern_data.data["data"].placeholder
        assert net.out()[0, 0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"class": "cast"}, 'option "dtype" is missing'),
        ({"class": "cast", "dtype": "flout32"}, "unknown dtype 'flout32'. Did you mean \"float32\"?"),
        ({"class": "identity", "control_dependencies": ["dat"]}, "layer 'dat' not found"),
    ],
)
def test_mistakes(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        out({"from": "data", **layer})
