"""With the same seeds a network starts from the values that it always started from.

``initial_values.json`` has, for each small network, the first two entries of each parameter, as another implementation
drew them with network seed 1. Every draw from the network's generator counts: one more or less changes all later
layers.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.tf.compat import v1
from returnn.tf.network import TFNetwork
from tests.layers.recurrent.common import fresh_graph

with open(os.path.join(os.path.dirname(__file__), "initial_values.json")) as _file:
    CASES = json.load(_file)


@pytest.mark.parametrize("case", CASES, ids=["%s-%s" % (case["name"], case["graph_seed"]) for case in CASES])
def test_initial_values(case: dict[str, Any]) -> None:
    """to 1e-5"""
    with fresh_graph(seed=case["graph_seed"]):
        extern_data = {"data": {"dim": case.get("data_dim", 3)}, "classes": {"dim": 4, "sparse": True}}
        config = Config({"extern_data": extern_data, "network": case["network"]})
        network = TFNetwork(config=config, rnd_seed=1, train_flag=case.get("train", True))
        network.construct_from_dict(case["network"])
        session = v1.get_default_session()
        network.initialize_params(session)
        values = session.run({var.op.name: var.value() for var in network.get_params_list()})
    assert sorted(values) == sorted(case["values"])
    for name, value in values.items():
        expected = case["values"][name]
        numpy.testing.assert_allclose(value.ravel()[: len(expected)], expected, atol=1.1e-5, err_msg=name)
