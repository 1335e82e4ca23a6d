"""What a search changes in how the unit of a recurrent layer is built."""

from __future__ import annotations

from typing import Any

import pytest

from tests.network.net import Net

_extern_data = {"data": {"dim": 2}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}


def _decoder(**options: Any) -> dict[str, Any]:
    """:return: layer dict; an attention decoder with a loss in the unit, and one outside"""
    unit = {
        "embed": {"class": "linear", "activation": None, "n_out": 2, "from": "prev:output"},
        "s": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": ["embed", "prev:att"]},
        "energy": {"class": "dot", "from": ["base:data", "s"], "reduce": "F"},
        "weights": {"class": "softmax_over_spatial", "from": "energy"},
        "att": {"class": "generic_attention", "weights": "weights", "base": "base:data"},
        "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes", "loss": "ce", **options},
        "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
        "end": {"class": "compare", "value": 0, "from": "output"},
    }
    rec = {"class": "rec", "from": [], "target": "classes", "max_seq_len": "max_len_from('base:data')", "unit": unit}
    return {
        "output": rec,
        "decision": {"class": "decide", "from": "output", "loss": "edit_distance", "target": "classes"},
    }


@pytest.mark.parametrize("version", [0, 31])
def test_target_of_a_choice_says_what_the_labels_are(version: int) -> None:
    """A language model depends on the label before and nothing else: labels of each sequence all the same.

    With zero parameters all of 5 labels are equally probable: the first one is 0, which ends the sequence.
    """
    unit = {
        "prob": {"class": "softmax", "from": "prev:output", "target": "classes"},
        "output": {"class": "choice", "target": "classes", "beam_size": 1, "from": "prob", "initial_output": 0},
        "end": {"class": "compare", "value": 0, "from": "output"},
    }
    rec = {"class": "rec", "from": [], "target": "classes", "max_seq_len": 4, "include_eos": True, "unit": unit}
    network = {"output": rec, "decision": {"class": "decide", "from": "output", "is_output_layer": True}}
    with Net(network, _extern_data, search=True, behavior_version=version) as net:
        output = net.layers["decision"].output
        assert output.sparse_dim.dimension == 5
        assert net.layers["output"].output.batch_shape == (None, None)
        net.set(output__rec__prob__W=0, output__rec__prob__b=0)
        assert net.out("decision").tolist() == [[0], [0]]


@pytest.mark.parametrize("version", [0, 31])
def test_losses_of_a_unit_are_not_for_a_search(version: int) -> None:
    """The frames of the hypotheses are others than those of the target. Outside, the decision has frames to compare."""
    opts = {"evaluation": True, "behavior_version": version}
    with Net(_decoder(), _extern_data, search=True, **opts) as net:
        assert {holder.name for holder in net.net.losses} == {"decision"}
    with Net(_decoder(), _extern_data, **opts) as net:
        assert {holder.name for holder in net.net.losses} == {"decision", "output/prob"}
