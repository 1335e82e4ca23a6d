"""Which layers need sequences apart: if none does, a batch is all frames of its sequences in one row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.layers.recurrent.common import NetworkRun, fresh_graph

IN = {"from": "data"}
LINEAR = {"class": "linear", "activation": "tanh", "n_out": 2, **IN}
APART: dict[str, dict[str, Any]] = {
    "rec": {"class": "rec", "unit": "gru", "n_out": 2, **IN},
    "pool": {"class": "pool", "mode": "max", "pool_size": (3,), "strides": 1, "padding": "same", **IN},
    "window": {"class": "window", "window_size": 3, **IN},
    "eval": {"class": "eval", "eval": "source(0) * 2.0", **IN},
    "combine_eval": {"class": "combine", "kind": "eval", "eval": "source(0) * 2.0", **IN},
    "subnetwork": {"class": "subnetwork", "subnetwork": {"output": LINEAR}, **IN},
    "ctc": {"class": "softmax", "n_out": 6, "loss": "ctc", "target": "classes", **IN},
    # the next four would mix the frames of different sequences
    "reduce_time": {"class": "reduce", "mode": "max", "axis": "T", **IN},
    "reduce_batch": {"class": "reduce", "mode": "mean", "axis": "B", **IN},
    "split_time": {"class": "split_dims", "axis": "T", "dims": (-1, 2), **IN},
    "merge_time": {"class": "merge_dims", "axes": ["T", "F"], **IN},
}
TOGETHER: dict[str, dict[str, Any]] = {
    "linear": LINEAR,
    "copy": {"class": "copy", "dropout": 0.1, **IN},
    "activation": {"class": "activation", "activation": "tanh", **IN},
    "combine": {"class": "combine", "kind": "add", "from": ["data", "data"]},
    "reduce_feature": {"class": "reduce", "mode": "max", "axis": "F", "keep_dims": True, **IN},
    "reduce_out": {"class": "reduce_out", "mode": "max", "num_pieces": 2, **IN},
    "split_feature": {"class": "split_dims", "axis": "F", "dims": (-1, 2), **IN},
    "merge_batch": {"class": "merge_dims", "axes": "BT", **IN},
    "batch_norm": {"class": "batch_norm", **IN},
    "layer_norm": {"class": "layer_norm", **IN},
    "ce": {"class": "softmax", "n_out": 5, "loss": "ce", "target": "classes", **IN},
}
EXTERN_DATA = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True}}


def needs_sequences_apart(layer: dict[str, Any]) -> bool:
    with fresh_graph():
        run = NetworkRun({"x": dict(layer, is_output_layer=True)}, extern_data=EXTERN_DATA)
        return any(x.recurrent for x in run.network.layers.values())


@pytest.mark.parametrize("name", APART)
def test_layers_that_look_at_other_frames(name: str) -> None:
    assert needs_sequences_apart(APART[name])


@pytest.mark.parametrize("name", TOGETHER)
def test_layers_that_look_at_each_frame_alone(name: str) -> None:
    assert not needs_sequences_apart(TOGETHER[name])
